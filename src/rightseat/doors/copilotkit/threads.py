"""Stored threads: the routes that list, rename, archive, export and delete them, and a thread's messages and state
in the forms of both client generations."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from typing import Any

import msgspec
from msgspec import Struct

from rightseat.doors.copilotkit.agent_state import apply_patch
from rightseat.doors.copilotkit.failures import make_error_body
from rightseat.doors.copilotkit.response import encode_result, format_time
from rightseat.errors import CallerError, NotFound
from rightseat.http.agui.replay import connect_thread
from rightseat.http.agui.visible_branch import load_entries, visible_branch
from rightseat.http.agui.write import format_message
from rightseat.http.endpoint import Host, Request, Route, decode_body, make_full_response
from rightseat.http.reply import Reply, ResponseStart
from rightseat.http.sse import SseParser
from rightseat.types.events import CallResult, StateDelta, StateSnapshot
from rightseat.types.messages import ToolCall
from rightseat.types.output import OutputCall, OutputText, RunOutput
from rightseat.types.streams import closing
from rightseat.types.text import decode_or_none
from rightseat.types.threads import MAX_TITLE_CHARS, NumberedEntry, Thread, ThreadEntry, UserInput
from rightseat.types.turn import Owner

encode = msgspec.json.Encoder().encode
THREADS_PATH = "/copilotkit/threads"
THREAD_PATH = f"{THREADS_PATH}/{{thread}}"
MAX_PAGE_SIZE = 200
# The client adds its own instructions to every request.
HIDDEN_ROLES = ("system", "developer")
MessageDict = dict[str, Any]


def build_messages(entries: Iterable[ThreadEntry]) -> list[MessageDict]:
    """Build the messages in the shape of the threads route: tool calls are flat, with `args`."""
    messages_by_id: dict[str, MessageDict] = {}
    for item in RunOutput(entries).items:
        match item:
            case UserInput(messages):
                for number, message in enumerate(messages):
                    posted = format_message(message, f"posted-{len(messages_by_id)}-{number}")
                    if message.calls:
                        posted["toolCalls"] = [format_call(call) for call in message.calls]
                    messages_by_id.setdefault(posted["id"], posted)
            case OutputText(id):
                messages_by_id.setdefault(id, {"id": id, "role": "assistant"})["content"] = item.text
            case OutputCall(start):
                parent = messages_by_id.setdefault(start.message, {"id": start.message, "role": "assistant"})
                parent.setdefault("toolCalls", []).append(format_call(item.call))
            case CallResult(id, content):
                result = {"id": f"result-{id}", "role": "tool", "content": content, "toolCallId": id}
                messages_by_id[result["id"]] = result
    return list(messages_by_id.values())


def format_call(call: ToolCall) -> dict[str, str]:
    return {"id": call.id, "name": call.name, "args": call.arguments}


def compute_state(entries: Iterable[ThreadEntry]) -> Any:
    state: Any = None
    for entry in entries:
        match entry:
            case StateSnapshot(snapshot):
                state = snapshot
            case StateDelta(patch):
                state = apply_patch(state, patch)
            case UserInput(state=posted) if posted is not None:
                state = posted
            case _:
                pass
    return state


async def make_agent_state_response(owner: Owner, thread: str, agent: str, host: Host) -> dict[str, Any]:
    """Make LoadAgentStateResponse. The thread does not exist for an agent that has no run in it."""
    if (remembered := await host.recall(agent, owner, thread)) is not None:
        return format_agent_state(thread, remembered.state, [UserInput(messages=remembered.messages)])
    thread_info = await host.threads.store.get_thread(owner, thread)
    entries = await load_entries(host.threads.store, owner, thread) if thread_info else []
    agent_entries = list(filter_by_agent(agent, entries, thread_info.assistant if thread_info else ""))
    branch = visible_branch(entries) if agent_entries else []
    return format_agent_state(thread, compute_state(agent_entries), branch, exists=bool(agent_entries))


def format_agent_state(thread: str, state: Any, branch: list[ThreadEntry], *, exists: bool = True) -> dict[str, Any]:
    return {
        "threadId": thread,
        "threadExists": exists,
        "state": encode(state or {}).decode(),
        "messages": encode(list(format_messages(branch))).decode(),
    }


def filter_by_agent(agent: str, entries: list[NumberedEntry], default_agent: str) -> Iterator[ThreadEntry]:
    """Yield the entries of this agent's runs."""
    current_agent = default_agent
    for _, entry in entries:
        if isinstance(entry, UserInput):
            current_agent = entry.assistant or default_agent
        if current_agent == agent:
            yield entry


def format_messages(branch: list[ThreadEntry]) -> Iterator[MessageDict]:
    """Yield messages in the GraphQL clients' form: one for each text, call, result and image."""
    failed = {f"result-{e.id}": encode_result(e) for e in branch if isinstance(e, CallResult) and e.failed}
    names: dict[str, str] = {}
    for message in build_messages(branch):
        id, role = message["id"], message["role"]
        if role == "tool":
            call = message["toolCallId"]
            result = failed.get(id, message.get("content") or "")
            yield {"id": id, "result": result, "actionExecutionId": call, "actionName": names.get(call, "")}
        elif role not in HIDDEN_ROLES:
            yield from split_message(message)
            for call in message.get("toolCalls", ()):
                names[call["id"]] = call["name"]
                arguments = decode_or_none(call["args"])
                call_message = {"id": call["id"], "name": call["name"], "parentMessageId": id}
                yield {**call_message, "arguments": arguments if isinstance(arguments, dict) else {}}


