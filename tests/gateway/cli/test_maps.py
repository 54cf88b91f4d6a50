"""`floorgate maps process` at the command line, and what clients of a running gateway see of it."""

import re
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from gateway.cli.commands.maps import read_sources
from tests.gateway.floorgate_process import TIMEOUT_SECONDS, floorgate, run_serve_command

pytestmark = pytest.mark.slow

LIFTS = {"works": "", "broken": ";operational_status=out_of_order"}

# Half a foot a unit: a corridor 200 ft long, a room at one end, stairs and perhaps a lift at the
# other.
LEVEL = """<g data-type="Level" data-tags="floor=storey-{n}">
  <polygon points="0,40 400,40 400,60 0,60" data-tags="indoor=corridor"/>
  <rect x="390" y="40" width="10" height="20" data-tags="highway=steps;ref=s1"/>
  {lift}
  <rect x="48" y="38" width="4" height="4" data-tags="door=yes;width=0.9"/>
  <g data-type="UnitLayer"><polygon id="room-{n}" points="0,0 100,0 100,40 0,40"/></g>
</g>"""
LIFT = (
    """<rect x="370" y="40" width="10" height="20" data-tags="highway=elevator;ref=l1{state}"/>"""
)


def draw(path: Path, *, lift: str | None) -> Path:
    """Two storeys, with a lift that works, with a broken one, or with none."""
    drawn = "" if lift is None else LIFT.format(state=LIFTS[lift])
    levels = "".join(LEVEL.format(n=n, lift=drawn) for n in (1, 2))
    path.write_text(f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 400 200">{levels}</svg>')
    return path


class Operator:
    """Processes maps of one data directory, and asks its gateway as a client does."""

    def __init__(self, data_dir: Path, client: httpx.Client) -> None:
        self._data_dir = data_dir
        self.client = client

    def process(self, plan: Path, *arguments: Any) -> subprocess.CompletedProcess[str]:
        given = ("--feet-per-unit", 0.5, "--data-dir", self._data_dir)
        return floorgate("maps", "process", "tower", plan, *given, *arguments)

    def map(self) -> dict[str, Any]:
        found: dict[str, Any] = self.client.get("/v1/maps/tower").json()
        return found

    def measure(self, mode: str, target: dict[str, Any], method: str = "default") -> Any:
        """The method used, and distance and time from the lower room."""
        data = {
            "sources": [{"id": "tower-room-1"}],
            "targets": [target],
            "costing_options": {"pedestrian": {"mode": mode}},
            "distance_method": method,
        }
        response = self.client.post("/v1/unitmaps/tower/distance-matrix", json={"data": data})
        [answer] = response.json()["data"]["sources"][0]["targets"]
        return response.json()["data"]["distance_method"], answer["distance"], answer["time"]

    def wait_for_tier(self, tier: str) -> None:
        """Until the gateway has heard of what another process has written."""
        deadline = time.monotonic() + TIMEOUT_SECONDS
        while self.map().get("routing_tier") != tier:
            assert time.monotonic() < deadline


@contextmanager
def run_operator(data_dir: Path) -> Iterator[Operator]:
    with run_serve_command(data_dir) as server:
        made = floorgate(
            "keys",
            "create",
            "--name",
            "n",
            "--all-assets",
            "--data-dir",
            data_dir,
            "--permission",
            "service.distances.calculate",
        )
        with server.client(made.stdout.split()[-1]) as client:
            client.headers["Experimental-Flags"] = "distances,locations-resource"
            yield Operator(data_dir, client)


ABOVE = {"id": "tower-room-2"}
BESIDE = {"x": 300, "y": 50, "floor_id": "tower-level-storey-1"}


def test_a_lift_that_breaks_is_no_longer_offered_to_wheelchairs(tmp_path: Path) -> None:
    with run_operator(tmp_path / "data") as operator:
        works = operator.process(draw(tmp_path / "works.svg", lift="works"))
        assert works.returncode == 0, works.stderr
        assert "published: routable by foot and wheelchair" in works.stdout
        operator.wait_for_tier("wheelchair_routing")
        method, distance, _ = operator.measure("wheelchair", ABOVE)
        assert (method, distance > 300) == ("pathfinding", True)

        broken = draw(tmp_path / "broken.svg", lift="broken")
        refused = operator.process(broken, "--require", 95)
        assert refused.returncode == 1
        assert "1 of 2 locations reach each other by wheelchair" in refused.stdout
        assert "nothing was changed" in refused.stdout
        assert operator.measure("wheelchair", ABOVE)[1] == distance

        published = operator.process(broken)
        assert published.returncode == 0, published.stderr
        assert "No lift or ramp that can be used joins" in published.stdout
        assert "1 of 2 locations cannot be reached by wheelchair" in published.stdout
        assert re.search(r"'l1' \(line \d+ of broken\.svg\) is out of service", published.stdout)
        operator.wait_for_tier("foot_routing")
        assert operator.map()["tags"] == ["pathfinding"]
        assert operator.measure("foot", ABOVE)[1] > 300
        for given in ("default", "pathfinding"):
            assert operator.measure("wheelchair", ABOVE, given) == ("pathfinding", None, None)
        route = "/v1/maps/tower/route?from=tower-room-1&to=tower-room-2&mode=wheelchair"
        assert operator.client.get(route).json() == {"data": None}


def test_a_building_without_a_lift_is_routed_on_foot_and_on_each_floor(tmp_path: Path) -> None:
    with run_operator(tmp_path / "data") as operator:
        walk_up = operator.process(draw(tmp_path / "walk-up.svg", lift=None))
        assert walk_up.returncode == 0, walk_up.stderr
        assert "not by wheelchair: no two locations reach each other" in walk_up.stdout
        assert "wheelchair: no two of 2 locations reach each other, " in walk_up.stdout
        operator.wait_for_tier("foot_routing")
        assert operator.measure("foot", ABOVE)[1] > 300
        assert operator.measure("wheelchair", ABOVE) == ("pathfinding", None, None)
        method, distance, seconds = operator.measure("wheelchair", BESIDE)
        assert method == "pathfinding"
        assert 125 < distance < 140  # from (50, 20) down to the door, and along the corridor
        assert seconds > 0


def test_a_share_that_is_none_is_a_wrong_usage(tmp_path: Path) -> None:
    for share in ("-1", "101", "most"):
        run = floorgate("maps", "process", "tower", "--require", share)
        assert run.returncode == 2
        assert "--require" in run.stderr


def test_a_faulty_shape_is_left_out_and_an_error_if_strict(tmp_path: Path) -> None:
    plan = draw(tmp_path / "works.svg", lift="works")
    flaw = '<path id="flaw" d="M0 0 L" data-tags="indoor=wall"/></svg>'
    plan.write_text(plan.read_text().replace("</svg>", flaw))
    with run_operator(tmp_path / "data") as operator:
        refused = operator.process(plan, "--strict")
        assert refused.returncode == 1
        assert "Path 'flaw': d is no path" in refused.stderr
        published = operator.process(plan)
        assert published.returncode == 0, published.stderr
        assert "An element of the file was left out" in published.stdout
        assert "Path 'flaw': d is no path" in published.stdout


def test_sources_of_the_same_name_keep_their_folders(tmp_path: Path) -> None:
    for folder in ("1F", "2F"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "rooms.geojson").write_text(folder)
    inside = [tmp_path / folder / "rooms.geojson" for folder in ("1F", "2F")]
    by_path = {path.as_posix(): path.read_bytes() for path in inside}
    assert read_sources(tuple(inside)) == by_path
    assert read_sources((tmp_path / "1F", tmp_path / "2F")) == by_path
    assert read_sources((tmp_path,)) == {"1F/rooms.geojson": b"1F", "2F/rooms.geojson": b"2F"}
    assert read_sources((inside[0],)) == {"rooms.geojson": b"1F"}
