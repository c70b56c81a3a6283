"""The upstream behind most models of the rig: it answers with what it was sent, so that the client sees what
the model saw. To `hold` it says one word, and the rest when somebody else says `release`."""

import asyncio
import base64
import struct
from typing import Any

from tests.kit.answers import SSE, Answer, Reply, say, tools, write_json
from tests.kit.chunks import DONE, Json, chunk, dump, error, frame
from tests.kit.connection import Connection, Received

VECTOR = [0.5, 1.0, -2.0]
LOGPROBS: Json = {"content": [{"token": "sure", "logprob": -0.25, "bytes": None, "top_logprobs": []}]}
SHOWN = ("temperature", "seed", "parallel_tool_calls")


class Mirror:
    def __init__(self) -> None:
        self.limped: set[str] = set()
        self.released = asyncio.Event()

    async def __call__(self, connection: Connection, request: Received) -> None:
        if request.target.endswith("/embeddings"):
            await write_json(connection, 200, vectors(request.json))
            return
        last = request.last_user_text()
        answered = request.messages[-1]["role"] == "tool"
        if last.startswith("limp") and last not in self.limped:
            self.limped.add(last)
            await write_json(connection, 503, error("busy", "busy"))
        elif last == "mixed" and not answered:
            calls = (("add", '{"a": 2, "b": 3}'), ("locate", '{"detail": "low"}'))
            await tools(*calls)(connection, request)
        elif last == "hold":
            self.released = asyncio.Event()
            await halting("Held, ", (self.released, "and let go."))(connection, request)
        else:
            if last == "release":
                self.released.set()
            await said(last, request)(connection, request)


def halting(first: str, *then: tuple[asyncio.Event, str]) -> Reply:
    """Says the one, and each of the others when it is told to."""

    async def reply(connection: Connection, request: Received) -> None:
        await connection.head(200, SSE)
        await connection.chunk(frame(chunk({"role": "assistant", "content": first})))
        for go, words in then:
            await go.wait()
            await connection.chunk(frame(chunk({"content": words})))
        for part in (frame(chunk({}, "stop")), DONE, b""):
            await connection.chunk(part)

    return reply


def said(last: str, request: Received) -> Answer:
    if last == "sure":
        told = chunk({"content": "sure"})
        told["choices"][0]["logprobs"] = LOGPROBS if request.json.get("logprobs") else None
        return Answer([told], {"content": "sure"})
    whole = last == "raw" or last.startswith("[")
    return say([dump(request.json if whole else mirrored(request)).decode()])


def mirrored(request: Received) -> Any:
    calls = [call for message in request.messages for call in message.get("tool_calls") or ()]
    names = {call["id"]: call["function"]["name"] for call in calls}
    messages = [[m["role"], m.get("content"), names.get(m.get("tool_call_id"))] for m in request.messages]
    rest = {k: v for k, v in request.json.items() if k in SHOWN}
    return {"messages": messages, "arguments": [call["function"]["arguments"] for call in calls], **rest}


def vectors(asked: Json) -> Json:
    packed = base64.b64encode(struct.pack("<3f", *VECTOR)).decode()
    vector = packed if asked.get("encoding_format") == "base64" else VECTOR
    texts = asked["input"] if isinstance(asked["input"], list) else [asked["input"]]
    data = [{"object": "embedding", "index": n, "embedding": vector} for n in range(len(texts))]
    usage = {"prompt_tokens": 2, "total_tokens": 2}
    return {"object": "list", "data": data, "model": asked["model"], "usage": usage}
