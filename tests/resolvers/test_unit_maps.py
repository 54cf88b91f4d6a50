"""Drawings are parsed on request (E10), and made routable by operators, or it is said why not."""

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import orjson
import pytest

from parsing.svg.unit_map import parse_unit_map
from resolvers.administration.catalog import import_catalog
from resolvers.processing import process_pool
from resolvers.processing.process_pool import ProcessPool
from resolvers.request.errors import ServiceBusyError
from storage.administration.import_lease import LEASE_COLLECTION, LEASE_ID, ImportLease
from storage.errors import BundleError
from storage.importing.change_plan import ChangeRequest
from storage.mongo.lease import Lease
from tests.fixtures import (
    BASE_URL,
    HIDDEN_MAP,
    MAP,
    OTHER_MAP,
    SEEN,
    World,
    data_of,
    gateway_client,
    open_database,
    post_graphql,
)
from tests.resolvers.directory import Directory
from tests.resolvers.worlds import SVG, tower
from tests.rest.error_bodies import read_message

here = pytest.mark.usefixtures("no_processes")
"""Marks tests that are not about the process in which a drawing is parsed."""

XML = {"Content-Type": "application/vnd.map+xml"}
DRAWING = """<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 20 10">
  <g data-type="Level" data-tags="floor=n/1 %">
    <g data-type="UnitLayer"><rect id="unit-1" x="1" y="2" width="3" height="4"/></g>
    <g data-type="HitAreaLayer"><rect id="hitunit-1" x="1" y="2" width="3" height="4"/></g>
  </g>
</svg>"""

LEVELS = "".join(f'<!ENTITY e{n} "{f"&e{n - 1};" * 10}">' for n in range(1, 10))
BOMB = f'<!DOCTYPE svg [<!ENTITY e0 "lol">{LEVELS}]><svg>&e9;</svg>'


async def test_a_unit_map_is_parsed(client: httpx.AsyncClient) -> None:
    response = await client.post("/v1/maps/parse", content=DRAWING, headers=XML)
    assert response.status_code == 200
    assert response.headers["content-type"] == "application/vnd.map+json"
    assert response.json() == parse_unit_map(DRAWING.encode()).to_dict()


async def test_graphql_parses_the_same(client: httpx.AsyncClient) -> None:
    query = "query ($svg: SvgDocument!) { parsedUnitMap(svg: $svg) { map } }"
    declared = f'<?xml version="1.0" encoding="ISO-8859-1"?>{DRAWING}'
    for svg in (DRAWING, declared):
        data = await data_of(client, query, {"svg": svg})
        assert data["parsedUnitMap"]["map"] == parse_unit_map(DRAWING.encode()).to_dict()


LOSSY = DRAWING.replace(
    "</svg>", '<text id="a&quot;b">1</text>\n<text>2</text><g data-type="level"/></svg>'
)
PICTURE = '<svg viewBox="0 0 9 9"><image width="9" height="9"/></svg>'


async def test_rest_has_warnings_in_a_header_and_the_same_body(client: httpx.AsyncClient) -> None:
    response = await client.post("/v1/maps/parse", content=DRAWING, headers=XML)
    assert "floorgate-warnings" not in response.headers
    response = await client.post("/v1/maps/parse", content=LOSSY, headers=XML)
    assert response.headers["floorgate-warnings"] == (
        r'misspelt-type;count=1;line=7, text;count=2;line=6;x=0;y=0;name="a\"b"'
    )
    assert response.content == parse_unit_map(LOSSY.encode()).json


async def test_graphql_has_warnings_and_a_summary_beside_the_map(client: httpx.AsyncClient) -> None:
    query = """query ($svg: SvgDocument!) { parsedUnitMap(svg: $svg) {
        warnings {
            code isNote message remedy count
            places { line column element name detail levelIndex x y width height }
        }
        summary { levels units hitAreas shapes }
    } }"""
    parsed = (await data_of(client, query, {"svg": LOSSY}))["parsedUnitMap"]
    assert parsed["summary"] == {"levels": 1, "units": 1, "hitAreas": 1, "shapes": 0}
    misspelt, text = parsed["warnings"]
    assert (misspelt["code"], text["code"], text["count"]) == ("misspelt-type", "text", 2)
    assert text["isNote"] is False
    assert text["message"] == "text is left out"
    assert text["places"][0] == {
        "line": 6, "column": 1, "element": "text", "name": 'a"b', "detail": "",
        "levelIndex": None, "x": 0, "y": 0, "width": 0, "height": 0,
    }  # fmt: skip
    assert misspelt["places"][0]["detail"] == "'level'; did you mean 'Level'?"


