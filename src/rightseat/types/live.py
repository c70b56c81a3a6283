"""LivePlane and Presence: what the workers that share a store tell each other about runs.

The store is the truth and holds every entry. Notifications only say that there is something new to read, so a lost one
costs time and nothing else: whoever waits for one looks at the store after POLL_SECONDS anyway.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from contextlib import AbstractContextManager
from typing import Any, Protocol, runtime_checkable

from msgspec import Struct

from rightseat.types.turn import Owner

POLL_SECONDS = 1.0
"""Time after which a reader looks at the store without a notification."""
STOP_RUN = "stop"
"""Kind of message that asks a worker to stop the run of a thread."""
STOP_REFUSED = "stop_refused"
"""Kind of message that answers STOP_RUN if the worker cannot stop that run."""
READ_RUN = "read"
"""Kind of message that tells a worker that its run has a reader elsewhere."""


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


class Presence(Protocol):
    """Tells which workers are alive. Every SharedStore does."""

    @property
    def worker(self) -> str:
        """Name of this worker. A worker that is started again has a new name."""
        ...

    async def find_dead(self, workers: Collection[str]) -> set[str]:
        """Return those of the workers that have ended. They never come back under the same name."""
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
