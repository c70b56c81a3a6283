"""The operator's own code around a run: it refuses, adds, hears; and never harms an answer."""

import asyncio
import json
import threading
from collections.abc import AsyncIterator
from typing import Any

import pytest

from rightseat import Runtime, ToolContext, tool
from rightseat.errors import Forbidden
from rightseat.middleware.hooks import HookRequest, HookResponse, Hooks, RequestAdditions
from rightseat.runtime.incidents import Incident, current_thread_and_run
from rightseat.runtime.runs import RuntimeLimits
from rightseat.types.chunks import FinishChunk, ModelChunk, TextChunk
from rightseat.types.events import CallResult, Event, RunFinished, TextDelta
from rightseat.types.messages import text_message
from rightseat.types.model import Prompt
from rightseat.types.streams import closing
from rightseat.types.turn import ForwardedProps, Turn, TurnClient
from tests.faults.protocols import PROTOCOLS, ProtocolClient
from tests.kit.app_server import FakeModel, reply_calls, reply_text, serve_runtime
from tests.kit.timeouts import HANG_TIMEOUT

LOGGER = "rightseat.middleware.hooks"


def make_turn(text: str = "hi", **more: Any) -> Turn:
    return Turn(messages=(text_message("user", text),), thread="t1", run="r1", **more)


async def collect_events(runtime: Runtime, turn: Turn) -> list[Event]:
    async with closing(runtime.run(turn)) as stream:
        found = [event async for event in stream]
    await runtime.close()
    return found


def join_text(stream: list[Event]) -> str:
    return "".join(event.text for event in stream if isinstance(event, TextDelta))


@tool
def whoami(ctx: ToolContext) -> dict[str, Any]:
    """Who asks."""
    return {"headers": dict(ctx.turn.client.headers), "properties": ctx.turn.client.forwarded.properties}


@pytest.mark.demand("models.hooks_before_request_after")
@pytest.mark.parametrize("kind", ["plain", "async", "mapping", "object"])
async def test_before_adds_headers_and_properties_over_the_clients(kind: str) -> None:
    seen: list[HookRequest] = []
    given = RequestAdditions({"X-Tenant": "acme"}, {"plan": "basic"})

    def plain(asked: HookRequest) -> RequestAdditions | dict[str, Any]:
        seen.append(asked)
        assert threading.current_thread() is not threading.main_thread()
        return {"headers": given.headers, "properties": given.properties} if kind == "mapping" else given

    async def waiting(asked: HookRequest) -> RequestAdditions:
        seen.append(asked)
        return given

    class Object:
        async def __call__(self, asked: HookRequest) -> RequestAdditions:
            seen.append(asked)
            return given

    others: dict[str, Any] = {"async": waiting, "object": Object()}
    runtime = Runtime(
        model=FakeModel(reply_calls(("whoami", "{}")), reply_text("Done.")),
        tools=[whoami],
        hooks=Hooks(on_before_request=others.get(kind, plain)),
    )
    asked = make_turn(
        client=TurnClient(
            headers={"x-tenant": "forged", "x-own": "1"}, forwarded=ForwardedProps({"plan": "gold", "lang": "en"})
        )
    )
    found = await collect_events(runtime, asked)
    assert isinstance(found[-1], RunFinished)
    [result] = [json.loads(event.content) for event in found if isinstance(event, CallResult)]
    assert result["headers"] == {"x-tenant": "acme", "x-own": "1"}
    assert result["properties"] == {"plan": "basic", "lang": "en"}
    [one] = seen
    assert (one.thread, one.run, one.owner, one.messages[0].text) == ("t1", "r1", "local", "hi")
    assert one.headers["x-tenant"] == "forged"


@pytest.mark.demand("models.hooks_before_request_after")
@pytest.mark.io
@pytest.mark.parametrize("face", PROTOCOLS, ids=lambda face: face.name)
async def test_before_may_refuse_and_each_door_says_so(face: ProtocolClient) -> None:
    async def before(asked: HookRequest) -> None:
        raise Forbidden("Not in this house.")

    model = FakeModel()
    async with serve_runtime(Runtime(model=model, hooks=Hooks(on_before_request=before))) as server:
        outcome = await face(server.url, "hi")
    assert outcome.failures == ["forbidden"]
    assert b"Not in this house." in outcome.body
    assert model.prompts == []


