"""Everything that runs during a bench: the upstream, the peers, and one driver at a time."""

import asyncio
import contextlib
import json
import os
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from bench.doors import BenchDoor
from bench.machine import OWN_ENV, ROOT, choose_cores
from bench.peers import BenchPeer
from tests.kit.server import RightseatProcess


class DriverFailed(Exception):
    """The driver did not see what it must see; no figure comes from such a run."""


@dataclass(frozen=True, slots=True)
class BenchSession:
    short: bool
    upstream: str
    peers: Sequence[BenchPeer]
    servers: Mapping[str, RightseatProcess]
    peer_cores: set[int] | None
    notes: list[str] = field(default_factory=list)

    def list_doors(self, *, foreign: bool = True) -> list[tuple[BenchPeer, BenchDoor]]:
        return [(peer, door) for peer in self.peers if foreign or not peer.is_foreign for door in peer.doors]

    def make_fresh_server(self, peer: BenchPeer) -> RightseatProcess:
        """A further, fresh server of that peer, not started yet."""
        return make_server(peer, self.upstream, self.peer_cores)

    async def drive(
        self,
        scenario: str,
        peer: BenchPeer,
        door: BenchDoor,
        seconds: float,
        server: RightseatProcess | None = None,
        **more: Any,
    ) -> Any:
        """Runs the scenario's `drive` in a process of its own, and gives back what it found. Each prints a dot: a
        scenario may take minutes."""
        server = server or self.servers[peer.name]
        job = {"url": server.url, "pid": server.pid, "door": door.name, "key": peer.key, **more}
        job["upstream"] = self.upstream
        line = (sys.executable, "-m", "bench.driver", scenario, json.dumps(job))
        pipe = asyncio.subprocess.PIPE
        child = await asyncio.create_subprocess_exec(
            *line, cwd=ROOT, env={**os.environ, **OWN_ENV}, stdout=pipe, stderr=pipe
        )
        try:
            async with asyncio.timeout(seconds):
                out, err = await child.communicate()
        except TimeoutError:
            raise DriverFailed(
                f"{format_label(peer, door)}: no result within {seconds:g} s\n{server.stderr[-2000:]}"
            ) from None
        finally:
            if child.returncode is None:
                child.kill()
                await child.wait()
        if child.returncode:
            raise DriverFailed(f"{format_label(peer, door)}: {err.decode()[-2000:]}\n{server.stderr[-2000:]}")
        print(".", end="", file=sys.stderr, flush=True)
        return json.loads(out)

    async def run_rounds(
        self, scenario: str, rounds: int, seconds: float, *, unstreamed: bool = False, **more: Any
    ) -> dict[str, list[float]]:
        """One figure per door and round. Interleaved: what else happens on the machine meets every peer."""
        doors = [(peer, door) for peer, door in self.list_doors() if door.answers_unstreamed or not unstreamed]
        found: dict[str, list[float]] = {format_label(peer, door): [] for peer, door in doors}
        for _ in range(rounds):
            for peer, door in doors:
                figure = await self.drive(scenario, peer, door, seconds, **more)
                found[format_label(peer, door)].append(float(figure))
        return found


def format_label(peer: BenchPeer, door: BenchDoor) -> str:
    return f"{peer.name} {door.name}" if len(peer.doors) > 1 else peer.name


def make_server(peer: BenchPeer, upstream: str, peer_cores: set[int] | None) -> RightseatProcess:
    return RightseatProcess(
        command=peer.command(upstream), env=peer.env(upstream), cpu_cores=peer_cores, start_timeout=peer.start_timeout
    )


@contextlib.asynccontextmanager
async def open_session(peers: Sequence[BenchPeer], *, short: bool) -> AsyncIterator[BenchSession]:
    chosen = choose_cores()
    own, theirs = chosen if chosen else (None, None)
    async with contextlib.AsyncExitStack() as stack:
        if own:
            # The drivers are children of this process and inherit it.
            os.sched_setaffinity(0, own)
        line = [sys.executable, "-m", "bench.upstream"]
        upstream = await stack.enter_async_context(RightseatProcess(command=line, env=OWN_ENV, cpu_cores=own))
        servers = {
            peer.name: await stack.enter_async_context(make_server(peer, upstream.url, theirs)) for peer in peers
        }
        yield BenchSession(short, upstream.url, peers, servers, theirs)
