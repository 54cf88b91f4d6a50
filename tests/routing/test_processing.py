"""Processing turns a plan into networks and a report, checks them, and packs them in archives."""

import json
import mmap
import tempfile
import zlib
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from shapely import LineString, MultiPolygon, Point, Polygon, box

from routing import verification
from routing.archive import (
    FORMAT_VERSION,
    deserialize_router,
    pack_archive,
    raise_archive_errors,
    serialize_router,
    unpack_archive,
    weigh_networks,
)
from routing.arrays import join_lists, pack_rows, pack_shapes
from routing.costing import Costing, TravelMode
from routing.errors import ArchiveError, PlanError, VerificationError
from routing.issues import IssueKind, PlanIssue
from routing.network import levels, mesh, walk_graph
from routing.network.walk_graph import Edges, Labels, WalkGraph, WorkBudget, build_labels
from routing.plan import Door, Level, Plan, PlanLocation, Space
from routing.processing import process_plan
from routing.search.router import Position, Router, WaypointRef
from routing.verification import verify_router
from tests.routing.ascii_plans import draw_plan, process_drawing
from tests.routing.hard_areas import WALLS, Walls, arc, build_plan, process_demo, teeth

TOWER = draw_plan("A.n,,e#C", "B.+,,e##")
IDS = [*"ABC"]


@pytest.mark.parametrize(("limit", "modes"), [(3, [*TravelMode]), (2, [])])
def test_a_plan_with_too_many_locations_has_no_tables_and_the_same_distances(
    limit: int, modes: list[TravelMode]
) -> None:
    processed = process_plan(TOWER, max_table_locations=limit)
    assert [*processed.tables] == modes
    for mode in TravelMode:
        found, expected = (
            plan.router.matrix(IDS, IDS, mode) for plan in (processed, process_plan(TOWER))
        )
        np.testing.assert_allclose(found.feet, expected.feet, rtol=1e-6)
        np.testing.assert_allclose(found.seconds, expected.seconds, rtol=1e-6)


@pytest.mark.parametrize("mode", TravelMode)
def test_the_costing_is_that_of_the_networks_and_tables(mode: TravelMode) -> None:
    half = Costing(foot_kmh=5.1 / 2, wheelchair_kmh=4 / 2, elevator_entry_seconds=65)
    plan = draw_plan("A,,e", "B,,e")
    usual, slow = process_plan(plan), process_plan(plan, half)
    found, expected = (each.router.matrix(["A"], ["B"], mode) for each in (slow, usual))
    assert slow.networks[mode].costing is half
    assert found.feet[0, 0] == expected.feet[0, 0]
    assert found.seconds[0, 0] == pytest.approx(2 * expected.seconds[0, 0])  # 70 s by lift, not 35


def test_what_costs_locations_comes_first_then_the_steps_in_their_order() -> None:
    bow_tie = Space("bow", "0", Polygon([(0, 0), (20, 20), (20, 0), (0, 20)]))
    rooms = bow_tie, Space("room", "0", box(28, 0, 48, 20))
    doors = (Door("lost", "0", Point(99, 99)),)
    far = PlanLocation("far", "0", 99, 99)
    report = process_plan(Plan((Level("0", 0),), rooms, (), doors, (), (far,))).report
    assert [problem.kind for problem in report.problems] == [
        IssueKind.LOCATION_OFF_FLOOR,
        IssueKind.DOOR_INFERRED,
        IssueKind.DOOR_INFERRED,
        IssueKind.SELF_CROSSING,
        IssueKind.OUTLINE_GUESSED,
        IssueKind.DOOR_JOINS_NOTHING,
    ]


def test_problems_of_reading_the_file_are_in_the_report() -> None:
    left_out = PlanIssue(IssueKind.ELEMENT_LEFT_OUT, "way/1", "way/1 has no node", "0", (3.0, 4.0))
    groups = process_plan(TOWER, reading_issues=[left_out]).report.groups
    [group] = [group for group in groups if group.cause is IssueKind.ELEMENT_LEFT_OUT]
    assert (
        group.statement
        == "An element of the file was left out; what it would have joined is not known"
    )
    assert group.problems == (left_out,)


def test_a_plan_that_contradicts_itself_is_refused_before_the_first_step_ends() -> None:
    steps: list[str] = []
    twice = replace(TOWER, levels=TOWER.levels * 2)
    with pytest.raises(PlanError, match="2 levels have the id '0'"):
        process_plan(twice, progress=lambda _, step: steps.append(step))
    assert steps == ["checking the plan"]


