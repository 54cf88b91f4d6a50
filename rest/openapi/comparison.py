"""Compare two versions of an operation in OpenAPI, and tell which changes break its callers.

A change of an input breaks callers where it takes less than before; a change of a response where
it may be more than before: null, missing, of a further type. Texts for people are not compared.
Nor do limits of responses break callers, such as a greater length: few programs know them.
"""

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

Json = Mapping[str, Any]

_NOUNS: Final = {
    "string": "a text",
    "number": "a number",
    "integer": "a whole number",
    "boolean": "true or false",
    "array": "a list",
    "object": "an object",
    "null": "null",
}
_MISSING: Final = "missing"
_ANYTHING: Final = "anything"
_DEFAULTS: Final = ("default", "x-default")
_FORMS: Final = ("anyOf", "oneOf", "allOf")
_NO_RULES: Final = {
    *("description", "title", "examples", "deprecated", "x-extensible-enum"),
    *("type", "enum", "const", "format", "contentMediaType"),
    *("$ref", "properties", "required", "items"),
}
"""Keywords of texts for people, and of what is compared otherwise."""


class Change(NamedTuple):
    """A difference between two versions of an operation, as a sentence without a full stop."""

    is_breaking: bool
    text: str


class _Part(NamedTuple):
    """What a schema says of a value, which may also be missing."""

    kinds: dict[str, str]
    """What the value may be, each with what that is more generally: a word with a text."""
    rules: Json
    inner: dict[str, tuple[Json, bool]]
    """The schemas of its members, items and forms, and whether they must be there."""
    inside: tuple[str, ...]
    """The references that lead to it: a recursive schema is followed once."""

    def exceed(self, other: "_Part") -> str:
        """Return what the value may be that another one may not."""
        return " or ".join(
            kind
            for kind, general in self.kinds.items()
            if other.kinds.keys().isdisjoint((kind, general))
            and (kind == _MISSING or _ANYTHING not in other.kinds)
        )


_Parts = dict[str, _Part]
"""What is compared, by what a sentence calls it."""


class _Version(NamedTuple):
    operation: Json
    document: Json
    """Where references lead: a description, or nothing."""

    def resolve(self, part: Json) -> Json:
        """Return what a part refers to, or the reference itself if it leads nowhere."""
        target: Any = self.document if "$ref" in part else {}
        for name in part.get("$ref", "").removeprefix("#/").split("/"):
            target = target.get(name, {})
        return {**target, **part}

    def list_inputs(self) -> _Parts:
        inputs: _Parts = {}
        for parameter in map(self.resolve, self.operation.get("parameters", ())):
            place = parameter.get("in", "header")
            noun = {"query": "parameter", "path": "path parameter"}.get(place, place)
            name = parameter.get("name") or parameter["$ref"].rpartition("/")[2]
            is_required = parameter.get("required", False)
            schema = parameter.get("schema", {})
            inputs[f"the {noun} {name}"] = self.read(schema, is_required=is_required)
        return inputs | self._list_content("the body", self.operation.get("requestBody", {}))

    def list_outputs(self) -> _Parts:
        """Return the responses; statuses of successes are there without a body, too."""
        outputs: _Parts = {}
        for status, response in self.operation.get("responses", {}).items():
            name = "the response"
            if status.startswith("2"):
                outputs[f"the status {status}"] = self.read({})
            else:
                name += f" {status}"
            outputs |= self._list_content(name, self.resolve(response))
        return outputs

    def _list_content(self, name: str, holder: Json) -> _Parts:
        """Return a body by its name, with its media type if that is not JSON."""
        is_required = holder.get("required", True)
        return {
            name if media_type == "application/json" else f"{name} as {media_type}": self.read(
                content.get("schema", {}), is_required=is_required
            )
            for media_type, content in holder.get("content", {}).items()
        }

    @property
    def has_pages(self) -> bool:
        responses = self.operation.get("responses", {}).values()
        return any("Link" in response.get("headers", {}) for response in responses)

    @property
    def permissions(self) -> set[str]:
        return {*self.operation.get("x-permission", "").split(", ")} - {""}

    def list_parts(self, name: str, part: _Part) -> _Parts:
        """Return the members, items and forms of a value with a name."""
        return {
            (f"{name}'s {key[1:]}" if key[0] == "." and "'s " not in name else f"{name}{key}"): (
                self.read(schema, is_required=is_required, inside=part.inside)
            )
            for key, (schema, is_required) in part.inner.items()
        }

    def read(
        self, schema: Json, *, is_required: bool = True, inside: tuple[str, ...] = ()
    ) -> _Part:
        """Return what a schema says, in the form in which it is compared."""
        kinds = {} if is_required else {_MISSING: _MISSING}
        reference = schema.get("$ref", "")
        rules = schema if reference in inside else self.resolve(schema)
        inside = (*inside, reference)
        types = rules.get("type", ())
        alternatives = [] if types else [part for word in _FORMS for part in rules.get(word, ())]
        others = [part for part in alternatives if part.get("type") != "null"]
        parts = [self.read(part, inside=inside) for part in others]
        for part in parts:
            kinds |= part.kinds
        if len(others) < len(alternatives):
            kinds["null"] = "null"
        if len(parts) == 1:  # a value, or null
            return parts[0]._replace(kinds=kinds, rules={**parts[0].rules, **rules})
        for type in (types,) if isinstance(types, str) else types:
            noun = _NOUNS[type]
            narrow = _list_words(rules) if type == "string" else []
            kinds |= dict.fromkeys(narrow or [noun], "a number" if type == "integer" else noun)
        if not types and not parts:
            kind = reference.rpartition("/")[2] or _ANYTHING
            kinds[kind] = kind
        required = rules.get("required", ())
        members = rules.get("properties", {}).items()
        inner = {f".{name}": (member, name in required) for name, member in members}
        inner |= {f" (form {number})": (part, True) for number, part in enumerate(others, 1)}
        inner |= {"[]": (rules["items"], True)} if "items" in rules else {}
        return _Part(kinds, rules, inner, inside)


