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

from rightseat.errors import GgufError

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
_LAYOUTS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
_SCALARS = {kind: struct.Struct(f"<{layout}") for kind, layout in _LAYOUTS.items()}
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


@dataclass(frozen=True, slots=True)
class GgufHeader:
    """Header of a GGUF file. `control_tokens` are no text to the model; `added_tokens` are user-defined words
    of the vocabulary."""

    architecture: str
    context_length: int | None
    template: str | None
    templates: dict[str, str]
    bos: str | None
    eos: str | None
    control_tokens: tuple[str, ...]
    added_tokens: tuple[str, ...]
    values: dict[str, Scalar]


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
        # Tokens are read once their types are known.
        self._tokens_offset = self._token_count = 0
        self._token_types: tuple[int, ...] = ()

    def read_header(self) -> GgufHeader:
        tensors, keys = self._read_preamble()
        seen: set[str] = set()
        for _ in range(keys):
            key = self._read_string(MAX_KEY, "a key")
            if key in seen:
                raise self._make_error(f"the key {key[:60]!r} stands there twice")
            seen.add(key)
            self._read_value(key)
        self._check_tensors(tensors)
        return self._build_header()

    def _read_preamble(self) -> tuple[int, int]:
        """Return the number of tensors and of keys."""
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
        return tensors, keys

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
        if kind != _STRING and kind not in _SCALARS:
            # The format allows nested arrays, but no known file uses them.
            raise self._make_error(f"the array {key[:60]!r} has elements of the unknown type {kind}")
        size = 8 if kind == _STRING else _SCALARS[kind].size
        if count * size > self._size - self._offset or (kind == _STRING and count > MAX_TOKENS):
            elements = "strings" if kind == _STRING else "numbers"
            raise self._make_error(f"the array {key[:60]!r} claims {count} {elements}")
        if kind == _STRING:
            if key == _TOKENS:
                self._tokens_offset, self._token_count = self._offset, count
            for _ in range(count):
                self._skip(self._read_number(_U64))
        elif key == _TOKEN_TYPES and kind == _INT32 and count <= MAX_TOKENS:
            self._token_types = struct.unpack(f"<{count}i", self._read_bytes(count * size))
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

    def _build_header(self) -> GgufHeader:
        architecture = self._get_text("general.architecture")
        if architecture is None:
            raise self._make_error("it does not name its architecture")
        context = self._values.get(f"{architecture}.context_length")
        prefix = _TEMPLATE + "."
        return GgufHeader(
            architecture=architecture,
            context_length=context if type(context) is int and context > 0 else None,
            template=self._get_text(_TEMPLATE),
            templates={
                key.removeprefix(prefix): value
                for key, value in self._values.items()
                if key.startswith(prefix) and isinstance(value, str)
            },
            bos=self._get_token("tokenizer.ggml.bos_token_id"),
            eos=self._get_token("tokenizer.ggml.eos_token_id"),
            control_tokens=self._tokens_of_type(_CONTROL),
            added_tokens=self._tokens_of_type(_USER_DEFINED),
            values=self._values,
        )

    def _get_text(self, key: str) -> str | None:
        value = self._values.get(key)
        return value if isinstance(value, str) else None

    def _get_token(self, key: str) -> str | None:
        number = self._values.get(key)
        if type(number) is not int or not 0 <= number < self._token_count:
            return None
        return next(self._read_tokens([number]), None)

    def _tokens_of_type(self, kind: int) -> tuple[str, ...]:
        types = self._token_types[: self._token_count]
        numbers = [number for number, token_kind in enumerate(types) if token_kind == kind]
        return tuple(filter(None, self._read_tokens(numbers[:MAX_SPECIAL_TOKENS])))

    def _read_tokens(self, numbers: list[int]) -> Iterator[str]:
        """Yield the tokens with these ascending ids; `_read_array` has checked the array's bounds."""
        self._file.seek(self._tokens_offset)
        self._offset = self._tokens_offset
        at = 0
        for number in numbers:
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

    def _check_bounds(self, count: int) -> None:
        if count > self._size - self._offset:
            raise self._make_error("it ends in the middle of its head")
        if self._offset + count > MAX_HEAD:
            raise self._make_error(f"its head has more than {MAX_HEAD >> 20} MB")

    def _make_error(self, why: str) -> GgufError:
        return GgufError(f"{self._path} is not a usable GGUF file: {why}. Fetch it again.")
