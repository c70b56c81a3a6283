"""A Turn as AG-UI's RunAgentInput, with message ids that the peer knows."""

from __future__ import annotations

import hashlib
import secrets
import uuid
from typing import Any

from msgspec.structs import replace

from rightseat.agents.agui.interrupts import build_command, build_resume
from rightseat.agents.agui.peer_threads import PeerThreads
from rightseat.http.agui.write import format_message
from rightseat.types.model import ToolSpec
from rightseat.types.turn import Turn


def select_client_tools(turn: Turn) -> tuple[ToolSpec, ...]:
    """Return the client's tools that `tool_choice` allows."""
    choice = turn.tool_choice
    if choice.mode == "none":
        return ()
    return tuple(tool for tool in turn.tools if choice.mode != "named" or tool.name == choice.name)


def list_client_tools(turn: Turn) -> list[dict[str, Any]]:
    return [
        {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
        for tool in select_client_tools(turn)
    ]


def assign_message_ids(turn: Turn, thread: uuid.UUID, threads: PeerThreads) -> list[str]:
    """Return each message's id as the peer knows it. A message without an id gets one derived from its
    content, equal in each turn, so that a peer that keeps threads does not take it for a new message."""
    ids = []
    for number, message in enumerate(turn.messages):
        if known_id := threads.get_result_id(thread, message.call_id) or message.id:
            ids.append(known_id)
        elif turn.depth:
            # Sub-runs are separate conversations: equal first messages are different messages.
            ids.append(secrets.token_hex(12))
        else:
            text = f"{number}\n{message.role}\n{message.call_id}\n{message.text}"
            ids.append(hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32])
    return ids


def build_run_input(turn: Turn, thread: uuid.UUID, ids: list[str], *, legacy: bool = False) -> dict[str, Any]:
    """Build the request body. `legacy` omits the fields of protocol 1.0, which some older peers reject."""
    props: dict[str, Any] = dict(turn.client.forwarded.properties)
    if turn.client.forwarded.config:
        props["config"] = turn.client.forwarded.config
    answers, command = build_resume(turn.answers), build_command(turn.answers)
    if turn.answers:
        # The door has already turned it into answers.
        props.pop("command", None)
    if legacy and answers and command is None:
        command = {"resume": answers[0].get("payload")}
    if command is not None:
        props["command"] = command
    run_input: dict[str, Any] = {
        "threadId": str(thread),
        "runId": turn.run,
        "state": {} if turn.state is None else turn.state,
        "messages": [
            format_message(replace(message, id=id), id) for message, id in zip(turn.messages, ids, strict=True)
        ],
        "tools": list_client_tools(turn),
        "context": [{"description": item.description, "value": item.value} for item in turn.context],
        "forwardedProps": props,
    }
    if not legacy:
        run_input["protocolVersion"] = "1.0"
        if answers:
            run_input["resume"] = answers
    return run_input
