"""Generate the libraries for Python and TypeScript from an OpenAPI description: `make clients`.

    curl -f https://floorgate.example/v1/openapi.json -H "API-Key: $KEY" > openapi.json
    python clients/generate.py openapi.json [python] [typescript]

Types come from datamodel-code-generator and openapi-typescript, methods from the templates. The
member `x-sdk-method` of an operation, such as `maps(map).units.list`, names its method; an
operator's own endpoints are methods, too. What is generated is not in git.
"""

import json
import keyword
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial, reduce
from pathlib import Path
from typing import Any, TypeAlias

import jinja2

CLIENTS = Path(__file__).parent
PYTHON = CLIENTS / "python/src/floorgate_client"
TYPESCRIPT = CLIENTS / "typescript"
REVISION = 0
"""Counts the releases of the libraries for one version of the API."""
LEFT_OUT = {
    *("minLength", "maxLength", "pattern", "minItems", "maxItems", "minimum", "maximum"),
    *("title", "contentMediaType", "examples", "format", "additionalProperties"),
    *("customTypePath", "customBasePath"),  # of datamodel-code-generator: Python modules to import
}
"""The service checks constraints; a library that did, too, would refuse what later releases allow.

The format `date-time` and additional properties that are allowed are no constraints.
"""
NAME = "[A-Za-z][A-Za-z0-9_-]*"
METHOD = rf"({NAME}(\({NAME}\))?\.)+{NAME}"
TAKEN_ARGUMENTS = {"self", "data", "drawing", "models", "read"}
"""Names that methods in Python use themselves."""
WITHOUT_ASYNC = {
    r"\basync (?=def|for|with)": "",
    r"\bawait ": "",
    r"\bAsync(?=[A-Z{])": "",
    r"\bfloorgate_client\.async_core\b": "floorgate_client.core",
    r"__a(?=enter__|exit__|iter__)": "__",
    r"\baclose\b": "close",
    r"\bimport asyncio\b": "import time",
    r"\basyncio\.sleep\b": "time.sleep",
}
"""Turns the module for asyncio into the synchronous one."""
PYTHON_PARAMETERS = {
    "boolean": "bool", "integer": "int", "number": "float", "string": "str", "null": "None",
    "any": "Any", "enum": "Literal[{}]", "enums": ", ", "array": "Sequence[{}]",
    "time": "datetime | str", "$ref": "params.{}",
}  # fmt: skip
PYTHON_RESULTS = PYTHON_PARAMETERS | {
    "array": "builtins.list[{}]", "time": "datetime", "$ref": "models.{}",
}  # fmt: skip
TYPESCRIPT_TYPES = {
    "boolean": "boolean", "integer": "number", "number": "number", "string": "string",
    "null": "null", "any": "unknown", "enum": "{}", "enums": " | ", "array": "ReadonlyArray<{}>",
    "time": "Date | string", "$ref": "models.{}",
}  # fmt: skip
Json: TypeAlias = dict[str, Any]
to_literal = partial(json.dumps, ensure_ascii=False)
"""Returns a text as it is written in both languages."""


# Names and types in both languages


def to_pascal_case(name: str) -> str:
    return "".join(word[:1].upper() + word[1:] for word in re.split("[-_]", name))


def to_camel_case(name: str) -> str:
    camel = name[:1].lower() + to_pascal_case(name)[1:]
    return "constructor_" if camel == "constructor" else camel


def to_id_name(name: str) -> str:
    """Return the name of an id as an argument in TypeScript: with `Id`, it is no keyword."""
    return to_camel_case(f"{name.removesuffix('-id')}-id")


def to_python_name(name: str) -> str:
    snake = name.replace("-", "_")
    return f"{snake}_" if keyword.iskeyword(snake) else snake


def to_argument(name: str) -> str:
    return f"{name}_" if name in TAKEN_ARGUMENTS else to_python_name(name)


def to_type(schema: Json, names: dict[str, str]) -> str:
    """Return the type of a schema by the names of types in a language."""
    match schema:
        case {"$ref": reference}:
            return names["$ref"].format(name_of(reference))
        case {"enum": values}:
            return names["enum"].format(names["enums"].join(map(to_literal, values)))
        case {"oneOf": choices} | {"anyOf": choices}:
            return " | ".join(to_type(each, names) for each in choices)
        case {"type": [*kinds]}:
            return " | ".join(to_type({**schema, "type": kind}, names) for kind in kinds)
        case {"type": "array", "items": items}:
            return names["array"].format(to_type(items, names))
        case {"format": "date-time"}:
            return names["time"]
    return names.get(schema.get("type", "any"), names["any"])


def name_of(reference: str) -> str:
    """Return the name of a schema of the same description. Raises ValueError."""
    return check_name(reference.removeprefix("#/components/schemas/"))


def check_name(name: str, pattern: str = NAME) -> str:
    """Return a name or version, which becomes one of a program. Raises ValueError."""
    if not re.fullmatch(pattern, name):
        raise ValueError(
            f"The description has a name or version that programs cannot have: {name!r}"
        )
    return name


