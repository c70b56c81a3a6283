"""An answer that was made anew, a question that was edited: after a reload what stood there before it."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from rightseat import Runtime, ToolContext, tool
from rightseat.stores.memory import MemoryStore
from rightseat.stores.sqlite import SQLiteStore
from rightseat.types.chunks import ModelChunk, ReasoningChunk, TextChunk
from rightseat.types.model import Prompt
from tests.contract.stores.members import FullStore
from tests.kit.app_server import AppServer, FakeModel, reply_calls, reply_text, serve_runtime
from tests.kit.client import RawHttpClient, SseFrame
from tests.unit.doors.copilotkit.agui import (
    THREADS_PATH,
    GatedModel,
    collect_frames,
    join_text,
    list_event_types,
    make_run_input,
    request_json,
)

pytestmark = pytest.mark.io

MessageJson = dict[str, Any]


@pytest.fixture(params=["memory", "sqlite"])
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[FullStore]:
    keeper: FullStore = MemoryStore() if request.param == "memory" else SQLiteStore(tmp_path)
    yield keeper
    await keeper.close()


def make_user_message(text: str, id: str = "") -> MessageJson:
    return {"id": id or f"u-{text}", "role": "user", "content": text}


class ThreadPage:
    """A client's messages, made from frames as the real one does, and posted whole with every run."""

    def __init__(self, server: AppServer) -> None:
        self.server = server
        self.messages: list[MessageJson] = []
        self.state: Any = {}
        self.runs = 0

    async def run(self, *messages: MessageJson, **more: Any) -> list[SseFrame]:
        """Post these; then the page has them and the answer."""
        self.runs += 1
        self.messages = list(messages)
        body = make_run_input(run=f"r{self.runs}", messages=self.messages, **{"state": self.state, **more})
        frames = await collect_frames(self.server, "run", body)
        self.apply_frames(frames)
        return frames

    async def say(self, text: str, **more: Any) -> list[SseFrame]:
        return await self.run(*self.messages, make_user_message(text), **more)

    def apply_frames(self, frames: list[SseFrame]) -> None:
        for event in (frame.json for frame in frames):
            match event:
                case {"type": "RUN_STARTED", "input": {"messages": list(posted)}}:
                    known = {message["id"] for message in self.messages}
                    self.messages += [message for message in posted if message["id"] not in known]
                case {"type": "TEXT_MESSAGE_START" | "TOOL_CALL_START"}:
                    self.add_assistant_message(event)
                case {"type": "TEXT_MESSAGE_CONTENT", "messageId": id, "delta": delta}:
                    self.find(id)["content"] += delta
                case {"type": "TOOL_CALL_RESULT", "messageId": id, "content": content, "toolCallId": call}:
                    self.messages.append({"id": id, "role": "tool", "content": content, "toolCallId": call})
                case {"type": "STATE_SNAPSHOT", "snapshot": state}:
                    self.state = state

    def add_assistant_message(self, event: MessageJson) -> None:
        id = event.get("messageId") or event["parentMessageId"]
        if not any(message["id"] == id for message in self.messages):
            self.messages.append({"id": id, "role": "assistant", "content": ""})
        if "toolCallId" in event:
            function = {"name": event["toolCallName"], "arguments": "{}"}
            call = {"id": event["toolCallId"], "type": "function", "function": function}
            self.find(id).setdefault("toolCalls", []).append(call)

    def find(self, id: str) -> MessageJson:
        return next(message for message in self.messages if message["id"] == id)

    @property
    def texts(self) -> list[str]:
        return [message["content"] for message in self.messages]

    async def reload(self) -> "ThreadPage":
        page = ThreadPage(self.server)
        frames = await collect_frames(self.server, "connect", make_run_input())
        # No run begins in another, and each ends once.
        turns = [kind for kind in list_event_types(frames) if kind in ("RUN_STARTED", "RUN_FINISHED")]
        assert turns == ["RUN_STARTED", "RUN_FINISHED"] * (len(turns) // 2)
        page.apply_frames(frames)
        return page


async def check_replays(page: ThreadPage) -> None:
    """By every way that shows the thread."""
    assert (await page.reload()).messages == page.messages
    _, told = await request_json(page.server, f"{THREADS_PATH}/t/messages", method="GET")
    assert [(one["id"], one.get("content", "")) for one in told["messages"]] == [
        (one["id"], one["content"]) for one in page.messages
    ]


@pytest.mark.demand("copilotkit.after_reload_user_sees", "copilotkit.peer_bugs_listed_notes")
async def test_the_last_answer(store: FullStore) -> None:
    lines = FakeModel(reply_text("One."), reply_text("Two."), reply_text("Another two."), reply_text("Three."))
    async with serve_runtime(Runtime(model=lines, store=store)) as server:
        page = ThreadPage(server)
        await page.say("first")
        await page.say("second")
        await page.run(*page.messages[:-1])
        assert page.texts == ["first", "One.", "second", "Another two."]
        await check_replays(page)
        # It goes on from there, after a reload too.
        page.messages = (await page.reload()).messages
        await page.say("third")
        assert page.texts[-2:] == ["third", "Three."]
        await check_replays(page)
        _, whole = await request_json(server, f"{THREADS_PATH}/t/events", method="GET")
    texts = [event["delta"] for event in whole["events"] if event["type"] == "TEXT_MESSAGE_CONTENT"]
    assert texts == ["One.", "Two.", "Another two.", "Three."]


@pytest.mark.demand("copilotkit.after_reload_user_sees")
async def test_the_first_answer_again_and_again(store: FullStore) -> None:
    lines = FakeModel(*(reply_text(f"{n}.") for n in range(6)))
    async with serve_runtime(Runtime(model=lines, store=store)) as server:
        page = ThreadPage(server)
        await page.say("first")
        await page.say("second")
        for number in range(2, 5):
            await page.run(page.messages[0])
            assert page.texts == ["first", f"{number}."]
            await check_replays(page)
        await page.say("third")
        assert page.texts == ["first", "4.", "third", "5."]
        await check_replays(page)


@pytest.mark.demand("copilotkit.after_reload_user_sees")
@pytest.mark.parametrize("id", ["u-first", "another"])
async def test_an_edited_question(store: FullStore, id: str) -> None:
    """Under its own id or a new one; before it something stays."""
    lines = FakeModel(reply_text("Zero."), reply_text("One."), reply_text("Two."), reply_text("Edited."))
    async with serve_runtime(Runtime(model=lines, store=store)) as server:
        page = ThreadPage(server)
        await page.say("before")
        await page.say("first")
        await page.say("second")
        await page.run(*page.messages[:2], make_user_message("first, but other", id))
        assert page.texts == ["before", "Zero.", "first, but other", "Edited."]
        await check_replays(page)


async def test_the_very_first_question_edited_under_its_own_id(store: FullStore) -> None:
    async with serve_runtime(
        Runtime(model=FakeModel(reply_text("One."), reply_text("Edited.")), store=store)
    ) as server:
        page = ThreadPage(server)
        await page.say("first")
        await page.run(make_user_message("other", "u-first"))
        assert page.texts == ["other", "Edited."]
        await check_replays(page)


async def test_an_answer_with_tools_and_thoughts(store: FullStore) -> None:
    @tool
    def add() -> int:
        return 5

    first = [ReasoningChunk("hm"), *reply_calls(("add", "{}"), text="Let me see.")]
    again = [ReasoningChunk("well"), *reply_calls(("add", "{}"), text="Once more.")]
    lines = FakeModel(first, reply_text("Five."), again, reply_text("5."), reply_text("So."))
    async with serve_runtime(Runtime(model=lines, tools=[add], store=store)) as server:
        page = ThreadPage(server)
        await page.say("sum")
        await page.run(page.messages[0])
        assert page.texts == ["sum", "Once more.", "5", "5."]
        await check_replays(page)
        # Behind a call's result, in the middle of what was one run.
        await page.run(*page.messages[:3], make_user_message("and"))
        assert page.texts == ["sum", "Once more.", "5", "and", "So."]
        await check_replays(page)
        frames = await collect_frames(server, "connect", make_run_input())
    thoughts = [f.json["delta"] for f in frames if f.json["type"] == "REASONING_MESSAGE_CONTENT"]
    assert thoughts == ["well"]


async def test_a_call_of_the_page_is_no_cut(store: FullStore) -> None:
    tools = [{"name": "locate", "description": "", "parameters": {"type": "object"}}]
    lines = FakeModel(reply_calls(("locate", "{}"), text="Wait."), reply_text("Oslo."), reply_text("Rome."))
    async with serve_runtime(Runtime(model=lines, store=store)) as server:
        page = ThreadPage(server)
        await page.say("where", tools=tools)
        call = page.messages[-1]["toolCalls"][0]["id"]
        result = {"id": "own", "role": "tool", "content": "Oslo", "toolCallId": call}
        await page.run(*page.messages, result, tools=tools)
        assert page.texts == ["where", "Wait.", "Oslo", "Oslo."]
        await check_replays(page)
        await page.run(*page.messages[:3], tools=tools)
        assert page.texts == ["where", "Wait.", "Oslo", "Rome."]
        await check_replays(page)


@pytest.mark.demand("copilotkit.after_reload_user_sees")
async def test_an_answer_or_a_result_goes_on_although_the_talk_is_not_posted(store: FullStore) -> None:
    """Some post only what a person said, with an answer or a result: what that is for stands."""

    @tool
    def greet(ctx: ToolContext) -> str:
        return f"Hello {ctx.ask('Who?')}"

    tools = [{"name": "locate", "description": "", "parameters": {"type": "object"}}]
    lines = FakeModel(
        reply_calls(("greet", "{}"), text="Ask."),
        reply_text("Bye."),
        reply_calls(("locate", "{}"), text="Wait."),
        reply_text("So."),
    )
    async with serve_runtime(Runtime(model=lines, tools=[greet], store=store)) as server:
        page = ThreadPage(server)
        asked = await page.say("hi", protocolVersion="1.0")
        id = asked[-1].json["outcome"]["interrupts"][0]["id"]
        resume = [{"interruptId": id, "status": "resolved", "payload": "Ada"}]
        await collect_frames(server, "run", make_run_input("hi", run="r2", resume=resume))
        assert (await page.reload()).texts == ["hi", "Ask.", "Hello Ada", "Bye."]
        frames = await collect_frames(server, "run", make_run_input("where", run="r3", tools=tools))
        (call,) = [frame.json["toolCallId"] for frame in frames if frame.json["type"] == "TOOL_CALL_START"]
        result = {"id": "own", "role": "tool", "content": "Oslo", "toolCallId": call}
        await collect_frames(
            server, "run", make_run_input(run="r4", messages=[make_user_message("where"), result], tools=tools)
        )
        assert (await page.reload()).texts[4:] == ["where", "Wait.", "Oslo", "So."]


async def test_a_failed_answer_made_anew(store: FullStore) -> None:
    async def fails(prompt: Prompt) -> AsyncIterator[ModelChunk]:
        yield TextChunk("Half")
        raise RuntimeError

    async with serve_runtime(Runtime(model=FakeModel(fails, reply_text("Whole.")), store=store)) as server:
        page = ThreadPage(server)
        await page.say("first")
        await page.run(page.messages[0])
        assert page.texts == ["first", "Whole."]
        await check_replays(page)


@pytest.mark.demand("copilotkit.after_reload_user_sees")
async def test_a_client_that_sends_only_what_is_new_loses_nothing(store: FullStore) -> None:
    async with serve_runtime(Runtime(model=FakeModel(reply_text("One."), reply_text("Two.")), store=store)) as server:
        page = ThreadPage(server)
        always = {"id": "always", "role": "system", "content": "Be brief."}
        await page.run(always, make_user_message("first"))
        await page.run(always, make_user_message("second"))
        shown = await page.reload()
    assert [said for said in shown.texts if said != "Be brief."] == ["first", "One.", "second", "Two."]


async def test_the_state_is_the_pages_although_what_made_it_is_gone(store: FullStore) -> None:
    async with serve_runtime(Runtime(model=FakeModel(reply_text("One."), reply_text("Two.")), store=store)) as server:
        page = ThreadPage(server)
        await page.say("first")
        page.state = {"n": 1}
        await page.run(page.messages[0])
        assert (await page.reload()).state == {"n": 1}
        _, told = await request_json(server, f"{THREADS_PATH}/t/state", method="GET")
    assert told["state"] == {"n": 1}


async def test_who_comes_while_the_new_answer_is_made(store: FullStore) -> None:
    gate = GatedModel()
    async with serve_runtime(Runtime(model=gate, store=store)) as server:
        page = ThreadPage(server)
        for word in ("Old.", None):
            gate.words.put_nowait(word)
        await page.say("first")
        async with RawHttpClient(server.url) as client:
            await client.post_json(
                "/copilotkit/agent/default/run", make_run_input(run="again", messages=[make_user_message("first")])
            )
            await client.read_head()
            gate.words.put_nowait("New")
            while "CONTENT" not in (await client.read_frame() or SseFrame(None)).json["type"]:
                pass
            async with RawHttpClient(server.url) as other:
                await other.post_json("/copilotkit/agent/default/connect", make_run_input())
                await other.read_head()
                for word in (" words.", None):
                    gate.words.put_nowait(word)
                frames = [frame async for frame in other.iterate_frames() if frame.data]
    assert join_text(frames) == "New words."
    assert list_event_types(frames).count("RUN_STARTED") == 1


async def test_another_who_was_cut_off_in_the_middle_is_not_confused(store: FullStore) -> None:
    """Who comes back behind a frame has what came before it, and gets the rest as it was said."""
    async with serve_runtime(Runtime(model=FakeModel(reply_text("One."), reply_text("Two.")), store=store)) as server:
        page = ThreadPage(server)
        frames = await page.say("first")
        await page.run(page.messages[0])
        rest = await collect_frames(server, "connect", make_run_input(), last_event_id=frames[1].id)
    assert join_text(rest) == "One.Two."


async def test_who_was_cut_off_while_it_was_told_what_stands_is_told_the_rest_of_it(store: FullStore) -> None:
    lines = FakeModel(reply_text("One."), reply_text("Two."), reply_text("Three."))
    async with serve_runtime(Runtime(model=lines, store=store)) as server:
        page = ThreadPage(server)
        await page.say("first")
        await page.say("second")
        await page.run(*page.messages[:-1])
        whole = await collect_frames(server, "connect", make_run_input())
        assert join_text(whole) == "One.Three."
        for place in range(1, len(whole)):
            rest = await collect_frames(server, "connect", make_run_input(), last_event_id=whole[place - 1].id)
            assert [frame.data for frame in rest] == [frame.data for frame in whole[place:]]


async def test_what_a_server_tool_gave_beside_a_call_of_the_page_stands(store: FullStore) -> None:
    """A client that posts only the result of its own call shares no message of ours."""

    @tool
    def add() -> int:
        return 42

    tools = [{"name": "locate", "description": "", "parameters": {"type": "object"}}]
    lines = FakeModel(reply_calls(("add", "{}"), ("locate", "{}"), text="Wait."), reply_text("So."))
    async with serve_runtime(Runtime(model=lines, tools=[add], store=store)) as server:
        page = ThreadPage(server)
        frames = await page.say("go", tools=tools)
        starts = [frame.json for frame in frames if frame.json["type"] == "TOOL_CALL_START"]
        (call,) = [start["toolCallId"] for start in starts if start["toolCallName"] == "locate"]
        result = {"id": "own", "role": "tool", "content": "Oslo", "toolCallId": call}
        await collect_frames(server, "run", make_run_input(run="r2", messages=[result], tools=tools))
        assert (await page.reload()).texts == ["go", "Wait.", "42", "Oslo", "So."]
