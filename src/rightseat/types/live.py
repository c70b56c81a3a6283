"""LivePlane and Presence: what the workers that share a store tell each other about runs.

The store is the truth and holds every entry. Notifications only say that there is something new to read, so a lost one
costs time and nothing else: whoever waits for one looks at the store after POLL_SECONDS anyway.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection
from contextlib import AbstractContextManager
from datetime import UTC, datetime
from typing import Any, Literal, Protocol, runtime_checkable

from msgspec import Struct

from rightseat.types.turn import Owner

POLL_SECONDS = 1.0
"""Time after which a reader looks at the store without a notification."""
FULL_WINDOW = 10
"""Items of a window that make the next one wait for its whole time."""
SHORTEST_WINDOW = 0.005
STOP_RUN = "stop"
"""Kind of message that asks a worker to stop the run of a thread."""
STOP_REFUSED = "stop_refused"
"""Kind of message that answers STOP_RUN if the worker cannot stop that run."""
WORKER_LEFT = "left"
"""Kind of message that tells the others that its sender has left: its runs are theirs."""
READ_RUN = "read"
"""Kind of message that tells a worker that its run has a reader elsewhere."""

PING = "ping"
"""Kind of message that asks a worker for a PONG with the same `run`."""
PONG = "pong"
"""Kind of message that answers PING. Its body has `config`, the digest of the worker's configuration."""


def shorten_window(seconds: float, items: int) -> float:
    """Return the time from a window of so many items to the next one. While few come, waiting for others would save
    little and cost a reader time; while many come, most of a window's cost is shared by them."""
    return min(seconds, max(SHORTEST_WINDOW, seconds * items / FULL_WINDOW))


class ControlMessage(Struct, frozen=True, omit_defaults=True, tag="m"):
    """Message from one worker to another. Handlers are chosen by `kind`."""

    kind: str
    owner: str = ""
    thread: str = ""
    run: str = ""
    body: Any = None
    """Data of the kind, as JSON values."""
    sender: str = ""
    """Worker that sends it; set by the plane."""


MessageHandler = Callable[[ControlMessage], None]
"""Called in the event loop. It must not block; what takes time belongs in a task."""


class PlaneOptions(Struct, frozen=True, kw_only=True):
    """What a live plane is made of, whichever kind it is."""

    worker: str
    """Name of this worker, as its presence has it."""
    deployment: str
    """Name that all workers of the deployment have in common, and no other deployment has."""
    url: str = ""
    """Address of the server that carries the messages. It may have a password."""
    window_seconds: float = 0.025
    """Shortest time between two batches of notifications."""
    folder: str = ""
    """Folder that the workers of one machine share, for sockets."""


class Presence(Protocol):
    """Tells which workers are alive. Every SharedStore does."""

    @property
    def worker(self) -> str:
        """Name of this worker. A worker that is started again has a new name."""
        ...

    async def find_dead(self, workers: Collection[str]) -> set[str]:
        """Return those of the workers that have ended. They never come back under the same name."""
        ...


@runtime_checkable
class LeavingPresence(Presence, Protocol):
    """Presence that a process may leave before it ends."""

    async def leave(self) -> None:
        """Count as dead for the others from now on. A second call changes nothing."""
        ...


class EngineState(Struct, frozen=True, omit_defaults=True):
    """State of a server that this process needs, as an operator is told of it."""

    kind: str
    state: Literal["ok", "away"]
    since: str = ""
    """When it was lost, if it is away: ISO 8601, UTC."""
    seconds: float = 0.0
    """For how long it has been away."""
    waiting: int = 0
    """Entries that wait to be written."""
    not_kept: int = 0
    """Entries that were dropped since the start, because it was away for too long."""


def make_engine_state(kind: str, since: float | None, waiting: int = 0, not_kept: int = 0) -> EngineState:
    """Make the state of a server that is away since a wall-clock time, or is there."""
    if since is None:
        return EngineState(kind, "ok", waiting=waiting, not_kept=not_kept)
    moment = datetime.fromtimestamp(since, UTC).isoformat(timespec="seconds")
    return EngineState(kind, "away", moment, round(max(time.time() - since, 0.0), 1), waiting, not_kept)


@runtime_checkable
class RemoteEngine(Protocol):
    """Store or live plane over a server that may be away for a while."""

    def get_state(self) -> EngineState: ...


@runtime_checkable
class ReplicaCount(Protocol):
    """Presence that knows how many workers there are."""

    @property
    def replicas(self) -> int:
        """Workers that were alive when they could last be counted, this one included."""
        ...


@runtime_checkable
class ConfigRegistry(Protocol):
    """Presence that knows whether the workers of a deployment have one configuration."""

    def set_config(self, digest: str) -> None:
        """Tell the others the digest of this worker's configuration, with its next sign of life."""
        ...

    @property
    def other_configs(self) -> int:
        """Workers that were alive at the last sign of life and had another configuration than this one."""
        ...


class ThreadWatch(Protocol):
    """Waits for notifications of one thread."""

    async def wait(self, seconds: float = POLL_SECONDS) -> bool:
        """Wait for a notification since the last call; return False if none came in time."""
        ...


@runtime_checkable
class LivePlane(Protocol):
    """Carries notifications and control messages between workers. Both are hints that may be lost."""

    @property
    def worker(self) -> str: ...

    async def open(self) -> None:
        """Begin to receive. A second call changes nothing."""
        ...

    def notify(self, owner: Owner, thread: str) -> None:
        """Tell all workers that the store has new entries of a thread. Returns at once and raises nothing;
        notifications of one moment are sent together."""
        ...

    def watch(self, owner: Owner, thread: str) -> AbstractContextManager[ThreadWatch]:
        """Watch a thread for entries that any worker stores, from the moment the context is entered."""
        ...

    async def send(self, worker: str, message: ControlMessage) -> bool:
        """Send a message; return False if the worker is gone or takes none. True does not say that it is handled."""
        ...

    async def broadcast(self, message: ControlMessage) -> bool:
        """Send a message to all other workers; return False if one that is there takes none, for instance because it
        hangs. True does not say that any has handled it."""
        ...

    def handle(self, kind: str, handler: MessageHandler) -> None:
        """Set the handler of a kind of message. Messages without a handler are dropped."""
        ...

    async def close(self) -> None: ...