# Resources and their methods


@dataclass(frozen=True)
class Method:
    """Describes an operation as a method of a resource."""

    name: str
    verb: str
    path: str
    """It has `{}` for each parameter."""
    operation: Json
    ids: list[Json]
    """The parameters of its path that the resource does not have."""
    query: list[Json]
    """The parameters of its query, the required ones first."""
    body: Json
    """The schema of the member `data` of its body."""
    kind: str
    """The kind of its result: `page`, `changes`, `data`, `object`, `bytes` or `nothing`."""
    result: Json
    """A reference to the type of its result."""
    data: Json
    """The schema of the member `data` of its result."""

    @property
    def takes_drawing(self) -> bool:
        return not self.body and "requestBody" in self.operation


@dataclass
class Resource:
    """Groups the methods with a common place, and the resources in it."""

    name: str
    ids: tuple[str, ...] = ()
    """The parameters of its path."""
    methods: list[Method] = field(default_factory=list)
    children: dict[str, "Resource"] = field(default_factory=dict)
    one: "Resource | None" = None
    """The same with one more parameter: `maps(map)`."""

    def iter_all(self) -> Iterator["Resource"]:
        """Yield the resources in this one, and then itself."""
        for child in (*self.children.values(), self.one):
            if child is not None:
                yield from child.iter_all()
        yield self

    def find(self, segment: str) -> "Resource":
        """Return the resource of a segment such as `maps` or `maps(map)`, a new one if need be."""
        name, _, parameter = segment.rstrip(")").partition("(")
        new = Resource(self.name + to_pascal_case(name), self.ids)
        many = self.children.setdefault(name, new)
        if not parameter:
            return many
        many.one = many.one or Resource(many.name.removesuffix("s"), (*self.ids, parameter))
        return many.one


class Reader:
    """Reads the operations of a description into resources."""

    def __init__(self, description: Json) -> None:
        if "openapi" not in description:
            raise ValueError("it is no OpenAPI description")
        version = description["info"]["version"].removeprefix("v")
        self.version = check_name(version, r"\d+(\.\d+)*")
        self.schemas: dict[str, Json] = description["components"]["schemas"]
        self.root = Resource("")
        for path, operations in description["paths"].items():
            for verb, operation in operations.items():
                if isinstance(operation, dict) and "x-sdk-method" in operation:
                    self.add(path, verb.upper(), operation)

    def add(self, path: str, verb: str, operation: Json) -> None:
        *segments, name = check_name(operation["x-sdk-method"], METHOD).split(".")
        resource = reduce(Resource.find, segments, self.root)
        for each in resource.methods:
            if to_camel_case(each.name) == to_camel_case(name):
                both = f"{each.operation['operationId']} and {operation['operationId']}"
                raise ValueError(f"{both} would be one method: rename one of them")
        places: dict[str, list[Json]] = {"path": [], "query": []}
        for parameter in operation.get("parameters", []):
            # The count is in a header of the response, which only `request` returns.
            place, left_out = parameter.get("in"), (*resource.ids, "total-count")
            if place in places and check_name(parameter["name"]) not in left_out:
                places[place].append(parameter)
        ids, query = places["path"], sorted(places["query"], key=lambda each: not each["required"])
        path, body = re.sub("{.+?}", "{}", path), self.read_body(operation)
        results = self.read_result(operation)
        resource.methods.append(Method(name, verb, path, operation, ids, query, body, *results))

    def read_body(self, operation: Json) -> Json:
        """Return the schema of `data`, which is all that a body in JSON has."""
        for media_type, content in operation.get("requestBody", {}).get("content", {}).items():
            if media_type.endswith("json"):
                name = to_pascal_case(operation["operationId"])
                return self.read_data(content["schema"], f"{name}Body", f"{name}Input")
        return {}

    def read_result(self, operation: Json) -> tuple[str, Json, Json]:
        """Return the kind of a result, a reference to its type, and the schema of `data`."""
        [response] = [each for status, each in operation["responses"].items() if status[0] == "2"]
        for media_type, content in response.get("content", {}).items():
            if not media_type.endswith("json"):
                return "bytes", {}, {}
            name, result = to_pascal_case(operation["operationId"]), content["schema"]
            data = self.read_data(result, f"{name}Result", f"{name}Item")
            members = self.schemas[name_of(result["$ref"])].get("properties", {})
            kind = "data" if [*members] == ["data"] else "object"
            if "Link" in response.get("headers", {}):
                kind = "page"
            elif operation["x-sdk-method"] == "changes.list":
                kind = "changes"
            return kind, result, data
        return "nothing", {}, {}

    def read_data(self, schema: Json, name: str, item_name: str) -> Json:
        """Return the schema of `data`, and name the types of own endpoints, which have no names."""
        self.name(schema, name)
        data: Json = self.schemas[name_of(schema["$ref"])].get("properties", {}).get("data", {})
        for each in (data, data.get("items", {})):
            if "properties" in each:
                self.name(each, item_name)
        return data

    def name(self, schema: Json, name: str) -> None:
        """Turn a schema into a reference."""
        if "$ref" not in schema:
            while name in self.schemas:
                name += "_"
            self.schemas[name] = {**schema}
            schema.clear()
            schema["$ref"] = f"#/components/schemas/{name}"

    def select(self, schemas: list[Json]) -> Json:
        """Return a description of the types that schemas refer to."""
        found: dict[str, Json] = {}
        wanted = find_references(schemas)
        while wanted:
            name = name_of(wanted.pop())
            if name not in found:
                text = json.dumps(self.schemas[name])
                found[name] = json.loads(text, object_hook=without_constraints)
                wanted += find_references(found[name])
        info = {"title": "Floorgate", "version": "1"}
        return {"openapi": "3.1.0", "info": info, "components": {"schemas": found}}


