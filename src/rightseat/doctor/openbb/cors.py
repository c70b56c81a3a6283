"""Check CORS preflights of OpenBB's page: origin, headers, private networks."""

from __future__ import annotations

import ipaddress
from collections.abc import AsyncIterator, Iterator
from urllib.parse import urlsplit

from rightseat.doctor.browser import listed
from rightseat.doctor.client import Reply, Unreachable
from rightseat.doctor.line import Line, broken, good, skipped
from rightseat.doctor.openbb.caller import CORS, ORIGIN, Caller, named
from rightseat.doctor.openbb.fault import Fault, lines
from rightseat.http.security import loopback

OTHERS = ("https://pro.openbb.dev", "http://localhost", "http://localhost:1420", "http://localhost:5050")


async def preflights(caller: Caller, url: str) -> AsyncIterator[Line]:
    what = "openbb: preflight"
    try:
        reply = await caller.preflight(url, "POST")
        others = [
            origin for origin in OTHERS if not named(await caller.preflight(url, "POST", origin), origin)
        ]
    except Unreachable as error:
        yield broken(what, str(error), "answer OPTIONS")
        return
    for line in lines(what, refused(reply, caller.asked), f"{ORIGIN} may post {', '.join(caller.asked)}"):
        yield line
    if others:
        yield skipped(what, f"not for {', '.join(others)}", "allow these too where somebody uses them")
    if private(urlsplit(url).hostname or ""):
        yield network(reply)


def refused(reply: Reply, asked: list[str]) -> Iterator[Fault]:
    if not 200 <= reply.status < 300:
        yield Fault(
            f"OPTIONS is answered with HTTP {reply.status}", "answer it with 200 or 204, without a key"
        )
        return
    if not named(reply, ORIGIN):
        yield Fault(f"the page at {ORIGIN} may not call", CORS)
    allowed = {name.lower() for name in listed(reply, "access-control-allow-headers")}
    # `*` allows every header except Authorization.
    missing = [
        name for name in asked if name not in allowed and ("*" not in allowed or name == "authorization")
    ]
    if missing:
        yield Fault(f"the page may not send {', '.join(missing)}", "name it in Access-Control-Allow-Headers")


def network(reply: Reply) -> Line:
    what = "openbb: private network"
    if reply.headers.get("access-control-allow-private-network") == "true":
        return good(what, "a public page may call this private address")
    fix = "answer Access-Control-Allow-Private-Network: true"
    return broken(what, "a public page may not call this private address", fix)


def private(host: str) -> bool:
    try:
        return loopback(host) or ipaddress.ip_address(host.strip("[]")).is_private
    except ValueError:
        return False
