"""Unpack zip archives in bounded memory, and make those that can be unpacked so."""

import gzip
import zlib
from collections.abc import Mapping
from io import BytesIO
from typing import Final
from zipfile import ZIP_DEFLATED, BadZipFile, ZipFile, ZipInfo

from parsing.errors import DocumentRejectedError, NotWellFormedError

ZIP_SIGNATURES: Final = (b"PK\x03\x04", b"PK\x05\x06")
GZIP_SIGNATURE: Final = b"\x1f\x8b"
MAX_MEMBERS: Final = 1_000
MAX_UNPACKED_BYTES: Final = 256 * 1024 * 1024
# Bit 0 of the general purpose flags (PKWARE APPNOTE.TXT, section 4.4.4).
ENCRYPTED_FLAG: Final = 1


def unzip(archive: bytes) -> dict[str, bytes]:
    """Unpack an archive into contents by path.

    Limits apply to the bytes that come out, since an archive can lie about its sizes. Raises
    `NotWellFormedError` if it cannot be read, `DocumentRejectedError` if it is over a limit.
    """
    try:
        with ZipFile(BytesIO(archive)) as zip_file:
            return _read_members(zip_file)
    except (BadZipFile, zlib.error, EOFError, NotImplementedError, ValueError) as error:
        raise NotWellFormedError(f"not a zip archive that can be read: {error}") from error


def zip_files(files: Mapping[str, bytes]) -> bytes | None:
    """Return an archive of files that `unzip` reads, the same for the same files; None if they are
    over its limits."""
    if len(files) > MAX_MEMBERS or sum(map(len, files.values())) > MAX_UNPACKED_BYTES:
        return None
    archive = BytesIO()
    with ZipFile(archive, "w") as zip_file:
        for name, content in files.items():
            zip_file.writestr(ZipInfo(name), content, ZIP_DEFLATED)
    return archive.getvalue()


def unpack_gzip(files: Mapping[str, bytes]) -> dict[str, bytes]:
    """Return files by name, with those that are compressed with gzip, as `plan.osm.gz`, unpacked.

    Raises `NotWellFormedError` or `DocumentRejectedError`.
    """
    unpacked: dict[str, bytes] = {}
    remaining_bytes = MAX_UNPACKED_BYTES
    for name, content in files.items():
        if content.startswith(GZIP_SIGNATURE):
            content = read_gzip(content, remaining_bytes + 1, name)
            remaining_bytes -= len(content)
        unpacked[name] = content
        if remaining_bytes < 0:
            raise DocumentRejectedError(f"{name}: unpacks to over {MAX_UNPACKED_BYTES:,} bytes")
    return unpacked


def read_gzip(content: bytes, max_bytes: int, name: str) -> bytes:
    """Return the first bytes of a file that is compressed. Raises `NotWellFormedError`."""
    try:
        with gzip.open(BytesIO(content)) as file:
            return file.read(max_bytes)
    except (OSError, EOFError, zlib.error) as error:
        message = f"{name}: compressed with gzip, but cannot be unpacked: {error}"
        raise NotWellFormedError(message) from error


def _read_members(archive: ZipFile) -> dict[str, bytes]:
    infos = [info for info in archive.infolist() if info.filename and not info.is_dir()]
    if len(infos) > MAX_MEMBERS:
        raise DocumentRejectedError(
            f"the archive has {len(infos):,} members; at most {MAX_MEMBERS:,} are read"
        )
    members: dict[str, bytes] = {}
    remaining_bytes = MAX_UNPACKED_BYTES
    for info in infos:
        if info.filename in members:
            raise NotWellFormedError(f"the archive has {info.filename} twice")
        members[info.filename] = _read_member(archive, info, remaining_bytes)
        remaining_bytes -= len(members[info.filename])
    return members


def _read_member(archive: ZipFile, info: ZipInfo, max_bytes: int) -> bytes:
    if info.flag_bits & ENCRYPTED_FLAG:
        raise NotWellFormedError(
            f"{info.filename} is encrypted; make the archive without a password"
        )
    with archive.open(info) as member:
        content = member.read(max_bytes + 1)
    if len(content) > max_bytes:
        raise DocumentRejectedError(
            f"the archive unpacks to more than {MAX_UNPACKED_BYTES:,} bytes"
        )
    return content
