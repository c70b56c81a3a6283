"""Progress of a flow run: everything needed to resume it in another process, as plain JSON."""

from __future__ import annotations

import asyncio
import hashlib
import logging
import secrets
import time
from collections import Counter
from itertools import count
from typing import Any, Literal
from weakref import WeakKeyDictionary

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from rightseat.engine.repeats import RequestOrigin
from rightseat.errors import Conflict, ContinuationGone, StoreFailed
from rightseat.http.retry import compute_backoff
from rightseat.plugins.flows.step_context import StepOutput
from rightseat.plugins.plugin import END, START, Flow, Step
from rightseat.types.events import Usage
from rightseat.types.fencing import CONFIRM_SECONDS
from rightseat.types.language import Language
from rightseat.types.sentences import get_sentence
from rightseat.types.stores import CheckpointStore, SharedStore, Store, replace_checkpoint
from rightseat.types.threads import THREAD_BUSY, ThreadStore
from rightseat.types.tools import Ask
from rightseat.types.turn import Owner, Turn

log = logging.getLogger(__name__)
KEY_LENGTH = 32


class FlowChanged(ContinuationGone):
    """A flow or a sub-flow is no longer what it was when it stopped: its run cannot go on."""


class FlowProgress(Struct, frozen=True, kw_only=True, omit_defaults=True):
    flow: str
    digest: str
    run: str
    """Id of the run, stable over restarts."""
    question: str
    at: str | None
    """The current step, or the one whose on_error runs; None when all are done."""
    key: str = ""
    """Key of the checkpoint."""
    origin: RequestOrigin | None = None
    """The request in its conversation, where an effect is recorded."""
    serial: int = 0
    """Number of resumes: questions asked before the latest one can no longer be answered."""
    outputs: dict[str, StepOutput] = {}
    """In the order in which steps finished."""
    previous: str = ""
    done: int = 0
    spoken: bool = False
    """The last step has streamed its output to the user."""
    usage: Usage | None = None
    runner: str = ""
    """Worker that runs it; empty while it waits for an answer and after an interruption."""

    # The current step
    begun: bool = False
    """It has started and may have had its effect."""
    agreed: bool = False
    handler: Literal["", "step", "flow"] = ""
    """Whose on_error runs; `failure` is what it handles."""
    failure: str = ""
    asking: Literal["", "step", "confirm", "again"] = ""
    """Origin of the last question: the step, its confirmation, or whether to run it again."""
    asks: tuple[Ask, ...] = ()
    """The open questions."""
    tool: str = ""
    """Fingerprint of the tool that the step calls, from when it asked."""
    asked: str = ""
    """The question answered last, while its step is current."""
    verdict: Any = None
    """The answer to a confirmation or a rerun question."""
    state: Any = None
    answers: tuple[Any, ...] = ()

    @property
    def as_dict(self) -> dict[str, Any]:
        fields: dict[str, Any] = msgspec.to_builtins(self)
        return fields

    def after_step(self, step: Step, output: StepOutput, at: str | None) -> FlowProgress:
        """Return the progress with the current step done and `at` as the next."""
        outputs = {name: earlier for name, earlier in self.outputs.items() if name != step.name}
        return replace(
            self.reset_step(),
            at=at,
            outputs={**outputs, step.name: output},
            previous=step.name if output.jump is None else self.previous,
            done=self.done + 1,
            handler="",
            failure="",
        )

    def after_failure(self, handler: Literal["step", "flow"], failure: str) -> FlowProgress:
        """Return the progress with on_error as the current step."""
        return replace(self.reset_step(), handler=handler, failure=failure)

    def reset_step(self) -> FlowProgress:
        """Return the progress with all state of the current step cleared."""
        return replace(
            self,
            begun=False,
            agreed=False,
            asking="",
            asks=(),
            tool="",
            asked="",
            verdict=None,
            state=None,
            answers=(),
            spoken=False,
        )

    def with_answers(self, answers: tuple[Any, ...]) -> FlowProgress:
        """Return the progress with the open questions answered by the last of `answers`."""
        if not self.asks or len(answers) < len(self.asks):
            return self
        latest = answers[len(answers) - len(self.asks) :]
        answered = replace(self, asks=(), asked=self.asks[0].message)
        if self.asking == "step":
            return replace(answered, answers=(*self.answers, *latest))
        return replace(answered, verdict=latest[0])

    def make_step_key(self, step: Step) -> str:
        """Return an idempotency key: the same for every attempt, another for every visit of the step."""
        text = f"{self.run}\0{self.done}\0{self.handler}\0{step.name}"
        return hashlib.sha256(text.encode()).hexdigest()[:KEY_LENGTH]


