"""The upstream behind most models of the rig: it answers with what it was sent, so that the client sees what
the model saw. To `hold` it says one word, and the rest when somebody else says `release`."""

import asyncio
import base64
import struct
from typing import Any

from tests.kit.answers import SSE_HEADERS, ChatReply, UpstreamReply, answer_tokens, answer_tool_calls, write_json
from tests.kit.chunks import DONE, Json, encode_frame, encode_json, make_chunk, make_error_body
from tests.kit.connection import Connection, ReceivedRequest

VECTOR = [0.5, 1.0, -2.0]
LOGPROBS: Json = {"content": [{"token": "sure", "logprob": -0.25, "bytes": None, "top_logprobs": []}]}
ECHOED_OPTIONS = ("temperature", "seed", "parallel_tool_calls")


class EchoReply:
    def __init__(self) -> None:
        self.failed_once: set[str] = set()
        self.released = asyncio.Event()

    async def __call__(self, connection: Connection, request: ReceivedRequest) -> None:
        if request.target.endswith("/embeddings"):
            await write_json(connection, 200, make_embeddings(request.json))
            return
        last = request.last_user_text()
        answered = request.messages[-1]["role"] == "tool"
        if last.startswith("limp with ") and not answered:
            order = encode_json({"order": last.removeprefix("limp with ")}).decode()
            await answer_tool_calls(("charge", order))(connection, request)
        elif last.startswith("limp") and last not in self.failed_once:
            self.failed_once.add(last)
            await write_json(connection, 503, make_error_body("busy", "busy"))
        elif last == "mixed" and not answered:
            calls = (("add", '{"a": 2, "b": 3}'), ("locate", '{"detail": "low"}'))
            await answer_tool_calls(*calls)(connection, request)
        elif last == "hold":
            self.released = asyncio.Event()
            await answer_in_steps("Held, ", (self.released, "and let go."))(connection, request)
        else:
            if last == "release":
                self.released.set()
            await answer_echo(last, request)(connection, request)


def answer_in_steps(first: str, *steps: tuple[asyncio.Event, str]) -> UpstreamReply:
    """Says the one, and each of the others when it is told to."""

    async def reply(connection: Connection, request: ReceivedRequest) -> None:
        await connection.write_head(200, SSE_HEADERS)
        await connection.write_chunk(encode_frame(make_chunk({"role": "assistant", "content": first})))
        for event, words in steps:
            await event.wait()
            await connection.write_chunk(encode_frame(make_chunk({"content": words})))
        for part in (encode_frame(make_chunk({}, "stop")), DONE, b""):
            await connection.write_chunk(part)

    return reply


def answer_echo(last: str, request: ReceivedRequest) -> ChatReply:
    if last == "sure":
        completion_chunk = make_chunk({"content": "sure"})
        completion_chunk["choices"][0]["logprobs"] = LOGPROBS if request.json.get("logprobs") else None
        return ChatReply([completion_chunk], {"content": "sure"})
    whole = last == "raw" or last.startswith("[")
    return answer_tokens([encode_json(request.json if whole else summarize_request(request)).decode()])


def summarize_request(request: ReceivedRequest) -> Any:
    calls = [call for message in request.messages for call in message.get("tool_calls") or ()]
    names = {call["id"]: call["function"]["name"] for call in calls}
    messages = [[m["role"], m.get("content"), names.get(m.get("tool_call_id"))] for m in request.messages]
    options = {k: v for k, v in request.json.items() if k in ECHOED_OPTIONS}
    return {"messages": messages, "arguments": [call["function"]["arguments"] for call in calls], **options}


def make_embeddings(request: Json) -> Json:
    packed = base64.b64encode(struct.pack("<3f", *VECTOR)).decode()
    vector = packed if request.get("encoding_format") == "base64" else VECTOR
    texts = request["input"] if isinstance(request["input"], list) else [request["input"]]
    data = [{"object": "embedding", "index": n, "embedding": vector} for n in range(len(texts))]
    usage = {"prompt_tokens": 2, "total_tokens": 2}
    return {"object": "list", "data": data, "model": request["model"], "usage": usage}
