"""Random catalogs: few records of every kind, with odd names, ids that meet others, and times."""

from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from storage.catalog import RECORD_TYPES
from storage.importing.import_bundles import import_bundles
from tests.storage.catalogs import Bundle, contents, write_arrays

DEAR = settings(
    max_examples=settings().max_examples // 5,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
"""For properties of which each example imports several catalogs."""

NAMES = st.text(
    st.characters(exclude_characters="\0", exclude_categories=["Cs"]), min_size=1, max_size=4
)
STAMPS = st.sampled_from(
    [
        {},
        {"created_at": "2020-01-01T00:00:00Z"},
        {"updated_at": "2021-05-06T07:08:09.123+05:30"},
        {"created_at": "2020-01-01T00:00:00Z", "updated_at": "2020-01-01T00:00:00+01:00"},
    ]
)
OWNERS = {f"{kind}{n}": f"a{n % 2}" for kind in "fmu" for n in range(3)}
"""The asset of each floor, map and unit."""


@st.composite
def catalogs(draw: st.DrawFn) -> Bundle:
    """Draw a consistent catalog, with ids of which other catalogs have some, too."""

    def some(of: list[str]) -> list[str]:
        return draw(st.lists(st.sampled_from(of), unique=True)) if of else []

    def name() -> str:
        return draw(NAMES)

    def made(kind: str) -> list[str]:
        return [each for each in some([f"{kind}{n}" for n in range(3)]) if OWNERS[each] in assets]

    def of_asset(found: list[str], asset_id: str) -> list[str]:
        return [each for each in found if OWNERS[each] == asset_id]

    assets = some(["a0", "a1"])
    floors, maps = made("f"), made("m")
    backgrounds = [{"id": f"b{each}", "unit_map_id": each, "name": name()} for each in some(maps)]
    pictured = {each["unit_map_id"] for each in backgrounds}
    units = [
        {
            "id": key,
            "asset_id": OWNERS[key],
            "floor_id": draw(st.sampled_from(of_asset(floors, OWNERS[key]))),
            "name": name(),
            "map_ids": draw(st.none() | st.just(some(of_asset(maps, OWNERS[key])))),
            **draw(STAMPS),
        }
        for key in made("u")
        if of_asset(floors, OWNERS[key])
    ]
    locations = [
        {
            "id": f"l{unit_map}",
            "asset_id": OWNERS[unit_map],
            "unit_map_id": unit_map,
            "name": name(),
            "x": draw(st.floats(-1e9, 1e9)),
            "y": draw(st.integers(-(10**9), 10**9)),
            "floors": [{"id": each} for each in some(of_asset(floors, OWNERS[unit_map]))],
            "tags": draw(
                st.just([])
                | st.just([{"key": "svc:type", "value": "unit"}, {"key": "svc:id", "value": "u1"}])
                | st.just([{"key": "k", "value": "v", **draw(STAMPS)}])
            ),
        }
        for unit_map in some(maps)
    ]
    groups: list[dict[str, Any]] = [
        {
            "group_id": group_id,
            "group_name": name(),
            "one_attribute_per_unit": group_id == "g0",
            "attributes": [
                {"attribute_id": each, "attribute_name": each, "attribute_key": each}
                for each in some(["p", "q"])
            ],
        }
        for group_id in some(["g0", "g1"])
    ]
    assignments = [
        {
            "group_id": group["group_id"],
            "attribute_id": each,
            "unit_id": unit["id"],
            "asset_id": unit["asset_id"],
        }
        for group in groups
        for unit in units
        for each in some([attribute["attribute_id"] for attribute in group["attributes"]])[
            : 1 if group["one_attribute_per_unit"] else None
        ]
    ]
    return {
        "assets": [{"id": each, "name": name()} for each in assets],
        "floors": [{"id": each, "asset_id": OWNERS[each], "name": name()} for each in floors],
        "maps": [
            {
                "id": each,
                "asset_id": OWNERS[each],
                "name": name(),
                "background_id": f"b{each}" if each in pictured and draw(st.booleans()) else None,
                "feet_per_unit": draw(st.none() | st.floats(1e-3, 1e3)),
            }
            for each in maps
        ],
        "backgrounds": backgrounds,
        "units": units,
        "level_tags": [{"map_id": each, "key": "k", "name": name()} for each in some(maps)],
        "asset_references": [
            {"id": f"r{each}", "asset_id": each, "key": "kk", "value": "1"} for each in some(assets)
        ],
        "unit_references": [
            {
                "group_id": "g",
                "asset_id": each["asset_id"],
                "unit_id": each["id"],
                "key": "kk",
                "value": name(),
            }
            for each in units
            if draw(st.booleans())
        ],
        "attribute_groups": groups,
        "attribute_assignments": assignments,
        "locations": locations,
    }


async def load_alone(database: Any, path: Any, bundle: Bundle) -> Any:
    """Import a bundle into a catalog that has nothing else; return what it has, without times."""
    for kind in RECORD_TYPES:
        await database[kind.name].delete_many({})
    await import_bundles(database, [write_arrays(path, bundle)])
    return await records_of(database)


async def records_of(database: Any) -> Any:
    """Return what there is of every kind, without timestamps."""
    stored = await contents(database)
    return without_times({kind.name: stored.get(kind.name, []) for kind in RECORD_TYPES})


def without_times(value: Any) -> Any:
    if isinstance(value, list):
        return [without_times(each) for each in value]
    if isinstance(value, dict):
        return {name: without_times(each) for name, each in value.items() if "ed_at" not in name}
    return value
