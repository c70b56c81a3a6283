"""OpenTelemetry spans, made by the real SDK and read back from memory."""

import asyncio
import json
import subprocess
import sys
from collections.abc import AsyncIterator

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import StatusCode

from rightseat import Runtime, ToolContext, Turn, text_message, tool
from rightseat.errors import UpstreamBusy
from rightseat.middleware.tracing import CURRENT_RUN_SPAN, Tracing
from rightseat.types.chunks import FinishChunk, ModelChunk, TextChunk, UsageChunk
from rightseat.types.events import Event, StepEnd, StepStart, TextDelta, Usage
from rightseat.types.model import ModelInfo, Prompt, SamplingSettings
from rightseat.types.streams import closing
from rightseat.types.tools import Pause, Result, Tool
from rightseat.types.turn import TurnClient
from rightseat.wiring.runtime import RuntimeParts
from tests.kit.app_server import FakeModel, reply_calls, reply_text, serve_runtime
from tests.kit.client import RawHttpClient
from tests.kit.timeouts import HANG_TIMEOUT

PARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
TRACE, SPAN = 0x0AF7651916CD43DD8448EB211C80319C, 0xB7AD6B7169203331
SOURCE = {"default": ModelInfo("openai", "gpt-test")}


class SpanRecorder:
    def __init__(self) -> None:
        self.memory = InMemorySpanExporter()
        self.provider = TracerProvider()
        self.provider.add_span_processor(SimpleSpanProcessor(self.memory))

    def make_tracing(self, *, content: bool = False) -> Tracing:
        return Tracing(content=content, provider=self.provider)

    @property
    def spans(self) -> dict[str, ReadableSpan]:
        """By name; each name once in these tests unless they look at `all`."""
        return {span.name: span for span in self.all_spans}

    @property
    def all_spans(self) -> tuple[ReadableSpan, ...]:
        return self.memory.get_finished_spans()


@pytest.fixture
def recorder() -> SpanRecorder:
    return SpanRecorder()


@tool
async def double(number: int) -> int:
    # What a tool itself calls finds the tool's span as the current one.
    trace.get_current_span().add_event("seen inside")
    return number * 2


async def run_flow_tool(args: dict[str, object], ctx: ToolContext) -> AsyncIterator[Event | Result | Pause]:
    yield StepStart("look")
    yield StepEnd("look")
    yield StepStart("never ends")
    yield Result("done")


FLOW = Tool("flow", "", {"type": "object"}, run_flow_tool)


async def consume(stream: AsyncIterator[Event]) -> None:
    async with closing(stream) as events:
        async for _ in events:
            pass


def make_turn(**more: object) -> Turn:
    return Turn(**{"messages": (text_message("user", "hi secret"),), **more})  # type: ignore[arg-type]


def get_parent_id(span: ReadableSpan) -> int | None:
    return span.parent.span_id if span.parent else None


def make_model() -> FakeModel:
    first = [*reply_calls(("double", '{"number":2}'))[:-1], UsageChunk(Usage(10, 5)), FinishChunk("calls")]
    return FakeModel(first, [TextChunk("four"), TextChunk("!"), UsageChunk(Usage(20, 1)), FinishChunk("stop")])


@pytest.mark.demand("server.opentelemetry_genai_spans_per")
async def test_a_run_its_model_calls_and_its_tools(recorder: SpanRecorder) -> None:
    runtime = Runtime(
        model=make_model(), tools=[double], parts=RuntimeParts(model_infos=SOURCE, tracing=recorder.make_tracing())
    )
    settings = SamplingSettings(temperature=0.0, max_tokens=9, stop=("x",))
    headers = {"traceparent": PARENT}
    await consume(runtime.run(make_turn(client=TurnClient(headers=headers), thread="t-1", settings=settings)))
    run, chat = recorder.spans["invoke_agent default"], recorder.spans["chat gpt-test"]
    used = recorder.spans["execute_tool double"]
    assert [span.name for span in recorder.all_spans].count("chat gpt-test") == 2
    # One trace, the caller's; all within the run.
    assert run.context.trace_id == chat.context.trace_id == used.context.trace_id == TRACE
    assert get_parent_id(run) == SPAN
    assert get_parent_id(chat) == get_parent_id(used) == run.context.span_id
    told = dict(run.attributes or {})
    assert told.pop("gen_ai.response.time_to_first_chunk") > 0  # type: ignore[operator]
    assert told == {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.agent.name": "default",
        "gen_ai.conversation.id": "t-1",
        "gen_ai.usage.input_tokens": 30,
        "gen_ai.usage.output_tokens": 6,
        "gen_ai.response.finish_reasons": ("stop",),
    }
    last = dict(chat.attributes or {})
    assert last.pop("gen_ai.response.time_to_first_chunk") > 0  # type: ignore[operator]
    assert last == {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "openai",
        "gen_ai.request.model": "gpt-test",
        "gen_ai.request.temperature": 0.0,
        "gen_ai.request.max_tokens": 9,
        "gen_ai.request.stop_sequences": ("x",),
        "gen_ai.conversation.id": "t-1",
        "gen_ai.usage.input_tokens": 20,
        "gen_ai.usage.output_tokens": 1,
        "gen_ai.response.finish_reasons": ("stop",),
    }
    tool_told = dict(used.attributes or {})
    assert str(tool_told.pop("gen_ai.tool.call.id")).startswith("call_")
    assert tool_told == {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "double",
        "gen_ai.tool.type": "function",
        "gen_ai.conversation.id": "t-1",
    }
    assert [event.name for event in used.events] == ["seen inside"]
    assert CURRENT_RUN_SPAN.get() is None


