"""The endpoints of `/v1`, read from files of GraphQL operations: the folder `operations`.

An operation with `@endpoint` is an endpoint, and its result is the response, once each field
without an alias has its snake_case name as one. Path parameters are variables of the operation;
its other variables are query parameters, or members of the body for POST and PUT. Flags and
permissions stand on the fields that the operation selects.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time
from email.utils import format_datetime
from functools import cache
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeAlias

from graphql import (
    DirectiveNode,
    DocumentNode,
    FieldNode,
    FragmentDefinitionNode,
    FragmentSpreadNode,
    GraphQLError,
    GraphQLField,
    GraphQLList,
    GraphQLNamedType,
    GraphQLSchema,
    InlineFragmentNode,
    NameNode,
    Node,
    OperationDefinitionNode,
    OperationType,
    SelectionSetNode,
    Source,
    VariableNode,
    Visitor,
    get_directive_values,
    get_named_type,
    get_nullable_type,
    is_object_type,
    parse,
    print_ast,
    visit,
)

from rest.bodies import DOCUMENT_BODIES, MAX_BODY_BYTES, JsonBody, RequestBody
from rest.endpoint_addresses import Address as Address
from rest.endpoint_addresses import find_clashes as find_clashes
from rest.errors import JSON_MEDIA_TYPE
from rest.names import to_camel_case, to_snake_case
from rest.responses import (
    DATA,
    FORMS,
    MEDIA_TYPES,
    DocumentForm,
    Form,
    ListForm,
    ObjectForm,
    PageForm,
)
from schema.definitions import is_null_on_error, is_page
from schema.endpoint_directives import HttpMethod, ResponseForm
from schema.operations import (
    InvalidOperationError,
    limits_as_invalid_operation,
    measure_operation,
    parse_within_limits,
)
from schema.query_limits import QueryLimits
from schema.root import GRAPHQL_SCHEMA
from schema.validation import validate

FOLDER: Final = Path(__file__).with_name("operations")
FILES: Final = (
    "assets",
    "units",
    "maps",
    "locations",
    "distances",
    "closures",
    "attributes",
    "changes",
)
"""The files of the folder, in the order in which descriptions show their endpoints."""
_OWN_DIRECTIVES: Final = ("endpoint", "body", "parameter")
"""The directives that are read here; the documents that are run do not have them."""
_PAGING: Final = "paging { per_page: perPage current_page: currentPage next }"
"""Every page has it."""
_TYPES_BY_METHOD: Final = {
    HttpMethod.GET: (OperationType.QUERY,),
    HttpMethod.POST: (OperationType.QUERY, OperationType.MUTATION),
    HttpMethod.PUT: (OperationType.MUTATION,),
    HttpMethod.DELETE: (OperationType.MUTATION,),
}
FILE_LIMITS: Final = QueryLimits(characters=1_000_000, tokens=200_000)
"""The limits of one file."""
MAX_OWN_ENDPOINTS: Final = 2_000
MAX_FAULTS: Final = 100
"""Faults of one operation that are named."""
_MISSING: Final = "An endpoint has a name and the directive @endpoint"
HAS_BODY: Final = (HttpMethod.POST, HttpMethod.PUT)

RawHeaders = list[tuple[bytes, bytes]]


@dataclass(frozen=True, slots=True)
class Deprecation:
    """Since when an endpoint should not be used any more, each date from midnight (UTC).

    >>> for name, value in Deprecation(date(2027, 1, 1), date(2027, 7, 1)).headers:
    ...     print(f"{name.decode()}: {value.decode()}")
    deprecation: @1798761600
    sunset: Thu, 01 Jul 2027 00:00:00 GMT
    """

    since: date
    sunset: date | None = None
    """When it stops working, if that is decided."""

    def __post_init__(self) -> None:
        if self.sunset is not None and self.sunset < self.since:
            # RFC 9745, 4
            raise ValueError(f"the sunset {self.sunset} is before the deprecation {self.since}")

    @property
    def headers(self) -> RawHeaders:
        """The headers of a response (RFC 9745, RFC 8594)."""
        headers = [(b"deprecation", f"@{_at_midnight(self.since).timestamp():.0f}".encode())]
        if self.sunset is not None:
            text = format_datetime(_at_midnight(self.sunset), usegmt=True)
            headers.append((b"sunset", text.encode()))
        return headers

    @property
    def sentence(self) -> str:
        """What a description says of it.

        >>> Deprecation(date(2027, 1, 1)).sentence
        'Deprecated since 2027-01-01.'
        """
        end = f"; it stops working on {self.sunset}" if self.sunset else ""
        return f"Deprecated since {self.since}{end}."


def _at_midnight(day: date) -> datetime:
    return datetime.combine(day, time(), UTC)


class Place(NamedTuple):
    """A place in a file of operations, from line and column 1."""

    file: str
    line: int
    column: int


# Compared by identity: two endpoints of one operation differ in their path alone.
@dataclass(frozen=True, slots=True, eq=False)
class Endpoint:
    """One method of one path.

    >>> unit = next(each for each in built_in_endpoints() if each.name == "GetUnit")
    >>> unit.method, unit.path, unit.path_parameters, unit.form.result_path
    ('GET', '/v1/units/{unit}', {'unit': 'unit'}, ('unit',))
    """

    name: str
    number: str
    """The number in the specification, or an X for an extension; empty for an operator's endpoint.
    """
    method: str
    path: str
    tag: str
    summary: str
    description: str
    document: str
    """The operation with its fragments, as it is run."""
    form: Form
    members: tuple[str, ...]
    """The names of the members of the resources in a response."""
    path_parameters: Mapping[str, str]
    """Maps the parameters of the path to their variables."""
    query_names: Mapping[str, str]
    """The names of query parameters by variable, where they are not those in kebab-case."""
    body: RequestBody | None
    changes: str
    """The name of what it changes: `If-Match` and `If-None-Match` compare with its ETag."""
    deprecation: Deprecation | None
    source: str = ""
    """The operation as it is written, and the fragments that it reaches; empty for built-in ones.
    """
    place: Place = Place("", 1, 1)
    """The place where the operation is written."""

    @property
    def address(self) -> Address:
        """Where it is, and what it changes."""
        return Address(self.name, self.method, self.path, self.changes)


class Fault(NamedTuple):
    """What is wrong with a file of operations.

    >>> str(Fault("assets.graphql", 3, 12, "GET is a query"))
    'assets.graphql:3:12: GET is a query'
    """

    file: str
    line: int
    column: int
    message: str

    @property
    def place(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"

    def __str__(self) -> str:
        return f"{self.place}: {self.message}"


class InvalidEndpointsError(Exception):
    """Files of operations that are not endpoints; the message has a line for each fault."""

    def __init__(self, faults: Iterable[Fault]) -> None:
        self.faults = sorted({*faults})
        super().__init__("\n".join(map(str, self.faults)))


@cache
def built_in_endpoints() -> tuple[Endpoint, ...]:
    """Return the endpoints of every gateway. Reading them takes 15 ms, at the first call."""
    loader = EndpointLoader(GRAPHQL_SCHEMA)
    loader.read(read_folder())
    return loader.finish(is_validated=False)


def read_folder() -> Iterator[Source]:
    """Yield the files of the endpoints of every gateway."""
    for name in FILES:
        path = FOLDER / f"{name}.graphql"
        yield Source(path.read_text("utf-8"), path.name)


_Edit: TypeAlias = tuple[int, int, str]
"""A part of a file, from one offset to another, and the text in its place."""


class _Definition:
    """An operation or a fragment, with the edits that make its result a response."""

    def __init__(self, node: OperationDefinitionNode | FragmentDefinitionNode) -> None:
        self.node = node
        self.spreads: dict[str, None] = {}
        """The names of the fragments in it."""
        self._edits = [(*_place(each), "") for each in _iter_own_directives(node)]
        self._name_fields(node.selection_set)

    def _name_fields(self, selection_set: SelectionSetNode) -> None:
        for node in selection_set.selections:
            if isinstance(node, FragmentSpreadNode):
                self.spreads[node.name.value] = None
            if isinstance(node, FieldNode):
                name = _response_name(node)
                if node.alias is None and name != node.name.value:
                    start, _ = _place(node)
                    self._edits.append((start, start, f"{name}: "))
            if isinstance(node, FieldNode | InlineFragmentNode) and node.selection_set is not None:
                self._name_fields(node.selection_set)

    @property
    def text(self) -> str:
        start, end = _place(self.node)
        return _body(self.node)[start:end]

    def write(self, name: str, page: FieldNode | None) -> str:
        assert self.node.name is not None
        edits: list[_Edit] = [(*_place(self.node.name), name), *self._edits]
        if page is not None and page.selection_set is not None:
            start = _place(page.selection_set)[0] + 1
            edits.append((start, start, f" {_PAGING}"))
        body, (place, end) = _body(self.node), _place(self.node)
        pieces: list[str] = []
        for start, after, text in sorted(edits):
            pieces += body[place:start], text
            place = after
        return "".join(pieces) + body[place:end]


class _ResponseNames(Visitor):
    """Makes the edits of a document in its nodes, which keep their places in the files."""

    def __init__(self, page: FieldNode | None) -> None:
        super().__init__()
        self._page = page

    def enter_field(self, node: FieldNode, *_: Any) -> FieldNode:
        """Give a field its alias, and the page its `paging`."""
        selection_set = node.selection_set
        if node is self._page and selection_set is not None:
            # After the others, so that one in conflict with it is named first.
            added = parse(f"{{ {_PAGING} }}", no_location=True).definitions[0]
            assert isinstance(added, OperationDefinitionNode)
            both = (*selection_set.selections, *added.selection_set.selections)
            selection_set = replace(selection_set, selections=both)
        alias = node.alias or NameNode(value=_response_name(node), loc=node.name.loc)
        return replace(node, alias=alias, selection_set=selection_set)


def _iter_own_directives(
    node: OperationDefinitionNode | FragmentDefinitionNode,
) -> Iterator[DirectiveNode]:
    for holder in (node, *(node.variable_definitions or ())):
        for directive in holder.directives or ():
            if directive.name.value in _OWN_DIRECTIVES:
                yield directive


def find_directive(node: Any, name: str) -> DirectiveNode | None:
    return next((each for each in node.directives or () if each.name.value == name), None)


def find_argument(node: OperationDefinitionNode, name: str) -> Node:
    """Return an argument of the directive; that or the operation, if it is not there."""
    found = find_directive(node, "endpoint")
    arguments = (found.arguments if found else None) or ()
    return next((each for each in arguments if each.name.value == name), found or node)


def _place(node: Node) -> tuple[int, int]:
    assert node.loc is not None
    return node.loc.start, node.loc.end


def _body(node: Node) -> str:
    assert node.loc is not None
    return node.loc.source.body


def _find_place(node: Node) -> Place:
    assert node.loc is not None
    token = node.loc.start_token
    return Place(node.loc.source.name, token.line, token.column)


class Selected(NamedTuple):
    """A field that is selected, and where."""

    definition: _Definition
    node: FieldNode
    parent: GraphQLNamedType | None
    """The type that has the field."""
    is_conditional: bool
    """True if the field may be absent from the result."""


class Result(NamedTuple):
    """The field of a result that is the response."""

    definition: _Definition
    """Where it is selected."""
    node: FieldNode
    field: GraphQLField
    path: tuple[str, ...]
    """The response names that lead to it, as they are run."""
    selected: Mapping[str, Sequence[Selected]]
    """What is selected of it, by the response name that is written."""


_Inputs: TypeAlias = tuple[dict[str, str], dict[str, str], RequestBody | None]
"""The path parameters, names in the query and body of an `Endpoint`."""


class EndpointLoader:
    """Makes endpoints of the definitions of files, which may spread each other's fragments.

    With limits they are an operator's own, which `find_faults` of `rest/endpoint_rules.py` checks,
    and without them built-in ones.
    """

    def __init__(
        self,
        schema: GraphQLSchema,
        limits: QueryLimits | None = None,
        find_faults: Callable[..., Iterable[GraphQLError]] = lambda *_: (),
    ) -> None:
        self.schema = schema
        self.limits = limits
        self._find_faults = find_faults
        self.operations: dict[str, _Definition] = {}
        self.fragments: dict[str, _Definition] = {}
        self.addresses: dict[Address, Place] = {}
        self.faults: list[Fault] = []

    def read(self, sources: Iterable[Source]) -> None:
        start = None
        for source in sources:
            start = start or Place(source.name, 1, 1)
            with self._reporting(Place(source.name, 1, 1)), limits_as_invalid_operation():
                for node in parse_within_limits(source, FILE_LIMITS).definitions:
                    self._add(node)
        if self.limits is not None and start and not (self.operations or self.faults):
            message = "No operation here has @endpoint(path:, summary:)"
            self.faults.append(Fault(*start, message))

    def _add(self, node: Node) -> None:
        is_fragment = isinstance(node, FragmentDefinitionNode)
        definitions, place = self.fragments if is_fragment else self.operations, _find_place(node)
        with self._reporting(place):
            if not isinstance(node, OperationDefinitionNode | FragmentDefinitionNode):
                raise GraphQLError("Only operations and fragments may be here")
            if not (is_fragment or self.limits is None or find_directive(node, "endpoint")):
                return
            if node.name is None:
                raise GraphQLError(_MISSING)
            if (other := definitions.get(node.name.value)) is not None:
                where = ":".join(map(str, _find_place(other.node)))
                raise GraphQLError(f"The name {node.name.value} is taken at {where}")
            definitions[node.name.value] = _Definition(node)

    def finish(self, *, is_validated: bool, most: int = MAX_OWN_ENDPOINTS) -> tuple[Endpoint, ...]:
        """Return the endpoints. Raises InvalidEndpointsError with all faults.

        Without validation these are only those that keep an endpoint from being described; a
        document that does not fit the schema is found when it is prepared.
        """
        if len(self.operations) > most:  # before any of them is read
            place = _find_place([*self.operations.values()][most].node)
            fault = Fault(*place, f"There may be {most:,} endpoints together at most")
            raise InvalidEndpointsError([*self.faults, fault])
        endpoints: list[Endpoint] = []
        for definition in self.operations.values():
            with self._reporting(_find_place(definition.node)):
                endpoints += self._read_operation(definition, is_validated=is_validated)
        if is_validated:
            self._report_clashes()
        if self.faults:
            raise InvalidEndpointsError(self.faults)
        return (*endpoints,)

    @contextmanager
    def _reporting(self, place: Place) -> Iterator[None]:
        """Add what is raised to the faults, at this place unless it has its own."""
        try:
            yield
        except GraphQLError as error:
            self._report(error, place)
        except InvalidOperationError as invalid:
            self._report(invalid.errors[0], place)

    def _report(self, error: GraphQLError, place: Place) -> None:
        node = next((each for each in error.nodes or () if each.loc), None)
        if node is not None:
            place = _find_place(node)
        elif error.source and error.locations:
            place = Place(error.source.name, *error.locations[0])
        message = " ".join(error.message.splitlines())  # so that a fault is one line
        self.faults.append(Fault(*place, message))

    def _report_clashes(self) -> None:
        """Report which endpoints cannot stand together, those with other faults too."""
        known = [*self.addresses]
        if self.limits is not None:  # they may change an endpoint that is not in these files
            known = [*(each.address for each in built_in_endpoints()), *known]
            names = {each.name for each in known}
            known = [each if each.changes in names else each._replace(changes="") for each in known]
        clashes = find_clashes(known)
        for address, place in self.addresses.items():
            self.faults += [Fault(*place, each) for each in clashes.get(address.name, ())]

    def _validate(self, reached: Sequence[_Definition], page: FieldNode | None) -> None:
        """Report what keeps a document from being run."""
        names = _ResponseNames(page)
        document = DocumentNode(definitions=(*(visit(each.node, names) for each in reached),))
        for error in validate(self.schema, document, MAX_FAULTS, hide_suggestions=False):
            self._report(error, _find_place(reached[0].node))

    def _read_operation(self, definition: _Definition, *, is_validated: bool) -> Iterator[Endpoint]:
        """Yield an endpoint for each path of an operation. Raises GraphQLError."""
        node, place = definition.node, _find_place(definition.node)
        assert isinstance(node, OperationDefinitionNode) and node.name is not None
        reached, count = self._reach(definition), len(self.faults)
        source = "\n\n".join(each.text for each in reached) if self.limits else ""
        if self.limits is not None:
            measure_operation(self.schema, source, self.limits)
        try:
            options = self._read_directive("endpoint", node)
        except GraphQLError:
            if is_validated:
                self._validate(reached, None)  # which says the same, and all else
            if len(self.faults) == count:
                message = "What @endpoint needs must be written out, without variables"
                raise GraphQLError(message, find_directive(node, "endpoint")) from None
            return
        if options is None:
            raise GraphQLError(_MISSING)
        method: HttpMethod = options["method"]
        paths = (options["path"], *options.get("alsoAt", ()))
        changes = options.get("changes", "")
        self.addresses[Address(node.name.value, method.value, paths[0], changes)] = place
        result = form = deprecation = None
        inputs: dict[str, _Inputs] = {}
        with self._reporting(place):
            if result := self._find_result(definition, options.get("result")):
                form = self._build_form(result, options.get("as"), node, method)
        page = result if isinstance(form, PageForm) else None
        with self._reporting(place):
            inputs = {path: self._read_inputs(node, path, method) for path in paths}
            deprecation = _read_deprecation(options, find_argument(node, "sunset"))
        if node.operation not in _TYPES_BY_METHOD[method]:
            allowed = " or a ".join(each.value for each in _TYPES_BY_METHOD[method])
            message = f"{method} is a {allowed}"
            self._report(GraphQLError(message, find_argument(node, "method")), place)
        if is_validated:
            self._validate(reached, page and page.node)
        if self.limits is not None and inputs:
            in_path, names, _ = inputs[options["path"]]
            for error in self._find_faults(
                self.schema, node, options, in_path.values(), names, result, form
            ):
                self._report(error, place)
        if result is None or form is None or len(self.faults) > count:
            return
        name, summary, path = node.name.value, options["summary"], options["path"]
        for each in paths:
            if each != path:
                noun = each.split("/")[2].removesuffix("s").capitalize()
                # Operation ids come from these names and must be unique (OpenAPI 3.1, 4.8.10).
                name = re.sub(r"\A([A-Z][a-z]+)", rf"\1{noun}", node.name.value)
                summary = f"{options['summary']}, as at {'/'.join(path.split('/')[:3])}"
            in_path, in_query, body = inputs[each]
            yield Endpoint(
                name=name,
                number=options.get("number", ""),
                method=method.value,
                path=each,
                tag=options.get("tag", ""),
                summary=summary,
                description=options.get("description", ""),
                document=_write_document(reached, name, page),
                form=form,
                members=self._list_members(result, form),
                path_parameters=in_path,
                query_names=in_query,
                body=body,
                changes=changes,
                deprecation=deprecation,
                source=source,
                place=place,
            )

    def _read_directive(self, name: str, node: Any) -> dict[str, Any] | None:
        """Return the arguments of a directive, None if the node does not have it."""
        directive = self.schema.get_directive(name)
        assert directive is not None, name
        return get_directive_values(directive, node)

    def _find_result(self, definition: _Definition, path: str | None) -> Result | None:
        """Return the field at a path of response names as they are written.

        None is for a field that the schema does not have. Raises GraphQLError.
        """
        operation = definition.node
        assert isinstance(operation, OperationDefinitionNode)
        root = self.schema.get_root_type(operation.operation)
        fields = self._collect_fields(root, (definition, operation.selection_set, False))
        place = find_argument(operation, "result")
        if path is None and len(fields) != 1:
            raise GraphQLError("`result` must name one of the root fields", place)
        found: Result | None = None
        for name in path.split(".") if path is not None else fields:
            if found is not None and isinstance(get_nullable_type(found.field.type), GraphQLList):
                raise GraphQLError(f"`result` cannot lead through a list to {name!r}", place)
            if name not in fields:
                there = ", ".join(fields) or "nothing"
                raise GraphQLError(f"The result has no {name!r} of {path!r}; it has {there}", place)
            # One of several is enough.
            first = min(fields[name], key=lambda each: each.is_conditional)
            if first.is_conditional:
                message = f"The result may lack {name!r}: select it without a condition"
                raise GraphQLError(message, first.node)
            if first.node.name.value.startswith("__"):
                raise GraphQLError("`result` must be a field of the directory", first.node)
            field = getattr(first.parent, "fields", {}).get(first.node.name.value)
            if field is None:
                return None
            fields = self._collect_members(fields[name], get_named_type(field.type))
            names = (*(found.path if found else ()), _response_name(first.node))
            found = Result(first.definition, first.node, field, names, fields)
        return found

    def _collect_members(
        self, selected: Iterable[Selected], type: GraphQLNamedType | None
    ) -> dict[str, list[Selected]]:
        """Return the fields of a field of some type, which may be selected in several places."""
        places = (
            (each.definition, each.node.selection_set, each.is_conditional) for each in selected
        )
        return self._collect_fields(type, *places)

    def _collect_fields(
        self,
        type: GraphQLNamedType | None,
        *places: tuple[_Definition, SelectionSetNode | None, bool],
    ) -> dict[str, list[Selected]]:
        """Return the fields of selections on a type, by the response name that is written."""
        fields: dict[str, list[Selected]] = {}
        spread: set[tuple[str, bool]] = set()
        for definition, selection_set, is_conditional in places:
            for each in self._iter_fields(definition, selection_set, type, spread, is_conditional):
                fields.setdefault((each.node.alias or each.node.name).value, []).append(each)
        return fields

    def _iter_fields(
        self,
        definition: _Definition,
        selection_set: SelectionSetNode | None,
        parent: GraphQLNamedType | None,
        spread: set[tuple[str, bool]],
        is_conditional: bool,
    ) -> Iterator[Selected]:
        for node in selection_set.selections if selection_set else ():
            is_there = not (is_conditional or node.directives)
            if isinstance(node, FieldNode):
                yield Selected(definition, node, parent, not is_there)
                continue
            where, type = definition, parent
            inner: Any = node
            if isinstance(node, FragmentSpreadNode):
                name, fragment = node.name.value, self.fragments.get(node.name.value)
                if fragment is None or (name, is_there) in spread:
                    continue
                spread.add((name, is_there))
                where, inner = fragment, fragment.node
            if (condition := inner.type_condition) is not None:
                type = self.schema.get_type(condition.name.value)
                is_there &= type is parent or is_object_type(parent)
            yield from self._iter_fields(where, inner.selection_set, type, spread, not is_there)

    def _list_members(self, result: Result, form: Form) -> tuple[str, ...]:
        fields, type = result.selected, get_named_type(result.field.type)
        is_part = isinstance(form, PageForm | ListForm) and is_page(type)
        has_data = any(each.node.selection_set for each in fields.get(DATA, ()))
        if is_part or (isinstance(form, ObjectForm) and has_data):
            fields = self._collect_members(fields[DATA], None)
        return tuple(_response_name(nodes[0].node) for nodes in fields.values())

    def _build_form(
        self,
        result: Result,
        given: ResponseForm | None,
        node: OperationDefinitionNode,
        method: HttpMethod,
    ) -> Form:
        field_type = get_nullable_type(result.field.type)
        named = get_named_type(field_type)
        members = getattr(named, "fields", {})
        is_list = isinstance(field_type, GraphQLList)
        is_one_page = not is_list and is_page(named)
        is_document = not (members or is_list) and named.name in MEDIA_TYPES
        # The first that fits is the form of a type, unless `as` says another that fits.
        fitting = {
            ResponseForm.PAGE: is_one_page,
            ResponseForm.LIST: is_list or is_one_page,
            ResponseForm.DOCUMENT: is_document,
            ResponseForm.OBJECT: bool(members) and not is_list,
            ResponseForm.LINKED_LIST: is_one_page,
            ResponseForm.MATRIX: named.name == "DistanceMatrix",
            ResponseForm.DRAWING: named.name == "ParsedMap",
            ResponseForm.PICTURE: named.name == "Picture",
        }
        form = given or next((each for each, fits in fitting.items() if fits), None)
        if form is None or not fitting.get(form, True):
            forms = [each.name for each in FORMS if fitting.get(each, True)]
            raise GraphQLError(
                f"`as` must say the form of a {result.field.type}: {' or '.join(forms)}",
                find_argument(node, "as"),
            )
        has_own_media_type = issubclass(FORMS[form], DocumentForm)
        return FORMS[form](
            *result.path,
            media_type=MEDIA_TYPES[named.name] if has_own_media_type else JSON_MEDIA_TYPE,
            is_nullable=field_type is result.field.type and not is_null_on_error(result.field),
            # Those that say in an address which page it is.
            variables=[
                each.name.value
                for each in result.node.arguments or ()
                if isinstance(each.value, VariableNode)
                and each.value.name.value == each.name.value
                and method is HttpMethod.GET
            ],
        )

    def _read_inputs(self, node: OperationDefinitionNode, path: str, method: HttpMethod) -> _Inputs:
        """Return where the variables of an operation at a path come from; see `Endpoint`."""
        types: dict[str, str] = {}
        names: dict[str, str] = {}
        for definition in node.variable_definitions or ():
            variable = definition.variable.name.value
            types[variable] = print_ast(definition.type).strip("[]!")
            if (given := self._read_directive("parameter", definition)) is not None:
                names[variable] = given["name"]
        by_parameter = {name: variable for variable, name in names.items()}
        in_path: dict[str, str] = {}
        for parameter in re.findall(r"{(.*?)}", path):
            variable = by_parameter.get(parameter) or to_camel_case(parameter)
            if types.pop(variable, None) is None:
                message = f"{{{parameter}}} of {path} has no variable: declare ${variable}: ID!"
                self._report(GraphQLError(message, find_argument(node, "path")), _find_place(node))
            in_path[parameter] = variable
        in_query = {variable: name for variable, name in names.items() if variable in types}
        body = self._read_body(node, types) if method in HAS_BODY else None
        return in_path, in_query, body

    def _read_body(
        self, node: OperationDefinitionNode, types: Mapping[str, str]
    ) -> RequestBody | None:
        options = self._read_directive("body", node) or {}
        max_bytes = options.get("maxBytes", MAX_BODY_BYTES)
        for variable, type in types.items():
            if type in DOCUMENT_BODIES:
                body = replace(DOCUMENT_BODIES[type], variable=variable)
                return replace(body, max_bytes=max_bytes) if self.limits is not None else body
        if not types:
            return None
        assert node.name is not None
        return JsonBody(
            JSON_MEDIA_TYPE,
            max_bytes,
            options.get("description", ""),
            title=options.get("title", f"{node.name.value}Request"),
            may_be_bare=self.limits is not None,
        )

    def _reach(self, operation: _Definition) -> list[_Definition]:
        """Return an operation, and the fragments that it spreads, and those that they spread."""
        reached, names = [operation], [*operation.spreads]
        for name in names:
            if (fragment := self.fragments.get(name)) is not None:
                reached.append(fragment)
                names += [each for each in fragment.spreads if each not in names]
        return reached


def _write_document(reached: Iterable[_Definition], name: str, page: Result | None) -> str:
    """Return the text of an operation under a name, with fragments, and with `paging` in a page."""
    texts = []
    for each in reached:
        if not isinstance(each.node, OperationDefinitionNode):
            name = each.node.name.value
        texts.append(each.write(name, page.node if page and page.definition is each else None))
    return "\n".join(texts)


def _read_deprecation(options: Mapping[str, Any], node: Node) -> Deprecation | None:
    since = options.get("deprecated")
    if since is None:
        return None
    try:
        return Deprecation(since, options.get("sunset"))
    except ValueError as error:
        raise GraphQLError(str(error), node) from error


def _response_name(node: FieldNode) -> str:
    """Return the name of a field in the result of a document that is run."""
    return to_snake_case(node.name.value) if node.alias is None else node.alias.value
