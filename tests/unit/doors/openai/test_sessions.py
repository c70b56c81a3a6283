"""Whose conversation it is, from the request to the model: for caches, and for nothing else."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from rightseat import Prompt, Runtime
from rightseat.models.llamacpp.slot_scheduler import ConversationRef, get_conversation
from rightseat.models.openai import OpenAIModel
from rightseat.types.chunks import FinishChunk, ModelChunk, TextChunk, UsageChunk
from rightseat.types.events import Usage
from tests.kit.app_server import serve_runtime
from tests.kit.client import RawHttpClient
from tests.kit.upstream import FakeUpstream

pytestmark = pytest.mark.io

HI = [{"role": "user", "content": "hi"}]


class PromptRecordingModel:
    """A model that keeps what it was asked, and knew some of it."""

    def __init__(self, cached: int = 0) -> None:
        self.prompts: list[Prompt] = []
        self._cached = cached

    async def stream(self, prompt: Prompt, /) -> AsyncIterator[ModelChunk]:
        self.prompts.append(prompt)
        yield TextChunk("hello")
        yield UsageChunk(Usage(9, 1, self._cached))
        yield FinishChunk("stop")


async def post_chat(runtime: Runtime, headers: dict[str, str] | None = None, **more: Any) -> tuple[int, Any]:
    async with serve_runtime(runtime) as server, RawHttpClient(server.url) as client:
        await client.post_json("/v1/chat/completions", {"messages": HI, **more}, headers or {})
        head = await client.read_head()
        if "event-stream" in head.headers["content-type"]:
            return head.status, [frame.data async for frame in client.iterate_frames()]
        return head.status, await client.read_json()


@pytest.mark.demand("llamacpp.slot_affinity_conversation_prompt")
@pytest.mark.parametrize(
    ("body", "headers", "expected"),
    [
        ({"prompt_cache_key": "key"}, {}, ConversationRef("key")),
        ({"session_id": "s"}, {}, ConversationRef("s")),
        ({"session_id": "s", "prompt_cache_key": "key"}, {}, ConversationRef("s")),
        ({"session_id": "s"}, {"X-Thread-Id": "thread"}, ConversationRef("thread")),
        ({"session_id": "fork", "parent_session_id": "s"}, {}, ConversationRef("fork", "s")),
    ],
)
async def test_who_speaks(body: dict[str, Any], headers: dict[str, str], expected: ConversationRef) -> None:
    model = PromptRecordingModel()
    status, _ = await post_chat(Runtime(model=model), headers, **body)
    assert status == 200
    assert [get_conversation(prompt) for prompt in model.prompts] == [expected]


async def test_nobody_in_particular() -> None:
    model = PromptRecordingModel()
    runtime = Runtime(model=model)
    nothing = {"session_id": None, "parent_session_id": None, "prompt_cache_key": None}
    bodies: list[dict[str, Any]] = [{}, nothing]
    for body in bodies:
        assert (await post_chat(runtime, None, **body))[0] == 200
    one, other = map(get_conversation, model.prompts)
    assert one.parent is other.parent is None
    assert one.conversation != other.conversation


@pytest.mark.parametrize("field", ["session_id", "parent_session_id", "prompt_cache_key"])
@pytest.mark.parametrize("value", [7, "x" * 257])
async def test_a_name_is_a_short_text(field: str, value: Any) -> None:
    status, body = await post_chat(Runtime(model=PromptRecordingModel()), **{field: value})
    assert status == 400
    assert field in body["error"]["message"]


@pytest.mark.demand("llamacpp.cancel_disconnect_parallel_slots")
async def test_what_was_known_is_told() -> None:
    _, body = await post_chat(Runtime(model=PromptRecordingModel(7)))
    assert body["usage"]["prompt_tokens_details"] == {"cached_tokens": 7}
    _, frames = await post_chat(
        Runtime(model=PromptRecordingModel(7)), stream=True, stream_options={"include_usage": True}
    )
    assert '"prompt_tokens_details":{"cached_tokens":7}' in frames[-2]
    _, body = await post_chat(Runtime(model=PromptRecordingModel()))
    assert "prompt_tokens_details" not in body["usage"]


async def test_a_vendor_is_told_its_own_field_only() -> None:
    async with FakeUpstream() as upstream:
        model = OpenAIModel("m", base_url=upstream.base_url)
        status, _ = await post_chat(Runtime(model=model), session_id="s", prompt_cache_key="key")
        assert status == 200
        (request,) = upstream.requests
    assert request.json["prompt_cache_key"] == "key"
    assert "session_id" not in request.json
