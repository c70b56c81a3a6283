"""Check a running server: its connection, every door as its client calls it, and CORS as a browser does."""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

import msgspec
from msgspec import Struct

from rightseat.doctor.client import REACH_SECONDS, ProbeClient, ProbeReply, Unreachable
from rightseat.doctor.result import CheckResult, broken, good, skipped, untried
from rightseat.errors import Unauthorized
from rightseat.http.endpoint import Door, Probe, collect_body
from rightseat.http.security import is_loopback
from rightseat.wiring.storage import SETUP_HEADER

DEGRADED = "degraded"


def check_health(status: int, headers: Mapping[str, str], body: bytes) -> str | None:
    state = read_field(body, "status")
    if state == DEGRADED:
        return f"{DEGRADED}. {read_field(body, 'descriptors')}"
    return None if state == "ok" else f"HTTP {status}, not a health reply of rightseat"


def check_ready(status: int, headers: Mapping[str, str], body: bytes) -> str | None:
    if status == 200 and read_field(body, "ready") is True:
        return None
    return f"HTTP {status}: the server accepts no requests now; it may be shutting down"


def check_metrics(status: int, headers: Mapping[str, str], body: bytes) -> str | None:
    plain = headers.get("content-type", "").startswith(("text/plain", "application/openmetrics-text"))
    return None if status == 200 and plain else f"HTTP {status}, not Prometheus text"


def check_openapi(status: int, headers: Mapping[str, str], body: bytes) -> str | None:
    return None if status == 200 and read_field(body, "openapi") else f"HTTP {status}, not an OpenAPI document"


SERVER_PROBES = (
    Probe("health", "GET", "/health", check_health, public=True),
    Probe("ready", "GET", "/ready", check_ready, public=True),
    Probe("metrics", "GET", "/metrics", check_metrics, public=True, optional=True),
    Probe("openapi", "GET", "/openapi.json", check_openapi, public=True, optional=True),
)


def read_field(body: bytes, name: str) -> Any:
    value = decode_json(body)
    return value.get(name) if isinstance(value, dict) else None


class ServerIdentity(Struct, frozen=True):
    """What `/health` tells of a server."""

    is_rightseat: bool
    workers: int = 1
    setup: str = ""
    """Digest of its configuration file and data folder; empty where it does not tell."""


async def identify_server(client: ProbeClient) -> ServerIdentity:
    """Ask who answers; raises Unreachable if nobody does."""
    reply = await client.send("GET", "/health", anonymous=True, seconds=REACH_SECONDS)
    if read_field(reply.body, "status") not in ("ok", DEGRADED):
        return ServerIdentity(False)
    workers = read_field(reply.body, "workers")
    return ServerIdentity(True, workers if isinstance(workers, int) else 1, reply.headers.get(SETUP_HEADER, ""))


async def check_key(client: ProbeClient, doors: Sequence[Door]) -> AsyncIterator[CheckResult]:
    """Check that the server lets this client in; yields a line only if it does not."""
    probes = (probe for door in doors for probe in door.probes if not probe.public and probe.method == "GET")
    probe = next(probes, None)
    if probe is None:
        return
    try:
        reply = await client.send(probe.method, probe.path)
    except Unreachable:
        return
    if reply.status == 401 and client.key is None:
        yield broken("key", "the server needs a key (401), so that most of it cannot be checked", KEY_FIX)
    elif reply.status == 401:
        yield broken("key", "the key is refused (401)", "give one of the server's [auth.keys]: --key env:NAME")


async def check_connection(client: ProbeClient) -> AsyncIterator[CheckResult]:
    request_id = f"doctor-{secrets.token_hex(4)}"
    before = client.reused_connections
    try:
        await client.send("GET", "/health")
        reply = await client.send("GET", "/health", headers={"X-Request-Id": request_id})
    except Unreachable as error:
        yield broken("connection", str(error), "see the server's log")
        return
    if reply.headers.get("x-request-id") == request_id:
        yield good("request id", "comes back in X-Request-Id")
    else:
        yield broken("request id", "X-Request-Id does not come back", "let the proxy pass X-Request-Id through")
    if client.reused_connections > before:
        yield good("keep-alive", "one connection carries several requests")
    else:
        yield broken("keep-alive", "each request needs a new connection", "allow HTTP/1.1 keep-alive in the proxy")