@pytest.mark.demand("server.opentelemetry_genai_spans_per")
async def test_steps_are_spans_and_are_ended_whatever_happens(recorder: SpanRecorder) -> None:
    runtime = Runtime(
        model=FakeModel(reply_calls(("flow", "{}")), reply_text("ok")),
        tools=[FLOW],
        parts=RuntimeParts(tracing=recorder.make_tracing()),
    )
    await consume(runtime.run(make_turn()))
    run = recorder.spans["invoke_agent default"]
    for name in ("look", "never ends"):
        step = recorder.spans[f"step {name}"]
        assert (step.attributes or {})["rightseat.step.name"] == name
        assert get_parent_id(step) == run.context.span_id
        assert step.end_time is not None


@pytest.mark.demand("server.message_content_spans_unless")
@pytest.mark.parametrize("content", [False, True])
async def test_what_was_said_is_in_the_spans_only_if_wanted(recorder: SpanRecorder, content: bool) -> None:
    runtime = Runtime(
        model=make_model(), tools=[double], parts=RuntimeParts(tracing=recorder.make_tracing(content=content))
    )
    await consume(runtime.run(make_turn()))
    text = json.dumps([dict(span.attributes or {}) for span in recorder.all_spans])
    assert ("hi secret" in text) is content
    assert ("four!" in text) is content
    assert ("gen_ai.tool.call.result" in text) is content
    if content:
        chat = [span for span in recorder.all_spans if span.name.startswith("chat")][-1]
        answer = json.loads(str((chat.attributes or {})["gen_ai.output.messages"]))
        assert answer == [
            {"role": "assistant", "parts": [{"type": "text", "content": "four!"}], "finish_reason": "stop"}
        ]


@pytest.mark.demand("server.opentelemetry_genai_spans_per")
async def test_errors_have_a_type_and_a_status(recorder: SpanRecorder) -> None:
    async def busy(prompt: Prompt) -> AsyncIterator[ModelChunk]:
        raise UpstreamBusy("Busy.")
        yield TextChunk("")

    @tool
    async def broken() -> str:
        raise KeyError("x")

    runtime = Runtime(
        model=FakeModel(reply_calls(("broken", "{}")), busy),
        tools=[broken],
        parts=RuntimeParts(model_infos=SOURCE, tracing=recorder.make_tracing()),
    )
    await consume(runtime.run(make_turn()))
    found = {
        span.name: (span.attributes or {}).get("error.type")
        for span in recorder.all_spans
        if span.status.status_code is StatusCode.ERROR
    }
    assert found == {
        "execute_tool broken": "KeyError",
        "chat gpt-test": "upstream_busy",
        "invoke_agent default": "upstream_busy",
    }


@pytest.mark.demand("server.opentelemetry_genai_spans_per")
async def test_a_client_that_leaves_ends_every_span_and_is_no_error(recorder: SpanRecorder) -> None:
    async def endless(prompt: Prompt) -> AsyncIterator[ModelChunk]:
        yield TextChunk("so")
        await asyncio.Event().wait()

    runtime = Runtime(model=FakeModel(endless), parts=RuntimeParts(model_infos=SOURCE, tracing=recorder.make_tracing()))
    async with closing(runtime.run(make_turn())) as events:
        async for event in events:
            if isinstance(event, TextDelta):
                break
    assert set(recorder.spans) == {"chat gpt-test", "invoke_agent default"}
    for span in recorder.all_spans:
        assert (span.attributes or {})["error.type"] == "cancelled"
        assert span.status.status_code is StatusCode.UNSET


