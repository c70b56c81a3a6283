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
from rightseat.plugins.flows.stage import StepOutput
from rightseat.types.events import Usage
from rightseat.types.tools import Ask

KEY_LENGTH = 32


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
    asked: str = ""
    """The question answered last, while its step is current."""
    verdict: Any = None
    """The answer to a confirmation or a rerun question."""
    state: Any = None
    answers: tuple[Any, ...] = ()

    @property
    def as_dict(self) -> dict[str, Any]:
        made: dict[str, Any] = msgspec.to_builtins(self)
        return made

    def after_step(self, step: Step, output: StepOutput, at: str | None) -> FlowProgress:
        """Return the progress with the current step done and `at` as the next."""
        outputs = {name: one for name, one in self.outputs.items() if name != step.name}
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
        flow=flow.id,
        digest=flow.digest,
        run=run or secrets.token_hex(16),
        question=question,
        at=at,
        key=key,
    )


def restore_progress(state: Any, flow: Flow) -> FlowProgress:
    """Decode saved progress; ContinuationGone if the flow has changed since."""
    try:
        progress = msgspec.convert(state, FlowProgress)
    except msgspec.ValidationError:
        progress = None
    if progress is None or progress.flow != flow.id or progress.digest != flow.digest:
        raise ContinuationGone("The flow has changed since it stopped. Please ask again from the start.")
    return progress


def resolve_next_step(flow: Flow, name: str | None) -> str | None:
    """Return the step to continue with; None if nothing is left to do."""
    if name is None or name not in flow.steps:
        return None
    step = flow.steps[name]
    idle = step.kind == "none" and (step.next is None or name == END) and "say" not in step.params
    return None if idle else name
