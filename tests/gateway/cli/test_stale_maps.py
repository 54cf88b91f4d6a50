"""`floorgate maps process --stale` and `floorgate doctor`: networks that cannot be loaded."""

import hashlib
import json
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pytest
from pymongo import MongoClient

from storage.routing_inputs import NETWORK_FORMAT
from tests.databases import ReusedDatabase
from tests.gateway.cli.commands import assert_explains, floorgate
from tests.resolvers.tower import SVG

VENUE = Path(__file__).parents[3] / "samples" / "imdf" / "harbour-hall.zip"
ANNEX = SVG.replace('rect id="', 'rect id="annex-').replace("floor=", "floor=annex-")
AGAIN = "was processed again: routable by foot and wheelchair"


@pytest.fixture
def storage(tower_storage: list[str], tmp_path: Path) -> list[str]:
    """A database with a routable tower, and an annex that was made routable from a plan."""
    plan = tmp_path / "annex.svg"
    plan.write_text(ANNEX)
    run = floorgate("maps", "process", "annex", plan, "--feet-per-unit", 2, *tower_storage)
    assert run.exit_code == 0
    return tower_storage


def write_earlier(mongo_url: str, database_name: str) -> None:
    """Leave the networks as a release before has written them."""
    with MongoClient[dict[str, Any]](mongo_url) as client:
        database = client[database_name]
        for unit_map in database["maps"].find({"network": {"$type": "string"}}):
            chunk = database["files"].find_one({"file": unit_map["network"]})
            assert chunk is not None
            now = b'"version":%d' % NETWORK_FORMAT
            archive = chunk["bytes"].replace(now, b'"version":%d' % (NETWORK_FORMAT - 1))
            digest = hashlib.sha256(archive).hexdigest()
            chunk = {"_id": f"{digest}/000000", "file": digest, "bytes": archive}
            database["files"].insert_one(chunk)
            fields = {"network": digest, "network_state.network": digest}
            database["maps"].update_one(
                {"_id": unit_map["_id"]},
                {"$set": fields, "$unset": {"network_state.network_format": ""}},
            )
        database["migrations"].update_one({}, {"$set": {"number": 4}})


def inspect(storage: list[str]) -> tuple[int, dict[str, str]]:
    """The status of doctor, and what it says of networks."""
    run = floorgate("doctor", "--json", *storage)
    [found] = [each for each in json.loads(run.stdout) if each["check"] == "networks"]
    return run.exit_code, found


@pytest.mark.slow
def test_networks_of_plans_are_built_again_from_the_stored_plans(
    storage: list[str], mongo_url: str, reused_database: ReusedDatabase, tmp_path: Path
) -> None:
    venue = tmp_path / "venue"
    with ZipFile(VENUE) as archive:
        archive.extractall(venue)
    assert floorgate("maps", "process", "hall", venue, *storage).exit_code == 0
    with MongoClient[dict[str, Any]](mongo_url) as client:
        database = client[reused_database.name]

        def networks() -> dict[str, str]:
            found = database["maps"].find({"network": {"$type": "string"}})
            return {each["_id"]: each["network"] for each in found}

        before = networks()
        assert {*before} == {"annex", "hall", "tower"}
        write_earlier(mongo_url, reused_database.name)
        # Imports keep the plans. What they change of a plan's units stays.
        unit = database["units"].find_one({"map_ids": "hall"})
        assert unit is not None
        bundle = tmp_path / "renamed.json"
        bundle.write_text(json.dumps({"units": [{"id": unit["_id"], "name": "Renamed"}]}))
        options = ("--merge", "--networks", "withdraw", "--yes")
        assert floorgate("import", bundle, *options, *storage).exit_code == 0
        assert networks() == {}
        run = floorgate("maps", "process", "--stale", *storage)
        assert (run.exit_code, run.stdout.count(AGAIN)) == (0, 3)
        assert networks() == before
        kept = database["units"].find_one({"_id": unit["_id"]})
        assert kept is not None
        assert kept["name"] == "Renamed"
    assert inspect(storage)[0] == 0


def test_a_damaged_network_is_found_and_built_again(
    storage: list[str], mongo_url: str, reused_database: ReusedDatabase
) -> None:
    with MongoClient[dict[str, Any]](mongo_url) as client:
        database = client[reused_database.name]
        unit_map = database["maps"].find_one({"_id": "tower"})
        assert unit_map is not None
        where = {"file": unit_map["network"]}
        chunk = database["files"].find_one(where)
        assert chunk is not None
        damaged = chunk["bytes"][:-1] + bytes([chunk["bytes"][-1] ^ 1])
        database["files"].update_one(where, {"$set": {"bytes": damaged}})
        lost = {"network": "0" * 64, "network_state.network": "0" * 64}
        without_plan = {"$set": lost, "$unset": {"network_state.plan": ""}}
        database["maps"].update_one({"_id": "annex"}, without_plan)
    status, found = inspect(storage)
    reason = "its network is missing or damaged"
    assert (status, found["message"]) == (1, f"outdated: annex ({reason}), tower ({reason})")
    assert found["remedy"] == "floorgate maps process --stale"
    run = floorgate("maps", "process", "--stale", "--json", *storage)
    annex, tower = json.loads(run.stdout)
    assert (run.exit_code, tower["map_id"], tower["reason"]) == (1, "tower", reason)
    assert (tower["result"], tower["is_routable"]) == (AGAIN, True)
    assert annex["result"] == "is no longer routable until `floorgate maps process annex SOURCE`"
    assert inspect(storage)[1]["message"] == f"outdated: annex ({reason})"


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["tower", "--stale"], "--stale excludes MAP_ID"),
        (["--stale", "--strict"], "--stale excludes MAP_ID and all that is for one map only"),
        ([], "name a map, or all that need it with --stale"),
    ],
)
def test_either_one_map_is_named_or_all_that_are_stale(arguments: list[str], sentence: str) -> None:
    assert_explains(floorgate("maps", "process", *arguments), 2, sentence)
