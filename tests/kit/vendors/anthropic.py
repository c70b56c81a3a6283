"""Anthropic's POST /v1/messages as it streams: events by name, blocks by index, pings between them."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tests.kit.answers import SSE, Reply, write_json
from tests.kit.chunks import Json, dump
from tests.kit.connection import Connection, Received
from tests.kit.faults import CANARY
from tests.kit.vendors.anthropic_rules import Refused, check

SIGNATURE = "EqQBCgIYAhIM+kit/signature=="
# It has no field for a refusal's words: a model that refuses says so, or is stopped.
UNSAID = frozenset({"refusal"})
TYPES = {
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


def event(type: str, **fields: Any) -> bytes:
    return b"event: %b\ndata: %b\n\n" % (type.encode(), dump({"type": type, **fields}))


def opening(**usage: int) -> bytes:
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
    return event("message_start", message=message) + PING


def ending(reason: str, **usage: int) -> list[bytes]:
    delta = {"stop_reason": reason, "stop_sequence": None}
    counts = {"input_tokens": 7, "output_tokens": 3, **usage}
    return [event("message_delta", delta=delta, usage=counts), event("message_stop")]


def block(index: int, begun: Json, *deltas: Json) -> list[bytes]:
    return [
        event("content_block_start", index=index, content_block=begun),
        *(event("content_block_delta", index=index, delta=delta) for delta in deltas),
        event("content_block_stop", index=index),
    ]


def text(index: int, *words: str) -> list[bytes]:
    return block(index, {"type": "text", "text": ""}, *({"type": "text_delta", "text": w} for w in words))


def thinking(index: int, *words: str, signature: str = SIGNATURE) -> list[bytes]:
    thoughts = [{"type": "thinking_delta", "thinking": word} for word in words]
    signed = {"type": "signature_delta", "signature": signature}
    return block(index, {"type": "thinking", "thinking": "", "signature": ""}, *thoughts, signed)


def redacted(index: int, data: str) -> list[bytes]:
    return block(index, {"type": "redacted_thinking", "data": data})


def tool_use(index: int, name: str, *pieces: str) -> list[bytes]:
    """The first piece is always empty, as the API has it."""
    begun = {"type": "tool_use", "id": f"toolu_{index}", "name": name, "input": {}}
    deltas = [{"type": "input_json_delta", "partial_json": piece} for piece in ("", *pieces)]
    return block(index, begun, *deltas)


@dataclass(frozen=True)
class Answer:
    """These events, if the request is one that the API takes; else its refusal."""

    events: Sequence[bytes]
    rate: float = 0
    strict: bool = True

    async def __call__(self, connection: Connection, request: Received) -> None:
        if self.strict:
            try:
                check(request)
            except Refused as error:
                await refused(400, str(error))(connection, request)
                return
        await connection.head(200, {**SSE, "request-id": "req_kit"})
        for piece in self.events:
            await connection.chunk(piece)
            if self.rate:
                await asyncio.sleep(1 / self.rate)
        await connection.chunk(b"")


def answer(*blocks: list[bytes], reason: str = "end_turn", rate: float = 0) -> Answer:
    pieces = [opening(), *(piece for found in blocks for piece in found), *ending(reason)]
    return Answer(pieces, rate)


def failed(status: int, message: str = CANARY) -> Json:
    found = {"type": TYPES.get(status, "api_error"), "message": message}
    return {"type": "error", "error": found, "request_id": "req_kit"}


def refused(status: int, message: str = CANARY, retry_after: float | None = None) -> Reply:
    async def reply(connection: Connection, _request: Received) -> None:
        headers = {} if retry_after is None else {"retry-after": f"{retry_after:g}"}
        await write_json(connection, status, failed(status, message), **headers)

    return reply


def failing(*blocks: list[bytes], status: int = 529, message: str = CANARY) -> Answer:
    """An `error` event after these blocks."""
    fault = b"event: error\ndata: " + dump(failed(status, message)) + b"\n\n"
    return Answer([opening(), *(piece for found in blocks for piece in found), fault])


def of_turn(turn: dict[str, Any]) -> Reply:
    """What a case's turn says, in this vendor's words."""
    finish = turn.get("finish")
    if finish == "raise:upstream_busy":
        return refused(429, retry_after=7)
    blocks: list[list[bytes]] = []
    if "reason" in turn:
        blocks.append(thinking(len(blocks), *turn["reason"].partition(" ")))
    if said := turn.get("say"):
        blocks.append(text(len(blocks), *([said] if isinstance(said, str) else said)))
    for call in turn.get("calls", ()):
        arguments = call["arguments"]
        pieces = [arguments[at : at + 4] for at in range(0, len(arguments), 4)]
        blocks.append(tool_use(len(blocks), call["name"], *pieces))
    natural = "tool_use" if "calls" in turn else "end_turn"
    reason = {"length": "max_tokens", "content_filter": "refusal"}.get(finish or "", natural)
    rate = 1000 / turn["pace_ms"] if "pace_ms" in turn else 0
    found = answer(*blocks, reason=reason, rate=rate)
    return Answer(found.events[:-2]) if finish == "cut" else found
