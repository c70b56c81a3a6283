"""Flows as tools and as Responders.

A Responder calls the flow once; its questions interrupt the turn and its text is the answer.
"""

from __future__ import annotations

import time
from collections.abc import AsyncIterator

import msgspec

from rightseat.engine.artifacts import presented
from rightseat.engine.assembler import spoken
from rightseat.engine.tool_calls import Batch
from rightseat.errors import CallerError, ContinuationGone, FlowFailed, FlowStopped
from rightseat.plugins.flows.diary import Diary
from rightseat.plugins.flows.flow import Flow
from rightseat.plugins.flows.perform import GRACE, KitOf, Performance
from rightseat.tools.delegate import REQUEST
from rightseat.types.events import Artifact, CallResult, Event, RunFinished
from rightseat.types.messages import Call, Message
from rightseat.types.stores import LIFETIME, Continuation, Ids, Notes, Store, ticket_of
from rightseat.types.streams import closing
from rightseat.types.tools import Tool
from rightseat.types.turn import MAX_DEPTH, Turn

CALL = "flow"
# Ends that a person has chosen: they are reported, not raised.
CHOSEN = ("cancelled", "no_answer", FlowStopped.code)
# Messages to the user; the tool results are worded for a model.
TOLD = {
    "cancelled": "The flow ends here: its question was not answered.",
    "no_answer": "The flow ends here: it has asked three times, and none of the answers could be used.",
}


class FlowResponder:
    """Answers a turn with a flow. `name` is its name at the doors; `question` stands in for an empty one."""

    can_ask = True

    def __init__(
        self,
        name: str,
        flow: Flow,
        kit_of: KitOf,
        store: Store,
        *,
        question: str = "",
        seal: str = "",
    ) -> None:
        self.name = name
        self.flow = flow
        self.kit_of = kit_of
        self.store = store
        self.notes = store if isinstance(store, Notes) else None
        self.question = question or flow.description or flow.name
        self.digest = f"{flow.digest}{seal}"

    async def __call__(self, turn: Turn) -> AsyncIterator[Event]:
        if turn.depth > MAX_DEPTH:
            raise CallerError(f"Assistants call each other more than {MAX_DEPTH} deep. Break the circle.")
        performance = Performance(self.flow, self.kit_of, self.notes, speaks=True)
        tool = Tool(CALL, "", REQUEST, performance.call, timeout=self.flow.timeout + GRACE)
        ids, batch = await self.begin(turn, tool)
        ended: CallResult | None = None
        async with closing(batch.run()) as events:
            async for event in events:
                if isinstance(event, CallResult):
                    ended = event
                elif isinstance(event, Artifact):
                    for part in await presented(event, turn, self.store):
                        yield part
                else:
                    yield event
        if batch.questions:
            await self.save(turn, ids, batch)
            for question in batch.questions:
                yield question
            yield RunFinished("interrupt", performance.usage)
            return
        if ended is not None and ended.failed:
            for event in spoken(ids.message(), chosen(ended.content)):
                yield event
        yield RunFinished("stop", performance.usage)

    async def begin(self, turn: Turn, tool: Tool) -> tuple[Ids, Batch]:
        """Return the call to run: a new one, or the one saved when it paused."""
        kept = await self.take(turn)
        if kept is None:
            left = await Diary(self.notes, turn.owner).left(self.flow, turn)
            if turn.answers and not left:
                raise ContinuationGone(
                    "This question was answered before, or it has expired. Please ask again."
                )
            ids = Ids()
            asked = msgspec.json.encode({"request": left or self.asked(turn)}).decode()
            message = Message("assistant", calls=(Call(ids.call(), CALL, asked),), id=ids.message())
            batch = self.batch(message, tool, turn, ids)
            batch.begin(())
            return ids, batch
        if kept.digest != self.digest:
            raise ContinuationGone("The flow has changed since it asked. Please ask again from the start.")
        ids = Ids(kept.ticket, kept.number)
        batch = self.batch(kept.added[-1], tool, turn, ids)
        batch.kept = dict(kept.calls)
        model = self.kit_of(self.flow, turn).model
        await batch.hear({answer.interrupt: answer for answer in turn.answers}, model)
        if batch.verdicts:
            await self.give_up(turn, kept)
        return ids, batch

    async def give_up(self, turn: Turn, kept: Continuation) -> None:
        diary = Diary(self.notes, turn.owner)
        try:
            for call in kept.calls.values():
                if call.paused:
                    await diary.give_up(call.state, self.flow)
        finally:
            diary.close()

    def batch(self, message: Message, tool: Tool, turn: Turn, ids: Ids) -> Batch:
        return Batch(message, {CALL: tool}, turn, ids, timeout=self.flow.timeout + GRACE)

    def asked(self, turn: Turn) -> str:
        said = (message.text.strip() for message in reversed(turn.messages) if message.role == "user")
        return next(said, "") or self.question

    async def take(self, turn: Turn) -> Continuation | None:
        """Take the continuation that this turn answers; put back one of another assistant."""
        answered = {answer.interrupt for answer in turn.answers}
        for ticket in {ticket for ticket in map(ticket_of, answered) if ticket}:
            kept = await self.store.take(turn.owner, ticket)
            if kept is None:
                continue
            asked = {question.interrupt.id for call in kept.calls.values() for question in call.open}
            if kept.assistant == self.name and answered & asked:
                return kept
            await self.store.save(kept)
        return None

    async def save(self, turn: Turn, ids: Ids, batch: Batch) -> None:
        await self.store.save(
            Continuation(
                ticket=ids.ticket,
                owner=turn.owner,
                assistant=self.name,
                added=(batch.message,),
                calls=batch.kept,
                rounds=0,
                number=ids.number,
                digest=self.digest,
                expires=time.time() + LIFETIME,
            )
        )


def chosen(content: str) -> str:
    """Return the message for an end that a person has chosen; raise any other failure."""
    error = msgspec.json.decode(content)["error"]
    code, message = error["code"], error["message"]
    if code == ContinuationGone.code:
        raise ContinuationGone(message)
    if code not in CHOSEN:
        raise FlowFailed(message)
    return TOLD.get(code, str(message))
