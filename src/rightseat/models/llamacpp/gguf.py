"""Read the header of a GGUF file: key-values and tensor offsets, never tensor data.

The file is not trusted. Every length is compared with the remaining bytes before anything is read or
allocated, so a forged count costs nothing; whatever does not fit raises GgufError.
"""

from __future__ import annotations

import os
import stat
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from rightseat.errors import ConfigError

Scalar = bool | int | float | str

MAX_KEYS = 1 << 16
MAX_KEY = 1 << 16
MAX_STRING = 16 << 20
MAX_TOKENS = 1 << 22
MAX_TENSORS = 1 << 20
# Headers with the largest known vocabularies have some 20 MB.
MAX_HEAD = 256 << 20
# Limit of control tokens, and of added tokens, that are kept.
MAX_SPECIAL_TOKENS = 1 << 14

_STRING, _ARRAY = 8, 9
_SCALARS = {
    0: struct.Struct("<B"),
    1: struct.Struct("<b"),
    2: struct.Struct("<H"),
    3: struct.Struct("<h"),
    4: struct.Struct("<I"),
    5: struct.Struct("<i"),
    6: struct.Struct("<f"),
    7: struct.Struct("<?"),
    10: struct.Struct("<Q"),
    11: struct.Struct("<q"),
    12: struct.Struct("<d"),
}
_U32, _U64 = _SCALARS[4], _SCALARS[10]
_INT32 = 5
_CONTROL, _USER_DEFINED = 3, 4
_TOKENS, _TOKEN_TYPES = "tokenizer.ggml.tokens", "tokenizer.ggml.token_type"
_TEMPLATE = "tokenizer.chat_template"

# Tensor data comes in blocks: (elements per block, {type number: bytes per block}).
_SIZES = (
    (1, {0: 4, 1: 2, 24: 1, 25: 2, 26: 4, 27: 8, 28: 8, 30: 2}),
    (32, {2: 18, 3: 20, 6: 22, 7: 24, 8: 34, 9: 36, 20: 18, 39: 17}),
    (256, {10: 84, 11: 110, 12: 144, 13: 176, 14: 210, 15: 292, 16: 66, 17: 74, 18: 98, 19: 50}),
    (256, {21: 110, 22: 82, 23: 136, 29: 56, 34: 54, 35: 66}),
)
_BLOCKS = {kind: (elements, size) for elements, sizes in _SIZES for kind, size in sizes.items()}


class GgufError(ConfigError):
    code = "bad_gguf"


@dataclass(frozen=True, slots=True)
class GgufHeader:
    """Header of a GGUF file. `control_tokens` are no text to the model; `added_tokens` are user-defined words
    of the vocabulary."""

    version: int
    architecture: str
    context_length: int | None
    vocabulary_size: int
    template: str | None
    templates: dict[str, str]
    bos: str | None
    eos: str | None
    add_bos: bool | None
    control_tokens: tuple[str, ...]
    added_tokens: tuple[str, ...]
    tensors: int
    values: dict[str, Scalar]


@dataclass(slots=True)
class _Vocabulary:
    """Position of the tokens in the file; tokens are read once their types are known."""

    start: int = 0
    count: int = 0
    types: tuple[int, ...] = ()


def read_header(path: Path) -> GgufHeader:
    try:
        with open(path, "rb", opener=_open_nonblocking) as file:
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode):
                raise GgufError(f"{path} is not a file: give the path of a .gguf file.")
            return _HeaderReader(file, status.st_size, path).read_header()
    except OSError as error:
        raise GgufError(f"{path} cannot be read: {error.strerror}.") from error


def _open_nonblocking(path: str, flags: int) -> int:
    # Opening a named pipe would block forever.
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


