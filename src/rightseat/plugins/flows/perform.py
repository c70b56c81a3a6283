"""One flow as a tool: `play` with its diary around it. What it asks is the tool's Pause; what it gives is the
tool's Result, or its own words to the person where it `speaks`."""

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
    """`usage` is what its models used, once it is over or has stopped to ask."""

    def __init__(self, flow: Flow, kit_of: KitOf, notes: Notes | None, *, speaks: bool) -> None:
        self.flow = flow
        self.kit_of = kit_of
        self.notes = notes
        self.speaks = speaks
        self.usage: Usage | None = None
        self.heard = False
        """Whether this run has said anything: one that goes on after a crash may find all said."""

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
        """Where no step has spoken the model does, unless the one who called will."""
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
    """What the model that called is told: the flow's own words, else what its steps gave."""
    if done.progress.spoken:
        return Result(done.output.data)
    outputs = done.progress.outputs
    told = {name: one.data for name, one in outputs.items() if one.jump is None and one.data is not None}
    whole = Result({"outputs": told})
    if budget is None or fits(whole.text, budget):
        return whole
    return Result(Shape().cut(whole.content, budget))


def flow_tool(name: str, flow: Flow, kit_of: KitOf, notes: Callable[[], Notes | None]) -> Tool:
    """A flow that a model can call."""

    def call(args: dict[str, Any], ctx: ToolContext) -> AsyncIterator[Event | Result | Pause]:
        return Performance(flow, kit_of, notes(), speaks=False).call(args, ctx)

    return Tool(
        name, flow.description or flow.name, REQUEST, call, timeout=flow.timeout + GRACE, outside=True
    )
