"""`make api-diff`, `make audit` and `make mutants`: what they find, and what they pass by."""

import json
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from tools.api_diff import Mark, main, openapi_changes, sdl_changes
from tools.audit import vulnerabilities
from tools.audit.__main__ import (
    COULD_NOT_RUN,
    FAILED,
    PASSED,
    Result,
    look_up,
    read_report,
    run_audits,
)
from tools.audit.locks import read_npm_lock, read_python_lock
from tools.audit.programs import CannotWorkError, find_program
from tools.audit.sbom import check, write_sboms
from tools.audit.servers import CATALOG, EMBEDDED, Server, audit_servers, find_servers
from tools.audit.vulnerabilities import audit_npm, audit_python
from tools.mutants.places import Place, choose_places, find_places, plant
from tools.mutants.reach import Reach, add_probes, order_tests
from tools.revisions import ROOT

in_a_clone = pytest.mark.skipif(not (ROOT / ".git").exists(), reason="needs the git repository")
UNIT = {"type": "object", "properties": {"id": {"type": "string"}}, "required": ["id"]}


def described(
    *,
    parameters: tuple[dict[str, Any], ...] = (),
    body: dict[str, Any] | None = None,
    answer: dict[str, Any] = UNIT,
    path: str = "/v1/units",
    permission: str | None = None,
) -> dict[str, Any]:
    """A description of one endpoint."""
    operation: dict[str, Any] = {"x-permission": permission} if permission else {}
    content = {"application/json": {"schema": {"$ref": "#/components/schemas/Unit"}}}
    if body is not None:
        operation["requestBody"] = {"content": {"application/json": {"schema": body}}}
    return {
        "paths": {
            path: {
                "get": {
                    "parameters": list(parameters),
                    "responses": {"200": {"content": content}},
                    **operation,
                }
            }
        },
        "components": {"schemas": {"Unit": answer}},
    }


def parameter(name: str, *, required: bool = False, **schema: Any) -> dict[str, Any]:
    return {"in": "query", "name": name, "required": required, "schema": schema}


def unit(required: tuple[str, ...] = ("id",), **properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(required)}


def lines(before: dict[str, Any], after: dict[str, Any]) -> list[tuple[Mark, str]]:
    prefix = "GET /v1/units: "
    return [(mark, text.removeprefix(prefix)) for mark, text in openapi_changes(before, after)]


NONE = described()
PAGE, MUST = (described(parameters=(parameter("page", required=r),)) for r in (False, True))
NAME: dict[str, Any] = {"id": {"type": "string"}, "name": {"type": "string"}}


def test_a_description_does_not_differ_from_itself() -> None:
    assert lines(described(), described()) == []


@pytest.mark.parametrize(
    ("before", "after", "mark", "text"),
    [
        (NONE, PAGE, Mark.SAFE, "the parameter page is new"),
        (NONE, MUST, Mark.BREAKING, "the parameter page is new and required"),
        (PAGE, NONE, Mark.BREAKING, "the parameter page is gone"),
        (PAGE, MUST, Mark.BREAKING, "the parameter page may not be missing any more"),
        (MUST, PAGE, Mark.SAFE, "the parameter page may be missing now"),
        (
            described(body=unit(id={"type": "string"})),
            described(body=unit(("id", "name"), **NAME)),
            Mark.BREAKING,
            "the body's name is new and required",
        ),
        # A response may gain members at any time, but not lose them.
        (
            NONE,
            described(answer=unit(**NAME)),
            Mark.SAFE,
            "the response's name is new",
        ),
        (
            NONE,
            described(answer=unit(())),
            Mark.BREAKING,
            "the response's id is gone",
        ),
        (
            NONE,
            described(answer=unit((), id={"type": "string"})),
            Mark.BREAKING,
            "the response's id may be missing now",
        ),
        (
            NONE,
            described(answer=unit(id={"type": ["string", "null"]})),
            Mark.BREAKING,
            "the response's id may be null now",
        ),
        (
            NONE,
            described(permission="service.units.read"),
            Mark.BREAKING,
            "the key needs the permission service.units.read now",
        ),
    ],
)
def test_each_change_of_an_endpoint_is_one_line(
    before: dict[str, Any], after: dict[str, Any], mark: Mark, text: str
) -> None:
    assert lines(before, after) == [(mark, text)]


def test_endpoints_come_and_go() -> None:
    moved = described(path="/v1/flats")
    assert openapi_changes(described(), moved) == [
        (Mark.SAFE, "GET /v1/flats: added"),
        (Mark.BREAKING, "GET /v1/units: removed"),
    ]


