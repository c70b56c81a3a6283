"""A Turn as AG-UI's RunAgentInput, with message ids that the peer knows."""

from __future__ import annotations

import hashlib
import secrets
import uuid
from typing import Any

from msgspec.structs import replace

from rightseat.agents.agui.aliases import Aliases
from rightseat.agents.agui.questions import commanded, resumed
from rightseat.http.agui.write import spoken
from rightseat.types.messages import Message
from rightseat.types.model import ToolSpec
from rightseat.types.turn import Turn


def callable_tools(turn: Turn) -> tuple[ToolSpec, ...]:
    """Return the client's tools that `tool_choice` allows."""
    choice = turn.tool_choice
    if choice.mode == "none":
        return ()
    return tuple(tool for tool in turn.tools if choice.mode != "named" or tool.name == choice.name)


def message_ids(turn: Turn, thread: uuid.UUID, aliases: Aliases) -> list[str]:
    """Return each message's id as the peer knows it. A message without an id gets one derived from its
    content, equal in each turn, so that a peer that keeps threads does not take it for a new message."""
    found = []
    for number, message in enumerate(turn.messages):
        if known := aliases.of(thread, message.call_id) or message.id:
            found.append(known)
        elif turn.depth:
            # Sub-runs are separate conversations: equal first messages are different messages.
            found.append(secrets.token_hex(12))
        else:
            found.append(_derived(number, message))
    return found


def _derived(number: int, message: Message) -> str:
    told = f"{number}\n{message.role}\n{message.call_id}\n{message.text}"
    return hashlib.sha256(told.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def body(turn: Turn, thread: uuid.UUID, ids: list[str], *, plain: bool = False) -> dict[str, Any]:
    """Build the request body. `legacy` omits the fields of protocol 1.0, which some older peers reject."""
    props: dict[str, Any] = dict(turn.forwarded.properties)
    if turn.forwarded.config:
        props["config"] = turn.forwarded.config
    answers, command = resumed(turn.answers), commanded(turn.answers)
    if turn.answers:
        # The door has already turned it into answers.
        props.pop("command", None)
    if plain and answers and command is None:
        command = {"resume": answers[0].get("payload")}
    if command is not None:
        props["command"] = command
    made: dict[str, Any] = {
        "threadId": str(thread),
        "runId": turn.run,
        "state": {} if turn.state is None else turn.state,
        "messages": [
            spoken(replace(message, id=id), id) for message, id in zip(turn.messages, ids, strict=True)
        ],
        "tools": [
            {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
            for tool in callable_tools(turn)
        ],
        "context": [{"description": item.description, "value": item.value} for item in turn.context],
        "forwardedProps": props,
    }
    if not plain:
        made["protocolVersion"] = "1.0"
        if answers:
            made["resume"] = answers
    return made