async def test_as_many_places_are_listed_as_are_asked_for(client: httpx.AsyncClient) -> None:
    query = """query ($svg: SvgDocument!, $places: Int!) {
        parsedUnitMap(svg: $svg, places: $places) { warnings { code count places { x } } } }"""
    svg = DRAWING.replace("</svg>", "<text x='3'>1</text>" * 200 + "</svg>")
    parsed = (await data_of(client, query, {"svg": svg, "places": 60}))["parsedUnitMap"]
    assert parsed["warnings"] == [{"code": "text", "count": 200, "places": [{"x": 3}] * 60}]
    refused = await post_graphql(client, query, {"svg": svg, "places": 101})
    assert "must be from 1 to 100" in str(refused)


async def test_a_picture_is_rejected_unless_it_is_forced(client: httpx.AsyncClient) -> None:
    refused = await client.post("/v1/maps/parse", content=PICTURE, headers=XML)
    assert refused.status_code == 422
    assert refused.json()["message"].startswith("images cover 100% of the canvas")
    forced = await client.post("/v1/maps/parse?force=true", content=PICTURE, headers=XML)
    assert forced.json()["elements"] == []
    query = "query ($svg: SvgDocument!) { parsedUnitMap(svg: $svg, force: true) { map } }"
    data = await data_of(client, query, {"svg": PICTURE})
    assert data["parsedUnitMap"]["map"] == forced.json()
    wrong = await client.post("/v1/maps/parse?force=yes", content=PICTURE, headers=XML)
    assert wrong.status_code == 422
    assert wrong.json()["fields"] == {"force": ["must be true or false, not 'yes'"]}


@here
async def test_warnings_of_a_drawing_are_notes_of_its_import(
    own_world: World, tmp_path: Path
) -> None:
    async with open_database(own_world) as database:
        summary = await import_catalog(database, [drawn(tmp_path, LOSSY)], dry_run=True)
    misspelt, text = summary.notes
    assert "drawn.json" in text
    assert text.endswith("source: line 6: text is left out: <text> 'a\"b', and 1 more")
    assert "did you mean 'Level'?" in misspelt


@here
async def test_a_picture_stops_the_import_unless_it_is_forced(
    own_world: World, tmp_path: Path
) -> None:
    bundle = drawn(tmp_path, PICTURE)
    async with open_database(own_world) as database:
        with pytest.raises(BundleError, match=r"maps\[0\]\.source.*images cover 100%"):
            await import_catalog(database, [bundle], dry_run=True)
        summary = await import_catalog(
            database, [bundle], dry_run=True, changes=ChangeRequest(force_drawings=True)
        )
    assert summary.total.inserted == 2


@pytest.mark.parametrize(
    ("content", "status", "said"),
    [
        (b"", 400, "line 1"),
        (b"<svg\n <", 400, "line 2, column 2"),
        (b"<html/>", 400, "line 1"),
        (BOMB.encode(), 422, "entit"),
        (b"<svg xmlns='http://www.w3.org/2000/svg'>" + b"<g>" * 300, 422, "nest"),
    ],
)
async def test_rest_and_graphql_reject_bad_drawings_with_line_and_column(
    client: httpx.AsyncClient, content: bytes, status: int, said: str
) -> None:
    response = await client.post("/v1/maps/parse", content=content, headers=XML)
    assert response.status_code == status
    assert said in response.json()["message"]
    query = "query ($svg: SvgDocument!) { parsedUnitMap(svg: $svg) { map } }"
    body = await post_graphql(client, query, {"svg": content.decode()})
    [error] = body["errors"]
    assert error["message"] == response.json()["message"]
    if said == "line 2, column 2":
        assert error["extensions"] == {"code": "MALFORMED_DOCUMENT", "line": 2, "column": 2}


ELSEWHERE = "https://maps.example/linked.json"


