"""Convert tools/call to a turn: a user message for an `ask_NAME` tool, else a direct tool call."""

from __future__ import annotations

import msgspec

from rightseat.doors.mcp.catalogue import asked, unknown
from rightseat.doors.mcp.questions import answer_of
from rightseat.doors.mcp.wire import INVALID_PARAMS, Ask, Refused
from rightseat.engine.toolsets import CALLED
from rightseat.http.endpoint import NAME, Host, Request
from rightseat.types.messages import Call, Message, said
from rightseat.types.turn import Answer, Turn


def turn_of(ask: Ask, request: Request, host: Host) -> Turn:
    """Make the turn of a tools/call: a user message for an `ask_NAME` tool, else a direct tool call."""
    name = ask.text("name")
    given = ask.params.get("arguments") or {}
    if not isinstance(given, dict):
        raise Refused(INVALID_PARAMS, "arguments: an object is expected.")
    if name in host.tools:
        call = Call("call", name, msgspec.json.encode(given).decode())
        messages, assistant = (Message("assistant", calls=(call,)),), CALLED
    elif one := asked(host).get(name):
        wanted = given.get("request")
        if not isinstance(wanted, str) or not wanted.strip():
            raise Refused(INVALID_PARAMS, "arguments.request: say what is wanted, in words.")
        messages, assistant = (said("user", wanted),), one.responder
    else:
        raise unknown("tool", name, [*host.tools, *asked(host)])
    state = ask.params.get("requestState")
    return Turn(
        messages=messages,
        assistant=assistant,
        answers=answers(ask),
        thread=state if isinstance(state, str) and NAME.fullmatch(state) else "",
        owner=request.owner,
        headers=request.passed,
        base=request.base,
        shows_artifacts=False,
    )


def answers(ask: Ask) -> tuple[Answer, ...]:
    """Parse `inputResponses`, which a stateless client sends when it repeats the call."""
    given = ask.params.get("inputResponses")
    return tuple(answer_of(key, value) for key, value in given.items()) if isinstance(given, dict) else ()
