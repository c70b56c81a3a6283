"""Anthropic's POST /v1/messages as it streams: events by name, blocks by index, pings between them."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tests.kit.answers import SSE_HEADERS, UpstreamReply, write_json
from tests.kit.chunks import Json, encode_json
from tests.kit.connection import Connection, ReceivedRequest
from tests.kit.faults import CANARY
from tests.kit.vendors.anthropic_rules import RequestRefused, check_request

THINKING_SIGNATURE = "EqQBCgIYAhIM+kit/signature=="
# It has no field for a refusal's words: a model that refuses says so, or is stopped.
UNSUPPORTED_CASES = frozenset({"refusal"})
ERROR_TYPES = {
    400: "invalid_request_error",
    401: "authentication_error",
    402: "billing_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    500: "api_error",
    504: "timeout_error",
    529: "overloaded_error",
}
PING = b'event: ping\ndata: {"type": "ping"}\n\n'


def encode_event(type: str, **fields: Any) -> bytes:
    return b"event: %b\ndata: %b\n\n" % (type.encode(), encode_json({"type": type, **fields}))


def encode_message_start(**usage: int) -> bytes:
    counts = {"input_tokens": 7, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0, **usage}
    message: Json = {
        "id": "msg_kit",
        "type": "message",
        "role": "assistant",
        "model": "claude-kit",
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": {**counts, "output_tokens": 1, "service_tier": "standard"},
    }
    return encode_event("message_start", message=message) + PING


def encode_message_end(reason: str, **usage: int) -> list[bytes]:
    delta = {"stop_reason": reason, "stop_sequence": None}
    counts = {"input_tokens": 7, "output_tokens": 3, **usage}
    return [encode_event("message_delta", delta=delta, usage=counts), encode_event("message_stop")]


def encode_block(index: int, start: Json, *deltas: Json) -> list[bytes]:
    return [
        encode_event("content_block_start", index=index, content_block=start),
        *(encode_event("content_block_delta", index=index, delta=delta) for delta in deltas),
        encode_event("content_block_stop", index=index),
    ]


def encode_text(index: int, *words: str) -> list[bytes]:
    return encode_block(index, {"type": "text", "text": ""}, *({"type": "text_delta", "text": w} for w in words))


def encode_thinking(index: int, *words: str, signature: str = THINKING_SIGNATURE) -> list[bytes]:
    thoughts = [{"type": "thinking_delta", "thinking": word} for word in words]
    signed = {"type": "signature_delta", "signature": signature}
    return encode_block(index, {"type": "thinking", "thinking": "", "signature": ""}, *thoughts, signed)


def encode_redacted_thinking(index: int, data: str) -> list[bytes]:
    return encode_block(index, {"type": "redacted_thinking", "data": data})


def encode_tool_use(index: int, name: str, *pieces: str) -> list[bytes]:
    """The first piece is always empty, as the API has it."""
    start = {"type": "tool_use", "id": f"toolu_{index}", "name": name, "input": {}}
    deltas = [{"type": "input_json_delta", "partial_json": piece} for piece in ("", *pieces)]
    return encode_block(index, start, *deltas)


@dataclass(frozen=True)
class AnthropicReply:
    """These events, if the request is one that the API takes; else its refusal."""

    events: Sequence[bytes]
    rate: float = 0
    strict: bool = True

    async def __call__(self, connection: Connection, request: ReceivedRequest) -> None:
        if self.strict:
            try:
                check_request(request)
            except RequestRefused as error:
                await fail_with_status(400, str(error))(connection, request)
                return
        await connection.write_head(200, {**SSE_HEADERS, "request-id": "req_kit"})
        for piece in self.events:
            await connection.write_chunk(piece)
            if self.rate:
                await asyncio.sleep(1 / self.rate)
        await connection.write_chunk(b"")


def answer_blocks(*blocks: list[bytes], reason: str = "end_turn", rate: float = 0) -> AnthropicReply:
    pieces = [encode_message_start(), *(piece for found in blocks for piece in found), *encode_message_end(reason)]
    return AnthropicReply(pieces, rate)


def make_error_body(status: int, message: str = CANARY) -> Json:
    error = {"type": ERROR_TYPES.get(status, "api_error"), "message": message}
    return {"type": "error", "error": error, "request_id": "req_kit"}


def fail_with_status(status: int, message: str = CANARY, retry_after: float | None = None) -> UpstreamReply:
    async def reply(connection: Connection, _request: ReceivedRequest) -> None:
        headers = {} if retry_after is None else {"retry-after": f"{retry_after:g}"}
        await write_json(connection, status, make_error_body(status, message), **headers)

    return reply


def fail_after_blocks(*blocks: list[bytes], status: int = 529, message: str = CANARY) -> AnthropicReply:
    """An `error` event after these blocks."""
    fault = b"event: error\ndata: " + encode_json(make_error_body(status, message)) + b"\n\n"
    return AnthropicReply([encode_message_start(), *(piece for found in blocks for piece in found), fault])


def answer_turn(turn: dict[str, Any]) -> UpstreamReply:
    """What a case's turn says, in this vendor's words."""
    finish = turn.get("finish")
    if finish == "raise:upstream_busy":
        return fail_with_status(429, retry_after=7)
    blocks: list[list[bytes]] = []
    if "reason" in turn:
        blocks.append(encode_thinking(len(blocks), *turn["reason"].partition(" ")))
    if say := turn.get("say"):
        blocks.append(encode_text(len(blocks), *([say] if isinstance(say, str) else say)))
    for call in turn.get("calls", ()):
        arguments = call["arguments"]
        pieces = [arguments[at : at + 4] for at in range(0, len(arguments), 4)]
        blocks.append(encode_tool_use(len(blocks), call["name"], *pieces))
    natural = "tool_use" if "calls" in turn else "end_turn"
    reason = {"length": "max_tokens", "content_filter": "refusal"}.get(finish or "", natural)
    rate = 1000 / turn["pace_ms"] if "pace_ms" in turn else 0
    reply = answer_blocks(*blocks, reason=reason, rate=rate)
    return AnthropicReply(reply.events[:-2]) if finish == "cut" else reply