@pytest.mark.demand("server.opentelemetry_genai_spans_per")
async def test_two_runs_read_by_turns_keep_their_spans_apart(recorder: SpanRecorder) -> None:
    runtime = Runtime(
        model=FakeModel(reply_text("a", "b"), reply_text("a", "b")),
        parts=RuntimeParts(model_infos=SOURCE, tracing=recorder.make_tracing()),
    )
    runs = [runtime.run(make_turn(thread=name)) for name in ("one", "two")]
    async with closing(runs[0]) as one, closing(runs[1]) as other:
        async for _ in one:
            await anext(other, None)
        async for _ in other:
            pass
    agents = {
        span.context.span_id: (span.attributes or {})["gen_ai.conversation.id"]
        for span in recorder.all_spans
        if span.name.startswith("invoke_agent")
    }
    chats = [span for span in recorder.all_spans if span.name.startswith("chat")]
    assert len(chats) == len(agents) == 2
    assert {get_parent_id(chat) for chat in chats} == set(agents)


@pytest.mark.demand("server.request_traceparent_parent_door")
@pytest.mark.io
@pytest.mark.parametrize("target", ["/v1/chat/completions", "/agui/default"])
async def test_the_requests_traceparent_is_the_parent_at_every_door(recorder: SpanRecorder, target: str) -> None:
    lines = FakeModel(reply_text("ok"), reply_text("ok"))
    runtime = Runtime(model=lines, parts=RuntimeParts(tracing=recorder.make_tracing()))
    body = {"messages": [{"role": "user", "content": "hi"}]}
    async with serve_runtime(runtime) as server:
        for headers in ({"traceparent": PARENT, "tracestate": "a=b"}, {"traceparent": "crooked"}):
            async with RawHttpClient(server.url) as client:
                await client.post_json(target, body, headers)
                assert (await client.read_head()).status == 200
                await client.read_body()
    first, second = (span for span in recorder.all_spans if span.name.startswith("invoke_agent"))
    assert (first.context.trace_id, get_parent_id(first)) == (TRACE, SPAN)
    assert first.context.trace_state.get("a") == "b"
    assert second.parent is None


@pytest.mark.demand("server.request_traceparent_parent_door")
async def test_a_span_around_us_is_the_parent(recorder: SpanRecorder) -> None:
    runtime = Runtime(model=FakeModel(reply_text("ok")), parts=RuntimeParts(tracing=recorder.make_tracing()))
    with recorder.provider.get_tracer("app").start_as_current_span("server") as around:
        await consume(runtime.run(make_turn(client=TurnClient(headers={"traceparent": PARENT}))))
    assert get_parent_id(recorder.spans["invoke_agent default"]) == around.get_span_context().span_id


WHOLE = """
import asyncio
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from rightseat import Turn, text_message
from rightseat.config.settings import Config
from rightseat.wiring.from_config import build_runtime

memory = InMemorySpanExporter()
made = build_runtime(Config(model="scripted:demo"), env={})

async def run():
    async for _ in made.run(Turn(messages=(text_message("user", "hi"),))):
        pass

asyncio.run(run())
assert not memory.get_finished_spans()
provider = TracerProvider()
provider.add_span_processor(SimpleSpanProcessor(memory))
trace.set_tracer_provider(provider)
asyncio.run(run())
print(sorted(span.name for span in memory.get_finished_spans()))
"""


@pytest.mark.demand("server.without_sdk_nothing_made")
@pytest.mark.long
@pytest.mark.io
def test_the_process_own_provider_is_found_whenever_it_is_set() -> None:
    done = subprocess.run(
        [sys.executable, "-c", WHOLE], capture_output=True, text=True, timeout=HANG_TIMEOUT, check=False
    )
    assert done.stdout == "['chat demo', 'invoke_agent default']\n", done.stderr


@pytest.mark.demand("server.without_sdk_nothing_made")
async def test_without_an_sdk_nothing_is_made() -> None:
    """This process has the API loaded but no provider of its own, as under a bare installation."""
    assert Tracing().is_off
    inside: list[object] = []

    async def looks(prompt: Prompt) -> AsyncIterator[ModelChunk]:
        inside.append(CURRENT_RUN_SPAN.get())
        yield FinishChunk("stop")

    await consume(Runtime(model=FakeModel(looks)).run(make_turn()))
    assert inside == [None]