# Faster replies do not show whether the stream is buffered.
MIN_STREAM_SECONDS = 0.3

# The events of a shorter stream may come together although nothing holds them back.
MIN_STREAM_EVENTS = 4

# Minimum share of the total time between first and last byte; below it the stream was buffered.
MIN_SPREAD = 0.02
KEY_FIX = "give one: --key env:NAME"
LOG_FIX = "see the server's log; stop the server and run rightseat doctor to check the model alone"


async def run_probes(client: ProbeClient, door: str, door_probes: Sequence[Probe]) -> AsyncIterator[CheckResult]:
    for probe in door_probes:
        what = f"{door}: {probe.name}"
        try:
            reply = await client.send(probe.method, probe.path, probe.body)
        except Unreachable as error:
            yield broken(what, f"{probe.path}: {error}", LOG_FIX)
            continue
        yield judge_reply(what, probe, reply, has_key=client.key is not None)
        if (path := probe.get_left_thread(reply.body)) is not None:
            async for line in delete_thread(client, what, path):
                yield line
        if is_event_stream(reply):
            yield check_streaming(what, reply)


async def delete_thread(client: ProbeClient, what: str, path: str) -> AsyncIterator[CheckResult]:
    """Delete the thread of a probe; yields a line only if that fails."""
    try:
        reply = await client.send("DELETE", path)
        problem = "" if reply.status in (200, 204, 404) else f"HTTP {reply.status}"
    except Unreachable as error:
        problem = str(error)
    if problem:
        yield broken(f"{what}, thread", f"it is not deleted: {problem}", f"delete it: DELETE {path}")


def judge_reply(what: str, probe: Probe, reply: ProbeReply, *, has_key: bool) -> CheckResult:
    if probe.optional and reply.status == 404:
        return skipped(what, f"the server has no {probe.path}")
    if reply.status == 401 and not has_key:
        return untried(what, "needs a key", KEY_FIX)
    if reply.status == 401:
        return broken(what, "the key is refused", "give one of the server's [auth.keys]: --key env:NAME")
    if problem := probe.check(reply.status, reply.headers, reply.body):
        return broken(what, f"{probe.method} {probe.path}: {problem}", LOG_FIX)
    return good(what, f"{probe.method} {probe.path} in {reply.last_byte_seconds:.2f} s")


def is_event_stream(reply: ProbeReply) -> bool:
    return reply.status == 200 and reply.headers.get("content-type", "").startswith("text/event-stream")


def check_streaming(what: str, reply: ProbeReply) -> CheckResult:
    """Check that the reply streamed: the first byte must arrive well before the last."""
    what = f"{what}, unbuffered"
    gap = reply.last_byte_seconds - reply.first_byte_seconds
    times = f"first byte after {reply.first_byte_seconds:.2f} s, last after {reply.last_byte_seconds:.2f} s"
    if reply.last_byte_seconds < MIN_STREAM_SECONDS:
        return skipped(what, f"{times}: too fast to measure")
    if gap >= MIN_SPREAD * reply.last_byte_seconds:
        return good(what, times)
    if count_events(reply.body) < MIN_STREAM_EVENTS:
        return skipped(what, f"{times}: the answer is too short to measure")
    fix = "switch buffering off in the proxy (nginx: proxy_buffering off) or at the model's server"
    return broken(what, f"{times}: the whole answer came at once", fix)


def count_events(body: bytes) -> int:
    """Count the events of a stream that have data; comments are none."""
    return sum(line.startswith(b"data:") for line in body.splitlines())


async def check_keys(client: ProbeClient, doors: Sequence[Door], required: bool | None) -> AsyncIterator[CheckResult]:
    """Check each door without a key. `required`: what the config says; None if it is unknown."""
    for door in doors:
        probe = next((probe for probe in door.probes if not probe.public), None)
        if probe is None:
            continue
        # An unparsable body: without a key the door must answer 401 before it reads it.
        body = b"0" if probe.body else b""
        try:
            reply = await client.send(probe.method, probe.path, body, anonymous=True)
        except Unreachable as error:
            yield broken(f"{door.name}: keys", str(error), LOG_FIX)
            continue
        yield await judge_keyless_reply(door, reply, required)


