"""A flow within a step: a sub-flow, a branch, a round. It goes on from the step's state, and keeps itself
there."""

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
    """What an earlier Pause or crash left, what was answered since, and where to keep what comes."""

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
    """`around` and `before` are what its steps know beside their own outputs. `mark` tells several within
    one step apart; `place` is where its state is, the stage's own unless it is given."""
    place = place or Place(stage.state, stage.answers, stage.keep)
    run = f"{stage.key}{mark}"
    progress = first(flow, stage.question if question is None else question, run)
    if place.state is not None:
        progress = restored(place.state, flow)
        if place.answers:
            # They are its own from here on: a crash must not let it hear them twice.
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
