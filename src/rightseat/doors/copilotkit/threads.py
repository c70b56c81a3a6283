"""Routes that list, rename, archive, export and delete stored threads.

Fold a thread's entries into its visible messages and its state. Load a stored conversation for clients up to 1.10:
an agent's state and the messages.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from typing import Any

import msgspec
from msgspec import Struct

from rightseat.doors.copilotkit.agent_state import apply_patch
from rightseat.doors.copilotkit.failures import make_error_body
from rightseat.doors.copilotkit.read import decode_or_none
from rightseat.doors.copilotkit.response import encode_result
from rightseat.errors import CallerError, NotFound
from rightseat.http.agui.branch import visible_branch
from rightseat.http.agui.replay import connect_thread
from rightseat.http.agui.write import format_message
from rightseat.http.endpoint import Host, Request, Route, decode_body, make_full_response
from rightseat.http.reply import Reply, ResponseStart
from rightseat.http.sse import SseParser
from rightseat.types.events import CallArgs, CallResult, CallStart, StateDelta, StateSnapshot, TextDelta, TextStart
from rightseat.types.streams import closing
from rightseat.types.threads import MAX_TITLE_CHARS, NumberedEntry, Thread, ThreadEntry, UserInput
from rightseat.types.turn import Owner


def build_messages(entries: Iterable[ThreadEntry]) -> list[dict[str, Any]]:
    """Build the messages in the shape of the threads route: tool calls are flat, with `args`."""
    messages_by_id: dict[str, dict[str, Any]] = {}
    calls: dict[str, dict[str, Any]] = {}
    for entry in entries:
        match entry:
            case UserInput(messages):
                for number, message in enumerate(messages):
                    entry_message = flatten_tool_calls(
                        format_message(message, f"posted-{len(messages_by_id)}-{number}")
                    )
                    messages_by_id.setdefault(entry_message["id"], entry_message)
            case TextStart(id):
                messages_by_id.setdefault(id, {"id": id, "role": "assistant"})["content"] = ""
            case TextDelta(id, text):
                messages_by_id[id]["content"] += text
            case CallStart(id, name, message):
                parent = messages_by_id.setdefault(message, {"id": message, "role": "assistant"})
                calls[id] = {"id": id, "name": name, "args": ""}
                parent.setdefault("toolCalls", []).append(calls[id])
            case CallArgs(id, json):
                calls[id]["args"] += json
            case CallResult(id, content):
                entry_message = {"id": f"result-{id}", "role": "tool", "content": content, "toolCallId": id}
                messages_by_id[entry_message["id"]] = entry_message
            case _:
                pass
    return list(messages_by_id.values())


def flatten_tool_calls(message: dict[str, Any]) -> dict[str, Any]:
    calls = message.get("toolCalls")
    if calls is None:
        return message
    functions = [(call["id"], call["function"]) for call in calls]
    flat_calls = [{"id": id, "name": call["name"], "args": call["arguments"]} for id, call in functions]
    return {**message, "toolCalls": flat_calls}


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


encode = msgspec.json.Encoder().encode

# The client adds its own instructions to every request.
HIDDEN_ROLES = ("system", "developer")
MessageDict = dict[str, Any]


async def load_entries(owner: Owner, thread: str, host: Host) -> list[NumberedEntry]:
    """Load all entries of a thread."""
    result: list[NumberedEntry] = []
    after = 0
    while page := await host.threads.store.read_entries(owner, thread, after):
        result += page
        after = page[-1][0]
    return result


async def make_agent_state_response(owner: Owner, thread: str, agent: str, host: Host) -> dict[str, Any]:
    """Make LoadAgentStateResponse. The thread does not exist for an agent that has no run in it."""
    if (remembered := await host.recall(agent, owner, thread)) is not None:
        return format_agent_state(thread, remembered.state, [UserInput(messages=remembered.messages)])
    thread_info = await host.threads.store.get_thread(owner, thread)
    numbered_entries = await load_entries(owner, thread, host) if thread_info else []
    agent_entries = list(
        filter_by_agent(agent, [entry for _, entry in numbered_entries], thread_info.assistant if thread_info else "")
    )
    return format_agent_state(
        thread,
        compute_state(agent_entries),
        visible_branch(numbered_entries) if agent_entries else [],
        exists=bool(agent_entries),
    )


def format_agent_state(thread: str, state: Any, branch: list[ThreadEntry], *, exists: bool = True) -> dict[str, Any]:
    return {
        "threadId": thread,
        "threadExists": exists,
        "state": encode(state or {}).decode(),
        "messages": encode(list(format_messages(branch))).decode(),
    }


def filter_by_agent(agent: str, thread_entries: list[ThreadEntry], default_agent: str) -> Iterator[ThreadEntry]:
    """Yield the entries of this agent's runs."""
    current_agent = default_agent
    for entry in thread_entries:
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
        raise CallerError(f"{name}: expected a number of at most {maximum}.", param=name)
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
    yield (make_full_response(200, encode({"threadId": thread, "archived": True})) if archived else make_not_found())


async def delete_thread(request: Request, host: Host) -> Reply:
    thread = request.params["thread"]
    deleted = await host.threads.delete(request.owner, thread)
    yield (make_full_response(200, encode({"threadId": thread, "deleted": True})) if deleted else make_not_found())


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
    async with closing(connect_thread(request.owner, thread, host.threads, None, include_hidden=True)) as frames:
        async for part in frames:
            for data in SseParser(limit=1 << 30).feed(part) if isinstance(part, bytes) else ():
                yield comma + data
                comma = b","
    yield b"]}"


THREAD_ROUTES = (
    Route("GET", THREADS_PATH, list_threads, summary="The kept threads, the newest first"),
    Route("POST", f"{THREADS_PATH}/clear", delete_all_threads, summary="Delete all threads", returns_204=True),
    Route(
        "PATCH",
        f"{THREADS_PATH}/{{thread}}",
        update_thread,
        body_type=ThreadUpdate,
        summary="Rename or archive a thread",
    ),
    Route("DELETE", f"{THREADS_PATH}/{{thread}}", delete_thread, summary="Delete a thread with all that is its own"),
    Route("POST", f"{THREADS_PATH}/{{thread}}/archive", archive_thread, summary="Archive a thread"),
    Route("GET", f"{THREADS_PATH}/{{thread}}/messages", get_messages, summary="A thread's messages"),
    Route("GET", f"{THREADS_PATH}/{{thread}}/state", get_state, summary="A thread's state"),
    Route("GET", f"{THREADS_PATH}/{{thread}}/events", export_events, summary="A thread's events: an export"),
)
