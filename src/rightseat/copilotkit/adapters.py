"""Service adapters: CopilotKit's interface to models, those of the vendors on rightseat's models, and AdapterModel, by
which an adapter of one's own is a model."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator
from contextvars import ContextVar
from typing import Any

from rightseat.copilotkit.chat_request import CopilotRuntimeRequest, CopilotRuntimeResponse, build_prompt, build_request
from rightseat.copilotkit.errors import CopilotKitMisuseError
from rightseat.copilotkit.event_source import RuntimeEventSource, RuntimeEventStream
from rightseat.doors.copilotkit.runtime_events import (
    ActionExecutionArgs,
    ActionExecutionEnd,
    ActionExecutionStart,
    AgentStateMessage,
    RuntimeEvent,
    TextMessageContent,
    TextMessageEnd,
    TextMessageStart,
)
from rightseat.runtime.runs import new_id
from rightseat.types.agents import Responder
from rightseat.types.chunks import (
    EventChunk,
    FinishChunk,
    ModelChunk,
    RefusalChunk,
    TextChunk,
    ToolCallArgs,
    ToolCallStart,
)
from rightseat.types.events import Event, StateSnapshot, response_extensions
from rightseat.types.model import Model, ModelLike, Prompt, adapt_model
from rightseat.types.streams import closing
from rightseat.types.text import decode_or_none
from rightseat.types.turn import Turn
from rightseat.wiring.lookup import make_model

_current_turn: ContextVar[Turn | None] = ContextVar("turn of an adapter", default=None)


def remember_turn(inner: Responder) -> Responder:
    """Wrap a Responder, so that adapters below it know the thread, the extensions and the properties of the turn."""

    def respond(turn: Turn) -> AsyncIterator[Event]:
        _current_turn.set(turn)
        return inner(turn)

    return respond


class CopilotServiceAdapter(ABC):
    """Answers requests by a model. `process` emits events to `request.event_source`, directly or by a function that it
    gives `request.event_source.stream`; the runtime runs the server's actions that it calls and asks again."""

    @abstractmethod
    async def process(self, request: CopilotRuntimeRequest) -> CopilotRuntimeResponse: ...

    async def close(self) -> None:
        """Release what the adapter holds."""
        return


class ModelAdapter(CopilotServiceAdapter):
    """Adapter of a model of rightseat: an object, or a spec such as `openai:gpt-4o` with its options."""

    def __init__(self, model: ModelLike | str, **options: Any) -> None:
        self.model = make_model(model, options) if isinstance(model, str) else adapt_model(model)

    async def process(self, request: CopilotRuntimeRequest) -> CopilotRuntimeResponse:
        prompt = build_prompt(request)

        async def produce(stream: RuntimeEventStream) -> None:
            async with closing(self.model.stream(prompt)) as chunks:
                await emit_chunks(chunks, stream)
            stream.complete()

        request.event_source.stream(produce)
        return CopilotRuntimeResponse(thread_id=request.thread_id, run_id=request.run_id)

    async def close(self) -> None:
        await self.model.close()


class OpenAIAdapter(ModelAdapter):
    """OpenAI's models and those of compatible servers; `options` are those of `openai:` models, such as `base_url`."""

    def __init__(self, model: str = "gpt-4o", **options: Any) -> None:
        super().__init__(f"openai:{model}", **options)


class AnthropicAdapter(ModelAdapter):
    def __init__(self, model: str = "claude-sonnet-4-5", **options: Any) -> None:
        super().__init__(f"anthropic:{model}", **options)


class GoogleAdapter(ModelAdapter):
    def __init__(self, model: str = "gemini-2.5-pro", **options: Any) -> None:
        super().__init__(f"google:{model}", **options)


class LangChainAdapter(ModelAdapter):
    """A chat model or Runnable of LangChain, a function that makes one, or one that answers messages."""

    def __init__(self, chain: Any, **options: Any) -> None:
        # Imported here: LangChain is an extra.
        from rightseat.models.langchain.options import make_langchain_model

        super().__init__(make_langchain_model(chain, options))


class EmptyAdapter(ModelAdapter):
    """No model: only agents answer. A request that names none is refused by CopilotKitMisuseError."""

    def __init__(self) -> None:
        super().__init__("empty")


