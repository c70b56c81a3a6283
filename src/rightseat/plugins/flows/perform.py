"""A flow as a tool: runs it with checkpoints. Its questions become a Pause, its outputs the Result."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from typing import Any

from rightseat.documents.cut import fits
from rightseat.documents.shape import Shape
from rightseat.engine.assembler import spoken
from rightseat.errors import FlowFailed
from rightseat.plugins.flows.attempt import Failure, Metered, attempted
from rightseat.plugins.flows.diary import Diary
from rightseat.plugins.flows.flow import Flow
from rightseat.plugins.flows.play import Done, play
from rightseat.plugins.flows.progress import Progress
from rightseat.plugins.flows.prompts import answer_step
from rightseat.plugins.flows.stage import Kit, Output, Stage
from rightseat.plugins.flows.steps import LLM, kind
from rightseat.plugins.flows.suggest import suggested
from rightseat.tools.delegate import REQUEST
from rightseat.types.events import Event, TextDelta, TextEnd, TextStart, Usage
from rightseat.types.stores import Ids, Notes
from rightseat.types.streams import closing
from rightseat.types.tools import Pause, Result, Tool, ToolContext
from rightseat.types.turn import Turn

GRACE = 30.0
SAID = (TextStart, TextDelta, TextEnd)
KitOf = Callable[[Flow, Turn], Kit]


class Performance:
    """Runs one flow. `answers_user`: its text is streamed to the user instead of returned to a model.

    `usage` is set when the run ends or pauses.
    """

    def __init__(self, flow: Flow, kit_of: KitOf, notes: Notes | None, *, speaks: bool) -> None:
        self.flow = flow
        self.kit_of = kit_of
        self.notes = notes
        self.speaks = speaks
        self.usage: Usage | None = None
        self.heard = False
        """Whether this process has streamed text; after a crash the stored answer is streamed once more."""

    async def call(self, args: dict[str, Any], ctx: ToolContext) -> AsyncIterator[Event | Result | Pause]:
        diary = Diary(self.notes, ctx.turn.owner)
        try:
            if ctx.state is None:
                progress = await diary.begin(self.flow, args["request"], ctx.turn)
            else:
                progress = await diary.resume(ctx.state, self.flow, ctx.answers)
            async with closing(self.played(progress, diary, ctx)) as items:
                async for item in items:
                    yield item
        except FlowFailed:
            await diary.forget()
            raise
        finally:
            diary.close()

    async def played(
        self, progress: Progress, diary: Diary, ctx: ToolContext
    ) -> AsyncIterator[Event | Result | Pause]:
        kit = self.kit_of(self.flow, ctx.turn)
        playing = play(self.flow, kit, ctx.turn, progress, diary.note, final=True)
        async with closing(playing) as items:
            async for item in items:
                if isinstance(item, Done):
                    self.usage = item.progress.usage
                    answer = ""
                    async with closing(self.ending(item, kit, ctx)) as rest:
                        async for event in rest:
                            answer = event.text if isinstance(event, Result) else answer
                            yield event
                    await diary.forget()
                    if self.speaks and self.flow.next_flow:
                        following = await suggested(self.flow, kit, progress.question, answer)
                        if following is not None:
                            yield following
                elif self.speaks or not isinstance(item, SAID):
                    self.heard = self.heard or isinstance(item, TextDelta)
                    yield item

    async def ending(self, done: Done, kit: Kit, ctx: ToolContext) -> AsyncIterator[Event | Result | Pause]:
        """Yield the result. If no step has answered the user, let the model write the answer."""
        if done.progress.spoken or not self.speaks:
            found = result(done, ctx.budget)
            if self.speaks and not self.heard:
                for event in spoken(Ids().message(), found.text):
                    yield event
            yield found
            return
        metered = Metered(kit.model)
        stage = answering(self.flow, done, kit, metered, ctx.turn)
        async with closing(attempted(kind(LLM).run, stage)) as items:
            async for item in items:
                match item:
                    case Failure(text):
                        raise FlowFailed(f"The flow {self.flow.id} has run, but gave no answer: {text}")
                    case Output(data=data):
                        yield Result(data)
                    case _:
                        yield item
        if metered.usage is not None:
            self.usage = metered.usage + (self.usage or Usage())


def answering(flow: Flow, done: Done, kit: Kit, model: Metered, turn: Turn) -> Stage:
    progress = done.progress
    return Stage(
        flow=flow,
        step=answer_step(flow),
        kit=replace(kit, model=model),
        turn=turn,
        question=progress.question,
        outputs=progress.outputs,
        previous=done.output,
        last=True,
        key=progress.run,
    )


def result(done: Done, budget: int | None) -> Result:
    """Return the flow's answer, or else the outputs of its steps cut to the budget."""
    if done.progress.spoken:
        return Result(done.output.data)
    outputs = done.progress.outputs
    told = {name: one.data for name, one in outputs.items() if one.jump is None and one.data is not None}
    whole = Result({"outputs": told})
    if budget is None or fits(whole.text, budget):
        return whole
    return Result(Shape().cut(whole.content, budget))


def flow_tool(name: str, flow: Flow, kit_of: KitOf, notes: Callable[[], Notes | None]) -> Tool:
    """Return a tool that runs the flow."""

    def call(args: dict[str, Any], ctx: ToolContext) -> AsyncIterator[Event | Result | Pause]:
        return Performance(flow, kit_of, notes(), speaks=False).call(args, ctx)

    return Tool(
        name, flow.description or flow.name, REQUEST, call, timeout=flow.timeout + GRACE, outside=True
    )
