"""OpenAI's POST /v1/responses as it streams: numbered events by name, items by index."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tests.kit.answers import SSE_HEADERS, UpstreamReply, write_json
from tests.kit.chunks import Json, encode_json, make_error_body
from tests.kit.connection import Connection, ReceivedRequest
from tests.kit.faults import fail_with_status

ENCRYPTED_REASONING = "gAAAAABo-kit-cipher=="
ROLES = ("system", "developer", "user", "assistant")
ALLOWED_PARTS = {"assistant": ("output_text", "refusal")}
USAGE: Json = {
    "input_tokens": 7,
    "input_tokens_details": {"cached_tokens": 0},
    "output_tokens": 3,
    "output_tokens_details": {"reasoning_tokens": 0},
    "total_tokens": 10,
}


def make_text_events(index: int, *words: str, kind: str = "output_text") -> list[Json]:
    """A message item, its text (or refusal) in pieces."""
    key = "refusal" if kind == "refusal" else "text"
    place = {"output_index": index, "content_index": 0, "item_id": f"msg_{index}"}
    part = {"type": kind, key: "".join(words)}
    item = {"id": f"msg_{index}", "type": "message", "role": "assistant", "status": "completed"}
    return [
        {"type": "response.output_item.added", "output_index": index, "item": {**item, "content": []}},
        {"type": "response.content_part.added", **place, "part": {**part, key: ""}},
        *({"type": f"response.{kind}.delta", **place, "delta": word, "logprobs": []} for word in words),
        {"type": f"response.{kind}.done", **place, key: "".join(words)},
        {"type": "response.content_part.done", **place, "part": part},
        {"type": "response.output_item.done", "output_index": index, "item": {**item, "content": [part]}},
    ]


def make_reasoning_events(index: int, *parts: str, cipher: str = ENCRYPTED_REASONING) -> list[Json]:
    """A reasoning item, each part of its summary in pieces of six characters."""
    summary = [{"type": "summary_text", "text": part} for part in parts]
    item = {"id": f"rs_{index}", "type": "reasoning", "encrypted_content": cipher}
    deltas = [
        {
            "type": "response.reasoning_summary_text.delta",
            "output_index": index,
            "summary_index": number,
            "delta": part[at : at + 6],
        }
        for number, part in enumerate(parts)
        for at in range(0, len(part), 6)
    ]
    return [
        {"type": "response.output_item.added", "output_index": index, "item": {**item, "summary": []}},
        *deltas,
        {"type": "response.output_item.done", "output_index": index, "item": {**item, "summary": summary}},
    ]


def make_call_events(index: int, name: str, arguments: str) -> list[Json]:
    item = {"id": f"fc_{index}", "type": "function_call", "call_id": f"call_{index}", "name": name}
    place = {"output_index": index, "item_id": f"fc_{index}"}
    pieces = [arguments[i : i + 4] for i in range(0, len(arguments), 4)]
    return [
        {"type": "response.output_item.added", "output_index": index, "item": {**item, "arguments": ""}},
        *({"type": "response.function_call_arguments.delta", **place, "delta": piece} for piece in pieces),
        {"type": "response.function_call_arguments.done", **place, "arguments": arguments},
        {"type": "response.output_item.done", "output_index": index, "item": {**item, "arguments": arguments}},
    ]


def make_end_event(finish: str = "stop") -> Json:
    reply: Json = {"id": "resp_kit", "object": "response", "status": "completed", "usage": USAGE}
    reasons = {"length": "max_output_tokens", "content_filter": "content_filter"}
    if finish in reasons:
        reply |= {"status": "incomplete", "incomplete_details": {"reason": reasons[finish]}}
        return {"type": "response.incomplete", "response": reply}
    return {"type": "response.completed", "response": reply}


def make_failed_event(code: str) -> Json:
    reply = {"id": "resp_kit", "object": "response", "status": "failed", "usage": None}
    return {"type": "response.failed", "response": {**reply, "error": {"code": code, "message": "kit"}}}


@dataclass(frozen=True, slots=True)
class ResponsesReply:
    events: Sequence[Json]
    rate: float = 0

    def encode_frames(self) -> list[bytes]:
        opening: Json = {"type": "response.created", "response": {"id": "resp_kit", "status": "in_progress"}}
        numbered = ({**event, "sequence_number": number} for number, event in enumerate([opening, *self.events]))
        return [b"event: %b\ndata: %b\n\n" % (event["type"].encode(), encode_json(event)) for event in numbered]

    async def __call__(self, connection: Connection, request: ReceivedRequest) -> None:
        if (why := find_refusal(request)) is not None:
            await write_json(connection, 400, make_error_body(why, "invalid_value", "invalid_request_error"))
            return
        await connection.write_head(200, SSE_HEADERS)
        for frame in self.encode_frames():
            await connection.write_chunk(frame)
            if self.rate:
                await asyncio.sleep(1 / self.rate)
        await connection.write_chunk(b"")


def answer_turn(turn: dict[str, Any]) -> UpstreamReply:
    """A line of a script in this wire."""
    finish = turn.get("finish", "stop")
    if finish == "raise:upstream_busy":
        return fail_with_status(429, 7)
    say = turn.get("say", "")
    words = [say] if isinstance(say, str) else say
    parts = [make_reasoning_events(0, turn["reason"])] if turn.get("reason") else []
    if turn.get("refuse"):
        parts.append(make_text_events(len(parts), turn["refuse"], kind="refusal"))
    if any(words):
        parts.append(make_text_events(len(parts), *words))
    for wanted in turn.get("calls", ()):
        parts.append(make_call_events(len(parts), wanted["name"], wanted["arguments"]))
    events = [event for part in parts for event in part]
    if finish != "cut":
        events.append(make_end_event(finish))
    pace = turn.get("pace_ms", 0)
    return ResponsesReply(events, 1000 / pace if pace else 0)


def find_refusal(request: ReceivedRequest) -> str | None:
    """What the API would refuse a request for; None if nothing."""
    body = request.json
    if not request.target.partition("?")[0].endswith("/responses"):
        return f"no such path: {request.target}"
    if "messages" in body or "stream_options" in body or "max_tokens" in body or body.get("store") is not False:
        return "not a request of this API"
    for tool in body.get("tools", ()):
        if tool.get("type") != "function" or not tool.get("name") or "function" in tool:
            return "tools: expected the flat form"
    return _find_input_problem(body["input"])


def _find_input_problem(items: list[Json]) -> str | None:
    called: set[str] = set()
    for number, item in enumerate(items):
        match item["type"]:
            case "message":
                allowed = ALLOWED_PARTS.get(item["role"], ("input_text", "input_image", "input_file"))
                if item["role"] not in ROLES or any(p["type"] not in allowed for p in item["content"]):
                    return f"input[{number}]: unknown role or part"
            case "function_call":
                called.add(item["call_id"])
            case "function_call_output":
                if item["call_id"] not in called:
                    return f"input[{number}]: no call with that call_id"
                called.remove(item["call_id"])
            case "reasoning":
                following = items[number + 1]["type"] if number + 1 < len(items) else "nothing"
                if not item.get("encrypted_content") or "summary" not in item:
                    return f"input[{number}]: reasoning that is not stored and not given"
                if following == "nothing":
                    return f"input[{number}]: reasoning without the item that it belongs to"
            case other:
                return f"input[{number}]: unknown type {other}"
    return f"no output for {called}" if called else None
