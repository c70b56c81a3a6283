"""Check a running server: health, readiness, keep-alive, request ids."""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterator, Mapping
from typing import Any

import msgspec

from rightseat.doctor.client import REACH_SECONDS, Client, Unreachable
from rightseat.doctor.line import Line, broken, good
from rightseat.http.endpoint import Probe


def healthy(status: int, headers: Mapping[str, str], body: bytes) -> str | None:
    return None if says(body, "status") == "ok" else f"HTTP {status}, and not what rightseat says"


def ready(status: int, headers: Mapping[str, str], body: bytes) -> str | None:
    if status == 200 and says(body, "ready") is True:
        return None
    return f"HTTP {status}: it takes no work now; it may be stopping"


def measured(status: int, headers: Mapping[str, str], body: bytes) -> str | None:
    plain = headers.get("content-type", "").startswith(("text/plain", "application/openmetrics-text"))
    return None if status == 200 and plain else f"HTTP {status}, and no Prometheus text"


def described(status: int, headers: Mapping[str, str], body: bytes) -> str | None:
    return None if status == 200 and says(body, "openapi") else f"HTTP {status}, and no OpenAPI document"


PROBES = (
    Probe("health", "GET", "/health", healthy, open=True),
    Probe("ready", "GET", "/ready", ready, open=True),
    Probe("metrics", "GET", "/metrics", measured, open=True, optional=True),
    Probe("openapi", "GET", "/openapi.json", described, open=True, optional=True),
)


def says(body: bytes, name: str) -> Any:
    try:
        return msgspec.json.decode(body, type=dict[str, Any]).get(name)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return None


async def answers(client: Client) -> bool:
    """Whether a rightseat server answers; raises Unreachable if nothing does."""
    reply = await client.send("GET", "/health", anonymous=True, seconds=REACH_SECONDS)
    return bool(says(reply.body, "status") == "ok")


async def connection(client: Client) -> AsyncIterator[Line]:
    given = f"doctor-{secrets.token_hex(4)}"
    before = client.reused
    try:
        await client.send("GET", "/health")
        reply = await client.send("GET", "/health", headers={"X-Request-Id": given})
    except Unreachable as error:
        yield broken("connection", str(error), "see the server's log")
        return
    if reply.headers.get("x-request-id") == given:
        yield good("request id", "comes back in X-Request-Id")
    else:
        yield broken(
            "request id", "X-Request-Id does not come back", "let the proxy pass X-Request-Id through"
        )
    if client.reused > before:
        yield good("keep-alive", "one connection carries several requests")
    else:
        yield broken(
            "keep-alive", "each request needs a new connection", "allow HTTP/1.1 keep-alive in the proxy"
        )