@pytest.mark.io
async def test_a_hook_is_told_where_the_request_came_in() -> None:
    seen: list[HookRequest] = []
    hooks = Hooks(on_before_request=lambda asked: seen.append(asked))
    async with serve_runtime(Runtime(model=FakeModel(reply_text("Hello.")), hooks=hooks)) as server:
        await PROTOCOLS[2](server.url, "hi")
    [one] = seen
    assert (one.method, one.url) == ("POST", "/agui/default")


@pytest.mark.demand("models.hooks_before_request_after")
@pytest.mark.parametrize("problem", ["raises", "slow", "strange"])
async def test_a_before_that_fails_refuses_in_our_words(problem: str, caplog: pytest.LogCaptureFixture) -> None:
    async def before(asked: HookRequest) -> Any:
        if problem == "raises":
            raise ValueError("canary-of-the-hook")
        if problem == "slow":
            await asyncio.Event().wait()
        return 7

    runtime = Runtime(
        model=FakeModel(), hooks=Hooks(on_before_request=before, timeout=0.05 if problem == "slow" else HANG_TIMEOUT)
    )
    failed: Any = (await collect_events(runtime, make_turn()))[-1]
    assert failed.code == {"raises": "internal", "slow": "unavailable", "strange": "misuse"}[problem]
    assert "canary" not in failed.message
    assert caplog.records


@pytest.mark.demand("models.hooks_before_request_after")
async def test_after_has_what_was_answered_and_the_stream_is_the_same() -> None:
    seen: list[HookResponse] = []
    plain = Runtime(
        model=FakeModel(reply_calls(("whoami", "{}"), text="Let me see."), reply_text("You", " are.")), tools=[whoami]
    )
    hooked = Runtime(
        model=FakeModel(reply_calls(("whoami", "{}"), text="Let me see."), reply_text("You", " are.")),
        tools=[whoami],
        hooks=Hooks(on_after_request=seen.append),
    )
    before, after = await collect_events(plain, make_turn()), await collect_events(hooked, make_turn())
    assert [type(event) for event in after] == [type(event) for event in before]
    assert join_text(after) == join_text(before) == "Let me see.You are."
    [one] = seen
    assert [(m.role, m.text, [c.name for c in m.calls]) for m in one.output if m.role != "tool"] == [
        ("assistant", "Let me see.", []),
        ("assistant", "", ["whoami"]),
        ("assistant", "You are.", []),
    ]
    assert [m.call_id for m in one.output if m.role == "tool"] == [one.output[1].calls[0].id]
    assert (one.reason, one.messages[0].text) == ("stop", "hi")


@pytest.mark.demand("models.hooks_before_request_after")
@pytest.mark.parametrize("slow", [True, False])
async def test_an_after_that_fails_loses_nothing(slow: bool, caplog: pytest.LogCaptureFixture) -> None:
    begun = asyncio.Event()

    async def after(answered: HookResponse) -> None:
        begun.set()
        if slow:
            await asyncio.Event().wait()
        raise ValueError("no")

    runtime = Runtime(
        model=FakeModel(reply_text("Hello.")),
        hooks=Hooks(on_after_request=after, timeout=0.05 if slow else HANG_TIMEOUT),
    )
    assert join_text(await collect_events(runtime, make_turn())) == "Hello."
    assert begun.is_set()
    [line] = [record for record in caplog.records if record.name == LOGGER]
    assert ("was left" if slow else "failed") in line.getMessage()
    assert not runtime.hooks.tasks


@pytest.mark.io
async def test_nobody_waits_for_after() -> None:
    free = asyncio.Event()

    async def after(answered: HookResponse) -> None:
        await free.wait()

    async with serve_runtime(
        Runtime(model=FakeModel(reply_text("Hello.")), hooks=Hooks(on_after_request=after))
    ) as server:
        assert (await PROTOCOLS[0](server.url, "hi")).finished
        free.set()