class AdapterModel(Model):
    """A Model that asks an adapter. The engine gives messages and calls ids of its own."""

    def __init__(self, adapter: CopilotServiceAdapter) -> None:
        self.adapter = adapter
        self.name = type(adapter).__name__

    async def stream(self, prompt: Prompt, /) -> AsyncIterator[ModelChunk]:
        source = RuntimeEventSource()
        request = build_request(prompt, _current_turn.get(), source)
        task = asyncio.ensure_future(run_adapter(self.adapter, request))
        task.add_done_callback(lambda done: source.close())
        mapper = ChunkMapper()
        try:
            async with closing(aiter(source)) as events:
                async for event in events:
                    for chunk in mapper.convert(event):
                        yield chunk
            response = await task
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
        if response.extensions:
            yield EventChunk(response_extensions(response.extensions))
        yield mapper.finish()

    async def close(self) -> None:
        await self.adapter.close()


async def run_adapter(adapter: CopilotServiceAdapter, request: CopilotRuntimeRequest) -> CopilotRuntimeResponse:
    """Let an adapter process a request, and run the function that it has given to emit its events."""
    response = await adapter.process(request)
    if not isinstance(response, CopilotRuntimeResponse):
        kind = type(response).__name__
        raise CopilotKitMisuseError(f"{type(adapter).__name__}.process returns {kind}, not a CopilotRuntimeResponse.")
    if request.event_source.callback is not None:
        await request.event_source.callback(request.event_source)
    return response


class ChunkMapper:
    """Converts an adapter's events to a model's chunks."""

    def __init__(self) -> None:
        self.indices: dict[str, int] = {}
        self.open_calls: dict[str, str] = {}

    def convert(self, event: RuntimeEvent) -> list[ModelChunk]:
        match event:
            case TextMessageContent():
                return [TextChunk(event.content)]
            case TextMessageStart() | TextMessageEnd():
                return []
            case ActionExecutionStart():
                index = self.indices.setdefault(event.action_execution_id, len(self.indices))
                self.open_calls[event.action_execution_id] = event.action_name
                return [ToolCallStart(index, event.action_name)]
            case ActionExecutionArgs():
                self.require_open(event.action_execution_id)
                return [ToolCallArgs(self.indices[event.action_execution_id], event.args)]
            case ActionExecutionEnd():
                self.require_open(event.action_execution_id)
                del self.open_calls[event.action_execution_id]
                return []
            case AgentStateMessage():
                return [EventChunk(StateSnapshot(decode_or_none(event.state)))]
            case _:
                raise CopilotKitMisuseError(
                    f"An adapter emits no {event.type}: the runtime runs actions and asks people. "
                    "What does both itself is an agent: give it to CopilotRuntime(agents=…)."
                )

    def require_open(self, id: str) -> None:
        if id not in self.open_calls:
            raise CopilotKitMisuseError(
                f"The action execution {id[:64]!r} is not open. Emit ActionExecutionStart first."
            )

    def finish(self) -> FinishChunk:
        if self.open_calls:
            names = ", ".join(self.open_calls.values())
            raise CopilotKitMisuseError(f"The adapter ends without ActionExecutionEnd of {names[:200]}.")
        return FinishChunk("calls" if self.indices else "stop")


async def emit_chunks(chunks: AsyncIterator[ModelChunk], stream: RuntimeEventStream) -> None:
    """Emit a model's chunks as events: texts and calls. What adapters have no event for is left out."""
    message_id, is_text_open = new_id(), False
    calls: dict[int, str] = {}
    async for chunk in chunks:
        match chunk:
            case TextChunk() | RefusalChunk() if chunk.text:
                if not is_text_open:
                    stream.send_text_message_start(message_id=message_id)
                    is_text_open = True
                stream.send_text_message_content(message_id=message_id, content=chunk.text)
            case ToolCallStart():
                calls[chunk.index] = f"call-{new_id()}"
                stream.send_action_execution_start(
                    action_execution_id=calls[chunk.index], action_name=chunk.name, parent_message_id=message_id
                )
            case ToolCallArgs() if chunk.index in calls:
                stream.send_action_execution_args(action_execution_id=calls[chunk.index], args=chunk.json)
        await stream.drain()
    if is_text_open:
        stream.send_text_message_end(message_id=message_id)
    for call_id in calls.values():
        stream.send_action_execution_end(action_execution_id=call_id)