def split_message(message: MessageDict) -> Iterator[MessageDict]:
    content = message.get("content")
    parts = [{"type": "text", "text": content}] if isinstance(content, str) else content or []
    for number, part in enumerate(parts):
        common = {"id": f"{message['id']}-{number}" if number else message["id"], "role": message["role"]}
        match part:
            case {"type": "text", "text": str(text)} if text:
                yield {**common, "content": text}
            case {"type": "image", "source": {"type": "data", "value": data, "mimeType": str(media)}}:
                yield {**common, "format": media.removeprefix("image/"), "bytes": data}
            case _:
                pass


class ThreadUpdate(Struct):
    name: str | None = None
    archived: bool | None = None


def format_thread(thread: Thread) -> dict[str, Any]:
    return {
        "id": thread.id,
        "name": thread.name or None,
        "agentId": thread.assistant,
        "organizationId": "",
        "createdById": "",
        "archived": thread.archived,
        "createdAt": format_time(datetime.fromtimestamp(thread.created, UTC)),
        "updatedAt": format_time(datetime.fromtimestamp(thread.updated, UTC)),
    }


def parse_query_number(request: Request, name: str, default: int, maximum: int) -> int:
    value = request.query.get(name, "")
    if not value:
        return default
    if not (value.isascii() and value.isdecimal()) or len(value) > 9 or not 0 <= int(value) <= maximum:
        raise CallerError(f"{name}: expected a number of at most {maximum}.", param=name)
    return int(value)


def list_threads(request: Request, host: Host) -> Reply:
    limit = parse_query_number(request, "limit", 50, MAX_PAGE_SIZE) or 50
    return send_thread_list(request, host, limit, parse_query_number(request, "cursor", 0, 10**9))


async def send_thread_list(request: Request, host: Host, limit: int, skip: int) -> Reply:
    threads = await host.threads.store.list_threads(
        request.owner,
        assistant=request.query.get("agentId") or None,
        archived=request.query.get("includeArchived") == "true",
        limit=limit + 1,
        offset=skip,
    )
    next_cursor = str(skip + limit) if len(threads) > limit else None
    body = {"threads": [format_thread(thread) for thread in threads[:limit]], "nextCursor": next_cursor}
    yield make_full_response(200, encode(body))


def make_not_found() -> ResponseStart:
    """Make the 404 reply. It is the same for another owner's thread, whose existence is not revealed."""
    return make_full_response(404, encode(make_error_body(NotFound("There is no such thread."), "Thread not found")))


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
    yield make_full_response(200, encode({"threadId": thread, "archived": True})) if archived else make_not_found()


async def delete_thread(request: Request, host: Host) -> Reply:
    thread = request.params["thread"]
    deleted = await host.threads.delete(request.owner, thread)
    yield make_full_response(200, encode({"threadId": thread, "deleted": True})) if deleted else make_not_found()


async def delete_all_threads(request: Request, host: Host) -> Reply:
    """Delete all threads of the owner."""
    for thread in await host.threads.store.list_threads(request.owner, archived=True, limit=10**9):
        await host.threads.delete(request.owner, thread.id)
    yield ResponseStart(204)


async def get_messages(request: Request, host: Host) -> Reply:
    yield await reply_from_entries(request, host, lambda entries: {"messages": build_messages(visible_branch(entries))})


async def get_state(request: Request, host: Host) -> Reply:
    yield await reply_from_entries(request, host, lambda entries: {"state": compute_state(e for _, e in entries)})


async def reply_from_entries(
    request: Request, host: Host, make_body: Callable[[list[NumberedEntry]], dict[str, Any]]
) -> ResponseStart:
    owner, thread, store = request.owner, request.params["thread"], host.threads.store
    if not await store.has_thread(owner, thread):
        return make_not_found()
    return make_full_response(200, encode(make_body(await load_entries(store, owner, thread))))


async def export_events(request: Request, host: Host) -> Reply:
    """Export all events of a thread as one JSON document, hidden ones too; an active run is followed to its end."""
    thread = request.params["thread"]
    thread_info = await host.threads.store.get_thread(request.owner, thread)
    if thread_info is None:
        yield make_not_found()
        return
    yield ResponseStart(200, ((b"content-type", b"application/json"),))
    yield b'{"thread":' + encode(format_thread(thread_info)) + b',"events":['
    comma = b""
    async with closing(connect_thread(request.owner, thread, host.threads, None, include_hidden=True)) as frames:
        async for part in frames:
            for data in SseParser(limit=1 << 30).feed(part) if isinstance(part, bytes) else ():
                yield comma + data
                comma = b","
    yield b"]}"


THREAD_ROUTES = (
    Route("GET", THREADS_PATH, list_threads, summary="The kept threads, the newest first"),
    Route("POST", f"{THREADS_PATH}/clear", delete_all_threads, summary="Delete all threads", returns_204=True),
    Route("PATCH", THREAD_PATH, update_thread, body_type=ThreadUpdate, summary="Rename or archive a thread"),
    Route("DELETE", THREAD_PATH, delete_thread, summary="Delete a thread with all that is its own"),
    Route("POST", f"{THREAD_PATH}/archive", archive_thread, summary="Archive a thread"),
    Route("GET", f"{THREAD_PATH}/messages", get_messages, summary="A thread's messages"),
    Route("GET", f"{THREAD_PATH}/state", get_state, summary="A thread's state"),
    Route("GET", f"{THREAD_PATH}/events", export_events, summary="A thread's events: an export"),
)
