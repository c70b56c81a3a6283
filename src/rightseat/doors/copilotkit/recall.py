"""Load a stored conversation for clients up to 1.10: an agent's state and the messages."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from rightseat.doors.copilotkit.agui_messages import build_messages, compute_state
from rightseat.doors.copilotkit.read import decode_or_none
from rightseat.doors.copilotkit.story import encode_result
from rightseat.http.agui.standing import visible_branch
from rightseat.http.endpoint import Host
from rightseat.types.events import CallResult
from rightseat.types.threads import NumberedEntry, ThreadEntry, UserInput
from rightseat.types.turn import Owner

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
        filter_by_agent(
            agent, [entry for _, entry in numbered_entries], thread_info.assistant if thread_info else ""
        )
    )
    return format_agent_state(
        thread,
        compute_state(agent_entries),
        visible_branch(numbered_entries) if agent_entries else [],
        exists=bool(agent_entries),
    )


def format_agent_state(
    thread: str, state: Any, branch: list[ThreadEntry], *, exists: bool = True
) -> dict[str, Any]:
    return {
        "threadId": thread,
        "threadExists": exists,
        "state": encode(state or {}).decode(),
        "messages": encode(list(format_messages(branch))).decode(),
    }


def filter_by_agent(
    agent: str, thread_entries: list[ThreadEntry], default_agent: str
) -> Iterator[ThreadEntry]:
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
