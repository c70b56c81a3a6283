"""How far a flow has come: all that is needed to go on, in another process too. It is plain JSON."""

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
    """The same from the first step to the last, over every restart."""
    question: str
    at: str | None
    """The step in hand, or the one whose on_error is; None: all are done."""
    key: str = ""
    """Under which it is journalled."""
    serial: int = 0
    """How often it was gone on with: what was asked before that can no longer be answered."""
    outputs: dict[str, Output] = {}
    """In the order in which the steps ended."""
    previous: str = ""
    done: int = 0
    spoken: bool = False
    """The last step has said its output to the person."""
    usage: Usage | None = None

    # The step in hand
    begun: bool = False
    """It may have had its effect: nobody knows, unless it ends."""
    agreed: bool = False
    handler: Literal["", "step", "flow"] = ""
    """Whose on_error is in hand, with the `failure` that it is for."""
    failure: str = ""
    asking: Literal["", "step", "confirm", "again"] = ""
    """Who asked last: the step itself, or we about it."""
    asks: tuple[Ask, ...] = ()
    """The open questions."""
    asked: str = ""
    """The question that was answered last, for as long as its step is in hand."""
    verdict: Any = None
    """The answer to what we asked about the step."""
    state: Any = None
    answers: tuple[Any, ...] = ()

    @property
    def plain(self) -> dict[str, Any]:
        made: dict[str, Any] = msgspec.to_builtins(self)
        return made

    def ended(self, step: Step, output: Output, at: str | None) -> Progress:
        """With the step in hand done, and the next one in hand."""
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
        """With on_error in hand."""
        return replace(self.fresh(), handler=handler, failure=failure)

    def fresh(self) -> Progress:
        """As before the step in hand was begun."""
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
        """With the answers to the open questions: the last of all that were ever given."""
        if not self.asks or len(answers) < len(self.asks):
            return self
        fresh = answers[len(answers) - len(self.asks) :]
        known = replace(self, asks=(), asked=self.asks[0].message)
        if self.asking == "step":
            return replace(known, answers=(*self.answers, *fresh))
        return replace(known, verdict=fresh[0])

    def step_key(self, step: Step) -> str:
        """What a peer may know a repeated request by: the same for every try, another for every visit."""
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
    """What a Pause or the journal kept. ContinuationGone when it does not fit the flow any more."""
    try:
        progress = msgspec.convert(state, Progress)
    except msgspec.ValidationError:
        progress = None
    if progress is None or progress.flow != flow.id or progress.digest != flow.digest:
        raise ContinuationGone("The flow has changed since it stopped. Please ask again from the start.")
    return progress


def after(flow: Flow, name: str | None) -> str | None:
    """The step to go on with; None where nothing is left to do."""
    if name is None or name not in flow.steps:
        return None
    step = flow.steps[name]
    idle = step.kind == "none" and (step.next is None or name == END) and "say" not in step.params
    return None if idle else name
