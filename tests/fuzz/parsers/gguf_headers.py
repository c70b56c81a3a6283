"""GGUF headers: files that a user downloads from a stranger."""

import random
import struct
import tempfile
from pathlib import Path

from rightseat.errors import GgufError
from rightseat.models.llamacpp.gguf import GgufHeader, read_header
from tests.fuzz.parsers.target import ParserTarget, require
from tests.unit.models.llamacpp.gguf_files import make_gguf, make_string_entry

KEYS = ("general.architecture", "llama.context_length", "tokenizer.ggml.tokens", "tokenizer.ggml.token_type")
MORE_KEYS = ("tokenizer.chat_template", "tokenizer.chat_template.tool_use", "tokenizer.ggml.bos_token_id")
KINDS = range(14)
COUNT_OFFSETS = (8, 16)


class GgufHeaders(ParserTarget):
    name = "gguf"
    traced = ("models/llamacpp/gguf.py",)
    words = (
        b"GGUF",
        *(struct.pack("<Q", len(key)) + key.encode() for key in (*KEYS, *MORE_KEYS)),
        *(struct.pack("<I", kind) for kind in KINDS),
        *(struct.pack("<IIQ", 9, kind, 2) for kind in KINDS),
        *(struct.pack("<Q", number) for number in (0, 1, 5, 1 << 16, 1 << 24, 1 << 32, 1 << 63, (1 << 64) - 1)),
        struct.pack("<Q5s", 5, b"llama"),
    )

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="rightseat-fuzz-")
        self._path = Path(self._folder.name) / "model.gguf"

    def close(self) -> None:
        self._folder.cleanup()

    def parse(self, data: bytes) -> None:
        self._read(data)

    def check(self, data: bytes) -> None:
        header = self._read(data)
        if header is None:
            return
        # NaN is not equal to itself.
        require(repr(self._read(data)) == repr(header), "a file is read in two ways", header)
        texts = {key: value for key, value in header.values.items() if isinstance(value, str)}
        written = make_gguf(*(make_string_entry(key, value) for key, value in texts.items()))
        again = self._read(written)
        require(again is not None and again.values == texts, "texts written are not read again", texts, again)

    def _read(self, data: bytes) -> GgufHeader | None:
        """Return the header; None for a file that is refused."""
        self._path.write_bytes(data)
        try:
            return read_header(self._path)
        except GgufError as error:
            require(len(str(error)) < 1_000, "an error repeats the file", error)
            return None

    def mutate(self, rng: random.Random, data: bytes) -> bytes | None:
        """Change a count of the head by one: what follows still has its form."""
        if len(data) < 24:
            return None
        offset = rng.choice(COUNT_OFFSETS)
        count = int.from_bytes(data[offset : offset + 8], "little") + rng.choice((-1, 1, 1, 2))
        return data[:offset] + (count % (1 << 64)).to_bytes(8, "little") + data[offset + 8 :]