class _HeaderReader:
    def __init__(self, file: BinaryIO, size: int, path: Path) -> None:
        self._file = file
        self._size = size
        self._path = path
        self._offset = 0
        self._values: dict[str, Scalar] = {}
        self._vocabulary = _Vocabulary()

    def read_header(self) -> GgufHeader:
        version, tensors, keys = self._read_preamble()
        seen: set[str] = set()
        for _ in range(keys):
            key = self._read_string(MAX_KEY, "a key")
            if key in seen:
                raise self._make_error(f"the key {key[:60]!r} stands there twice")
            seen.add(key)
            self._read_value(key)
        self._check_tensors(tensors)
        return self._build_header(version, tensors)

    def _read_preamble(self) -> tuple[int, int, int]:
        if self._size < 24:
            raise self._make_error("it is too short")
        magic, version, tensors, keys = struct.unpack("<4sIQQ", self._read_bytes(24))
        if magic != b"GGUF":
            raise GgufError(f"{self._path} is not a GGUF file: it does not begin with GGUF.")
        if version & 0xFFFF == 0:
            raise GgufError(f"{self._path} is a big-endian GGUF file, which is not supported.")
        if version not in (2, 3):
            raise GgufError(f"{self._path} has GGUF version {version}; versions 2 and 3 are known.")
        # The shortest key has 13 bytes, the shortest tensor 24.
        if keys > MAX_KEYS or keys * 13 > self._size:
            raise self._make_error(f"it claims {keys} keys")
        if tensors > MAX_TENSORS or tensors * 24 > self._size:
            raise self._make_error(f"it claims {tensors} tensors")
        return version, tensors, keys

    def _read_value(self, key: str) -> None:
        kind = self._read_number(_U32)
        if kind == _STRING:
            self._values[key] = self._read_string(MAX_STRING, key)
        elif kind == _ARRAY:
            self._read_array(key)
        elif kind in _SCALARS:
            layout = _SCALARS[kind]
            (self._values[key],) = layout.unpack(self._read_bytes(layout.size))
        else:
            raise self._make_error(f"the key {key[:60]!r} has the unknown type {kind}")

    def _read_array(self, key: str) -> None:
        kind, count = self._read_number(_U32), self._read_number(_U64)
        if kind == _STRING:
            self._read_string_array(key, count)
        elif kind in _SCALARS:
            self._read_number_array(key, _SCALARS[kind].size, count, kind)
        else:
            # The format allows nested arrays, but no known file uses them.
            raise self._make_error(f"the array {key[:60]!r} has elements of the unknown type {kind}")

    def _read_string_array(self, key: str, count: int) -> None:
        if count > MAX_TOKENS or count * 8 > self._size - self._offset:
            raise self._make_error(f"the array {key[:60]!r} claims {count} strings")
        if key == _TOKENS:
            self._vocabulary.start, self._vocabulary.count = self._offset, count
        for _ in range(count):
            self._skip(self._read_number(_U64))

    def _read_number_array(self, key: str, size: int, count: int, kind: int) -> None:
        if count * size > self._size - self._offset:
            raise self._make_error(f"the array {key[:60]!r} claims {count} numbers")
        if key == _TOKEN_TYPES and kind == _INT32 and count <= MAX_TOKENS:
            self._vocabulary.types = struct.unpack(f"<{count}i", self._read_bytes(count * size))
        else:
            self._skip(count * size)

    def _check_tensors(self, count: int) -> None:
        extents: list[tuple[str, int, int]] = []
        for _ in range(count):
            name = self._read_string(MAX_KEY, "a tensor's name")
            dimensions = self._read_number(_U32)
            if dimensions > 4:
                raise self._make_error(f"the tensor {name[:60]!r} claims {dimensions} dimensions")
            elements = 1
            for _ in range(dimensions):
                elements *= self._read_number(_U64)
            block, size = _BLOCKS.get(self._read_number(_U32), (1, 0))
            extents.append((name, self._read_number(_U64), -(-elements // block) * size))
        data = self._offset
        for name, offset, length in extents:
            if data + offset + length > self._size:
                raise self._make_error(
                    f"the tensor {name[:60]!r} reaches beyond its end; perhaps it was not copied whole"
                )

    def _build_header(self, version: int, tensors: int) -> GgufHeader:
        architecture = self._get_text("general.architecture")
        if architecture is None:
            raise self._make_error("it does not name its architecture")
        context = self._values.get(f"{architecture}.context_length")
        prefix = _TEMPLATE + "."
        add_bos = self._values.get("tokenizer.ggml.add_bos_token")
        return GgufHeader(
            version=version,
            architecture=architecture,
            context_length=context if type(context) is int and context > 0 else None,
            vocabulary_size=self._vocabulary.count,
            template=self._get_text(_TEMPLATE),
            templates={
                key.removeprefix(prefix): value
                for key, value in self._values.items()
                if key.startswith(prefix) and isinstance(value, str)
            },
            bos=self._get_token("tokenizer.ggml.bos_token_id"),
            eos=self._get_token("tokenizer.ggml.eos_token_id"),
            add_bos=add_bos if isinstance(add_bos, bool) else None,
            control_tokens=self._tokens_of_type(_CONTROL),
            added_tokens=self._tokens_of_type(_USER_DEFINED),
            tensors=tensors,
            values=self._values,
        )

    def _get_text(self, key: str) -> str | None:
        value = self._values.get(key)
        return value if isinstance(value, str) else None

    def _get_token(self, key: str) -> str | None:
        number = self._values.get(key)
        if type(number) is not int or not 0 <= number < self._vocabulary.count:
            return None
        return next(self._read_tokens([number]), None)

    def _tokens_of_type(self, kind: int) -> tuple[str, ...]:
        types = self._vocabulary.types[: self._vocabulary.count]
        wanted = [number for number, found in enumerate(types) if found == kind]
        return tuple(token for token in self._read_tokens(wanted[:MAX_SPECIAL_TOKENS]) if token)

    def _read_tokens(self, wanted: list[int]) -> Iterator[str]:
        """Yield the tokens with these ascending ids; `_read_string_array` has checked the array's bounds."""
        self._seek(self._vocabulary.start)
        at = 0
        for number in wanted:
            for _ in range(number - at):
                self._skip(self._read_number(_U64))
            at = number + 1
            yield self._read_string(MAX_STRING, "a token")

    def _read_string(self, limit: int, what: str) -> str:
        length = self._read_number(_U64)
        if length > limit:
            raise self._make_error(f"{what[:60]} claims {length} bytes")
        return self._read_bytes(length).decode("utf-8", "replace")

    def _read_number(self, layout: struct.Struct) -> int:
        number: int = layout.unpack(self._read_bytes(layout.size))[0]
        return number

    def _read_bytes(self, count: int) -> bytes:
        self._check_bounds(count)
        data = self._file.read(count)
        if len(data) != count:
            raise self._make_error("it became shorter while it was read")
        self._offset += count
        return data

    def _skip(self, count: int) -> None:
        self._check_bounds(count)
        self._file.seek(count, os.SEEK_CUR)
        self._offset += count

    def _seek(self, at: int) -> None:
        self._file.seek(at)
        self._offset = at

    def _check_bounds(self, count: int) -> None:
        if count > self._size - self._offset:
            raise self._make_error("it ends in the middle of its head")
        if self._offset + count > MAX_HEAD:
            raise self._make_error(f"its head has more than {MAX_HEAD >> 20} MB")

    def _make_error(self, why: str) -> GgufError:
        return GgufError(f"{self._path} is not a usable GGUF file: {why}. Fetch it again.")
