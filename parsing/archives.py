"""Zip archives, unpacked in bounded memory."""

import zlib
from io import BytesIO
from typing import Final
from zipfile import BadZipFile, ZipFile, ZipInfo

from parsing.errors import NotWellFormed, Refused

ZIP_STARTS: Final = (b"PK\x03\x04", b"PK\x05\x06")
MOST_MEMBERS: Final = 1_000
MOST_BYTES: Final = 256 * 1024 * 1024
ENCRYPTED: Final = 1


def unzip(archive: bytes) -> dict[str, bytes]:
    """Members by path. Raises `NotWellFormed` for what is no zip, `Refused` over a limit.

    What the archive says of its members' sizes is not believed.
    """
    try:
        with ZipFile(BytesIO(archive)) as opened:
            return _members(opened)
    except (BadZipFile, zlib.error, EOFError, NotImplementedError, ValueError) as error:
        raise NotWellFormed(f"not a zip archive that can be read: {error}") from error


def _members(archive: ZipFile) -> dict[str, bytes]:
    infos = [info for info in archive.infolist() if info.filename and not info.is_dir()]
    if len(infos) > MOST_MEMBERS:
        raise Refused(f"the archive has {len(infos):,} members; at most {MOST_MEMBERS:,} are read")
    members: dict[str, bytes] = {}
    left = MOST_BYTES
    for info in infos:
        if info.filename in members:
            raise NotWellFormed(f"the archive has {info.filename} twice")
        members[info.filename] = _content(archive, info, left)
        left -= len(members[info.filename])
    return members


def _content(archive: ZipFile, info: ZipInfo, most_bytes: int) -> bytes:
    if info.flag_bits & ENCRYPTED:
        raise NotWellFormed(f"{info.filename} is encrypted; make the archive without a password")
    with archive.open(info) as member:
        content = member.read(most_bytes + 1)
    if len(content) > most_bytes:
        raise Refused(f"the archive unpacks to more than {MOST_BYTES:,} bytes")
    return content
