"""Save GraphQL operations as endpoints of REST, and remove them: all of a change, or nothing."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import partial
from typing import Final, NamedTuple

from graphql import GraphQLSchema, Source

from resolvers.request.errors import ChangedPlanError, RequestError
from resolvers.request.inputs import MAX_REPORTED_ERRORS
from resolvers.request.threads import run_in_thread
from rest.endpoint_addresses import Address, find_clashes
from rest.endpoint_files import (
    Endpoint,
    Fault,
    InvalidEndpointsError,
    built_in_endpoints,
)
from rest.endpoint_rules import load_own_endpoints
from schema.query_limits import QueryLimits
from storage.administration import saved_endpoints
from storage.administration.audit import Origin
from storage.administration.saved_endpoints import (
    MAX_CHARACTERS,
    MAX_ENDPOINTS,
    EndpointPlan,
    SavedEndpoint,
)
from storage.mongo import driver

DOCUMENTS: Final = "documents"
PLAN_CHANGED: Final = "The saved endpoints have changed since the plan was made: make it again"


class EndpointFaultsError(RequestError):
    """Documents that cannot be saved as endpoints; the message has a line for each fault.

    So editors and CI find `file:line:column` at the beginning of lines.
    """

    code = "INVALID_INPUT"

    def __init__(self, argument: str, faults: Iterable[object]) -> None:
        self.parts = [*faults]
        """Sentences that say what is wrong; some faults have their `place`."""
        lines = [*map(str, self.parts)]
        title = [f"{len(lines):,} fault{'s'[: len(lines) - 1]}:"] if argument == DOCUMENTS else []
        super().__init__("\n".join(title + lines), fields={argument: lines[:MAX_REPORTED_ERRORS]})


class EndpointEditor(NamedTuple):
    """Changes the saved endpoints of a service with this schema and these limits."""

    schema: GraphQLSchema
    limits: QueryLimits
    most: int = MAX_ENDPOINTS
    """How many may be saved together."""

    async def save(
        self,
        database: driver.Database,
        documents: Mapping[str, str],
        origin: Origin | None = None,
        *,
        prune: bool = False,
        breaking: bool = False,
        dry_run: bool = False,
        shown: EndpointPlan | None = None,
    ) -> EndpointPlan:
        """Save the endpoints of documents, which have names; with `prune`, remove all others.

        Nothing is written on a `dry_run`, nor if the plan is no longer the one that was `shown`.
        Raises EndpointFaultsError with all faults, ChangedPlanError, UnavailableError.
        """
        endpoints = await run_in_thread(self._read, documents)
        wanted = await run_in_thread(self._describe, endpoints)
        decide = partial(_plan, endpoints=endpoints, wanted=wanted, prune=prune)
        if dry_run:
            saved = await saved_endpoints.list_endpoints(database, with_contracts=True)
            return decide({each.name: each for each in saved})

        def decide_again(saved: Mapping[str, SavedEndpoint]) -> EndpointPlan:
            plan = decide(saved)
            if shown is not None and plan != shown:
                raise ChangedPlanError(PLAN_CHANGED)
            if plan.breaking and not breaking:
                needed = "Callers would break: say `breaking: true`"
                raise EndpointFaultsError("breaking", [*plan.breaking, needed])
            return plan

        names = wanted.keys()
        return await saved_endpoints.change_endpoints(database, origin, names, decide_again)

    async def remove(
        self, database: driver.Database, names: Collection[str], origin: Origin | None = None
    ) -> Sequence[str]:
        """Remove endpoints and return their names, without doubles.

        Raises EndpointFaultsError if one does not exist or another one needs it, and
        UnavailableError.
        """

        def decide(saved: Mapping[str, SavedEndpoint]) -> EndpointPlan:
            if unknown := [name for name in names if name not in saved]:
                sentences = [f"There is no saved endpoint {name}" for name in unknown]
                raise EndpointFaultsError("names", sentences)
            left = [each for each in saved.values() if each.name not in names]
            _check_together(left, {}, "names")
            return EndpointPlan(removed=[*dict.fromkeys(names)])

        return (await saved_endpoints.change_endpoints(database, origin, (), decide)).removed

    def check(self, documents: Mapping[str, str]) -> Sequence[Endpoint]:
        """Return the endpoints of documents that need no others than those and built-in ones.

        Raises EndpointFaultsError with all faults.
        """
        endpoints = self._read(documents)
        records = [_to_record(each) for each in endpoints]
        _check_together(records, {each.name: each for each in endpoints})
        return endpoints

    def _read(self, documents: Mapping[str, str]) -> Sequence[Endpoint]:
        sources = [Source(text, name) for name, text in documents.items()]
        try:
            return load_own_endpoints(sources, self.schema, self.limits, self.most)
        except InvalidEndpointsError as error:
            raise EndpointFaultsError(DOCUMENTS, error.faults) from error

    def _describe(self, endpoints: Iterable[Endpoint]) -> dict[str, SavedEndpoint]:
        from rest.openapi.contracts import build_contract  # takes long

        return {
            each.name: _to_record(each, build_contract(each, self.schema)) for each in endpoints
        }


def _to_record(endpoint: Endpoint, contract: str = "") -> SavedEndpoint:
    return SavedEndpoint(
        name=endpoint.name,
        method=endpoint.method,
        path=endpoint.path,
        changes=endpoint.changes,
        text=endpoint.source,
        contract=contract,
    )


def _plan(
    saved: Mapping[str, SavedEndpoint],
    endpoints: Iterable[Endpoint],
    wanted: Mapping[str, SavedEndpoint],
    *,
    prune: bool,
) -> EndpointPlan:
    """Return what is to be written. Raises EndpointFaultsError."""
    from rest.openapi.contracts import find_breaking_changes  # takes long

    others = {} if prune else {name: each for name, each in saved.items() if name not in wanted}
    _check_together([*others.values(), *wanted.values()], {each.name: each for each in endpoints})
    added, changed, unchanged, breaking = [], [], [], []
    for name, each in wanted.items():
        before = saved.get(name)
        if before is None:
            added.append(each)
        elif (before.text, before.contract) == (each.text, each.contract):
            unchanged.append(before)
        else:
            changed.append(each)
            sentences = find_breaking_changes(before.contract, each.contract)
            breaking += [f"{name}: {sentence}" for sentence in sentences]
    removed = sorted(name for name in saved if name not in wanted) if prune else []
    return EndpointPlan(added, changed, removed, unchanged, breaking)


def _check_together(
    records: Sequence[SavedEndpoint], read: Mapping[str, Endpoint], argument: str = DOCUMENTS
) -> None:
    """Check that endpoints can be saved together; those that were `read` now have a place.

    Raises EndpointFaultsError.
    """
    saved = [Address(each.name, each.method, each.path, each.changes) for each in records]
    addresses = [*(each.address for each in built_in_endpoints()), *saved]
    faults: list[object] = []
    for name, messages in find_clashes(addresses).items():
        place = read[name].place if name in read else None
        faults += [Fault(*place, text) if place else f"{name}: {text}" for text in messages]
    if len(records) > MAX_ENDPOINTS:
        faults.append(f"{len(records):,} endpoints would be saved, and {MAX_ENDPOINTS:,} may be")
    characters = sum(len(each.text) for each in records)
    if characters > MAX_CHARACTERS:
        faults.append(
            f"All have {characters:,} characters together, and may have {MAX_CHARACTERS:,}"
        )
    if faults:
        raise EndpointFaultsError(argument, faults)
