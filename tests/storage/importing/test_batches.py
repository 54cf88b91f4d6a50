"""Bundles are read one after another, in batches that name where their drawings are."""

import io
import json
import sys
from pathlib import Path

import pytest

from storage.bundles.violations import Violations
from storage.importing import batches
from storage.importing.batches import BundleSource, MemberBatch, count_total_bytes, read_batches
from tests.storage.catalogs import SMALL, write_arrays


def read(*bundles: BundleSource) -> list[MemberBatch]:
    return list(read_batches(bundles, Violations()))


def keys(batches: list[MemberBatch]) -> list[list[str]]:
    return [[member.document["_id"] for member in batch.members] for batch in batches]


def assets(*ids: str) -> bytes:
    return json.dumps({"assets": [{"id": id, "name": ""} for id in ids]}).encode()


def test_each_bundle_has_batches_of_its_own(tmp_path: Path) -> None:
    path = write_arrays(tmp_path / "b.json", {"assets": SMALL["assets"]})
    batches = read(assets("x"), path)
    assert keys(batches) == [["x"], ["a", "b"]]
    assert [batch.directory for batch in batches] == [None, tmp_path]
    assert batches[-1].bytes_read == count_total_bytes([assets("x"), path])


def test_a_batch_ends_at_the_limit_of_members_or_characters(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(batches, "MAX_BATCH_MEMBERS", 2)
    assert keys(read(assets("a", "b", "c"))) == [["a", "b"], ["c"]]
    monkeypatch.setattr(batches, "MAX_BATCH_CHARACTERS", 1)
    assert keys(read(assets("a", "b", "c"))) == [["a"], ["b"], ["c"]]


def test_standard_input_is_a_bundle_of_unknown_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(assets("a"))))
    assert count_total_bytes(["-", assets("b")]) is None
    assert keys(read("-")) == [["a"]]


def test_a_file_that_cannot_be_opened_is_an_error_and_the_next_is_read(tmp_path: Path) -> None:
    missing = tmp_path / "missing.json"
    assert count_total_bytes([missing]) == 0
    violations = Violations()
    assert keys(list(read_batches([missing, assets("a")], violations))) == [["a"]]
    assert violations.list_first() == [(str(missing), "No such file or directory")]
