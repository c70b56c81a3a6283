"""Progress of a flow run: everything needed to resume it in another process, as plain JSON."""

from __future__ import annotations

import hashlib
import secrets
from typing import Any, Literal
from weakref import WeakKeyDictionary

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from rightseat.engine.repeats import RequestOrigin
from rightseat.errors import Conflict, ContinuationGone
from rightseat.plugins.flows.step_context import StepOutput
from rightseat.plugins.plugin import END, START, Flow, Step
from rightseat.types.events import Usage
from rightseat.types.language import Language
from rightseat.types.sentences import get_sentence
from rightseat.types.stores import CheckpointStore, Store
from rightseat.types.threads import THREAD_BUSY
from rightseat.types.tools import Ask
from rightseat.types.turn import Owner, Turn

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


_leases: WeakKeyDictionary[object, set[tuple[str, str]]] = WeakKeyDictionary()
"""Leased keys by store; only the store survives a reload."""
_decode_progress = msgspec.json.Decoder(FlowProgress).decode
MAX_LOOKBACK = 8


class FlowCheckpoint:
    """Stored progress and lease of one flow run. Call `close` when the run ends, however it ends.

    Nothing is stored where the store keeps no checkpoints.
    """

    def __init__(self, store: Store | CheckpointStore | None, owner: Owner) -> None:
        self.store: CheckpointStore | None = store if isinstance(store, CheckpointStore) else None
        self.owner = owner
        self.key = ""

    async def begin(self, flow: Flow, question: str, turn: Turn, *, only_one: bool = False) -> FlowProgress:
        """Start a new run, or resume an unfinished one. `only_one`: Conflict if the same request runs just now in
        this conversation, as when it was sent twice."""
        key = make_checkpoint_key(flow, question, turn)
        if not self.acquire_lease(key):
            if only_one:
                raise Conflict(THREAD_BUSY)
            key = f"{key}-{secrets.token_hex(8)}"
            self.acquire_lease(key)
            return start_progress(flow, question, key=key)
        unfinished = await self.load(key)
        if unfinished is not None and unfinished.flow == flow.id and unfinished.digest == flow.digest:
            return await self.claim(unfinished)
        return start_progress(flow, question, key=key)

    async def has_unfinished(self, flow: Flow, question: str, turn: Turn) -> bool:
        """Whether a run of this request waits or was interrupted: it goes on, and nothing runs twice."""
        unfinished = await self.load(make_checkpoint_key(flow, question, turn))
        return unfinished is not None and unfinished.flow == flow.id and unfinished.digest == flow.digest

    async def resume(self, state: Any, flow: Flow, answers: tuple[Any, ...], language: Language = "en") -> FlowProgress:
        """Resume a run with answers to its questions; ContinuationGone if it went on meanwhile."""
        progress = restore_progress(state, flow, language)
        if not self.acquire_lease(progress.key):
            raise ContinuationGone(get_sentence("ask_expired", language))
        if self.store is not None and not await self.is_current(progress):
            raise ContinuationGone(get_sentence("ask_expired", language))
        return await self.claim(progress.with_answers(answers))

    async def find_interrupted_question(self, flow: Flow, turn: Turn) -> str:
        """Return the request of a run that crashed after its question was answered, if this turn repeats the
        answer. One in words that is not known to be an answer must directly follow the question. Empty if none."""
        user_texts = [message.text.strip() for message in turn.messages if message.role == "user"]
        earlier = user_texts if turn.answers else user_texts[:-1]
        # Each lookup reads the store, so their number is bounded.
        for question in dict.fromkeys(reversed(earlier[-MAX_LOOKBACK:])):
            progress = await self.load(make_checkpoint_key(flow, question, turn))
            if progress is None or progress.digest != flow.digest or progress.asks or not progress.asked:
                continue
            is_answer = turn.answers or turn.repeats_answer or follows_question(turn, progress.asked)
            if is_answer and not self.is_leased(progress.key):
                return question
        return ""

    async def abandon(self, state: Any, flow: Flow) -> None:
        """Delete a run whose question was declined: the same request starts a new run."""
        progress = restore_progress(state, flow)
        if self.acquire_lease(progress.key) and await self.is_current(progress):
            await self.delete()

    async def is_current(self, progress: FlowProgress) -> bool:
        """Whether the stored run has not advanced since `progress`."""
        stored = await self.load(progress.key)
        return stored is not None and (stored.run, stored.serial) == (progress.run, progress.serial)

    async def claim(self, progress: FlowProgress) -> FlowProgress:
        claimed = replace(progress, serial=progress.serial + 1)
        await self.save(claimed)
        return claimed

    async def load(self, key: str) -> FlowProgress | None:
        body = await self.store.get_checkpoint(self.owner, key) if self.store is not None else None
        try:
            return None if body is None else _decode_progress(body)
        except msgspec.DecodeError:
            # Another version wrote it.
            return None

    async def save(self, progress: FlowProgress) -> None:
        if self.store is not None:
            await self.store.save_checkpoint(self.owner, progress.key, msgspec.json.encode(progress))

    async def delete(self) -> None:
        if self.store is not None and self.key:
            await self.store.delete_checkpoint(self.owner, self.key)

    @property
    def leases(self) -> set[tuple[str, str]]:
        """The leased keys by owner, shared by all runs with the same store."""
        return set() if self.store is None else _leases.setdefault(self.store, set())

    def is_leased(self, key: str) -> bool:
        return (self.owner.name, key) in self.leases

    def acquire_lease(self, key: str) -> bool:
        """Lease the key; False if another run holds it."""
        if self.is_leased(key):
            return False
        self.leases.add((self.owner.name, key))
        self.key = key
        return True

    def close(self) -> None:
        self.leases.discard((self.owner.name, self.key))


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