def _list_words(rules: Json) -> list[str]:
    """Return what a text may be, if that is not any text."""
    if "enum" in rules or "const" in rules:
        return [json.dumps(word) for word in rules.get("enum", [rules.get("const")])]
    return [f"a text ({rules[name]})" for name in ("format", "contentMediaType") if name in rules]


def find_operation_changes(
    before: Json, after: Json, old_document: Json | None = None, new_document: Json | None = None
) -> Iterator[Change]:
    """Yield how two versions of an operation differ.

    References are followed in the documents, and compared by name where they lead nowhere.
    """
    old, new = _Version(before, old_document or {}), _Version(after, new_document or {})
    for name in sorted(new.permissions - old.permissions):
        yield Change(True, f"the key needs the permission {name} now")
    for name in sorted(old.permissions - new.permissions):
        yield Change(False, f"the key does not need the permission {name} any more")
    if old.has_pages != new.has_pages:
        form = "one page of the list" if new.has_pages else "the whole list"
        yield Change(True, f"the response is {form} now")

    def compare(was: _Parts, now: _Parts, *, is_input: bool) -> Iterator[Change]:
        for name, part in now.items():
            if name not in was:
                must = is_input and _MISSING not in part.kinds
                yield Change(must, f"{name} is new{' and required' if must else ''}")
        for name, part in was.items():
            if name not in now:
                yield Change(True, f"{name} is gone")
                continue
            yield from _compare_values(name, part, now[name], is_input=is_input)
            if {"an object", "a list"} & part.kinds.keys() & now[name].kinds.keys():
                inner = old.list_parts(name, part), new.list_parts(name, now[name])
                yield from compare(*inner, is_input=is_input)

    yield from compare(old.list_inputs(), new.list_inputs(), is_input=True)
    yield from compare(old.list_outputs(), new.list_outputs(), is_input=False)


def _compare_values(name: str, old: _Part, new: _Part, *, is_input: bool) -> Iterator[Change]:
    if gone := old.exceed(new):
        yield Change(is_input, f"{name} may not be {gone} any more")
    if more := new.exceed(old):
        yield Change(not is_input, f"{name} may be {more} now")
    for keyword in sorted({*old.rules, *new.rules} - _NO_RULES - {*_FORMS}):
        was: Any = old.rules.get(keyword)
        now: Any = new.rules.get(keyword)
        if was == now:
            continue
        is_looser = now is None and keyword not in _DEFAULTS
        if None not in (was, now) and ("max" in keyword.lower() or "min" in keyword.lower()):
            is_looser = (now > was) == ("max" in keyword.lower())
        texts = ["absent" if each is None else json.dumps(each) for each in (was, now)]
        text = f"the {keyword.removeprefix('x-')} of {name} was {texts[0]} and is {texts[1]} now"
        yield Change(is_input and not is_looser, text)
