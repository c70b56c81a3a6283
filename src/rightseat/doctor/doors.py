"""Call every door of a running server as its client would."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

import msgspec

from rightseat.doctor.client import ProbeClient, ProbeReply, Unreachable
from rightseat.doctor.line import CheckResult, broken, good, skipped
from rightseat.errors import Unauthorized
from rightseat.http.endpoint import Door, Probe, collect_body

# Faster replies do not show whether the stream is buffered.
MIN_STREAM_SECONDS = 0.3
# Minimum share of the total time between first and last byte; below it the stream was buffered.
MIN_SPREAD = 0.02
LOG_FIX = "see the server's log; rightseat doctor without a server checks the model"


async def run_probes(
    client: ProbeClient, door: str, door_probes: Sequence[Probe]
) -> AsyncIterator[CheckResult]:
    for probe in door_probes:
        what = f"{door}: {probe.name}"
        try:
            reply = await client.send(probe.method, probe.path, probe.body)
        except Unreachable as error:
            yield broken(what, f"{probe.path}: {error}", LOG_FIX)
            continue
        yield judge_reply(what, probe, reply, has_key=client.key is not None)
        if is_event_stream(reply):
            yield check_streaming(what, reply)


def judge_reply(what: str, probe: Probe, reply: ProbeReply, *, has_key: bool) -> CheckResult:
    if probe.optional and reply.status == 404:
        return skipped(what, f"{probe.path} is not there")
    if reply.status == 401 and not has_key:
        return skipped(what, "needs a key", "give one: --key env:NAME")
    if reply.status == 401:
        return broken(what, "the key is refused", "give one of the server's [auth.keys]: --key env:NAME")
    if problem := probe.check(reply.status, reply.headers, reply.body):
        return broken(what, f"{probe.method} {probe.path}: {problem}", LOG_FIX)
    return good(what, f"{probe.method} {probe.path} in {reply.last_byte_seconds:.2f} s")


def is_event_stream(reply: ProbeReply) -> bool:
    return reply.status == 200 and reply.headers.get("content-type", "").startswith("text/event-stream")


def check_streaming(what: str, reply: ProbeReply) -> CheckResult:
    """Check that the reply streamed: the first byte must arrive well before the last."""
    what = f"{what}, flows"
    gap = reply.last_byte_seconds - reply.first_byte_seconds
    times = f"first byte after {reply.first_byte_seconds:.2f} s, last after {reply.last_byte_seconds:.2f} s"
    if reply.last_byte_seconds < MIN_STREAM_SECONDS:
        return skipped(what, f"{times}: too quick to tell")
    if gap < MIN_SPREAD * reply.last_byte_seconds:
        fix = "switch buffering off in the proxy (nginx: proxy_buffering off) or at the model's server"
        return broken(what, f"{times}: the whole answer came at once", fix)
    return good(what, times)


async def check_keys(
    client: ProbeClient, doors: Sequence[Door], *, required: bool | None
) -> AsyncIterator[CheckResult]:
    """Check each door without a key. `required`: what the config says; None if it is unknown."""
    for door in doors:
        probe = next((probe for probe in door.probes if not probe.public), None)
        if probe is None:
            continue
        try:
            # An unparsable body: without a key the door must answer 401 before it reads it.
            method, path = probe.method, probe.path
            reply = await client.send(method, path, b"0" if probe.body else b"", anonymous=True)
        except Unreachable as error:
            yield broken(f"{door.name}: keys", str(error), LOG_FIX)
            continue
        yield await judge_keyless_reply(door, reply, required)


async def judge_keyless_reply(door: Door, reply: ProbeReply, required: bool | None) -> CheckResult:
    what = f"{door.name}: keys"
    if reply.status != 401:
        if required:
            fix = "restart the server, so that it reads [auth]"
            return broken(what, f"HTTP {reply.status} without a key, though [auth] asks for one", fix)
        return good(what, "none needed")
    if extract_shape(decode_json(reply.body)) != extract_shape(await render_unauthorized(door)):
        return broken(what, "401 without a key, but not in this door's shape", "ask whatever proxy answered")
    return good(what, "401 without a key, in this door's shape")


async def render_unauthorized(door: Door) -> Any:
    return decode_json(await collect_body(door.format_error(Unauthorized(""))))


def decode_json(body: bytes) -> Any:
    try:
        return msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None


def extract_shape(value: Any) -> Any:
    return {name: extract_shape(item) for name, item in value.items()} if isinstance(value, Mapping) else ...
