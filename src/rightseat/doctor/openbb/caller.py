"""An OpenBB browser page: sends its origin and the user's headers with every request."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from rightseat.doctor.client import REACH_SECONDS, Client, Reply
from rightseat.doctor.openbb.fault import Fault

ORIGIN = "https://pro.openbb.co"
TRACE = "rightseat-doctor"
CORS = f"allow the origin {ORIGIN}, on errors too"


class Caller:
    def __init__(self, client: Client, headers: Mapping[str, str]) -> None:
        self.client = client
        self.headers = dict(headers)

    @property
    def asked(self) -> list[str]:
        """The headers that the browser names in a preflight request."""
        return sorted({"content-type", "x-trace-id", *(name.lower() for name in self.headers)})

    async def get(self, url: str) -> Reply:
        headers = {"Origin": ORIGIN, **self.headers}
        return await self.client.send("GET", url, headers=headers, seconds=REACH_SECONDS)

    async def post(self, url: str, body: Any) -> Reply:
        headers = {"Origin": ORIGIN, "X-Trace-Id": TRACE, **self.headers}
        return await self.client.send("POST", url, json.dumps(body).encode(), headers=headers)

    async def preflight(self, url: str, method: str, origin: str = ORIGIN) -> Reply:
        headers = {
            "Origin": origin,
            "Access-Control-Request-Method": method,
            "Access-Control-Request-Headers": ",".join(self.asked),
            "Access-Control-Request-Private-Network": "true",
        }
        return await self.client.send("OPTIONS", url, headers=headers, anonymous=True)


def readable(reply: Reply) -> Iterator[Fault]:
    """Yield a fault if CORS forbids the page to read the reply."""
    if not named(reply, ORIGIN):
        yield Fault("the page may not read the answer (CORS)", CORS)


def named(reply: Reply, origin: str) -> bool:
    return reply.headers.get("access-control-allow-origin") in (origin, "*")
