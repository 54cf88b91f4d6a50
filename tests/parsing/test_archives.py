import gzip
from io import BytesIO
from zipfile import ZIP_DEFLATED, ZipFile

import pytest

from parsing import archives
from parsing.archives import unpack_gzip, unzip
from parsing.errors import DocumentRejectedError, NotWellFormedError


def zipped(*members: tuple[str, bytes]) -> bytes:
    archive = BytesIO()
    with ZipFile(archive, "w", ZIP_DEFLATED) as opened:
        for name, content in members:
            opened.writestr(name, content)
    return archive.getvalue()


def test_members_come_by_path_without_folders_of_their_own() -> None:
    assert unzip(zipped(("hall/", b""), ("hall/a.json", b"{}"))) == {"hall/a.json": b"{}"}


def test_an_archive_that_unpacks_to_too_much_is_rejected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archives, "MAX_UNPACKED_BYTES", 100_000)
    bomb = zipped(("a", bytes(60_000)), ("b", bytes(60_000)))
    assert len(bomb) < 1_000
    with pytest.raises(DocumentRejectedError, match="unpacks to more than 100,000 bytes"):
        unzip(bomb)


def test_a_gzip_bomb_is_rejected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archives, "MAX_UNPACKED_BYTES", 100_000)
    half = gzip.compress(bytes(60_000))
    with pytest.raises(DocumentRejectedError, match="b: unpacks to over 100,000 bytes"):
        unpack_gzip({"a": half, "b": half})
    assert unpack_gzip({"a": half, "b": b"plain"}) == {"a": bytes(60_000), "b": b"plain"}


def test_a_false_size_in_the_archive_does_not_evade_the_limit(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(archives, "MAX_UNPACKED_BYTES", 100_000)
    honest = zipped(("a", bytes(600_000)))
    lying = honest.replace((600_000).to_bytes(4, "little"), (10).to_bytes(4, "little"))
    assert lying != honest
    with pytest.raises((DocumentRejectedError, NotWellFormedError)):
        unzip(lying)


def test_an_archive_of_too_many_members_is_rejected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archives, "MAX_MEMBERS", 2)
    with pytest.raises(DocumentRejectedError, match="has 3 members; at most 2"):
        unzip(zipped(("a", b""), ("b", b""), ("c", b"")))


def encrypted() -> bytes:
    """Return an archive with headers that say that its member is encrypted."""
    plain = bytearray(zipped(("a", b"secret")))
    for signature, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        plain[plain.index(signature) + offset] |= 1
    return bytes(plain)


def damaged() -> bytes:
    archive = bytearray(zipped(("a", bytes(range(256)) * 40)))
    archive[60] ^= 0xFF
    return bytes(archive)


@pytest.mark.parametrize(
    ("archive", "message"),
    [
        (b"", "not a zip archive"),
        (b"PK\x03\x04 and then nothing", "not a zip archive"),
        (zipped(("a", b"x" * 1000))[:-30], "not a zip archive"),
        (damaged(), "not a zip archive that can be read"),
        (encrypted(), "a is encrypted; make the archive without a password"),
    ],
    ids=[
        "empty",
        "a signature alone",
        "cut off",
        "damaged",
        "encrypted",
    ],  # the bytes hold the time
)
def test_an_unreadable_archive_is_an_error(archive: bytes, message: str) -> None:
    with pytest.raises(NotWellFormedError, match=message):
        unzip(archive)


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_two_members_of_one_name_are_an_error() -> None:
    with pytest.raises(NotWellFormedError, match="has a twice"):
        unzip(zipped(("a", b"1"), ("a", b"2")))
