"""Routes that list, rename, archive, export and delete stored threads."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import msgspec
from msgspec import Struct

from rightseat.doors.copilotkit.agui_messages import build_messages, compute_state
from rightseat.doors.copilotkit.failures import make_error_body
from rightseat.doors.copilotkit.recall import load_entries
from rightseat.errors import CallerError, NotFound
from rightseat.http.agui.kept import connect_thread
from rightseat.http.agui.standing import visible_branch
from rightseat.http.endpoint import Host, Request, Route, decode_body, make_full_response
from rightseat.http.reply import Reply, ResponseStart
from rightseat.http.sse import SseParser
from rightseat.types.streams import closing
from rightseat.types.threads import MAX_TITLE_CHARS, Thread

encode = msgspec.json.Encoder().encode
THREADS_PATH = "/copilotkit/threads"
MAX_PAGE_SIZE = 200


class ThreadUpdate(Struct):
    name: str | None = None
    archived: bool | None = None


def format_timestamp(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def format_thread(thread: Thread) -> dict[str, Any]:
    return {
        "id": thread.id,
        "name": thread.name or None,
        "agentId": thread.assistant,
        "organizationId": "",
        "createdById": "",
        "archived": thread.archived,
        "createdAt": format_timestamp(thread.created),
        "updatedAt": format_timestamp(thread.updated),
    }


def parse_query_number(request: Request, name: str, default: int, maximum: int) -> int:
    value = request.query.get(name, "")
    if not value:
        return default
    if not (value.isascii() and value.isdecimal()) or len(value) > 9 or not 0 <= int(value) <= maximum:
        raise CallerError(f"{name}: a number up to {maximum} is expected.", param=name)
    return int(value)


def list_threads(request: Request, host: Host) -> Reply:
    return send_thread_list(
        request,
        host,
        parse_query_number(request, "limit", 50, MAX_PAGE_SIZE) or 50,
        parse_query_number(request, "cursor", 0, 10**9),
    )


async def send_thread_list(request: Request, host: Host, limit: int, skip: int) -> Reply:
    threads = await host.threads.store.list_threads(
        request.owner,
        assistant=request.query.get("agentId") or None,
        archived=request.query.get("includeArchived") == "true",
        limit=limit + 1,
        offset=skip,
    )
    next_cursor = str(skip + limit) if len(threads) > limit else None
    yield make_full_response(
        200, encode({"threads": [format_thread(one) for one in threads[:limit]], "nextCursor": next_cursor})
    )


def make_not_found() -> ResponseStart:
    """Make the 404 reply. It is the same for another owner's thread, whose existence is not revealed."""
    return make_full_response(
        404, encode(make_error_body(NotFound("There is no such thread."), "Thread not found"))
    )


def update_thread(request: Request, host: Host) -> Reply:
    change = decode_body(request.body, ThreadUpdate)
    if change.name is not None and not 0 < len(change.name) <= 10 * MAX_TITLE_CHARS:
        raise CallerError(f"name: give one of at most {10 * MAX_TITLE_CHARS} characters.", param="name")
    return send_updated_thread(request, host, change)


async def send_updated_thread(request: Request, host: Host, change: ThreadUpdate) -> Reply:
    thread = await host.threads.store.update_thread(
        request.owner, request.params["thread"], name=change.name, archived=change.archived
    )
    yield make_full_response(200, encode(format_thread(thread))) if thread else make_not_found()


async def archive_thread(request: Request, host: Host) -> Reply:
    thread = request.params["thread"]
    archived = await host.threads.store.update_thread(request.owner, thread, archived=True)
    yield (
        make_full_response(200, encode({"threadId": thread, "archived": True}))
        if archived
        else make_not_found()
    )


async def delete_thread(request: Request, host: Host) -> Reply:
    thread = request.params["thread"]
    deleted = await host.threads.delete(request.owner, thread)
    yield (
        make_full_response(200, encode({"threadId": thread, "deleted": True}))
        if deleted
        else make_not_found()
    )


async def delete_all_threads(request: Request, host: Host) -> Reply:
    """Delete all threads of the owner."""
    for thread in await host.threads.store.list_threads(request.owner, archived=True, limit=10**9):
        await host.threads.delete(request.owner, thread.id)
    yield ResponseStart(204)


async def get_messages(request: Request, host: Host) -> Reply:
    if not host.threads.store.has_thread(request.owner, request.params["thread"]):
        yield make_not_found()
        return
    branch = visible_branch(await load_entries(request.owner, request.params["thread"], host))
    yield make_full_response(200, encode({"messages": build_messages(branch)}))


async def get_state(request: Request, host: Host) -> Reply:
    if not host.threads.store.has_thread(request.owner, request.params["thread"]):
        yield make_not_found()
        return
    numbered_entries = await load_entries(request.owner, request.params["thread"], host)
    yield make_full_response(200, encode({"state": compute_state(entry for _, entry in numbered_entries)}))


async def export_events(request: Request, host: Host) -> Reply:
    """Export all events of a thread as one JSON document, hidden branches included. An active run is followed
    to its end."""
    thread = request.params["thread"]
    thread_info = await host.threads.store.get_thread(request.owner, thread)
    if thread_info is None:
        yield make_not_found()
        return
    yield ResponseStart(200, ((b"content-type", b"application/json"),))
    yield b'{"thread":' + encode(format_thread(thread_info)) + b',"events":['
    comma = b""
    async with closing(
        connect_thread(request.owner, thread, host.threads, None, include_hidden=True)
    ) as frames:
        async for part in frames:
            for data in SseParser(limit=1 << 30).feed(part) if isinstance(part, bytes) else ():
                yield comma + data
                comma = b","
    yield b"]}"


THREAD_ROUTES = (
    Route("GET", THREADS_PATH, list_threads, summary="The kept threads, the newest first"),
    Route(
        "POST", f"{THREADS_PATH}/clear", delete_all_threads, summary="Delete all threads", returns_204=True
    ),
    Route(
        "PATCH",
        f"{THREADS_PATH}/{{thread}}",
        update_thread,
        body_type=ThreadUpdate,
        summary="Rename or archive a thread",
    ),
    Route(
        "DELETE",
        f"{THREADS_PATH}/{{thread}}",
        delete_thread,
        summary="Delete a thread with all that is its own",
    ),
    Route("POST", f"{THREADS_PATH}/{{thread}}/archive", archive_thread, summary="Archive a thread"),
    Route("GET", f"{THREADS_PATH}/{{thread}}/messages", get_messages, summary="A thread's messages"),
    Route("GET", f"{THREADS_PATH}/{{thread}}/state", get_state, summary="A thread's state"),
    Route("GET", f"{THREADS_PATH}/{{thread}}/events", export_events, summary="A thread's events: an export"),
)
