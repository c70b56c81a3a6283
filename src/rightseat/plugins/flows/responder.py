"""Flows as tools and as Responders.

A Responder calls the flow once; its questions interrupt the turn and its text is the answer.
"""

from __future__ import annotations

import time
from collections.abc import AsyncIterator

import msgspec

from rightseat.engine.artifacts import present_artifact
from rightseat.engine.assembler import text_events
from rightseat.engine.tool_calls import ToolCallBatch
from rightseat.errors import CallerError, ContinuationGone, FlowFailed, FlowStopped
from rightseat.plugins.flows.diary import FlowCheckpoint
from rightseat.plugins.flows.flow import Flow
from rightseat.plugins.flows.perform import GRACE_SECONDS, FlowTool, GetServices
from rightseat.tools.delegate import REQUEST_SCHEMA
from rightseat.types.events import Artifact, CallResult, Event, RunFinished
from rightseat.types.messages import Message, ToolCall
from rightseat.types.stores import (
    CONTINUATION_SECONDS,
    CheckpointStore,
    Continuation,
    IdGenerator,
    Store,
    parse_resume_token,
)
from rightseat.types.streams import closing
from rightseat.types.tools import Tool
from rightseat.types.turn import MAX_AGENT_DEPTH, Turn

CALL_NAME = "flow"
# Ends that a person has chosen: they are reported, not raised.
CHOSEN_ENDS = ("cancelled", "no_answer", FlowStopped.code)
# Messages to the user; the tool results are worded for a model.
END_MESSAGES = {
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
        get_services: GetServices,
        store: Store,
        *,
        question: str = "",
        fingerprint: str = "",
    ) -> None:
        self.name = name
        self.flow = flow
        self.get_services = get_services
        self.store = store
        self.checkpoint_store = store if isinstance(store, CheckpointStore) else None
        self.question = question or flow.description or flow.name
        self.digest = f"{flow.digest}{fingerprint}"

    async def __call__(self, turn: Turn) -> AsyncIterator[Event]:
        if turn.depth > MAX_AGENT_DEPTH:
            raise CallerError(
                f"Assistants call each other more than {MAX_AGENT_DEPTH} deep. Break the circle."
            )
        flow_tool = FlowTool(self.flow, self.get_services, self.checkpoint_store, answers_user=True)
        tool = Tool(CALL_NAME, "", REQUEST_SCHEMA, flow_tool.call, timeout=self.flow.timeout + GRACE_SECONDS)
        ids, batch = await self.begin(turn, tool)
        result: CallResult | None = None
        async with closing(batch.run()) as events:
            async for event in events:
                if isinstance(event, CallResult):
                    result = event
                elif isinstance(event, Artifact):
                    for part in await present_artifact(event, turn, self.store):
                        yield part
                else:
                    yield event
        if batch.open_interrupts:
            await self.save_continuation(turn, ids, batch)
            for question in batch.open_interrupts:
                yield question
            yield RunFinished("interrupt", flow_tool.usage)
            return
        if result is not None and result.failed:
            for event in text_events(ids.new_message_id(), describe_chosen_end(result.content)):
                yield event
        yield RunFinished("stop", flow_tool.usage)

    async def begin(self, turn: Turn, tool: Tool) -> tuple[IdGenerator, ToolCallBatch]:
        """Return the call to run: a new one, or the one saved when it paused."""
        continuation = await self.take_continuation(turn)
        if continuation is None:
            interrupted = await FlowCheckpoint(self.checkpoint_store, turn.owner).find_interrupted_question(
                self.flow, turn
            )
            if turn.answers and not interrupted:
                raise ContinuationGone(
                    "This question was answered before, or it has expired. Please ask again."
                )
            ids = IdGenerator()
            arguments = msgspec.json.encode({"request": interrupted or self.get_question(turn)}).decode()
            message = Message(
                "assistant",
                calls=(ToolCall(ids.new_call_id(), CALL_NAME, arguments),),
                id=ids.new_message_id(),
            )
            batch = self.make_batch(message, tool, turn, ids)
            batch.begin(())
            return ids, batch
        if continuation.digest != self.digest:
            raise ContinuationGone("The flow has changed since it asked. Please ask again from the start.")
        ids = IdGenerator(continuation.ticket, continuation.number)
        batch = self.make_batch(continuation.added[-1], tool, turn, ids)
        batch.states = dict(continuation.calls)
        model = self.get_services(self.flow, turn).model
        await batch.accept_answers({answer.interrupt: answer for answer in turn.answers}, model)
        if batch.early_results:
            await self.abandon(turn, continuation)
        return ids, batch

    async def abandon(self, turn: Turn, continuation: Continuation) -> None:
        checkpoint = FlowCheckpoint(self.checkpoint_store, turn.owner)
        try:
            for call in continuation.calls.values():
                if call.paused:
                    await checkpoint.abandon(call.state, self.flow)
        finally:
            checkpoint.close()

    def make_batch(self, message: Message, tool: Tool, turn: Turn, ids: IdGenerator) -> ToolCallBatch:
        return ToolCallBatch(message, {CALL_NAME: tool}, turn, ids, timeout=self.flow.timeout + GRACE_SECONDS)

    def get_question(self, turn: Turn) -> str:
        user_texts = (message.text.strip() for message in reversed(turn.messages) if message.role == "user")
        return next(user_texts, "") or self.question

    async def take_continuation(self, turn: Turn) -> Continuation | None:
        """Take the continuation that this turn answers; put back one of another assistant."""
        answered = {answer.interrupt for answer in turn.answers}
        for ticket in {ticket for ticket in map(parse_resume_token, answered) if ticket}:
            continuation = await self.store.take_continuation(turn.owner, ticket)
            if continuation is None:
                continue
            asked = {question.interrupt.id for call in continuation.calls.values() for question in call.open}
            if continuation.assistant == self.name and answered & asked:
                return continuation
            await self.store.save_continuation(continuation)
        return None

    async def save_continuation(self, turn: Turn, ids: IdGenerator, batch: ToolCallBatch) -> None:
        await self.store.save_continuation(
            Continuation(
                ticket=ids.resume_token,
                owner=turn.owner,
                assistant=self.name,
                added=(batch.message,),
                calls=batch.states,
                rounds=0,
                number=ids.last_number,
                digest=self.digest,
                expires=time.time() + CONTINUATION_SECONDS,
            )
        )


def describe_chosen_end(content: str) -> str:
    """Return the message for an end that a person has chosen; raise any other failure."""
    error = msgspec.json.decode(content)["error"]
    code, message = error["code"], error["message"]
    if code == ContinuationGone.code:
        raise ContinuationGone(message)
    if code not in CHOSEN_ENDS:
        raise FlowFailed(message)
    return END_MESSAGES.get(code, str(message))
