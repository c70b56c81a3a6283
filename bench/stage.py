"""Everything that runs during a bench: the upstream, the peers, and one driver at a time."""

import asyncio
import contextlib
import json
import os
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from bench.doors import Door
from bench.machine import OWN_ENV, ROOT, cores
from bench.peers import Peer
from tests.kit.server import Server


class DriverFailed(Exception):
    """The driver did not see what it must see; no figure comes from such a run."""


@dataclass(frozen=True, slots=True)
class Stage:
    short: bool
    upstream: str
    peers: Sequence[Peer]
    servers: Mapping[str, Server]
    peer_cores: set[int] | None
    notes: list[str] = field(default_factory=list)

    def doors(self, *, foreign: bool = True) -> list[tuple[Peer, Door]]:
        return [(peer, door) for peer in self.peers if foreign or not peer.foreign for door in peer.doors]

    def server(self, peer: Peer) -> Server:
        """A further, fresh server of that peer, not started yet."""
        return make_server(peer, self.upstream, self.peer_cores)

    async def drive(
        self, scenario: str, peer: Peer, door: Door, patience: float, server: Server | None = None, **more: Any
    ) -> Any:
        """Runs the scenario's `drive` in a process of its own, and gives back what it found."""
        server = server or self.servers[peer.name]
        job = {"url": server.url, "pid": server.pid, "door": door.name, "key": peer.key, **more}
        job["upstream"] = self.upstream
        line = (sys.executable, "-m", "bench.driver", scenario, json.dumps(job))
        pipe = asyncio.subprocess.PIPE
        child = await asyncio.create_subprocess_exec(
            *line, cwd=ROOT, env={**os.environ, **OWN_ENV}, stdout=pipe, stderr=pipe
        )
        try:
            async with asyncio.timeout(patience):
                out, err = await child.communicate()
        except TimeoutError:
            raise DriverFailed(
                f"{label(peer, door)}: no result within {patience:g} s\n{server.stderr[-2000:]}"
            ) from None
        finally:
            if child.returncode is None:
                child.kill()
                await child.wait()
        if child.returncode:
            raise DriverFailed(f"{label(peer, door)}: {err.decode()[-2000:]}\n{server.stderr[-2000:]}")
        return json.loads(out)

    async def rounds(
        self, scenario: str, rounds: int, patience: float, *, whole: bool = False, **more: Any
    ) -> dict[str, list[float]]:
        """One figure per door and round. Interleaved: what else happens on the machine meets every peer."""
        doors = [(peer, door) for peer, door in self.doors() if door.whole or not whole]
        found: dict[str, list[float]] = {label(peer, door): [] for peer, door in doors}
        for _ in range(rounds):
            for peer, door in doors:
                figure = await self.drive(scenario, peer, door, patience, **more)
                found[label(peer, door)].append(float(figure))
        return found


def label(peer: Peer, door: Door) -> str:
    return f"{peer.name} {door.name}" if len(peer.doors) > 1 else peer.name


def make_server(peer: Peer, upstream: str, peer_cores: set[int] | None) -> Server:
    return Server(command=peer.command(upstream), env=peer.env(upstream), cores=peer_cores, patience=peer.patience)


@contextlib.asynccontextmanager
async def open_stage(peers: Sequence[Peer], *, short: bool) -> AsyncIterator[Stage]:
    chosen = cores()
    own, theirs = chosen if chosen else (None, None)
    async with contextlib.AsyncExitStack() as stack:
        if own:
            # The drivers are children of this process and inherit it.
            os.sched_setaffinity(0, own)
        line = [sys.executable, "-m", "bench.upstream"]
        upstream = await stack.enter_async_context(Server(command=line, env=OWN_ENV, cores=own))
        servers = {
            peer.name: await stack.enter_async_context(make_server(peer, upstream.url, theirs)) for peer in peers
        }
        yield Stage(short, upstream.url, peers, servers, theirs)
