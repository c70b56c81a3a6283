"""Suggestions in the form of CopilotKit's clients: a call of the tool `copilotkitSuggest`."""

from __future__ import annotations

from collections.abc import AsyncIterator

import msgspec

from rightseat.http.endpoint import Host
from rightseat.types.events import CallArgs, CallEnd, CallStart, Event, RunFinished, RunStarted
from rightseat.types.turn import Turn

TOOL = "copilotkitSuggest"
CALL = "call_suggestions"
TITLE = 40


def wanted(turn: Turn) -> bool:
    """Whether a run asks for suggestions. Clients without the suggest route use a run on a throw-away
    thread."""
    return turn.tool_choice.mode == "named" and turn.tool_choice.name == TOOL


def prepared(turn: Turn, host: Host) -> AsyncIterator[Event] | None:
    """Stream the assistant's configured suggestions at the start of a chat; None if the model must make
    them."""
    about = host.described(turn.assistant or "")
    questions = about.suggestions if about else ()
    asked = [message for message in turn.messages if message.role == "user"]
    known = any(tool.name == TOOL for tool in turn.tools)
    return told(turn, questions) if questions and known and len(asked) <= 1 else None


async def told(turn: Turn, questions: tuple[str, ...]) -> AsyncIterator[Event]:
    suggestions = [{"title": question[:TITLE], "message": question} for question in questions[:5]]
    yield RunStarted(turn.thread, turn.run)
    yield CallStart(CALL, TOOL, "", True)
    yield CallArgs(CALL, msgspec.json.encode({"suggestions": suggestions}).decode())
    yield CallEnd(CALL)
    yield RunFinished("calls", None, (CALL,))
