"""Timestamps of imported members: of the bundle, of the live record, or of the import."""

from typing import Any

import pytest

from storage.bundles.importing.timestamps import has_same_content, set_timestamps
from storage.catalog import LOCATIONS, UNITS

NOW = "2026-05-01T00:00:00+00:00"
OLD = "2020-01-01T00:00:00+00:00"
OLDER = "2019-01-01T00:00:00+00:00"


def stamps(created: str = "", updated: str = "") -> dict[str, str]:
    return {"created_at": created, "updated_at": updated}


def tag(key: str, value: str, **given: str) -> dict[str, str]:
    return {"key": key, "value": value, **stamps(), **given}


@pytest.mark.parametrize(
    ("given", "live", "expected"),
    [
        (stamps(), None, stamps(NOW, NOW)),
        (stamps(updated=OLD), None, stamps(OLD, OLD)),
        (stamps(created=OLD), None, stamps(OLD, NOW)),
        (stamps(), stamps(OLDER, OLD), stamps(OLDER, NOW)),
        (stamps(updated=OLDER), stamps(OLDER, OLD), stamps(OLDER, NOW)),
        (stamps(updated=OLD), stamps(OLDER, OLDER), stamps(OLDER, OLD)),
    ],
)
def test_a_record_takes_the_latest_timestamps(
    given: dict[str, str], live: dict[str, str] | None, expected: dict[str, str]
) -> None:
    document: dict[str, Any] = dict(given)
    set_timestamps(UNITS, document, live, NOW)
    assert document == expected


def test_only_changed_items_get_new_timestamps() -> None:
    live = stamps(OLD, OLD) | {
        "tags": [tag("same", "1", **stamps(OLD, OLD)), tag("changed", "1", **stamps(OLD, OLD))]
    }
    document: dict[str, Any] = stamps() | {
        "tags": [tag("same", "1"), tag("changed", "2"), tag("new", "1")]
    }
    set_timestamps(LOCATIONS, document, live, NOW)
    assert [(item["created_at"], item["updated_at"]) for item in document["tags"]] == [
        (OLD, OLD),
        (OLD, NOW),
        (NOW, NOW),
    ]


def test_items_with_the_same_key_are_told_apart_by_their_content() -> None:
    tags = [tag("k", "1", **stamps(OLDER, OLDER)), tag("k", "2", **stamps(OLD, OLD))]
    document: dict[str, Any] = stamps() | {"tags": [tag("k", "1"), tag("k", "2"), tag("k", "3")]}
    set_timestamps(LOCATIONS, document, stamps(OLD, OLD) | {"tags": tags}, NOW)
    assert document["tags"] == [*tags, tag("k", "3", **stamps(OLD, NOW))]


def test_timestamps_are_not_content() -> None:
    one = {"_id": "l", "name": "Pool", "tags": [tag("k", "v")], **stamps()}
    same = {**one, "tags": [tag("k", "v", **stamps(OLD, OLD))], **stamps(OLD, OLD)}
    assert has_same_content(LOCATIONS, one, same)
    assert not has_same_content(LOCATIONS, one, {**same, "name": "Gym"})
    assert not has_same_content(LOCATIONS, one, {**same, "tags": [tag("k", "w")]})
    assert not has_same_content(LOCATIONS, one, {**same, "tags": []})
