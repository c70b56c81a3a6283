"""Suggestions in the form of CopilotKit's clients: a call of the tool `copilotkitSuggest`."""

from __future__ import annotations

from collections.abc import AsyncIterator

import msgspec

from rightseat.http.endpoint import Host
from rightseat.types.events import CallArgs, CallEnd, CallStart, Event, RunFinished, RunStarted
from rightseat.types.turn import Turn

SUGGEST_TOOL = "copilotkitSuggest"
SUGGEST_CALL_ID = "call_suggestions"
MAX_TITLE = 40


def asks_for_suggestions(turn: Turn) -> bool:
    """Whether a run asks for suggestions. Clients without the suggest route use a run on a throw-away
    thread."""
    return turn.tool_choice.mode == "named" and turn.tool_choice.name == SUGGEST_TOOL


def prepare_suggestions(turn: Turn, host: Host) -> AsyncIterator[Event] | None:
    """Stream the assistant's configured suggestions at the start of a chat; None if the model must make
    them."""
    description = host.describe(turn.assistant or "")
    questions = description.suggestions if description else ()
    user_messages = [message for message in turn.messages if message.role == "user"]
    has_tool = any(tool.name == SUGGEST_TOOL for tool in turn.tools)
    return stream_suggestions(turn, questions) if questions and has_tool and len(user_messages) <= 1 else None


async def stream_suggestions(turn: Turn, questions: tuple[str, ...]) -> AsyncIterator[Event]:
    suggestions = [{"title": question[:MAX_TITLE], "message": question} for question in questions[:5]]
    yield RunStarted(turn.thread, turn.run)
    yield CallStart(SUGGEST_CALL_ID, SUGGEST_TOOL, "", True)
    yield CallArgs(SUGGEST_CALL_ID, msgspec.json.encode({"suggestions": suggestions}).decode())
    yield CallEnd(SUGGEST_CALL_ID)
    yield RunFinished("calls", None, (SUGGEST_CALL_ID,))
