"""The demo as `serve` shows it without any settings: the embedded model, two tools and a flow."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from evals.demo.wordings import BOOKING, CLOCK, FLOW
from rightseat.models.llamacpp import weights
from tests.kit.client import Client
from tests.kit.patience import STUCK
from tests.kit.server import Server

Event = dict[str, Any]
PATIENCE = 5 * STUCK
"""Seconds: the first answer waits for the model, and it may be a slow machine."""


@dataclass(frozen=True)
class Wish:
    wording: str
    kept: Callable[[list[Event]], bool]
    """Whether a run brought what the demo is there to show."""
    assistant: str = "default"


@asynccontextmanager
async def demo() -> AsyncIterator[str]:
    """Its address."""
    # Empty: else the kit names a script, and that would answer.
    env = {"RIGHTSEAT_CACHE": str(weights.cache_folder()), "RIGHTSEAT_MODEL": ""}
    async with Server(env=env, patience=PATIENCE) as running:
        yield running.url


async def run(url: str, wish: Wish) -> list[Event]:
    """As a page does it, by AG-UI: there a question and a chart are events of their own."""
    message = {"id": "1", "role": "user", "content": wish.wording}
    empty: dict[str, Any] = {"tools": [], "context": [], "state": {}, "forwardedProps": {"temperature": 0}}
    given = {"threadId": wish.wording, "runId": "r", "messages": [message], **empty}
    async with Client(url, patience=PATIENCE) as client:
        await client.post(f"/agui/{wish.assistant}", given)
        assert (await client.head()).status == 200
        return [frame.json async for frame in client.frames() if frame.data]


def tells_the_time(events: list[Event]) -> bool:
    """The clock was asked, and the answer has its hour and minute."""
    results = [event["content"] for event in events if event["type"] == "TOOL_CALL_RESULT"]
    return "demo_clock" in called(events) and any(one[11:16] in text(events) for one in results)


def asks_first(people: int) -> Callable[[list[Event]], bool]:
    def asks(events: list[Event]) -> bool:
        """Nothing is booked before somebody allows it."""
        outcome = events[-1].get("outcome", {})
        questions = [one["message"] for one in outcome.get("interrupts", ())]
        return questions == [f'Allow demo_book with {{"people":{people}}}?']

    return asks


def draws(events: list[Event]) -> bool:
    shown = [event["value"]["kind"] for event in events if event.get("name") == "artifact"]
    return shown == ["chart"] and "June" in text(events)


def called(events: list[Event]) -> list[str]:
    return [event["toolCallName"] for event in events if event["type"] == "TOOL_CALL_START"]


def text(events: list[Event]) -> str:
    return "".join(event["delta"] for event in events if event["type"] == "TEXT_MESSAGE_CONTENT")


WISHES = {
    "a tool call": [Wish(wording, tells_the_time) for wording in CLOCK],
    "an approval": [Wish(wording, asks_first(people)) for wording, people in BOOKING],
    "a flow with a chart": [Wish(wording, draws, "demo.sales") for wording in FLOW],
}
