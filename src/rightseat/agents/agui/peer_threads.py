"""PeerThreads: what we remember of the threads of a remote agent, which keeps conversations itself.

Where workers share a store, it is kept there at the end of each run and read before the next: any worker may get the
next request of a conversation.
"""

from __future__ import annotations

import hashlib
import logging
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from rightseat.agents._peer.json_text import drop_oldest
from rightseat.agents.agui.interrupts import is_owned_by, make_peer_thread_id
from rightseat.errors import ContinuationGone, StoreFailed
from rightseat.types.messages import Message
from rightseat.types.sentences import get_sentence
from rightseat.types.stores import SharedCheckpointStore
from rightseat.types.turn import InterruptAnswer, Owner, Turn

log = logging.getLogger(__name__)
# How many open interrupts (with their history), answered ones, tool results and stopped nodes are remembered.
_MAX_OPEN = 200
_MAX_ANSWERED = 5000
_MAX_NODES = 1000
_MAX_THREAD_RESULTS = 1000
"""Tool results of one thread whose ids are kept in the store."""
RECORD_SECONDS = 30 * 24 * 3600.0


class PeerThreadRecord(Struct, frozen=True, omit_defaults=True):
    """What workers know of one thread, as stored."""

    latest: str = ""
    node: str = ""
    result_ids: dict[str, str] = {}
    histories: dict[str, tuple[Message, ...]] = {}


NOTHING_KNOWN = PeerThreadRecord(latest="nothing")
_encode = msgspec.json.Encoder(enc_hook=str).encode
_decoder = msgspec.json.Decoder(PeerThreadRecord)


