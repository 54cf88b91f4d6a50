"""The rules of an operator's endpoint, beyond those of GraphQL for its operation.

What an operator writes becomes paths, names of parameters and members, and texts in descriptions.
"""

import re
import unicodedata
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any, Final

from graphql import (
    GraphQLError,
    GraphQLInputType,
    GraphQLList,
    GraphQLSchema,
    OperationDefinitionNode,
    OperationType,
    Source,
    VariableDefinitionNode,
    VariableNode,
    get_named_type,
    get_nullable_type,
    is_enum_type,
    is_input_type,
    is_non_null_type,
    type_from_ast,
)

from rest.bodies import DOCUMENT_BODIES, build_reader
from rest.endpoint_files import (
    HAS_BODY,
    MAX_OWN_ENDPOINTS,
    Endpoint,
    EndpointLoader,
    Result,
    find_argument,
    find_directive,
)
from rest.names import to_snake_case
from rest.parameters import (
    API_KEY_PARAMETER,
    FIELDS,
    PAGING_VARIABLE_NAMES,
    TEXT_FORMS,
    list_names,
)
from rest.responses import DATA, TOTAL_COUNT, DataForm, Form, ListForm, NoBodyForm, PageForm
from schema.definitions import is_page
from schema.endpoint_directives import HttpMethod, ResponseForm
from schema.query_limits import QueryLimits

OWN_PATHS: Final = "/v1/x/"
"""All paths of operators' endpoints begin with it."""
MAX_PATH_CHARACTERS: Final = 200
MAX_SEGMENTS, MAX_PARAMETERS = 8, 4
"""They bound a path after its beginning, as `find_clashes` compares all arrangements."""
MAX_NAME_CHARACTERS: Final = 100
_MAX_CHARACTERS: Final = {"summary": 200, "description": 10_000, "tag": 100}
"""Bounds of texts by the argument of `@endpoint` that they are."""
_FORMS_OF_BUILT_IN: Final = (ResponseForm.MATRIX, ResponseForm.DRAWING, ResponseForm.PICTURE)
_CONDITIONAL: Final = ("assignUnitAttributes", "unassignUnitAttributes", "setClosures")
"""The mutations that write only if the precondition of their request holds."""
_SEGMENT = re.compile(r"(?!\.\.?\Z)[A-Za-z0-9._~-]+|\{[a-z][a-z0-9]*(-[a-z0-9]+)*\}")
_PATH_RULE: Final = (
    f"The path must be {OWN_PATHS} and segments of A-Z, a-z, 0-9, '.', '_', '~' and '-', or "
    f"different parameters such as {{group-id}}: at most {MAX_SEGMENTS} segments,"
    f" {MAX_PARAMETERS} parameters and {MAX_PATH_CHARACTERS} characters"
)
_QUERY_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,99}")


def load_own_endpoints(
    sources: Iterable[Source],
    schema: GraphQLSchema,
    limits: QueryLimits,
    most: int = MAX_OWN_ENDPOINTS,
) -> tuple[Endpoint, ...]:
    """Return the endpoints of an operator's files: their operations with `@endpoint`, up to `most`.

    Other operations, and fragments that no endpoint reaches, may be wrong. Each endpoint is within
    the limits of one request to `/graphql`, at least for the cheapest one, and fits the schema and
    the built-in endpoints; what it says of other endpoints is for `find_clashes`. Raises
    InvalidEndpointsError with all faults.
    """
    loader = EndpointLoader(schema, limits, find_faults)
    loader.read(sources)
    return loader.finish(is_validated=True, most=most)


def find_faults(
    schema: GraphQLSchema,
    node: OperationDefinitionNode,
    options: Mapping[str, Any],
    path_variables: Collection[str],
    names: Mapping[str, str],
    result: Result | None,
    form: Form | None,
) -> Iterator[GraphQLError]:
    """Yield what is wrong with an endpoint; each error has the node that it is about.

    `options` are those of the directive, `names` those of parameters by variable.
    """
    yield from _find_option_faults(node, options)
    yield from _find_text_faults(node, options)
    yield from _find_variable_faults(schema, node, options["method"], path_variables, names)
    if "changes" in options:
        fields = [getattr(each, "name", None) for each in node.selection_set.selections]
        if len(fields) != 1 or not (fields[0] and fields[0].value in _CONDITIONAL):
            yield _at(node, "changes", "`changes` is for one mutation of closures or attributes")
    if result is not None and form is not None:
        yield from _find_result_faults(node, result, form)


def _at(node: OperationDefinitionNode, name: str, message: str) -> GraphQLError:
    """Return an error of an argument of the directive."""
    return GraphQLError(message, find_argument(node, name))


def _find_option_faults(
    node: OperationDefinitionNode, options: Mapping[str, Any]
) -> Iterator[GraphQLError]:
    assert node.name is not None
    directive = find_directive(node, "endpoint")
    for each in directive.arguments or () if directive else ():
        if isinstance(each.value, VariableNode):
            yield GraphQLError(f"`{each.name.value}` must be written out, without a variable", each)
    if len(node.name.value) > MAX_NAME_CHARACTERS:
        yield GraphQLError(f"A name has at most {MAX_NAME_CHARACTERS} characters", node.name)
    if node.name.value.startswith("_"):
        yield GraphQLError("A name begins with a letter", node.name)
    for name in ("number", "alsoAt"):
        if name in options:
            yield _at(node, name, f"`{name}` is for built-in endpoints")
    if body := find_directive(node, "body"):
        yield GraphQLError("`@body` is for built-in endpoints", body)
    if (form := options.get("as")) in _FORMS_OF_BUILT_IN:
        yield _at(node, "as", f"`as: {form.name}` is for built-in endpoints; leave it out")
    path = options["path"]
    segments = path.removeprefix(OWN_PATHS).split("/")
    parameters = [each for each in segments if each.startswith("{")]
    if not (
        path.startswith(OWN_PATHS)
        and len(path) <= MAX_PATH_CHARACTERS
        and len(segments) <= MAX_SEGMENTS
        and len(parameters) <= MAX_PARAMETERS
        and all(map(_SEGMENT.fullmatch, segments))
        and len({*parameters}) == len(parameters)
    ):
        yield _at(node, "path", f"{_PATH_RULE}, not {path[:MAX_PATH_CHARACTERS]!r}")
    if "sunset" in options and "deprecated" not in options:
        yield _at(node, "sunset", "`sunset` needs `deprecated`, from when on it should not be used")


