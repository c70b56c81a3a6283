"""PageFile: pages of a SQLite file with its write-ahead log, and the records on them. Records are read without the
tree that leads to them, so that a damaged page hides no record of another page.

The format is that of sqlite.org/fileformat2.html.
"""

from __future__ import annotations

import struct
import sys
from array import array
from collections.abc import Iterator
from pathlib import Path

MAGIC = b"SQLite format 3\0"
DEFAULT_PAGE_SIZE = 4096
PAGE_SIZES = (512, 1024, 2048, 8192, 16384, 32768)
WAL_HEADER, FRAME_HEADER = 32, 24
# The two byte orders of a log's checksums.
WAL_MAGICS = {0x377F0682: "little", 0x377F0683: "big"}
TABLE_LEAF, INDEX_INTERIOR, INDEX_LEAF = 0x0D, 0x02, 0x0A
INTEGER_SIZES = (0, 1, 2, 3, 4, 6, 8)
Value = None | int | float | str | bytes


class WriteAheadLog:
    """Committed frames of the write-ahead log up to its first broken frame. `problem` is empty if all are intact; an
    unfinished write at the end, as a killed process leaves it, is no problem."""

    def __init__(self, path: Path) -> None:
        self.content = path.read_bytes() if path.is_file() else b""
        self.pages: dict[int, bytes] = {}
        self.page_count = 0
        self.problem = ""
        if self.content.count(0) < len(self.content):
            self._read()

    def _read(self) -> None:
        content = self.content
        if len(content) < WAL_HEADER:
            return
        magic, _, self.page_size, _, salt1, salt2, sum1, sum2 = struct.unpack(">8I", content[:WAL_HEADER])
        order = WAL_MAGICS.get(magic)
        if order is None or add_checksum(content[:24], (0, 0), order) != (sum1, sum2):
            self.problem = "the head of the write-ahead log is damaged"
            return
        frame_size, state = FRAME_HEADER + self.page_size, (sum1, sum2)
        uncommitted: dict[int, bytes] = {}
        starts = range(WAL_HEADER, len(content) - frame_size + 1, frame_size)
        for index, start in enumerate(starts):
            header, page = content[start : start + FRAME_HEADER], content[start + FRAME_HEADER : start + frame_size]
            number, size, *rest = struct.unpack(">6I", header)
            state = add_checksum(page, add_checksum(header[:8], state, order), order)
            if (rest[0], rest[1]) != (salt1, salt2) or (rest[2], rest[3]) != state:
                self.problem = self._judge_end(starts[index:], salt1, salt2)
                return
            uncommitted[number] = page
            if size:
                self.pages |= uncommitted
                self.page_count, uncommitted = size, {}

    def _judge_end(self, starts: range, salt1: int, salt2: int) -> str:
        """Return what is wrong from the first frame that does not fit on: nothing if it is left from an earlier use
        of the log, or was being written over one."""
        salts = [struct.unpack(">2I", self.content[start + 8 : start + 16]) for start in starts]
        current = [one == salt1 or other == salt2 for one, other in salts]
        if any(current[1:]) or (current[0] and len(current) == 1):
            return "a frame of the write-ahead log is damaged: the changes after it are lost"
        return ""


def add_checksum(content: bytes, state: tuple[int, int], order: str) -> tuple[int, int]:
    """Return the log's checksum after further content."""
    words = array("I", content)
    if order != sys.byteorder:
        words.byteswap()
    first, second = state
    pairs = iter(words)
    for one, other in zip(pairs, pairs, strict=True):
        first = (first + one + second) & 0xFFFFFFFF
        second = (second + other + first) & 0xFFFFFFFF
    return first, second


