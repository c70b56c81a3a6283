"""Check CORS as a browser does: allowed origins, private networks, refused origins."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from urllib.parse import urlsplit

from rightseat.doctor.client import Client, Reply, Unreachable
from rightseat.doctor.line import Line, broken, good
from rightseat.http.security import loopback

LOCAL = "http://localhost:3000"
# .invalid is reserved: nobody can own this name.
STRANGER = "https://rightseat-doctor.invalid"
ASKED = "authorization, content-type"
PROXY = "let the proxy pass OPTIONS and the access-control headers through"


async def origins(client: Client, path: str, configured: Iterable[str]) -> AsyncIterator[Line]:
    for origin in dict.fromkeys((LOCAL, *(origin.rstrip("/") for origin in configured))):
        what = f"page at {urlsplit(origin).netloc}"
        try:
            reply = await preflight(client, path, origin)
            read = await client.send("GET", "/health", headers={"Origin": origin}, anonymous=True)
        except Unreachable as error:
            yield broken(what, str(error), PROXY)
            continue
        local = loopback(urlsplit(origin).hostname or "")
        fix = PROXY if local else f'add it: [server] cors = ["{origin}"], or {PROXY}'
        problem = refused(reply, origin) or unreadable(read, origin)
        yield broken(what, problem, fix) if problem else good(what, "may call and read (CORS)")
        if not problem:
            yield network(what, reply)
    yield await stranger(client, path)


async def preflight(client: Client, path: str, origin: str) -> Reply:
    headers = {
        "Origin": origin,
        "Access-Control-Request-Method": "POST",
        "Access-Control-Request-Headers": ASKED,
        "Access-Control-Request-Private-Network": "true",
    }
    return await client.send("OPTIONS", path, headers=headers, anonymous=True)


def refused(reply: Reply, origin: str) -> str | None:
    if not 200 <= reply.status < 300:
        return f"the preflight is answered with HTTP {reply.status}"
    if reply.headers.get("access-control-allow-origin") != origin:
        return "the preflight's answer does not name the origin"
    allowed = {name.strip().lower() for name in listed(reply, "access-control-allow-headers")}
    missing = {name.strip() for name in ASKED.split(",")} - allowed
    if missing:
        return f"the preflight does not allow the header {', '.join(sorted(missing))}"
    return None if "POST" in listed(reply, "access-control-allow-methods") else "POST is not allowed"


def unreadable(reply: Reply, origin: str) -> str | None:
    if reply.headers.get("access-control-allow-origin") == origin:
        return None
    return "the answer itself does not name the origin, so that the page may not read it"


def listed(reply: Reply, name: str) -> list[str]:
    return [item.strip() for item in reply.headers.get(name, "").split(",")]


def network(what: str, reply: Reply) -> Line:
    if reply.headers.get("access-control-allow-private-network") == "true":
        return good(what, "may call a private network (PNA)")
    return broken(what, "a public page may not call this private address (PNA)", PROXY)


async def stranger(client: Client, path: str) -> Line:
    what = "page of a stranger"
    try:
        asked = await preflight(client, path, STRANGER)
        sent = await client.send("GET", "/health", headers={"Origin": STRANGER}, anonymous=True)
    except Unreachable as error:
        return broken(what, str(error), PROXY)
    for reply in (asked, sent):
        if "access-control-allow-origin" in reply.headers or reply.status < 400:
            fix = "let no proxy answer OPTIONS or add access-control headers by itself"
            return broken(what, "any page on the web may call this server", fix)
    return good(what, "is refused")
