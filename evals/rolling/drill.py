"""The rolling restart: three replicas on one PostgreSQL database are restarted one after the other, while clients
stream answers and run flows by a balancer, and the tables get their next version in the middle."""

import asyncio
import contextlib
import json
import time
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import psycopg

from evals.crashes.shop import write_shop, write_tables
from rightseat.stores.postgres.schema import MIGRATIONS, migrate
from tests.kit.app_server import serve_app
from tests.kit.balancer import RoundRobin
from tests.kit.client import RawHttpClient, SseFrame
from tests.kit.server import POLL_SECONDS, RightseatProcess

REPLICAS = 3
NEXT_STEP = "ALTER TABLE {s}.threads ADD COLUMN next_step text NOT NULL DEFAULT ''"
"""Step of a version that does not exist yet: the replicas of this one go on with its tables."""
WORDS = [f"{number} " for number in range(40)]
PACE_MS = 50
STEP_SECONDS = 0.25
FLOW_LENGTH = 1.5
"""How much longer than the grace a flow takes: no replica sees it from its beginning to its end."""
ATTEMPTS = 200
EFFECTS = ("/orders", "/payments")
DOCUMENT = """
openapi: 3.0.0
info: {version: 1.0.0, title: Shop}
servers: [{url: "URL"}]
paths:
  /items:
    get: {description: Items., responses: {"200": {description: ok}}}
""" + "".join(
    f"""  {path}:
    post:
      description: An effect.
      parameters: [{{name: customer, in: query, required: true, schema: {{type: string}}}}]
      responses: {{"200": {{description: ok}}}}
"""
    for path in EFFECTS
)


def write_flow(looks: int) -> str:
    """Return a flow that orders, looks so many times, and pays."""
    values = 'values: {customer: "{question}"}'
    lines = [f"  - {{name: start, call_type: api, params: {{endpoint: POST /orders, {values}}}, next: look0}}"]
    for number in range(looks):
        after = f"look{number + 1}" if number + 1 < looks else "pay"
        call = f"call_type: api, params: {{endpoint: GET /items, values: {{}}}}, next: {after}"
        lines.append(f"  - {{name: look{number}, {call}}}")
    lines.append(f"  - {{name: pay, call_type: api, params: {{endpoint: POST /payments, {values}}}, next: tell}}")
    lines.append('  - {name: tell, call_type: llm, params: {user_prompt: "Tell the customer."}}')
    return "\n".join(["name: order", "description: Orders.", f"max_steps: {looks + 10}", "steps:", *lines, ""])


@dataclass
class SlowShop:
    """An API that takes a while for each request, and counts its effects by customer and path."""

    effects: Counter[tuple[str, str]] = field(default_factory=Counter)

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["method"] == "POST":
            (customer,) = parse_qs(scope["query_string"].decode())["customer"]
            self.effects[customer, scope["path"]] += 1
        await asyncio.sleep(STEP_SECONDS)
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"application/json")]})
        await send({"type": "http.response.body", "body": b'{"ok": true}'})


@dataclass
class RollingReport:
    streams: int = 0
    flows: int = 0
    """Runs that came to their end."""
    rejoined: int = 0
    """Connections that broke, after which a client read on elsewhere."""
    handed_over: int = 0
    """Runs that a replica has left to the others."""
    asked: int = 0
    """Questions whether a step shall run again: it was cut off in the middle."""
    restarts: int = 0
    seconds: float = 0
    problems: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        return (
            f"{self.restarts} replicas were restarted in {self.seconds:.0f} s, and the tables got their next version. "
            f"{self.streams} streams and {self.flows} flows came to their end. {self.handed_over} runs were handed "
            f"over, clients read on elsewhere {self.rejoined} times, {self.asked} steps were asked about. "
            f"Problems: {len(self.problems)}."
        )


