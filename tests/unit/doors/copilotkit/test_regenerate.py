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
from tests.contract.stores.members import Keeper
from tests.kit.client import Client, Frame
from tests.kit.house import House, Lines, calls, house, says
from tests.unit.doors.copilotkit.agui import THREAD, Gate, asked, given, kinds, played, text_of

pytestmark = pytest.mark.io

Said = dict[str, Any]


@pytest.fixture(params=["memory", "sqlite"])
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Keeper]:
    keeper: Keeper = MemoryStore() if request.param == "memory" else SQLiteStore(tmp_path)
    yield keeper
    await keeper.close()


def user(text: str, id: str = "") -> Said:
    return {"id": id or f"u-{text}", "role": "user", "content": text}


class Page:
    """A client's messages, made from frames as the real one does, and posted whole with every run."""

    def __init__(self, server: House) -> None:
        self.server = server
        self.messages: list[Said] = []
        self.state: Any = {}
        self.runs = 0

    async def run(self, *messages: Said, **more: Any) -> list[Frame]:
        """Post these; then the page has them and the answer."""
        self.runs += 1
        self.messages = list(messages)
        body = given(run=f"r{self.runs}", messages=self.messages, **{"state": self.state, **more})
        frames = await played(self.server, "run", body)
        self.hear(frames)
        return frames

    async def say(self, text: str, **more: Any) -> list[Frame]:
        return await self.run(*self.messages, user(text), **more)

    def hear(self, frames: list[Frame]) -> None:
        for event in (frame.json for frame in frames):
            match event:
                case {"type": "RUN_STARTED", "input": {"messages": list(posted)}}:
                    known = {message["id"] for message in self.messages}
                    self.messages += [message for message in posted if message["id"] not in known]
                case {"type": "TEXT_MESSAGE_START" | "TOOL_CALL_START"}:
                    self.answer(event)
                case {"type": "TEXT_MESSAGE_CONTENT", "messageId": id, "delta": delta}:
                    self.find(id)["content"] += delta
                case {"type": "TOOL_CALL_RESULT", "messageId": id, "content": content, "toolCallId": call}:
                    self.messages.append({"id": id, "role": "tool", "content": content, "toolCallId": call})
                case {"type": "STATE_SNAPSHOT", "snapshot": state}:
                    self.state = state

    def answer(self, event: Said) -> None:
        id = event.get("messageId") or event["parentMessageId"]
        if not any(message["id"] == id for message in self.messages):
            self.messages.append({"id": id, "role": "assistant", "content": ""})
        if "toolCallId" in event:
            function = {"name": event["toolCallName"], "arguments": "{}"}
            call = {"id": event["toolCallId"], "type": "function", "function": function}
            self.find(id).setdefault("toolCalls", []).append(call)

    def find(self, id: str) -> Said:
        return next(message for message in self.messages if message["id"] == id)

    @property
    def talk(self) -> list[str]:
        return [message["content"] for message in self.messages]

    async def reloaded(self) -> "Page":
        page = Page(self.server)
        frames = await played(self.server, "connect", given())
        # No run begins in another, and each ends once.
        turns = [kind for kind in kinds(frames) if kind in ("RUN_STARTED", "RUN_FINISHED")]
        assert turns == ["RUN_STARTED", "RUN_FINISHED"] * (len(turns) // 2)
        page.hear(frames)
        return page


async def seen_again(page: Page) -> None:
    """By every way that shows the thread."""
    assert (await page.reloaded()).messages == page.messages
    _, told = await asked(page.server, f"{THREAD}/t/messages", method="GET")
    assert [(one["id"], one.get("content", "")) for one in told["messages"]] == [
        (one["id"], one["content"]) for one in page.messages
    ]


@pytest.mark.demand("copilotkit.after_reload_user_sees", "copilotkit.peer_bugs_listed_notes")
async def test_the_last_answer(store: Keeper) -> None:
    lines = Lines(says("One."), says("Two."), says("Another two."), says("Three."))
    async with house(Runtime(model=lines, store=store)) as server:
        page = Page(server)
        await page.say("first")
        await page.say("second")
        await page.run(*page.messages[:-1])
        assert page.talk == ["first", "One.", "second", "Another two."]
        await seen_again(page)
        # It goes on from there, after a reload too.
        page.messages = (await page.reloaded()).messages
        await page.say("third")
        assert page.talk[-2:] == ["third", "Three."]
        await seen_again(page)
        _, whole = await asked(server, f"{THREAD}/t/events", method="GET")
    texts = [event["delta"] for event in whole["events"] if event["type"] == "TEXT_MESSAGE_CONTENT"]
    assert texts == ["One.", "Two.", "Another two.", "Three."]


@pytest.mark.demand("copilotkit.after_reload_user_sees")
async def test_the_first_answer_again_and_again(store: Keeper) -> None:
    lines = Lines(*(says(f"{n}.") for n in range(6)))
    async with house(Runtime(model=lines, store=store)) as server:
        page = Page(server)
        await page.say("first")
        await page.say("second")
        for number in range(2, 5):
            await page.run(page.messages[0])
            assert page.talk == ["first", f"{number}."]
            await seen_again(page)
        await page.say("third")
        assert page.talk == ["first", "4.", "third", "5."]
        await seen_again(page)


@pytest.mark.demand("copilotkit.after_reload_user_sees")
@pytest.mark.parametrize("id", ["u-first", "another"])
async def test_an_edited_question(store: Keeper, id: str) -> None:
    """Under its own id or a new one; before it something stays."""
    lines = Lines(says("Zero."), says("One."), says("Two."), says("Edited."))
    async with house(Runtime(model=lines, store=store)) as server:
        page = Page(server)
        await page.say("before")
        await page.say("first")
        await page.say("second")
        await page.run(*page.messages[:2], user("first, but other", id))
        assert page.talk == ["before", "Zero.", "first, but other", "Edited."]
        await seen_again(page)


async def test_the_very_first_question_edited_under_its_own_id(store: Keeper) -> None:
    async with house(Runtime(model=Lines(says("One."), says("Edited.")), store=store)) as server:
        page = Page(server)
        await page.say("first")
        await page.run(user("other", "u-first"))
        assert page.talk == ["other", "Edited."]
        await seen_again(page)


async def test_an_answer_with_tools_and_thoughts(store: Keeper) -> None:
    @tool
    def add() -> int:
        return 5

    first = [ReasoningChunk("hm"), *calls(("add", "{}"), text="Let me see.")]
    again = [ReasoningChunk("well"), *calls(("add", "{}"), text="Once more.")]
    lines = Lines(first, says("Five."), again, says("5."), says("So."))
    async with house(Runtime(model=lines, tools=[add], store=store)) as server:
        page = Page(server)
        await page.say("sum")
        await page.run(page.messages[0])
        assert page.talk == ["sum", "Once more.", "5", "5."]
        await seen_again(page)
        # Behind a call's result, in the middle of what was one run.
        await page.run(*page.messages[:3], user("and"))
        assert page.talk == ["sum", "Once more.", "5", "and", "So."]
        await seen_again(page)
        frames = await played(server, "connect", given())
    thoughts = [f.json["delta"] for f in frames if f.json["type"] == "REASONING_MESSAGE_CONTENT"]
    assert thoughts == ["well"]


async def test_a_call_of_the_page_is_no_cut(store: Keeper) -> None:
    tools = [{"name": "locate", "description": "", "parameters": {"type": "object"}}]
    lines = Lines(calls(("locate", "{}"), text="Wait."), says("Oslo."), says("Rome."))
    async with house(Runtime(model=lines, store=store)) as server:
        page = Page(server)
        await page.say("where", tools=tools)
        call = page.messages[-1]["toolCalls"][0]["id"]
        result = {"id": "own", "role": "tool", "content": "Oslo", "toolCallId": call}
        await page.run(*page.messages, result, tools=tools)
        assert page.talk == ["where", "Wait.", "Oslo", "Oslo."]
        await seen_again(page)
        await page.run(*page.messages[:3], tools=tools)
        assert page.talk == ["where", "Wait.", "Oslo", "Rome."]
        await seen_again(page)


@pytest.mark.demand("copilotkit.after_reload_user_sees")
async def test_an_answer_or_a_result_goes_on_although_the_talk_is_not_posted(store: Keeper) -> None:
    """Some post only what a person said, with an answer or a result: what that is for stands."""

    @tool
    def greet(ctx: ToolContext) -> str:
        return f"Hello {ctx.ask('Who?')}"

    tools = [{"name": "locate", "description": "", "parameters": {"type": "object"}}]
    lines = Lines(calls(("greet", "{}"), text="Ask."), says("Bye."), calls(("locate", "{}"), text="Wait."), says("So."))
    async with house(Runtime(model=lines, tools=[greet], store=store)) as server:
        page = Page(server)
        asked = await page.say("hi", protocolVersion="1.0")
        id = asked[-1].json["outcome"]["interrupts"][0]["id"]
        resume = [{"interruptId": id, "status": "resolved", "payload": "Ada"}]
        await played(server, "run", given("hi", run="r2", resume=resume))
        assert (await page.reloaded()).talk == ["hi", "Ask.", "Hello Ada", "Bye."]
        frames = await played(server, "run", given("where", run="r3", tools=tools))
        (call,) = [frame.json["toolCallId"] for frame in frames if frame.json["type"] == "TOOL_CALL_START"]
        result = {"id": "own", "role": "tool", "content": "Oslo", "toolCallId": call}
        await played(server, "run", given(run="r4", messages=[user("where"), result], tools=tools))
        assert (await page.reloaded()).talk[4:] == ["where", "Wait.", "Oslo", "So."]


async def test_a_failed_answer_made_anew(store: Keeper) -> None:
    async def fails(prompt: Prompt) -> AsyncIterator[ModelChunk]:
        yield TextChunk("Half")
        raise RuntimeError

    async with house(Runtime(model=Lines(fails, says("Whole.")), store=store)) as server:
        page = Page(server)
        await page.say("first")
        await page.run(page.messages[0])
        assert page.talk == ["first", "Whole."]
        await seen_again(page)


@pytest.mark.demand("copilotkit.after_reload_user_sees")
async def test_a_client_that_sends_only_what_is_new_loses_nothing(store: Keeper) -> None:
    async with house(Runtime(model=Lines(says("One."), says("Two.")), store=store)) as server:
        page = Page(server)
        always = {"id": "always", "role": "system", "content": "Be brief."}
        await page.run(always, user("first"))
        await page.run(always, user("second"))
        shown = await page.reloaded()
    assert [said for said in shown.talk if said != "Be brief."] == ["first", "One.", "second", "Two."]


async def test_the_state_is_the_pages_although_what_made_it_is_gone(store: Keeper) -> None:
    async with house(Runtime(model=Lines(says("One."), says("Two.")), store=store)) as server:
        page = Page(server)
        await page.say("first")
        page.state = {"n": 1}
        await page.run(page.messages[0])
        assert (await page.reloaded()).state == {"n": 1}
        _, told = await asked(server, f"{THREAD}/t/state", method="GET")
    assert told["state"] == {"n": 1}


async def test_who_comes_while_the_new_answer_is_made(store: Keeper) -> None:
    gate = Gate()
    async with house(Runtime(model=gate, store=store)) as server:
        page = Page(server)
        for word in ("Old.", None):
            gate.words.put_nowait(word)
        await page.say("first")
        async with Client(server.url) as client:
            await client.post("/copilotkit/agent/default/run", given(run="again", messages=[user("first")]))
            await client.head()
            gate.words.put_nowait("New")
            while "CONTENT" not in (await client.frame() or Frame(None)).json["type"]:
                pass
            async with Client(server.url) as other:
                await other.post("/copilotkit/agent/default/connect", given())
                await other.head()
                for word in (" words.", None):
                    gate.words.put_nowait(word)
                frames = [frame async for frame in other.frames() if frame.data]
    assert text_of(frames) == "New words."
    assert kinds(frames).count("RUN_STARTED") == 1


async def test_another_who_was_cut_off_in_the_middle_is_not_confused(store: Keeper) -> None:
    """Who comes back behind a frame has what came before it, and gets the rest as it was said."""
    async with house(Runtime(model=Lines(says("One."), says("Two.")), store=store)) as server:
        page = Page(server)
        frames = await page.say("first")
        await page.run(page.messages[0])
        rest = await played(server, "connect", given(), seen=frames[1].id)
    assert text_of(rest) == "One.Two."


async def test_who_was_cut_off_while_it_was_told_what_stands_is_told_the_rest_of_it(store: Keeper) -> None:
    lines = Lines(says("One."), says("Two."), says("Three."))
    async with house(Runtime(model=lines, store=store)) as server:
        page = Page(server)
        await page.say("first")
        await page.say("second")
        await page.run(*page.messages[:-1])
        whole = await played(server, "connect", given())
        assert text_of(whole) == "One.Three."
        for place in range(1, len(whole)):
            rest = await played(server, "connect", given(), seen=whole[place - 1].id)
            assert [frame.data for frame in rest] == [frame.data for frame in whole[place:]]


async def test_what_a_server_tool_gave_beside_a_call_of_the_page_stands(store: Keeper) -> None:
    """A client that posts only the result of its own call shares no message of ours."""

    @tool
    def add() -> int:
        return 42

    tools = [{"name": "locate", "description": "", "parameters": {"type": "object"}}]
    lines = Lines(calls(("add", "{}"), ("locate", "{}"), text="Wait."), says("So."))
    async with house(Runtime(model=lines, tools=[add], store=store)) as server:
        page = Page(server)
        frames = await page.say("go", tools=tools)
        starts = [frame.json for frame in frames if frame.json["type"] == "TOOL_CALL_START"]
        (call,) = [start["toolCallId"] for start in starts if start["toolCallName"] == "locate"]
        result = {"id": "own", "role": "tool", "content": "Oslo", "toolCallId": call}
        await played(server, "run", given(run="r2", messages=[result], tools=tools))
        assert (await page.reloaded()).talk == ["go", "Wait.", "42", "Oslo", "So."]
