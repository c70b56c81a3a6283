"""A conversation that is longer than the model's context window, the same through every door."""

import itertools
import json
import re
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any

import pytest

from rightseat import Runtime
from rightseat.engine.loop import Assistant
from rightseat.errors import ContextTooLong
from rightseat.types.chunks import ModelChunk
from rightseat.types.messages import Message
from rightseat.types.model import Capabilities, Prompt
from tests.contract.doors.members import MEMBERS, DoorClient, GraphQLClient, OpenAIClient, OpenBBClient
from tests.kit.app_server import FakeModel, reply_text, serve_runtime
from tests.kit.client import RawHttpClient
from tests.unit.doors.copilotkit.client import make_text_message

pytestmark = [pytest.mark.io, pytest.mark.parametrize("member", MEMBERS)]
TURNS = 60
SYSTEM = "Be brief and kind."
ONLY_TEXT = ("openbb-2024",)
"""Wires that have only text and calls: the log alone tells of the cut."""


class SmallModel(FakeModel):
    """A model whose tokens are words. It refuses prompts that do not fit its window."""

    capabilities = Capabilities(context=512)

    def __init__(self, context: int = 512) -> None:
        super().__init__()
        self.capabilities = Capabilities(context=context)
        self.counted: list[str] = []

    async def stream(self, prompt: Prompt, /) -> AsyncIterator[ModelChunk]:
        if await self.count_prompt_tokens(prompt) >= (self.capabilities.context or 0):
            raise ContextTooLong("too long")
        self.prompts.append(prompt)
        for chunk in reply_text("ok"):
            yield chunk

    async def find_context(self) -> int | None:
        return self.capabilities.context

    async def count_prompt_tokens(self, prompt: Prompt, /) -> int:
        return sum(map(count_words, prompt.messages)) + sum(len(str(tool).split()) for tool in prompt.tools)

    async def count_message_tokens(self, messages: Sequence[Message], /) -> list[int]:
        self.counted += [message.text for message in messages]
        return list(map(count_words, messages))


def count_words(message: Message) -> int:
    return 3 + len(message.text.split()) + sum(2 + len(call.arguments.split()) for call in message.calls)


def make_runtime(model: SmallModel, **fields: Any) -> Runtime:
    return Runtime(assistants=[Assistant("default", model, system=SYSTEM, **fields)])


def make_history(client: DoorClient, turns: int) -> list[dict[str, Any]]:
    """Earlier turns as this door's client keeps them; some have a call and its result."""
    texts = [(f"question {n} about it", f"answer {n} says that it rains a lot today " * 3) for n in range(turns)]
    numbered = list(enumerate(texts))
    if isinstance(client, OpenBBClient):
        pairs = [({"role": "human", "content": q}, {"role": "ai", "content": a}) for q, a in texts]
        return list(itertools.chain.from_iterable(pairs))
    if isinstance(client, GraphQLClient):
        messages = [
            (make_text_message(q, "user", f"u{n}"), make_text_message(a, "assistant", f"a{n}"))
            for n, (q, a) in numbered
        ]
        return list(itertools.chain.from_iterable(messages))
    history: list[dict[str, Any]] = []
    for n, (question, answer) in numbered:
        history.append({"role": "user", "content": question, "id": f"u{n}"})
        history += make_call(n, camel_case=not isinstance(client, OpenAIClient)) if n % 5 == 0 else []
        history.append({"role": "assistant", "content": answer, "id": f"a{n}"})
    return history


def make_call(n: int, *, camel_case: bool) -> list[dict[str, Any]]:
    function = {"name": "show", "arguments": json.dumps({"title": f"t{n}"})}
    call = {"id": f"call{n}", "type": "function", "function": function}
    calls, call_id = ("toolCalls", "toolCallId") if camel_case else ("tool_calls", "tool_call_id")
    return [
        {"role": "assistant", "content": "", calls: [call], "id": f"c{n}"},
        {"role": "tool", "content": f"result{n}", call_id: f"call{n}", "id": f"r{n}"},
    ]


