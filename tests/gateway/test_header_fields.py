"""Header fields by name."""

from typing import Any

from gateway.header_fields import fields_of


def test_the_fields_of_a_request_are_found_once() -> None:
    scope: dict[str, Any] = {"headers": [(b"host", b"a"), (b"via", b"b"), (b"via", b"c")]}
    fields = fields_of(scope)
    assert fields == {b"host": b"a", b"via": b"b, c"}
    assert fields.list_lines(b"via") == [b"b", b"c"]
    assert fields_of(scope) is fields


def test_a_copy_of_a_scope_with_other_headers_has_those() -> None:
    scope: dict[str, Any] = {"headers": [(b"api-key", b"first")]}
    assert fields_of(scope)[b"api-key"] == b"first"
    assert fields_of({**scope, "headers": [(b"api-key", b"second")]})[b"api-key"] == b"second"
    assert fields_of(scope)[b"api-key"] == b"first"
