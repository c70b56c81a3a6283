"""Step kind `none`: passes the previous output on. As the last step it may answer with the template `say`,
without a model call. Without `next` the flow ends here."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

from rightseat.plugins.flows.context import FlowReferences, StepContext, StepOutput, make_step_problem
from rightseat.plugins.flows.templates import StepVariables, fill_template, find_misspelt_variables
from rightseat.plugins.plugin import Flow, Problem, Step
from rightseat.types.events import Event
from rightseat.types.tools import Pause

SAY = "say"


async def run(ctx: StepContext) -> AsyncIterator[Event | StepOutput | Pause]:
    words = ctx.step.params.get(SAY)
    if isinstance(words, str) and ctx.last:
        yield StepOutput(fill_template(words, StepVariables(ctx)), spoken=True)
    else:
        yield StepOutput(ctx.previous.data if ctx.previous else None)


def check(step: Step, flow: Flow, known: FlowReferences) -> Iterator[Problem]:
    words = step.params.get(SAY)
    if words is None:
        return
    if not isinstance(words, str):
        yield make_step_problem(flow, step, f"params.{SAY}", "It is not a text.", "Write what should be said.")
        return
    for hole, near in find_misspelt_variables(words, flow):
        what = f"{{{hole}}} is text: nothing is called so."
        yield make_step_problem(flow, step, f"params.{SAY}", what, f"Did you mean {{{near}}}?", "style")
    if step.next is not None:
        what = "Only the last step says something."
        yield make_step_problem(flow, step, f"params.{SAY}", what, "Take `next` away, or `say`.", "warning")
