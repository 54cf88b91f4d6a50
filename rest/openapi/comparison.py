"""Compare two versions of an operation in OpenAPI, and tell which changes break its callers.

A change of an input breaks callers where it takes less than before; a change of a response where
it may be more than before: null, missing, of a further type. Texts for people are not compared.
Nor do limits of responses break callers, such as a greater length: few programs know them.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

Json = Mapping[str, Any]
_Parts = dict[str, tuple[Any, bool]]
"""Schemas by the names of what they are of, and whether that must be there."""

_NOUNS: Final = {
    "string": "a text",
    "number": "a number",
    "integer": "a whole number",
    "boolean": "true or false",
    "array": "a list",
    "object": "an object",
}
_OUTPUT_USES: Final = ("may be missing", "is always there")
_LOWER: Final = ("minimum", "exclusiveMinimum", "minLength", "minItems")
_UPPER: Final = ("maximum", "exclusiveMaximum", "maxLength", "maxItems")
_FORMATS: Final = ("format", "contentMediaType")
_OTHERS: Final = ("not", "if", "then", "else", "uniqueItems", "minProperties", "maxProperties")


class Change(NamedTuple):
    """A difference between two versions of an operation, as a sentence without a full stop."""

    is_breaking: bool
    text: str


@dataclass(frozen=True, slots=True)
class _Value:
    """What a schema says of a value."""

    types: frozenset[str]
    """Names of JSON's types, or of a schema that is not known; empty for any value."""
    is_nullable: bool
    rules: Json

    @property
    def noun(self) -> str:
        names = sorted(self.types) or ["anything"]
        return " or ".join(_NOUNS.get(name, name) for name in names)

    def takes(self, other: "_Value") -> bool:
        """Return whether it may be of all the types that another value may be of."""
        types = self.types | ({"integer"} if "number" in self.types else set())
        return not self.types or (bool(other.types) and other.types <= types)


@dataclass(frozen=True, slots=True)
class _Side:
    """One of the versions."""

    operation: Json
    document: Json
    """Where references lead: a description, or as much of it as is known."""

    def resolve(self, part: Any) -> Json:
        """Return what a part refers to, or the reference itself if it leads nowhere."""
        if isinstance(part, bool):
            return {} if part else {"not": {}}
        resolved: Json = part
        while "$ref" in resolved:
            target: Any = self.document
            for name in resolved["$ref"].removeprefix("#/").split("/"):
                target = target.get(name.replace("~1", "/").replace("~0", "~"), {})
            if not target:
                break
            resolved = {**target, **{key: resolved[key] for key in resolved if key != "$ref"}}
        return resolved

    def read(self, schema: Any) -> _Value:
        """Return a schema in the form in which schemas are compared."""
        rules, is_nullable = dict(self.resolve(schema)), False
        for keyword in ("anyOf", "oneOf"):
            parts = [*map(self.resolve, rules.get(keyword, ()))]
            others = [part for part in parts if part.get("type") != "null"]
            if len(others) == 1 and "type" not in rules:  # a value, or null
                del rules[keyword]
                inner = self.read(others[0])
                rules = {**inner.rules, **rules}
                is_nullable |= inner.is_nullable or len(parts) > 1
        kinds = rules.get("type", [])
        types = frozenset([kinds] if isinstance(kinds, str) else kinds)
        if "$ref" in rules:
            types = frozenset([rules["$ref"].rpartition("/")[2]])
        if "const" in rules:
            rules["enum"] = [rules["const"]]
        return _Value(types - {"null"}, is_nullable or "null" in types or not types, rules)

    def list_inputs(self) -> _Parts:
        """Return the parameters and the body."""
        inputs: _Parts = {}
        for parameter in map(self.resolve, self.operation.get("parameters", ())):
            is_required = parameter.get("required", False)
            inputs[_name_parameter(parameter)] = parameter.get("schema", {}), is_required
        body = self.resolve(self.operation.get("requestBody", {}))
        return inputs | _list_content("the body", body, is_required=body.get("required", False))

    def list_outputs(self) -> _Parts:
        """Return the responses; statuses of successes are there without a body, too."""
        outputs: _Parts = {}
        for status, response in self.operation.get("responses", {}).items():
            name = "the response"
            if status.startswith("2"):
                outputs[f"the status {status}"] = {}, True
            else:
                name += f" {status}"
            outputs |= _list_content(name, self.resolve(response), is_required=True)
        return outputs

    @property
    def has_pages(self) -> bool:
        """Tells whether a response is one page of a list."""
        responses = map(self.resolve, self.operation.get("responses", {}).values())
        return any("Link" in response.get("headers", {}) for response in responses)

    @property
    def permissions(self) -> set[str]:
        """The permissions that the key needs."""
        return {*self.operation.get("x-permission", "").split(", ")} - {""}


