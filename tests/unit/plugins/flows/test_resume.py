"""Whoever comes back after leaving, or asks twice at once; and what may have run."""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from rightseat import Runtime
from rightseat.engine.loop import Assistant
from rightseat.plugins.flows.responder import make_flow_tool
from rightseat.plugins.flows.step_context import FlowServices
from rightseat.plugins.http.policy import PluginPolicy
from rightseat.plugins.http.tools import make_operation_tools
from rightseat.plugins.load import read_plugin
from rightseat.stores.memory import MemoryStore
from rightseat.types.chunks import ModelChunk
from rightseat.types.events import CallResult, Event, RunFinished
from rightseat.types.messages import text_message
from rightseat.types.model import Prompt
from rightseat.types.streams import closing
from rightseat.types.tools import Pause, Result, Tool, ToolContext
from rightseat.types.turn import InterruptAnswer, Turn
from tests.kit.app_server import FakeModel, reply_calls, reply_text
from tests.unit.plugins.flows.conversations import (
    ANY_ARGUMENTS,
    FlowConversation,
    RecordingTools,
    make_flow,
    make_services,
    open_conversation,
    write_plugin_folder,
)
from tests.unit.plugins.runtime.api_plugins import serve_json_api

THREE = """
name: f
description: d
steps:
  - {name: start, call_type: one, next: two}
  - {name: two, call_type: two, next: three}
  - {name: three, call_type: three, params: {x: "{start} {two}"}}
"""
NAMES = ("one", "two", "three")


def make_tools() -> RecordingTools:
    return RecordingTools({name: lambda args: args.get("x", "x") for name in NAMES})


@dataclass
class HangingTool:
    """A tool that is stuck the first time it is called, until somebody gives up."""

    recording: RecordingTools
    name: str = "two"
    stuck: asyncio.Event = field(default_factory=asyncio.Event)

    async def call(self, args: dict[str, Any], ctx: ToolContext) -> AsyncIterator[Event | Result | Pause]:
        self.recording.calls.append((self.name, args))
        if not self.stuck.is_set():
            self.stuck.set()
            await asyncio.Event().wait()
        yield Result("x")

    def make_services(self, *lines: Any) -> FlowServices:
        made = make_services(FakeModel(*lines), self.recording)
        return replace(made, scripts={**made.scripts, self.name: Tool(self.name, "", ANY_ARGUMENTS, self.call)})

    async def cancel_when_stuck(self, run: Coroutine[Any, Any, Any]) -> None:
        """Run until it is stuck, and go."""
        task = asyncio.create_task(run)
        await self.stuck.wait()
        task.cancel()
        await asyncio.wait([task])


SAFE = THREE.replace("call_type: two,", "call_type: two, repeatable: true,")


@pytest.mark.demand("flows.state_journalled_per_step")
async def test_who_leaves_and_asks_again_goes_on_there() -> None:
    hanging = HangingTool(make_tools())
    play = FlowConversation(make_flow(SAFE), hanging.make_services(reply_text("ok")))
    await hanging.cancel_when_stuck(play.send())
    assert hanging.recording.called_names == ["one", "two"]
    assert await play.send() == []
    assert (hanging.recording.called_names, play.text) == (["one", "two", "two", "three"], "ok")
    assert hanging.recording.calls[-1] == ("three", {"x": "x x"})


AGREED = SAFE.replace("name: two, ", "name: two, confirm: true, ")


@pytest.mark.demand("flows.state_journalled_per_step")
async def test_an_answer_brought_again_after_the_end_in_the_middle_goes_on_there() -> None:
    hanging = HangingTool(make_tools())
    play = FlowConversation(make_flow(AGREED), hanging.make_services(reply_text("ok")))
    [question] = await play.send()
    yes = InterruptAnswer(question.id, payload={"approved": True})
    await hanging.cancel_when_stuck(play.send("why", yes))
    assert await play.send("why", yes) == []
    assert (hanging.recording.called_names, play.text) == (["one", "two", "two", "three"], "ok")
    # Done is done: the same answer has nothing to go on with any more.
    await play.send("why", yes)
    assert play.failure is not None
    assert play.failure.code == "already_answered"


@pytest.mark.demand("flows.state_journalled_per_step")
async def test_a_yes_in_words_brought_again_goes_on_there_and_elsewhere_runs_nothing() -> None:
    for before, names in (("", ["one", "two", "two", "three"]), ("x", ["one", "two"])):
        hanging = HangingTool(make_tools())
        play = FlowConversation(make_flow(AGREED), hanging.make_services(reply_text("ok")))
        [question] = await play.send()
        await hanging.cancel_when_stuck(play.send("why", InterruptAnswer(question.id, payload={"approved": True})))
        told = text_message("assistant", before or f"{question.message}\n\nReply yes or no.")
        await play.send("yes", before=(text_message("user", "why"), told))
        assert hanging.recording.called_names == names


