"""Generate the libraries for Python and TypeScript from an OpenAPI description: `make clients`.

    curl https://floorgate.example/v1/openapi.json -H "API-Key: $KEY" > openapi.json
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
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

import jinja2

CLIENTS = Path(__file__).parent
PYTHON = CLIENTS / "python/src/floorgate_client"
TYPESCRIPT = CLIENTS / "typescript"
REVISION = 0
"""Counts the releases of the libraries for one version of the API."""
CONSTRAINTS = {
    *("minLength", "maxLength", "pattern", "minItems", "maxItems", "minimum", "maximum"),
    *("title", "contentMediaType", "examples"),
}
"""The service checks them; a library that did, too, would refuse what a later release allows."""
RESERVED = {
    *("arguments", "case", "catch", "const", "debugger", "default", "delete", "do", "enum"),
    *("eval", "export", "extends", "function", "implements", "interface", "let", "new", "null"),
    *("package", "private", "protected", "public", "static", "super", "switch", "this", "throw"),
    *("typeof", "var", "void", "drawing", "items", "members", "query", "response"),
}
"""They cannot name an argument in TypeScript; Python's keywords cannot, either."""
Json: TypeAlias = dict[str, Any]


# Types


@dataclass(frozen=True)
class TypeWriter:
    """Writes the types of parameters and results in a language."""

    names: dict[str, str]
    """Maps a type in JSON, or `enum`, `time` or `any`, to its name in the language."""
    reference: str
    array: str

    def write(self, schema: Json) -> str:
        if "$ref" in schema:
            return self.reference.format(name_of(schema))
        if "enum" in schema:
            return " | ".join(self.names["enum"].format(each) for each in schema["enum"])
        kinds = schema.get("type")
        if kinds is None:
            choices = schema.get("oneOf") or schema.get("anyOf") or []
            return " | ".join(map(self.write, choices)) or self.names["any"]
        if isinstance(kinds, list):
            return " | ".join(self.write({**schema, "type": kind}) for kind in kinds)
        if kinds == "array":
            return self.array.format(self.write(schema["items"]))
        is_time = schema.get("format") == "date-time"
        return self.names["time" if is_time else kinds]


PYTHON_PARAMETERS = TypeWriter(
    {
        "boolean": "bool", "integer": "int", "number": "float", "string": "str", "null": "None",
        "object": "dict[str, Any]", "enum": 'Literal["{}"]', "time": "datetime | str", "any": "Any",
    },
    "params.{}", "Sequence[{}]",
)  # fmt: skip
PYTHON_RESULTS = TypeWriter(
    PYTHON_PARAMETERS.names | {"time": "datetime"}, "models.{}", "builtins.list[{}]"
)
TYPESCRIPT_PARAMETERS = TypeWriter(
    {
        "boolean": "boolean", "integer": "number", "number": "number", "string": "string",
        "null": "null", "object": "Record<string, unknown>", "enum": "'{}'",
        "time": "Date | string", "any": "unknown",
    },
    "models.{}", "ReadonlyArray<{}>",
)  # fmt: skip
TYPESCRIPT_RESULTS = TypeWriter(
    TYPESCRIPT_PARAMETERS.names | {"time": "string"}, "models.{}", "Array<{}>"
)


def name_of(reference: Json) -> str:
    return str(reference["$ref"]).rpartition("/")[2]


def to_pascal_case(name: str) -> str:
    return "".join(word[:1].upper() + word[1:] for word in re.split("[-_]", name))


def to_camel_case(name: str) -> str:
    pascal = to_pascal_case(name)
    return pascal[:1].lower() + pascal[1:]


# Resources and their methods


@dataclass(frozen=True)
class Parameter:
    """A parameter of a path or a query."""

    wire: str
    """Its name in a request."""
    schema: Json
    required: bool
    description: str

    @property
    def name(self) -> str:
        """Its name in TypeScript: that of a request, with underscores as in responses."""
        return self.wire.replace("-", "_")

    @property
    def python_name(self) -> str:
        return f"{self.name}_" if keyword.iskeyword(self.name) else self.name

    @property
    def python_type(self) -> str:
        return PYTHON_PARAMETERS.write(self.schema)

    @property
    def typescript_name(self) -> str:
        """Its name as an argument of its own: that of a parameter of a path."""
        camel = to_camel_case(self.wire)
        return f"{camel}_" if keyword.iskeyword(camel) or camel in RESERVED else camel

    @property
    def typescript_type(self) -> str:
        return TYPESCRIPT_PARAMETERS.write(self.schema)


