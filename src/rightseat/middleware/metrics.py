"""Metrics of runs, model calls and tool calls for /metrics."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Collection
from time import perf_counter

from msgspec.structs import replace

from rightseat.errors import RightseatError
from rightseat.runtime.metrics import Metrics
from rightseat.runtime.runs import RunObserver
from rightseat.runtime.trace import trace_model_call
from rightseat.types.chunks import ModelChunk, UsageChunk
from rightseat.types.events import CallEnd, CallResult, CallStart, Event, RunFailed, RunFinished
from rightseat.types.model import Model, ModelInfo, ModelWrapper, Prompt
from rightseat.types.streams import closing

CLIENT, UNKNOWN = "(client)", "(unknown)"
Clock = Callable[[], float]


class RunMetrics(RunObserver):
    """Observes one run. Without a final event its client has left. `tools` names the server's own tools."""

    def __init__(self, meters: Metrics, assistant: str, tools: Collection[str], clock: Clock = perf_counter) -> None:
        self.meters = meters
        self.assistant = assistant
        self.tools = tools
        self.clock = clock
        self.started_at = clock()
        self.awaits_text = True
        self.reason = "left"
        self.calls: dict[str, str] = {}
        meters.active.value += 1

    def on_first_text(self) -> None:
        self.awaits_text = False
        self.meters.first_token.observe(self.clock() - self.started_at, self.assistant)

    def on_event(self, event: Event) -> None:
        match event:
            case CallStart(id, client=True):
                self.calls[id] = CLIENT
            case CallEnd(id) if self.calls.get(id) == CLIENT:
                # Without an end the call proved invalid: its result follows.
                del self.calls[id]
                self.meters.tool_calls.add(CLIENT, "client")
            case CallStart(id, name):
                # A model may call a tool that does not exist: bound the label values.
                self.calls[id] = name if name in self.tools else UNKNOWN
            case CallResult(id, failed=failed):
                tool = self.calls.pop(id, UNKNOWN)
                self.meters.tool_calls.add(tool, "failed" if failed else "ok")
            case RunFinished(reason):
                self.reason = reason
            case RunFailed(code):
                self.fail(code)
            case _:
                pass

    def fail(self, code: str) -> None:
        self.reason = "failed"
        self.meters.failures.add(self.assistant, code)

    def on_end(self, failed: RightseatError | None) -> None:
        if failed is not None:
            self.fail(failed.code)
        self.meters.active.value -= 1
        self.meters.runs.add(self.assistant, self.reason)
        self.meters.run_seconds.observe(self.clock() - self.started_at, self.assistant)


class MeteredModel(ModelWrapper):
    """A model wrapper that counts calls, tokens, cost and seconds."""

    def __init__(self, model: Model, source: ModelInfo, meters: Metrics, clock: Clock = perf_counter) -> None:
        super().__init__(model, source)
        self.meters = meters
        self.clock = clock

    async def stream(self, prompt: Prompt, /) -> AsyncIterator[ModelChunk]:
        meters, name = self.meters, self.info.model
        began = self.clock()
        outcome = "failed"
        trace = untold = trace_model_call(name)
        try:
            async with closing(self.model.stream(prompt)) as chunks:
                async for chunk in chunks:
                    if untold is not None:
                        untold.on_first_chunk()
                        untold = None
                    if type(chunk) is UsageChunk:
                        meters.tokens.add(name, "input", by=chunk.usage.input)
                        meters.tokens.add(name, "output", by=chunk.usage.output)
                        if cost := self.info.compute_cost(chunk.usage):
                            meters.cost.add(name, by=cost)
                            chunk = UsageChunk(replace(chunk.usage, cost=cost))
                        if trace is not None:
                            trace.on_usage(chunk.usage)
                    yield chunk
            outcome = "ok"
        except RightseatError as error:
            outcome = error.code
            raise
        except (GeneratorExit, asyncio.CancelledError):
            outcome = "left"
            raise
        finally:
            if trace is not None:
                trace.on_end(outcome)
            meters.model_calls.add(name, outcome)
            meters.model_seconds.observe(self.clock() - began, name)