async def judge_keyless_reply(door: Door, reply: ProbeReply, required: bool | None) -> CheckResult:
    what = f"{door.name}: keys"
    if reply.status != 401:
        if required:
            fix = "restart the server, so that it reads [auth]"
            return broken(what, f"HTTP {reply.status} without a key, although [auth] requires one", fix)
        return good(what, "not required")
    expected = decode_json(await collect_body(door.format_error(Unauthorized(""))))
    if extract_shape(decode_json(reply.body)) != extract_shape(expected):
        fix = "check the proxy that answered instead of rightseat"
        return broken(what, "401 without a key, but not in this door's format", fix)
    return good(what, "401 without a key, in this door's format")


def decode_json(body: bytes) -> Any:
    try:
        return msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None


def extract_shape(value: Any) -> Any:
    return {name: extract_shape(item) for name, item in value.items()} if isinstance(value, Mapping) else ...


LOCAL_ORIGIN = "http://localhost:3000"

# .invalid is reserved: nobody can own this name.
FOREIGN_ORIGIN = "https://rightseat-doctor.invalid"
REQUESTED_HEADERS = "authorization, content-type"
PROXY_FIX = "let the proxy pass OPTIONS and the access-control headers through"


async def check_origins(client: ProbeClient, path: str, configured: Iterable[str]) -> AsyncIterator[CheckResult]:
    for origin in dict.fromkeys((LOCAL_ORIGIN, *(origin.rstrip("/") for origin in configured))):
        what = f"page at {urlsplit(origin).netloc}"
        try:
            reply, get_reply = await call_from_page(client, path, origin)
        except Unreachable as error:
            yield broken(what, str(error), PROXY_FIX)
            continue
        local = is_loopback(urlsplit(origin).hostname or "")
        fix = PROXY_FIX if local else f'add it: [server] cors = ["{origin}"], or {PROXY_FIX}'
        problem = find_preflight_problem(reply, origin)
        if not problem and get_reply.headers.get("access-control-allow-origin") != origin:
            problem = "the response does not name the origin, so the browser hides it from the page"
        yield broken(what, problem, fix) if problem else good(what, "may call and read (CORS)")
        if not problem:
            yield check_private_network(what, reply)
    yield await check_foreign_origin(client, path)


async def call_from_page(client: ProbeClient, path: str, origin: str) -> tuple[ProbeReply, ProbeReply]:
    """Return the replies to a preflight and to a GET that a page of this origin would send."""
    headers = {
        "Origin": origin,
        "Access-Control-Request-Method": "POST",
        "Access-Control-Request-Headers": REQUESTED_HEADERS,
        "Access-Control-Request-Private-Network": "true",
    }
    preflight_reply = await client.send("OPTIONS", path, headers=headers, anonymous=True)
    return preflight_reply, await client.send("GET", "/health", headers={"Origin": origin}, anonymous=True)


def find_preflight_problem(reply: ProbeReply, origin: str) -> str | None:
    if not 200 <= reply.status < 300:
        return f"the preflight is answered with HTTP {reply.status}"
    if reply.headers.get("access-control-allow-origin") != origin:
        return "the preflight's answer does not name the origin"
    allowed = {name.lower() for name in split_header(reply, "access-control-allow-headers")}
    missing = {*REQUESTED_HEADERS.split(", ")} - allowed
    if missing:
        return f"the preflight does not allow the header {', '.join(sorted(missing))}"
    return None if "POST" in split_header(reply, "access-control-allow-methods") else "POST is not allowed"


def split_header(reply: ProbeReply, name: str) -> list[str]:
    return [item.strip() for item in reply.headers.get(name, "").split(",")]


def check_private_network(what: str, reply: ProbeReply) -> CheckResult:
    if reply.headers.get("access-control-allow-private-network") == "true":
        return good(what, "may call a private network (PNA)")
    return broken(what, "a public page may not call this private address (PNA)", PROXY_FIX)


async def check_foreign_origin(client: ProbeClient, path: str) -> CheckResult:
    what = "page of an unknown origin"
    try:
        replies = await call_from_page(client, path, FOREIGN_ORIGIN)
    except Unreachable as error:
        return broken(what, str(error), PROXY_FIX)
    for reply in replies:
        if "access-control-allow-origin" in reply.headers or reply.status < 400:
            fix = "configure the proxy not to answer OPTIONS and not to add access-control headers"
            return broken(what, "any page on the web may call this server", fix)
    return good(what, "is refused")
