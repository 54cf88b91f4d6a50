"""An archive is a tar that any tool lists, and nothing of a damaged one is believed."""

import gzip
import hashlib
import io
import json
import tarfile

import bson
import pytest

from storage.backup import backup_file
from storage.backup.backup_file import BackupReader, Header, read_manifest
from storage.errors import BackupError
from tests.storage.backup.archives import HEADER, list_members, read_archive, write_archive

UNITS = [bson.encode({"_id": "u1", "name": "101"}), bson.encode({"_id": "u2", "name": "102"})]
WHOLE = write_archive({"units": UNITS, "assets": [bson.encode({"_id": "a"})]})


def test_an_archive_is_a_tar_of_compressed_bson_with_checksums() -> None:
    with tarfile.open(fileobj=io.BytesIO(WHOLE)) as tar:
        contents = {
            name: file.read()
            for name in tar.getnames()
            if (file := tar.extractfile(name)) is not None
        }
    assert [*contents] == [
        "header.json",
        "units/000000.bson.gz",
        "units/000001.bson.gz",
        "assets/000000.bson.gz",
        "manifest.json",
        "manifest.json.sha256",
    ]
    assert bson.decode(gzip.decompress(contents["units/000001.bson.gz"]))["name"] == "102"
    digest = hashlib.sha256(contents["manifest.json"]).hexdigest()
    assert contents["manifest.json.sha256"].decode() == f"{digest}  manifest.json\n"
    first = json.loads(contents["manifest.json"])["parts"][0]
    assert first == {
        "name": "units/000000.bson.gz",
        "documents": 1,
        "bytes": len(UNITS[0]),
        "sha256": hashlib.sha256(contents["units/000000.bson.gz"]).hexdigest(),
    }
    assert {member.mode for member in list_members(WHOLE)} == {0o600}


def test_the_documents_come_out_as_they_went_in() -> None:
    reader = BackupReader(io.BytesIO(WHOLE))
    assert reader.header == HEADER
    loaded = [(each.part.collection, each.content) for each in reader.iter_parts()]
    assert loaded[:2] == [("units", UNITS[0]), ("units", UNITS[1])]
    assert reader.manifest == read_manifest(io.BytesIO(WHOLE))
    assert reader.manifest.count_documents() == {"units": 2, "assets": 1}


def test_no_archive_that_is_cut_off_is_whole() -> None:
    end = list_members(WHOLE)[-1].offset_data + 1  # a tar may lack the empty blocks at its end
    for length in range(0, end, 97):
        with pytest.raises(BackupError):
            read_archive(WHOLE[:length])
        with pytest.raises(BackupError):
            read_manifest(io.BytesIO(WHOLE[:length]))


def test_a_changed_byte_of_any_member_is_found() -> None:
    for member in list_members(WHOLE):
        for position in range(member.offset_data, member.offset_data + member.size, 11):
            changed = bytearray(WHOLE)
            changed[position] ^= 0x20
            with pytest.raises(BackupError):
                read_archive(bytes(changed))


def test_a_part_that_is_left_out_is_missed() -> None:
    _, first, second, *_ = list_members(WHOLE)
    with pytest.raises(BackupError, match="has other parts than manifest"):
        read_archive(WHOLE[: first.offset] + WHOLE[second.offset :])


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "not whole|no backup"),
        (b"no tar at all" * 100, "no backup"),
        (gzip.compress(WHOLE), "no backup"),
    ],
    ids=["empty", "text", "compressed"],
)
def test_what_is_no_archive_is_said_to_be_none(content: bytes, message: str) -> None:
    with pytest.raises(BackupError, match=message):
        read_archive(content)


def test_another_tar_is_said_to_be_no_backup() -> None:
    output = io.BytesIO()
    with tarfile.open(fileobj=output, mode="w") as tar:
        tar.addfile(tarfile.TarInfo("photo.jpg"))
    with pytest.raises(BackupError, match="not a backup: it has 'photo"):
        read_archive(output.getvalue())
    with pytest.raises(BackupError, match="not a backup: it has no header"):
        read_manifest(io.BytesIO(output.getvalue()))


def test_the_format_of_a_newer_release_is_refused() -> None:
    newer = write_archive({}, Header(format=2, release="9.0.0", migration=1, created=""))
    for read in (read_archive, lambda content: read_manifest(io.BytesIO(content))):
        with pytest.raises(BackupError, match="has format 2, and this release reads 1"):
            read(newer)


@pytest.mark.parametrize(
    "content",
    [b"no BSON", UNITS[0] + b"\0", UNITS[0][:-1], b"\xff\xff\xff\xff" * 4],
)
def test_a_part_that_is_no_bson_is_damaged(content: bytes) -> None:
    with pytest.raises(BackupError, match=r"units/000000.bson.gz of the archive is damaged"):
        read_archive(write_archive({"units": [content]}))


def test_a_part_that_would_take_too_much_memory_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(backup_file, "MAX_PART_BYTES", 1000)
    with pytest.raises(BackupError, match="too large"):
        read_archive(write_archive({"units": [bson.encode({"_id": "u", "name": "a" * 2000})]}))
