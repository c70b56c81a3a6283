"""Pause and resume of a turn: its Continuation is saved once a call waits, claimed by the turn that answers it, and
settled when its calls have run."""

from __future__ import annotations

import time
from collections.abc import Mapping

from rightseat.engine.repeats import reopen_question, save_waiting_question
from rightseat.engine.tool_calls import ToolCallBatch
from rightseat.types.events import Event, RunFinished, RunFinishReason, Usage
from rightseat.types.model import Model
from rightseat.types.stores import CONTINUATION_SECONDS, Continuation, ContinuationClaim, Store, parse_resume_token
from rightseat.types.turn import Turn


async def claim_continuation(
    store: Store, turn: Turn, assistant: str, results: Mapping[str, str] = {}
) -> ContinuationClaim | None:
    """Claim the assistant's continuation that the turn's answers or client `results` are for; others stay stored."""
    answered_ids = {*results, *(answer.interrupt for answer in turn.answers)}
    for token in {token for token in map(parse_resume_token, answered_ids) if token}:
        continuation = await store.claim_continuation(turn.owner, token, assistant, answered_ids)
        if continuation is not None:
            return ContinuationClaim(store, continuation)
    return None


async def resume_batch(
    batch: ToolCallBatch, claim: ContinuationClaim, model: Model, results: Mapping[str, str] = {}
) -> None:
    """Set the calls of the batch to their saved states and apply the client's results and the person's answers."""
    batch.claim = claim
    batch.states = dict(claim.continuation.calls)
    batch.accept_client_results(results)
    questions = batch.open_interrupts
    try:
        await batch.accept_answers({answer.interrupt: answer for answer in batch.turn.answers}, model)
        await batch.accept_stored_results()
    except BaseException:
        # The client may leave while the model reads its answer. Nothing has run yet: the questions stay open.
        await claim.release()
        await reopen_question(batch.store, batch.turn, claim.continuation.assistant, questions)
        raise


async def pause_batch(
    batch: ToolCallBatch,
    assistant: str,
    fingerprint: str,
    usage: Usage | None = None,
    rounds: int = 0,
    reason: RunFinishReason = "calls",
) -> list[Event]:
    """Save the continuation of a batch that waits; return the events that end the turn. `reason`: why the run ends
    where only client calls wait."""
    continuation = Continuation(
        ticket=batch.ids.resume_token,
        owner=batch.turn.owner,
        assistant=assistant,
        added=(*batch.turn_messages, batch.message),
        calls=batch.states,
        rounds=rounds,
        number=batch.ids.last_number,
        digest=fingerprint,
        expires=time.time() + CONTINUATION_SECONDS,
    )
    await batch.store.save_continuation(continuation)
    if batch.claim is not None:
        # The new continuation has taken the place of the claimed one.
        batch.claim.is_open = False
    interrupts = batch.open_interrupts
    await save_waiting_question(batch.store, batch.turn, assistant, interrupts)
    return [*interrupts, RunFinished("interrupt" if interrupts else reason, usage, batch.waiting_client_calls)]
