"""Messages between the supervisor and one worker: JSON lines over a socket pair.

The socket closes when either process ends in any way, so each notices the other's end.
"""

from __future__ import annotations

from msgspec import Struct, json

from rightseat.server.workers.metric_sums import MetricsSnapshot

NUMBER_VARIABLE = "RIGHTSEAT_WORKER"
"""The variable of a worker's environment that has its number."""
# A snapshot has at most some thousand label sets.
MAX_LINE = 16 << 20
BEATS_PER_LEASE = 5


class WorkerStart(Struct, frozen=True, kw_only=True):
    """The first message to a worker: what it serves, and its place among the workers."""

    number: int
    workers: int
    lease_seconds: float
    arguments: str
    """The command line of `serve`, as JSON."""
    address: tuple[str, int]
    """The host and port that all workers listen on."""
    listener: int | None
    """The file descriptor of a listening socket that all workers share; None: each opens its own."""


class Beat(Struct, frozen=True, tag=True, omit_defaults=True):
    """A sign of life, with the worker's metrics once it has some. `request`: the MetricsRequest that it answers."""

    metrics: MetricsSnapshot | None = None
    request: int = 0


class Ready(Struct, frozen=True, tag=True):
    """The worker answers requests. `rows` are the lines of its start-up card."""

    rows: list[tuple[str, str]]


class Reloaded(Struct, frozen=True, tag=True):
    """The worker has read its configuration again, or kept the old one."""

    changed: bool


class MetricsRequest(Struct, frozen=True, tag=True):
    request: int


WorkerMessage = Beat | Ready | Reloaded
_worker_messages: json.Decoder[WorkerMessage] = json.Decoder(Beat | Ready | Reloaded)
_requests = json.Decoder(MetricsRequest)
_starts = json.Decoder(WorkerStart)


def encode_message(message: Struct) -> bytes:
    return json.encode(message) + b"\n"


def decode_worker_message(line: bytes) -> WorkerMessage:
    return _worker_messages.decode(line)


def decode_request(line: bytes) -> MetricsRequest:
    return _requests.decode(line)


def decode_start(line: bytes) -> WorkerStart:
    return _starts.decode(line)
