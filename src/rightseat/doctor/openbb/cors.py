"""Check CORS preflights of OpenBB's page: origin, headers, private networks."""

from __future__ import annotations

import ipaddress
from collections.abc import AsyncIterator, Iterator
from urllib.parse import urlsplit

from rightseat.doctor.browser import split_header
from rightseat.doctor.client import ProbeReply, Unreachable
from rightseat.doctor.line import CheckResult, broken, good, skipped
from rightseat.doctor.openbb.caller import CORS_FIX, PAGE_ORIGIN, OpenBBPage, allows_origin
from rightseat.doctor.openbb.fault import Fault, report_faults
from rightseat.http.security import is_loopback

OTHER_ORIGINS = (
    "https://pro.openbb.dev",
    "http://localhost",
    "http://localhost:1420",
    "http://localhost:5050",
)


async def check_preflights(caller: OpenBBPage, url: str) -> AsyncIterator[CheckResult]:
    what = "openbb: preflight"
    try:
        reply = await caller.preflight(url, "POST")
        others = [
            origin
            for origin in OTHER_ORIGINS
            if not allows_origin(await caller.preflight(url, "POST", origin), origin)
        ]
    except Unreachable as error:
        yield broken(what, str(error), "answer OPTIONS")
        return
    for line in report_faults(
        what,
        find_preflight_faults(reply, caller.requested_headers),
        f"{PAGE_ORIGIN} may post {', '.join(caller.requested_headers)}",
    ):
        yield line
    if others:
        yield skipped(what, f"not for {', '.join(others)}", "allow these too where somebody uses them")
    if is_private_host(urlsplit(url).hostname or ""):
        yield check_private_network(reply)


def find_preflight_faults(reply: ProbeReply, requested_headers: list[str]) -> Iterator[Fault]:
    if not 200 <= reply.status < 300:
        yield Fault(
            f"OPTIONS is answered with HTTP {reply.status}", "answer it with 200 or 204, without a key"
        )
        return
    if not allows_origin(reply, PAGE_ORIGIN):
        yield Fault(f"the page at {PAGE_ORIGIN} may not call", CORS_FIX)
    allowed = {name.lower() for name in split_header(reply, "access-control-allow-headers")}
    # `*` allows every header except Authorization.
    missing = [
        name
        for name in requested_headers
        if name not in allowed and ("*" not in allowed or name == "authorization")
    ]
    if missing:
        yield Fault(f"the page may not send {', '.join(missing)}", "name it in Access-Control-Allow-Headers")


def check_private_network(reply: ProbeReply) -> CheckResult:
    what = "openbb: private network"
    if reply.headers.get("access-control-allow-private-network") == "true":
        return good(what, "a public page may call this private address")
    fix = "answer Access-Control-Allow-Private-Network: true"
    return broken(what, "a public page may not call this private address", fix)


def is_private_host(host: str) -> bool:
    try:
        return is_loopback(host) or ipaddress.ip_address(host.strip("[]")).is_private
    except ValueError:
        return False