@pytest.mark.demand("models.hooks_before_request_after")
async def test_on_error_hears_of_every_failed_run_and_after_of_none() -> None:
    heard: list[Incident] = []
    after: list[HookResponse] = []
    hooks = Hooks(on_error=heard.append, on_after_request=after.append)

    def broken(asked: Turn) -> AsyncIterator[Event]:
        raise ValueError("canary")

    runtime = Runtime(agents={"default": broken}, hooks=hooks)
    failed: Any = (await collect_events(runtime, make_turn()))[-1]
    [incident] = heard
    assert (incident.code, incident.message, after) == ("internal", failed.message, [])


async def test_an_on_error_that_fails_is_logged_and_the_error_is_still_told(caplog: pytest.LogCaptureFixture) -> None:
    def on_error(incident: Incident) -> None:
        raise ValueError("no")

    runtime = Runtime(agents={}, model=FakeModel(), hooks=Hooks(on_error=on_error))
    failed: Any = (await collect_events(runtime, make_turn(assistant="nobody")))[-1]
    assert failed.code in ("not_found", "agent_not_found")
    assert "the hook on_error failed" in caplog.text


async def test_a_client_that_leaves_has_no_after() -> None:
    seen: list[HookResponse] = []
    runtime = Runtime(model=FakeModel(reply_text("a", "b", "c")), hooks=Hooks(on_after_request=seen.append))
    async with closing(runtime.run(make_turn())) as stream:
        async for event in stream:
            if isinstance(event, TextDelta):
                break
    await runtime.close()
    assert seen == []


async def test_what_another_assistant_is_asked_is_no_request_of_its_own() -> None:
    seen: list[HookRequest] = []
    runtime = Runtime(model=FakeModel(reply_text("x")), hooks=Hooks(on_before_request=lambda asked: seen.append(asked)))
    await collect_events(runtime, make_turn(depth=1))
    assert seen == []


def test_without_hooks_there_is_no_layer() -> None:
    async def inner(asked: Turn) -> AsyncIterator[Event]:
        yield RunFinished("stop")

    assert Hooks(on_error=print).layer(inner) is inner
    assert Hooks(on_after_request=print).layer(inner) is not inner


async def test_a_hooks_own_lines_have_the_ids_of_the_run() -> None:
    seen: list[tuple[str, str]] = []

    def note(given: object) -> None:
        seen.append(current_thread_and_run())

    hooks = Hooks(on_before_request=note, on_after_request=note)
    await collect_events(Runtime(model=FakeModel(reply_text("x")), hooks=hooks), make_turn())
    assert seen == [("t1", "r1")] * 2


@pytest.mark.demand("models.hooks_stop")
@pytest.mark.parametrize("end", ["left", "cancelled", "finished", "failed", "late"])
async def test_stop_hears_of_runs_without_an_end(end: str) -> None:
    stopped: list[HookRequest] = []
    endless = asyncio.Event()

    async def answer(prompt: Prompt) -> AsyncIterator[ModelChunk]:
        yield TextChunk("begun")
        if end == "failed":
            raise Forbidden("no")
        if end != "finished":
            await endless.wait()
        yield FinishChunk("stop")

    limits = RuntimeLimits(run_seconds=0.05) if end == "late" else RuntimeLimits()
    runtime = Runtime(model=FakeModel(answer), hooks=Hooks(on_stop=stopped.append), limits=limits)

    async def read(started: asyncio.Event) -> None:
        async with closing(runtime.run(make_turn("hi"))) as stream:
            async for event in stream:
                if isinstance(event, TextDelta):
                    started.set()
                    if end == "left":
                        return

    started = asyncio.Event()
    task = asyncio.create_task(read(started))
    await started.wait()
    if end == "cancelled":
        task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    await runtime.close()
    assert [(asked.run, asked.messages[-1].text) for asked in stopped] == (
        [("r1", "hi")] if end in ("left", "cancelled") else []
    )