def _find_text_faults(
    node: OperationDefinitionNode, options: Mapping[str, Any]
) -> Iterator[GraphQLError]:
    for name, maximum in _MAX_CHARACTERS.items():
        text = options.get(name, "-") or ""
        controls = [each for each in text if unicodedata.category(each) in ("Cc", "Cs")]
        allowed = {"\n", "\t"} if name == "description" else set()
        if not text.strip() or len(text) > maximum or not allowed.issuperset(controls):
            message = f"`{name}` must have 1 to {maximum:,} characters, not all of them blank"
            yield _at(node, name, f"{message}, and no control characters")


def _find_variable_faults(
    schema: GraphQLSchema,
    node: OperationDefinitionNode,
    method: HttpMethod,
    path_variables: Collection[str],
    names: Mapping[str, str],
) -> Iterator[GraphQLError]:
    others: dict[str, tuple[VariableDefinitionNode, GraphQLInputType]] = {}
    for each in node.variable_definitions or ():
        name, type = each.variable.name.value, type_from_ast(schema, each.type)
        if not is_input_type(type):
            continue  # validation says so
        if name not in path_variables:
            others[name] = each, type
        elif name in PAGING_VARIABLE_NAMES or not (
            is_non_null_type(type) and (_is_text(type.of_type) or str(type.of_type) == "Int")
        ):
            message = f"${name} is in the path: it must be of type ID!, Int! or another text that"
            yield GraphQLError(f"{message} is not null, and not of every page", each)
    if method in HAS_BODY:
        documents = [
            name
            for name, (_, type) in others.items()
            if str(get_nullable_type(type)) in DOCUMENT_BODIES
        ]
        in_body = {name: others.pop(name) for name in documents[:1] or [*others]}
        members: dict[str, str] = {}
        for name, (each, type) in in_body.items():
            if find_directive(each, "parameter"):
                yield GraphQLError(f"${name} is in the body: remove @parameter", each)
            if (other := members.setdefault(to_snake_case(name), name)) != name:
                message = f"The member {to_snake_case(name)} of the body is ${other} already"
                yield GraphQLError(message, each)
            if name == DATA and len(in_body) > 1:
                message = "$data is the whole of `data` in the body: give it, or its others, a name"
                yield GraphQLError(f"{message} of its own", each)
            if not (documents or _fits_body(type)):
                yield GraphQLError(f"${name} is in the body, where there is no {type}", each)
    taken = {FIELDS: "the service", API_KEY_PARAMETER: "the service"}
    for name, (each, type) in others.items():
        if not _fits_query(type):
            message = f"${name} is in the query of the address, where there is no {type}"
            yield GraphQLError(message, each)
        if name in names and name in PAGING_VARIABLE_NAMES:
            yield GraphQLError(f"${name} is named as in every page: remove @parameter", each)
        if not _QUERY_NAME.fullmatch(names.get(name, "name")):
            message = "A parameter has a name of at most 100 letters, digits, '-' and '_'"
            yield GraphQLError(message, find_directive(each, "parameter"))
        spellings = list_names(name, names.get(name))
        if spelling := next((each for each in spellings if each in taken), None):
            message = f"The parameter {spelling} of ${name} is that of {taken[spelling]}"
            yield GraphQLError(message, each)
        taken |= dict.fromkeys(spellings, f"${name}")


def _fits_body(type: GraphQLInputType) -> bool:
    try:
        return bool(build_reader(type))
    except KeyError:
        return False


def _fits_query(type: GraphQLInputType) -> bool:
    nullable: Any = get_nullable_type(type)
    is_list = isinstance(nullable, GraphQLList)
    item = get_nullable_type(nullable.of_type) if is_list else nullable
    is_scalar = _is_text(item) or str(item) in ("Int", "Float", "Boolean")
    return is_scalar or (str(item) in TEXT_FORMS and not is_list)


def _is_text(type: object) -> bool:
    return is_enum_type(type) or str(type) in ("ID", "String", "Date", "DateTime")


def _find_result_faults(
    node: OperationDefinitionNode, result: Result, form: Form
) -> Iterator[GraphQLError]:
    is_write = node.operation is OperationType.MUTATION
    if is_write and form.is_nullable and not isinstance(form, DataForm | NoBodyForm):
        yield _at(node, "as", "The result may be null, and no write is answered by 404: use DATA")
    if not (isinstance(form, PageForm | ListForm) and is_page(get_named_type(result.field.type))):
        return
    if all(each.is_conditional for each in result.selected.get(DATA, ())):
        yield GraphQLError("A page must select `data`, without a condition", result.node)
    for name, selected in result.selected.items():
        field = selected[0].node.name.value
        if name in (DATA, "paging", TOTAL_COUNT) and to_snake_case(field) != name:
            yield GraphQLError(f"`{name}` cannot be the alias of {field} here", selected[0].node)