def find_references(schemas: object) -> list[str]:
    return re.findall(r'"\$ref": "(.+?)"', json.dumps(schemas))


def without_constraints(schema: Json) -> Json:
    """Return an object of a schema without constraints, extensions and deprecated members."""

    def is_kept(name: str, value: object) -> bool:
        if name.startswith("x-"):
            return False
        if isinstance(value, dict):
            return value.get("deprecated") is not True
        return name not in LEFT_OUT or value is True or value == "date-time"

    return {name: value for name, value in schema.items() if is_kept(name, value)}


# Files


def generate(description: Json, languages: Iterable[str]) -> None:
    """Write what is generated of the packages; the description is changed."""
    reader = Reader(description)
    *resources, root = reader.root.iter_all()
    results = [method.result for resource in resources for method in resource.methods]
    bodies = [method.body for resource in resources for method in resource.methods]
    environment = jinja2.Environment(
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
        autoescape=False,  # noqa: S701  what is written is programs
    )
    environment.filters |= {
        "camel": to_camel_case,
        "id_name": to_id_name,
        "python_name": to_python_name,
        "argument": to_argument,
        "literal": to_literal,
        "python": partial(to_type, names=PYTHON_PARAMETERS),
        "python_result": partial(to_type, names=PYTHON_RESULTS),
        "typescript": partial(to_type, names=TYPESCRIPT_TYPES),
    }

    def render(template: str) -> str:
        return environment.from_string(template).render(resources=resources, root=root)

    if "python" in languages:
        write_python_types(reader.select(results), "models", "pydantic_v2.BaseModel")
        write_python_types(reader.select(bodies), "params", "typing.TypedDict")
        write(PYTHON / "version.py", f'VERSION = "{reader.version}.{REVISION}"\n')
        template = (CLIENTS / "templates/async_resources.py.jinja").read_text()
        write(PYTHON / "async_resources.py", render(template))
        write(PYTHON / "resources.py", render(without_async(template)))
        write(PYTHON / "core.py", without_async((PYTHON / "async_core.py").read_text()))
    if "typescript" in languages:
        write(TYPESCRIPT / "openapi.json", json.dumps(reader.select(results + bodies), indent=1))
        template = (CLIENTS / "templates/resources.ts.jinja").read_text()
        write(TYPESCRIPT / "src/resources.ts", render(template))


def without_async(text: str) -> str:
    """Return a module, or a template of one, for the synchronous client."""
    for pattern, replacement in WITHOUT_ASYNC.items():
        text = re.sub(pattern, replacement, text)
    return text


def write(file: Path, text: str) -> None:
    """Write a file, unless it has this text: its time says whether what is made of it is old."""
    if file.suffix == ".py":
        compile(text, file, "exec")  # it raises SyntaxError
    if not file.exists() or file.read_text() != text:
        file.write_text(text)


def write_python_types(description: Json, module: str, kind: str) -> None:
    """Write the types of a description: classes for results, dictionaries for bodies."""
    command = (
        *(sys.executable, "-m", "datamodel_code_generator"),
        *("--input-file-type", "openapi", "--output-model-type", kind),
        *("--target-python-version", "3.11", "--use-standard-collections", "--use-union-operator"),
        *("--enum-field-as-literal", "all", "--use-schema-description", "--use-field-description"),
        *("--disable-timestamp", "--use-type-alias", "--parent-scoped-naming"),
        "--no-allow-remote-refs",
    )
    done = subprocess.run(command, input=json.dumps(description), capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"datamodel-code-generator failed: {done.stdout}{done.stderr}")
    write(PYTHON / f"{module}.py", done.stdout)


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit("Name the file of an OpenAPI description, such as that of /v1/openapi.json")
    languages = sys.argv[2:] or ["python", "typescript"]
    if unknown := {*languages} - {"python", "typescript"}:
        sys.exit(f"There is no library for {', '.join(unknown)}, only for python and typescript")
    try:
        generate(json.loads(Path(sys.argv[1]).read_bytes()), languages)
    except (ValueError, SyntaxError) as error:
        sys.exit(f"Nothing can be generated of {sys.argv[1]}: {error}")
