"""Toolsets: several combined, those of remote endpoints, and direct tool calls of a client."""

from __future__ import annotations

import hashlib
import time
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence

import msgspec

from rightseat.engine.artifacts import present_artifact
from rightseat.engine.tool_calls import ToolCallBatch
from rightseat.errors import CallerError, ContinuationGone
from rightseat.types.agents import AgentSource
from rightseat.types.events import Artifact, Event, RunFinished
from rightseat.types.messages import Message, ToolCall
from rightseat.types.model import Model
from rightseat.types.stores import CONTINUATION_SECONDS, Continuation, IdGenerator, Store, parse_resume_token
from rightseat.types.streams import closing
from rightseat.types.tools import Tool, Toolset
from rightseat.types.turn import Turn

DIRECT_CALLS = ":tools"
"""Name of the responder for tools that a client calls without a model."""
CALL_TIMEOUT = 60.0


class CombinedToolset:
    """Several toolsets as one. Of two tools with the same name, the first one counts."""

    def __init__(self, toolsets: Sequence[Toolset]) -> None:
        self.toolsets = tuple(toolsets)

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

    def fingerprint(self, names: Iterable[str], /) -> str:
        tool_names = list(names)
        return "".join(source.fingerprint(tool_names) for source in self.toolsets)


class RemoteActions:
    """Actions of remote endpoints as a toolset: those known when a turn starts."""

    suggestions: tuple[str, ...] = ()

    def __init__(self, agent_sources: Sequence[AgentSource]) -> None:
        self.agent_sources = tuple(agent_sources)

    @property
    def tools(self) -> dict[str, Tool]:
        return {tool.name: tool for place in reversed(self.agent_sources) for tool in place.tools}

    @property
    def groups(self) -> dict[str, str]:
        return {}

    def __contains__(self, name: object, /) -> bool:
        return name in self.tools

    def with_default_question(self, turn: Turn, /) -> Turn:
        return turn

    async def add_tools(self, tools: dict[str, Tool], turn: Turn, turn_messages: Sequence[Message], /) -> None:
        for name, tool in self.tools.items():
            tools.setdefault(name, tool)

    def fingerprint(self, names: Iterable[str], /) -> str:
        known = self.tools
        specs = [known[name].spec for name in names if name in known]
        return hashlib.sha256(msgspec.json.encode(specs)).hexdigest()[:16] if specs else ""


class DirectToolCall:
    """Responder that runs the single tool call of the turn's last message, with the same argument check and
    approval as a model's call."""

    can_ask = True

    def __init__(self, tools: Mapping[str, Tool], store: Store, model: Model) -> None:
        self.tools = tools
        self.store = store
        self.model = model

    async def __call__(self, turn: Turn) -> AsyncIterator[Event]:
        continuation = await self.take_continuation(turn)
        ids = IdGenerator(continuation.ticket, continuation.number) if continuation else IdGenerator()
        batch = ToolCallBatch(self.make_message(turn, continuation, ids), self.tools, turn, ids, timeout=CALL_TIMEOUT)
        if continuation is None:
            for event in batch.begin(()):
                yield event
        else:
            batch.states = dict(continuation.calls)
            await batch.accept_answers({answer.interrupt: answer for answer in turn.answers}, self.model)
        async with closing(batch.run()) as events:
            async for event in events:
                if isinstance(event, Artifact):
                    for part in await present_artifact(event, turn, self.store):
                        yield part
                else:
                    yield event
        if batch.open_interrupts:
            await self.store.save_continuation(self.make_continuation(turn, ids, batch))
            for question in batch.open_interrupts:
                yield question
            yield RunFinished("interrupt")
            return
        yield RunFinished("stop")

    def make_message(self, turn: Turn, continuation: Continuation | None, ids: IdGenerator) -> Message:
        if continuation is not None:
            if continuation.digest != self.tools_fingerprint(continuation.added[-1].calls):
                raise ContinuationGone("The tool has changed since it asked. Please call it again.")
            return continuation.added[-1]
        if turn.answers:
            raise ContinuationGone("This question was answered before, or it has expired. Please call again.")
        calls = turn.messages[-1].calls if turn.messages else ()
        if len(calls) != 1 or calls[0].name not in self.tools:
            raise CallerError("Call one tool, by a name that tools/list gives.")
        call = ToolCall(ids.new_call_id(), calls[0].name, calls[0].arguments)
        return Message("assistant", calls=(call,), id=ids.new_message_id())

    async def take_continuation(self, turn: Turn) -> Continuation | None:
        answered = {answer.interrupt for answer in turn.answers}
        for token in {token for token in map(parse_resume_token, answered) if token}:
            continuation = await self.store.take_continuation(turn.owner, token)
            if continuation is None:
                continue
            if continuation.assistant == DIRECT_CALLS:
                return continuation
            await self.store.save_continuation(continuation)
        return None

    def make_continuation(self, turn: Turn, ids: IdGenerator, batch: ToolCallBatch) -> Continuation:
        return Continuation(
            ticket=ids.resume_token,
            owner=turn.owner,
            assistant=DIRECT_CALLS,
            added=(batch.message,),
            calls=batch.states,
            rounds=0,
            number=ids.last_number,
            digest=self.tools_fingerprint(batch.message.calls),
            expires=time.time() + CONTINUATION_SECONDS,
        )

    def tools_fingerprint(self, calls: Iterable[ToolCall]) -> str:
        tools = [self.tools[call.name] for call in calls if call.name in self.tools]
        encoded = msgspec.json.encode([(tool.spec, tool.confirm) for tool in tools])
        return hashlib.sha256(encoded).hexdigest()[:16]
