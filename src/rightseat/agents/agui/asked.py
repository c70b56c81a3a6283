"""Interrupts that a peer raised through us: their owners, whether they were answered, and the messages before
them. A stateless peer needs these messages again with the answer, and a text-only client does not have them.
Held in memory: after a restart the peer itself decides whether an interrupt is still open."""

from __future__ import annotations

import uuid
from collections.abc import Callable

from msgspec.structs import replace

from rightseat.agents.agui.threads import is_owned_by, make_peer_thread_id
from rightseat.errors import ContinuationGone
from rightseat.types.messages import Message
from rightseat.types.turn import InterruptAnswer, Turn

# How many open interrupts (with their history) and answered ones are remembered.
_MAX_OPEN = 200
_MAX_ANSWERED = 5000
GONE = "This question was answered before, or it has expired. Please ask again."
ThreadLookup = Callable[[str], uuid.UUID | None]


class PendingInterrupts:
    """Open and answered interrupts. `thread_of` extracts the thread from an interrupt's id."""

    def __init__(self, thread_of: ThreadLookup) -> None:
        self._thread_of = thread_of
        self._history: dict[str, tuple[Message, ...]] = {}
        self._answered: dict[str, None] = {}
        self._latest: dict[uuid.UUID, str] = {}

    def resolve_turn(self, turn: Turn) -> tuple[uuid.UUID, Turn]:
        """Return the peer's thread of a turn, and the turn with the messages that the peer needs again.
        Raises ContinuationGone if an answered interrupt has another owner or is not open."""
        thread = make_peer_thread_id(turn.owner, turn.thread)
        turn = replace(
            turn, answers=tuple(self._with_interrupt_id(answer, thread) for answer in turn.answers)
        )
        for answer in turn.answers:
            interrupt_thread = self._thread_of(answer.interrupt)
            if (
                interrupt_thread is None
                or not is_owned_by(interrupt_thread, turn.owner)
                or answer.interrupt in self._answered
            ):
                raise ContinuationGone(GONE)
            thread = interrupt_thread
        return thread, self._with_missing_messages(turn)

    def _with_interrupt_id(self, answer: InterruptAnswer, thread: uuid.UUID) -> InterruptAnswer:
        """Assign an answer without an id to the thread's latest interrupt. If that is unknown, after a
        restart, the peer decides."""
        if answer.interrupt:
            return answer
        return replace(answer, interrupt=self._latest.get(thread, f"agui-{thread.hex}-0-unknown"))

    def _with_missing_messages(self, turn: Turn) -> Turn:
        history = next((self._history[a.interrupt] for a in turn.answers if a.interrupt in self._history), ())
        known = {message.id for message in turn.messages}
        missing = any(message.calls and message.id not in known for message in history)
        return replace(turn, messages=history) if missing else turn

    def earlier_message_ids(self, turn: Turn) -> list[str]:
        """Return the peer's ids of the messages before the interrupts that this turn answers."""
        before = (self._history.get(answer.interrupt, ()) for answer in turn.answers)
        return [message.id for said in before for message in said if message.id]

    def mark_answered(self, turn: Turn) -> None:
        for answer in turn.answers:
            self._answered[answer.interrupt] = None
        while len(self._answered) > _MAX_ANSWERED:
            del self._answered[next(iter(self._answered))]

    def finish_turn(self, turn: Turn, thread: uuid.UUID, interrupt_ids: list[str]) -> None:
        """Record the end of a run and the interrupts that it raised."""
        for answer in turn.answers:
            self._history.pop(answer.interrupt, None)
        self._latest[thread] = interrupt_ids[0] if interrupt_ids else "nothing"
        while len(self._latest) > _MAX_ANSWERED:
            del self._latest[next(iter(self._latest))]

    def reopen(self, turn: Turn) -> None:
        """Open the turn's interrupts again: the answer did not reach the peer."""
        for answer in turn.answers:
            self._answered.pop(answer.interrupt, None)

    def remember_history(self, interrupt_ids: list[str], history: tuple[Message, ...]) -> None:
        for id in interrupt_ids:
            self._history[id] = history
        while len(self._history) > _MAX_OPEN:
            del self._history[next(iter(self._history))]
