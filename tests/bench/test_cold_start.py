"""What the bench of the first minute after a start sends."""

from collections import Counter

from bench.cold_start import ASSETS, DISTINCT_REQUESTS, KEYS, build_requests
from bench.data.bundle import get_asset_id, iter_small_members


def test_each_key_asks_for_what_it_sees_and_for_some_of_it_most() -> None:
    requests = build_requests({name: f"key of {name}" for name in KEYS})
    assert len(requests) == DISTINCT_REQUESTS
    assert {each.headers["API-Key"] for each in requests} == {f"key of {name}" for name in KEYS}
    few = [each.path for each in requests if each.headers["API-Key"] == "key of few"]
    assets = Counter(path.removeprefix("/v1/assets/") for path in few if "/assets/" in path)
    seen = {get_asset_id(number) for number in range(KEYS["few"])}
    assert {asset.partition("/")[0] for asset in assets} == seen
    assert assets.most_common(1)[0][0].partition("/")[0] == get_asset_id(0)


def test_small_properties_are_whole() -> None:
    members = [*iter_small_members(3)]
    floors = {member["id"] for kind, member in members if kind == "floor"}
    units = [member for kind, member in members if kind == "unit"]
    assert Counter(kind for kind, _ in members) == {"asset": 3, "floor": 6, "map": 3, "unit": 60}
    assert {unit["floor_id"] for unit in units} == floors
    assert len({unit["id"] for unit in units}) == 60
    assert ASSETS == 1_000
