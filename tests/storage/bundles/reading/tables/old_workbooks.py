"""Workbooks of Excel 97 (.xls) for tests: one sheet of texts.

[MS-CFB] describes the file, [MS-XLS] the records in it.
"""

import struct
from collections.abc import Sequence

SECTOR = 512
FREE, END_OF_CHAIN, FAT_SECTOR = 0xFFFFFFFF, 0xFFFFFFFE, 0xFFFFFFFD
NO_ENTRY = 0xFFFFFFFF


def build_xls(title: str, rows: Sequence[Sequence[str]]) -> bytes:
    """Return a workbook with one sheet."""
    globals_start = _bof(5) + _record(0x42, struct.pack("<H", 1200))
    name = bytes([len(title), 0]) + title.encode("latin-1")
    offset = len(globals_start) + 4 + 6 + len(name) + 4
    bound_sheet = _record(0x85, struct.pack("<IBB", offset, 0, 0) + name)
    sheet = _bof(0x10) + _record(0x200, struct.pack("<IIHHH", 0, len(rows), 0, len(rows[0]), 0))
    for row, cells in enumerate(rows):
        for column, text in enumerate(cells):
            label = struct.pack("<HHHHB", row, column, 0, len(text), 0) + text.encode("latin-1")
            sheet += _record(0x204, label)
    return _compound_file(globals_start + bound_sheet + _record(0x0A) + sheet + _record(0x0A))


def _record(kind: int, data: bytes = b"") -> bytes:
    return struct.pack("<HH", kind, len(data)) + data


def _bof(kind: int) -> bytes:
    return _record(0x809, struct.pack("<HHHHII", 0x600, kind, 0x0DBB, 0x07CC, 0, 6))


def _compound_file(stream: bytes) -> bytes:
    """Return a file with one stream, which is too long for the mini stream."""
    stream = stream.ljust(4096, b"\0")
    stream += bytes(-len(stream) % SECTOR)
    count = len(stream) // SECTOR
    chain = [FAT_SECTOR, END_OF_CHAIN, *range(3, 2 + count), END_OF_CHAIN]
    fat = struct.pack("<128I", *chain, *[FREE] * (128 - len(chain)))
    header = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(16)
    header += struct.pack("<HHHHH6x", 0x3E, 3, 0xFFFE, 9, 6)
    header += struct.pack("<IIIIIIIII", 0, 1, 1, 0, 4096, END_OF_CHAIN, 0, END_OF_CHAIN, 0)
    header += struct.pack("<109I", 0, *[FREE] * 108)
    root = _entry("Root Entry", 5, 1, END_OF_CHAIN, 0)
    workbook = _entry("Workbook", 2, NO_ENTRY, 2, len(stream))
    return header + fat + (root + workbook).ljust(SECTOR, b"\0") + stream


def _entry(name: str, kind: int, child: int, start: int, size: int) -> bytes:
    text = name.encode("utf-16-le")
    links = struct.pack("<BBIII", kind, 1, NO_ENTRY, NO_ENTRY, child)
    where = struct.pack("<IQ", start, size)
    length = struct.pack("<H", len(text) + 2)
    return text.ljust(64, b"\0") + length + links + bytes(16 + 4 + 16) + where
