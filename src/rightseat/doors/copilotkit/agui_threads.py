"""Routes that list, rename, archive, export and delete stored threads."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import msgspec
from msgspec import Struct

from rightseat.doors.copilotkit.agui_messages import messages_of, state_of
from rightseat.doors.copilotkit.failures import told
from rightseat.doors.copilotkit.recall import entries
from rightseat.errors import CallerError, NotFound
from rightseat.http.agui.kept import connect
from rightseat.http.agui.standing import standing
from rightseat.http.endpoint import Host, Request, Route, decode, piece
from rightseat.http.reply import Head, Reply
from rightseat.http.sse import Reader
from rightseat.types.streams import closing
from rightseat.types.threads import NAME_LENGTH, Thread

encode = msgspec.json.Encoder().encode
PATH = "/copilotkit/threads"
MOST = 200


class Change(Struct):
    name: str | None = None
    archived: bool | None = None


def moment(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def shown(thread: Thread) -> dict[str, Any]:
    return {
        "id": thread.id,
        "name": thread.name or None,
        "agentId": thread.assistant,
        "organizationId": "",
        "createdById": "",
        "archived": thread.archived,
        "createdAt": moment(thread.created),
        "updatedAt": moment(thread.updated),
    }


def number(request: Request, name: str, default: int, most: int) -> int:
    given = request.query.get(name, "")
    if not given:
        return default
    if not (given.isascii() and given.isdecimal()) or len(given) > 9 or not 0 <= int(given) <= most:
        raise CallerError(f"{name}: a number up to {most} is expected.", param=name)
    return int(given)


def listing(request: Request, host: Host) -> Reply:
    return listed(
        request, host, number(request, "limit", 50, MOST) or 50, number(request, "cursor", 0, 10**9)
    )


async def listed(request: Request, host: Host, limit: int, skip: int) -> Reply:
    found = await host.threads.journal.threads(
        request.owner,
        assistant=request.query.get("agentId") or None,
        archived=request.query.get("includeArchived") == "true",
        limit=limit + 1,
        skip=skip,
    )
    more = str(skip + limit) if len(found) > limit else None
    yield piece(200, encode({"threads": [shown(one) for one in found[:limit]], "nextCursor": more}))


def nobody() -> Head:
    """Make the 404 reply. It is the same for another owner's thread, whose existence is not revealed."""
    return piece(404, encode(told(NotFound("There is no such thread."), "Thread not found")))


def update(request: Request, host: Host) -> Reply:
    change = decode(request.body, Change)
    if change.name is not None and not 0 < len(change.name) <= 10 * NAME_LENGTH:
        raise CallerError(f"name: give one of at most {10 * NAME_LENGTH} characters.", param="name")
    return changed(request, host, change)


async def changed(request: Request, host: Host, change: Change) -> Reply:
    found = await host.threads.journal.change(
        request.owner, request.params["thread"], name=change.name, archived=change.archived
    )
    yield piece(200, encode(shown(found))) if found else nobody()


async def archive(request: Request, host: Host) -> Reply:
    thread = request.params["thread"]
    found = await host.threads.journal.change(request.owner, thread, archived=True)
    yield piece(200, encode({"threadId": thread, "archived": True})) if found else nobody()


async def delete(request: Request, host: Host) -> Reply:
    thread = request.params["thread"]
    gone = await host.threads.delete(request.owner, thread)
    yield piece(200, encode({"threadId": thread, "deleted": True})) if gone else nobody()


async def clear(request: Request, host: Host) -> Reply:
    """Delete all threads of the owner."""
    for thread in await host.threads.journal.threads(request.owner, archived=True, limit=10**9):
        await host.threads.delete(request.owner, thread.id)
    yield Head(204)


async def messages(request: Request, host: Host) -> Reply:
    if not host.threads.journal.keeps(request.owner, request.params["thread"]):
        yield nobody()
        return
    told = standing(await entries(request.owner, request.params["thread"], host))
    yield piece(200, encode({"messages": messages_of(told)}))


async def state(request: Request, host: Host) -> Reply:
    if not host.threads.journal.keeps(request.owner, request.params["thread"]):
        yield nobody()
        return
    told = await entries(request.owner, request.params["thread"], host)
    yield piece(200, encode({"state": state_of(entry for _, entry in told)}))


async def events(request: Request, host: Host) -> Reply:
    """Export all events of a thread as one JSON document, hidden branches included. An active run is followed
    to its end."""
    thread = request.params["thread"]
    found = await host.threads.journal.find(request.owner, thread)
    if found is None:
        yield nobody()
        return
    yield Head(200, ((b"content-type", b"application/json"),))
    yield b'{"thread":' + encode(shown(found)) + b',"events":['
    comma = b""
    async with closing(connect(request.owner, thread, host.threads, None, whole=True)) as frames:
        async for part in frames:
            for data in Reader(limit=1 << 30).feed(part) if isinstance(part, bytes) else ():
                yield comma + data
                comma = b","
    yield b"]}"


ROUTES = (
    Route("GET", PATH, listing, summary="The kept threads, the newest first"),
    Route("POST", f"{PATH}/clear", clear, summary="Delete all threads", empty=True),
    Route("PATCH", f"{PATH}/{{thread}}", update, body=Change, summary="Rename or archive a thread"),
    Route("DELETE", f"{PATH}/{{thread}}", delete, summary="Delete a thread with all that is its own"),
    Route("POST", f"{PATH}/{{thread}}/archive", archive, summary="Archive a thread"),
    Route("GET", f"{PATH}/{{thread}}/messages", messages, summary="A thread's messages"),
    Route("GET", f"{PATH}/{{thread}}/state", state, summary="A thread's state"),
    Route("GET", f"{PATH}/{{thread}}/events", events, summary="A thread's events: an export"),
)
