"""The endpoints of `/v1`, read from files of GraphQL operations: the folder `operations`.

An operation with `@endpoint` is an endpoint, and its result is the response, once each field
without an alias has its snake_case name as one. Path parameters are variables of the operation;
its other variables are query parameters, or members of the body for POST and PUT. Flags and
permissions stand on the fields that the operation selects.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time
from email.utils import format_datetime
from functools import cache
from pathlib import Path
from typing import Any, Final, NamedTuple

from graphql import (
    DefinitionNode,
    DirectiveNode,
    DocumentNode,
    FieldNode,
    FragmentDefinitionNode,
    FragmentSpreadNode,
    GraphQLError,
    GraphQLField,
    GraphQLList,
    GraphQLSchema,
    InlineFragmentNode,
    Node,
    OperationDefinitionNode,
    OperationType,
    SelectionSetNode,
    Source,
    get_directive_values,
    get_location,
    get_named_type,
    get_nullable_type,
    parse,
    print_ast,
)

from rest.bodies import DOCUMENT_BODIES, MAX_BODY_BYTES, JsonBody, RequestBody
from rest.errors import JSON_MEDIA_TYPE
from rest.names import to_camel_case, to_snake_case
from rest.responses import DATA, FORMS, MEDIA_TYPES, DocumentForm, Form, PageForm
from schema.definitions import is_null_on_error
from schema.endpoint_directives import HttpMethod, ResponseForm
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
_HAS_BODY: Final = (HttpMethod.POST, HttpMethod.PUT)

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


class Fault(NamedTuple):
    """What is wrong with a file of operations.

    >>> str(Fault("assets.graphql", 3, 12, "GET is a query"))
    'assets.graphql:3:12: GET is a query'
    """

    file: str
    line: int
    column: int
    message: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}: {self.message}"


class InvalidEndpointsError(Exception):
    """Files of operations that are not endpoints; the message has a line for each fault."""

    def __init__(self, faults: Iterable[Fault]) -> None:
        self.faults = sorted({*faults})
        super().__init__("\n".join(map(str, self.faults)))


def load_endpoints(
    sources: Iterable[Source], schema: GraphQLSchema, *, is_validated: bool = True
) -> tuple[Endpoint, ...]:
    """Return the endpoints of some files, which may spread each other's fragments.

    Raises InvalidEndpointsError with all faults. Without validation these are only those that keep
    an endpoint from being described; a document that does not fit the schema is found when it is
    prepared.
    """
    loader = _Loader(schema)
    for source in sources:
        loader.read(source)
    return loader.finish(is_validated=is_validated)


@cache
def built_in_endpoints() -> tuple[Endpoint, ...]:
    """Return the endpoints of every gateway. Reading them takes 15 ms, at the first call."""
    return load_endpoints(read_folder(), GRAPHQL_SCHEMA, is_validated=False)


def read_folder() -> Iterator[Source]:
    """Yield the files of the endpoints of every gateway."""
    for name in FILES:
        path = FOLDER / f"{name}.graphql"
        yield Source(path.read_text("utf-8"), path.name)


class _Edit(NamedTuple):
    """A part of a file, from one offset to another, and the text in its place."""

    start: int
    end: int
    text: str


class _Definition:
    """An operation or a fragment, with the edits that make its result a response."""

    def __init__(self, node: OperationDefinitionNode | FragmentDefinitionNode) -> None:
        self.node = node
        self.spreads: dict[str, None] = {}
        """The names of the fragments in it."""
        self.additions: list[_Edit] = []
        self._removals: list[_Edit] = []
        for directive in _iter_own_directives(node):
            start, end = _place(directive)
            self._removals.append(_Edit(len(_body(node)[:start].rstrip()), end, ""))
        self._name_fields(node.selection_set)

    def _name_fields(self, selection_set: SelectionSetNode) -> None:
        for node in selection_set.selections:
            if isinstance(node, FragmentSpreadNode):
                self.spreads[node.name.value] = None
            if isinstance(node, FieldNode):
                name = _response_name(node)
                if node.alias is None and name != node.name.value:
                    self._add(_place(node)[0], f"{name}: ")
            if isinstance(node, FieldNode | InlineFragmentNode) and node.selection_set is not None:
                self._name_fields(node.selection_set)

    def select_paging(self, page: FieldNode) -> None:
        """Add `paging` to the selection of a page; one that is there already is merged with it."""
        assert page.selection_set is not None
        self._add(_place(page.selection_set)[0] + 1, f" {_PAGING}")

    def _add(self, position: int, text: str) -> None:
        edit = _Edit(position, position, text)
        if edit not in self.additions:
            self.additions.append(edit)

    def write(self, name: str) -> str:
        """Return the text with the edits, and under a name."""
        assert self.node.name is not None
        naming = _Edit(*_place(self.node.name), name)
        edits = [naming, *self.additions, *self._removals]
        return _apply(edits, _body(self.node), *_place(self.node))


def _apply(edits: Iterable[_Edit], text: str, start: int, end: int) -> str:
    """Return the part of a text between two offsets, with edits."""
    pieces: list[str] = []
    for edit in sorted(edits):
        pieces += text[start : edit.start], edit.text
        start = edit.end
    return "".join(pieces) + text[start:end]


def _iter_own_directives(
    node: OperationDefinitionNode | FragmentDefinitionNode,
) -> Iterator[DirectiveNode]:
    for holder in (node, *(node.variable_definitions or ())):
        for directive in holder.directives or ():
            if directive.name.value in _OWN_DIRECTIVES:
                yield directive


def _place(node: Node) -> tuple[int, int]:
    assert node.loc is not None
    return node.loc.start, node.loc.end


def _source(node: Node) -> Source:
    assert node.loc is not None
    return node.loc.source


def _body(node: Node) -> str:
    return _source(node).body


def _undo(additions: Iterable[_Edit], offset: int) -> int:
    """Return where a file has what is at an offset after some additions.

    >>> [_undo([_Edit(2, 2, "a: ")], offset) for offset in (1, 3, 5, 6)]
    [1, 2, 2, 3]
    """
    added = 0
    for start, _, text in sorted(additions):
        if start + added > offset:
            break
        added += min(len(text), offset - added - start)
    return offset - added


class _Result(NamedTuple):
    """The field of a result that is the response."""

    definition: _Definition
    """Where it is selected."""
    node: FieldNode
    field: GraphQLField
    path: tuple[str, ...]
    """The response names that lead to it, as they are run."""


class _Loader:
    """Makes endpoints of definitions once all of them are known."""

    def __init__(self, schema: GraphQLSchema) -> None:
        self.schema = schema
        self.sources: dict[str, Source] = {}
        self.definitions: list[_Definition] = []
        self.fragments: dict[str, _Definition] = {}
        self.faults: list[Fault] = []

    def read(self, source: Source) -> None:
        """Add the definitions of a file."""
        self.sources[source.name] = source
        try:
            nodes = parse(source).definitions
        except GraphQLError as error:
            self.faults.append(Fault(source.name, *(error.locations or [])[0], error.message))
            return
        for node in nodes:
            if not isinstance(node, OperationDefinitionNode | FragmentDefinitionNode):
                self._report(GraphQLError("Only operations and fragments may be here", node))
                continue
            definition = _Definition(node)
            self.definitions.append(definition)
            if isinstance(node, FragmentDefinitionNode):
                self.fragments.setdefault(node.name.value, definition)

    def finish(self, *, is_validated: bool) -> tuple[Endpoint, ...]:
        """Return the endpoints. Raises InvalidEndpointsError."""
        endpoints: list[Endpoint] = []
        for definition in self.definitions:
            if isinstance(definition.node, OperationDefinitionNode):
                try:
                    endpoints += self._read_operation(definition, definition.node)
                except GraphQLError as error:
                    self._report(error)
        if is_validated:
            self._find_clashes(endpoints)
            self._validate()
        if self.faults:
            raise InvalidEndpointsError(self.faults)
        return (*endpoints,)

    def _report(self, error: GraphQLError) -> None:
        for node in (error.nodes or ())[:1]:
            start, _ = _place(node)
            source = self.sources[_source(node).name]
            self.faults.append(Fault(source.name, *get_location(source, start), error.message))

    def _find_clashes(self, endpoints: Iterable[Endpoint]) -> None:
        """Report each address that is taken, and each `changes` that names nothing."""
        nodes = {each.node.name.value: each.node for each in self.definitions if each.node.name}
        taken: dict[tuple[str, str], str] = {}
        for endpoint in endpoints:
            node = nodes.get(endpoint.name)
            address = endpoint.method, re.sub("{.*?}", "{}", endpoint.path)
            if (other := taken.setdefault(address, endpoint.name)) != endpoint.name:
                message = f"{endpoint.method} {endpoint.path} is the address of {other}"
                self._report(GraphQLError(message, node))
            if endpoint.changes and endpoint.changes not in nodes:
                self._report(GraphQLError(f"There is no {endpoint.changes}", node))

    def _validate(self) -> None:
        """Report what keeps the documents from being run, at its place before the edits."""
        edits: dict[str, list[_Edit]] = {name: [] for name in self.sources}
        for definition in self.definitions:
            edits[_source(definition.node).name] += definition.additions
        nodes: list[DefinitionNode] = []
        for source in self.sources.values():
            text = _apply(edits[source.name], source.body, 0, len(source.body))
            with suppress(GraphQLError):  # reported already
                nodes += parse(Source(text, source.name)).definitions
        for error in validate(self.schema, DocumentNode(definitions=(*nodes,))):
            for node in (error.nodes or ())[:1]:
                source = self.sources[_source(node).name]
                offset = _undo(edits[source.name], _place(node)[0])
                self.faults.append(Fault(source.name, *get_location(source, offset), error.message))

    def _read_operation(
        self, definition: _Definition, node: OperationDefinitionNode
    ) -> Iterator[Endpoint]:
        """Yield an endpoint for each path of an operation. Raises GraphQLError."""
        options = self._read_directive("endpoint", node)
        if options is None or node.name is None:
            raise GraphQLError("An endpoint has a name and the directive @endpoint", node)
        method: HttpMethod = options["method"]
        if node.operation not in _TYPES_BY_METHOD[method]:
            allowed = " or a ".join(each.value for each in _TYPES_BY_METHOD[method])
            raise GraphQLError(f"{method} is a {allowed}", node)
        result = self._find_result(definition, options.get("result"))
        form = self._build_form(result, options.get("as"), node)
        if isinstance(form, PageForm):
            result.definition.select_paging(result.node)
        name, summary, path = node.name.value, options["summary"], options["path"]
        for each in (path, *options.get("alsoAt", ())):
            if each != path:
                noun = each.split("/")[2].removesuffix("s").capitalize()
                # Operation ids come from these names and must be unique (OpenAPI 3.1, 4.8.10).
                name = re.sub(r"\A([A-Z][a-z]+)", rf"\1{noun}", node.name.value)
                summary = f"{options['summary']}, as at {'/'.join(path.split('/')[:3])}"
            in_path, in_query, body = self._read_inputs(node, each, method)
            yield Endpoint(
                name=name,
                number=options.get("number", ""),
                method=method.value,
                path=each,
                tag=options.get("tag", ""),
                summary=summary,
                description=options.get("description", ""),
                document=self._write_document(definition, name),
                form=form,
                members=self._list_members(result),
                path_parameters=in_path,
                query_names=in_query,
                body=body,
                changes=options.get("changes", ""),
                deprecation=_read_deprecation(options, node),
            )

    def _read_directive(self, name: str, node: Any) -> dict[str, Any] | None:
        """Return the arguments of a directive, None if the node does not have it."""
        directive = self.schema.get_directive(name)
        assert directive is not None, name
        return get_directive_values(directive, node)

    def _find_result(self, definition: _Definition, path: str | None) -> _Result:
        """Return the field at a path of response names as they are written."""
        operation = definition.node
        assert isinstance(operation, OperationDefinitionNode)
        parent: Any = self.schema.get_root_type(operation.operation)
        fields = self._collect_fields(definition, operation.selection_set)
        if path is None and len(fields) > 1:
            raise GraphQLError("`result` must name one of the root fields", operation)
        found: _Result | None = None
        for name in path.split(".") if path is not None else fields:
            place, node = fields.get(name, (definition, None))
            field = getattr(parent, "fields", {}).get(node.name.value) if node else None
            if node is None or field is None:
                raise GraphQLError(f"The result has no {name!r} of {path!r}", operation)
            found = _Result(
                place, node, field, (*(found.path if found else ()), _response_name(node))
            )
            fields = self._collect_fields(place, node.selection_set)
            parent = get_named_type(field.type)
        assert found is not None
        return found

    def _collect_fields(
        self, definition: _Definition, selection_set: SelectionSetNode | None
    ) -> dict[str, tuple[_Definition, FieldNode]]:
        """Return the fields of a selection by the response name that is written."""
        fields: dict[str, tuple[_Definition, FieldNode]] = {}
        spread: set[str] = set()

        def collect(place: _Definition, selections: SelectionSetNode | None) -> None:
            for node in selections.selections if selections else ():
                if isinstance(node, FieldNode):
                    fields.setdefault((node.alias or node.name).value, (place, node))
                elif isinstance(node, InlineFragmentNode):
                    collect(place, node.selection_set)
                elif isinstance(node, FragmentSpreadNode) and node.name.value not in spread:
                    spread.add(node.name.value)
                    if fragment := self.fragments.get(node.name.value):
                        collect(fragment, fragment.node.selection_set)

        collect(definition, selection_set)
        return fields

    def _list_members(self, result: _Result) -> tuple[str, ...]:
        """Return the names of the members of the resources in a response."""
        place, selection_set = result.definition, result.node.selection_set
        fields = self._collect_fields(place, selection_set)
        if DATA in fields:
            place, list_node = fields[DATA]
            fields = self._collect_fields(place, list_node.selection_set)
        return tuple(_response_name(node) for _, node in fields.values())

    def _build_form(
        self, result: _Result, given: ResponseForm | None, node: OperationDefinitionNode
    ) -> Form:
        field_type = get_nullable_type(result.field.type)
        named = get_named_type(field_type)
        members = getattr(named, "fields", {})
        is_list = isinstance(field_type, GraphQLList)
        is_page = not is_list and {"paging", DATA} <= {*members}
        is_document = not members and named.name in MEDIA_TYPES
        # The first that fits is the form of a type, unless `as` says another that fits.
        fitting = {
            ResponseForm.PAGE: is_page,
            ResponseForm.LIST: is_list or is_page,
            ResponseForm.DOCUMENT: is_document,
            ResponseForm.OBJECT: bool(members) and not is_list,
            ResponseForm.LINKED_LIST: is_page,
            ResponseForm.MATRIX: named.name == "DistanceMatrix",
            ResponseForm.DRAWING: named.name == "ParsedMap",
            ResponseForm.PICTURE: named.name == "Picture",
        }
        form = given or next((each for each, fits in fitting.items() if fits), None)
        if form is None or not fitting.get(form, True):
            raise GraphQLError(
                f"`as` must say the form of a {result.field.type}: {given} is none", result.node
            )
        has_own_media_type = issubclass(FORMS[form], DocumentForm)
        return FORMS[form](
            *result.path,
            media_type=MEDIA_TYPES[named.name] if has_own_media_type else JSON_MEDIA_TYPE,
            is_nullable=field_type is result.field.type and not is_null_on_error(result.field),
            variables=[each.variable.name.value for each in node.variable_definitions or ()],
        )

    def _read_inputs(
        self, node: OperationDefinitionNode, path: str, method: HttpMethod
    ) -> tuple[dict[str, str], dict[str, str], RequestBody | None]:
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
                raise GraphQLError(f"{{{parameter}}} of {path} has no variable ${variable}", node)
            in_path[parameter] = variable
        in_query = {variable: name for variable, name in names.items() if variable in types}
        body = self._read_body(node, types) if method in _HAS_BODY else None
        return in_path, in_query, body

    def _read_body(
        self, node: OperationDefinitionNode, types: Mapping[str, str]
    ) -> RequestBody | None:
        for variable, type in types.items():
            if type in DOCUMENT_BODIES:
                return replace(DOCUMENT_BODIES[type], variable=variable)
        if not types:
            return None
        options = self._read_directive("body", node) or {}
        assert node.name is not None
        return JsonBody(
            JSON_MEDIA_TYPE,
            options.get("maxBytes", MAX_BODY_BYTES),
            options.get("description", ""),
            title=options.get("title", f"{node.name.value}Request"),
        )

    def _write_document(self, operation: _Definition, name: str) -> str:
        """Return an operation with the fragments that it spreads, and those that they spread."""
        texts = [operation.write(name)]
        names = dict(operation.spreads)
        waiting = [*names]
        while waiting:
            name = waiting.pop(0)
            if (fragment := self.fragments.get(name)) is not None:
                texts.append(fragment.write(name))
                waiting += [each for each in fragment.spreads if each not in names]
                names |= fragment.spreads
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