class PeerThreads:
    """What we remember of a peer's threads: open and answered interrupts, the messages before them, the ids of tool
    results, and the node where an agent stopped. `thread_of` extracts the thread from an interrupt's id."""

    def __init__(self, agent: str, thread_of: Callable[[str], uuid.UUID | None]) -> None:
        self._agent = agent
        self._thread_of = thread_of
        self._nodes: dict[uuid.UUID, str] = {}
        self._records: dict[uuid.UUID, PeerThreadRecord] = {}
        """What the store had of a thread when it was last read or written."""
        self._history: dict[str, tuple[Message, ...]] = {}
        self._answered: dict[str, None] = {}
        self._latest: dict[uuid.UUID, str] = {}
        self._result_ids: dict[tuple[uuid.UUID, str], str] = {}

    def resolve_turn(self, turn: Turn) -> tuple[uuid.UUID, Turn]:
        """Return the peer's thread of a turn, and the turn with the messages that the peer needs again.
        Raises ContinuationGone if an answered interrupt has another owner or is not open."""
        thread = make_peer_thread_id(turn.owner, turn.thread)
        turn = replace(turn, answers=tuple(self._with_interrupt_id(answer, thread) for answer in turn.answers))
        for answer in turn.answers:
            interrupt_thread = self._thread_of(answer.interrupt)
            is_owned = interrupt_thread is not None and is_owned_by(interrupt_thread, turn.owner)
            if interrupt_thread is None or not is_owned or answer.interrupt in self._answered:
                raise ContinuationGone(get_sentence("ask_expired", turn.get_language()))
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
        histories = (self._history.get(answer.interrupt, ()) for answer in turn.answers)
        return [message.id for history in histories for message in history if message.id]

    def get_result_id(self, thread: uuid.UUID, call: str | None) -> str | None:
        """Return the message id that the peer gave the result of one of its own calls."""
        return self._result_ids.get((thread, call)) if call else None

    @contextmanager
    def answering(self, turn: Turn) -> Iterator[None]:
        """Mark the turn's interrupts as answered; open them again if the answer does not reach the peer."""
        self._answered |= dict.fromkeys(answer.interrupt for answer in turn.answers)
        drop_oldest(self._answered, _MAX_ANSWERED)
        try:
            yield
        except BaseException:
            for answer in turn.answers:
                self._answered.pop(answer.interrupt, None)
            raise

    def finish_turn(
        self, turn: Turn, thread: uuid.UUID, interrupt_ids: list[str], result_ids: Mapping[str, str]
    ) -> None:
        """Record the end of a run, the interrupts that it raised, and the message ids of its results by call."""
        for answer in turn.answers:
            self._history.pop(answer.interrupt, None)
        self._latest[thread] = interrupt_ids[0] if interrupt_ids else "nothing"
        drop_oldest(self._latest, _MAX_ANSWERED)
        self._result_ids |= {(thread, call): message for call, message in result_ids.items()}
        drop_oldest(self._result_ids, _MAX_ANSWERED)

    def remember_history(self, interrupt_ids: list[str], history: tuple[Message, ...]) -> None:
        self._history |= dict.fromkeys(interrupt_ids, history)
        drop_oldest(self._history, _MAX_OPEN)

    def remember_node(self, thread: uuid.UUID, node: str) -> None:
        self._nodes[thread] = node
        drop_oldest(self._nodes, _MAX_NODES)

    def take_node(self, thread: uuid.UUID) -> str | None:
        """Return the node where the agent stopped, once."""
        return self._nodes.pop(thread, None)

    # Among workers

    async def load(self, turn: Turn, store: SharedCheckpointStore | None) -> None:
        """Read what other workers remember of the threads of a turn."""
        if store is None:
            return
        threads = {make_peer_thread_id(turn.owner, turn.thread)}
        threads |= {thread for answer in turn.answers if (thread := self._thread_of(answer.interrupt))}
        for thread in threads:
            try:
                body = await store.get_checkpoint(turn.owner, self._make_key(thread))
                self._records.pop(thread, None)
                if body is not None:
                    self._read_record(thread, _decoder.decode(body))
            except (StoreFailed, msgspec.DecodeError):
                log.warning("agent %r: what is known of a thread cannot be read", self._agent)

    async def save(self, owner: Owner, thread: uuid.UUID, store: SharedCheckpointStore | None) -> None:
        """Let other workers know what this one remembers of a thread."""
        record = self._make_record(thread)
        if store is None or record == self._records.get(thread, NOTHING_KNOWN):
            return
        try:
            await store.save_checkpoint(owner, self._make_key(thread), _encode(record), RECORD_SECONDS)
            self._remember_record(thread, record)
        except (StoreFailed, TypeError, ValueError, RecursionError):
            log.warning("agent %r: what is known of a thread is not kept: other workers do not know it", self._agent)

    def _make_key(self, thread: uuid.UUID) -> str:
        return f"peer_{hashlib.sha256(f'{self._agent}/{thread.hex}'.encode()).hexdigest()[:32]}"

    def _make_record(self, thread: uuid.UUID) -> PeerThreadRecord:
        result_ids = [(call, id) for (place, call), id in self._result_ids.items() if place == thread]
        return PeerThreadRecord(
            latest=self._latest.get(thread, ""),
            node=self._nodes.get(thread, ""),
            result_ids=dict(result_ids[-_MAX_THREAD_RESULTS:]),
            histories={id: messages for id, messages in self._history.items() if self._thread_of(id) == thread},
        )

    def _remember_record(self, thread: uuid.UUID, record: PeerThreadRecord) -> None:
        self._records[thread] = record
        drop_oldest(self._records, _MAX_OPEN)

    def _read_record(self, thread: uuid.UUID, record: PeerThreadRecord) -> None:
        self._remember_record(thread, record)
        self._nodes.pop(thread, None)
        if record.node:
            self.remember_node(thread, record.node)
        if record.latest:
            self._latest[thread] = record.latest
            drop_oldest(self._latest, _MAX_ANSWERED)
        self._result_ids |= {(thread, call): id for call, id in record.result_ids.items()}
        drop_oldest(self._result_ids, _MAX_ANSWERED)
        for id, messages in record.histories.items():
            self.remember_history([id], messages)
