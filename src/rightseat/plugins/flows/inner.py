"""Nested flows: a sub-flow, a parallel branch, a loop round. Their progress lives in the step's state."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

from msgspec.structs import replace

from rightseat.plugins.flows.flow import Flow
from rightseat.plugins.flows.play import FlowFinished, stream_flow
from rightseat.plugins.flows.progress import FlowProgress, restore_progress, start_progress
from rightseat.plugins.flows.stage import FlowServices, StepContext, StepOutput
from rightseat.types.events import Event
from rightseat.types.streams import closing
from rightseat.types.tools import Pause
from rightseat.types.turn import Turn


@dataclass(frozen=True, slots=True)
class SubflowState:
    """State left by a Pause or crash, the answers since, and the function that saves new state."""

    state: Any
    answers: tuple[Any, ...]
    save: Callable[[Any], Awaitable[None]]


async def stream_subflow(
    ctx: StepContext,
    flow: Flow,
    *,
    services: FlowServices | None = None,
    turn: Turn | None = None,
    question: str | None = None,
    outer_outputs: Mapping[str, StepOutput] | None = None,
    previous: StepOutput | None = None,
    final: bool = False,
    key_suffix: str = "",
    saved: SubflowState | None = None,
) -> AsyncIterator[Event | StepOutput | Pause]:
    """Run a flow inside a step. `outer_outputs` and `previous` are visible to its steps; `key_suffix`
    distinguishes several flows in one step; `saved` is their state, by default the step's own."""
    saved = saved or SubflowState(ctx.state, ctx.answers, ctx.save_state)
    run_id = f"{ctx.key}{key_suffix}"
    progress = start_progress(flow, ctx.question if question is None else question, run_id)
    if saved.state is not None:
        progress = restore_progress(saved.state, flow)
        if saved.answers:
            # Saved at once: after a crash the answers must not be applied twice.
            progress = progress.with_answers(saved.answers)
            await saved.save(progress.as_dict)

    async def save_progress(progress: FlowProgress) -> None:
        await saved.save(progress.as_dict)

    stream = stream_flow(
        flow,
        services or ctx.services,
        turn or ctx.turn,
        progress,
        save_progress,
        outer_outputs=outer_outputs,
        previous=previous,
        final=final,
    )
    async with closing(stream) as items:
        async for item in items:
            if isinstance(item, FlowFinished):
                yield replace(item.output, jump=None, spoken=item.progress.spoken)
            else:
                yield item
