"""OpenAI-shaped chunks, frames and whole answers, as plain values."""

import json
from collections.abc import Iterable
from typing import Any

Json = dict[str, Any]

DONE = b"data: [DONE]\n\n"
USAGE: Json = {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10}
MODEL = "kit-model"


def make_chunk(delta: Json, finish: str | None = None) -> Json:
    return {
        "id": "chatcmpl-kit",
        "object": "chat.completion.chunk",
        "created": 1700000000,
        "model": MODEL,
        "choices": [{"index": 0, "delta": delta, "finish_reason": finish}],
    }


def make_usage_chunk() -> Json:
    return {**make_chunk({}), "choices": [], "usage": USAGE}


def make_completion(message: Json, finish: str | None = "stop") -> Json:
    return {
        "id": "chatcmpl-kit",
        "object": "chat.completion",
        "created": 1700000000,
        "model": MODEL,
        "choices": [{"index": 0, "message": {"role": "assistant", **message}, "finish_reason": finish}],
        "usage": USAGE,
    }


def make_error_body(message: str, code: str, kind: str = "server_error") -> Json:
    return {"error": {"message": message, "type": kind, "param": None, "code": code}}


def encode_json(value: object) -> bytes:
    """Compact, and with real characters, so that cuts can fall inside them."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


def encode_frame(value: object) -> bytes:
    return b"data: " + encode_json(value) + b"\n\n"


def make_words(count: int) -> list[str]:
    """The tokens of a text of that many: `w0`, ` w1`, …; a lost or doubled one shows."""
    return [f"{' ' if i else ''}w{i}" for i in range(count)]


def make_text_chunks(tokens: Iterable[str]) -> list[Json]:
    return [make_chunk({"role": "assistant", "content": ""}), *(make_chunk({"content": t}) for t in tokens)]


def make_call_delta(
    index: int, *, id: str | None = None, name: str | None = None, arguments: str | None = None
) -> Json:
    """One entry of `delta.tool_calls`; what is None is left out, as real servers do."""
    function = {k: v for k, v in (("name", name), ("arguments", arguments)) if v is not None}
    opening = {"id": id, "type": "function"} if id is not None else {}
    return {"index": index, **opening, "function": function}


def make_tool_call(id: str, name: str, arguments: str) -> Json:
    return {"id": id, "type": "function", "function": {"name": name, "arguments": arguments}}
