"""The Python library as its guide shows it: typed, for every endpoint, also when a call fails."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import httpx
import pytest

from clients.generate import Reader
from rest.openapi.sdk_methods import SDK_METHODS
from tests.clients import environment
from tests.clients.environment import CLIENTS, copy_clients, read_snippets, trust_variables
from tests.clients.own_endpoints import HOSTILE_TEXTS, describe, with_hostile_texts
from tests.clients.rest_clients import REQUESTS, check, check_errors, check_requests
from tests.clients.unsteady_service import EXPIRED, serve
from tests.docs.pages import find_blocks
from tests.endpoints import ENDPOINTS
from tests.rest.demo_service import FLOORGATE, DemoService, demo_service

pytestmark = [pytest.mark.xdist_group("clients"), pytest.mark.usefixtures("generated")]

PROGRAMS = Path(__file__).parent
PYTHON = CLIENTS / "python"
SOURCE = PYTHON / "src"
TYPED = """
from floorgate_client import AsyncFloorgate, Floorgate
from floorgate_client.models import Unit
from floorgate_client.params import Waypoint

def read(client: Floorgate, other: AsyncFloorgate) -> list[str]:
    client.units.list(asset_id="a")  # type: ignore[call-arg]
    client.units.list(order_by="names")  # type: ignore[arg-type]
    client.unit.list()  # type: ignore[attr-defined]
    client.maps("m").distance(sources=[], targets=[])  # type: ignore[attr-defined]
    client.maps("m").distances(targets=[])  # type: ignore[call-arg]
    client.maps("m").distances(sources=[{"id": "a"}], target=[])  # type: ignore[call-arg]
    wrong: Waypoint = {"idd": "a"}  # type: ignore[typeddict-unknown-key]
    client.maps("m").distances(sources=[{"id": 5}], targets=[])  # type: ignore[typeddict-item]
    [unit.id for unit in other.units.list()]  # type: ignore[attr-defined]
    units: list[Unit] = [*client.units.list(asset="a", per_page=5)]
    units[0].floorid  # type: ignore[attr-defined]
    return [each.id for each in units]
"""
"""What is ignored has to be an error: in strict mode, mypy reports comments without one."""


def run(*arguments: object, **variables: str) -> str:
    """What a program of a user prints."""
    done = subprocess.run(
        [sys.executable, *map(str, arguments)],
        env={**os.environ, "PYTHONPATH": str(SOURCE), **variables},
        cwd=PROGRAMS,
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    return done.stdout


def ask(*asked: tuple[str, list[str]], **variables: str) -> dict[str, dict[str, Any]]:
    """The errors of both clients by the names of what was asked for."""
    found: dict[str, dict[str, Any]] = json.loads(run("asking.py", json.dumps(asked), **variables))
    assert found.keys() == {"sync", "async"}
    return found


def test_every_method_is_called(demo: DemoService, service: httpx.Client) -> None:
    found = json.loads(run("every_endpoint.py", demo.url, demo.key, demo.certificate))
    check(found, service)
    assert found["concurrently"] == {"units": found["read_directory"]["units"], "parsed": 1}

    for each in ENDPOINTS:
        if each.name[0].lower() + each.name[1:] in SDK_METHODS:
            assert f"{each.method} {re.sub('{.+?}', '{}', each.path)}" in found["requests"]


def test_it_repeats_what_fails_for_a_while_and_nothing_else() -> None:
    asked = [name for name, count in REQUESTS.items() for _ in range(2 if name == "same" else 1)]
    with serve() as service:
        found = ask((service.url, asked))
    for client, errors in found.items():
        check_requests(service, client)
        for error in errors.values():
            del error["message"]
        check_errors([*errors.values()])


@pytest.mark.slow
def test_what_fails_is_an_exception() -> None:
    names = ["cut", "gone", "zipped", "later", "moved", "array", "null", "text", "html"]
    names += ["login", "list", "members"]
    with serve() as service:
        found = ask((service.url, names))
    for client, errors in found.items():
        shown = {name: f"{error['type']}: {error['message']}" for name, error in errors.items()}
        gone = shown.pop("gone")
        assert gone.startswith(f"ConnectionFailedError: No response from {service.url}: ")
        assert gone.endswith(". Does its address begin with https://?")
        zipped = shown.pop("zipped")
        assert zipped.startswith(f"ConnectionFailedError: No response from {service.url}: Error -3")
        moved = "Moved Permanently, to https://floorgate.example/v1: redirects are not followed"
        other = "ResponseError: 200: Not what the API sends: is the address that of the service?"
        assert shown == {
            "later": "RateLimitedError: 429 RATE_LIMITED: Too Many Requests",
            "moved": f"ResponseError: 301: {moved}",
            **dict.fromkeys(names[5:9], "ResponseError: 500: Internal Server Error"),
            **dict.fromkeys(names[9:], other),
        }
        asked = {name: len(service.requests[f"{name}-{client}"]) for name in names}
        assert asked == {**dict.fromkeys(names, 1), "cut": 2, "gone": 5, "zipped": 5}


@pytest.mark.parametrize(
    ("url", "sentence"),
    [
        ("", "There is no address: pass one, or set FLOORGATE_URL"),
        *(
            (url, "An address is https:// or http://, host, port and path, unlike")
            for url in (
                *("floorgate.example", "ftp://floorgate.example", "https://floorgate.example:abc"),
                *("https://floorgate.example?x=1", "https://floorgate.example/a#b", "https:///v1"),
            )
        ),
        (
            "https://floorgate.example:8443/v1/",
            "The address goes without /v1: 'https://floorgate.example:8443' instead of",
        ),
    ],
)
def test_a_wrong_address_is_a_sentence(url: str, sentence: str) -> None:
    program = f"""