def drawn(directory: Path, svg: str = DRAWING) -> Path:
    (directory / "drawn.svg").write_text(svg)
    bundle = directory / "drawn.json"
    drawn_map: dict[str, Any] = {"id": "drawn/1", "asset_id": SEEN, "name": "Drawn"}
    linked = {"id": "linked", "asset_id": SEEN, "name": "Linked", "url": ELSEWHERE}
    bundle.write_text(json.dumps({"maps": [{**drawn_map, "source": "drawn.svg"}, linked]}))
    return bundle


@here
async def test_a_map_with_a_drawing_carries_its_parse_and_its_address(
    own_world: World, tmp_path: Path
) -> None:
    async with open_database(own_world) as database:
        summary = await import_catalog(database, [drawn(tmp_path)])
    assert summary.notes == []
    async with gateway_client(own_world.settings(), own_world.keys.full) as client:
        url = (await client.get("/v1/maps/drawn%2F1")).json()["url"]
        assert url == f"{BASE_URL}/v1/maps/drawn%2F1/parsed"
        response = await client.get(url)
        assert response.json() == parse_unit_map(DRAWING.encode()).to_dict()
        again = await client.get(url, headers={"If-None-Match": response.headers["etag"]})
        assert again.status_code == 304
        data = await data_of(client, "{ maps { data { id url parsed } } }")
        urls = {each["id"]: each["url"] for each in data["maps"]["data"]}
        assert (urls["drawn/1"], urls["linked"], urls["plan-two"]) == (url, ELSEWHERE, None)
        parsed = {each["id"]: each["parsed"] for each in data["maps"]["data"]}
        assert parsed["drawn/1"] == response.json()
        assert parsed["plan-two"] is None
        assert (await client.get("/v1/maps/plan-two/parsed")).status_code == 404


@here
async def test_a_broken_drawing_stops_the_import(own_world: World, tmp_path: Path) -> None:
    async with open_database(own_world) as database:
        with pytest.raises(BundleError, match=r"drawn\.json.*maps\[0\]\.source.*line 2"):
            await import_catalog(database, [drawn(tmp_path, "<svg>\n<")])
        assert await database["maps"].find_one({"_id": "drawn/1"}) is None


async def test_the_drawings_of_all_maps_are_read_at_once(directory: Directory) -> None:
    await directory.read("{ maps { data { id } } }")  # the first time, it learns how long it is
    maps = (await directory.read("{ maps { data { id parsed } } }"))["maps"]["data"]
    parsed = {map["id"]: map["parsed"] for map in maps}
    assert parsed[OTHER_MAP] is None
    assert parsed[MAP] is not None
    assert orjson.dumps(parsed[MAP]) == orjson.dumps(parsed[HIDDEN_MAP])
    assert directory.collections_read == ["maps", "maps", "files"]


async def test_no_file_is_looked_for_where_no_map_has_a_drawing(directory: Directory) -> None:
    query = "query ($map: ID!) { map(id: $map) { parsed url } }"
    assert (await directory.read(query, map=OTHER_MAP))["map"] == {"parsed": None, "url": None}
    # one command for both fields: a map without a drawing may have the parsed map of a plan
    assert directory.collections_read == ["maps", "maps"]
    await directory.read("query ($map: ID!) { map(id: $map) { url } }", map=MAP)
    assert directory.collections_read == ["maps"]


async def test_a_full_queue_is_503_and_not_the_fault_of_the_drawing(
    client: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ProcessPool, "_has_process_for", lambda *_: False)
    monkeypatch.setattr(process_pool, "MAX_WAITING", 0)
    response = await client.post("/v1/maps/parse", content=DRAWING, headers=XML)
    assert (response.status_code, response.headers["retry-after"]) == (503, "1")
    assert read_message(response) == "The service is busy; try again later"
    query = {"query": '{ parsedUnitMap(svg: "<svg/>") { map } }'}
    response = await client.post("/graphql", json=query)
    assert (response.status_code, response.headers["retry-after"]) == (503, "1")
    [error] = response.json()["errors"]
    assert error["extensions"]["code"] == "QUEUE_FULL"


