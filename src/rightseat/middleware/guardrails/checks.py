"""Checks by an operator's function or by an HTTP service."""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec
from msgspec import Struct
from yarl import URL

from rightseat.config.secret import Secret
from rightseat.http import Client, request_head
from rightseat.middleware.guardrails.verdict import UNCHECKED, Direction, Failing, Refuse, Replace, Verdict
from rightseat.tools.thread_pool import Threads
from rightseat.types.turn import Turn

log = logging.getLogger(__name__)
MAX_ANSWER = 64 << 10
MAX_REASON = 500
SECONDS = 5.0
Validator = Callable[[str, Direction, Turn], Verdict | Awaitable[Verdict]]
KEY_HEADER = "X-CopilotCloud-Public-API-Key"


def failed(name: str, failing: Failing, why: str) -> Verdict:
    log.warning("the guardrail %s could not be asked (%s): what it should check is %s", name, why, failing)
    return UNCHECKED if failing == "refuse" else None


class Local:
    """A check by a function `(text, direction, turn)` that returns None, Refuse or Replace. A plain function
    runs in a thread."""

    topical = False

    def __init__(
        self,
        name: str,
        validator: Validator,
        *,
        directions: tuple[Direction, ...] = ("input",),
        seconds: float = SECONDS,
        failing: Failing = "refuse",
    ) -> None:
        self.name = name
        self.validator = validator
        self.directions = directions
        self.seconds = seconds
        self.failing = failing
        self.threads = Threads()

    async def verdict(self, text: str, direction: Direction, turn: Turn) -> Verdict:
        # A task, so that any exception of the function can be handled.
        task = asyncio.ensure_future(self.called(text, direction, turn))
        try:
            done, _ = await asyncio.wait([task], timeout=self.seconds)
        finally:
            if not task.done():
                task.cancel()
        if not done:
            return failed(self.name, self.failing, f"it took longer than {self.seconds:g} s")
        if (error := task.exception()) is not None:
            return failed(self.name, self.failing, type(error).__name__)
        found = task.result()
        if found is None or isinstance(found, Refuse | Replace):
            return found
        return failed(self.name, self.failing, f"it gave a {type(found).__name__}")

    async def called(self, text: str, direction: Direction, turn: Turn) -> Any:
        if inspect.iscoroutinefunction(self.validator):
            return await self.validator(text, direction, turn)
        found = await self.threads.run(lambda: self.validator(text, direction, turn))
        return await found if inspect.isawaitable(found) else found

    async def close(self) -> None:
        """Do nothing: there are no resources."""


class Told(Struct):
    """Response of CopilotKit cloud's validation service."""

    status: str
    reason: str | None = None


class Remote:
    """A check by a service with CopilotKit cloud's contract: POST text and topics to `/guardrails/validate`;
    the response is `allowed`, or `denied` with a reason."""

    topical = True

    def __init__(
        self,
        name: str,
        url: str,
        *,
        key: Secret | None = None,
        topics: tuple[tuple[str, ...], tuple[str, ...]] = ((), ()),
        directions: tuple[Direction, ...] = ("input",),
        seconds: float = SECONDS,
        failing: Failing = "refuse",
    ) -> None:
        self.name = name
        self.url = URL(url)
        self.key = key
        self.valid, self.invalid = topics
        self.directions = directions
        self.seconds = seconds
        self.failing = failing
        self.client = Client(self.url, connect_timeout=seconds)

    async def verdict(self, text: str, direction: Direction, turn: Turn) -> Verdict:
        try:
            async with asyncio.timeout(self.seconds):
                told = await self.asked(self.posted(text, direction, turn))
        except (OSError, TimeoutError, msgspec.MsgspecError) as error:
            return failed(self.name, self.failing, type(error).__name__)
        if told is None or told.status not in ("allowed", "denied"):
            return failed(self.name, self.failing, "its answer is not one of this contract")
        return None if told.status == "allowed" else Refuse((told.reason or "")[:MAX_REASON])

    def posted(self, text: str, direction: Direction, turn: Turn) -> bytes:
        before = [m for m in turn.messages if m.role in ("user", "assistant") and m.text]
        if direction == "input" and before and before[-1].text == text:
            before = before[:-1]
        return msgspec.json.encode(
            {
                "input": text,
                "direction": direction,
                "validTopics": [*self.valid, *turn.topics.allow],
                "invalidTopics": [*self.invalid, *turn.topics.deny],
                "messages": [{"role": m.role, "content": m.text} for m in before],
            }
        )

    async def asked(self, body: bytes) -> Told | None:
        headers = {"Content-Type": "application/json", "Accept": "application/json"}
        if self.key is not None:
            headers[KEY_HEADER] = self.key.reveal()
        deadline = asyncio.get_running_loop().time() + self.seconds
        response = await self.client.send(request_head("POST", self.url, headers), body, deadline)
        try:
            await response.head()
            if response.status != 200:
                return None
            return msgspec.json.decode(await response.read(MAX_ANSWER), type=Told)
        finally:
            response.close()

    async def close(self) -> None:
        self.client.close()
