"""Step kind `flow`: runs another flow, `params.flow`, of this plugin or as "plugin/name", with
`params.question` or the current question. Its last output is the step's."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

from msgspec.structs import replace

from rightseat.plugins.flows.context import (
    FlowReferences,
    FlowServices,
    StepContext,
    StepError,
    StepOutput,
    format_hint,
    make_step_problem,
)
from rightseat.plugins.flows.run import stream_subflow
from rightseat.plugins.flows.templates import StepVariables, fill_template
from rightseat.plugins.plugin import Flow, Problem, Step
from rightseat.types.events import Event
from rightseat.types.streams import closing
from rightseat.types.tools import Pause

MAX_FLOW_DEPTH = 5


def check(step: Step, flow: Flow, known: FlowReferences) -> Iterator[Problem]:
    name = step.params.get("flow")
    if not isinstance(name, str) or not name:
        yield make_step_problem(flow, step, "params.flow", "It names no flow.", format_hint("", known.flows))
    elif name in (flow.name, flow.id):
        yield make_step_problem(flow, step, "params.flow", "A flow cannot run itself.", "Use `next` or a loop.")
    elif name not in known.flows and not is_other_plugin(name, flow):
        what = f"There is no flow {name!r} in this plugin."
        yield make_step_problem(flow, step, "params.flow", what, format_hint(name, known.flows))


def is_other_plugin(name: str, flow: Flow) -> bool:
    plugin, slash, _ = name.partition("/")
    return bool(slash) and plugin != flow.plugin


async def run(ctx: StepContext) -> AsyncIterator[Event | StepOutput | Pause]:
    flow, services = find_flow(ctx)
    if ctx.turn.depth >= MAX_FLOW_DEPTH:
        raise StepError(f"Flows run each other more than {MAX_FLOW_DEPTH} deep.")
    template = ctx.step.params.get("question")
    question = fill_template(template, StepVariables(ctx)) if isinstance(template, str) and template else ctx.question
    turn = replace(ctx.turn, depth=ctx.turn.depth + 1)
    stream = stream_subflow(ctx, flow, services=services, turn=turn, question=question, final=ctx.last)
    async with closing(stream) as items:
        async for item in items:
            yield item


def find_flow(ctx: StepContext) -> tuple[Flow, FlowServices]:
    name = str(ctx.step.params.get("flow") or "")
    flow = ctx.services.flows.get(name) or ctx.services.flows.get(f"{ctx.flow.plugin}/{name}")
    if flow is None:
        raise StepError(f"There is no flow {name!r}.")
    if flow.plugin == ctx.flow.plugin or ctx.services.get_plugin_services is None:
        return flow, ctx.services
    return flow, ctx.services.get_plugin_services(flow.plugin)
