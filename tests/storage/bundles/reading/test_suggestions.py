"""A name that does not exist is compared with those that do."""

import pytest

from storage.bundles.reading import suggestions
from storage.bundles.reading.suggestions import Suggestions, suggest

FIELDS = ["id", "asset_id", "floor_id", "name", "map_ids"]


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("nmae", "name"),
        ("Name", "name"),
        ("floorId", "floor_id"),
        ("flor", "floor_id"),
        ("bedrooms", None),
        ("", None),
        ("name" * 100, None),  # comparing long names takes long
    ],
)
def test_what_resembles_it_most_was_meant(name: str, meant: str | None) -> None:
    assert suggest(name, FIELDS) == meant


def test_a_run_compares_a_bounded_number_of_names(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(suggestions, "MAX_SUGGESTIONS", 2)
    found = Suggestions()
    names = ["nmae", "flor", "assetid", "nmae"]
    assert [found.find(name, FIELDS) for name in names] == ["name", "floor_id", None, "name"]
