"""The format of backups: a tar archive of BSON, with checksums (docs/decisions/storage/backups.md).

| member                   |                                                                      |
|--------------------------|----------------------------------------------------------------------|
| `header.json`            | version of the format, release, number of the last migration, time   |
| `units/000000.bson.gz`   | documents of a collection, some 8 MB of BSON; as many as it takes    |
| `manifest.json`          | the header, and of each part documents, bytes and SHA-256            |
| `manifest.json.sha256`   | SHA-256 of the manifest, as `sha256sum` writes it                    |

It is written and read from the beginning to the end, so that it may come from a pipe. An archive
without its end is not whole, and nothing of it is restored.
"""

import hashlib
import tarfile
import time
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import BinaryIO, NamedTuple

import msgspec

from storage.errors import BackupError
from storage.mongo import raw_documents

FORMAT = 1
PART_BYTES = 8 << 20
"""BSON in a part, before compression; a part has up to one reply of MongoDB more."""
MAX_PART_BYTES = PART_BYTES + (32 << 20)
MAX_MANIFEST_BYTES = 64 << 20
"""A backup has a million parts at most, which are 8 TB."""
HEADER_NAME = "header.json"
MANIFEST_NAME = "manifest.json"
CHECKSUM_NAME = "manifest.json.sha256"
_COMPRESSION_LEVEL = 1
_GZIP = 16 + zlib.MAX_WBITS
_FILE_MODE = 0o600


