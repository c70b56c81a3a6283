"""Requests of well-known front ends, as `recipes/*.json` has them: each is answered, streamed and whole.

Each file says which program and version sends its requests and where they were recorded or read. Its `server` is the
part of [server] that the program's page in docs/recipes tells people to write.
"""

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from rightseat import Runtime, tool
from rightseat.config.settings import ServerSettings
from rightseat.models.openai import OpenAIModel
from rightseat.types.chunks import FinishChunk, ModelChunk, TextChunk, UsageChunk
from rightseat.types.events import Usage
from tests.kit import faults
from tests.kit.app_server import FakeModel, reply_calls, reply_text, serve_runtime
from tests.kit.client import RawHttpClient, build_raw_request
from tests.kit.upstream import FakeUpstream

pytestmark = [pytest.mark.io, pytest.mark.demand("openai.recipes")]

RECIPES = {
    path.stem: json.loads(path.read_text("utf-8")) for path in (Path(__file__).parent / "recipes").glob("*.json")
}
VECTOR = {"object": "embedding", "index": 0, "embedding": "AAAAPwAAgD8="}
ANSWER = "Hello from rightseat."
USAGE = UsageChunk(Usage(3, 2))
ARGUMENTS = {
    "command": "ls",
    "description": "List files",
    "endLine": 2,
    "filePath": "a.py",
    "filepath": "a.py",
    "path": "a.py",
    "query": "news",
    "startLine": 1,
}


def read_settings(name: str) -> ServerSettings:
    return msgspec.convert({"port": 0, **RECIPES[name]["server"]}, ServerSettings)


def list_chats() -> list[Any]:
    chats = [
        (name, request)
        for name, recipe in sorted(RECIPES.items())
        for request in recipe["requests"]
        if request["path"].endswith("/chat/completions")
    ]
    return [
        pytest.param(name, request, stream, id=f"{name}-{request['name']}-{'stream' if stream else 'whole'}")
        for name, request in chats
        for stream in (True, False)
    ]


def with_stream(body: dict[str, Any], stream: bool) -> dict[str, Any]:
    """Return the program's own body, or the same in the other form of answer."""
    body = {**body, "stream": stream}
    if not stream:
        body.pop("stream_options", None)
    return body


async def send(url: str, request: dict[str, Any], body: dict[str, Any] | None = None) -> tuple[int, Any]:
    """Send the request with the headers of its program; return the status and the JSON, or all frames of a stream."""
    headers = dict(request["headers"])
    host = headers.pop("Host", "127.0.0.1")
    data = b"" if "body" not in request else json.dumps(request["body"] if body is None else body).encode()
    async with RawHttpClient(url) as client:
        await client.send(build_raw_request(request["method"], request["path"], data, headers, host))
        head = await client.read_head()
        if "event-stream" not in head.headers["content-type"]:
            return head.status, await client.read_json()
        return head.status, [frame.data async for frame in client.iterate_frames()]


def script_answer(body: dict[str, Any]) -> list[ModelChunk]:
    """Return a call of the program's first tool where it has just asked with tools, else a text."""
    if body.get("tools") and body["messages"][-1]["role"] == "user":
        function = body["tools"][0]["function"]
        arguments = {key: ARGUMENTS[key] for key in function["parameters"]["properties"] if key in ARGUMENTS}
        return [USAGE, *reply_calls((function["name"], json.dumps(arguments)))]
    return [TextChunk("Hello "), TextChunk("from rightseat."), USAGE, FinishChunk("stop")]


def join_stream(frames: list[str], *, wants_usage: bool) -> dict[str, Any]:
    """Put a stream together as strict clients do; return its text, calls and reason."""
    assert frames[-1] == "[DONE]"
    chunks = [json.loads(frame) for frame in frames[:-1]]
    assert {chunk["object"] for chunk in chunks} == {"chat.completion.chunk"}
    assert len({(chunk["id"], chunk["created"], chunk["model"]) for chunk in chunks}) == 1
    if wants_usage:
        last = chunks.pop()
        assert last["choices"] == []
        assert last["usage"].keys() >= {"prompt_tokens", "completion_tokens", "total_tokens"}
    assert all(len(chunk["choices"]) == 1 for chunk in chunks)
    choices = [chunk["choices"][0] for chunk in chunks]
    assert choices[0]["delta"]["role"] == "assistant"
    calls: dict[int, dict[str, str]] = {}
    for part in [part for choice in choices for part in choice["delta"].get("tool_calls", ())]:
        function = part["function"]
        call = calls.setdefault(part["index"], {"arguments": "", "id": part.get("id"), "name": function.get("name")})
        call["arguments"] += function.get("arguments") or ""
    reasons = [choice["finish_reason"] for choice in choices]
    assert reasons[:-1] == [None] * (len(reasons) - 1)
    text = "".join(choice["delta"].get("content") or "" for choice in choices)
    return {"text": text, "calls": list(calls.values()), "reason": reasons[-1]}


def read_whole(body: dict[str, Any]) -> dict[str, Any]:
    [choice] = body["choices"]
    calls = [{"id": call["id"], **call["function"]} for call in choice["message"].get("tool_calls") or ()]
    return {"text": choice["message"]["content"] or "", "calls": calls, "reason": choice["finish_reason"]}


