"""Header fields by name."""

from typing import Any

from gateway.header_fields import fields_of


def test_a_copy_of_a_scope_with_other_headers_has_those() -> None:
    scope: dict[str, Any] = {"headers": [(b"api-key", b"first")]}
    assert fields_of(scope)[b"api-key"] == b"first"
    assert fields_of({**scope, "headers": [(b"api-key", b"second")]})[b"api-key"] == b"second"
    assert fields_of(scope)[b"api-key"] == b"first"