class Header(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The service, release and moment that a backup was made of."""

    format: int = FORMAT
    release: str
    """Version of the Floorgate that has made it."""
    migration: int
    """Number of the last migration that had run."""
    created: str


class BackupPart(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One member with documents."""

    name: str
    documents: int
    bytes: int
    """The bytes of BSON, before compression."""
    sha256: str
    """The checksum of the member as it is in the archive."""

    @property
    def collection(self) -> str:
        """The collection that the documents are of."""
        return self.name.partition("/")[0]


class Manifest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """All that is in an archive."""

    header: Header
    parts: list[BackupPart]

    def count_documents(self) -> dict[str, int]:
        """Return how many documents there are of each collection that has any."""
        counts: dict[str, int] = {}
        for part in self.parts:
            counts[part.collection] = counts.get(part.collection, 0) + part.documents
        return counts


class LoadedPart(NamedTuple):
    """A part that has been read, and is as the archive's writer has written it."""

    part: BackupPart
    content: bytes
    """BSON."""


class BackupWriter:
    """Writes an archive. It is whole only after `finish`."""

    def __init__(self, output: BinaryIO, header: Header) -> None:
        self._output = output
        self._manifest = Manifest(header=header, parts=[])
        self._part_counts: dict[str, int] = {}
        self._add_member(HEADER_NAME, msgspec.json.encode(header))

    def add_part(self, collection: str, documents: int, content: bytes) -> None:
        """Add documents of a collection."""
        number = self._part_counts.get(collection, 0)
        self._part_counts[collection] = number + 1
        compressor = zlib.compressobj(_COMPRESSION_LEVEL, wbits=_GZIP)
        stored = compressor.compress(content) + compressor.flush()
        name = f"{collection}/{number:06}.bson.gz"
        digest = hashlib.sha256(stored).hexdigest()
        self._manifest.parts.append(
            BackupPart(name=name, documents=documents, bytes=len(content), sha256=digest)
        )
        self._add_member(name, stored)

    def finish(self) -> Manifest:
        """Write what makes the archive whole, and return the manifest."""
        encoded = msgspec.json.format(msgspec.json.encode(self._manifest), indent=1)
        self._add_member(MANIFEST_NAME, encoded)
        checksum = f"{hashlib.sha256(encoded).hexdigest()}  {MANIFEST_NAME}\n"
        self._add_member(CHECKSUM_NAME, checksum.encode())
        self._output.write(bytes(2 * tarfile.BLOCKSIZE))
        return self._manifest

    def _add_member(self, name: str, content: bytes) -> None:
        member = tarfile.TarInfo(name)
        member.size, member.mode, member.mtime = len(content), _FILE_MODE, int(time.time())
        self._output.write(member.tobuf(tarfile.USTAR_FORMAT))
        self._output.write(content)
        self._output.write(bytes(-len(content) % tarfile.BLOCKSIZE))


class BackupReader:
    """Reads an archive from the beginning to the end, and checks everything on the way."""

    def __init__(self, archive: BinaryIO) -> None:
        """Read the header. Raises BackupError."""
        with _explain_damage():
            self._tar = tarfile.open(fileobj=archive, mode="r|")  # noqa: SIM115
        self.header = _decode_header(self._read_member(HEADER_NAME, MAX_PART_BYTES))
        self.manifest: Manifest | None = None
        """The counts of what was read, once all of it is."""
        self._parts: list[BackupPart] = []

    def iter_parts(self) -> Iterator[LoadedPart]:
        """Yield the parts, and check in the end that they are all. Raises BackupError."""
        while (member := self._next_member()).name != MANIFEST_NAME:
            yield self._load_part(member)
        encoded = self._read_content(member, MAX_MANIFEST_BYTES)
        checksum = self._read_member(CHECKSUM_NAME, MAX_PART_BYTES)
        manifest = _decode_manifest(encoded, checksum)
        if manifest != Manifest(header=self.header, parts=self._parts):
            raise BackupError(f"the archive is damaged: it has other parts than {MANIFEST_NAME}")
        self.manifest = manifest

    def _load_part(self, member: tarfile.TarInfo) -> LoadedPart:
        stored = self._read_content(member, MAX_PART_BYTES)
        with _explain_damage(member.name):
            decompressor = zlib.decompressobj(_GZIP)
            content = decompressor.decompress(stored, MAX_PART_BYTES)
            if not decompressor.eof or decompressor.unused_data:
                raise ValueError("it is cut off, or too large")
            documents = raw_documents.count_documents(content)
        digest = hashlib.sha256(stored).hexdigest()
        part = BackupPart(name=member.name, documents=documents, bytes=len(content), sha256=digest)
        self._parts.append(part)
        return LoadedPart(part, content)

    def _read_member(self, name: str, max_bytes: int) -> bytes:
        member = self._next_member()
        if member.name != name:
            raise BackupError(f"this is not a backup: it has {member.name!r} instead of {name!r}")
        return self._read_content(member, max_bytes)

    def _next_member(self) -> tarfile.TarInfo:
        with _explain_damage():
            member = self._tar.next()
        if member is None:
            raise BackupError("the archive is not whole: its end is missing, or it is damaged")
        return member

    def _read_content(self, member: tarfile.TarInfo, max_bytes: int) -> bytes:
        with _explain_damage(member.name):
            file = self._tar.extractfile(member) if member.size <= max_bytes else None
            if file is None:
                raise ValueError("it is no file, or too large")
            content = file.read()
            if len(content) != member.size:
                raise ValueError("it is cut off")
            return content


def read_manifest(archive: BinaryIO) -> Manifest:
    """Return the manifest of an archive in a file, without reading the parts.

    Raises BackupError.
    """
    with _explain_damage(), tarfile.open(fileobj=archive, mode="r:") as tar:
        contents = {}
        for name in (HEADER_NAME, MANIFEST_NAME, CHECKSUM_NAME):
            try:
                file = tar.extractfile(name)
            except KeyError:
                whole = "a backup" if name == HEADER_NAME else "whole"
                raise BackupError(f"the archive is not {whole}: it has no {name}") from None
            assert file is not None
            contents[name] = file.read(MAX_MANIFEST_BYTES)
    _decode_header(contents[HEADER_NAME])
    return _decode_manifest(contents[MANIFEST_NAME], contents[CHECKSUM_NAME])


def _decode_header(encoded: bytes) -> Header:
    with _explain_damage(HEADER_NAME):
        version = msgspec.json.decode(encoded, type=dict[str, object]).get("format")
        if version != FORMAT:
            raise BackupError(
                f"the archive has format {version!r}, and this release reads {FORMAT}: use the"
                " release that has made it, or a newer one"
            )
        return msgspec.json.decode(encoded, type=Header)


def _decode_manifest(encoded: bytes, checksum: bytes) -> Manifest:
    if checksum.split() != [hashlib.sha256(encoded).hexdigest().encode(), MANIFEST_NAME.encode()]:
        raise BackupError(f"the archive is damaged: {MANIFEST_NAME} does not have its checksum")
    with _explain_damage(MANIFEST_NAME):
        return msgspec.json.decode(encoded, type=Manifest)


@contextmanager
def _explain_damage(name: str = "") -> Iterator[None]:
    try:
        yield
    except (tarfile.TarError, zlib.error, EOFError, ValueError, msgspec.MsgspecError) as error:
        where = f"{name} of the archive" if name else "the archive"
        raise BackupError(f"{where} is damaged, or this is no backup: {error}") from error
