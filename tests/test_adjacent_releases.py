"""Gateways of adjacent releases work on one database: the previous release's beside this one's.

FLOORGATE_PREVIOUS names the git ref of the previous release; otherwise it is the newest tag before
this commit, or where there is none, the commit before this one. It runs with the packages of this
environment.
"""

import itertools
import json
import os
import re
import subprocess
import uuid
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pytest

from resolvers.request.caller import PERMISSIONS
from tests.drill.drill import FLAG_HEADERS, build_requests, read
from tests.gateway.floorgate_process import CHECKOUT, Server, floorgate, run_serve_command
from tests.resolvers import worlds
from tests.waiting import wait_until
from tools.revisions import RevisionError, extract_revision

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("releases")]

DEMO = CHECKOUT / "samples" / "demo" / "bundle.json"
DEMO_MAP = "alder-court-floor-plates"
GROUP = "apartment-type"
SCALES = itertools.count(11)
"""Gives scales that no map has yet."""
ASSIGNED = {"attribute_id": "apartment-type-studio", "unit_id": "lower-west"}


@dataclass
class Release:
    """Commands and gateways of one release, on a database that it shares with the other."""

    checkout: Path
    home: Path
    mongo_url: str
    database: str

    @property
    def variables(self) -> dict[str, str]:
        """The variables that make a process one of this release and name the database."""
        return {
            "PYTHONPATH": str(self.checkout),
            "FLOORGATE_MONGO_URL": self.mongo_url,
            "FLOORGATE_DATABASE": self.database,
        }

    @property
    def archive_version(self) -> int:
        """The version of the archives of networks that this release writes."""
        module = (self.checkout / "routing" / "archive.py").read_text()
        [version] = re.findall(r"^FORMAT_VERSION = (\d+)$", module, re.MULTILINE)
        return int(version)

    def run(self, *arguments: Any) -> str:
        """Run a command that must work; return what it prints."""
        run = floorgate(*arguments, **self.variables)
        assert run.returncode == 0, run.stderr
        return run.stdout

    def serve(self) -> AbstractContextManager[Server]:
        """Run a gateway."""
        options = ("--base-url", "https://same.example", "--log-level", "warning")
        return run_serve_command(self.home, *options, **self.variables)

    def import_members(self, *options: str, **members: list[dict[str, Any]]) -> None:
        """Import a bundle of these members."""
        bundle = self.home / "some.json"
        bundle.write_text(json.dumps(members))
        self.run("import", bundle, *options)

    def create_key(self, name: str) -> dict[str, str]:
        """Create a key that may do everything; return it and its id."""
        known = "".join(self.run("keys", "create", "--help").split())  # of this release, at most
        names = [each for each in PERMISSIONS if each in known]
        permissions = [part for each in names for part in ("--permission", each)]
        made = self.run("keys", "create", "--name", name, "--all-assets", "--json", *permissions)
        created: dict[str, str] = json.loads(made)
        return created


@dataclass
class Side:
    """A release with a client of its gateway."""

    release: Release
    client: httpx.Client

    def get(self, path: str, **parameters: str) -> httpx.Response:
        return self.client.get(path, params=parameters, headers=FLAG_HEADERS)

    def read_route(self) -> float | None:
        """Return the feet of a walk through the tower, or None if the map is not routable."""
        ids = [each["id"] for each in self.get("/v1/maps/tower/locations").json()["data"]]
        response = self.get("/v1/maps/tower/route", **{"from": ids[0], "to": ids[-1]})
        if response.status_code == 422:
            return None
        route: dict[str, Any] = response.raise_for_status().json()
        return float(route["data"]["feet"])

    def is_unroutable(self) -> bool:
        """Return whether the tower has no routes."""
        return self.read_route() is None


@dataclass
class Sides:
    """Both releases, each with a gateway."""

    previous: Side
    this: Side

    @property
    def share_networks(self) -> bool:
        """Whether both write networks in the same format: a release reads no other."""
        return self.this.release.archive_version == self.previous.release.archive_version

    def make_alike(self) -> None:
        """Have both sides route in the tower, or neither on any map if they share no networks."""
        if self.share_networks:
            self.previous.release.run("maps", "process", "tower")
        else:
            scaled = [{"id": key, "feet_per_unit": next(SCALES)} for key in (DEMO_MAP, "tower")]
            self.this.release.import_members("--merge", "--networks", "withdraw", maps=scaled)
            for side in (self.previous, self.this):
                wait_until(side.is_unroutable, "the network is withdrawn")

    def agree(self) -> bool:
        """Return whether routes of networks that this release wrote are the same on both sides.

        The previous release has none if it does not share them.
        """
        this, previous = self.this.read_route(), self.previous.read_route()
        return this == previous if self.share_networks else previous is None