import floorgate_client
try:
    floorgate_client.Floorgate({url!r}, "key")
except ValueError as error:
    print(error)
"""
    assert run("-c", program).startswith(sentence)


@pytest.mark.parametrize("key", ["fgk_1 fgk_2", "fgk_ä", "fgk_\x00"])
def test_a_key_that_cannot_be_one_is_a_sentence_without_it(key: str) -> None:
    program = f"""
from floorgate_client import Floorgate
try:
    Floorgate("https://floorgate.example", {key!r})
except ValueError as error:
    print(error)
"""
    assert run("-c", program).startswith("The API key has a character that keys do not have")


def test_changes_are_followed_through_an_outage_until_they_are_expired() -> None:
    program = """
import asyncio
from floorgate_client import AsyncFloorgate, ChangesExpiredError, Floorgate

try:
    for batch in Floorgate(flags=["changes"]).changes.follow(pause_seconds=0):
        print(batch.cursor)
except ChangesExpiredError:
    print("expired")

async def follow():
    async for batch in AsyncFloorgate(flags=["changes"]).changes.follow(pause_seconds=0):
        print(batch.cursor)

try:
    asyncio.run(follow())
except ChangesExpiredError:
    print("expired")
"""
    with serve() as service:
        shown = run("-c", program, FLOORGATE_URL=service.url, FLOORGATE_KEY="key")
    assert shown == "now\nexpired\n" * 2
    assert len(service.requests["changes"]) == 2 * EXPIRED


def test_a_header_that_cannot_be_sent_is_an_error_at_once() -> None:
    program = """
from floorgate_client import ConnectionFailedError, Floorgate
client = Floorgate(key="key").with_options(headers={"X-Tour": "a\\n"})
try:
    next(client.changes.follow())
except ConnectionFailedError as error:
    print(error.is_temporary)
"""
    with serve() as service:
        assert run("-c", program, FLOORGATE_URL=service.url) == "False\n"


@pytest.mark.parametrize("id", ["", ".", ".."])
def test_an_id_that_would_be_another_path_is_a_sentence(id: str) -> None:
    program = f"""
from floorgate_client import Floorgate
try:
    Floorgate("https://floorgate.example", "key").units.get({id!r})
except ValueError as error:
    print(error)
"""
    assert run("-c", program) == f"{id!r} cannot be an id in an address\n"


def test_a_wrong_scheme_and_an_unknown_certificate_are_sentences(demo: DemoService) -> None:
    plain = demo.url.replace("https:", "http:")
    with serve() as service:
        encrypted = service.url.replace("http:", "https:")
        found = ask((plain, ["plain"]), (encrypted, ["encrypted"]), (demo.url, ["unknown"]))
    for errors in found.values():
        assert "Does its address begin with https://?" in errors["plain"]["message"]
        assert "The service answers without TLS" in errors["encrypted"]["message"]
        assert "name its file: verify='cert.pem'" in errors["unknown"]["message"]


def test_settings_are_those_of_the_environment_and_of_single_requests() -> None:
    program = """
import json
from floorgate_client import Floorgate, ResponseError
client = Floorgate(flags="distances")
headers = {"X-Request-Id": "mine"}
mine = client.with_options(flags=["changes", "locations"], headers=headers, timeout=5)
for each in (client, mine, client, mine.with_options(flags=[])):
    each.maps("same-sync").level_tags.list()