class RollingClient:
    """A client of one agent, which runs it on one thread after the other. A run that is cut off is joined again."""

    def __init__(self, name: str, agent: str, url: str, report: RollingReport) -> None:
        self.name = name
        self.agent = agent
        self.url = url
        self.report = report
        self.runs = 0

    async def run_until(self, is_over: asyncio.Event) -> None:
        while not is_over.is_set():
            await self.run_once()

    async def run_once(self) -> None:
        self.runs += 1
        thread = f"{self.name}-{self.runs}"
        answers: list[dict[str, Any]] = []
        for number in range(ATTEMPTS):
            frames = await self.follow_run(thread, f"{thread}-r{number}", answers)
            if frames is None:
                return
            answers = [self.answer(interrupt) for interrupt in self.list_questions(frames)]
            if not answers:
                self.check(thread, frames)
                return

    async def follow_run(self, thread: str, run: str, answers: list[dict[str, Any]]) -> list[SseFrame] | None:
        """Post a run and read it to its end, wherever it goes on; None if a request has failed."""
        message = {"id": f"u-{thread}", "role": "user", "content": thread}
        body: dict[str, Any] = {
            "threadId": thread,
            "runId": run,
            "messages": [message],
            "resume": answers,
            "protocolVersion": "1.0",
        }
        body |= {"state": {}, "tools": [], "context": [], "forwardedProps": {}}
        frames: list[SseFrame] = []
        for _ in range(ATTEMPTS):
            path = f"/copilotkit/agent/{self.agent}/{'connect' if frames else 'run'}"
            with contextlib.suppress(OSError):
                async with RawHttpClient(self.url) as client:
                    await client.post_json(path, body, {"Last-Event-ID": frames[-1].id or ""} if frames else {})
                    head = await client.read_head()
                    if head.status != 200:
                        self.report.problems.append(f"{thread}: {head.status} {await client.read_body()!r}"[:300])
                        return None
                    async for frame in client.iterate_frames():
                        frames.extend([frame] if frame.data else [])
            if frames and frames[-1].json["type"] in ("RUN_FINISHED", "RUN_ERROR"):
                return frames
            self.report.rejoined += 1
            await asyncio.sleep(POLL_SECONDS)
        self.report.problems.append(f"{thread}: the run has no end")
        return None

    def list_questions(self, frames: list[SseFrame]) -> list[dict[str, Any]]:
        outcome = frames[-1].json.get("outcome") or {}
        return outcome.get("interrupts") or []

    def answer(self, interrupt: dict[str, Any]) -> dict[str, Any]:
        """Leave a step out that may have run: its effect was counted when it began."""
        self.report.asked += 1
        return {"interruptId": interrupt["id"], "status": "resolved", "payload": {"then": "skip"}}

    def check(self, thread: str, frames: list[SseFrame]) -> None:
        """Compare what was read with a whole answer: numbers grow, the text is there once."""
        end = frames[-1].json
        if end["type"] != "RUN_FINISHED":
            self.report.problems.append(f"{thread}: the run ended with {json.dumps(end)}"[:300])
            return
        numbers = [int((frame.id or "0").partition(".")[0]) for frame in frames]
        if numbers != sorted(numbers):
            self.report.problems.append(f"{thread}: numbers do not grow")
        text = "".join(frame.json["delta"] for frame in frames if frame.json["type"] == "TEXT_MESSAGE_CONTENT")
        if not text.endswith("".join(WORDS)):
            self.report.problems.append(f"{thread}: the answer ended with {text[-60:]!r}")
        if self.agent == "default":
            self.report.streams += 1
            if text != "".join(WORDS):
                self.report.problems.append(f"{thread}: the answer is {text[:60]!r}…")
        else:
            self.report.flows += 1


class RollingDrill:
    def __init__(self, home: Path, url: str, schema: str, *, streams: int, flows: int, grace: float) -> None:
        self.home = home
        self.database_url = url
        self.schema = schema
        self.streams = streams
        self.flows = flows
        self.grace = grace
        self.shop = SlowShop()
        self.report = RollingReport()

    async def run(self) -> RollingReport:
        began = time.monotonic()
        async with self.serve_parts(), RoundRobin() as balancer:
            replicas = [await self.start_replica() for _ in range(REPLICAS)]
            try:
                balancer.ports = [find_port(replica) for replica in replicas]
                is_over = asyncio.Event()
                clients = [
                    *(RollingClient(f"s{n}", "default", balancer.url, self.report) for n in range(self.streams)),
                    *(RollingClient(f"f{n}", "shop.order", balancer.url, self.report) for n in range(self.flows)),
                ]
                tasks = [asyncio.create_task(client.run_until(is_over)) for client in clients]
                try:
                    await self.restart_all(replicas, balancer)
                    is_over.set()
                    await asyncio.gather(*tasks)
                finally:
                    for task in tasks:
                        task.cancel()
                    await asyncio.gather(*tasks, return_exceptions=True)
            finally:
                for replica in replicas:
                    await replica.stop()
                    replica.remove_folder()
        for (customer, path), count in self.shop.effects.items():
            if count != 1:
                self.report.problems.append(f"{customer}: {path} happened {count} times")
        self.report.seconds = time.monotonic() - began
        return self.report

    async def restart_all(self, replicas: list[RightseatProcess], balancer: RoundRobin) -> None:
        """Restart one replica after the other; the tables get their next version after the first."""
        for index, old in enumerate(list(replicas)):
            await old.stop()
            self.report.handed_over += count_handed_over(old.stderr)
            old.remove_folder()
            self.report.restarts += 1
            if index == 0:
                await asyncio.to_thread(self.migrate)
            replicas[index] = await self.start_replica()
            balancer.ports[index] = find_port(replicas[index])

    def migrate(self) -> None:
        with psycopg.connect(self.database_url, autocommit=True) as connection:
            migrate(connection, self.schema, "auto", (*MIGRATIONS, NEXT_STEP))

    async def start_replica(self) -> RightseatProcess:
        config = f"""
[server]
grace = {self.grace}
{write_tables(self.home)}
[store]
kind = "postgres"
url = "env:DATABASE_URL"
schema = "{self.schema}"
"""
        replica = RightseatProcess(config=config, env={"DATABASE_URL": self.database_url})
        await replica.start()
        return replica

    @asynccontextmanager
    async def serve_parts(self) -> AsyncIterator[None]:
        """Serve the API, and write the plugin and the model's script."""
        async with serve_app(self.shop) as url:
            looks = int(self.grace * FLOW_LENGTH / STEP_SECONDS)
            turns = [{"when": {}, "say": WORDS, "pace_ms": PACE_MS}]
            write_shop(self.home, DOCUMENT.replace("URL", url), write_flow(looks), turns)
            yield


def find_port(replica: RightseatProcess) -> int:
    return urlsplit(replica.url).port or 0


def count_handed_over(log: str) -> int:
    """Return how many runs a replica has handed over, by its log."""
    lines = [line.partition(" runs are handed over")[0] for line in log.splitlines() if "runs are handed over" in line]
    return sum(int(line.split()[-1]) for line in lines)
