"""The drill of readers: a run begins at one of two servers, and is joined, repeated and stopped at the other; then
the server of a run is killed. Both products speak the same protocol and get the same requests."""

import asyncio
import contextlib
import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from contextlib import AsyncExitStack
from functools import partial
from typing import Any

from bench import node
from bench.peers import copilotkit
from evals.alternatives.rows import DrillRow, count_words
from tests.kit.answers import WordGate
from tests.kit.client import RawHttpClient, SseFrame
from tests.kit.cluster import Cluster
from tests.kit.server import RightseatProcess
from tests.kit.timeouts import HANG_TIMEOUT
from tests.kit.upstream import FakeUpstream
from tests.kit.waiting import wait_until

AGENT = "/copilotkit/agent/default"
WORDS = [f"{number} " for number in range(60)]
ALL = 1000
PATIENCE = 10.0
"""Seconds in which something is waited for that need not happen."""
JOINED = "a run begins at A and is joined at B"
REPEATED = "a run begins at A, and another one on the same thread is posted to B"
STOPPED = "the run is stopped at B"
KILLED = "A is killed (SIGKILL) in the middle of a run; its reader goes on at B"
STARTED = "A is started again; its reader looks there"


class ServerPair(ABC):
    """Two servers of one product over one model's server."""

    product = ""
    can_lose_one = True
    """Whether B is another process than A."""

    def __init__(self, upstream: FakeUpstream) -> None:
        self.upstream = upstream

    @property
    @abstractmethod
    def urls(self) -> list[str]: ...

    @abstractmethod
    async def start(self, stack: AsyncExitStack) -> None: ...

    @abstractmethod
    async def kill_first(self) -> None: ...

    @abstractmethod
    async def restart_first(self, stack: AsyncExitStack) -> None: ...


class RightseatPair(ServerPair):
    product = "rightseat, 2 replicas, PostgreSQL"
    cluster: Cluster

    @property
    def urls(self) -> list[str]:
        return self.cluster.urls

    async def start(self, stack: AsyncExitStack) -> None:
        tables = f'[models.m]\nspec = "openai:x"\nbase_url = "{self.upstream.base_url}"\napi_key = "key"\n'
        self.cluster = await stack.enter_async_context(Cluster(tables, replicas=2))

    async def kill_first(self) -> None:
        await self.cluster.kill(0)

    async def restart_first(self, stack: AsyncExitStack) -> None:
        await self.cluster.restart(0)


class CopilotKitPair(ServerPair):
    """CopilotKit's runtime with its own agent and its runner in memory."""

    servers: list[RightseatProcess]

    @property
    def urls(self) -> list[str]:
        return [server.url for server in self.servers]

    async def start(self, stack: AsyncExitStack) -> None:
        self.product = f"CopilotKit runtime {copilotkit.PEER.version()}, 2 processes, InMemoryAgentRunner"
        self.servers = [await self.start_one(stack) for _ in range(2)]

    async def start_one(self, stack: AsyncExitStack) -> RightseatProcess:
        command = node.make_command(copilotkit.LOCK, "launch_copilotkit.mjs", self.upstream.origin)
        server = RightseatProcess(command=command, env=node.ENV, start_timeout=2 * HANG_TIMEOUT)
        return await stack.enter_async_context(server)

    async def kill_first(self) -> None:
        await self.servers[0]._kill()

    async def restart_first(self, stack: AsyncExitStack) -> None:
        self.servers[0] = await self.start_one(stack)


class CopilotKitAlone(CopilotKitPair):
    """One process in the place of both: what the product does without the drill's condition."""

    can_lose_one = False

    async def start(self, stack: AsyncExitStack) -> None:
        self.product = f"CopilotKit runtime {copilotkit.PEER.version()}, 1 process (A is B), InMemoryAgentRunner"
        self.servers = [await self.start_one(stack)] * 2


def make_body(thread: str, run: str) -> dict[str, Any]:
    message = {"id": f"u-{thread}", "role": "user", "content": "Count."}
    body: dict[str, Any] = {"threadId": thread, "runId": run, "messages": [message], "state": {}, "tools": []}
    return body | {"context": [], "forwardedProps": {}}


async def wait_at_most(seconds: float, condition: Callable[[], object]) -> None:
    """Wait until a condition holds that need not come."""
    with contextlib.suppress(TimeoutError):
        await wait_until(condition, seconds)


class StreamReader:
    """Posts a request and reads its stream in a task of its own."""

    def __init__(self, url: str, path: str, body: Mapping[str, Any], after: str = "") -> None:
        self.status = 0
        self.frames: list[SseFrame] = []
        self.text = ""
        """Body of a reply that is no stream."""
        self.was_cut = False
        self.task = asyncio.create_task(self.read(url, path, body, after))

    async def read(self, url: str, path: str, body: Mapping[str, Any], after: str) -> None:
        try:
            async with RawHttpClient(url, timeout=3 * HANG_TIMEOUT) as client:
                await client.post_json(path, body, {"Last-Event-ID": after} if after else {})
                head = await client.read_head()
                self.status = head.status
                if "event-stream" not in head.headers.get("content-type", ""):
                    self.text = (await client.read_body()).decode(errors="replace")
                    return
                async for frame in client.iterate_frames():
                    if frame.data:
                        self.frames.append(frame)
        except OSError:
            self.was_cut = True

    @property
    def words(self) -> list[str]:
        return "".join(frame.json.get("delta", "") for frame in self.frames).split()

    @property
    def end(self) -> str:
        """How the run ended, if its end was told."""
        event = self.frames[-1].json if self.frames else {}
        if event.get("type") not in ("RUN_FINISHED", "RUN_ERROR"):
            return ""
        return str(event.get("code") or event["type"])

    @property
    def last_id(self) -> str:
        return next((frame.id for frame in reversed(self.frames) if frame.id), "")

    async def wait_words(self, count: int, seconds: float = HANG_TIMEOUT) -> bool:
        """Wait until so many words have come; whether they have, before the stream's end and in time."""
        await wait_at_most(seconds, lambda: len(self.words) >= count or self.task.done())
        return len(self.words) >= count

    async def wait_end(self, seconds: float = HANG_TIMEOUT) -> bool:
        done, _ = await asyncio.wait([self.task], timeout=seconds)
        return bool(done)


