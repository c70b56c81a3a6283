"""Check CORS as a browser does: allowed origins, private networks, refused origins."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from urllib.parse import urlsplit

from rightseat.doctor.client import ProbeClient, ProbeReply, Unreachable
from rightseat.doctor.line import CheckResult, broken, good
from rightseat.http.security import is_loopback

LOCAL_ORIGIN = "http://localhost:3000"
# .invalid is reserved: nobody can own this name.
FOREIGN_ORIGIN = "https://rightseat-doctor.invalid"
REQUESTED_HEADERS = "authorization, content-type"
PROXY_FIX = "let the proxy pass OPTIONS and the access-control headers through"


async def check_origins(
    client: ProbeClient, path: str, configured: Iterable[str]
) -> AsyncIterator[CheckResult]:
    for origin in dict.fromkeys((LOCAL_ORIGIN, *(origin.rstrip("/") for origin in configured))):
        what = f"page at {urlsplit(origin).netloc}"
        try:
            reply = await send_preflight(client, path, origin)
            get_reply = await client.send("GET", "/health", headers={"Origin": origin}, anonymous=True)
        except Unreachable as error:
            yield broken(what, str(error), PROXY_FIX)
            continue
        local = is_loopback(urlsplit(origin).hostname or "")
        fix = PROXY_FIX if local else f'add it: [server] cors = ["{origin}"], or {PROXY_FIX}'
        problem = find_preflight_problem(reply, origin) or find_read_problem(get_reply, origin)
        yield broken(what, problem, fix) if problem else good(what, "may call and read (CORS)")
        if not problem:
            yield check_private_network(what, reply)
    yield await check_foreign_origin(client, path)


async def send_preflight(client: ProbeClient, path: str, origin: str) -> ProbeReply:
    headers = {
        "Origin": origin,
        "Access-Control-Request-Method": "POST",
        "Access-Control-Request-Headers": REQUESTED_HEADERS,
        "Access-Control-Request-Private-Network": "true",
    }
    return await client.send("OPTIONS", path, headers=headers, anonymous=True)


def find_preflight_problem(reply: ProbeReply, origin: str) -> str | None:
    if not 200 <= reply.status < 300:
        return f"the preflight is answered with HTTP {reply.status}"
    if reply.headers.get("access-control-allow-origin") != origin:
        return "the preflight's answer does not name the origin"
    allowed = {name.strip().lower() for name in split_header(reply, "access-control-allow-headers")}
    missing = {name.strip() for name in REQUESTED_HEADERS.split(",")} - allowed
    if missing:
        return f"the preflight does not allow the header {', '.join(sorted(missing))}"
    return None if "POST" in split_header(reply, "access-control-allow-methods") else "POST is not allowed"


def find_read_problem(reply: ProbeReply, origin: str) -> str | None:
    if reply.headers.get("access-control-allow-origin") == origin:
        return None
    return "the answer itself does not name the origin, so that the page may not read it"


def split_header(reply: ProbeReply, name: str) -> list[str]:
    return [item.strip() for item in reply.headers.get(name, "").split(",")]


def check_private_network(what: str, reply: ProbeReply) -> CheckResult:
    if reply.headers.get("access-control-allow-private-network") == "true":
        return good(what, "may call a private network (PNA)")
    return broken(what, "a public page may not call this private address (PNA)", PROXY_FIX)


async def check_foreign_origin(client: ProbeClient, path: str) -> CheckResult:
    what = "page of a stranger"
    try:
        preflight_reply = await send_preflight(client, path, FOREIGN_ORIGIN)
        get_reply = await client.send("GET", "/health", headers={"Origin": FOREIGN_ORIGIN}, anonymous=True)
    except Unreachable as error:
        return broken(what, str(error), PROXY_FIX)
    for reply in (preflight_reply, get_reply):
        if "access-control-allow-origin" in reply.headers or reply.status < 400:
            fix = "let no proxy answer OPTIONS or add access-control headers by itself"
            return broken(what, "any page on the web may call this server", fix)
    return good(what, "is refused")
