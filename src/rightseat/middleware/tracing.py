"""OpenTelemetry spans of a run, its model calls, tools and steps, if OpenTelemetry is set up.

While nothing in the process has imported opentelemetry, a run costs one lookup in `sys.modules`, and spans.py
is never loaded. Spans are started and ended explicitly: no span is a context manager around a `yield`.
"""

from __future__ import annotations

import os
import sys
from collections.abc import AsyncIterator
from contextvars import ContextVar
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from rightseat.types.agents import Responder, make_layer
from rightseat.types.chunks import ModelChunk, TextChunk
from rightseat.types.events import Event, TextDelta
from rightseat.types.model import ModelWrapper, Prompt
from rightseat.types.streams import closing
from rightseat.types.tools import Pause, Result, Tool, ToolContext
from rightseat.types.turn import Turn

if TYPE_CHECKING:
    from opentelemetry.trace import TracerProvider

    from rightseat.middleware.spans import RunSpan

# The span of the current task's run.
CURRENT_RUN_SPAN: ContextVar[RunSpan | None] = ContextVar("run span", default=None)


@dataclass(frozen=True, kw_only=True)
class Tracing:
    """Settings of tracing. `content` adds message texts to spans; `provider` overrides the global one."""

    content: bool = False
    provider: TracerProvider | None = None

    @property
    def is_off(self) -> bool:
        if self.provider is not None:
            return False
        if "opentelemetry.trace" not in sys.modules and "OTEL_PYTHON_TRACER_PROVIDER" not in os.environ:
            return True
        from opentelemetry.trace import NoOpTracerProvider, ProxyTracerProvider, get_tracer_provider

        return isinstance(get_tracer_provider(), ProxyTracerProvider | NoOpTracerProvider)

    def layer(self, inner: Responder) -> Responder:
        """Wrap the run itself: only there is every kind of end visible."""
        return make_layer(lambda turn: not self.is_off, self.stream_traced)(inner)

    async def stream_traced(self, inner: Responder, turn: Turn) -> AsyncIterator[Event]:
        from rightseat.middleware.spans import RunSpan

        run = RunSpan(turn, self.provider, content=self.content)
        previous = CURRENT_RUN_SPAN.get()
        CURRENT_RUN_SPAN.set(run)
        try:
            async with closing(inner(turn)) as events:
                async for event in events:
                    if type(event) is not TextDelta or run.awaits_first_text:
                        run.on_event(event)
                    yield event
                    # A reader may interleave two runs.
                    CURRENT_RUN_SPAN.set(run)
        finally:
            CURRENT_RUN_SPAN.set(previous)
            run.end()


class TracedModel(ModelWrapper):
    """A model wrapper whose calls are spans of the current run."""

    def stream(self, prompt: Prompt, /) -> AsyncIterator[ModelChunk]:
        run = CURRENT_RUN_SPAN.get()
        return self.model.stream(prompt) if run is None else self.stream_traced(run, prompt)

    async def stream_traced(self, run: RunSpan, prompt: Prompt) -> AsyncIterator[ModelChunk]:
        chat = run.start_chat(self.info, prompt)
        try:
            async with closing(self.model.stream(prompt)) as chunks:
                async for chunk in chunks:
                    if type(chunk) is not TextChunk or chat.wants_text:
                        chat.on_chunk(chunk)
                    yield chunk
        except BaseException as error:
            chat.fail(error)
            raise
        finally:
            chat.end()


def trace_tool(tool: Tool) -> Tool:
    """Return the tool with a span for each call; client tools run elsewhere and have none."""
    call = tool.call
    if call is None:
        return tool

    async def traced(args: dict[str, Any], ctx: ToolContext) -> AsyncIterator[Event | Result | Pause]:
        run = CURRENT_RUN_SPAN.get()
        span = run and run.start_tool(tool, args, ctx.call_id)
        try:
            async with closing(call(args, ctx)) as items:
                async for item in items:
                    if span and isinstance(item, Result):
                        span.on_result(item)
                    yield item
        except BaseException as error:
            if span:
                span.fail(error)
            raise
        finally:
            if span:
                span.end()

    return replace(tool, call=traced)