class ReaderDrill:
    def __init__(self, pair: ServerPair, gate: WordGate, stack: AsyncExitStack) -> None:
        self.pair = pair
        self.gate = gate
        self.stack = stack
        self.rows: list[DrillRow] = []

    def post(self, index: int, path: str, thread: str, run: str, after: str = "") -> StreamReader:
        reader = StreamReader(self.pair.urls[index], f"{AGENT}/{path}", make_body(thread, run), after)
        self.stack.callback(reader.task.cancel)
        return reader

    def add(self, did: str, happened: str, **figures: Any) -> None:
        self.rows.append(DrillRow(self.pair.product, did, happened, figures))

    async def run(self) -> list[DrillRow]:
        await self.gate.release(10)
        own = self.post(0, "run", "t1", "r1")
        if not await own.wait_words(5):
            raise RuntimeError(f"{self.pair.product} does not answer: {own.status} {own.text} {own.frames[-1:]}")
        other = self.post(1, "connect", "t1", "r1")
        await self.join(own, other)
        await self.stop(own, other)
        await self.repeat()
        if self.pair.can_lose_one:
            await self.kill()
        return self.rows

    async def join(self, own: StreamReader, other: StreamReader) -> None:
        await self.gate.release(20)
        await own.wait_words(15)
        await other.wait_words(15, PATIENCE)
        ended = "and its stream ended" if other.task.done() else "and goes on"
        told = f"A's reader had {count_words(len(own.words))}; B's got {count_words(len(other.words))} {ended}"
        self.add(JOINED, told, words=len(other.words), goes_on=not other.task.done())

    async def repeat(self) -> None:
        await self.gate.release(20)
        own = self.post(0, "run", "t2", "r2")
        await own.wait_words(15)
        asked = len(self.pair.upstream.requests)
        second = self.post(1, "run", "t2", "r3")
        await wait_at_most(PATIENCE, lambda: second.task.done() or len(self.pair.upstream.requests) > asked)
        more = len(self.pair.upstream.requests) - asked
        told = "the thread has two runs, and the model is asked again" if more else "the model is not asked again"
        self.add(REPEATED, f"HTTP {second.status}: {told}", status=second.status, asked=more)
        await self.gate.release(ALL)
        await own.wait_end()
        await second.wait_end()

    async def stop(self, own: StreamReader, other: StreamReader) -> None:
        connection = self.pair.upstream.connections[0]
        async with RawHttpClient(self.pair.urls[1]) as client:
            await client.post_json(f"{AGENT}/stop/t1", {})
            head = await client.read_head()
            answer = await client.read_body()
        await wait_at_most(PATIENCE, lambda: connection.closed_by_peer)
        stopped = connection.closed_by_peer
        reply = json.dumps(json.loads(answer).get("stopped")) if head.status == 200 else ""
        told = f"HTTP {head.status}{f', `stopped: {reply}`' if reply else ''}; "
        told += "the model's connection is closed" if stopped else f"the model goes on, also after {PATIENCE:.0f} s"
        if stopped:
            await own.wait_end()
        self.add(STOPPED, told, status=head.status, stopped=stopped)
        await self.gate.release(ALL)
        await own.wait_end()
        await other.wait_end()

    async def kill(self) -> None:
        await self.gate.release(20)
        own = self.post(0, "run", "t3", "r4")
        await own.wait_words(15)
        await self.pair.kill_first()
        await own.wait_end()
        seen = own.words
        rejoined = self.post(1, "connect", "t3", "r4", own.last_id)
        await rejoined.wait_end()
        whole = self.post(1, "connect", "t3", "r4")
        await whole.wait_end()
        lost = len(seen) - len([word for word in whole.words if word in seen])
        told = f"it had {count_words(len(seen))} and no end; at B it gets "
        told += f"the end `{rejoined.end}`" if rejoined.end else "nothing"
        told += f", and the thread has {count_words(len(whole.words))}"
        self.add(KILLED, told, seen=len(seen), lost=lost, end=rejoined.end, doubled=len(rejoined.words))
        await self.pair.restart_first(self.stack)
        back = self.post(0, "connect", "t3", "r4")
        await back.wait_end()
        told = f"the thread has {count_words(len(back.words))}"
        told += f" and the end `{back.end}`" if back.end else " and no end of the run"
        self.add(STARTED, told, words=len(back.words), end=back.end)


async def measure_pair(make_pair: type[ServerPair]) -> list[DrillRow]:
    async with AsyncExitStack() as stack:
        upstream = await stack.enter_async_context(FakeUpstream())
        gate = WordGate(WORDS)
        upstream.reply = gate
        stack.push_async_callback(gate.release, ALL)
        pair = make_pair(upstream)
        await pair.start(stack)
        return await ReaderDrill(pair, gate, stack).run()


measure_rightseat = partial(measure_pair, RightseatPair)
measure_copilotkit = partial(measure_pair, CopilotKitPair)
measure_copilotkit_alone = partial(measure_pair, CopilotKitAlone)