class PageFile:
    """Pages of a database file as its last intact commit left them."""

    def __init__(self, path: Path) -> None:
        self.file = path.open("rb")
        self.log = WriteAheadLog(path.with_name(f"{path.name}-wal"))
        (size,) = struct.unpack(">H", self.file.read(100)[16:18].ljust(2, b"\0"))
        # All files of ours have the default size; a damaged head may name any other.
        self.page_size = size if size in PAGE_SIZES and self._fits(path, size) else DEFAULT_PAGE_SIZE
        self.page_count = max(-(-path.stat().st_size // self.page_size), self.log.page_count)
        self.damaged_cells = 0

    def _fits(self, path: Path, size: int) -> bool:
        """Whether the second page of this size begins as a page of a tree."""
        self.file.seek(size)
        return path.stat().st_size % size == 0 and self.file.read(1)[:1] in (b"\x02", b"\x05", b"\x0a", b"\x0d")

    def close(self) -> None:
        self.file.close()

    def read_page(self, number: int) -> bytes:
        if (page := self.log.pages.get(number)) is not None:
            return page
        self.file.seek((number - 1) * self.page_size)
        return self.file.read(self.page_size).ljust(self.page_size, b"\0")

    def read_records(self, page_number: int) -> Iterator[tuple[bool, list[Value]]]:
        """Yield the records of a page, each with whether it is a table's row; else it is a key of an index. Counts
        unreadable ones in `damaged_cells`."""
        page = self.read_page(page_number)
        start = 100 if page_number == 1 else 0
        kind = page[start]
        if kind not in (TABLE_LEAF, INDEX_INTERIOR, INDEX_LEAF):
            return
        (count,) = struct.unpack(">H", page[start + 3 : start + 5])
        first = start + (12 if kind == INDEX_INTERIOR else 8)
        for place in range(first, min(first + 2 * count, self.page_size - 1), 2):
            (cell,) = struct.unpack(">H", page[place : place + 2])
            try:
                yield kind == TABLE_LEAF, decode_record(self._read_payload(page, cell, kind))
            except (ValueError, IndexError, struct.error):
                self.damaged_cells += 1

    def _read_payload(self, page: bytes, cell: int, kind: int) -> bytes:
        if kind == INDEX_INTERIOR:
            cell += 4
        length, cell = read_varint(page, cell)
        if kind == TABLE_LEAF:
            _, cell = read_varint(page, cell)
        usable = self.page_size
        largest = usable - 35 if kind == TABLE_LEAF else (usable - 12) * 64 // 255 - 23
        if length <= largest:
            return page[cell : cell + length]
        if length > self.page_size * self.page_count:
            raise ValueError("a record longer than the file")
        smallest = (usable - 12) * 32 // 255 - 23
        local = smallest + (length - smallest) % (usable - 4)
        local = local if local <= largest else smallest
        parts = [page[cell : cell + local]]
        (following,) = struct.unpack(">I", page[cell + local : cell + local + 4])
        missing = length - local
        while missing > 0:
            if not 0 < following <= self.page_count:
                raise ValueError("a record whose rest is missing")
            rest = self.read_page(following)
            (following,) = struct.unpack(">I", rest[:4])
            parts.append(rest[4 : 4 + min(missing, usable - 4)])
            missing -= usable - 4
        return b"".join(parts)


def read_varint(content: bytes, start: int) -> tuple[int, int]:
    """Return the number and where it ends."""
    value = 0
    for index in range(start, start + 8):
        byte = content[index]
        value = value << 7 | byte & 0x7F
        if byte < 0x80:
            return value, index + 1
    return value << 8 | content[start + 8], start + 9


def decode_record(payload: bytes) -> list[Value]:
    """Return the values of a record; raises ValueError or IndexError if it is damaged."""
    head_end, place = read_varint(payload, 0)
    types = []
    while place < head_end:
        serial, place = read_varint(payload, place)
        types.append(serial)
    values: list[Value] = []
    place = head_end
    for serial in types:
        value, place = decode_value(payload, place, serial)
        values.append(value)
    if place != len(payload):
        raise ValueError("a record of another length than its head says")
    return values


def decode_value(payload: bytes, place: int, serial: int) -> tuple[Value, int]:
    if serial >= 12:
        end = place + (serial - 12) // 2
        content = payload[place:end]
        return (content.decode() if serial % 2 else content), end
    if serial in (10, 11):
        raise ValueError("a value of no type")
    if serial in (8, 9):
        return serial - 8, place
    if serial == 7:
        (number,) = struct.unpack(">d", payload[place : place + 8])
        return number, place + 8
    end = place + INTEGER_SIZES[serial]
    return (int.from_bytes(payload[place:end], "big", signed=True) if serial else None), end