def start_progress(flow: Flow, question: str, run: str = "", key: str = "") -> FlowProgress:
    at = START if START in flow.steps else next(iter(flow.steps))
    return FlowProgress(
        flow=flow.id, digest=flow.digest, run=run or secrets.token_hex(16), question=question, at=at, key=key
    )


def restore_progress(state: Any, flow: Flow, language: Language = "en") -> FlowProgress:
    """Decode saved progress; FlowChanged if the flow has changed since."""
    try:
        progress = msgspec.convert(state, FlowProgress)
    except msgspec.ValidationError:
        progress = None
    if progress is None or progress.flow != flow.id or progress.digest != flow.digest:
        raise FlowChanged(get_sentence("stopped_flow_changed", language))
    return progress


def resolve_next_step(flow: Flow, name: str | None) -> str | None:
    """Return the step to continue with; None if nothing is left to do."""
    if name is None or name not in flow.steps:
        return None
    step = flow.steps[name]
    idle = step.kind == "none" and (step.next is None or name == END) and "say" not in step.params
    return None if idle else name


_decode_progress = msgspec.json.Decoder(FlowProgress).decode
MAX_LOOKBACK = 8
DISPLACE_ATTEMPTS = 20
"""Attempts to get the progress of a run that was taken over, while the worker that has lost it still saves."""
_PROCESS = secrets.token_hex(8)
"""Name of this process at a store that gives it none."""
RELEASE_ATTEMPTS = 200
RELEASE_SECONDS = (0.5, 30.0)
"""The first and the longest pause between attempts to free a run that a failing store has not freed."""
SAVE_SECONDS = (0.25, 2.0)
"""The same between attempts to save progress while the store is away."""
_releases: set[asyncio.Task[None]] = set()
_active_runs: WeakKeyDictionary[object, Counter[str]] = WeakKeyDictionary()
"""Runs of this process by store. A run that the store could not free ends here all the same."""