def test_texts_for_people_are_not_compared() -> None:
    noted = unit(id={"type": "string", "description": "Opaque.", "examples": ["u1"]})
    assert lines(described(), described(answer=noted)) == []


def test_a_recursive_type_is_followed_once() -> None:
    old, new = (
        described(answer=unit(inner={"$ref": "#/components/schemas/Unit"}, id={"type": type}))
        for type in ("string", "integer")
    )
    assert lines(old, new) == [
        (Mark.BREAKING, "the response's id may be a whole number now"),
        (Mark.SAFE, "the response's id may not be a text any more"),
    ]


def test_graphql_changes_are_judged_by_graphql_core() -> None:
    before = "type Query { unit(id: ID): String, floor: String }"
    after = "type Query { unit(id: ID, asset: ID): String, asset: String }"
    assert sdl_changes(before, after) == [
        (Mark.BREAKING, "Field Query.floor was removed."),
        (Mark.SAFE, "Field Query.asset was added."),
        (Mark.DANGEROUS, "An optional argument Query.unit(asset:) was added."),
    ]


@pytest.mark.slow
@in_a_clone
def test_the_command_compares_with_a_commit() -> None:
    result = CliRunner().invoke(main, ["HEAD"])
    assert result.exit_code == 0, result.output
    assert "## GraphQL" in result.output and "## REST" in result.output


@in_a_clone
def test_an_unknown_ref_is_named() -> None:
    result = CliRunner().invoke(main, ["no-such-release"])
    assert result.exit_code == 1
    assert "no-such-release" in result.output


SAFE = {"name": "anyio", "version": "4.16.0", "vulns": []}
UNSAFE = {
    "name": "pyyaml",
    "version": "5.3",
    "vulns": [{"id": "PYSEC-2021-142", "fix_versions": ["5.4"], "aliases": []}],
}
UNKNOWN = {"name": "anyio", "skip_reason": "not found on PyPI"}
MINIMIST = {"minimist": {"severity": "critical", "range": "<0.2.4"}}
LXML = {"name": "lxml", "version": "6.1", "purl": "pkg:pypi/lxml@6.1"}


def report(tests: int, failures: int = 0, skipped: int = 0) -> str:
    skips = '<testcase><skipped message="it is absent"/></testcase>' * skipped
    counts = f'tests="{tests}" failures="{failures}" errors="0" skipped="{skipped}"'
    return f"<testsuites><testsuite {counts}>{skips}</testsuite></testsuites>"


@pytest.mark.parametrize(
    ("text", "status", "outcome", "note"),
    [
        (report(3), 0, PASSED, "3 tests"),
        (report(3, failures=1), 1, FAILED, "1 of 3 tests failed"),
        (report(3, skipped=1), 0, COULD_NOT_RUN, "it is absent"),
        (report(0), 5, COULD_NOT_RUN, "no test was found"),
        (report(3), 1, FAILED, "0 of 3 tests failed"),
    ],
)
def test_a_skipped_test_is_no_passed_audit(text: str, status: int, outcome: str, note: str) -> None:
    assert read_report(text, status, "")[:2] == (outcome, note)


@pytest.mark.parametrize(
    ("results", "status"),
    [([PASSED, PASSED], 0), ([PASSED, FAILED, PASSED], 1), ([COULD_NOT_RUN, PASSED], 1)],
)
def test_each_audit_has_a_line_in_the_summary(
    results: list[str], status: int, capsys: pytest.CaptureFixture[str]
) -> None:
    audits = {f"a{n}": partial(Result, outcome, "why") for n, outcome in enumerate(results)}
    assert run_audits(audits) == status
    summary = capsys.readouterr().out.partition("\nSummary\n")[2]
    assert summary.splitlines() == [
        f"a{n}               {outcome:<14} why" for n, outcome in enumerate(results)
    ]


def pip_answer(*packages: dict[str, Any]) -> dict[str, Any]:
    return {"dependencies": [*packages], "fixes": []}


def npm_answer(found: dict[str, Any], total: int = 1) -> dict[str, Any]:
    return {"vulnerabilities": found, "metadata": {"dependencies": {"total": total}}}


def answer(monkeypatch: pytest.MonkeyPatch, program: str, *printed: Any) -> None:
    """Let a program print this, one value each time that it is run."""
    texts = iter(value if isinstance(value, str) else json.dumps(value) for value in printed)
    monkeypatch.setattr(vulnerabilities, program, lambda *_: next(texts))


