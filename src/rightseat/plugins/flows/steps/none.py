"""Step kind `none`: passes the previous output on. As the last step it may answer with the template `say`,
without a model call. Without `next` the flow ends here."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

from rightseat.plugins.flows.flow import Flow, Step
from rightseat.plugins.flows.known import Known, problem
from rightseat.plugins.flows.names import Names, misspelt
from rightseat.plugins.flows.stage import Output, Stage
from rightseat.plugins.flows.template import filled
from rightseat.plugins.problem import Problem
from rightseat.types.events import Event
from rightseat.types.tools import Pause

SAY = "say"


async def run(stage: Stage) -> AsyncIterator[Event | Output | Pause]:
    words = stage.step.params.get(SAY)
    if isinstance(words, str) and stage.last:
        yield Output(filled(words, Names(stage)), spoken=True)
    else:
        yield Output(stage.previous.data if stage.previous else None)


def check(step: Step, flow: Flow, known: Known) -> Iterator[Problem]:
    words = step.params.get(SAY)
    if words is None:
        return
    if not isinstance(words, str):
        yield problem(flow, step, f"params.{SAY}", "It is not a text.", "Write what should be said.")
        return
    for hole, near in misspelt(words, flow):
        what = f"{{{hole}}} is text: nothing is called so."
        yield problem(flow, step, f"params.{SAY}", what, f"Did you mean {{{near}}}?", "style")
    if step.next is not None:
        what = "Only the last step says something."
        yield problem(flow, step, f"params.{SAY}", what, "Take `next` away, or `say`.", "warning")
