"""A Turn as AG-UI's RunAgentInput."""

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
    """The client's tools that may be called in this turn."""
    choice = turn.tool_choice
    if choice.mode == "none":
        return ()
    return tuple(tool for tool in turn.tools if choice.mode != "named" or tool.name == choice.name)


def message_ids(turn: Turn, thread: uuid.UUID, aliases: Aliases) -> list[str]:
    """Every message's id, as the peer knows it. Where a client gives none, the same message has the same one
    in the next turn, so that a peer that keeps threads does not take it for another."""
    found = []
    for number, message in enumerate(turn.messages):
        if known := aliases.of(thread, message.call_id) or message.id:
            found.append(known)
        elif turn.depth:
            # One conversation after the other, each with a first message: equal ones are not the same.
            found.append(secrets.token_hex(12))
        else:
            found.append(_derived(number, message))
    return found


def _derived(number: int, message: Message) -> str:
    told = f"{number}\n{message.role}\n{message.call_id}\n{message.text}"
    return hashlib.sha256(told.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def body(turn: Turn, thread: uuid.UUID, ids: list[str], *, plain: bool = False) -> dict[str, Any]:
    """`plain`: without what peers before 1.0 do not know, and some of them refuse."""
    props: dict[str, Any] = dict(turn.forwarded.properties)
    if turn.forwarded.config:
        props["config"] = turn.forwarded.config
    answers, command = resumed(turn.answers), commanded(turn.answers)
    if turn.answers:
        # The door has read it already.
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
