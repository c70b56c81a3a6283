"""An OpenBB browser page: sends its origin and the user's headers with every request."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from rightseat.doctor.client import REACH_SECONDS, ProbeClient, ProbeReply
from rightseat.doctor.openbb.fault import Fault

PAGE_ORIGIN = "https://pro.openbb.co"
TRACE_ID = "rightseat-doctor"
CORS_FIX = f"allow the origin {PAGE_ORIGIN}, on errors too"


class OpenBBPage:
    def __init__(self, client: ProbeClient, headers: Mapping[str, str]) -> None:
        self.client = client
        self.headers = dict(headers)

    @property
    def requested_headers(self) -> list[str]:
        """The headers that the browser names in a preflight request."""
        return sorted({"content-type", "x-trace-id", *(name.lower() for name in self.headers)})

    async def get(self, url: str) -> ProbeReply:
        headers = {"Origin": PAGE_ORIGIN, **self.headers}
        return await self.client.send("GET", url, headers=headers, seconds=REACH_SECONDS)

    async def post(self, url: str, body: Any) -> ProbeReply:
        headers = {"Origin": PAGE_ORIGIN, "X-Trace-Id": TRACE_ID, **self.headers}
        return await self.client.send("POST", url, json.dumps(body).encode(), headers=headers)

    async def preflight(self, url: str, method: str, origin: str = PAGE_ORIGIN) -> ProbeReply:
        headers = {
            "Origin": origin,
            "Access-Control-Request-Method": method,
            "Access-Control-Request-Headers": ",".join(self.requested_headers),
            "Access-Control-Request-Private-Network": "true",
        }
        return await self.client.send("OPTIONS", url, headers=headers, anonymous=True)


def check_readable(reply: ProbeReply) -> Iterator[Fault]:
    """Yield a fault if CORS forbids the page to read the reply."""
    if not allows_origin(reply, PAGE_ORIGIN):
        yield Fault("the page may not read the answer (CORS)", CORS_FIX)


def allows_origin(reply: ProbeReply, origin: str) -> bool:
    return reply.headers.get("access-control-allow-origin") in (origin, "*")
