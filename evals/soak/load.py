"""The load of the soak: visits at every door, a third of them aborted, with faults of the upstream and reloads.

What a visit does comes from its number and the seed: `--seed` repeats a run.
"""

import asyncio
import random
import signal
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from tests.contract.doors.members import MEMBERS
from tests.kit.client import RawHttpClient
from tests.kit.server import RightseatProcess

ABORTED_SHARE = 1 / 3
CLIENTS = 12
MAX_ABORT_SECONDS = 1.0
RELOAD_EVERY = 400
CLEAR_EVERY = 50
FAULTS = ("cut", "reset", "500", "429", "garbage", "bad-json", "eof", "close-at-once")
HELD = ("stall", "mute", "silent")
"""Upstreams that never end: only for clients that leave."""
HEALTHY = ("fault-ok", "tool-")
TOOLS = ("add", "add_in_thread", "add_in_process")
ABORT_PHASES = ("sent", "head", "bytes", "last")
FLOW_AGENT = "soak.talk"
THREAD_DOORS = ("agui", "copilotkit-single", "copilotkit-routes")


@dataclass(frozen=True, slots=True)
class Visit:
    """One request of one client."""

    number: int
    door: str
    message: str
    is_flow: bool
    abort_phase: str | None

    @classmethod
    def plan(cls, number: int, seed: int) -> "Visit":
        chance = random.Random(f"{seed}-{number}")
        door = chance.choice(list(MEMBERS))
        aborts = chance.random() < ABORTED_SHARE
        phase = chance.choice(ABORT_PHASES) if aborts else None
        kind = chance.random()
        if kind < 0.25:
            message = f"tool-{chance.choice(TOOLS)}"
        elif kind < 0.45:
            message = f"fault-{chance.choice(FAULTS)}"
        elif phase in ("sent", "head") and kind < 0.7:
            message = f"fault-{chance.choice(HELD)}"
        else:
            message = f"fault-ok:count={chance.randint(1, 30)},rate=200"
        return cls(number, door, message, door in THREAD_DOORS and chance.random() < 0.2, phase)

    def build_request(self, url: str) -> tuple[str, dict[str, Any]]:
        client = MEMBERS[self.door](url)
        client.history.append(make_user_message(self.door, f"{self.message} visit {self.number}"))
        target, body = client.build_request()
        run = body["body"] if "method" in body else body
        if "threadId" in run:
            run["threadId"] = f"soak-{self.number}"
        if self.is_flow:
            target = target.replace("default", FLOW_AGENT)
            if "method" in body:
                body["params"] = {"agentId": FLOW_AGENT}
        return target, body


def make_user_message(door: str, text: str) -> dict[str, Any]:
    """Return a user's message as the history of that door's client has it."""
    return {"id": "u0", "role": "human" if door.startswith("openbb") else "user", "content": text}


@dataclass
class Load:
    """Visits until the time is over, by several clients at once."""

    server: RightseatProcess
    seed: int
    next_number: int = 0
    counts: Counter[str] = field(default_factory=Counter)
    problems: list[str] = field(default_factory=list)

    async def run(self, seconds: float) -> None:
        end = asyncio.get_running_loop().time() + seconds
        await asyncio.gather(*(self.visit_until(end) for _ in range(CLIENTS)))
        await self.clear_threads()

    async def visit_until(self, end: float) -> None:
        loop = asyncio.get_running_loop()
        while loop.time() < end:
            number = self.next_number
            self.next_number += 1
            if number % RELOAD_EVERY == RELOAD_EVERY - 1:
                self.counts["reloads"] += 1
                self.server.send_signal(signal.SIGHUP)
            if number % CLEAR_EVERY == CLEAR_EVERY - 1:
                await self.clear_threads()
            await self.make_visit(Visit.plan(number, self.seed))

    async def make_visit(self, visit: Visit) -> None:
        self.counts["visits"] += 1
        self.counts["aborted" if visit.abort_phase else "read to the end"] += 1
        target, body = visit.build_request(self.server.url)
        try:
            async with RawHttpClient(self.server.url) as client:
                await client.post_json(target, body)
                status = await self.read_answer(client, visit)
        except (AssertionError, OSError) as error:
            self.problems.append(f"visit {visit}: {type(error).__name__}: {str(error)[:200]}")
            return
        self.counts[f"status {status}"] += 1
        if status not in (None, 200) and visit.message.startswith(HEALTHY):
            self.problems.append(f"visit {visit}: answered {status}")

    async def read_answer(self, client: RawHttpClient, visit: Visit) -> int | None:
        """Read to the end, or to where the visit is aborted; return the status if it was read."""
        if visit.abort_phase == "sent":
            # Some leave before their request is read, some when its model is asked.
            await asyncio.sleep(random.Random(visit.number).choice((0, 0.01, 0.05)))
            leave(client, visit)
            return None
        status: int | None = None
        try:
            # Who leaves does not wait for an upstream that never answers.
            async with asyncio.timeout(MAX_ABORT_SECONDS if visit.abort_phase else None):
                status = (await client.read_head()).status
                if visit.abort_phase == "bytes":
                    await client.read_piece()
                elif visit.abort_phase != "head":
                    await client.read_body()
        except TimeoutError:
            if not visit.abort_phase:
                raise
        if visit.abort_phase:
            leave(client, visit)
        return status

    async def clear_threads(self) -> None:
        async with RawHttpClient(self.server.url) as client:
            await client.post_json("/copilotkit/threads/clear", {})
            head = await client.read_head()
        if head.status not in (200, 204):
            self.problems.append(f"threads/clear answered {head.status}")


def leave(client: RawHttpClient, visit: Visit) -> None:
    client.reset() if visit.number % 2 else client.close()