def test_unsafe_packages_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    answer(monkeypatch, "run_program", pip_answer(UNSAFE), pip_answer(SAFE, UNSAFE))
    python = audit_python(("requirements.lock",))
    assert python == (2, ["pyyaml 5.3: PYSEC-2021-142, fixed in 5.4"])
    answer(monkeypatch, "run_npm", npm_answer(MINIMIST), npm_answer(MINIMIST))
    assert audit_npm(("gateway/web",))[1] == ["minimist <0.2.4: critical"]
    assert look_up(lambda: python) == Result(FAILED, "1 vulnerabilities", python[1][0])
    assert look_up(lambda: (7, [])) == Result(PASSED, "7 packages")


def test_a_look_up_without_an_answer_could_not_run(capsys: pytest.CaptureFixture[str]) -> None:
    def be_silent() -> tuple[int, list[str]]:
        raise CannotWorkError("the database is silent")

    assert run_audits({"pip-audit": lambda: look_up(be_silent)}) == 1
    assert "could not run  the database is silent" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("printed", "reason"),
    [
        # What pip-audit prints, with the exit status 0, where PyPI does not answer.
        ([pip_answer({"name": "pyyaml", "skip_reason": "not found on PyPI"})], "not found on PyPI"),
        ([pip_answer(UNSAFE | {"vulns": []})], "does not know that pyyaml==5.3 is unsafe"),
        ([pip_answer(UNSAFE), pip_answer(SAFE, UNKNOWN)], "not found on PyPI"),
        ([pip_answer(UNSAFE), pip_answer()], "looked up no package"),
        ([pip_answer(UNSAFE), "<html>"], "no JSON"),
    ],
)
def test_a_database_of_python_packages_has_to_answer(
    monkeypatch: pytest.MonkeyPatch, printed: list[Any], reason: str
) -> None:
    answer(monkeypatch, "run_program", *printed)
    with pytest.raises(CannotWorkError, match=reason):
        audit_python(("requirements.lock",))


@pytest.mark.parametrize(
    ("printed", "reason"),
    [
        ([{"message": "405 Method Not Allowed", "error": {}}], "405 Method Not Allowed"),
        ([npm_answer({})], "does not know that minimist 0.0.8 is unsafe"),
        ([npm_answer(MINIMIST), npm_answer({}, total=0)], "looked up no package"),
    ],
)
def test_a_database_of_npm_packages_has_to_answer(
    monkeypatch: pytest.MonkeyPatch, printed: list[Any], reason: str
) -> None:
    answer(monkeypatch, "run_npm", *printed)
    with pytest.raises(CannotWorkError, match=reason):
        audit_npm(("gateway/web",))


@pytest.mark.parametrize(
    ("components", "packages"),
    [
        ([], {("lxml", "6.1")}),
        ([LXML], {("lxml", "6.2")}),
        ([LXML], set[tuple[str, str]]()),
        ([{**LXML, "purl": ""}], {("lxml", "6.1")}),
    ],
)
def test_a_bill_of_materials_that_differs_from_the_lock_file_is_an_error(
    components: list[dict[str, str]], packages: set[tuple[str, str]]
) -> None:
    check({"components": [LXML]}, {("lxml", "6.1")})
    with pytest.raises(CannotWorkError, match="lxml"):
        check({"components": components}, packages)


@pytest.mark.slow
def answer_of_osv(servers: list[Server]) -> dict[str, Any]:
    """What OSV answers, in its form, if it knows of two vulnerabilities."""
    known = {
        EMBEDDED: [{"id": "BIT-mongodb-2025-14847", "modified": "2026-01-02T03:04:05Z"}],
        Server("mongodb", "8.0.21"): [{"id": "BIT-mongodb-2026-9740", "modified": "2026-06-01"}],
    }
    return {"results": [{"vulns": known[each]} if each in known else {} for each in servers]}


def test_the_servers_of_images_are_looked_up(monkeypatch: pytest.MonkeyPatch) -> None:
    servers = find_servers()
    assert {server.name for server in servers} == set(CATALOG.values())
    number, found, note = audit_servers(answer_of_osv)
    assert (number, found) == (len(servers), [])
    assert note == "the embedded MongoDB 6.0.5 has 1 (SECURITY.md)"
    monkeypatch.setattr("tools.audit.servers.find_servers", lambda: [Server("mongodb", "8.0.21")])
    assert audit_servers(answer_of_osv)[1] == ["mongodb 8.0.21: BIT-mongodb-2026-9740"]


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ({}, "OSV answered for 0 of"),
        ({"results": [{}] * (1 + len(find_servers()))}, "does not know that MongoDB 6.0.5"),
    ],
)
def test_a_silent_osv_is_no_passed_audit(answer: dict[str, Any], reason: str) -> None:
    with pytest.raises(CannotWorkError, match=reason):
        audit_servers(lambda _: answer)


