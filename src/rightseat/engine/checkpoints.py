"""Checkpoints of a turn: saved before the calls of an answer begin, restored by the worker that takes the run over.

A call that only reads runs again. One with an effect that may have begun and has no result does not: the person is
asked, or the model is told.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from rightseat.engine.history import split_at_run, trailing_results
from rightseat.engine.repeats import with_answer
from rightseat.engine.resume import claim_continuation
from rightseat.engine.tool_calls import ASKED_ABOUT, MAY_HAVE_RUN, ToolCallBatch, make_rerun_question
from rightseat.engine.turn_state import TurnState
from rightseat.errors import StoreFailed
from rightseat.types.checkpoints import LoggedMessages, RunCheckpoints, TurnCheckpoint
from rightseat.types.events import CallArgs, CallEnd, CallStart, Event, text_events
from rightseat.types.messages import ToolCall
from rightseat.types.model import BoundModel
from rightseat.types.stores import CONTINUATION_SECONDS, CallState, Continuation, IdGenerator, OpenQuestion, parse_id
from rightseat.types.tools import UNANSWERED, Result, error_result
from rightseat.types.turn import Turn

if TYPE_CHECKING:
    from rightseat.engine.loop import Engine

log = logging.getLogger(__name__)
ERROR_RESULT_START = '{"error":{"code":'


# Save


class BatchCheckpoint:
    """Saves the checkpoint of a turn before the calls of its batch run."""

    def __init__(self, checkpoints: RunCheckpoints, state: TurnState, assistant: str, fingerprint: str) -> None:
        self.checkpoints = checkpoints
        self.state = state
        self.assistant = assistant
        self.fingerprint = fingerprint

    async def save(self, batch: ToolCallBatch, calls: Sequence[ToolCall]) -> None:
        """Save that these calls begin. If the store fails, those with an effect do not run: no other worker would know
        of them."""
        try:
            await self.checkpoints.save(self.make_checkpoint(batch, calls))
        except StoreFailed as error:
            log.warning("the calls of a turn are not kept for other workers: the store failed")
            for call in calls:
                if call.id not in batch.early_results and batch.has_effect(call):
                    batch.early_results[call.id] = error_result(error.code, error.message)

    def make_checkpoint(self, batch: ToolCallBatch, calls: Sequence[ToolCall]) -> TurnCheckpoint:
        state, early_results = self.state, batch.early_results
        continuation = Continuation(
            ticket=batch.ids.resume_token,
            owner=batch.turn.owner,
            assistant=self.assistant,
            added=(*batch.turn_messages, batch.message),
            calls=batch.states,
            rounds=state.rounds,
            number=batch.ids.last_number,
            digest=self.fingerprint,
            expires=time.time() + CONTINUATION_SECONDS,
        )
        return TurnCheckpoint(
            continuation=continuation,
            begun=tuple(call.id for call in calls if call.id not in early_results),
            early_results={id: CallState(result=each.text, failed=each.failed) for id, each in early_results.items()},
            answers=batch.turn.answers,
            effect_rule=batch.effect_rule,
            rounds_before=state.rounds_before,
            has_later_messages=bool(state.later_messages),
            truncated=state.truncated,
            repaired=state.repaired,
            usage=state.usage,
        )


# Restore


def restore_answers(turn: Turn, checkpoint: TurnCheckpoint) -> Turn:
    """Return the turn with the answer that its last message was read as."""
    if turn.answers or not checkpoint.answers or not turn.messages:
        return turn
    *history, reply = turn.messages
    return with_answer(turn, history, reply, checkpoint.answers[0])


def has_said_more(checkpoint: TurnCheckpoint | None, logged: LoggedMessages, *, is_done: bool) -> bool:
    """Whether the log has a part of an answer that came after the checkpoint. `is_done`: all calls of the checkpoint
    have results, so that the model was asked again."""
    if checkpoint is None:
        return bool(logged.texts or logged.arguments)
    token, number = checkpoint.continuation.ticket, checkpoint.continuation.number
    for id in logged.starts:
        id_token, id_number = parse_id(id)
        if id_number > number if id_token == token else is_done:
            return True
    return False


async def restore_batch(batch: ToolCallBatch, checkpoint: TurnCheckpoint, logged: LoggedMessages) -> None:
    """Set the calls of the batch to what is known of them: a result, an open question, or that they are to run."""
    owner, continuation = batch.turn.owner, checkpoint.continuation
    paused = None if batch.claim is not None else await batch.store.get_continuation(owner, continuation.ticket)
    if paused is not None and paused.added[-1].id == batch.message.id:
        # It had stopped to wait: all but the end of the run is there.
        batch.states = dict(paused.calls)
        batch.ids.last_number = max(batch.ids.last_number, paused.number)
        return
    batch.states = dict(continuation.calls)
    known_results = dict(checkpoint.early_results)
    stored = await batch.store.get_results(owner, list(checkpoint.begun))
    in_doubt: list[ToolCall] = []
    for call in batch.message.calls:
        if call.id not in checkpoint.begun:
            continue
        text = stored.get(call.id, MAY_HAVE_RUN)
        if text not in (MAY_HAVE_RUN, ASKED_ABOUT, UNANSWERED):
            failed = logged.results[call.id].failed if call.id in logged.results else is_error(text)
            known_results[call.id] = CallState(result=text, failed=failed)
        elif text != UNANSWERED and (call.name not in batch.tools or batch.has_effect(call)):
            in_doubt.append(call)
    for id, state in known_results.items():
        if id in logged.results:
            batch.states[id] = state
        else:
            batch.early_results[id] = Result(state.result, failed=state.failed)
    await settle_doubts(batch, in_doubt)


async def restore_turn(
    engine: Engine, turn: Turn, bound_model: BoundModel, context: int | None, checkpoints: RunCheckpoints
) -> TurnState | None:
    """Return the state of a turn whose worker has died; None where its run cannot go on: a part of an answer is shown
    that nobody has whole, or the tools of its calls have changed."""
    checkpoint, logged = checkpoints.saved, checkpoints.logged
    assert checkpoint is not None
    assert logged is not None
    turn = restore_answers(turn, checkpoint)
    continuation = checkpoint.continuation
    results = trailing_results(turn.messages)
    before_run, after_run = split_at_run(turn.messages, continuation.ticket)
    state = TurnState(
        turn,
        bound_model,
        ids=IdGenerator(continuation.ticket, continuation.number),
        tools=await engine.collect_tools(turn, continuation.added),
        history=before_run,
        turn_messages=list(continuation.added[:-1]),
        later_messages=tuple(m for m in after_run if m.role != "tool") if checkpoint.has_later_messages else (),
        rounds=continuation.rounds,
        rounds_before=checkpoint.rounds_before,
        usage=checkpoint.usage,
        context=context,
        truncated=checkpoint.truncated,
        repaired=checkpoint.repaired,
        effect_rule=checkpoint.effect_rule,
    )
    batch = state.batch = engine.make_batch(state, continuation.added[-1])
    # The answer of the turn is used already: nobody else may give it again.
    batch.claim = await claim_continuation(engine.store, turn, engine.assistant.name, results)
    await restore_batch(batch, checkpoint, logged)
    is_done = all(state.result is not None or id in batch.early_results for id, state in batch.states.items())
    has_changed = continuation.digest != engine.tools_fingerprint(batch.message.calls)
    if has_said_more(checkpoint, logged, is_done=is_done) or (has_changed and not is_done):
        if batch.claim is not None:
            await batch.claim.settle()
        return None
    if continuation.rounds > checkpoint.rounds_before:
        # Not of the question that the turn answers: an earlier run has shown that.
        state.first_events = list(list_missing_events(batch, logged))
    return state


def is_error(text: str) -> bool:
    return text.startswith(ERROR_RESULT_START)


async def settle_doubts(batch: ToolCallBatch, calls: Sequence[ToolCall]) -> None:
    """Ask the person about calls that may have had their effect where the door shows questions, else tell the model."""
    can_ask = batch.turn.client.shows_interrupts and batch.turn.output_schema is None
    for call in calls:
        if not can_ask or call.name not in batch.tools:
            batch.early_results[call.id] = Result(MAY_HAVE_RUN, failed=True)
            continue
        ask = make_rerun_question(call, batch.turn.get_language())
        question = OpenQuestion(batch.make_interrupt(ask, call.id), ask)
        batch.states[call.id] = CallState(open=(question,), may_have_run=True)
    if questions := {id: ASKED_ABOUT for id, state in batch.states.items() if state.may_have_run}:
        await batch.store.save_results(batch.turn.owner, questions)


def list_missing_events(batch: ToolCallBatch, logged: LoggedMessages) -> Iterator[Event]:
    """Yield what the log lacks of the answer that made the calls: the log is written a moment later."""
    message = batch.message
    id, text = message.id or "", message.text
    shown = "".join(logged.texts.get(id, []))
    if id not in logged.ended_texts and len(shown) < len(text) and text.startswith(shown):
        yield from text_events(batch.ids.new_message_id() if shown else id, text[len(shown) :])
    for call in message.calls:
        has_result = call.id in logged.results or call.id in batch.early_results
        if call.id in logged.ended_calls or (call.id in logged.arguments and has_result):
            continue
        if call.id not in logged.arguments:
            yield CallStart(call.id, call.name, id, batch.states[call.id].client)
        arguments = "".join(logged.arguments.get(call.id, []))
        if len(arguments) < len(call.arguments) and call.arguments.startswith(arguments):
            yield CallArgs(call.id, call.arguments[len(arguments) :])
        yield CallEnd(call.id)
