"""LocalPlane: the workers of one machine, by Unix datagrams.

Each worker has a socket in a folder that all of them share; its name is the worker's. A datagram is handed over whole
or not at all and never blocks the sender, so a worker that hangs costs the others nothing.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import hashlib
import logging
import os
import re
import socket
import sys
import time
from contextlib import AbstractContextManager
from pathlib import Path

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from rightseat.errors import ConfigError
from rightseat.live.memory import EventWatch, WatchTable
from rightseat.types.live import ControlMessage, LivePlane, MessageHandler, PlaneOptions
from rightseat.types.turn import Owner

log = logging.getLogger(__name__)
SUFFIX = ".socket"
MAX_DATAGRAM = 60_000
"""Bytes of a datagram: every system's socket buffer takes as much."""
KEYS_PER_DATAGRAM = 2000
NOTIFY_SECONDS = 0.005
"""Time in which notifications are gathered: queues of sockets are as short as ten datagrams."""
PEERS_SECONDS = 1.0
"""Time for which the list of workers is used. A worker that is missed polls."""
DATAGRAMS_PER_STEP = 64
"""Datagrams read in one step of the event loop."""
SEND_ATTEMPTS = 20
SEND_PAUSE = 0.01
# sun_path has 104 bytes on macOS and 108 on Linux, with a final zero.
MAX_PATH_BYTES = 103
_GONE = (errno.ECONNREFUSED, errno.ENOENT)


class Notification(Struct, frozen=True, tag="n"):
    """New entries of threads, which are named by their hashes."""

    keys: list[int]


_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(Notification | ControlMessage)


