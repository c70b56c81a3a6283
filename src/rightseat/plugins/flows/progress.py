"""Progress of a flow run: everything needed to resume it in another process, as plain JSON."""

from __future__ import annotations

import hashlib
import secrets
from typing import Any, Literal

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from rightseat.errors import ContinuationGone
from rightseat.plugins.flows.flow import END, START, Flow, Step
from rightseat.plugins.flows.stage import Output
from rightseat.types.events import Usage
from rightseat.types.tools import Ask

KEY = 32


class Progress(Struct, frozen=True, kw_only=True, omit_defaults=True):
    flow: str
    digest: str
    run: str
    """Id of the run, stable over restarts."""
    question: str
    at: str | None
    """The current step, or the one whose on_error runs; None when all are done."""
    key: str = ""
    """Key of the checkpoint."""
    serial: int = 0
    """Number of resumes: questions asked before the latest one can no longer be answered."""
    outputs: dict[str, Output] = {}
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
    asked: str = ""
    """The question answered last, while its step is current."""
    verdict: Any = None
    """The answer to a confirmation or a rerun question."""
    state: Any = None
    answers: tuple[Any, ...] = ()

    @property
    def plain(self) -> dict[str, Any]:
        made: dict[str, Any] = msgspec.to_builtins(self)
        return made

    def ended(self, step: Step, output: Output, at: str | None) -> Progress:
        """Return the progress with the current step done and `at` as the next."""
        outputs = {name: one for name, one in self.outputs.items() if name != step.name}
        return replace(
            self.fresh(),
            at=at,
            outputs={**outputs, step.name: output},
            previous=step.name if output.jump is None else self.previous,
            done=self.done + 1,
            handler="",
            failure="",
        )

    def failed(self, handler: Literal["step", "flow"], failure: str) -> Progress:
        """Return the progress with on_error as the current step."""
        return replace(self.fresh(), handler=handler, failure=failure)

    def fresh(self) -> Progress:
        """Return the progress with all state of the current step cleared."""
        return replace(
            self,
            begun=False,
            agreed=False,
            asking="",
            asks=(),
            asked="",
            verdict=None,
            state=None,
            answers=(),
            spoken=False,
        )

    def heard(self, answers: tuple[Any, ...]) -> Progress:
        """Return the progress with the open questions answered by the last of `answers`."""
        if not self.asks or len(answers) < len(self.asks):
            return self
        fresh = answers[len(answers) - len(self.asks) :]
        known = replace(self, asks=(), asked=self.asks[0].message)
        if self.asking == "step":
            return replace(known, answers=(*self.answers, *fresh))
        return replace(known, verdict=fresh[0])

    def step_key(self, step: Step) -> str:
        """Return an idempotency key: the same for every attempt, another for every visit of the step."""
        told = f"{self.run}\0{self.done}\0{self.handler}\0{step.name}"
        return hashlib.sha256(told.encode()).hexdigest()[:KEY]


def first(flow: Flow, question: str, run: str = "", key: str = "") -> Progress:
    at = START if START in flow.steps else next(iter(flow.steps))
    return Progress(
        flow=flow.id,
        digest=flow.digest,
        run=run or secrets.token_hex(16),
        question=question,
        at=at,
        key=key,
    )


def restored(state: Any, flow: Flow) -> Progress:
    """Decode saved progress; ContinuationGone if the flow has changed since."""
    try:
        progress = msgspec.convert(state, Progress)
    except msgspec.ValidationError:
        progress = None
    if progress is None or progress.flow != flow.id or progress.digest != flow.digest:
        raise ContinuationGone("The flow has changed since it stopped. Please ask again from the start.")
    return progress


def after(flow: Flow, name: str | None) -> str | None:
    """Return the step to continue with; None if nothing is left to do."""
    if name is None or name not in flow.steps:
        return None
    step = flow.steps[name]
    idle = step.kind == "none" and (step.next is None or name == END) and "say" not in step.params
    return None if idle else name