@pytest.mark.skipif(find_program("cyclonedx-py") is None, reason="make audit installs cyclonedx-py")
def test_each_pinned_package_is_in_a_bill_with_hashes(tmp_path: Path) -> None:
    python, pages = (json.loads(file.read_text()) for file in write_sboms(tmp_path / "sbom"))
    by_name = {component["name"]: component for component in python["components"]}
    assert {*by_name} == {name for name, _ in read_python_lock(ROOT / "requirements.lock")}
    assert by_name["lxml"]["externalReferences"][0]["hashes"][0]["alg"] == "SHA-256"
    assert len(pages["components"]) == len(read_npm_lock(ROOT / "gateway/web/package-lock.json"))
    assert all(component["hashes"] for component in pages["components"])


SOURCE = """
LIMIT = 3

def is_within(é, size: int = 10, *, strict: bool):
    '''Say 1 < 2.'''
    if (0 <= é
            < size) and not strict:
        return f"{é < 1}"
    return é not in (LIMIT,)
"""


def written(kind: str) -> list[str]:
    """What stands at the first line that each fault of a kind changes."""
    places = [place for place in find_places("routing/example.py", SOURCE) if place.kind == kind]
    changed = [plant(SOURCE, place) or "" for place in places]
    lines = [zip(text.splitlines(), SOURCE.splitlines(), strict=False) for text in changed]
    return [next(new.strip() for new, old in pairs if new != old) for pairs in lines]


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        (
            "turned",
            ["if (0 > é", ">= size) and not strict:", "return é in (LIMIT,)"],
        ),
        ("moved", ["if (0 < é", "<= size) and not strict:"]),
        ("dropped", ["if (True) and not strict:", "< size) and True:"]),
        (
            "constant",
            [
                "LIMIT = 4",
                "def is_within(é, size: int = 11, *, strict: bool):",
                "if (1 <= é",
            ],
        ),
    ],
)
def test_faults_of_each_kind_are_planted(kind: str, expected: list[str]) -> None:
    assert sorted(written(kind)) == sorted(expected)


def example(root: Path, source: str = SOURCE) -> Path:
    (root / "routing").mkdir(exist_ok=True)
    (root / "routing" / "example.py").write_text(source)
    return root


def test_the_same_seed_chooses_the_same_places_in_equal_shares(tmp_path: Path) -> None:
    example(tmp_path)
    chosen = choose_places(tmp_path, 8, seed=1)
    assert chosen == choose_places(tmp_path, 8, seed=1)
    assert [place.kind for place in chosen] == [
        kind for kind in ("turned", "moved", "dropped", "constant") for _ in range(2)
    ]


def constant() -> Place:
    return next(p for p in find_places("routing/example.py", SOURCE) if p.old == "3")


def test_a_place_is_found_again_where_other_lines_have_changed() -> None:
    assert "LIMIT = 4" in (plant(f"import ast\n{SOURCE}", constant()) or "")
    assert plant(SOURCE.replace("LIMIT = 3", "LIMIT = 5"), constant()) is None


def test_a_constant_is_probed_in_the_functions_that_mention_it(tmp_path: Path) -> None:
    add_probes(example(tmp_path), [constant()])
    probed = (tmp_path / "routing" / "example.py").read_text().splitlines()
    at = probed.index("    '''Say 1 < 2.'''")
    assert probed[at + 1] == '    __import__("floorgate_probe").note(0)'


def test_tests_of_the_module_run_first_and_the_dear_ones_not_at_all() -> None:
    mirror, beside = "tests/routing/test_example.py::test_a", "tests/routing/test_b.py::test_b"
    far, dear, other = (f"tests/rest/test_{name}.py::test" for name in ("far", "dear", "other"))
    seconds = {far: 1.0, dear: 50.0, other: 0.1, beside: 2.0, mirror: 3.0}
    reach = Reach(seconds, {7: [far, dear]})
    assert order_tests(constant(), 7, reach, 40) == [[mirror], [far]]
    assert order_tests(constant(), 7, reach, 100) == [[mirror], [far, dear, beside]]
