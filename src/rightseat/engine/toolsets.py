"""Toolsets: several combined, those of remote endpoints, and direct tool calls of a client."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from rightseat.engine.resume import claim_continuation, pause_batch, resume_batch
from rightseat.engine.tool_calls import ToolCallBatch
from rightseat.errors import CallerError, ContinuationGone
from rightseat.types.agents import AgentSource
from rightseat.types.events import Event, RunFinished
from rightseat.types.messages import Message, ToolCall
from rightseat.types.model import Model
from rightseat.types.sentences import get_sentence
from rightseat.types.stores import ContinuationClaim, IdGenerator, Store
from rightseat.types.streams import closing
from rightseat.types.tools import Tool, Toolset, fingerprint_tools
from rightseat.types.turn import Turn

DIRECT_CALLS = ":tools"
"""Name of the responder for tools that a client calls without a model."""
CALL_TIMEOUT = 60.0


@dataclass(frozen=True)
class CombinedToolset:
    """Several toolsets as one. Of two tools with the same name, the first one counts."""

    toolsets: Sequence[Toolset]

    def __contains__(self, name: object, /) -> bool:
        return any(name in source for source in self.toolsets)

    @property
    def suggestions(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(question for source in self.toolsets for question in source.suggestions))

    @property
    def groups(self) -> dict[str, str]:
        return {id: name for source in reversed(self.toolsets) for id, name in source.groups.items()}

    def with_default_question(self, turn: Turn, /) -> Turn:
        for source in self.toolsets:
            turn = source.with_default_question(turn)
        return turn

    async def add_tools(self, tools: dict[str, Tool], turn: Turn, turn_messages: Sequence[Message], /) -> None:
        for source in self.toolsets:
            await source.add_tools(tools, turn, turn_messages)

    async def wait_for_tools(self, names: Collection[str], /) -> None:
        for source in self.toolsets:
            await source.wait_for_tools(names)

    def fingerprint(self, names: Iterable[str], /) -> str:
        tool_names = list(names)
        return "".join(source.fingerprint(tool_names) for source in self.toolsets)


@dataclass(frozen=True)
class RemoteActions(Toolset):
    """Actions of remote endpoints as a toolset: those known when a turn starts."""

    agent_sources: Sequence[AgentSource]
    chosen: Mapping[int, Collection[str]] = field(default_factory=dict)
    """Names of the actions that the assistant may use of a source, by its index; of any other source all."""

    @property
    def tools(self) -> dict[str, Tool]:
        sources = reversed(list(enumerate(self.agent_sources)))
        tools = ((index, tool) for index, source in sources for tool in source.tools)
        return {tool.name: tool for index, tool in tools if tool.name in self.chosen.get(index, (tool.name,))}

    def __contains__(self, name: object, /) -> bool:
        return name in self.tools

    async def add_tools(self, tools: dict[str, Tool], turn: Turn, turn_messages: Sequence[Message], /) -> None:
        for name, tool in self.tools.items():
            tools.setdefault(name, tool)

    def fingerprint(self, names: Iterable[str], /) -> str:
        known = self.tools
        named = [known[name] for name in names if name in known]
        return fingerprint_tools(named) if named else ""


@dataclass(frozen=True)
class DirectToolCall:
    """Responder that runs the single tool call of the turn's last message, with the same argument check and
    approval as a model's call."""

    tools: Mapping[str, Tool]
    store: Store
    model: Model
    presents_artifacts: ClassVar[bool] = True

    async def __call__(self, turn: Turn) -> AsyncIterator[Event]:
        claim = await claim_continuation(self.store, turn, DIRECT_CALLS)
        if claim is None:
            batch = self.make_batch(self.make_message(turn, ids := IdGenerator()), turn, ids)
            for event in batch.begin():
                yield event
        else:
            async with claim:
                batch = await self.resume(turn, claim)
        async with closing(batch.run()) as events:
            async for event in events:
                yield event
        if not batch.open_interrupts:
            yield RunFinished("stop")
            return
        for event in await pause_batch(batch, DIRECT_CALLS, self.tools_fingerprint(batch.message.calls)):
            yield event

    async def resume(self, turn: Turn, claim: ContinuationClaim) -> ToolCallBatch:
        """Return the call that the turn answers a question of."""
        continuation = claim.continuation
        message = continuation.added[-1]
        if continuation.digest != self.tools_fingerprint(message.calls):
            raise ContinuationGone(get_sentence("tool_changed", turn.get_language()))
        batch = self.make_batch(message, turn, IdGenerator(continuation.ticket, continuation.number))
        batch.keeps_results = True
        await resume_batch(batch, claim, self.model)
        return batch

    def make_batch(self, message: Message, turn: Turn, ids: IdGenerator) -> ToolCallBatch:
        return ToolCallBatch(message, self.tools, turn, ids, self.store, CALL_TIMEOUT)

    def make_message(self, turn: Turn, ids: IdGenerator) -> Message:
        """Return the assistant message with the call of the turn's last message."""
        if turn.answers:
            raise ContinuationGone(get_sentence("call_expired", turn.get_language()))
        calls = turn.messages[-1].calls if turn.messages else ()
        if len(calls) != 1 or calls[0].name not in self.tools:
            raise CallerError("Call one tool, by a name that tools/list gives.")
        call = ToolCall(ids.new_call_id(), calls[0].name, calls[0].arguments)
        return Message("assistant", calls=(call,), id=ids.new_message_id())

    def tools_fingerprint(self, calls: Iterable[ToolCall]) -> str:
        return fingerprint_tools(self.tools[call.name] for call in calls if call.name in self.tools)
