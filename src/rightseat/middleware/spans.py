"""Spans of runs, model calls and tools by OpenTelemetry's semantic conventions for generative AI."""

from __future__ import annotations

import asyncio
import time
from collections import defaultdict
from typing import Any

import msgspec
from opentelemetry import context as contexts
from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.trace import Span, SpanKind, Status, StatusCode, TracerProvider
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from rightseat.errors import RightseatError
from rightseat.middleware.model_info import Source
from rightseat.types.chunks import CallName, Finish, Fragment, Text, Used
from rightseat.types.events import (
    Event,
    RunFailed,
    RunFinished,
    RunStarted,
    StepEnd,
    StepStart,
    TextDelta,
    Usage,
)
from rightseat.types.messages import Message
from rightseat.types.model import Prompt
from rightseat.types.tools import Result, Tool
from rightseat.types.turn import Turn

W3C = TraceContextTextMapPropagator()
LEFT = "cancelled"


def parent(turn: Turn) -> Context:
    """Return the context of the current span, else that of the request's traceparent header."""
    current = contexts.get_current()
    around = trace.get_current_span(current).get_span_context().is_valid
    return current if around else W3C.extract(turn.headers, current)


def code_of(error: BaseException) -> str:
    if isinstance(error, RightseatError):
        return error.code
    left = isinstance(error, GeneratorExit | asyncio.CancelledError)
    return LEFT if left else type(error).__qualname__


def fail(span: Span, code: str) -> None:
    span.set_attribute("error.type", code)
    # A client that leaves is not an error.
    if code != LEFT:
        span.set_status(Status(StatusCode.ERROR))


def told(span: Span, usage: Usage | None) -> None:
    if usage is not None:
        span.set_attribute("gen_ai.usage.input_tokens", usage.input)
        span.set_attribute("gen_ai.usage.output_tokens", usage.output)


def given(**values: Any) -> dict[str, Any]:
    return {f"gen_ai.request.{name}": value for name, value in values.items() if value not in (None, ())}


