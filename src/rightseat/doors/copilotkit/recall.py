"""Load a stored conversation for clients up to 1.10: an agent's state and the messages."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from rightseat.doors.copilotkit.agui_messages import messages_of, state_of
from rightseat.doors.copilotkit.read import decoded
from rightseat.doors.copilotkit.story import encoded
from rightseat.http.agui.standing import standing
from rightseat.http.endpoint import Host
from rightseat.types.events import CallResult
from rightseat.types.threads import Entry, Numbered, Posted
from rightseat.types.turn import Owner

encode = msgspec.json.Encoder().encode
# The client adds its own instructions to every request.
UNSEEN = ("system", "developer")
Said = dict[str, Any]


async def entries(owner: Owner, thread: str, host: Host) -> list[Numbered]:
    """Load all entries of a thread."""
    found: list[Numbered] = []
    after = 0
    while page := await host.threads.journal.read(owner, thread, after):
        found += page
        after = page[-1][0]
    return found


async def recalled(owner: Owner, thread: str, agent: str, host: Host) -> dict[str, Any]:
    """Make LoadAgentStateResponse. The thread does not exist for an agent that has no run in it."""
    if (remembered := await host.recall(agent, owner, thread)) is not None:
        return told_of(thread, remembered.state, [Posted(messages=remembered.messages)])
    about = await host.threads.journal.find(owner, thread)
    told = await entries(owner, thread, host) if about else []
    mine = list(by(agent, [entry for _, entry in told], about.assistant if about else ""))
    return told_of(thread, state_of(mine), standing(told) if mine else [], exists=bool(mine))


def told_of(thread: str, state: Any, told: list[Entry], *, exists: bool = True) -> dict[str, Any]:
    return {
        "threadId": thread,
        "threadExists": exists,
        "state": encode(state or {}).decode(),
        "messages": encode(list(shown(told))).decode(),
    }


def by(agent: str, told: list[Entry], first: str) -> Iterator[Entry]:
    """Yield the entries of this agent's runs."""
    asked = first
    for entry in told:
        if isinstance(entry, Posted):
            asked = entry.assistant or first
        if asked == agent:
            yield entry


def shown(told: list[Entry]) -> Iterator[Said]:
    """Yield messages in the GraphQL clients' form: one for each text, call, result and image."""
    failed = {f"result-{e.id}": encoded(e) for e in told if isinstance(e, CallResult) and e.failed}
    names: dict[str, str] = {}
    for message in messages_of(told):
        id, role = message["id"], message["role"]
        if role == "tool":
            call = message["toolCallId"]
            result = failed.get(id, message.get("content") or "")
            yield {"id": id, "result": result, "actionExecutionId": call, "actionName": names.get(call, "")}
        elif role not in UNSEEN:
            yield from spoken(message)
            for call in message.get("toolCalls", ()):
                names[call["id"]] = call["name"]
                arguments = decoded(call["args"])
                made = {"id": call["id"], "name": call["name"], "parentMessageId": id}
                yield {**made, "arguments": arguments if isinstance(arguments, dict) else {}}


def spoken(message: Said) -> Iterator[Said]:
    content = message.get("content")
    parts = [{"type": "text", "text": content}] if isinstance(content, str) else content or []
    for number, part in enumerate(parts):
        own = {"id": f"{message['id']}-{number}" if number else message["id"], "role": message["role"]}
        match part:
            case {"type": "text", "text": str(text)} if text:
                yield {**own, "content": text}
            case {"type": "image", "source": {"type": "data", "value": data, "mimeType": str(media)}}:
                yield {**own, "format": media.removeprefix("image/"), "bytes": data}
            case _:
                pass
