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

_NOUNS: Final = {
    "string": "a text",
    "number": "a number",
    "integer": "a whole number",
    "boolean": "true or false",
    "array": "a list",
    "object": "an object",
}
_LOWER: Final = ("minimum", "exclusiveMinimum", "minLength", "minItems")
_UPPER: Final = ("maximum", "exclusiveMaximum", "maxLength", "maxItems")
_FORMATS: Final = ("format", "contentMediaType")
_ALTERNATIVES: Final = ("allOf", "anyOf", "oneOf")
_OTHERS: Final = ("not", "if", "then", "else", "uniqueItems", "minProperties", "maxProperties")


class Change(NamedTuple):
    """A difference between two versions of an operation, as a sentence without a full stop."""

    is_breaking: bool
    text: str


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

    def read(self, schema: Any) -> "_Value":
        """Return a schema in the form in which schemas are compared."""
        rules = dict(self.resolve(schema))
        is_nullable = False
        for keyword in ("anyOf", "oneOf"):
            parts = [self.resolve(part) for part in rules.get(keyword, ())]
            others = [part for part in parts if part.get("type") != "null"]
            if len(others) == 1 and "type" not in rules:  # a value, or null
                is_nullable |= len(others) < len(parts)
                del rules[keyword]
                inner = self.read(others[0])
                rules, is_nullable = {**inner.rules, **rules}, is_nullable or inner.is_nullable
        kinds = rules.get("type", [])
        types = frozenset([kinds] if isinstance(kinds, str) else kinds)
        if "$ref" in rules:
            types = frozenset([rules["$ref"].rpartition("/")[2]])
        if "const" in rules:
            rules["enum"] = [rules["const"]]
        return _Value(types - {"null"}, is_nullable or "null" in types or not types, rules)


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
        was, now = (
            {*each.operation.get("x-permission", "").split(", ")} - {""} for each in self._sides
        )
        for name in sorted(now - was):
            yield Change(True, f"the key needs the permission {name} now")
        for name in sorted(was - now):
            yield Change(False, f"the key does not need the permission {name} any more")
        yield from self._compare_parameters()
        yield from self._compare_bodies()
        yield from self._compare_responses()

    @property
    def _sides(self) -> tuple[_Side, _Side]:
        return self.old, self.new

    def _compare_parameters(self) -> Iterator[Change]:
        old, new = (
            {
                _name_parameter(given): (given, given.get("required", False))
                for given in map(side.resolve, side.operation.get("parameters", ()))
            }
            for side in self._sides
        )
        for name, is_required in _iter_new(old, new):
            yield _describe_new(name, is_required)
        for name, (given, was_required) in old.items():
            if name not in new:
                yield Change(True, f"{name} is gone")
                continue
            now, is_required = new[name]
            yield from _compare_required(name, was_required, is_required, is_input=True)
            yield from self._compare_values(
                name, given.get("schema", {}), now.get("schema", {}), is_input=True
            )

    def _compare_bodies(self) -> Iterator[Change]:
        old, new = (side.resolve(side.operation.get("requestBody", {})) for side in self._sides)
        if new and not old:
            yield _describe_new("the body", new.get("required", False))
        elif old and not new:
            yield Change(True, "the body is gone")
        else:
            was, now = (each.get("required", False) for each in (old, new))
            yield from _compare_required("the body", was, now, is_input=True)
            yield from self._compare_content("the body", old, new, is_input=True)

    def _compare_responses(self) -> Iterator[Change]:
        old, new = (side.operation.get("responses", {}) for side in self._sides)
        for status in old | new:
            is_error = not status.startswith("2")
            if status not in new:
                yield Change(not is_error, f"the status {status} is gone")
            elif status not in old:
                yield Change(False, f"the status {status} is new")
            else:
                name = f"the response {status}" if is_error else "the response"
                was, now = self.old.resolve(old[status]), self.new.resolve(new[status])
                yield from self._compare_content(name, was, now, is_input=False)
                had, has = ("Link" in each.get("headers", {}) for each in (was, now))
                if had != has:
                    form = "one page of the list" if has else "the whole list"
                    yield Change(True, f"{name} is {form} now")

    def _compare_content(
        self, name: str, before: Json, after: Json, *, is_input: bool
    ) -> Iterator[Change]:
        old, new = before.get("content", {}), after.get("content", {})
        for media_type in new.keys() - old.keys():
            yield Change(False, f"{name} may be {media_type} now")
        for media_type, content in old.items():
            if media_type not in new:
                yield Change(True, f"{name} is not {media_type} any more")
                continue
            was, now = content.get("schema", {}), new[media_type].get("schema", {})
            yield from self._compare_values(name, was, now, is_input=is_input)

    def _compare_values(
        self, name: str, before: Any, after: Any, *, is_input: bool
    ) -> Iterator[Change]:
        old, new = self.old.read(before), self.new.read(after)
        is_null_new, is_null_gone = (
            a.is_nullable and not b.is_nullable for a, b in ((new, old), (old, new))
        )
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
        if references in self.pending:
            return
        self.pending.append(references)
        yield from self._compare_parts(name, old.rules, new.rules, is_input=is_input)
        self.pending.pop()

    def _compare_parts(
        self, name: str, before: Json, after: Json, *, is_input: bool
    ) -> Iterator[Change]:
        """Compare members, items and alternatives."""
        yield from self._compare_members(name, before, after, is_input=is_input)
        if "items" in before and "items" in after:
            items = before["items"], after["items"]
            yield from self._compare_values(f"{name}[]", *items, is_input=is_input)
        for keyword in _ALTERNATIVES:
            old, new = before.get(keyword, ()), after.get(keyword, ())
            if len(old) != len(new):
                yield Change(True, f"{name} has other alternatives now")
                continue
            for pair in zip(old, new, strict=True):
                yield from self._compare_values(name, *pair, is_input=is_input)

    def _compare_members(
        self, name: str, before: Json, after: Json, *, is_input: bool
    ) -> Iterator[Change]:
        parent = f"{name}." if "'s " in name else f"{name}'s "
        old, new = (
            {
                f"{parent}{member}": (schema, member in rules.get("required", ()))
                for member, schema in rules.get("properties", {}).items()
            }
            for rules in (before, after)
        )
        for member, is_required in _iter_new(old, new):
            yield _describe_new(member, is_required and is_input)
        for member, (schema, was_required) in old.items():
            if member not in new:
                yield Change(True, f"{member} is gone")
                continue
            now, is_required = new[member]
            yield from _compare_required(member, was_required, is_required, is_input=is_input)
            yield from self._compare_values(member, schema, now, is_input=is_input)
        others = [rules.get("additionalProperties", True) for rules in (before, after)]
        if all(isinstance(each, dict) for each in others):
            yield from self._compare_values(f"{parent}*", *others, is_input=is_input)
        elif others[0] != others[1]:
            is_closed = others[1] is False
            text = "cannot have other members any more" if is_closed else "may have other members"
            yield Change(is_closed and is_input, f"{name} {text}")


def _iter_new(old: Json, new: Json) -> Iterator[tuple[str, bool]]:
    for name, (_, is_required) in new.items():
        if name not in old:
            yield name, is_required


def _describe_new(name: str, is_required: bool) -> Change:
    return Change(is_required, f"{name} is new{' and required' if is_required else ''}")


def _compare_required(name: str, was: bool, now: bool, *, is_input: bool) -> Iterator[Change]:
    if was != now:
        optional = "is optional now" if is_input else "may be missing now"
        text = ("is required now" if is_input else "is always there now") if now else optional
        yield Change(now == is_input, f"{name} {text}")


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


def _name_parameter(parameter: Json) -> str:
    """Return what a sentence calls a parameter.

    >>> _name_parameter({"in": "query", "name": "tag"})
    'the parameter tag'
    """
    if "$ref" in parameter:
        return f"the parameter {parameter['$ref'].rpartition('/')[2]}"
    kinds = {"query": "parameter", "header": "header", "path": "path parameter"}
    return f"the {kinds.get(parameter['in'], parameter['in'])} {parameter['name']}"
