"""Nested flows: a sub-flow, a parallel branch, a loop round. Their progress lives in the step's state."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

from msgspec.structs import replace

from rightseat.plugins.flows.flow import Flow
from rightseat.plugins.flows.play import Done, play
from rightseat.plugins.flows.progress import Progress, first, restored
from rightseat.plugins.flows.stage import Kit, Output, Stage
from rightseat.types.events import Event
from rightseat.types.streams import closing
from rightseat.types.tools import Pause
from rightseat.types.turn import Turn


@dataclass(frozen=True, slots=True)
class Place:
    """State left by a Pause or crash, the answers since, and the function that saves new state."""

    state: Any
    answers: tuple[Any, ...]
    keep: Callable[[Any], Awaitable[None]]


async def inner(
    stage: Stage,
    flow: Flow,
    *,
    kit: Kit | None = None,
    turn: Turn | None = None,
    question: str | None = None,
    around: Mapping[str, Output] | None = None,
    before: Output | None = None,
    final: bool = False,
    mark: str = "",
    place: Place | None = None,
) -> AsyncIterator[Event | Output | Pause]:
    """Run a flow inside a step. `outer_outputs` and `previous` are visible to its steps; `key_suffix`
    distinguishes several flows in one step; `saved` is their state, by default the step's own."""
    place = place or Place(stage.state, stage.answers, stage.keep)
    run = f"{stage.key}{mark}"
    progress = first(flow, stage.question if question is None else question, run)
    if place.state is not None:
        progress = restored(place.state, flow)
        if place.answers:
            # Saved at once: after a crash the answers must not be applied twice.
            progress = progress.heard(place.answers)
            await place.keep(progress.plain)

    async def note(progress: Progress) -> None:
        await place.keep(progress.plain)

    playing = play(
        flow,
        kit or stage.kit,
        turn or stage.turn,
        progress,
        note,
        around=around,
        before=before,
        final=final,
    )
    async with closing(playing) as items:
        async for item in items:
            if isinstance(item, Done):
                yield replace(item.output, jump=None, spoken=item.progress.spoken)
            else:
                yield item