@pytest.fixture(scope="module")
def previous_checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files of the previous release."""
    ref = os.environ.get("FLOORGATE_PREVIOUS") or find_previous()
    try:
        return extract_revision(ref, tmp_path_factory.mktemp("previous"))
    except RevisionError:
        pytest.skip(f"This clone does not have {ref}, the release to compare with.")


def find_previous() -> str:
    """Return the newest tag before this commit, or without tags the commit before it."""
    tag = ["git", "describe", "--tags", "--abbrev=0", "HEAD~1"]
    found = subprocess.run(tag, cwd=CHECKOUT, capture_output=True, text=True)
    return found.stdout.strip() or "HEAD~1"


@pytest.fixture(scope="module")
def sides(
    previous_checkout: Path, mongo_url: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Sides]:
    """A service of the previous release that is upgraded: a gateway of this one has joined it."""
    home = tmp_path_factory.mktemp("home")
    previous, this = (
        Release(checkout, home / name, mongo_url, uuid.uuid4().hex)
        for name, checkout in (("previous", previous_checkout), ("this", CHECKOUT))
    )
    this.database = previous.database
    for each in (previous, this):
        each.home.mkdir()
    for bundle in (DEMO, worlds.write(home)):
        previous.run("import", bundle)
    for map_id in (DEMO_MAP, "tower"):
        previous.run("maps", "process", map_id)
    key = previous.create_key("operator")["key"]
    with (
        serve(previous, key) as previous_side,
        serve(this, key) as this_side,
    ):
        yield Sides(previous_side, this_side)


@contextmanager
def serve(release: Release, key: str) -> Iterator[Side]:
    """Run a gateway of a release."""
    with release.serve() as server, server.client(key) as client:
        yield Side(release, client)


@pytest.fixture(params=["by the previous", "by this"])
def writer_and_reader(sides: Sides, request: pytest.FixtureRequest) -> tuple[Side, Side]:
    """The side that writes, and the other, which has to see it."""
    if request.param == "by this":
        return sides.this, sides.previous
    return sides.previous, sides.this


def assert_same_answers(sides: Sides) -> None:
    """Both answer alike; a newer release may add fields, and requests that the older refuses."""
    compared = set()
    for request in build_requests(sides.this.client):
        before, now = read(sides.previous.client, request), read(sides.this.client, request)
        if before.status != 200 or b'"errors":' in before.body:
            continue
        assert now.status == 200, request.name
        has = contains(parse(now.body), parse(before.body))
        assert has, f"{request.name}: {now.body!r} instead of {before.body!r}"
        compared.add(request.name)
    routes = ("X2 ",) if sides.share_networks else ()
    for part in ("E18 ", *routes, "GraphQL assets", "GraphQL maps", "GraphQL keys"):
        assert any(name.startswith(part) for name in compared), part


def parse(body: bytes) -> Any:
    """The JSON of a response, or the bytes of a picture."""
    try:
        return json.loads(body)
    except ValueError:
        return body


def contains(now: Any, before: Any) -> bool:
    """Whether what was answered before is still there, perhaps with more fields."""
    if isinstance(before, dict):
        return isinstance(now, dict) and all(
            name in now and contains(now[name], value) for name, value in before.items()
        )
    if isinstance(before, list):
        is_as_long = isinstance(now, list) and len(now) == len(before)
        return is_as_long and all(map(contains, now, before))
    if isinstance(before, float):
        # Archives of the release before have distances of four bytes.
        return bool(now == pytest.approx(before, rel=1e-4, abs=0.002))
    return bool(now == before)


def test_both_answer_alike(sides: Sides) -> None:
    sides.make_alike()
    assert_same_answers(sides)


def test_networks_of_the_previous_release_are_used_or_built_again_with_one_command(
    sides: Sides,
) -> None:
    this = sides.this
    sides.previous.release.run("maps", "process", "tower")
    if not sides.share_networks:
        wait_until(this.is_unroutable, "the network is refused")
        query = {"query": '{ map(id: "tower") { routing { isStale reason } } }'}
        [routing] = this.client.post("/graphql", json=query).json()["data"]["map"].values()
        assert routing["isStale"]
        assert "`floorgate maps process --stale`" in routing["reason"]
        this.release.run("maps", "process", "--stale")
    wait_until(lambda: this.read_route() is not None, "there are routes")


def test_an_assignment_through_one_is_seen_through_the_other(
    writer_and_reader: tuple[Side, Side],
) -> None:
    writer, reader = writer_and_reader
    path = f"/v1/units/attribute-groups/{GROUP}/assignments"
    assignment = {**ASSIGNED, "group_id": GROUP, "asset_id": "tower"}

    def shows(expected: bool) -> bool:
        found = reader.get(path, asset="tower").json()["data"]
        return (ASSIGNED["unit_id"] in [each["unit_id"] for each in found]) is expected

    for method, action, expected in (("PUT", "", True), ("POST", "/remove", False)):
        writer.client.request(
            method, path + action, json={"data": [assignment]}, headers=FLAG_HEADERS
        ).raise_for_status()
        wait_until(partial(shows, expected), f"{method} is seen")


def test_an_import_by_one_is_seen_through_the_other(writer_and_reader: tuple[Side, Side]) -> None:
    writer, reader = writer_and_reader
    name = f"Tower of {writer.release.home.name}"
    writer.release.import_members(assets=[{"id": "tower", "name": name}])
    wait_until(
        lambda: reader.get("/v1/assets/tower").json()["name"] == name, "the new name is seen"
    )


def test_keys_of_one_are_known_to_the_other(writer_and_reader: tuple[Side, Side]) -> None:
    writer, reader = writer_and_reader
    created = writer.release.create_key("short-lived")

    def ask() -> int:
        return reader.client.get("/v1/assets", headers={"API-Key": created["key"]}).status_code

    wait_until(lambda: ask() == 200, "the new key works")
    writer.release.run("keys", "revoke", created["id"])
    wait_until(lambda: ask() == 403, "the revoked key does not")


def import_another_scale(side: Side, scale: float = 2, *options: str) -> None:
    """Import the tower with another scale than that of its network."""
    unit_map = {**worlds.CATALOG["maps"][0], "feet_per_unit": scale}
    (side.release.home / "tower.svg").write_text(worlds.SVG)
    side.release.import_members(*options, maps=[unit_map])


def test_this_release_never_uses_a_network_that_the_previous_has_left_stale(
    sides: Sides,
) -> None:
    this, previous = sides.this, sides.previous
    this.release.run("maps", "process", "tower")
    wait_until(sides.agree, "both have the same route")
    before = this.read_route()
    assert before is not None
    import_another_scale(previous)
    wait_until(lambda: this.read_route() != before, "the network is replaced or refused")
    found = this.read_route()
    this.release.run("maps", "process", "tower")
    wait_until(sides.agree, "both have the same route")
    assert this.read_route() is not None
    assert found in (None, this.read_route())


def test_the_previous_release_routes_on_no_network_that_this_one_has_withdrawn(
    sides: Sides,
) -> None:
    this, previous = sides.this, sides.previous
    import_another_scale(this, 7, "--networks", "withdraw")
    for side in (previous, this):
        wait_until(side.is_unroutable, "the network is withdrawn")
    this.release.run("maps", "process", "tower")
    wait_until(lambda: this.read_route() is not None, "the map is routable again")
    assert sides.agree()


def test_the_previous_release_starts_on_the_database_of_this_one(sides: Sides) -> None:
    sides.make_alike()
    key = sides.this.release.create_key("later")["key"]
    with serve(sides.previous.release, key) as restarted:
        for path in ("/v1/assets", "/v1/units", "/v1/maps", "/v1/maps/tower/locations"):
            now, before = (side.get(path).json() for side in (sides.this, restarted))
            assert before["data"] and contains(now, before), path
        assert restarted.read_route() == sides.previous.read_route()
        test_an_import_by_one_is_seen_through_the_other((restarted, sides.this))
