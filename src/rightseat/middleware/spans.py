"""Spans of runs, model calls and tools by OpenTelemetry's semantic conventions for generative AI."""

from __future__ import annotations

import asyncio
import time
from collections import defaultdict
from typing import Any

import msgspec
from msgspec import structs
from opentelemetry import context as contexts
from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.trace import Span, SpanKind, Status, StatusCode, TracerProvider
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from rightseat.errors import RightseatError
from rightseat.types.chunks import FinishChunk, ModelChunk, TextChunk, ToolCallStart, UsageChunk
from rightseat.types.events import Event, RunFailed, RunFinished, RunStarted, StepEnd, StepStart, TextDelta, Usage
from rightseat.types.messages import Message
from rightseat.types.model import ModelInfo, Prompt
from rightseat.types.tools import Result, Tool
from rightseat.types.turn import Turn

W3C = TraceContextTextMapPropagator()
CANCELLED = "cancelled"


def find_parent_context(turn: Turn) -> Context:
    """Return the context of the current span, else that of the request's traceparent header."""
    current = contexts.get_current()
    has_span = trace.get_current_span(current).get_span_context().is_valid
    return current if has_span else W3C.extract(turn.client.headers, current)


def get_error_code(error: BaseException) -> str:
    if isinstance(error, RightseatError):
        return error.code
    return CANCELLED if isinstance(error, GeneratorExit | asyncio.CancelledError) else type(error).__qualname__


def set_error(span: Span, code: str) -> None:
    span.set_attribute("error.type", code)
    # A client that leaves is not an error.
    if code != CANCELLED:
        span.set_status(Status(StatusCode.ERROR))


def set_usage(span: Span, usage: Usage | None) -> None:
    if usage is not None:
        span.set_attribute("gen_ai.usage.input_tokens", usage.input)
        span.set_attribute("gen_ai.usage.output_tokens", usage.output)


class RunSpan:
    """Span of one run (invoke_agent), the parent of its model calls, tools and steps."""

    def __init__(self, turn: Turn, provider: TracerProvider | None, *, content: bool) -> None:
        self.tracer = trace.get_tracer("rightseat", tracer_provider=provider)
        self.content = content
        self.started_at = time.perf_counter()
        self.awaits_first_text = True
        self.ended = False
        self.conversation = turn.conversation or turn.thread
        self.steps: defaultdict[str, list[Span]] = defaultdict(list)
        name = turn.assistant or "default"
        self.span = self.tracer.start_span(
            f"invoke_agent {name}",
            find_parent_context(turn),
            SpanKind.INTERNAL,
            {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": name},
        )
        self.context = trace.set_span_in_context(self.span)

    def start_child(self, name: str, kind: SpanKind, attributes: dict[str, Any]) -> Span:
        if self.conversation:
            attributes["gen_ai.conversation.id"] = self.conversation
        return self.tracer.start_span(name, self.context, kind, attributes)

    def start_chat(self, info: ModelInfo, prompt: Prompt) -> ChatSpan:
        return ChatSpan(self, info, prompt)

    def start_tool(self, tool: Tool, args: dict[str, Any], call_id: str) -> ToolSpan:
        return ToolSpan(self, tool, args, call_id)

    def on_event(self, event: Event) -> None:
        match event:
            case TextDelta():
                self.awaits_first_text = False
                waited = time.perf_counter() - self.started_at
                self.span.set_attribute("gen_ai.response.time_to_first_chunk", waited)
            case RunStarted(thread):
                self.conversation = self.conversation or thread
                self.span.set_attribute("gen_ai.conversation.id", self.conversation)
            case StepStart(name):
                step = {"rightseat.step.name": name}
                self.steps[name].append(self.start_child(f"step {name}", SpanKind.INTERNAL, step))
            case StepEnd(name) if self.steps[name]:
                self.steps[name].pop().end()
            case RunFinished(reason, usage):
                self.ended = True
                self.span.set_attribute("gen_ai.response.finish_reasons", [reason])
                set_usage(self.span, usage)
            case RunFailed(code):
                self.ended = True
                set_error(self.span, code)
            case _:
                pass

    def end(self) -> None:
        for step in (step for steps in self.steps.values() for step in steps):
            step.end()
        if not self.ended:
            set_error(self.span, CANCELLED)
        self.span.end()


class ChatSpan:
    """Span of one model call (chat)."""

    def __init__(self, run: RunSpan, info: ModelInfo, prompt: Prompt) -> None:
        settings = {name: getattr(prompt.settings, name) for name in ("temperature", "top_p", "max_tokens", "seed")}
        request = {"model": info.model, **settings, "stop_sequences": prompt.settings.stop}
        attributes = {f"gen_ai.request.{name}": value for name, value in request.items() if value not in (None, ())}
        attributes |= {"gen_ai.operation.name": "chat", "gen_ai.provider.name": info.provider}
        if run.content:
            attributes["gen_ai.input.messages"] = format_messages(prompt.messages)
        self.content = run.content
        self.texts: list[str] = []
        self.finish = ""
        self.awaits_first_chunk = True
        self.started_at = time.perf_counter()
        self.span = run.start_child(f"chat {info.model}", SpanKind.CLIENT, attributes)

    @property
    def wants_text(self) -> bool:
        return self.awaits_first_chunk or self.content

    def on_chunk(self, chunk: ModelChunk) -> None:
        if self.awaits_first_chunk:
            self.awaits_first_chunk = False
            waited = time.perf_counter() - self.started_at
            self.span.set_attribute("gen_ai.response.time_to_first_chunk", waited)
        match chunk:
            case TextChunk(text) if self.content:
                self.texts.append(text)
            case ToolCallStart(name=name) if self.content:
                self.texts.append(f"[calls {name}]")
            case UsageChunk(usage):
                set_usage(self.span, usage)
            case FinishChunk(reason):
                self.finish = "tool_calls" if reason == "calls" else reason
                self.span.set_attribute("gen_ai.response.finish_reasons", [self.finish])
            case _:
                pass

    def fail(self, error: BaseException) -> None:
        set_error(self.span, get_error_code(error))

    def end(self) -> None:
        if self.content:
            parts = [{"type": "text", "content": "".join(self.texts)}]
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
        self.span = run.start_child(f"execute_tool {tool.name}", SpanKind.INTERNAL, attributes)
        self.previous_context: Context = contexts.get_current()
        contexts.attach(trace.set_span_in_context(self.span))

    def on_result(self, result: Result) -> None:
        if result.failed:
            set_error(self.span, "tool_failed")
        if self.content:
            self.span.set_attribute("gen_ai.tool.call.result", result.text)

    def fail(self, error: BaseException) -> None:
        set_error(self.span, get_error_code(error))

    def end(self) -> None:
        # Not `detach`: a generator may be closed by another task, whose context is not the one attached in.
        contexts.attach(self.previous_context)
        self.span.end()


def format_messages(messages: tuple[Message, ...]) -> str:
    """Encode messages by the conventions: text and calls, no images."""
    formatted = []
    for message in messages:
        parts: list[dict[str, Any]] = [{"type": "text", "content": message.text}] if message.text else []
        parts += [{"type": "tool_call", **structs.asdict(call)} for call in message.calls]
        formatted.append({"role": message.role, "parts": parts})
    return msgspec.json.encode(formatted).decode()