def test_progress_is_reported_from_nothing_to_all() -> None:
    reported: list[tuple[float, str]] = []
    process_plan(TOWER, progress=lambda share, step: reported.append((share, step)))
    shares, steps = zip(*reported, strict=True)
    assert (shares[0], shares[-1]) == (0, 1)
    assert sorted(set(shares)) == list(shares)
    assert steps[0] == "checking the plan" and steps[-1] == "done"
    assert len(set(steps)) == len(steps)


@pytest.mark.parametrize(
    "plan",
    [
        Plan((Level("0", 0),)),
        Plan((Level("0", 0), Level("1", 1)), (Space("a", "1", box(0, 0, 20, 20)),)),
        Plan((Level("0", 0),), doors=(Door("d", "0", LineString([(0, 0), (3, 0)])),)),
        Plan((Level("0", 0),), locations=(PlanLocation("A", "0", 1, 1),)),
    ],
)
def test_a_plan_of_almost_nothing_is_processed(plan: Plan) -> None:
    router = process_plan(plan).router
    positions = [Position("0", 1, 1), Position("1", 5, 5)]
    for mode in TravelMode:
        assert router.matrix(positions, positions, mode).feet.shape == (2, 2)
        assert router.route(positions[0], positions[1], mode) is None


def test_the_same_plan_makes_the_same_network_to_the_byte() -> None:
    """The network is stored under the digest of its bytes."""
    first, second = (serialize_router(process_plan(TOWER).router) for _ in range(2))
    assert first == second


ARRAYS: dict[str, np.ndarray[Any, Any]] = {
    "empty": np.empty((0, 3)),
    "table": np.arange(6, dtype=np.float32).reshape(2, 3),
    "big-endian": np.array([1, 2], dtype=">i4"),
    "transposed": np.arange(6).reshape(2, 3).T,
}
ARCHIVE = pack_archive("test", {"name": "caf\u00e9"}, ARRAYS)


def test_values_and_arrays_are_read_back() -> None:
    values, arrays = unpack_archive("test", ARCHIVE)
    assert values == {"name": "caf\u00e9"}
    assert [*arrays] == [*ARRAYS]
    for name, array in arrays.items():
        np.testing.assert_array_equal(array, ARRAYS[name])


@pytest.mark.parametrize(
    ("array", "dtype"),
    [
        (np.array([0, 127]), np.int8),
        (np.array([-129, 3]), np.int16),
        (np.array([0, 2**31]), np.int64),
        (np.array([], dtype=np.int64), np.int64),
        (np.array([255], dtype=np.uint8), np.uint8),
        (np.array([1.0]), np.float64),
        (np.array([1], dtype=np.float32), np.float32),
    ],
)
def test_integers_take_as_few_bytes_as_they_need(
    array: np.ndarray[Any, Any], dtype: type[np.generic]
) -> None:
    _, arrays = unpack_archive("test", pack_archive("test", {}, {"a": array}))
    np.testing.assert_array_equal(arrays["a"], array)
    assert arrays["a"].dtype == dtype


def test_arrays_are_read_only_views_of_the_buffer() -> None:
    buffer = bytearray(ARCHIVE)
    _, arrays = unpack_archive("test", buffer)
    assert np.shares_memory(arrays["table"], np.frombuffer(buffer, np.uint8))
    with pytest.raises(ValueError, match="read-only"):
        arrays["table"][0, 0] = 1


@pytest.mark.parametrize(
    ("kind", "archive", "message"),
    [
        ("test", b"", "not a routing archive"),
        ("test", b"<svg/>" * 20, "not a routing archive; process the map again"),
        ("router", ARCHIVE, f"is a test of version {FORMAT_VERSION}, not a router"),
        ("test", ARCHIVE[:-70], "damaged"),
        ("test", ARCHIVE[:30], "damaged"),
        ("test", ARCHIVE[:-1] + bytes([ARCHIVE[-1] ^ 1]), "damaged"),
    ],
)
def test_other_archives_are_an_error(kind: str, archive: bytes, message: str) -> None:
    with pytest.raises(ArchiveError, match=message):
        unpack_archive(kind, archive)


def with_header(header: object) -> bytes:
    """An archive with this header and 64 bytes of arrays."""
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    start = b"FLOORRTE" + len(text).to_bytes(8, "little") + text
    return start + bytes(-len(start) % 64) + bytes(64)


def describing(arrays: object) -> bytes:
    header = {"kind": "test", "version": FORMAT_VERSION, "values": {}, "arrays": arrays}
    return with_header({**header, "checksum": zlib.crc32(bytes(64))})