@pytest.mark.demand("flows.state_journalled_per_step", "approvals.text_while_question_waits")
async def test_a_yes_in_the_chat_beside_the_question_goes_on_when_it_comes_again() -> None:
    hanging = HangingTool(make_tools())
    play = FlowConversation(make_flow(AGREED), hanging.make_services(reply_text("ok")))
    assert len(await play.send()) == 1
    # The page shows the question itself: it is no message of the conversation.
    before = (text_message("user", "why"),)
    await hanging.cancel_when_stuck(play.send("yes", before=before))
    await play.send("yes", before=before)
    assert (hanging.recording.called_names, play.text) == (["one", "two", "two", "three"], "ok")
    await play.send("yes", before=before)
    assert "othing was run" in play.text
    assert hanging.recording.called_names == ["one", "two", "two", "three"]


FORM = """
name: f
description: d
steps:
  - {name: start, call_type: one, next: who}
  - name: who
    call_type: ask
    params:
      question: Who?
      schema: {properties: {name: {type: string}, age: {type: integer}}, required: [name, age]}
    next: tell
  - {name: tell, call_type: none, params: {say: "It is {who.name}."}}
"""


class HangingModel(FakeModel):
    """A model that is stuck the first time it is asked."""

    def __init__(self, *lines: Any) -> None:
        super().__init__(*lines)
        self.stuck = asyncio.Event()

    async def stream(self, prompt: Prompt, /) -> AsyncIterator[ModelChunk]:
        if not self.stuck.is_set():
            self.stuck.set()
            await asyncio.Event().wait()
        async with closing(super().stream(prompt)) as chunks:
            async for chunk in chunks:
                yield chunk


@pytest.mark.demand("approvals.text_while_question_waits")
@pytest.mark.parametrize("is_text", [True, False])
async def test_who_leaves_while_the_answer_is_read_may_post_it_again(is_text: bool) -> None:
    model = HangingModel(reply_text('{"name": "Bob", "age": 7}'))
    play = FlowConversation(make_flow(FORM), make_services(model, make_tools()))
    [question] = await play.send()
    text, before = "Bob, and he is seven", (text_message("user", "why"),)
    answers = () if is_text else (InterruptAnswer(question.id, payload=text),)
    task = asyncio.create_task(play.send(text, *answers, before=before))
    await model.stuck.wait()
    task.cancel()
    await asyncio.wait([task])
    assert await play.send(text, *answers, before=before) == []
    assert play.text == "It is Bob."


async def test_another_question_begins_anew() -> None:
    hanging = HangingTool(make_tools())
    play = FlowConversation(make_flow(SAFE), hanging.make_services(reply_text("ok")))
    await hanging.cancel_when_stuck(play.send())
    await play.send("something else")
    assert hanging.recording.called_names == ["one", "two", "one", "two", "three"]


async def agree_to_run_again(play: FlowConversation) -> None:
    [question] = await play.send()
    assert "Run it again?" in question.message
    await play.send("why", InterruptAnswer(question.id, payload={"approved": True}))


@pytest.mark.demand("approvals.finished_step_never_again")
async def test_a_flow_that_is_done_begins_anew_once_somebody_agrees() -> None:
    done = make_tools()
    play = open_conversation(THREE, done, reply_text("ok"), reply_text("ok again"))
    await play.send()
    await agree_to_run_again(play)
    assert (done.called_names, play.text) == ([*NAMES, *NAMES], "ok again")


@pytest.mark.demand("approvals.finished_step_never_again")
async def test_a_question_to_run_again_that_is_cancelled_runs_nothing() -> None:
    done = make_tools()
    play = open_conversation(THREE, done, reply_text("ok"))
    await play.send()
    [question] = await play.send()
    await play.send("why", InterruptAnswer(question.id, status="cancelled"))
    assert (done.called_names, play.failure) == ([*NAMES], None)


async def test_a_flow_that_failed_begins_anew_once_somebody_agrees() -> None:
    wrong = [True]

    def two(args: dict[str, Any]) -> Any:
        if wrong.pop() if wrong else False:
            raise OSError("not now")
        return 2

    done = RecordingTools({"one": lambda args: 1, "two": two, "three": lambda args: 3})
    play = open_conversation(THREE, done, reply_text("ok"))
    await play.send()
    assert play.failure is not None
    await agree_to_run_again(play)
    assert done.called_names == ["one", "two", "one", "two", "three"]


@pytest.mark.demand("flows.params_never_shared_between")
async def test_asked_in_two_threads_at_once_nothing_is_mixed() -> None:
    gates = [asyncio.Event(), asyncio.Event()]
    begun: list[asyncio.Event] = []
    both = asyncio.Event()

    async def slow(args: dict[str, Any], ctx: ToolContext) -> AsyncIterator[Event | Result | Pause]:
        number = len(begun)
        begun.append(gates[number])
        if len(begun) == len(gates):
            both.set()
        await gates[number].wait()
        yield Result(number)

    done = make_tools()
    tools = make_services(FakeModel(reply_text("ok"), reply_text("ok")), done)
    tools = replace(tools, scripts={**tools.scripts, "one": Tool("one", "", ANY_ARGUMENTS, slow)})
    store = MemoryStore()
    plays = [FlowConversation(make_flow(THREE), tools, store=store, thread=name) for name in ("t1", "t2")]
    first, second = (asyncio.create_task(play.send()) for play in plays)
    await both.wait()
    gates[1].set()
    await second
    gates[0].set()
    await first
    assert [args["x"] for name, args in done.calls if name == "three"] == ["1 x", "0 x"]