@dataclass(frozen=True)
class Method:
    """One operation."""

    name: str
    verb: str
    path: str
    bound: tuple[str, ...]
    """Parameters of the path that the resource has."""
    parameters: list[Parameter]
    summary: str
    description: str
    body: str = ""
    """The kind of its body: `members`, those in a member `data`, `items` of it, or a `drawing`."""
    body_type: str = ""
    """The type with the members, or of one item."""
    result: str = ""
    """The kind of its result: `page`, `changes`, `data`, `object` or `bytes`."""
    result_type: str = ""
    data: Json = field(default_factory=dict)
    """The schema of what is in the member `data`: of one item, for a page."""

    @property
    def path_parameters(self) -> list[Parameter]:
        """Return those of its path that the method takes."""
        names = {*re.findall("{(.+?)}", self.path)} - {*self.bound}
        return [each for each in self.parameters if each.wire in names]

    @property
    def query(self) -> list[Parameter]:
        """The parameters of its query, the required ones first."""
        query = [each for each in self.parameters if f"{{{each.wire}}}" not in self.path]
        return sorted(query, key=lambda each: not each.required)

    @property
    def template(self) -> str:
        """Its path, with `{}` for each parameter."""
        return re.sub("{.+?}", "{}", self.path)

    @property
    def python_data(self) -> str:
        return PYTHON_RESULTS.write(self.data)

    @property
    def typescript_data(self) -> str:
        return TYPESCRIPT_RESULTS.write(self.data)


@dataclass
class Resource:
    """Methods with a common place, and the resources in it."""

    name: str
    bound: tuple[str, ...] = ()
    methods: list[Method] = field(default_factory=list)
    children: dict[str, "Resource"] = field(default_factory=dict)
    one: "Resource | None" = None
    """The same with one more parameter: `maps(map)`."""

    @property
    def summary(self) -> str:
        names = [*(each.name for each in self.methods), *self.children]
        return f"Has {', '.join(f'`{each}`' for each in names)}."

    def iter_all(self) -> Iterator["Resource"]:
        """Yield the resources in this one, and then itself."""
        for child in (*self.children.values(), self.one):
            if child is not None:
                yield from child.iter_all()
        yield self

    def find(self, segment: str) -> "Resource":
        """Return the resource of a segment such as `maps` or `maps(map)`, a new one if need be."""
        name, _, parameter = segment.rstrip(")").partition("(")
        pascal = to_pascal_case(name)
        many = self.children.setdefault(name, Resource(self.name + pascal, self.bound))
        if parameter and many.one is None:
            many.one = Resource(self.name + pascal.removesuffix("s"), (*self.bound, parameter))
        return many.one if parameter and many.one else many


class Reader:
    """Reads the operations of a description into resources."""

    def __init__(self, description: Json) -> None:
        self.schemas: dict[str, Json] = description["components"]["schemas"]
        self.root = Resource("")
        self.bodies: set[str] = set()
        """The names of the types of bodies."""
        self.results: set[str] = set()
        for path, operations in description["paths"].items():
            for verb, operation in operations.items():
                if isinstance(operation, dict) and "x-sdk-method" in operation:
                    self.add(path, verb.upper(), operation)

    def add(self, path: str, verb: str, operation: Json) -> None:
        *segments, name = operation["x-sdk-method"].split(".")
        resource = self.root
        for segment in segments:
            resource = resource.find(segment)
        parameters = [
            Parameter(each["name"], each["schema"], each["required"], each["description"])
            for each in operation.get("parameters", [])
            if each.get("in") in {"path", "query"}  # the clients set the headers
        ]
        texts = (operation["summary"], operation["description"])
        kinds = self.read_body(operation) | self.read_result(operation)
        method = Method(name, verb, path, resource.bound, parameters, *texts, **kinds)
        resource.methods.append(method)

    def read_body(self, operation: Json) -> Json:
        """Return the kind of a request's body, and its type."""
        for media_type, content in operation.get("requestBody", {}).get("content", {}).items():
            if not media_type.endswith("json"):
                return {"body": "drawing"}
            kind, name = "members", self.name(content, operation, "Body")
            if [*(members := self.schemas[name]["properties"])] == ["data"]:
                is_list = members["data"].get("type") == "array"
                kind = "items" if is_list else "data"
                if is_list:
                    name = name_of(members["data"]["items"])
                else:
                    self.schemas[name] = self.schemas[name_of(members["data"])]
            self.bodies.add(name)
            return {"body": kind, "body_type": name}
        return {}

    def read_result(self, operation: Json) -> Json:
        """Return the kind of an operation's result, and its type."""
        [response] = [each for status, each in operation["responses"].items() if status[0] == "2"]
        for media_type, content in response.get("content", {}).items():
            if not media_type.endswith("json"):
                return {"result": "bytes"}
            name = self.name(content, operation, "Result")
            self.results.add(name)
            members = self.schemas[name].get("properties", {})
            data = members.get("data", {})
            if "Link" in response.get("headers", {}):
                return {"result": "page", "result_type": name, "data": data["items"]}
            is_data = [*members] == ["data"]
            kind = "changes" if "has_more" in members else "data" if is_data else "object"
            return {"result": kind, "result_type": name, "data": data}
        return {}

    def name(self, content: Json, operation: Json, suffix: str) -> str:
        """Return the name of a type; those in own endpoints have none, and are given one."""
        schema = content["schema"]
        if "$ref" in schema:
            return name_of(schema)
        name = to_pascal_case(operation["operationId"])
        members = schema.get("properties", {})
        for holder, member in ((members.get("data", {}), "items"), (members, "data")):
            if "properties" in holder.get(member, {}):
                self.schemas[f"{name}Item"] = holder[member]
                holder[member] = {"$ref": f"#/components/schemas/{name}Item"}
        self.schemas[f"{name}{suffix}"] = schema
        return f"{name}{suffix}"

    def select(self, names: Iterable[str]) -> Json:
        """Return a description of the types with these names, and of those that they need."""
        found: dict[str, Json] = {}
        wanted = sorted(names)
        while wanted:
            name = wanted.pop()
            if name not in found:
                found[name] = self.simplify(self.schemas[name])
                wanted += re.findall(r'"#/components/schemas/(\w+)"', json.dumps(found[name]))
        components = {"schemas": dict(sorted(found.items()))}
        info = {"title": "Floorgate", "version": "1"}
        return {"openapi": "3.1.0", "info": info, "paths": {}, "components": components}

    def simplify(self, schema: Any) -> Any:
        """Return a schema as people would write its type.

        It has no constraints, and no second names of members. A type that is text is not a type of
        its own.
        """
        if isinstance(schema, list):
            return [self.simplify(each) for each in schema]
        if not isinstance(schema, dict):
            return schema
        if "$ref" in schema:
            target = self.schemas[name_of(schema)]
            if target.keys().isdisjoint({"properties", "oneOf"}):
                return self.simplify(target | {k: v for k, v in schema.items() if k != "$ref"})
        kept = {name: each for name, each in schema.items() if not is_constraint(name, each)}
        if isinstance(members := kept.get("properties"), dict):
            members = {k: v for k, v in members.items() if not v.get("deprecated")}
            return {
                name: {k: self.simplify(v) for k, v in members.items()}
                if name == "properties" else self.simplify(each)
                for name, each in kept.items()
            }  # fmt: skip
        return {name: self.simplify(each) for name, each in kept.items()}


