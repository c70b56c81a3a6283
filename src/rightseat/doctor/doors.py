"""Call every door of a running server as its client would."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

import msgspec

from rightseat.doctor.client import Client, Reply, Unreachable
from rightseat.doctor.line import Line, broken, good, skipped
from rightseat.errors import Unauthorized
from rightseat.http.endpoint import Door, Probe, body_of

# Faster replies do not show whether the stream is buffered.
TELLING = 0.3
# Minimum share of the total time between first and last byte; below it the stream was buffered.
SPREAD = 0.02
LOG = "see the server's log; rightseat doctor without a server checks the model"


async def probes(client: Client, door: str, listed: Sequence[Probe]) -> AsyncIterator[Line]:
    for probe in listed:
        what = f"{door}: {probe.name}"
        try:
            reply = await client.send(probe.method, probe.path, probe.body)
        except Unreachable as error:
            yield broken(what, f"{probe.path}: {error}", LOG)
            continue
        yield judged(what, probe, reply, given=client.key is not None)
        if streams(reply):
            yield flow(what, reply)


def judged(what: str, probe: Probe, reply: Reply, *, given: bool) -> Line:
    if probe.optional and reply.status == 404:
        return skipped(what, f"{probe.path} is not there")
    if reply.status == 401 and not given:
        return skipped(what, "needs a key", "give one: --key env:NAME")
    if reply.status == 401:
        return broken(what, "the key is refused", "give one of the server's [auth.keys]: --key env:NAME")
    if problem := probe.check(reply.status, reply.headers, reply.body):
        return broken(what, f"{probe.method} {probe.path}: {problem}", LOG)
    return good(what, f"{probe.method} {probe.path} in {reply.last:.2f} s")


def streams(reply: Reply) -> bool:
    return reply.status == 200 and reply.headers.get("content-type", "").startswith("text/event-stream")


def flow(what: str, reply: Reply) -> Line:
    """Check that the reply streamed: the first byte must arrive well before the last."""
    what = f"{what}, flows"
    gap = reply.last - reply.first
    times = f"first byte after {reply.first:.2f} s, last after {reply.last:.2f} s"
    if reply.last < TELLING:
        return skipped(what, f"{times}: too quick to tell")
    if gap < SPREAD * reply.last:
        fix = "switch buffering off in the proxy (nginx: proxy_buffering off) or at the model's server"
        return broken(what, f"{times}: the whole answer came at once", fix)
    return good(what, times)


async def keys(client: Client, doors: Sequence[Door], *, required: bool | None) -> AsyncIterator[Line]:
    """Check each door without a key. `required`: what the config says; None if it is unknown."""
    for door in doors:
        probe = next((probe for probe in door.probes if not probe.open), None)
        if probe is None:
            continue
        try:
            # An unparsable body: without a key the door must answer 401 before it reads it.
            method, path = probe.method, probe.path
            reply = await client.send(method, path, b"0" if probe.body else b"", anonymous=True)
        except Unreachable as error:
            yield broken(f"{door.name}: keys", str(error), LOG)
            continue
        yield await locked(door, reply, required)


async def locked(door: Door, reply: Reply, required: bool | None) -> Line:
    what = f"{door.name}: keys"
    if reply.status != 401:
        if required:
            fix = "restart the server, so that it reads [auth]"
            return broken(what, f"HTTP {reply.status} without a key, though [auth] asks for one", fix)
        return good(what, "none needed")
    if shape(decoded(reply.body)) != shape(await refusal(door)):
        return broken(what, "401 without a key, but not in this door's shape", "ask whatever proxy answered")
    return good(what, "401 without a key, in this door's shape")


async def refusal(door: Door) -> Any:
    return decoded(await body_of(door.refuse(Unauthorized(""))))


def decoded(body: bytes) -> Any:
    try:
        return msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None


def shape(value: Any) -> Any:
    return {name: shape(item) for name, item in value.items()} if isinstance(value, Mapping) else ...
