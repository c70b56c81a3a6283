"""Prepare a conversation for a model: pair calls with results, and trim to the context window."""

from __future__ import annotations

import itertools
from collections.abc import Container, Iterable

import msgspec
from msgspec.structs import replace

from rightseat.errors import ContextTooLong
from rightseat.types.messages import Call, File, Image, Message, Part, Text, said
from rightseat.types.model import ToolSpec
from rightseat.types.stores import ticket_of
from rightseat.types.tokens import estimate
from rightseat.types.tools import failure

UNANSWERED = failure("not_answered", "This call was never answered.").text
MESSAGE_TOKENS = 4
# File types that models read themselves; a file without a type may be anything.
READABLE = (None, "application/pdf", "text/plain")
PART_TOKENS = 1000  # an image or a file: the real number is unknown


def paired(messages: Iterable[Message]) -> list[Message]:
    """Return messages where each call is followed by its results and no result lacks its call."""
    kept: list[Message] = []
    results: dict[str | None, Message] = {}
    # Backwards, to take the nearest result: some clients reuse call ids.
    for message in reversed(list(messages)):
        if message.role == "tool":
            results[message.call_id] = message
            continue
        calls = tuple(whole for call in message.calls if (whole := _whole(call, call.id in results)))
        if message.calls and not calls and not message.parts:
            continue
        answers = [results.pop(call.id, said("tool", UNANSWERED, call_id=call.id)) for call in calls]
        kept += [*reversed(answers), replace(message, calls=calls) if message.calls else message]
    return kept[::-1]


def _whole(call: Call, answered: bool) -> Call | None:
    """Return the call with a JSON object as arguments; None for a call that was truncated."""
    try:
        fits = isinstance(msgspec.json.decode(call.arguments), dict)
    except (msgspec.DecodeError, RecursionError):
        fits = False
    if fits:
        return call
    return replace(call, arguments="{}") if answered or not call.arguments.strip() else None


def trusted(messages: Iterable[Message], server: Container[str], known: dict[str, str]) -> list[Message]:
    """Replace results of server calls with the stored ones: a client could forge them."""
    ours = {call.id for message in messages for call in message.calls if call.name in server}
    unknown = failure("result_unknown", "The result of this earlier call is no longer held.").text
    return [
        replace(message, parts=said("tool", known.get(message.call_id or "", unknown)).parts)
        if message.role == "tool" and message.call_id in ours
        else message
        for message in messages
    ]


def noted(messages: Iterable[Message], *, text_only: bool) -> list[Message]:
    """Replace files that the model cannot read with their names, by which it passes them to tools."""
    return [
        replace(message, parts=tuple(_noted(part, text_only) for part in message.parts))
        if any(not isinstance(part, Text) for part in message.parts)
        else message
        for message in messages
    ]


def _noted(part: Part, text_only: bool) -> Part:
    match part:
        case File(file_id=None) if text_only or part.read or part.media_type not in READABLE:
            kind = f" ({part.media_type})" if part.media_type else ""
            return Text(f"\n[attached file: {part.name or 'file'}{kind}]")
        case Image() if text_only:
            return Text("\n[attached picture]")
        case _:
            return part


def before(messages: tuple[Message, ...], ticket: str) -> tuple[Message, ...]:
    """Return the posted messages before the run with this token; its own come from the continuation."""
    for position, message in enumerate(messages):
        ids = [message.id, message.call_id, *(call.id for call in message.calls)]
        if any(ticket_of(id) == ticket for id in ids):
            return messages[:position]
    return messages


def after(messages: tuple[Message, ...], ticket: str) -> tuple[Message, ...]:
    """Return the posted messages after the last one of the run with this token."""
    last = -1
    for position, message in enumerate(messages):
        ids = [message.id, message.call_id, *(call.id for call in message.calls)]
        if any(ticket_of(id) == ticket for id in ids):
            last = position
    return () if last < 0 else messages[last + 1 :]


def tail_results(messages: tuple[Message, ...]) -> dict[str, str]:
    """Return the tool results after the last assistant message, by call id."""
    found: dict[str, str] = {}
    for message in reversed(messages):
        if message.role == "assistant":
            break
        if message.role == "tool" and message.call_id:
            found.setdefault(message.call_id, message.text)
    return found


def weight(message: Message) -> int:
    calls = sum(estimate(call.name + call.arguments) for call in message.calls)
    others = sum(PART_TOKENS for part in message.parts if not isinstance(part, Text))
    return MESSAGE_TOKENS + estimate(message.text) + calls + others


def fitted(
    messages: list[Message], tools: Iterable[ToolSpec], limit: int | None
) -> tuple[list[Message], int]:
    """Return the messages that fit into `limit` tokens, and how many were dropped.

    Leading system messages and everything from the last user message on stay; older turns are dropped whole,
    oldest first.
    """
    if limit is None:
        return messages, 0
    fixed = sum(estimate(tool.description + str(tool.parameters)) for tool in tools)
    leading = list(itertools.takewhile(lambda message: message.role in ("system", "developer"), messages))
    turns = _turns(messages[len(leading) :])
    room = limit - fixed - sum(map(weight, leading))
    needed = sum(map(weight, turns[-1])) if turns else 0
    if needed > room:
        raise ContextTooLong(
            f"A prompt has room for {limit} tokens; instructions and tools take about {limit - room} and the "
            f"last turn about {needed}. Shorten the last message, the system prompt or the list of tools."
        )
    kept: list[Message] = []
    for turn in reversed(turns):
        cost = sum(map(weight, turn))
        if cost > room:
            break
        room -= cost
        kept = turn + kept
    return leading + kept, len(messages) - len(leading) - len(kept)


def least(messages: list[Message], tools: Iterable[ToolSpec]) -> int:
    """Return the tokens that cannot be dropped: instructions, tools and the last turn."""
    fixed = sum(estimate(tool.description + str(tool.parameters)) for tool in tools)
    leading = list(itertools.takewhile(lambda message: message.role in ("system", "developer"), messages))
    turns = _turns(messages[len(leading) :])
    return fixed + sum(map(weight, leading)) + (sum(map(weight, turns[-1])) if turns else 0)


def _turns(messages: list[Message]) -> list[list[Message]]:
    """Split messages into turns, each from a user message to the next."""
    turns: list[list[Message]] = []
    for message in messages:
        if message.role == "user" or not turns:
            turns.append([])
        turns[-1].append(message)
    return turns