def is_constraint(name: str, value: object) -> bool:
    is_format = name == "format" and value != "date-time"
    return is_format or name in CONSTRAINTS or (name == "additionalProperties" and value is False)


# Files


def generate(description: Json, languages: Iterable[str] = ("python", "typescript")) -> None:
    """Write what is generated of the packages; the description is changed."""
    reader = Reader(description)
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(CLIENTS / "templates"),
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
        autoescape=False,  # noqa: S701  what is written is programs
    )
    environment.filters |= {"camel": to_camel_case}
    *resources, _ = reader.root.iter_all()
    names = {"root": reader.root, "resources": resources}
    if "python" in languages:
        write_python_types(reader.select(reader.results), "models", "pydantic_v2.BaseModel")
        write_python_types(reader.select(reader.bodies), "params", "typing.TypedDict")
        version = f"{description['info']['version'].removeprefix('v')}.{REVISION}"
        write(PYTHON / "version.py", f'VERSION = "{version}"\n')
        template = environment.get_template("resources.py.jinja")
        write(PYTHON / "resources.py", template.render(names, is_async=False))
        write(PYTHON / "async_resources.py", template.render(names, is_async=True))
    if "typescript" in languages:
        types = reader.select(reader.results | reader.bodies)
        write(TYPESCRIPT / "openapi.json", json.dumps(types, indent=1))
        template = environment.get_template("resources.ts.jinja")
        write(TYPESCRIPT / "src" / "resources.ts", template.render(names))


def write(file: Path, text: str) -> None:
    """Write a file, unless it has this text: its time says whether what is made of it is old."""
    if not file.exists() or file.read_text() != text:
        file.write_text(text)


def write_python_types(description: Json, module: str, kind: str) -> None:
    """Write the types of a description: classes for results, dictionaries for bodies."""
    options = (
        *("--input-file-type", "openapi", "--output-model-type", kind),
        *("--target-python-version", "3.11", "--use-standard-collections", "--use-union-operator"),
        *("--enum-field-as-literal", "all", "--use-schema-description", "--use-field-description"),
        *("--disable-timestamp", "--use-type-alias", "--output", PYTHON / f"{module}.py"),
    )
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "openapi.json")
        file.write_text(json.dumps(description))
        command = (sys.executable, "-m", "datamodel_code_generator", "--input", file, *options)
        done = subprocess.run([*map(str, command)], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"datamodel-code-generator failed: {done.stdout}{done.stderr}")


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit("Name the file of an OpenAPI description, such as that of /v1/openapi.json")
    generate(json.loads(Path(sys.argv[1]).read_bytes()), sys.argv[2:] or ("python", "typescript"))
