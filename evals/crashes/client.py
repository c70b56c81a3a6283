"""The client of the crash drill: it orders on a thread of its own, re-joins after a crash and orders to the end."""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from evals.crashes.shop import AGENT, ShopApi
from tests.kit.client import RawHttpClient, SseFrame

RUN_PATH = f"/copilotkit/agent/{AGENT}/run"
CONNECT_PATH = f"/copilotkit/agent/{AGENT}/connect"
MAX_REQUESTS = 20


@dataclass
class Session:
    """Frames of one reply in the order in which they came; `after`: the id that the client sent with it."""

    after: str
    frames: list[SseFrame] = field(default_factory=list)


@dataclass
class OrderClient:
    """`customer` is the text of its question, by which the API counts."""

    thread: str
    customer: str
    api: ShopApi
    on_event: Callable[[], None] = lambda: None
    sessions: list[Session] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    run: str = ""
    answers: list[dict[str, Any]] = field(default_factory=list)
    is_done: bool = False
    goes_on: bool = False
    """Whether the server goes on after the crash: an effect that was on its way may arrive later."""
    heard_restarted: int = 0
    replayed: int = 0
    cut: int = 0
    """Runs that the client was in the middle of when its worker was killed."""
    _runs: int = 0

    @property
    def last_frame(self) -> SseFrame | None:
        return next((session.frames[-1] for session in reversed(self.sessions) if session.frames), None)

    @property
    def has_end(self) -> bool:
        """Whether the end of the current run was seen."""
        return self.last_frame is not None and self.ends_run(self.last_frame)

    def ends_run(self, frame: SseFrame) -> bool:
        event: dict[str, str] = frame.json
        return event["type"] == "RUN_ERROR" or (event["type"] == "RUN_FINISHED" and event["runId"] == self.run)

    async def order(self, choose_url: Callable[[], str]) -> None:
        """Order and answer questions, each at the server chosen for it, until the flow has ended. A connection error
        propagates."""
        for _ in range(MAX_REQUESTS):
            if self.is_done:
                return
            self.begin_run()
            await self.post(choose_url(), RUN_PATH)
            self.read_end()
        self.problems.append(f"the flow has not ended after {MAX_REQUESTS} requests")

    def begin_run(self) -> None:
        self._runs += 1
        self.run = f"{self.thread}-r{self._runs}"

    async def post(self, url: str, path: str, after: str = "") -> None:
        session = Session(after)
        self.sessions.append(session)
        message = {"id": f"u-{self.run}", "role": "user", "content": self.customer}
        body: dict[str, Any] = {"threadId": self.thread, "runId": self.run, "messages": [message]}
        body |= {"resume": self.answers, "state": {}, "tools": [], "context": [], "forwardedProps": {}}
        body |= {"protocolVersion": "1.0"}
        async with RawHttpClient(url) as client:
            await client.post_json(path, body, {"Last-Event-ID": after} if after else {})
            head = await client.read_head()
            if head.status != 200:
                self.problems.append(f"{path} said {head.status}: {await client.read_body()!r}")
                return
            async for frame in client.iterate_frames():
                if frame.data:
                    session.frames.append(frame)
                    self.on_event()

    async def recover(self, url: str, *, by_connect: bool) -> None:
        """Learn after a crash what became of the current run: by `connect` with the last id seen, or by posting
        the same run again."""
        if not self.run or self.is_done:
            return
        if self.has_end:
            # The server died between the end of the run and that of the connection.
            self.read_end()
            return
        seen_run = any(frame.json.get("runId") == self.run for session in self.sessions for frame in session.frames)
        self.cut += seen_run
        effects = self.count_effects()
        if by_connect and seen_run:
            last = self.last_frame
            await self.post(url, CONNECT_PATH, (last.id if last else "") or "")
        else:
            await self.post(url, RUN_PATH)
            self.replayed += seen_run
        if not self.has_end:
            self.problems.append("the run had begun, and its end was not told")
        elif seen_run and self.count_effects() != effects and not self.goes_on:
            self.problems.append("a run that was posted again had effects again")
        self.read_end()

    def count_effects(self) -> dict[str, int]:
        """Return the effects of this customer; others may order at the same time."""
        return {path: count for (customer, path), count in self.api.effects.items() if customer == self.customer}

    def read_end(self) -> None:
        """Choose what to post next by how the run ended."""
        self.answers = []
        frame = self.last_frame
        match frame.json if frame is not None else None:
            case {"type": "RUN_FINISHED", "outcome": {"type": "interrupt", "interrupts": interrupts}}:
                self.answers = [self.answer_question(interrupt) for interrupt in interrupts]
            case {"type": "RUN_FINISHED"}:
                self.is_done = True
            case {"type": "RUN_ERROR", "code": "restarted"}:
                self.heard_restarted += 1
            case {"type": "RUN_ERROR", "code": "already_answered"}:
                pass
            case other:
                self.problems.append(f"the run ended with {other}")

    def answer_question(self, interrupt: dict[str, Any]) -> dict[str, Any]:
        """Allow a step; of one that may have run, look whether it has."""
        payload: dict[str, Any] = {"approved": True}
        if "may have run" in interrupt["message"]:
            (path,) = re.findall(r"POST (/\w+)", interrupt["message"])
            payload = {"then": "skip" if self.api.effects[self.customer, path] else "retry"}
        return {"interruptId": interrupt["id"], "status": "resolved", "payload": payload}
