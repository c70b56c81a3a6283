"""A flow as a tool: runs it with checkpoints. Its questions become a Pause, its outputs the Result."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from typing import Any

from rightseat.documents.cut import fits_budget
from rightseat.documents.shape import JsonCutter
from rightseat.engine.assembler import text_events
from rightseat.errors import FlowFailed
from rightseat.plugins.flows.attempt import StepFailure, UsageTrackingModel, stream_attempt
from rightseat.plugins.flows.diary import FlowCheckpoint
from rightseat.plugins.flows.flow import Flow
from rightseat.plugins.flows.play import FlowFinished, stream_flow
from rightseat.plugins.flows.progress import FlowProgress
from rightseat.plugins.flows.prompts import make_answer_step
from rightseat.plugins.flows.stage import FlowServices, StepContext, StepOutput
from rightseat.plugins.flows.steps import LLM, get_kind
from rightseat.plugins.flows.suggest import suggest_next_questions
from rightseat.tools.delegate import REQUEST_SCHEMA
from rightseat.types.events import Event, TextDelta, TextEnd, TextStart, Usage
from rightseat.types.stores import CheckpointStore, IdGenerator
from rightseat.types.streams import closing
from rightseat.types.tools import Pause, Result, Tool, ToolContext
from rightseat.types.turn import Turn

GRACE_SECONDS = 30.0
TEXT_EVENTS = (TextStart, TextDelta, TextEnd)
GetServices = Callable[[Flow, Turn], FlowServices]


class FlowTool:
    """Runs one flow. `answers_user`: its text is streamed to the user instead of returned to a model.

    `usage` is set when the run ends or pauses.
    """

    def __init__(
        self,
        flow: Flow,
        get_services: GetServices,
        checkpoint_store: CheckpointStore | None,
        *,
        answers_user: bool,
    ) -> None:
        self.flow = flow
        self.get_services = get_services
        self.checkpoint_store = checkpoint_store
        self.answers_user = answers_user
        self.usage: Usage | None = None
        self.has_spoken = False
        """Whether this process has streamed text; after a crash the stored answer is streamed once more."""

    async def call(self, args: dict[str, Any], ctx: ToolContext) -> AsyncIterator[Event | Result | Pause]:
        checkpoint = FlowCheckpoint(self.checkpoint_store, ctx.turn.owner)
        try:
            if ctx.state is None:
                progress = await checkpoint.begin(self.flow, args["request"], ctx.turn)
            else:
                progress = await checkpoint.resume(ctx.state, self.flow, ctx.answers)
            async with closing(self.stream_run(progress, checkpoint, ctx)) as items:
                async for item in items:
                    yield item
        except FlowFailed:
            await checkpoint.delete()
            raise
        finally:
            checkpoint.close()

    async def stream_run(
        self, progress: FlowProgress, checkpoint: FlowCheckpoint, ctx: ToolContext
    ) -> AsyncIterator[Event | Result | Pause]:
        services = self.get_services(self.flow, ctx.turn)
        stream = stream_flow(self.flow, services, ctx.turn, progress, checkpoint.save, final=True)
        async with closing(stream) as items:
            async for item in items:
                if isinstance(item, FlowFinished):
                    self.usage = item.progress.usage
                    answer = ""
                    async with closing(self.stream_answer(item, services, ctx)) as events:
                        async for event in events:
                            answer = event.text if isinstance(event, Result) else answer
                            yield event
                    await checkpoint.delete()
                    if self.answers_user and self.flow.next_flow:
                        suggestions = await suggest_next_questions(
                            self.flow, services, progress.question, answer
                        )
                        if suggestions is not None:
                            yield suggestions
                elif self.answers_user or not isinstance(item, TEXT_EVENTS):
                    self.has_spoken = self.has_spoken or isinstance(item, TextDelta)
                    yield item

    async def stream_answer(
        self, finished: FlowFinished, services: FlowServices, ctx: ToolContext
    ) -> AsyncIterator[Event | Result | Pause]:
        """Yield the result. If no step has answered the user, let the model write the answer."""
        if finished.progress.spoken or not self.answers_user:
            found = make_result(finished, ctx.budget)
            if self.answers_user and not self.has_spoken:
                for event in text_events(IdGenerator().new_message_id(), found.text):
                    yield event
            yield found
            return
        model = UsageTrackingModel(services.model)
        step_ctx = make_answer_context(self.flow, finished, services, model, ctx.turn)
        async with closing(stream_attempt(get_kind(LLM).run, step_ctx)) as items:
            async for item in items:
                match item:
                    case StepFailure(text):
                        raise FlowFailed(f"The flow {self.flow.id} has run, but gave no answer: {text}")
                    case StepOutput(data=data):
                        yield Result(data)
                    case _:
                        yield item
        if model.usage is not None:
            self.usage = model.usage + (self.usage or Usage())


def make_answer_context(
    flow: Flow, finished: FlowFinished, services: FlowServices, model: UsageTrackingModel, turn: Turn
) -> StepContext:
    progress = finished.progress
    return StepContext(
        flow=flow,
        step=make_answer_step(flow),
        services=replace(services, model=model),
        turn=turn,
        question=progress.question,
        outputs=progress.outputs,
        previous=finished.output,
        last=True,
        key=progress.run,
    )


def make_result(finished: FlowFinished, budget: int | None) -> Result:
    """Return the flow's answer, or else the outputs of its steps cut to the budget."""
    if finished.progress.spoken:
        return Result(finished.output.data)
    outputs = finished.progress.outputs
    data = {name: one.data for name, one in outputs.items() if one.jump is None and one.data is not None}
    full = Result({"outputs": data})
    if budget is None or fits_budget(full.text, budget):
        return full
    return Result(JsonCutter().cut(full.content, budget))


def make_flow_tool(
    name: str,
    flow: Flow,
    get_services: GetServices,
    get_checkpoint_store: Callable[[], CheckpointStore | None],
) -> Tool:
    """Return a tool that runs the flow."""

    def call(args: dict[str, Any], ctx: ToolContext) -> AsyncIterator[Event | Result | Pause]:
        return FlowTool(flow, get_services, get_checkpoint_store(), answers_user=False).call(args, ctx)

    return Tool(
        name,
        flow.description or flow.name,
        REQUEST_SCHEMA,
        call,
        timeout=flow.timeout + GRACE_SECONDS,
        untrusted=True,
    )