async def test_a_busy_machine_is_not_blamed_on_a_drawing_of_a_bundle(
    own_world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def refuse(*_: Any, **__: Any) -> None:
        raise ServiceBusyError

    monkeypatch.setattr(ProcessPool, "run", refuse)
    async with open_database(own_world) as database:
        with pytest.raises(ServiceBusyError):
            await import_catalog(database, [drawn(tmp_path, DRAWING)])
        assert await database["maps"].find_one({"_id": "drawn/1"}) is None


"""Marks tests that are not about the processes in which networks are built."""

ONE_WAY_IN = SVG.replace('x="8" y="19"', 'x="8" y="5"')
"""Two rooms of the four have their doors within, where they lead nowhere."""


@pytest.fixture
async def operator(own_world: World, tmp_path: Path) -> AsyncIterator[httpx.AsyncClient]:
    """Yield a client with all permissions; the map of the tower is not processed yet."""
    async with (
        tower(own_world, tmp_path),
        gateway_client(own_world.settings(), own_world.keys.full) as it,
    ):
        yield it


def mutation(**arguments: Any) -> str:
    given = ", ".join(f"{name}: {json.dumps(value)}" for name, value in arguments.items())
    return f"mutation {{ processMap(input: {{ {given} }}) {{ isRoutable report }} }}"


async def process(client: httpx.AsyncClient, **arguments: Any) -> dict[str, Any]:
    result: dict[str, Any] = (await data_of(client, mutation(**arguments)))["processMap"]
    return result


def new_map(map_id: str) -> dict[str, Any]:
    """Arguments that make a map and its asset from a plan."""
    plan = SVG.replace('rect id="', f'rect id="{map_id}-')
    return {"id": map_id, "plan": plan, "asset": f"{map_id}-asset", "feetPerUnit": 2}


async def owner_and_tier(client: httpx.AsyncClient, map_id: str) -> tuple[str, str]:
    query = f'{{ map(id: "{map_id}") {{ routingTier asset {{ id }} }} }}'
    found = (await data_of(client, query))["map"]
    return found["asset"]["id"], found["routingTier"]


@here
async def test_a_map_is_made_routable_from_its_own_drawing(operator: httpx.AsyncClient) -> None:
    assert await owner_and_tier(operator, "tower") == ("tower", "no_routing")
    processed = await process(operator, id="tower")
    assert processed["isRoutable"] is True
    assert processed["report"]["map"] == "tower"
    assert processed["report"]["refusal"] is None
    assert await owner_and_tier(operator, "tower") == ("tower", "wheelchair_routing")


@here
async def test_below_the_required_share_nothing_changes_and_the_report_says_why(
    operator: httpx.AsyncClient,
) -> None:
    processed = await process(operator, id="tower", plan=ONE_WAY_IN, require=60)
    assert processed["isRoutable"] is False
    assert "2 of 4 locations reach each other by foot" in processed["report"]["refusal"]
    assert await owner_and_tier(operator, "tower") == ("tower", "no_routing")


REPORT = '{ map(id: "tower") { routingReport } }'


@here
async def test_whoever_sees_a_map_can_read_what_is_wrong_with_its_plan(
    operator: httpx.AsyncClient, own_world: World
) -> None:
    assert await data_of(operator, REPORT) == {"map": {"routingReport": None}}
    processed = await process(operator, id="tower", plan=ONE_WAY_IN)
    report = (await data_of(operator, REPORT))["map"]["routingReport"]
    assert report["groups"] == processed["report"]["groups"]
    group = report["groups"][0]
    assert group["statement"] == "2 rooms have no door: 2 of 4 locations cannot be reached"
    assert group["problems"][0] == {
        "part": "lower-west",
        "name": "",
        "level_id": "lower",
        "x": 10.0,
        "y": 6.5,
        "map_x": 10.0,
        "map_y": 6.5,
        "locations": 1,
        "message": "room 'lower-west' (line 3 of plan) has no door; door 'lower#4' (line 10 of"
        " plan) is 5.0 ft from its wall",
        "file": "plan",
        "line": 3,
    }
    async with gateway_client(own_world.settings(), own_world.keys.restricted) as other:
        assert await data_of(other, REPORT) == {"map": None}


@here
async def test_the_text_of_a_plan_makes_a_new_map_of_the_asset_named(
    operator: httpx.AsyncClient,
) -> None:
    processed = await process(operator, **new_map("annex"))
    assert processed["isRoutable"] is True
    assert processed["report"]["feet_per_unit"] == 2
    assert await owner_and_tier(operator, "annex") == ("annex-asset", "wheelchair_routing")
    await process(operator, **new_map("wing") | {"asset": "tower"})
    tower = (await data_of(operator, '{ asset(id: "tower") { name } }'))["asset"]
    assert tower == {"name": "Tower"}  # it keeps its name


@here
async def test_what_cannot_be_processed_is_an_error(operator: httpx.AsyncClient) -> None:
    for arguments, code, fields in (
        ({"id": "missing"}, "NOT_FOUND", []),
        ({"id": "plain"}, "INVALID_INPUT", ["input.source"]),
        ({"id": "tower", "asset": "other"}, "INVALID_INPUT", ["input.asset"]),
        ({"id": "tower", "require": 100.1}, "INVALID_INPUT", ["input.require"]),
        ({"id": "tower", "require": -0.1}, "INVALID_INPUT", ["input.require"]),
        (new_map("annex") | {"feetPerUnit": 0}, "INVALID_INPUT", ["input.feetPerUnit"]),
        ({"id": ""}, "INVALID_INPUT", ["input.id"]),
        ({"id": "tower", "plan": "<svg><"}, "REFUSED_DOCUMENT", []),
    ):
        (error,) = (await post_graphql(operator, mutation(**arguments)))["errors"]
        assert error["extensions"]["code"] == code
        assert [*error["extensions"].get("fields", ())] == fields


IMPORT = 'mutation { importCatalog(input: { bundle: "{}" }) { notes } }'


def write_mutations() -> list[str]:
    """Both mutations that import, the processing of maps with and without a plan of its own."""
    return [mutation(id="tower"), mutation(**new_map("annex")), IMPORT]


@here
async def test_an_interrupted_import_of_a_newer_release_refuses_both_mutations(
    operator: httpx.AsyncClient, own_world: World
) -> None:
    newer = {"holder": "newer", "expires": Lease.EXPIRED_AT, "state": "renaming"}
    async with open_database(own_world) as database:
        await database[LEASE_COLLECTION].update_one({"_id": LEASE_ID}, {"$set": newer})
    for document in write_mutations():
        [error] = (await post_graphql(operator, document))["errors"]
        assert error["extensions"]["code"] == "IMPORT_RUNNING"
        assert "a newer release was interrupted while renaming" in error["message"]


@here
async def test_an_import_that_loses_its_lease_says_so_with_503(
    operator: httpx.AsyncClient, own_world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def lose(lease: ImportLease, **options: Any) -> None:
        taken = {"holder": "another", "state": "idle"}
        await lease._database[LEASE_COLLECTION].update_one({"_id": LEASE_ID}, {"$set": taken})
        await begin_staging(lease, **options)

    begin_staging = ImportLease.begin_staging
    monkeypatch.setattr(ImportLease, "begin_staging", lose)
    for document in (mutation(**new_map("annex")), IMPORT):
        response = await operator.post("/graphql", json={"query": document})
        [error] = response.json()["errors"]
        assert error["message"].startswith("The import lost its lease because")
        assert error["extensions"]["code"] == "IMPORT_RUNNING"
        assert (response.status_code, response.headers["retry-after"]) == (503, "1")


async def test_each_key_has_one_process_and_a_place_in_a_queue_that_is_bounded(
    operator: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []

    def refuse(pool: ProcessPool, owner: str) -> bool:
        asked.append((pool._max_of_owner, owner))
        return False

    monkeypatch.setattr(ProcessPool, "_has_process_for", refuse)
    monkeypatch.setattr(process_pool, "MAX_WAITING", 0)
    response = await operator.post("/graphql", json={"query": mutation(id="tower")})
    [error] = response.json()["errors"]
    assert error["extensions"]["code"] == "QUEUE_FULL"
    assert (response.status_code, response.headers["retry-after"]) == (503, "1")
    keys = (await data_of(operator, "{ apiKeys { data { id name } } }"))["apiKeys"]["data"]
    assert {*asked} == {(1, key["id"]) for key in keys if key["name"] == "full"}
    assert await owner_and_tier(operator, "tower") == ("tower", "no_routing")