print(repr(client))
client.request("PUT", "/v1/maps/same-sync/levels/tags", json={})
"""
    with serve() as service:
        shown = run("-c", program, FLOORGATE_URL=service.url, FLOORGATE_KEY=" key\n")
    assert shown == f"Floorgate('{service.url}')\n"  # without the key
    *requests, put = service.requests["same-sync"]
    assert put["If-None-Match"] is None
    assert [each["If-None-Match"] for each in requests] == [None, '"1"', '"1"', '"1"']
    assert [each["X-Request-Id"] for each in requests] == [None, "mine", None, "mine"]
    flags = [each["Experimental-Flags"] for each in requests]
    assert flags == ["distances", "changes,locations", "distances", None]
    assert {each["API-Key"] for each in requests} == {"key"}
    assert all("gzip" in each["Accept-Encoding"] for each in requests)
    assert all(each["User-Agent"].startswith("floorgate-python/1.") for each in requests)


def test_what_was_used_least_recently_leaves_the_cache_first() -> None:
    program = """
from floorgate_client import Floorgate, core
core.MAX_CACHE_BYTES = 30  # each body has 12
client = Floorgate(key="key", flags=["distances"])
for name in "abacab":
    client.maps(f"{name}-sync").level_tags.list()
"""
    with serve() as service:
        run("-c", program, FLOORGATE_URL=service.url)
    tags = {
        name: [each["If-None-Match"] for each in service.requests[f"{name}-sync"]] for name in "abc"
    }
    assert tags == {"a": [None, '"1"', '"1"'], "b": [None, None], "c": [None]}


@pytest.mark.slow
def test_the_proxy_of_the_environment_is_used() -> None:
    with serve() as service:
        address = f"user:secret@{service.url.removeprefix('http://')}"
        proxies = {"http_proxy": f"http://{address}", "no_proxy": "127.0.0.1"}
        found = ask(("http://floorgate.example", ["same"]), (service.url, ["direct"]), **proxies)
    assert found == {"sync": {}, "async": {}}
    for client in found:
        [same], [direct] = (service.requests[f"{name}-{client}"] for name in ("same", "direct"))
        assert same["Host"] == "floorgate.example" and same["Proxy-Authorization"]
        assert not direct["Proxy-Authorization"]


@pytest.mark.slow
def test_the_snippet_of_the_guide_prints_what_is_shown(demo: DemoService) -> None:
    text, shown = read_snippets()["python"]
    assert run("-c", text, URL=demo.url, KEY=demo.key, **trust_variables(demo)) == shown


@pytest.mark.slow
def test_the_client_and_programs_with_it_pass_mypy_in_strict_mode(tmp_path: Path) -> None:
    [shown] = [
        each.text
        for each in find_blocks((PYTHON / "README.md").read_text())
        if each.language == "python"
    ]
    for name, text in (("shown.py", shown), ("typed.py", TYPED)):
        (tmp_path / name).write_text(text)
    programs = [*tmp_path.glob("*.py"), PROGRAMS / "asking.py", PROGRAMS / "every_endpoint.py"]
    programs += [PYTHON / "examples" / "sync_directory.py", SOURCE / "floorgate_client"]
    programs.append(CLIENTS / "generate.py")
    run("-m", "mypy", "--strict", "--config-file=", *programs, MYPYPATH=str(SOURCE))


def generate(description: object, directory: Path) -> str:
    """Generate a library of its own, and return the folder to import it from."""
    copied, file = copy_clients(directory), directory / "openapi.json"
    file.write_text(json.dumps(description))
    run(copied / "generate.py", file, "python")
    return str(copied / "python" / "src")


def test_texts_of_a_description_do_not_become_code(tmp_path: Path) -> None:
    description = with_hostile_texts(describe())
    imported = {
        "customTypePath": "os.system",
        "x-python-import": {"module": "os", "name": "system"},
    }
    description["components"]["schemas"]["Unit"]["properties"]["name"] |= imported
    description["components"]["schemas"]["Unit"]["customBasePath"] = "os.system"
    source = generate(description, tmp_path)
    assert "import system" not in Path(source, "floorgate_client", "models.py").read_text()
    shown = run(
        "-c",
        "from floorgate_client import async_resources, resources\n"
        "for each in (resources.Resource, async_resources.AsyncResource):\n"
        "    for kind in each.__subclasses__():\n"
        "        print(*(getattr(kind, name).__doc__ for name in dir(kind)))",
        PYTHONPATH=source,
    )
    lines = {line.strip() for line in shown.splitlines()}
    for text in HOSTILE_TEXTS:
        first, *rest = text.splitlines()
        assert any(line.endswith(first) for line in lines) and lines.issuperset(rest)
    assert not any(line.startswith("CODE RAN") for line in lines)


@pytest.mark.parametrize("name", ["a(self): exit() #", "a\n", '"', "_core", "__init__", "é", ""])
def test_names_of_a_description_do_not_become_code(name: str) -> None:
    for change in ("method", "parameter", "type", "version"):
        description = describe()
        operation = description["paths"]["/v1/units"]["get"]
        content = operation["responses"]["200"]["content"]["application/json"]
        if change == "method":
            operation["x-sdk-method"] = f"x.{name}"
        elif change == "parameter":
            operation["parameters"][0]["name"] = name
        elif change == "version":
            description["info"]["version"] = name
        else:
            content["schema"]["$ref"] = f"#/components/schemas/{name}"
        with pytest.raises(ValueError, match=r"a name or version that programs cannot have: .+"):
            Reader(description)


def test_own_endpoints_may_have_any_names(tmp_path: Path) -> None:
    description = describe(
        'query List @endpoint(path: "/v1/x/list", summary: "All.") { assets { data { id } } }',
        """query Import($self: ID!, $read: String, $class: ID)
        @endpoint(path: "/v1/x/{self}/units", summary: "List all") {
          units(asset: $self, search: $read, floor: $class) { data { id } }
        }""",
        """mutation AssignmentInput($data: ID!, $items: [AssignmentInput!]!)
        @endpoint(method: POST, path: "/v1/x/{data}/units", summary: "Assign", as: NONE) {
          assignUnitAttributes(input: {groupId: $data, assignments: $items}) { units { id } }
        }""",
    )
    source = generate(description, tmp_path)
    program = """
