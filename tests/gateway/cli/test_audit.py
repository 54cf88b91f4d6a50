"""`floorgate audit`: a table for people, a record per line for programs."""

import json
from typing import Any

import pytest

from tests.gateway.cli.commands import assert_explains, floorgate, output_of


def create(storage: list[str], name: str) -> str:
    """Create a key; return its id."""
    created = output_of(floorgate("keys", "create", "--name", name, "--json", *storage))
    id: str = created["id"]
    return id


def list_records(storage: list[str], *options: str) -> list[dict[str, Any]]:
    listed = floorgate("audit", "--json", *options, *storage)
    assert listed.exit_code == 0, listed.stderr
    return [json.loads(line) for line in listed.stdout.splitlines()]


def test_records_are_listed_latest_first_and_filtered(storage: list[str]) -> None:
    ids = [create(storage, name) for name in ("a", "b", "c")]
    assert floorgate("keys", "revoke", ids[0], *storage).exit_code == 0
    records = list_records(storage)
    assert [(each["action"], each["target"]["ids"]) for each in records] == [
        ("key.revoked", [ids[0]]),
        *(("key.created", [id]) for id in reversed(ids)),
    ]
    at = records[1]["at"]
    actor = records[0]["actor"]["id"]
    for options, expected in (
        (["--limit", "2"], records[:2]),
        (["--limit", "0"], records),
        (["--action", "key.revoked"], records[:1]),
        (["--target", ids[0]], [records[0], records[3]]),
        (["--since", at], records[:2]),
        (["--until", at], records[2:]),
        (["--actor", actor], records),
        (["--actor", ids[0]], []),
    ):
        assert list_records(storage, *options) == expected, options


def test_the_table_says_who_did_what_from_where(storage: list[str]) -> None:
    id = create(storage, "[bold]till")
    table = floorgate("audit", *storage, columns=200).stdout
    [record] = list_records(storage)
    for text in (id, "key.created", "1 api_keys inserted", "cli", record["actor"]["id"]):
        assert text in table
    assert record["client_address"] in table
    assert record["at"][:19] in table


@pytest.mark.parametrize(
    ("options", "explanation"),
    [
        (["--since", "soon"], "must be an ISO 8601 time"),
        (["--until", "soon"], "must be an ISO 8601 time"),
        (["--action", "key.lost"], "'key.created'"),
        (["--limit", "-1"], "--limit"),
    ],
)
def test_a_wrong_option_is_explained(
    storage: list[str], options: list[str], explanation: str
) -> None:
    assert_explains(floorgate("audit", *options, *storage), 2, explanation)
