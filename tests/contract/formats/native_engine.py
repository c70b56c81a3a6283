"""A stand-in of a recent llama-server: it renders a template, answers chats as a test tells it, and keeps requests."""

import json
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from datetime import datetime
from typing import Any

from rightseat.models.llamacpp.model import LlamaCppModel
from rightseat.models.llamacpp.options import make_attached_model
from rightseat.models.llamacpp.sandbox import TemplateSandbox
from rightseat.models.llamacpp.template_probe import build_variables
from rightseat.types.chunks import ModelChunk
from rightseat.types.model import Prompt
from rightseat.types.streams import closing
from tests.contract.formats.cases import FormatCase
from tests.contract.formats.native_templates import XML
from tests.kit.answers import SSE_HEADERS, UpstreamReply, write_json
from tests.kit.connection import Connection, ReceivedRequest
from tests.kit.upstream import FakeUpstream

CAPABLE = {"supports_tools": True, "supports_tool_calls": True}
USAGE = {"prompt_tokens": 9, "completion_tokens": 4, "prompt_tokens_details": {"cached_tokens": 5}}
TIMINGS = {"cache_n": 5, "prompt_n": 4, "predicted_n": 3}
GENERIC_TEXT = '{"thought_about_next_step_only": "", "next_step": {"result": "generic"}}'


class NativeEngine:
    """`events`: the chat's payloads. `error`: the status and the error object of chats instead."""

    def __init__(self, upstream: FakeUpstream, source: str = XML, capabilities: Any = CAPABLE) -> None:
        self.events: list[Any] = []
        self.error: tuple[int, dict[str, Any]] | None = None
        self.endless = False
        self._upstream = upstream
        self._source = source
        self._capabilities = capabilities
        upstream.reply = self.reply

    def list_bodies(self, path: str) -> list[dict[str, Any]]:
        return [request.json for request in self._upstream.requests if request.target == path]

    @property
    def chat(self) -> dict[str, Any]:
        """The last request of the chat route."""
        return self.list_bodies("/v1/chat/completions")[-1]

    async def reply(self, connection: Connection, request: ReceivedRequest) -> None:
        values: dict[str, UpstreamReply] = {
            "/v1/chat/completions": self._reply_chat,
            "/completion": self._reply_completion,
            "/apply-template": self._reply_template,
        }
        if request.target in values:
            await values[request.target](connection, request)
        elif request.target == "/props":
            caps = {} if self._capabilities is None else {"chat_template_caps": self._capabilities}
            await write_json(connection, 200, {"chat_template": self._source, **caps})
        elif request.target == "/tokenize":
            # Control tokens are one token, all others a letter each.
            text = request.json["content"]
            await write_json(connection, 200, {"tokens": [1] if text == "<|im_end|>" else [ord(sign) for sign in text]})
        else:
            await write_json(connection, 200, {"status": "ok"})

    async def _reply_template(self, connection: Connection, request: ReceivedRequest) -> None:
        body = request.json
        sandbox = TemplateSandbox(datetime.now)
        messages = [_with_object_arguments(message) for message in body["messages"]]
        begun = messages.pop()["content"] if body.get("continue_final_message") else ""
        values = build_variables(messages, "", "", datetime.now(), tools=body.get("tools"))
        text = sandbox.render_template(sandbox.compile_template(self._source), values, 1)
        await write_json(connection, 200, {"prompt": text + begun})

    async def _reply_chat(self, connection: Connection, request: ReceivedRequest) -> None:
        if self.error is not None:
            await write_json(connection, self.error[0], {"error": self.error[1]})
            return
        await connection.write_head(200, SSE_HEADERS)
        while True:
            for event in self.events:
                payload = event if isinstance(event, str) else json.dumps(event, ensure_ascii=False)
                await connection.write_chunk(f"data: {payload}\n\n".encode())
            if not self.endless:
                break
        await connection.write_chunk(b"")

    async def _reply_completion(self, connection: Connection, request: ReceivedRequest) -> None:
        await connection.write_head(200, SSE_HEADERS)
        events = ({"content": GENERIC_TEXT}, {"content": "", "stop": True, "stop_type": "eos"})
        for event in events:
            await connection.write_chunk(f"data: {json.dumps(event)}\n\n".encode())
        await connection.write_chunk(b"")


def _with_object_arguments(message: dict[str, Any]) -> dict[str, Any]:
    calls = [
        {**call, "function": {**call["function"], "arguments": json.loads(call["function"]["arguments"])}}
        for call in message.get("tool_calls", ())
    ]
    return {**message, "tool_calls": calls}


def make_delta(delta: dict[str, Any], finish: str | None = None, **more: Any) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": delta, "finish_reason": finish, **more}], "timings": TIMINGS}


def make_events(case: FormatCase, finish: str | None = None, size: int = 3) -> list[Any]:
    """The events by which an engine says a case, some letters in each."""
    events: list[Any] = [make_delta({"role": "assistant", "content": None}) | {"prompt_progress": {"total": 9}}]
    events += [make_delta({"reasoning_content": part}) for part in cut(case.reasoning, size)]
    events += [make_delta({"content": part}) for part in cut(case.text, size)]
    for index, (name, arguments) in enumerate(case.calls):
        first = {"index": index, "id": f"x{index}", "type": "function", "function": {"name": name, "arguments": ""}}
        events.append(make_delta({"tool_calls": [first]}))
        events += [
            make_delta({"tool_calls": [{"index": index, "function": {"arguments": part}}]})
            for part in cut(arguments, size)
        ]
    reason = finish or ("tool_calls" if case.calls else "stop")
    return [*events, make_delta({}, reason), {"choices": [], "usage": USAGE}, "[DONE]"]


def cut(text: str, size: int) -> Iterable[str]:
    return (text[start : start + size] for start in range(0, len(text), size))


@asynccontextmanager
async def open_native_model(
    source: str = XML, capabilities: Any = CAPABLE, **options: Any
) -> AsyncIterator[tuple[LlamaCppModel, NativeEngine, FakeUpstream]]:
    async with FakeUpstream() as upstream:
        engine = NativeEngine(upstream, source, capabilities)
        model = make_attached_model(upstream.origin, options)
        try:
            yield model, engine, upstream
        finally:
            await model.close()


async def collect_chunks(model: LlamaCppModel, **prompt: Any) -> list[ModelChunk]:
    async with closing(model.stream(Prompt(**prompt))) as chunks:
        return [chunk async for chunk in chunks]