class LocalPlane:
    """Notifications and messages by datagrams. `open` begins to receive; notifications need a running loop."""

    def __init__(self, folder: Path, worker: str) -> None:
        if not re.fullmatch(r"[A-Za-z0-9_-]{1,40}", worker):
            raise ValueError(f"worker: {worker!r} is no name of a file")
        self.worker = worker
        self.watches = WatchTable()
        self.handlers: dict[str, MessageHandler] = {}
        self.changed: set[tuple[str, str]] = set()
        """Threads with new entries that the other workers are told of next."""
        self.timer: asyncio.TimerHandle | None = None
        self.peers: list[str] = []
        self.peers_until = 0.0
        self.loop: asyncio.AbstractEventLoop | None = None
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        self.folder = folder
        self.folder_descriptor, self.address_prefix = open_address_folder(folder)
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        try:
            self.socket.setblocking(False)
            for size in (socket.SO_SNDBUF, socket.SO_RCVBUF):
                # macOS takes 2 KB otherwise.
                self.socket.setsockopt(socket.SOL_SOCKET, size, 4 * MAX_DATAGRAM)
            self.socket.bind(self.get_address(worker))
            (folder / f"{worker}{SUFFIX}").chmod(0o700)
        except BaseException:
            self.socket.close()
            self.close_folder()
            raise

    def get_address(self, worker: str) -> str:
        return f"{self.address_prefix}/{worker}{SUFFIX}"

    async def open(self) -> None:
        if self.loop is None:
            self.loop = asyncio.get_running_loop()
            self.loop.add_reader(self.socket.fileno(), self.receive)

    # Notifications

    def notify(self, owner: Owner, thread: str) -> None:
        # Hashed when they are sent: most are told of several times before.
        self.changed.add((owner.name, thread))
        if self.timer is None and self.loop is not None:
            self.timer = self.loop.call_later(NOTIFY_SECONDS, self.flush)

    def flush(self) -> None:
        """Send the gathered notifications to all workers."""
        if self.timer is not None:
            self.timer.cancel()
            self.timer = None
        keys = [hash_thread(owner, thread) for owner, thread in self.changed]
        self.changed.clear()
        self.wake_watches(keys)
        for start in range(0, len(keys), KEYS_PER_DATAGRAM):
            datagram = _encoder.encode(Notification(keys[start : start + KEYS_PER_DATAGRAM]))
            for worker in self.list_peers():
                self.send_datagram(worker, datagram)

    def list_peers(self) -> list[str]:
        """Return the other workers that have a socket."""
        now = time.monotonic()
        if now >= self.peers_until:
            self.peers_until = now + PEERS_SECONDS
            try:
                names = os.listdir(self.folder)
            except OSError:
                # The supervisor has removed the folder: all workers end.
                names = []
            self.peers = [name.removesuffix(SUFFIX) for name in names if name.endswith(SUFFIX)]
            self.peers = [name for name in self.peers if name != self.worker]
        return self.peers

    def watch(self, owner: Owner, thread: str) -> AbstractContextManager[EventWatch]:
        return self.watches.open_watch(hash_thread(owner.name, thread))

    def wake_watches(self, keys: list[int]) -> None:
        for key in keys if self.watches.watches else ():
            self.watches.wake(key)

    # Messages

    async def send(self, worker: str, message: ControlMessage) -> bool:
        datagram = _encoder.encode(replace(message, sender=self.worker))
        if len(datagram) > MAX_DATAGRAM:
            raise ValueError(f"a message of kind {message.kind!r} has {len(datagram)} bytes, more than {MAX_DATAGRAM}")
        for attempt in range(SEND_ATTEMPTS):
            if attempt:
                await asyncio.sleep(SEND_PAUSE)
            if (sent := self.send_datagram(worker, datagram)) is not None:
                return sent
        return False

    async def broadcast(self, message: ControlMessage) -> bool:
        # Listed anew: a worker that has just started may be the one that the message is for.
        self.peers_until = 0.0
        workers = tuple(self.list_peers())
        sent = await asyncio.gather(*(self.send(worker, message) for worker in workers))
        # Those that are gone were removed from the list.
        return all(is_sent or worker not in self.peers for worker, is_sent in zip(workers, sent, strict=True))

    def send_datagram(self, worker: str, datagram: bytes) -> bool | None:
        """Send without waiting. Return None if the receiver's queue is full, False if the worker is gone."""
        try:
            self.socket.sendto(datagram, self.get_address(worker))
        except BlockingIOError:
            return None
        except OSError as error:
            if error.errno == errno.ENOBUFS:
                return None
            if error.errno in _GONE:
                self.forget_peer(worker)
            elif self.socket.fileno() >= 0:
                log.debug("a datagram to worker %s failed", worker, exc_info=True)
            return False
        return True

    def forget_peer(self, worker: str) -> None:
        """Remove the socket of a dead worker. Its name is never used again."""
        if worker in self.peers:
            self.peers.remove(worker)
        with contextlib.suppress(OSError):
            (self.folder / f"{worker}{SUFFIX}").unlink()

    def handle(self, kind: str, handler: MessageHandler) -> None:
        self.handlers[kind] = handler

    def receive(self) -> None:
        """Read the datagrams that have arrived. Others wait for the next step of the event loop."""
        for _ in range(DATAGRAMS_PER_STEP):
            try:
                datagram = self.socket.recv(MAX_DATAGRAM + 1)
            except (BlockingIOError, InterruptedError):
                return
            except OSError:
                log.warning("messages of other workers cannot be read", exc_info=True)
                return
            self.dispatch(datagram)

    def dispatch(self, datagram: bytes) -> None:
        try:
            message = _decoder.decode(datagram)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            log.warning("a message of another worker cannot be read: do all workers have the same version?")
            return
        if isinstance(message, Notification):
            self.wake_watches(message.keys)
        elif handler := self.handlers.get(message.kind):
            # A step of its own: a handler that fails is reported by the loop and stops no other.
            asyncio.get_running_loop().call_soon(handler, message)

    async def close(self) -> None:
        if self.socket.fileno() < 0:
            return
        self.flush()
        if self.loop is not None:
            self.loop.remove_reader(self.socket.fileno())
        self.socket.close()
        with contextlib.suppress(OSError):
            (self.folder / f"{self.worker}{SUFFIX}").unlink()
        self.close_folder()

    def close_folder(self) -> None:
        if self.folder_descriptor is not None:
            os.close(self.folder_descriptor)


def open_address_folder(folder: Path) -> tuple[int | None, str]:
    """Return what addresses of sockets in the folder begin with. A path that is too long for an address is named by its
    descriptor, which is returned too."""
    longest = len(os.fsencode(folder)) + len("/") + 40 + len(SUFFIX)
    if longest <= MAX_PATH_BYTES:
        return None, str(folder)
    if sys.platform != "linux":
        raise ConfigError(f"The path {folder} is too long for sockets. Set TMPDIR to a shorter one, such as /tmp.")
    descriptor = os.open(folder, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    return descriptor, f"/proc/self/fd/{descriptor}"


def hash_thread(owner: str, thread: str) -> int:
    """Hash the name of a thread. Two threads with one hash cost a reader a look at the store."""
    name = f"{len(owner)} {owner}{thread}".encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.blake2b(name, digest_size=8).digest(), "big")


def make_plane(options: PlaneOptions) -> LivePlane:
    return LocalPlane(Path(options.folder), options.worker)