async def send_raw(url: str, client: DoorClient) -> tuple[dict[str, str], str]:
    """Send the history as it is; return headers and body of the answer."""
    target, body = client.build_request()
    async with RawHttpClient(url) as http:
        await http.post_json(target, body, {"Accept": "multipart/mixed, text/event-stream, application/json"})
        head = await http.read_head()
        return head.headers, (await http.read_body()).decode()


def list_texts(prompt: Prompt) -> list[str]:
    return [message.text for message in prompt.messages]


@pytest.mark.demand("engine.history_context_limit_cut", "window.same_policy_at_every_door")
async def test_a_long_conversation_is_answered(member: str) -> None:
    model = SmallModel()
    async with serve_runtime(make_runtime(model)) as server:
        client = MEMBERS[member](server.url)
        client.history.extend(make_history(client, TURNS))
        result = await client.send_message("And tomorrow?")
    assert (result.error, result.text) == (None, "ok")
    [prompt] = model.prompts
    texts = list_texts(prompt)
    assert texts[0].startswith(SYSTEM)
    assert texts[-1] == "And tomorrow?"
    assert f"question {TURNS - 1} about it" in texts
    assert "question 0 about it" not in texts
    assert await model.count_prompt_tokens(prompt) <= 512 * 3 // 4
    called = [call.id for message in prompt.messages for call in message.calls]
    assert called == [message.call_id for message in prompt.messages if message.role == "tool"]
    assert called or isinstance(client, OpenBBClient | GraphQLClient)


@pytest.mark.demand("window.told_once")
async def test_the_cut_is_told_once_and_not_in_the_text(member: str, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO", logger="rightseat.engine.loop")
    async with serve_runtime(make_runtime(SmallModel())) as server:
        client = MEMBERS[member](server.url)
        client.history.extend(make_history(client, TURNS))
        assert (await client.send_message("And tomorrow?")).text == "ok"
        caplog.clear()
        headers, body = await send_raw(server.url, client)
    told = body.count("history_cut") + body.count("Older messages were left out")
    assert told == (0 if member in ONLY_TEXT else 1)
    assert len([record for record in caplog.records if "oldest messages" in record.message]) == 1
    if member.startswith("openai"):
        assert int(headers["x-history-cut"]) > 50


@pytest.mark.demand("window.prefix_stays")
async def test_the_prompt_keeps_its_beginning_over_several_requests(member: str) -> None:
    model = SmallModel(1024)
    async with serve_runtime(make_runtime(model)) as server:
        client = MEMBERS[member](server.url)
        client.history.extend(make_history(client, TURNS))
        for number in range(8):
            await client.send_message(f"And what is it like on day {number} of this long week?")
    assert len(model.prompts) == 8
    firsts = [next(text for text in list_texts(prompt) if text.startswith("question")) for prompt in model.prompts]
    assert len(set(firsts)) <= 2, "the cut moved more than once"
    # Turns that are not near the window are never counted.
    assert not any(text.startswith("answer 0 ") for text in model.counted)


@pytest.mark.demand("window.refuses_what_cannot_fit")
async def test_a_message_that_alone_does_not_fit_is_refused(member: str) -> None:
    model = SmallModel()
    async with serve_runtime(make_runtime(model)) as server:
        client = MEMBERS[member](server.url)
        client.history.extend(make_history(client, 3))
        client.history.append(make_user_message(client, "word " * 600))
        result = await client.send_history()
        _, body = await send_raw(server.url, client)
    assert result.error is not None
    assert model.prompts == []
    assert re.search(r"The largest part is message [23] \(user\), about 603 tokens", body)


@pytest.mark.demand("window.refuses_where_asked")
async def test_an_assistant_may_refuse_instead(member: str) -> None:
    model = SmallModel()
    async with serve_runtime(make_runtime(model, truncation="disabled")) as server:
        client = MEMBERS[member](server.url)
        client.history.extend(make_history(client, TURNS))
        result = await client.send_message("And tomorrow?")
    assert result.error is not None
    assert model.prompts == []


def make_user_message(client: DoorClient, text: str) -> dict[str, Any]:
    make: dict[type, Callable[[], dict[str, Any]]] = {
        OpenBBClient: lambda: {"role": "human", "content": text},
        GraphQLClient: lambda: make_text_message(text, id="last"),
    }
    return make.get(type(client), lambda: {"role": "user", "content": text, "id": "last"})()