@pytest.mark.demand("flows.killed_inside_step_read")
@pytest.mark.parametrize(
    ("word", "ran", "told"),
    [
        ("retry", ["one", "two", "two", "three"], "ok"),
        ("skip", ["one", "two", "three"], "ok"),
        ("stop", ["one", "two"], "The flow p/f was stopped at step 'two'."),
    ],
)
async def test_what_may_have_run_is_asked_about(word: str, ran: list[str], told: str) -> None:
    hanging = HangingTool(make_tools())
    play = FlowConversation(make_flow(THREE), hanging.make_services(reply_text("ok")))
    await hanging.cancel_when_stuck(play.send())
    (question,) = await play.send()
    assert "'two' (two) of p/f: it may have run" in question.message
    assert question.schema["properties"]["then"]["enum"] == ["retry", "skip", "stop"]
    assert await play.send("why", InterruptAnswer(question.id, text=word)) == []
    assert (hanging.recording.called_names, play.text) == (ran, told)


@pytest.mark.demand("flows.flow_tool_model_picks")
async def test_a_models_tool_goes_on_too() -> None:
    """The run was cut inside the flow that the model had called; asked again, it calls it again."""
    store, hanging = MemoryStore(), HangingTool(make_tools())
    line = reply_calls(("f", '{"request": "go"}'))
    model = FakeModel(line, line, reply_text("All done."))
    tools = hanging.make_services()
    tool = make_flow_tool("f", make_flow(SAFE), lambda flow, turn: tools, lambda: store)
    runtime = Runtime(assistants=[Assistant("default", model, tools=(tool,))], store=store)

    async def ask() -> list[Event]:
        turn = Turn(messages=(text_message("user", "why"),), thread="t")
        async with closing(runtime.run(turn)) as events:
            return [event async for event in events]

    await hanging.cancel_when_stuck(ask())
    events = await ask()
    assert isinstance(events[-1], RunFinished)
    assert hanging.recording.called_names == ["one", "two", "two", "three"]
    (result,) = [event.content for event in events if isinstance(event, CallResult)]
    assert '"three":"x x"' in result, "what its steps gave, for the model to tell"


API = """
openapi: 3.0.0
info: {version: 1.0.0, title: t}
servers: [{url: "URL"}]
paths:
  /orders:
    post:
      description: d
      parameters: [{name: Idempotency-Key, in: header, schema: {type: string}}]
      responses: {"200": {description: ok}}
"""


@pytest.mark.demand("flows.killed_inside_step_read")
@pytest.mark.io
async def test_a_real_api_gets_the_same_key_for_every_try(tmp_path: Path) -> None:
    text = """
name: f
description: d
steps:
  - {name: start, call_type: api, params: {endpoint: POST /orders}, next: again}
  - {name: again, call_type: api, params: {endpoint: POST /orders}, next: last}
  - {name: last, call_type: stop}
"""
    async with serve_json_api(b'{"n": 1}') as api:
        plugin = read_plugin(write_plugin_folder(tmp_path / "p", openapi=API.replace("URL", api.url)))
        tools = make_operation_tools(plugin, PluginPolicy(allow=("127.0.0.1",)))
        operations = {one.id: tool for one, tool in zip(plugin.operations, tools, strict=True)}
        cut = asyncio.Event()

        async def stop(args: dict[str, Any], ctx: ToolContext) -> AsyncIterator[Event | Result | Pause]:
            yield Result("x")

        class Cutting(MemoryStore):
            """Loses the note of the second step, as if the process had died before it."""

            async def update_checkpoint(
                self, owner: Any, key: str, update: Callable[[bytes | None], bytes | None], seconds: float | None = None
            ) -> None:
                body = update(await self.get_checkpoint(owner, key)) or b""
                if b'"again":' in body and not cut.is_set():
                    cut.set()
                    raise asyncio.CancelledError
                await super().update_checkpoint(owner, key, update, seconds)

        kept = FlowServices(
            model=FakeModel(reply_text("ok")),
            operations=operations,
            scripts={"stop": Tool("stop", "", ANY_ARGUMENTS, stop)},
            flows={},
            databases={},
            repeatable=list(operations),
        )
        play = FlowConversation(make_flow(text), kept, store=Cutting())
        first = asyncio.create_task(play.send())
        await asyncio.wait([first])
        assert await play.send() == []
        assert play.text == "ok"
        for tool in tools:
            if tool.close:
                await tool.close()
    keys = [one["idempotency-key"] for one in api.headers]
    assert len(keys) == 3
    assert keys[1] == keys[2] != keys[0]