def _list_content(name: str, holder: Json, *, is_required: bool) -> _Parts:
    """Return the schemas of a body by its name, with its media type if that is not JSON."""
    return {
        name if media_type == "application/json" else f"{name} as {media_type}": (
            content.get("schema", {}),
            is_required,
        )
        for media_type, content in holder.get("content", {}).items()
    }


def _name_parameter(parameter: Json) -> str:
    """Return what a sentence calls a parameter.

    >>> _name_parameter({"in": "query", "name": "tag"})
    'the parameter tag'
    """
    if "$ref" in parameter:
        return f"the parameter {parameter['$ref'].rpartition('/')[2]}"
    kinds = {"query": "parameter", "path": "path parameter"}
    return f"the {kinds.get(parameter['in'], parameter['in'])} {parameter['name']}"


def find_operation_changes(
    before: Json, after: Json, old_document: Json, new_document: Json
) -> list[Change]:
    """Return how two versions of an operation differ, each with where its references lead."""
    comparison = _Comparison(_Side(before, old_document), _Side(after, new_document))
    return [*dict.fromkeys(comparison.compare())]


class _Comparison:
    def __init__(self, old: _Side, new: _Side) -> None:
        self.old = old
        self.new = new
        self.pending: list[tuple[str, str]] = []
        """The schemas whose parts are being compared: a recursive one is followed once."""

    def compare(self) -> Iterator[Change]:
        """Yield the changes of permissions, parameters, body and responses."""
        old, new = self.old, self.new
        for name in sorted(new.permissions - old.permissions):
            yield Change(True, f"the key needs the permission {name} now")
        for name in sorted(old.permissions - new.permissions):
            yield Change(False, f"the key does not need the permission {name} any more")
        yield from self._compare_parts(old.list_inputs(), new.list_inputs(), is_input=True)
        if old.has_pages != new.has_pages:
            form = "one page of the list" if new.has_pages else "the whole list"
            yield Change(True, f"the response is {form} now")
        yield from self._compare_parts(old.list_outputs(), new.list_outputs(), is_input=False)

    def _compare_parts(self, old: _Parts, new: _Parts, *, is_input: bool) -> Iterator[Change]:
        for name, (_, is_required) in new.items():
            if name not in old:
                must = is_required and is_input
                yield Change(must, f"{name} is new{' and required' if must else ''}")
        for name, (schema, was_required) in old.items():
            if name not in new:
                yield Change(True, f"{name} is gone")
                continue
            now, is_required = new[name]
            if was_required != is_required:
                uses = ("is optional", "is required") if is_input else _OUTPUT_USES
                yield Change(is_required == is_input, f"{name} {uses[is_required]} now")
            yield from self._compare_values(name, schema, now, is_input=is_input)

    def _compare_values(
        self, name: str, before: Any, after: Any, *, is_input: bool
    ) -> Iterator[Change]:
        old, new = self.old.read(before), self.new.read(after)
        is_null_new = new.is_nullable and not old.is_nullable
        is_null_gone = old.is_nullable and not new.is_nullable
        is_breaking = is_null_gone if is_input else is_null_new
        if old.types != new.types:
            is_breaking |= not (new.takes(old) if is_input else old.takes(new))
            null = " or null" if is_null_new and new.types else ""
            yield Change(is_breaking, f"{name} was {old.noun} and is {new.noun}{null} now")
        elif is_null_new:
            yield Change(is_breaking, f"{name} was {old.noun} and may be null now")
        elif is_null_gone:
            yield Change(is_breaking, f"{name} may not be null any more")
        if not (old.takes(new) or new.takes(old)):
            return
        yield from _compare_rules(name, old.rules, new.rules, is_input=is_input)
        references = str(before), str(after)
        if references not in self.pending:
            self.pending.append(references)
            parts = (_list_parts(name, each.rules) for each in (old, new))
            yield from self._compare_parts(*parts, is_input=is_input)
            yield from self._compare_inner(name, old.rules, new.rules, is_input=is_input)
            self.pending.pop()

    def _compare_inner(
        self, name: str, before: Json, after: Json, *, is_input: bool
    ) -> Iterator[Change]:
        """Compare items, members without names, and alternatives."""
        for keyword, place in (("items", "[]"), ("additionalProperties", "[*]")):
            old, new = before.get(keyword, True), after.get(keyword, True)
            if isinstance(old, dict) and isinstance(new, dict):
                yield from self._compare_values(name + place, old, new, is_input=is_input)
            elif old != new:
                text = "cannot" if new is False else "may"
                yield Change(is_input and new is False, f"{name} {text} have other members now")
        for keyword in ("allOf", "anyOf", "oneOf"):
            old, new = before.get(keyword, ()), after.get(keyword, ())
            if len(old) != len(new):
                yield Change(True, f"{name} has other alternatives now")
                continue
            for pair in zip(old, new, strict=True):
                yield from self._compare_values(name, *pair, is_input=is_input)


