"""Toolsets: several combined, those of remote endpoints, and direct tool calls of a client."""

from __future__ import annotations

import hashlib
import time
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence

import msgspec

from rightseat.engine.artifacts import presented
from rightseat.engine.tool_calls import Batch
from rightseat.errors import CallerError, ContinuationGone
from rightseat.types.agents import AgentSource
from rightseat.types.events import Artifact, Event, RunFinished
from rightseat.types.messages import Call, Message
from rightseat.types.model import Model
from rightseat.types.stores import LIFETIME, Continuation, Ids, Store, ticket_of
from rightseat.types.streams import closing
from rightseat.types.tools import Tool, ToolSource
from rightseat.types.turn import Turn

CALLED = ":tools"
"""Name of the responder for tools that a client calls without a model."""
SECONDS = 60.0


class Sources:
    """Several toolsets as one. Of two tools with the same name, the first one counts."""

    def __init__(self, every: Sequence[ToolSource]) -> None:
        self.every = tuple(every)

    def __contains__(self, name: object, /) -> bool:
        return any(name in source for source in self.every)

    @property
    def questions(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(question for source in self.every for question in source.questions))

    @property
    def groups(self) -> dict[str, str]:
        return {id: name for source in reversed(self.every) for id, name in source.groups.items()}

    def asked(self, turn: Turn, /) -> Turn:
        for source in self.every:
            turn = source.asked(turn)
        return turn

    async def offer(self, tools: dict[str, Tool], turn: Turn, said: Sequence[Message], /) -> None:
        for source in self.every:
            await source.offer(tools, turn, said)

    def digest(self, names: Iterable[str], /) -> str:
        listed = list(names)
        return "".join(source.digest(listed) for source in self.every)


class Actions:
    """Actions of remote endpoints as a toolset: those known when a turn starts."""

    questions: tuple[str, ...] = ()

    def __init__(self, places: Sequence[AgentSource]) -> None:
        self.places = tuple(places)

    @property
    def tools(self) -> dict[str, Tool]:
        return {tool.name: tool for place in reversed(self.places) for tool in place.tools}

    @property
    def groups(self) -> dict[str, str]:
        return {}

    def __contains__(self, name: object, /) -> bool:
        return name in self.tools

    def asked(self, turn: Turn, /) -> Turn:
        return turn

    async def offer(self, tools: dict[str, Tool], turn: Turn, said: Sequence[Message], /) -> None:
        for name, tool in self.tools.items():
            tools.setdefault(name, tool)

    def digest(self, names: Iterable[str], /) -> str:
        known = self.tools
        specs = [known[name].spec for name in names if name in known]
        return hashlib.sha256(msgspec.json.encode(specs)).hexdigest()[:16] if specs else ""


class Called:
    """Responder that runs the single tool call of the turn's last message, with the same argument check and
    approval as a model's call."""

    can_ask = True

    def __init__(self, tools: Mapping[str, Tool], store: Store, model: Model) -> None:
        self.tools = tools
        self.store = store
        self.model = model

    async def __call__(self, turn: Turn) -> AsyncIterator[Event]:
        kept = await self.take(turn)
        ids = Ids(kept.ticket, kept.number) if kept else Ids()
        batch = Batch(self.message(turn, kept, ids), self.tools, turn, ids, timeout=SECONDS)
        if kept is None:
            for event in batch.begin(()):
                yield event
        else:
            batch.kept = dict(kept.calls)
            await batch.hear({answer.interrupt: answer for answer in turn.answers}, self.model)
        async with closing(batch.run()) as events:
            async for event in events:
                if isinstance(event, Artifact):
                    for part in await presented(event, turn, self.store):
                        yield part
                else:
                    yield event
        if batch.questions:
            await self.store.save(self.continuation(turn, ids, batch))
            for question in batch.questions:
                yield question
            yield RunFinished("interrupt")
            return
        yield RunFinished("stop")

    def message(self, turn: Turn, kept: Continuation | None, ids: Ids) -> Message:
        if kept is not None:
            if kept.digest != self.digest(kept.added[-1].calls):
                raise ContinuationGone("The tool has changed since it asked. Please call it again.")
            return kept.added[-1]
        if turn.answers:
            raise ContinuationGone("This question was answered before, or it has expired. Please call again.")
        calls = turn.messages[-1].calls if turn.messages else ()
        if len(calls) != 1 or calls[0].name not in self.tools:
            raise CallerError("Call one tool, by a name that tools/list gives.")
        call = Call(ids.call(), calls[0].name, calls[0].arguments)
        return Message("assistant", calls=(call,), id=ids.message())

    async def take(self, turn: Turn) -> Continuation | None:
        answered = {answer.interrupt for answer in turn.answers}
        for ticket in {ticket for ticket in map(ticket_of, answered) if ticket}:
            kept = await self.store.take(turn.owner, ticket)
            if kept is None:
                continue
            if kept.assistant == CALLED:
                return kept
            await self.store.save(kept)
        return None

    def continuation(self, turn: Turn, ids: Ids, batch: Batch) -> Continuation:
        return Continuation(
            ticket=ids.ticket,
            owner=turn.owner,
            assistant=CALLED,
            added=(batch.message,),
            calls=batch.kept,
            rounds=0,
            number=ids.number,
            digest=self.digest(batch.message.calls),
            expires=time.time() + LIFETIME,
        )

    def digest(self, calls: Iterable[Call]) -> str:
        found = [self.tools[call.name] for call in calls if call.name in self.tools]
        told = msgspec.json.encode([(tool.spec, tool.confirm) for tool in found])
        return hashlib.sha256(told).hexdigest()[:16]