class FlowCheckpoint:
    """Stored progress of one flow run, and the right to go on with it. Call `close` when the run ends, however it ends.

    The stored progress names the worker that runs it, and each write replaces exactly the body that this run wrote
    before: of two that go on with the same progress one runs each step. Nothing is stored where the store keeps no
    checkpoints.
    """

    def __init__(self, store: Store | CheckpointStore | None, owner: Owner, turn: Turn | None = None) -> None:
        self.turn = turn
        self.store: CheckpointStore | None = store if isinstance(store, CheckpointStore) else None
        shared: object = store
        self.worker = shared.worker if isinstance(shared, SharedStore) else _PROCESS
        self.owner = owner
        self.held: FlowProgress | None = None
        """The progress as this run has stored it last, and its encoded form: a step may change its state in place."""
        self.body = b""
        self.active_run = ""
        """Id of the run that this process runs, or is about to."""
        self.lock = asyncio.Lock()

    @property
    def has_displaced_worker(self) -> bool:
        return self.turn is not None and self.turn.has_displaced_worker

    async def begin(self, flow: Flow, question: str, turn: Turn, *, only_one: bool = False) -> FlowProgress:
        """Start a new run, or resume an unfinished one. `only_one`: Conflict if the same request runs just now in
        this conversation, as when it was sent twice."""
        key = make_checkpoint_key(flow, question, turn)
        progress = await self.acquire(key, flow, question)
        if progress is None and only_one:
            raise Conflict(THREAD_BUSY)
        return progress or await self.begin_beside(key, flow, question)

    async def acquire(self, key: str, flow: Flow, question: str) -> FlowProgress | None:
        """Return the progress of the key's run, unfinished or new; None if another runs it."""
        # A worker that has lost the thread may save once more before it learns that.
        for _ in range(DISPLACE_ATTEMPTS if self.has_displaced_worker else 1):
            body = await self.load_body(key)
            stored = decode_progress(body)
            if not await self.is_free(stored):
                return None
            progress = start_progress(flow, question, key=key)
            if stored is not None and is_run_of(stored, flow):
                progress = replace(stored, serial=stored.serial + 1)
            if await self.hold(progress, body):
                return progress
        return None

    async def begin_beside(self, key: str, flow: Flow, question: str) -> FlowProgress:
        """Start a new run under a key of its own, which nothing resumes."""
        progress = start_progress(flow, question, key=f"{key}-{secrets.token_hex(8)}")
        await self.hold(progress, None)
        return progress

    async def has_unfinished(self, flow: Flow, question: str, turn: Turn) -> bool:
        """Whether a run of this request waits or was interrupted: it goes on, and nothing runs twice."""
        unfinished = await self.load(make_checkpoint_key(flow, question, turn))
        return unfinished is not None and is_run_of(unfinished, flow)

    async def resume(self, state: Any, flow: Flow, answers: tuple[Any, ...], language: Language = "en") -> FlowProgress:
        """Resume a run with answers to its questions; ContinuationGone if it went on meanwhile."""
        progress = restore_progress(state, flow, language)
        resumed = replace(progress.with_answers(answers), serial=progress.serial + 1)
        body = await self.load_body(progress.key)
        if self.store is not None and not (
            await self.is_waiting(progress, decode_progress(body)) and await self.hold(resumed, body)
        ):
            raise ContinuationGone(get_sentence("ask_expired", language))
        return resumed

    async def find_interrupted_question(self, flow: Flow, turn: Turn) -> str:
        """Return the request of a run that crashed after its question was answered, if this turn repeats the
        answer. One in words that is not known to be an answer must directly follow the question. Empty if none."""
        if turn.is_taken_over and (turn.answers or turn.repeats_answer):
            return await self.find_orphaned_question(flow, turn)
        user_texts = [message.text.strip() for message in turn.messages if message.role == "user"]
        earlier = user_texts if turn.answers else user_texts[:-1]
        # Each lookup reads the store, so their number is bounded.
        for question in dict.fromkeys(reversed(earlier[-MAX_LOOKBACK:])):
            progress = await self.load(make_checkpoint_key(flow, question, turn))
            if progress is None or progress.digest != flow.digest or progress.asks or not progress.asked:
                continue
            is_answer = turn.answers or turn.repeats_answer or follows_question(turn, progress.asked)
            if is_answer and await self.is_free(progress):
                return question
        return ""

    async def find_orphaned_question(self, flow: Flow, turn: Turn) -> str:
        """Return the request of the run that an answer was for whose worker died: one that a dead worker ran, or else
        one that has just asked again. Empty if none."""
        user_texts = [message.text.strip() for message in turn.messages if message.role == "user"]
        waiting = ""
        for question in dict.fromkeys(reversed(user_texts[-MAX_LOOKBACK:])):
            progress = await self.load(make_checkpoint_key(flow, question, turn))
            if progress is None or not is_run_of(progress, flow) or not await self.is_free(progress):
                continue
            if progress.runner:
                return question
            waiting = waiting or (question if progress.asks else "")
        return waiting

    async def abandon(self, state: Any, flow: Flow) -> None:
        """Delete a run whose question was declined: the same request starts a new run."""
        progress = restore_progress(state, flow)
        body = await self.load_body(progress.key)
        if self.store is not None and await self.is_waiting(progress, decode_progress(body)):
            await replace_checkpoint(self.store, self.owner, progress.key, body, None)

    async def find_resumed(self, state: Any) -> FlowProgress | None:
        """Return the run of this saved progress if it has been resumed since."""
        try:
            progress = msgspec.convert(state, FlowProgress)
        except msgspec.ValidationError:
            return None
        stored = await self.load(progress.key)
        is_resumed = stored is not None and stored.run == progress.run and stored.serial > progress.serial
        return stored if is_resumed else None

    async def is_waiting(self, progress: FlowProgress, stored: FlowProgress | None) -> bool:
        """Whether the stored run has not advanced since `progress`, and nobody runs it."""
        return stored is not None and is_same_run(stored, progress) and await self.is_free(stored)

    async def is_free(self, progress: FlowProgress | None) -> bool:
        """Whether no living worker runs it."""
        if progress is None or not progress.runner:
            return True
        if progress.runner == self.worker:
            return not self.active_runs[progress.run]
        if not isinstance(self.store, SharedStore) or self.has_displaced_worker:
            # The thread is this worker's: whoever ran the flow before has lost it, also if it is alive again.
            return True
        return progress.runner in await self.store.find_dead([progress.runner])

    async def load(self, key: str) -> FlowProgress | None:
        return decode_progress(await self.load_body(key))

    async def load_body(self, key: str) -> bytes | None:
        return await self.store.get_checkpoint(self.owner, key) if self.store is not None else None

    async def hold(self, progress: FlowProgress, expected: bytes | None) -> bool:
        """Store the progress as run by this worker, in place of the `expected` body; False if another was faster."""
        held = replace(progress, runner=self.worker)
        body = msgspec.json.encode(held)
        self.set_active_run(held.run)
        try:
            if self.store is not None and not await replace_checkpoint(
                self.store, self.owner, held.key, expected, body
            ):
                self.set_active_run("")
                return False
        except asyncio.CancelledError:
            # It may have been stored: `close` frees it.
            self.held, self.body = held, body
            raise
        self.held, self.body = held, body
        return True

    @property
    def active_runs(self) -> Counter[str]:
        return Counter() if self.store is None else _active_runs.setdefault(self.store, Counter())

    def set_active_run(self, run: str) -> None:
        """Note which run this process runs; none if it is empty."""
        if self.active_run:
            self.active_runs.subtract([self.active_run])
            if not self.active_runs[self.active_run]:
                del self.active_runs[self.active_run]
        self.active_run = run
        if run:
            self.active_runs[run] += 1

    async def save(self, progress: FlowProgress) -> None:
        """Store the progress; Conflict if another worker has gone on with the run. A store that is away for a moment
        is waited for."""
        deadline = time.monotonic() + CONFIRM_SECONDS
        for attempt in count(1):
            try:
                await self.save_once(progress)
                return
            except StoreFailed as error:
                # One that is full or broken says no time.
                if error.retry_after is None or time.monotonic() > deadline:
                    raise
                await asyncio.sleep(compute_backoff(attempt, *SAVE_SECONDS))

    async def save_once(self, progress: FlowProgress) -> None:
        if self.store is None or self.held is None:
            return
        # Branches of a step save at the same time, and each save replaces the one before.
        async with self.lock:
            # One that waits for a person is free for other workers.
            saved = replace(progress, runner="" if progress.asks else self.worker)
            body = msgspec.json.encode(saved)
            if not await replace_checkpoint(self.store, self.owner, saved.key, self.body, body):
                # The store drops what is too old or too much. Nobody has gone on with it, then.
                stored = await self.load_body(saved.key)
                is_dropped = stored is None and not await self.has_lost_thread()
                # A save whose connection broke may have been stored.
                if stored != body and not (
                    is_dropped and await replace_checkpoint(self.store, self.owner, saved.key, None, body)
                ):
                    raise Conflict(THREAD_BUSY)
            self.held, self.body = saved, body

    async def has_lost_thread(self) -> bool:
        """Whether another worker has taken the run's thread over: it may have finished the run."""
        turn, store = self.turn, self.store
        # A run that is not recorded has no thread that another one could take.
        if turn is None or turn.depth or turn.recording != "never" or not isinstance(store, ThreadStore):
            return False
        if not isinstance(store, SharedStore) or not store.is_shared:
            return False
        holder = await store.get_lease_holder(self.owner, turn.thread)
        return holder is None or (holder.run, holder.worker) != (turn.run, self.worker)

    async def delete(self) -> None:
        """Delete the stored progress, unless another has gone on with it."""
        await self.release(None)

    async def close(self) -> None:
        """Give up the right to go on with the run."""
        try:
            if self.held is not None and self.held.runner:
                await self.release("")
        finally:
            self.set_active_run("")

    async def release(self, runner: str | None) -> None:
        """Set the runner of the stored progress, or delete it. If the store fails, that is tried again until it works:
        other workers take the run for one that goes on until then."""
        try:
            await self.replace_own(runner)
        except StoreFailed:
            log.warning("a flow that has stopped is not free for other workers yet: the store failed")
            task = asyncio.create_task(self.release_later(runner))
            _releases.add(task)
            task.add_done_callback(_releases.discard)

    async def release_later(self, runner: str | None) -> None:
        for attempt in range(1, RELEASE_ATTEMPTS + 1):
            await asyncio.sleep(compute_backoff(attempt, *RELEASE_SECONDS))
            try:
                await self.replace_own(runner)
                return
            except StoreFailed:
                continue
        log.error("a flow that has stopped stays with this worker: the store failed")

    async def replace_own(self, runner: str | None) -> None:
        """Set the runner of the stored progress, or delete it, if it is still this run's."""
        if self.store is None or self.held is None:
            return
        async with self.lock:
            # Read again: a save that was cancelled may have been stored.
            body = await self.load_body(self.held.key)
            stored = decode_progress(body)
            if stored is None or not is_same_run(stored, self.held) or stored.runner not in ("", self.worker):
                return
            changed = None if runner is None else msgspec.json.encode(replace(stored, runner=runner))
            await replace_checkpoint(self.store, self.owner, self.held.key, body, changed)


