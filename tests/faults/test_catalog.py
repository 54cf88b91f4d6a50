"""How rows of a list are read as registers."""

from typing import Any

from tests.faults.catalog import BLOCK_UNITS, build_catalog, read_extras, read_registers

BLOCK = BLOCK_UNITS[0]


def rows(units: list[str], attribute: str) -> list[dict[str, Any]]:
    return [{"unit_id": unit, "attribute_id": attribute} for unit in units]


def test_a_block_has_the_attribute_of_all_its_units() -> None:
    values, problems = read_registers(rows(BLOCK, "v1") + rows(["single-1"], "v2"))
    assert (values["block 0"], values["block 1"]) == ("v1", None)
    assert (values["single-0"], values["single-1"]) == (None, "v2")
    assert problems.total() == 0


def test_a_block_of_different_attributes_is_half_a_batch() -> None:
    values, problems = read_registers(rows(BLOCK[:30], "v1") + rows(BLOCK[30:], "v2"))
    assert "block 0" not in values
    assert problems["half batches"] == 1


def test_a_unit_with_two_attributes_is_counted() -> None:
    _, problems = read_registers(rows(["single-0"], "v1") + rows(["single-0"], "v2"))
    assert problems["units with two attributes"] == 1


def test_an_extra_is_had_by_all_units_of_a_block_or_by_half() -> None:
    values, problems = read_extras(rows(BLOCK, "v1") + rows(BLOCK[:3], "v2"))
    assert values == {"extra 0 v1": "yes", "extra 0 v2": "half"}
    assert problems["half batches"] == 1


def test_all_units_of_the_registers_exist() -> None:
    units = {unit["id"] for unit in build_catalog()["units"]}
    assert {"single-0", "single-1", *BLOCK} <= units
