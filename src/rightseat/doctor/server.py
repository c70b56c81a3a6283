"""Check a running server: health, readiness, keep-alive, request ids."""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterator, Mapping
from typing import Any

import msgspec

from rightseat.doctor.client import REACH_SECONDS, ProbeClient, Unreachable
from rightseat.doctor.line import CheckResult, broken, good
from rightseat.http.endpoint import Probe


def check_health(status: int, headers: Mapping[str, str], body: bytes) -> str | None:
    return None if read_field(body, "status") == "ok" else f"HTTP {status}, and not what rightseat says"


def check_ready(status: int, headers: Mapping[str, str], body: bytes) -> str | None:
    if status == 200 and read_field(body, "ready") is True:
        return None
    return f"HTTP {status}: it takes no work now; it may be stopping"


def check_metrics(status: int, headers: Mapping[str, str], body: bytes) -> str | None:
    plain = headers.get("content-type", "").startswith(("text/plain", "application/openmetrics-text"))
    return None if status == 200 and plain else f"HTTP {status}, and no Prometheus text"


def check_openapi(status: int, headers: Mapping[str, str], body: bytes) -> str | None:
    return (
        None if status == 200 and read_field(body, "openapi") else f"HTTP {status}, and no OpenAPI document"
    )


SERVER_PROBES = (
    Probe("health", "GET", "/health", check_health, public=True),
    Probe("ready", "GET", "/ready", check_ready, public=True),
    Probe("metrics", "GET", "/metrics", check_metrics, public=True, optional=True),
    Probe("openapi", "GET", "/openapi.json", check_openapi, public=True, optional=True),
)


def read_field(body: bytes, name: str) -> Any:
    try:
        return msgspec.json.decode(body, type=dict[str, Any]).get(name)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return None


async def is_rightseat(client: ProbeClient) -> bool:
    """Whether a rightseat server answers; raises Unreachable if nothing does."""
    reply = await client.send("GET", "/health", anonymous=True, seconds=REACH_SECONDS)
    return bool(read_field(reply.body, "status") == "ok")


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
        yield broken(
            "request id", "X-Request-Id does not come back", "let the proxy pass X-Request-Id through"
        )
    if client.reused_connections > before:
        yield good("keep-alive", "one connection carries several requests")
    else:
        yield broken(
            "keep-alive", "each request needs a new connection", "allow HTTP/1.1 keep-alive in the proxy"
        )