def decode_progress(body: bytes | None) -> FlowProgress | None:
    try:
        return None if body is None else _decode_progress(body)
    except msgspec.DecodeError:
        # Another version wrote it.
        return None


def is_run_of(progress: FlowProgress, flow: Flow) -> bool:
    """Whether it is a run of the flow as it is now."""
    return progress.flow == flow.id and progress.digest == flow.digest


def is_same_run(stored: FlowProgress, progress: FlowProgress) -> bool:
    """Whether both are of one run, resumed equally often."""
    return (stored.run, stored.serial) == (progress.run, progress.serial)


def follows_question(turn: Turn, question: str) -> bool:
    """Whether the user's message directly follows the question."""
    before = turn.messages[-2] if len(turn.messages) > 1 else None
    assistant_text = "".join(before.text.split()) if before is not None and before.role == "assistant" else ""
    return "".join(question.split()) in assistant_text


def make_checkpoint_key(flow: Flow, question: str, turn: Turn) -> str:
    """Return the key of a run: conversation plus a hash of flow and question. A client that names no
    conversation has a new thread id each time, so equal words never reach another user's run."""
    thread = turn.conversation or turn.thread
    encoded = msgspec.json.encode([flow.id, question, turn.depth])
    return f"{thread}/{hashlib.sha256(encoded).hexdigest()[:24]}"
