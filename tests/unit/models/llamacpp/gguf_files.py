"""GGUF files, good and bad, as bytes."""

import struct
from collections.abc import Sequence

U32, I32, BOOL, STRING, ARRAY, U64 = 4, 5, 7, 8, 9, 10
TOKENS = ("<unk>", "<|im_start|>", "<|im_end|>", "hello", "<tool_call>")
TYPES = (2, 3, 3, 1, 4)

Pair = tuple[str, bytes]


def pack_string(value: str | bytes) -> bytes:
    data = value.encode() if isinstance(value, str) else value
    return struct.pack("<Q", len(data)) + data


def make_string_entry(key: str, value: str) -> bytes:
    return pack_string(key) + struct.pack("<I", STRING) + pack_string(value)


def make_number_entry(key: str, value: int) -> bytes:
    return pack_string(key) + struct.pack("<II", U32, value)


def make_boolean_entry(key: str, value: bool) -> bytes:
    return pack_string(key) + struct.pack("<I?", BOOL, value)


def make_string_array_entry(key: str, values: Sequence[str], count: int | None = None) -> bytes:
    claimed = len(values) if count is None else count
    return pack_string(key) + struct.pack("<IIQ", ARRAY, STRING, claimed) + b"".join(map(pack_string, values))


def make_number_array_entry(key: str, values: Sequence[int], count: int | None = None) -> bytes:
    claimed = len(values) if count is None else count
    return pack_string(key) + struct.pack("<IIQ", ARRAY, I32, claimed) + struct.pack(f"<{len(values)}i", *values)


def make_tensor_info(name: str, dimensions: Sequence[int], kind: int = 0, offset: int = 0) -> bytes:
    head = struct.pack(f"<I{len(dimensions)}Q", len(dimensions), *dimensions)
    return pack_string(name) + head + struct.pack("<IQ", kind, offset)


def make_gguf(
    *pairs: bytes,
    tensors: Sequence[bytes] = (),
    data: bytes = b"",
    entry_count: int | None = None,
    tensor_count: int | None = None,
    version: int = 3,
    magic: bytes = b"GGUF",
) -> bytes:
    claimed = len(tensors) if tensor_count is None else tensor_count
    head = struct.pack("<4sIQQ", magic, version, claimed, len(pairs) if entry_count is None else entry_count)
    return head + b"".join(pairs) + b"".join(tensors) + data


def make_usual_entries(*more: bytes, template: str | None = "{{ messages }}") -> list[bytes]:
    return [
        make_string_entry("general.architecture", "llama"),
        make_number_entry("llama.context_length", 8192),
        make_string_array_entry("tokenizer.ggml.tokens", TOKENS),
        make_number_array_entry("tokenizer.ggml.token_type", TYPES),
        make_number_entry("tokenizer.ggml.bos_token_id", 1),
        make_number_entry("tokenizer.ggml.eos_token_id", 2),
        make_boolean_entry("tokenizer.ggml.add_bos_token", False),
        *([] if template is None else [make_string_entry("tokenizer.chat_template", template)]),
        *more,
    ]
