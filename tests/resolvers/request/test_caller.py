"""Callers: equal in their rights wherever a response may be shared, and distinguished otherwise."""

from typing import Any

import pytest
from graphql import GraphQLObjectType

from resolvers.request import caller
from resolvers.request.caller import EXPLAIN_PERMISSION, FLAGS, PERMISSIONS, Caller
from schema.definitions import Requirement, requirement_of
from schema.root import GRAPHQL_SCHEMA
from storage.records.visibility import ALL_ASSETS, AssetScope

SOME = AssetScope(frozenset({"elm", "oak"}))


def make(**given: Any) -> Caller:
    return Caller(**{"key_id": "key", "scope": SOME, **given})


@pytest.mark.parametrize(
    "same",
    [
        {"key_id": "another"},
        {"scope": AssetScope(frozenset({"oak", "elm"}))},
        {"permissions": frozenset()},
        {"flags": frozenset()},
    ],
)
def test_callers_with_equal_rights_share_responses(same: dict[str, Any]) -> None:
    assert make(**same).rights == make().rights
    assert hash(make(**same).rights) == hash(make().rights)


@pytest.mark.parametrize(
    "other",
    [
        {"scope": ALL_ASSETS},
        {"scope": AssetScope(frozenset({"oak"}))},
        {"scope": AssetScope(frozenset())},
        {"permissions": frozenset({caller.PARSE_UNIT_MAPS_PERMISSION})},
        {"flags": frozenset({caller.REFERENCES_FLAG})},
    ],
)
def test_callers_with_other_rights_do_not(other: dict[str, Any]) -> None:
    assert make(**other).rights != make().rights


@pytest.mark.parametrize(
    ("scope", "is_admin"),
    [(ALL_ASSETS, True), (SOME, False), (AssetScope(frozenset()), False)],
)
def test_only_who_sees_all_assets_is_an_administrator(scope: AssetScope, is_admin: bool) -> None:
    permissions = make(scope=scope, permissions=frozenset(PERMISSIONS)).permissions
    assert permissions == {*PERMISSIONS} - ({*()} if is_admin else {caller.ADMIN_PERMISSION})


def test_a_flag_is_no_permission_of_the_same_name() -> None:
    names = frozenset({"x"})
    both = make(flags=names, permissions=names)
    rights = {make(flags=names).rights, make(permissions=names).rights, both.rights}
    assert len(rights) == 3


REQUIREMENTS = {
    requirement_of(field)
    for type in GRAPHQL_SCHEMA.type_map.values()
    if isinstance(type, GraphQLObjectType)
    for field in type.fields.values()
} - {Requirement()}


def test_every_flag_and_permission_is_known_and_opens_some_field() -> None:
    flags = {requirement.flag for requirement in REQUIREMENTS}
    permissions = {requirement.permission for requirement in REQUIREMENTS}
    assert flags - {None} == {*FLAGS}
    # Explanations are of requests, not of fields.
    assert permissions - {None} == {*PERMISSIONS} - {EXPLAIN_PERMISSION}
