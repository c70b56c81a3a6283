"""Does nothing. Without a `next` the flow ends here; else what came before goes on."""

from __future__ import annotations

from collections.abc import AsyncIterator

from rightseat.events import Event
from rightseat.plugins.flows.stage import Output, Stage
from rightseat.tools import Pause


async def run(stage: Stage) -> AsyncIterator[Event | Output | Pause]:
    yield Output(stage.previous.data if stage.previous else None)
