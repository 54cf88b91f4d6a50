"""Directories of any size are valid, and the tables of growth mark what costs more."""

import pytest

from bench.data.grown_directory import Size, iter_collections, name_map
from bench.growth import Examined, GrowthResult, build_tables
from bench.load.rounds import Sample
from storage.catalog import RECORD_TYPES


@pytest.mark.parametrize("size", [Size(100, 1), Size(100, 10)])
def test_documents_of_a_grown_directory_are_records(size: Size) -> None:
    kinds = {kind.name: kind for kind in RECORD_TYPES}
    ids: dict[str, set[str]] = {}
    for name, documents in iter_collections(size):
        found = [*documents]
        ids[name] = {document["_id"] for document in found}
        assert len([*kinds[name].decode(found)]) == len(ids[name])
    assert len(ids["units"]) == size.units
    assert ids["maps"] == {name_map(id) for id in ids["assets"]}


def test_units_of_an_asset_are_spread_over_the_order_of_ids() -> None:
    units = dict(iter_collections(Size(1_000, 10)))["units"]
    first = [unit["asset_id"] for unit in sorted(units, key=lambda unit: unit["_id"])][:50]
    assert len({*first}) == 10


def _result(units: int, cpu_ms: float) -> GrowthResult:
    sample = Sample(
        round=0,
        workload="unit",
        peer="floorgate",
        requests=1,
        cpu_ms=cpu_ms,
        mongod_cpu_ms=1.0,
        requests_per_second=1.0,
        busy=1.0,
        p50_ms=1.0,
        p99_ms=1.0,
        load_average=1.0,
    )
    examined = {"unit": Examined(commands=1, keys=1_000, documents=2)}
    return GrowthResult(units=units, assets=1, key_assets=None, samples=[sample], examined=examined)


def test_costs_over_the_ratio_are_marked() -> None:
    costs, examined = build_tables([_result(10, 1.0), _result(20, 1.9), _result(30, 2.1)], 4.0)
    assert costs.header[1:] == tuple(
        f"{units} units, 1 assets, key for all" for units in (10, 20, 30)
    )
    assert costs.rows == [("unit", "1.00; 1.00", "1.90; 1.00", "2.10; 1.00 *")]
    assert "cache of 4 GB. Load average 1 to 1" in costs.note
    assert examined.rows == [("unit", *["1,000; 2"] * 3)]
