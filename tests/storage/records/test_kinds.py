"""Kinds of records: keys, documents, projections and defaults."""

from storage.attributes import ASSIGNMENTS
from storage.catalog import RECORD_TYPES, RECORD_TYPES_BY_NAME
from storage.records.kinds import KEY_SEPARATOR
from storage.units import UNITS, Unit

ASSIGNMENT = {"group_id": "g", "attribute_id": "x", "asset_id": "a", "unit_id": "u"}


def test_owners_are_kinds_and_come_before_what_they_own() -> None:
    for kind in RECORD_TYPES:
        assert {owner.kind for owner in kind.foreign_keys} <= {*RECORD_TYPES_BY_NAME}


def test_the_key_is_the_id_or_the_key_fields_joined() -> None:
    assert UNITS.key_of({"id": "u"}) == "u"
    fields = ASSIGNMENTS.key_fields
    key = ASSIGNMENTS.key_of(ASSIGNMENT)
    assert key.split(KEY_SEPARATOR) == [ASSIGNMENT[field] for field in fields]


def test_a_single_valued_key_omits_the_last_field() -> None:
    flag = ASSIGNMENTS.single_valued_flag
    single = ASSIGNMENTS.key_of({**ASSIGNMENT, flag: True})
    multiple = ASSIGNMENTS.key_of({**ASSIGNMENT, flag: False})
    assert multiple == f"{single}{KEY_SEPARATOR}{ASSIGNMENT[ASSIGNMENTS.key_fields[-1]]}"


def test_a_document_has_the_key_as_its_id_and_is_decoded_to_the_record() -> None:
    unit = Unit(id="u", asset_id="a", floor_id="f", name="101", map_ids=["m"])
    document = UNITS.to_document(unit)
    assert document["_id"] == "u"
    assert "id" not in document
    assert {*document} == {"_id", *UNITS.stored_fields}
    assert UNITS.decode([document]) == [unit]


def test_documents_from_before_a_field_was_added_get_its_default() -> None:
    older = {"_id": "u", "asset_id": "a", "floor_id": "f", "name": "101"}
    filled, other = UNITS.fill_defaults(older), UNITS.fill_defaults(older)
    assert UNITS.decode([filled]) == UNITS.decode([older])
    assert {*filled} == {*UNITS.projection}
    for name, value in filled.items():
        if isinstance(value, list):
            assert value is not other[name]