def _list_parts(name: str, rules: Json) -> _Parts:
    """Return the members of an object."""
    parent = f"{name}." if "'s " in name else f"{name}'s "
    required = rules.get("required", ())
    members = rules.get("properties", {}).items()
    return {f"{parent}{member}": (schema, member in required) for member, schema in members}


def _compare_rules(name: str, old: Json, new: Json, *, is_input: bool) -> Iterator[Change]:
    """Compare what two schemas say of one value."""
    words, now_words = old.get("enum", ()), new.get("enum", ())
    if now_words and not words:
        yield Change(is_input, f"{name} may only be {_join(now_words)} now")
    elif words and not now_words:
        yield Change(not is_input, f"{name} may be other than {_join(words)} now")
    else:
        if more := [word for word in now_words if word not in words]:
            yield Change(not is_input, f"{name} may be {_join(more)} now")
        if gone := [word for word in words if word not in now_words]:
            yield Change(is_input, f"{name} may not be {_join(gone)} any more")
    was: Any
    now: Any
    for keyword in (*_LOWER, *_UPPER, *_FORMATS, "pattern", "default", *_OTHERS):
        was, now = old.get(keyword), new.get(keyword)
        if was == now:
            continue
        is_breaking = is_input and now is not None
        if keyword in _LOWER + _UPPER and None not in (was, now):
            is_breaking = is_input and (now > was) == (keyword in _LOWER)
        elif keyword == "default":
            is_breaking = is_input  # who does not send it gets another result
        elif keyword in _FORMATS and not is_input:
            is_breaking = was is not None
        elif keyword in _OTHERS:
            is_breaking = True  # which of them is narrower cannot be seen
        texts = ["absent" if each is None else json.dumps(each) for each in (was, now)]
        text = f"the {keyword} of {name} was {texts[0]} and is {texts[1]} now"
        yield Change(is_breaking, text)


def _join(words: Iterable[Any]) -> str:
    return " or ".join(map(str, words))
