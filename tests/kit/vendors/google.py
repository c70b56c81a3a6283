"""Google's `:streamGenerateContent?alt=sse` as it is on the wire, as strict with a request as Google is."""

import asyncio
import base64
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tests.kit.answers import SSE_HEADERS, write_json
from tests.kit.chunks import Json, encode_json
from tests.kit.connection import Connection, ReceivedRequest
from tests.kit.faults import CANARY

USAGE: Json = {"promptTokenCount": 7, "candidatesTokenCount": 3, "totalTokenCount": 10}
TARGET_PATTERN = re.compile(r"/v1(?:beta)?/models/([\w.-]+):streamGenerateContent\?alt=sse")
PART_FIELDS = {"text", "inlineData", "fileData", "functionCall", "functionResponse"}
# A call comes whole and as an object; an answer that is refused or filtered is no answer but an error.
UNSUPPORTED_CASES = frozenset({"refusal", "content filter", "a call that is not JSON"}) | frozenset(
    {"length within a call", "length within the second call"}
)
STATUS_NAMES = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    429: "RESOURCE_EXHAUSTED",
    500: "INTERNAL",
    503: "UNAVAILABLE",
    504: "DEADLINE_EXCEEDED",
}


def make_part(text: str | None = None, *, signature: bytes | None = None, **fields: Any) -> Json:
    out = {**({} if text is None else {"text": text}), **fields}
    return out if signature is None else {**out, "thoughtSignature": base64.b64encode(signature).decode()}


def make_call_part(name: str, args: Json, *, id: str | None = None, signature: bytes | None = None) -> Json:
    return make_part(functionCall={"name": name, "args": args, **({"id": id} if id else {})}, signature=signature)


def make_chunk(*parts: Json, finish: str | None = None, usage: Json | None = USAGE) -> Json:
    """Google counts up in every chunk."""
    candidate: Json = {"content": {"parts": list(parts), "role": "model"}, "index": 0}
    if finish is not None:
        candidate["finishReason"] = finish
    out: Json = {"candidates": [candidate], "modelVersion": "kit", "responseId": "kit-1"}
    return out if usage is None else {**out, "usageMetadata": usage}


def make_error_body(status: int, message: str = CANARY, details: Sequence[Json] = ()) -> Json:
    body: Json = {"code": status, "message": message, "status": STATUS_NAMES.get(status, "UNKNOWN")}
    return {"error": {**body, "details": list(details)} if details else body}


def make_retry_info(delay: str) -> Json:
    return {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": delay}


@dataclass(frozen=True)
class GoogleReply:
    """An answer by its chunks; `rate` is how many a second, 0 is full speed."""

    chunks: Sequence[Json]
    rate: float = 0

    async def __call__(self, connection: Connection, request: ReceivedRequest) -> None:
        if (problem := find_refusal(request)) is not None:
            await write_json(connection, 400, make_error_body(400, problem))
            return
        await connection.write_head(200, SSE_HEADERS)
        for entry in self.chunks:
            await connection.write_chunk(encode_frame(entry))
            if self.rate:
                await asyncio.sleep(1 / self.rate)
        await connection.write_chunk(b"")


@dataclass(frozen=True)
class GoogleErrorReply:
    status: int
    body: Json

    async def __call__(self, connection: Connection, _request: ReceivedRequest) -> None:
        await write_json(connection, self.status, self.body)


def encode_frame(value: object) -> bytes:
    return b"data: " + encode_json(value) + b"\r\n\r\n"


def answer_text(*texts: str, finish: str | None = "STOP") -> GoogleReply:
    return GoogleReply([*(make_chunk(make_part(text)) for text in texts), make_chunk(finish=finish)])


def answer_turn(turn: Json) -> GoogleReply | GoogleErrorReply:
    """What a case of the contract suite says."""
    ends = {"length": "MAX_TOKENS", "cut": None}
    finish = turn.get("finish", "stop")
    if finish == "raise:upstream_busy":
        return GoogleErrorReply(429, make_error_body(429, details=[make_retry_info("7s")]))
    said = turn.get("say", [])
    chunks = [make_chunk(make_part(turn["reason"], thought=True))] if "reason" in turn else []
    chunks += [make_chunk(make_part(text)) for text in ([said] if isinstance(said, str) else said)]
    if calls := [make_call_part(one["name"], _parse_args(one["arguments"])) for one in turn.get("calls", ())]:
        chunks.append(make_chunk(*calls))
    if finish != "cut":
        chunks.append(make_chunk(make_part(""), finish=ends.get(finish, "STOP")))
    pace = turn.get("pace_ms")
    return GoogleReply(chunks, 1000 / pace if pace else 0)


def _parse_args(text: str) -> Any:
    return json.loads(text)


def find_refusal(request: ReceivedRequest) -> str | None:
    """What Google would not take of a request, None when it takes all."""
    match = TARGET_PATTERN.fullmatch(request.target)
    if request.method != "POST" or match is None:
        return f"no such path {request.target}"
    if not request.headers.get("x-goog-api-key"):
        return "no key"
    contents = request.json.get("contents") or []
    if not contents or contents[0]["role"] != "user":
        return "contents must begin with the user"
    return next((fault for one in contents if (fault := _find_content_problem(one))), None) or _find_pairing_problem(
        contents, match[1].startswith("gemini-3")
    )


def _find_content_problem(content: Json) -> str | None:
    if content.get("role") not in ("user", "model") or not content.get("parts"):
        return "a content needs a role and parts"
    for one in content["parts"]:
        kinds = PART_FIELDS & set(one)
        if len(kinds) != 1:
            return f"a part has exactly one datum, not {sorted(kinds)}"
        if one.get("text") == "" and "thoughtSignature" not in one:
            return "a part is empty"
    return None


def _find_pairing_problem(contents: list[Json], signs: bool) -> str | None:
    open_calls: list[str] = []
    for content in contents:
        calls = [one for one in content["parts"] if "functionCall" in one]
        answers = [one["functionResponse"]["name"] for one in content["parts"] if "functionResponse" in one]
        if answers != open_calls:
            return f"{len(open_calls)} calls and {len(answers)} responses"
        if signs and calls and "thoughtSignature" not in calls[0]:
            return "a call without a thought_signature"
        open_calls = [one["functionCall"]["name"] for one in calls]
    return None
