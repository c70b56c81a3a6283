"""Step kind `flow`: runs another flow, `params.flow`, of this plugin or as "plugin/name", with
`params.question` or the current question. Its last output is the step's."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

from msgspec.structs import replace

from rightseat.plugins.flows.flow import Flow, Step
from rightseat.plugins.flows.inner import inner
from rightseat.plugins.flows.known import Known, hint, problem
from rightseat.plugins.flows.names import Names
from rightseat.plugins.flows.stage import Kit, Output, Stage, StepFailed
from rightseat.plugins.flows.template import filled
from rightseat.plugins.problem import Problem
from rightseat.types.events import Event
from rightseat.types.streams import closing
from rightseat.types.tools import Pause

DEEPEST = 5


def check(step: Step, flow: Flow, known: Known) -> Iterator[Problem]:
    name = step.params.get("flow")
    if not isinstance(name, str) or not name:
        yield problem(flow, step, "params.flow", "It names no flow.", hint("", known.flows))
    elif name in (flow.name, flow.id):
        yield problem(flow, step, "params.flow", "A flow cannot run itself.", "Use `next` or a loop.")
    elif name not in known.flows and not foreign(name, flow):
        what = f"There is no flow {name!r} in this plugin."
        yield problem(flow, step, "params.flow", what, hint(name, known.flows))


def foreign(name: str, flow: Flow) -> bool:
    plugin, slash, _ = name.partition("/")
    return bool(slash) and plugin != flow.plugin


async def run(stage: Stage) -> AsyncIterator[Event | Output | Pause]:
    flow, kit = found(stage)
    if stage.turn.depth >= DEEPEST:
        raise StepFailed(f"Flows run each other more than {DEEPEST} deep.")
    asked = stage.step.params.get("question")
    question = filled(asked, Names(stage)) if isinstance(asked, str) and asked else stage.question
    turn = replace(stage.turn, depth=stage.turn.depth + 1)
    playing = inner(stage, flow, kit=kit, turn=turn, question=question, final=stage.last)
    async with closing(playing) as items:
        async for item in items:
            yield item


def found(stage: Stage) -> tuple[Flow, Kit]:
    name = str(stage.step.params.get("flow") or "")
    flow = stage.kit.flows.get(name) or stage.kit.flows.get(f"{stage.flow.plugin}/{name}")
    if flow is None:
        raise StepFailed(f"There is no flow {name!r}.")
    if flow.plugin == stage.flow.plugin or stage.kit.others is None:
        return flow, stage.kit
    return flow, stage.kit.others(flow.plugin)
