"""The demo as `serve` shows it without any settings: the embedded model, two tools and a flow."""

import uuid
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from evals.demo.wordings import BOOKING, CHART, CLOCK, FLOW
from rightseat.models.llamacpp import weights
from tests.kit.client import RawHttpClient
from tests.kit.server import RightseatProcess
from tests.kit.timeouts import HANG_TIMEOUT

Event = dict[str, Any]
TIMEOUT = 5 * HANG_TIMEOUT
"""Seconds: the first answer waits for the model, and it may be a slow machine."""


@dataclass(frozen=True)
class DemoCase:
    wording: str
    is_met: Callable[[list[Event]], bool]
    """Whether a run brought what the demo is there to show."""
    assistant: str = "default"


@asynccontextmanager
async def serve_demo() -> AsyncIterator[str]:
    """Its address."""
    # Empty: else the kit names a script, and that would answer.
    env = {"RIGHTSEAT_CACHE": str(weights.cache_folder()), "RIGHTSEAT_MODEL": ""}
    async with RightseatProcess(env=env, start_timeout=TIMEOUT) as running:
        yield running.url


async def run_case(url: str, case: DemoCase) -> list[Event]:
    """As a page does it, by AG-UI: there a question and a chart are events of their own."""
    message = {"id": "1", "role": "user", "content": case.wording}
    empty: dict[str, Any] = {"tools": [], "context": [], "state": {}, "forwardedProps": {"temperature": 0}}
    given = {"threadId": uuid.uuid4().hex, "runId": "r", "messages": [message], **empty}
    async with RawHttpClient(url, timeout=TIMEOUT) as client:
        await client.post_json(f"/agui/{case.assistant}", given)
        assert (await client.read_head()).status == 200
        return [frame.json async for frame in client.iterate_frames() if frame.data]


def tells_the_time(events: list[Event]) -> bool:
    """The clock was asked, and the answer has its hour and minute."""
    results = [event["content"] for event in events if event["type"] == "TOOL_CALL_RESULT"]
    return "demo_clock" in list_called_tools(events) and any(one[11:16] in join_text(events) for one in results)


def make_booking_check(people: int) -> Callable[[list[Event]], bool]:
    def asks(events: list[Event]) -> bool:
        """Nothing is booked before somebody allows it."""
        outcome = events[-1].get("outcome", {})
        questions = [one["message"] for one in outcome.get("interrupts", ())]
        arguments = f'{{"people":{people}}}'
        return questions in ([f"Allow demo_book with {arguments}?"], [f"是否允许执行 demo_book，参数为 {arguments}？"])

    return asks


def draws_chart(events: list[Event]) -> bool:
    shown = [event["value"]["kind"] for event in events if event.get("name") == "artifact"]
    return shown == ["chart"] and any(month in join_text(events) for month in ("June", "六月"))


def list_called_tools(events: list[Event]) -> list[str]:
    return [event["toolCallName"] for event in events if event["type"] == "TOOL_CALL_START"]


def join_text(events: list[Event]) -> str:
    return "".join(event["delta"] for event in events if event["type"] == "TEXT_MESSAGE_CONTENT")


CASES = {
    "a tool call": [DemoCase(wording, tells_the_time) for wording in CLOCK],
    "an approval": [DemoCase(wording, make_booking_check(people)) for wording, people in BOOKING],
    "a flow with a chart": [DemoCase(wording, draws_chart, "demo.sales") for wording in FLOW],
    "the flow as a tool": [DemoCase(wording, draws_chart) for wording in CHART],
}