from floorgate_client import Floorgate
x = Floorgate("https://floorgate.example", "key").x
print(type(x.list()).__name__, type(x.import_("a", read_="b", class_="c")).__name__)
print(x.list.__doc__.split("\\n")[0], x.list.__doc__.count("All"))
"""
    assert run("-c", program, PYTHONPATH=source) == "List List\nAll. 1\n"


def test_two_operations_of_one_method_are_a_sentence(tmp_path: Path) -> None:
    listing = (
        'query {0} @endpoint(path: "/v1/x/{0}", summary: "List") {{ assets {{ data {{ id }} }} }}'
    )
    description = describe(*map(listing.format, ("NamedUnits", "named_units")))
    (file := tmp_path / "openapi.json").write_text(json.dumps(description))
    command = [sys.executable, str(CLIENTS / "generate.py"), str(file)]
    done = subprocess.run(command, capture_output=True, text=True)
    sentence = "namedUnits and named_units would be one method: rename one of them"
    assert done.stderr == f"Nothing can be generated of {file}: {sentence}\n" and done.returncode


@pytest.mark.slow
def test_own_endpoints_are_methods_with_types(mongo_url: str, tmp_path: Path) -> None:
    clients, description = copy_clients(tmp_path), tmp_path / "openapi.json"
    operation = tmp_path / "units.graphql"
    operation.write_text("""
query NamedUnits($floor: ID!, $search: String, $page: Int, $perPage: Int)
@endpoint(path: "/v1/x/floors/{floor}/units", summary: "List the units of a floor") {
  units(floor: $floor, search: $search, page: $page, perPage: $perPage) {
    data { id name floor { name } }
  }
}
""")
    program = tmp_path / "program.py"
    program.write_text("""
import sys
from floorgate_client import Floorgate

client = Floorgate(sys.argv[1], sys.argv[2], verify=sys.argv[3])
units = [*client.x.named_units("alder-court-floor-2", search="2", per_page=5)]
print(len(units) > 5, {unit.floor and unit.floor.name for unit in units})
if sys.argv[4:]:
    units[0].named  # type: ignore[attr-defined]
    client.x.named_units("f", searches="2")  # type: ignore[call-arg]
""")
    data = tmp_path / "data"
    data.mkdir()
    with demo_service(mongo_url, data) as demo:
        apply = (FLOORGATE, "endpoints", "apply", "--yes", operation)
        environment.run(*apply, cwd=tmp_path, **demo.environment)
        description.write_bytes(
            httpx.get(
                f"{demo.url}/v1/openapi.json",
                headers={"API-Key": demo.key},
                verify=environment.trust_of(demo),
            ).content
        )
        run(clients / "generate.py", description)
        source = str(clients / "python" / "src")
        shown = run(program, demo.url, demo.key, demo.certificate, PYTHONPATH=source)
        package = f"{source}/floorgate_client"  # one of its types is another kind of floor
        run("-m", "mypy", "--strict", "--config-file=", program, package, MYPYPATH=source)
    assert shown.startswith("True {'")