@pytest.mark.parametrize(
    "archive",
    [
        with_header([]),
        with_header({}),
        with_header(b"{"),
        with_header(b"[" * 100_000),  # nested too deep for the parser
        describing(None),
        describing({"a": None}),
        describing({"a": ["<f8", [9], 0]}),
        describing({"a": ["<f8", [8], 8]}),
        describing({"a": ["<f8", [8], -8]}),
        describing({"a": ["<f8", [2**70], 0]}),
        describing({"a": ["(,", [1], 0]}),
        describing({"a": ["|O", [8], 0]}),  # reading an element would end the process
        describing({"a": [[["b", "|O"]], [8], 0]}),
    ],
)
def test_a_damaged_header_is_an_error(archive: bytes) -> None:
    with pytest.raises(ArchiveError, match="damaged"):
        unpack_archive("test", archive)


def test_a_lack_of_memory_is_no_damage() -> None:
    with pytest.raises(MemoryError), raise_archive_errors():
        raise MemoryError


PROCESSED = process_drawing("A.n,,e", "B.+,,e", "###")
ROUTER_ARCHIVE = serialize_router(PROCESSED.router)
ENDS = ["A", "B"]


@pytest.mark.parametrize("mode", TravelMode)
def test_a_table_comes_back_as_it_was(mode: TravelMode) -> None:
    table, loaded = PROCESSED.tables[mode], deserialize_router(ROUTER_ARCHIVE).tables[mode]
    assert loaded.location_ids == table.location_ids
    for one, other in zip(
        loaded.look_up(ENDS, ENDS),
        table.look_up(ENDS, ENDS),
        strict=True,
    ):
        np.testing.assert_array_equal(one, other)


def test_a_router_without_tables_comes_back_without() -> None:
    loaded = deserialize_router(serialize_router(Router(PROCESSED.networks)))
    assert loaded.tables == {}
    foot = Router({TravelMode.FOOT: PROCESSED.networks[TravelMode.FOOT]})
    assert [*deserialize_router(serialize_router(foot)).networks] == [TravelMode.FOOT]


def test_what_networks_share_weighs_once() -> None:
    foot, wheelchair = PROCESSED.networks.values()
    assert wheelchair.levels is foot.levels
    weight = weigh_networks([foot])
    assert weight > weigh_networks([]) == 0
    assert weigh_networks([foot, foot]) == weight
    assert weight < weigh_networks([foot, wheelchair]) < 2 * weight
    assert weight < len(ROUTER_ARCHIVE)


def test_arrays_can_stay_in_a_mapped_file() -> None:
    with tempfile.TemporaryFile() as file:
        file.write(ROUTER_ARCHIVE)
        file.flush()
        mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        router = deserialize_router(mapped)
        table = router.tables[TravelMode.FOOT]
        assert not table.steps.flags.owndata
        assert table.look_up(["A"], ["B"]).feet[0, 0] > 0


@pytest.mark.parametrize("mode", TravelMode)
def test_a_network_answers_as_before(mode: TravelMode) -> None:
    before = Router(PROCESSED.networks)
    after = Router(deserialize_router(ROUTER_ARCHIVE).networks)
    ends: list[WaypointRef] = [*ENDS, Position("0", 3.0, 1.0)]
    for one, other in zip(
        before.matrix(ends, ends, mode), after.matrix(ends, ends, mode), strict=True
    ):
        np.testing.assert_array_equal(one, other)
    assert before.route("A", "B", mode) == after.route("A", "B", mode)


@pytest.mark.parametrize("name", ["costing", "portals", "links"])
@pytest.mark.parametrize("value", [None, [7], [[7]]])
def test_damaged_values_are_refused(name: str, value: object) -> None:
    values, arrays = unpack_archive("router", ROUTER_ARCHIVE)
    with pytest.raises(ArchiveError, match="damaged"):
        foot = {**values["foot"], name: value}
        deserialize_router(pack_archive("router", {**values, "foot": foot}, arrays))


@given(st.integers(0, len(ROUTER_ARCHIVE) - 1), st.binary(min_size=1, max_size=8))
def test_any_other_bytes_are_a_network_or_refused(at: int, written: bytes) -> None:
    damaged = ROUTER_ARCHIVE[:at] + written + ROUTER_ARCHIVE[at + len(written) :]
    with suppress(ArchiveError):
        deserialize_router(damaged)


def test_lists_of_shapes_and_names_come_back_in_order_and_in_any_language() -> None:
    room, pair = box(0, 0, 2, 1), MultiPolygon([box(0, 0, 1, 1), box(3, 0, 4, 1)])
    packed = join_lists([pack_shapes([[room, pair], []]), pack_shapes([[Polygon()]])])
    assert len(packed) == 3
    assert [packed.shapes(index) for index in range(3)] == [(room, pair), (), (Polygon(),)]
    names = join_lists([pack_rows([[("r1", "Küche"), ("r2", "会议室")]]), pack_rows([[]])])
    assert [names.rows(0), names.rows(1)] == [[("r1", "Küche"), ("r2", "会议室")], []]