class RunSpan:
    """Span of one run (invoke_agent), the parent of its model calls, tools and steps."""

    def __init__(self, turn: Turn, provider: TracerProvider | None, *, content: bool) -> None:
        self.tracer = trace.get_tracer("rightseat", tracer_provider=provider)
        self.content = content
        self.began = time.perf_counter()
        self.silent = True
        self.ended = False
        self.conversation = turn.conversation or turn.thread
        self.steps: defaultdict[str, list[Span]] = defaultdict(list)
        name = turn.assistant or "default"
        self.span = self.tracer.start_span(
            f"invoke_agent {name}",
            parent(turn),
            SpanKind.INTERNAL,
            {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": name},
        )
        self.context = trace.set_span_in_context(self.span)

    def start(self, name: str, kind: SpanKind, attributes: dict[str, Any]) -> Span:
        if self.conversation:
            attributes["gen_ai.conversation.id"] = self.conversation
        return self.tracer.start_span(name, self.context, kind, attributes)

    def chat(self, source: Source, prompt: Prompt) -> ChatSpan:
        return ChatSpan(self, source, prompt)

    def tool(self, tool: Tool, args: dict[str, Any], call_id: str) -> ToolSpan:
        return ToolSpan(self, tool, args, call_id)

    def see(self, event: Event) -> None:
        match event:
            case TextDelta():
                self.silent = False
                waited = time.perf_counter() - self.began
                self.span.set_attribute("gen_ai.response.time_to_first_chunk", waited)
            case RunStarted(thread):
                self.conversation = self.conversation or thread
                self.span.set_attribute("gen_ai.conversation.id", self.conversation)
            case StepStart(name):
                step = {"rightseat.step.name": name}
                self.steps[name].append(self.start(f"step {name}", SpanKind.INTERNAL, step))
            case StepEnd(name) if self.steps[name]:
                self.steps[name].pop().end()
            case RunFinished(reason, usage):
                self.ended = True
                self.span.set_attribute("gen_ai.response.finish_reasons", [reason])
                told(self.span, usage)
            case RunFailed(code):
                self.ended = True
                fail(self.span, code)
            case _:
                pass

    def end(self) -> None:
        for step in (step for steps in self.steps.values() for step in steps):
            step.end()
        if not self.ended:
            fail(self.span, LEFT)
        self.span.end()


class ChatSpan:
    """Span of one model call (chat)."""

    def __init__(self, run: RunSpan, source: Source, prompt: Prompt) -> None:
        settings = prompt.settings
        attributes = given(
            model=source.model,
            temperature=settings.temperature,
            top_p=settings.top_p,
            max_tokens=settings.max_tokens,
            seed=settings.seed,
            stop_sequences=settings.stop,
        )
        attributes |= {"gen_ai.operation.name": "chat", "gen_ai.provider.name": source.provider}
        if run.content:
            attributes["gen_ai.input.messages"] = written(prompt.messages)
        self.content = run.content
        self.said: list[str] = []
        self.finish = ""
        self.silent = True
        self.began = time.perf_counter()
        self.span = run.start(f"chat {source.model}", SpanKind.CLIENT, attributes)

    @property
    def wants_text(self) -> bool:
        return self.silent or self.content

    def see(self, fragment: Fragment) -> None:
        if self.silent:
            self.silent = False
            waited = time.perf_counter() - self.began
            self.span.set_attribute("gen_ai.response.time_to_first_chunk", waited)
        match fragment:
            case Text(text) if self.content:
                self.said.append(text)
            case CallName(name=name) if self.content:
                self.said.append(f"[calls {name}]")
            case Used(usage):
                told(self.span, usage)
            case Finish(reason):
                self.finish = "tool_calls" if reason == "calls" else reason
                self.span.set_attribute("gen_ai.response.finish_reasons", [self.finish])
            case _:
                pass

    def fail(self, error: BaseException) -> None:
        fail(self.span, code_of(error))

    def end(self) -> None:
        if self.content:
            parts = [{"type": "text", "content": "".join(self.said)}]
            answer = [{"role": "assistant", "parts": parts, "finish_reason": self.finish}]
            self.span.set_attribute("gen_ai.output.messages", msgspec.json.encode(answer).decode())
        self.span.end()


class ToolSpan:
    """Span of one tool call (execute_tool), the current span of the tool's task."""

    def __init__(self, run: RunSpan, tool: Tool, args: dict[str, Any], call_id: str) -> None:
        attributes = {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": tool.name,
            "gen_ai.tool.type": "function",
            "gen_ai.tool.call.id": call_id,
        }
        if run.content:
            attributes["gen_ai.tool.call.arguments"] = msgspec.json.encode(args).decode()
        self.content = run.content
        self.span = run.start(f"execute_tool {tool.name}", SpanKind.INTERNAL, attributes)
        self.before: Context = contexts.get_current()
        contexts.attach(trace.set_span_in_context(self.span))

    def see(self, result: Result) -> None:
        if result.failed:
            fail(self.span, "tool_failed")
        if self.content:
            self.span.set_attribute("gen_ai.tool.call.result", result.text)

    def fail(self, error: BaseException) -> None:
        fail(self.span, code_of(error))

    def end(self) -> None:
        # Not `detach`: a generator may be closed by another task, whose context is not the one attached in.
        contexts.attach(self.before)
        self.span.end()


def written(messages: tuple[Message, ...]) -> str:
    """Encode messages by the conventions: text and calls, no images."""
    shown = []
    for message in messages:
        parts: list[dict[str, Any]] = [{"type": "text", "content": message.text}] if message.text else []
        parts += [
            {"type": "tool_call", "id": call.id, "name": call.name, "arguments": call.arguments}
            for call in message.calls
        ]
        shown.append({"role": message.role, "parts": parts})
    return msgspec.json.encode(shown).decode()
