"""`rightseat serve --workers N` as its operator sees it: which worker answers, and which process it is."""

import asyncio
import contextlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.kit.client import RawHttpClient
from tests.kit.server import POLL_SECONDS, RightseatProcess
from tests.kit.timeouts import HANG_TIMEOUT

# A connection that the kernel gave to a stopped worker is never answered.
ASK_SECONDS = 5.0
# With three workers and this many connections no worker is left out, but once in ten million times.
MANY_CONNECTIONS = 45
# A number whose workers end again and again is started again after up to 30 seconds, and a start takes long under load.
REPLACE_TIMEOUT = 3 * HANG_TIMEOUT


def find_workers(server: RightseatProcess) -> dict[int, int]:
    """The pids of the workers that run now, by their numbers."""
    pids: dict[int, int] = {}
    for pid in server.child_pids:
        with contextlib.suppress(OSError):
            words = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
            command = Path(f"/proc/{pid}/cmdline").read_bytes()
            numbers = [int(word.partition(b"=")[2]) for word in words if word.startswith(b"RIGHTSEAT_WORKER=")]
            if numbers and b"rightseat.cli.worker" in command:
                pids[numbers[0]] = pid
    return pids


async def wait_for_worker(server: RightseatProcess, number: int) -> int:
    """The pid of the worker that has this number, as soon as there is one."""
    async with asyncio.timeout(REPLACE_TIMEOUT):
        while True:
            if (pid := find_workers(server).get(number)) is not None:
                return pid
            await asyncio.sleep(POLL_SECONDS)


async def wait_replaced(server: RightseatProcess, number: int, pid: int) -> int:
    """The pid of the worker that answers in place of the one with this pid."""
    async with asyncio.timeout(REPLACE_TIMEOUT):
        while True:
            new_pid = find_workers(server).get(number, pid)
            # Asked only once it is there: each look makes many connections.
            if new_pid != pid and number in await ask_many(server.url):
                return new_pid
            await asyncio.sleep(POLL_SECONDS)


async def get_json(url: str, path: str = "/health") -> dict[str, Any] | None:
    """The reply on a connection of its own; None where the worker that got it ended or stands still."""
    with contextlib.suppress(OSError, TimeoutError):
        async with RawHttpClient(url, timeout=ASK_SECONDS) as client:
            await client.get(path)
            await client.read_head()
            value: dict[str, Any] = json.loads(await client.read_body())
            return value
    return None


async def ask_many(url: str, times: int = MANY_CONNECTIONS) -> set[int]:
    """The numbers of the workers that answer on so many connections, each its own."""
    replies: Sequence[dict[str, Any] | None] = await asyncio.gather(*(get_json(url) for _ in range(times)))
    return {reply["worker"] for reply in replies if reply is not None}


async def connect_workers(stack: contextlib.AsyncExitStack, url: str, count: int) -> dict[int, RawHttpClient]:
    """One connection to each of so many workers, by their numbers: the next request goes to that worker."""
    clients: dict[int, RawHttpClient] = {}
    async with asyncio.timeout(HANG_TIMEOUT):
        while len(clients) < count:
            client = await stack.enter_async_context(RawHttpClient(url))
            await client.get("/health")
            await client.read_head()
            clients[json.loads(await client.read_body())["worker"]] = client
    return clients