@pytest.mark.parametrize(("name", "request_", "stream"), list_chats())
async def test_a_chat_is_answered(name: str, request_: dict[str, Any], stream: bool) -> None:
    body = with_stream(request_["body"], stream)
    reply = script_answer(body)
    model = FakeModel(reply)
    async with serve_runtime(Runtime(model=model), read_settings(name)) as server:
        status, answer = await send(server.url, request_, body)
    assert status == 200, answer
    read = join_stream(answer, wants_usage="stream_options" in body) if stream else read_whole(answer)
    if isinstance(reply[0], TextChunk):
        assert read == {"text": ANSWER, "calls": [], "reason": "stop"}
    else:
        [call] = read["calls"]
        assert (call["name"], read["reason"]) == (body["tools"][0]["function"]["name"], "tool_calls")
        assert isinstance(json.loads(call["arguments"]), dict)
        assert call["id"]
    [prompt] = model.prompts
    assert [tool.name for tool in prompt.tools] == [entry["function"]["name"] for entry in body.get("tools", ())]
    assert len(prompt.messages) >= sum(message["role"] not in {"system", "developer"} for message in body["messages"])


def list_listers() -> list[str]:
    return sorted(name for name in RECIPES if any(r["method"] == "GET" for r in RECIPES[name]["requests"]))


@pytest.mark.parametrize("name", list_listers())
async def test_models_are_listed(name: str) -> None:
    async with serve_runtime(Runtime(model=FakeModel()), read_settings(name)) as server:
        for request in [request for request in RECIPES[name]["requests"] if request["method"] == "GET"]:
            status, body = await send(server.url, request)
            assert (status, body["object"]) == (200, "list")
            assert "default" in [entry["id"] for entry in body["data"]]


@pytest.mark.parametrize("name", ["anythingllm", "continue"])
async def test_embeddings_are_those_of_the_model(name: str) -> None:
    [request] = [request for request in RECIPES[name]["requests"] if request["path"].endswith("/embeddings")]
    vectors = {"object": "list", "data": [VECTOR, {**VECTOR, "index": 1}], "model": "m"}
    async with FakeUpstream() as upstream:
        upstream.reply = faults.answer_body(json.dumps(vectors).encode())
        runtime = Runtime(model=OpenAIModel("m", base_url=upstream.base_url))
        async with serve_runtime(runtime, read_settings(name)) as server:
            status, body = await send(server.url, request)
    assert (status, len(body["data"])) == (200, 2)
    assert upstream.requests[0].json["encoding_format"] == "base64"


async def test_every_tool_round_ends_with_the_programs_result() -> None:
    """The result that a program posts is what the model reads, under the id of its call."""
    for name, recipe in sorted(RECIPES.items()):
        for request in recipe["requests"]:
            if request["name"] != "tool result":
                continue
            model = FakeModel(reply_text("Done."))
            async with serve_runtime(Runtime(model=model), read_settings(name)) as server:
                status, body = await send(server.url, request, with_stream(request["body"], False))
            assert status == 200, body
            called, result = model.prompts[0].messages[-2:]
            assert [call.id for call in called.calls] == ["call_1"]
            assert result.call_id == "call_1"
            posted = request["body"]["messages"][-1]["content"]
            assert result.text == (posted if isinstance(posted, str) else posted[0]["text"])


# ---- the settings that pages name


async def test_a_foreign_host_is_told_the_setting() -> None:
    request = RECIPES["open-webui"]["requests"][1]
    async with serve_runtime(Runtime(model=FakeModel()), ServerSettings(port=0)) as server:
        status, body = await send(server.url, request)
    assert (status, body["error"]["code"]) == (403, "forbidden")
    assert body["error"]["message"].endswith('[server] hosts = ["host.docker.internal"]')


async def test_a_foreign_origin_is_told_the_setting() -> None:
    request = RECIPES["jan"]["requests"][0]
    async with serve_runtime(Runtime(model=FakeModel()), ServerSettings(port=0)) as server:
        status, body = await send(server.url, request)
    assert (status, body["error"]["code"]) == (403, "forbidden")
    assert "[server] cors = [" in body["error"]["message"]


# ---- conversations


async def test_an_approval_is_answered_in_the_conversation_of_the_header() -> None:
    @tool(confirm=True)
    def book(day: str) -> str:
        """Book a table."""
        return f"Booked for {day}."

    model = FakeModel([USAGE, *reply_calls(("book", '{"day": "Monday"}'))], [USAGE, *reply_text("It is booked.")])
    runtime = Runtime(model=model, tools=[book])
    asked = RECIPES["open-webui"]["requests"][1]
    title = next(request for request in RECIPES["open-webui"]["requests"] if request["name"] == "title")
    async with serve_runtime(runtime, read_settings("open-webui")) as server:
        status, frames = await send(server.url, asked)
        question = join_stream(frames, wants_usage=True)["text"]
        assert "book" in question
        # The program writes the title before the person answers.
        model.replies.insert(0, reply_text('{"title": "A table"}'))
        assert (await send(server.url, title))[0] == 200
        said = [{"role": "assistant", "content": question}, {"role": "user", "content": "yes"}]
        history = [*asked["body"]["messages"], *said]
        status, frames = await send(server.url, asked, {**asked["body"], "messages": history})
    assert (status, join_stream(frames, wants_usage=True)["text"]) == (200, "It is booked.")
