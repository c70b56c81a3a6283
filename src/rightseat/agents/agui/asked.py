"""Interrupts that a peer raised through us: their owners, whether they were answered, and the messages before
them. A stateless peer needs these messages again with the answer, and a text-only client does not have them.
Held in memory: after a restart the peer itself decides whether an interrupt is still open."""

from __future__ import annotations

import uuid
from collections.abc import Callable

from msgspec.structs import replace

from rightseat.agents.agui.threads import belongs, peer_thread
from rightseat.errors import ContinuationGone
from rightseat.types.messages import Message
from rightseat.types.turn import Answer, Turn

# How many open interrupts (with their history) and answered ones are remembered.
_OPEN = 200
_ANSWERED = 5000
GONE = "This question was answered before, or it has expired. Please ask again."
Threads = Callable[[str], uuid.UUID | None]


class Asked:
    """Open and answered interrupts. `thread_of` extracts the thread from an interrupt's id."""

    def __init__(self, thread_of: Threads) -> None:
        self._thread_of = thread_of
        self._before: dict[str, tuple[Message, ...]] = {}
        self._answered: dict[str, None] = {}
        self._last: dict[uuid.UUID, str] = {}

    def found(self, turn: Turn) -> tuple[uuid.UUID, Turn]:
        """Return the peer's thread of a turn, and the turn with the messages that the peer needs again.
        Raises ContinuationGone if an answered interrupt has another owner or is not open."""
        thread = peer_thread(turn.owner, turn.thread)
        turn = replace(turn, answers=tuple(self._named(answer, thread) for answer in turn.answers))
        for answer in turn.answers:
            at = self._thread_of(answer.interrupt)
            if at is None or not belongs(at, turn.owner) or answer.interrupt in self._answered:
                raise ContinuationGone(GONE)
            thread = at
        return thread, self._completed(turn)

    def _named(self, answer: Answer, thread: uuid.UUID) -> Answer:
        """Assign an answer without an id to the thread's latest interrupt. If that is unknown, after a
        restart, the peer decides."""
        if answer.interrupt:
            return answer
        return replace(answer, interrupt=self._last.get(thread, f"agui-{thread.hex}-0-unknown"))

    def _completed(self, turn: Turn) -> Turn:
        kept = next((self._before[a.interrupt] for a in turn.answers if a.interrupt in self._before), ())
        known = {message.id for message in turn.messages}
        missing = any(message.calls and message.id not in known for message in kept)
        return replace(turn, messages=kept) if missing else turn

    def told(self, turn: Turn) -> list[str]:
        """Return the peer's ids of the messages before the interrupts that this turn answers."""
        before = (self._before.get(answer.interrupt, ()) for answer in turn.answers)
        return [message.id for said in before for message in said if message.id]

    def answer(self, turn: Turn) -> None:
        for answer in turn.answers:
            self._answered[answer.interrupt] = None
        while len(self._answered) > _ANSWERED:
            del self._answered[next(iter(self._answered))]

    def done(self, turn: Turn, thread: uuid.UUID, questions: list[str]) -> None:
        """Record the end of a run and the interrupts that it raised."""
        for answer in turn.answers:
            self._before.pop(answer.interrupt, None)
        self._last[thread] = questions[0] if questions else "nothing"
        while len(self._last) > _ANSWERED:
            del self._last[next(iter(self._last))]

    def failed(self, turn: Turn) -> None:
        """Open the turn's interrupts again: the answer did not reach the peer."""
        for answer in turn.answers:
            self._answered.pop(answer.interrupt, None)

    def ask(self, questions: list[str], said: tuple[Message, ...]) -> None:
        for id in questions:
            self._before[id] = said
        while len(self._before) > _OPEN:
            del self._before[next(iter(self._before))]