STOREYS = process_drawing("A,,e#C,", "B.s,e#m,", "Ds,##m,")


@pytest.mark.parametrize("walls", WALLS)
def test_exact_distances_pass(walls: Walls) -> None:
    found = process_plan(build_plan(walls, 4e-6, 17.3, 1234.5)).verification
    assert found.corner_pairs and found.walks and found.routes


def test_all_modes_and_levels_are_checked() -> None:
    found = verify_router(STOREYS.router)
    assert found.routes == 2 * verification.SAMPLED_PAIRS
    assert found.walks


def test_an_edge_that_was_dropped_for_one_that_does_not_follow_it_is_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def drop_what_leads_past(xy: np.ndarray, edges: Edges) -> Edges:
        """Drop each edge in whose direction a nearer vertex is, whatever follows there."""
        directions = np.round(np.arctan2(*(xy[edges.second] - xy[edges.first]).T), 6)
        order = np.lexsort((edges.feet, directions, edges.first))
        columns = edges.first[order], directions[order]
        repeated = np.logical_and(*(column[1:] == column[:-1] for column in columns))
        return edges.take(order[~np.concatenate(([False], repeated))])

    monkeypatch.setattr(walk_graph, "drop_compound_edges", drop_what_leads_past)
    with pytest.raises(VerificationError, match=r"see each other at .* Nothing was published"):
        process_plan(build_plan(teeth, 4e-6, 17.3, 0))


def test_a_corner_that_was_missed_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mesh, "MIN_TURN_SINE", 0.06)
    with pytest.raises(VerificationError, match="which is no vertex of the graph"):
        process_plan(build_plan(arc, 4e-6, 17.3, 0))


@pytest.mark.parametrize(
    ("clusters", "message"),
    [(verification.CLUSTERS, "see each other at"), (0, "ft, but one of .* ft exists")],
)
def test_labels_that_miss_a_hub_are_found(
    clusters: int, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(verification, "CLUSTERS", clusters)

    def forget_a_hub(graph: WalkGraph, budget: WorkBudget) -> Labels:
        labels = build_labels(graph, budget)
        most_used = np.bincount(labels.hubs).argmax()
        feet = np.where(labels.hubs == most_used, labels.feet + 0.01, labels.feet)
        return replace(labels, feet=feet)

    monkeypatch.setattr(levels, "build_labels", forget_a_hub)
    with pytest.raises(VerificationError, match=message):
        process_plan(build_plan(teeth, 4e-6, 17.3, 0))


def test_a_table_that_differs_from_its_routes_is_found() -> None:
    foot = STOREYS.tables[TravelMode.FOOT]
    steps = np.where(foot.steps == foot.steps.max(), foot.steps, foot.steps + 1_000_000)
    tables = {**STOREYS.tables, TravelMode.FOOT: replace(foot, steps=steps)}
    with pytest.raises(VerificationError, match=r"the route from .* the matrix"):
        verify_router(Router(STOREYS.networks, tables))


def test_a_ride_that_is_shorter_than_the_straight_line_is_found() -> None:
    network = process_drawing("s,A", "s,B").networks[TravelMode.FOOT]
    one, other = network.portals
    moved = replace(network, portals=(one, other._replace(x=other.x + 21)))
    with pytest.raises(VerificationError, match=r"the ride .* has 20\.0+ ft, .* line 21\.0"):
        verify_router(Router({TravelMode.FOOT: moved}))


def test_floor_that_is_joined_but_not_walked_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    networks = process_demo().networks
    foot = networks[TravelMode.FOOT]
    no_hubs = replace(foot.levels.labels, feet=np.full_like(foot.levels.labels.feet, np.inf))
    broken = replace(foot, levels=replace(foot.levels, labels=no_hubs))
    monkeypatch.setattr(verification, "CLUSTERS", 0)
    monkeypatch.setattr(verification, "check_routes", lambda *_: None)
    with pytest.raises(VerificationError, match="although the floor joins them"):
        verify_router(Router({**networks, TravelMode.FOOT: broken}))


def test_the_time_of_a_check_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verification, "MAX_TESTED_LINES", 2)
    found = verify_router(process_demo().router)
    assert found.lines <= 1 + verification.LINES_PER_TEST
    assert found.walks < verification.SAMPLED_PAIRS
