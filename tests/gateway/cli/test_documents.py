"""`floorgate documents`: register the documents that the builds of clients make."""

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from gateway.graphql.request import hash_document
from tests.gateway.cli.commands import assert_explains, floorgate
from tests.gateway.floorgate_process import storage_options

UNITS = "query Units {\n  units {\n    data {\n      id\n    }\n  }\n}"
ASSETS = "query Assets { assets { data { id } } }"
MD5 = hashlib.md5(ASSETS.encode(), usedforsecurity=False).hexdigest()

Run = Callable[..., Result]


@pytest.fixture
def run(mongo_url: str, database_name: str, tmp_path: Path) -> Run:
    """Runs commands on a database of their own."""
    storage = storage_options(mongo_url, database_name, tmp_path)
    return lambda command, *arguments: floorgate("documents", command, *arguments, *storage)


def write(path: Path, content: Any) -> Path:
    path.parent.mkdir(exist_ok=True)
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return path


def listed(run: Run) -> dict[str, dict[str, Any]]:
    """The registered documents by the first of their operations."""
    documents = [json.loads(line) for line in run("list", "--json").stdout.splitlines()]
    return {document["operations"][0]: document for document in documents}


def apollo(*operations: tuple[str, str]) -> dict[str, Any]:
    """A manifest as `generate-persisted-query-manifest` writes it."""
    return {
        "format": "apollo-persisted-query-manifest",
        "version": 1,
        "operations": [
            {"id": id, "name": "Units", "type": "query", "body": body} for id, body in operations
        ],
    }


def test_a_text_has_the_digests_of_the_forms_in_which_clients_send_it(
    run: Run, tmp_path: Path
) -> None:
    spaced = "\n query Units { units { data { id } } }\n"
    path = write(tmp_path / "units.graphql", spaced)
    assert (
        run("register", path).stdout == "1 registered, 0 with new ids, 0 were registered already\n"
    )
    assert listed(run)["Units"]["ids"] == [*map(hash_document, (spaced, spaced.strip(), UNITS))]
    assert run("register", path).stdout.startswith("0 registered, 0 with new ids, 1 ")


@pytest.mark.parametrize(
    ("manifest", "further_ids"),
    [
        (apollo((hash_document(ASSETS), ASSETS)), []),
        (apollo(("assets-1", ASSETS)), ["assets-1"]),
        ({MD5: ASSETS}, [MD5]),
        ({hash_document(ASSETS): ASSETS}, []),
        ({f"sha256:{hash_document(ASSETS)}": ASSETS}, []),
    ],
)
def test_manifests_of_apollo_relay_and_codegen_are_read(
    run: Run, tmp_path: Path, manifest: Any, further_ids: list[str]
) -> None:
    run("register", write(tmp_path / "manifest.json", manifest))
    assert listed(run)["Assets"]["ids"] == [hash_document(ASSETS), *further_ids]


def test_a_directory_has_documents_and_manifests(run: Run, tmp_path: Path) -> None:
    write(tmp_path / "app" / "units.gql", UNITS)
    write(tmp_path / "app" / "persisted-documents.json", {MD5: ASSETS})
    write(tmp_path / "app" / "readme.md", "# nothing")
    assert run("register", tmp_path / "app").stdout.startswith("2 registered")
    table = run("list").stdout
    assert MD5 in table
    assert hash_document(UNITS) in table


def test_all_errors_are_named_by_place_and_nothing_is_registered(run: Run, tmp_path: Path) -> None:
    write(tmp_path / "app" / "good.graphql", UNITS)
    write(tmp_path / "app" / "syntax.graphql", "query {\n  units {")
    write(tmp_path / "app" / "field.graphql", "{\n  units { data { nmae } }\n  nothing\n}")
    write(tmp_path / "app" / "fragment.graphql", "fragment F on Unit { id }")
    write(tmp_path / "app" / "manifest.json", {"a b": UNITS, "0" * 64: ASSETS, "bad": "{ no }"})
    write(tmp_path / "app" / "package.json", {"version": 1})
    assert_explains(
        run("register", tmp_path / "app"),
        1,
        "syntax.graphql:2:10: Syntax Error",
        "field.graphql:2:18: Cannot query field 'nmae' on type 'Unit'. Did you mean 'name'",
        "field.graphql:3:3: Cannot query field 'nothing'",
        "fragment.graphql",
        "manifest.json: a b: the id must be",
        f"that of the document is {hash_document(ASSETS)}",
        "manifest.json: bad:1:3: Cannot query field 'no'",
        "package.json: is neither a manifest of Apollo nor",
    )
    assert run("list", "--json").stdout == ""


def test_a_directory_without_documents_is_an_error(run: Run, tmp_path: Path) -> None:
    assert_explains(run("register", tmp_path), 1, "no file ends in .graphql, .gql, .json")


def test_documents_are_removed_by_any_id(run: Run, tmp_path: Path) -> None:
    run("register", write(tmp_path / "manifest.json", {MD5: ASSETS, "units": UNITS}))
    assert run("remove", MD5).stdout == f"removed: {hash_document(ASSETS)}\n"
    assert run("remove", MD5).stdout == "no such document is registered\n"
    assert listed(run).keys() == {"Units"}
    assert run("remove").exit_code == run("remove", "x", "--all").exit_code == 2
    assert run("remove", "--all").stdout == f"removed: {hash_document(UNITS)}\n"
