"""GGUF files, good and bad, as bytes."""

import struct
from collections.abc import Sequence

U32, I32, BOOL, STRING, ARRAY, U64 = 4, 5, 7, 8, 9, 10
TOKENS = ("<unk>", "<|im_start|>", "<|im_end|>", "hello", "<tool_call>")
TYPES = (2, 3, 3, 1, 4)

Pair = tuple[str, bytes]


def text(value: str | bytes) -> bytes:
    data = value.encode() if isinstance(value, str) else value
    return struct.pack("<Q", len(data)) + data


def string(key: str, value: str) -> bytes:
    return text(key) + struct.pack("<I", STRING) + text(value)


def number(key: str, value: int) -> bytes:
    return text(key) + struct.pack("<II", U32, value)


def boolean(key: str, value: bool) -> bytes:
    return text(key) + struct.pack("<I?", BOOL, value)


def strings(key: str, values: Sequence[str], count: int | None = None) -> bytes:
    claimed = len(values) if count is None else count
    return text(key) + struct.pack("<IIQ", ARRAY, STRING, claimed) + b"".join(map(text, values))


def numbers(key: str, values: Sequence[int], count: int | None = None) -> bytes:
    claimed = len(values) if count is None else count
    return text(key) + struct.pack("<IIQ", ARRAY, I32, claimed) + struct.pack(f"<{len(values)}i", *values)


def tensor(name: str, dimensions: Sequence[int], kind: int = 0, offset: int = 0) -> bytes:
    head = struct.pack(f"<I{len(dimensions)}Q", len(dimensions), *dimensions)
    return text(name) + head + struct.pack("<IQ", kind, offset)


def gguf(
    *pairs: bytes,
    tensors: Sequence[bytes] = (),
    data: bytes = b"",
    keys: int | None = None,
    count: int | None = None,
    version: int = 3,
    magic: bytes = b"GGUF",
) -> bytes:
    claimed = len(tensors) if count is None else count
    head = struct.pack("<4sIQQ", magic, version, claimed, len(pairs) if keys is None else keys)
    return head + b"".join(pairs) + b"".join(tensors) + data


def usual(*more: bytes, template: str | None = "{{ messages }}") -> list[bytes]:
    return [
        string("general.architecture", "llama"),
        number("llama.context_length", 8192),
        strings("tokenizer.ggml.tokens", TOKENS),
        numbers("tokenizer.ggml.token_type", TYPES),
        number("tokenizer.ggml.bos_token_id", 1),
        number("tokenizer.ggml.eos_token_id", 2),
        boolean("tokenizer.ggml.add_bos_token", False),
        *([] if template is None else [string("tokenizer.chat_template", template)]),
        *more,
    ]
