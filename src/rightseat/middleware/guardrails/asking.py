"""Input checks: a turn is refused, or passed on without denied texts and personal data."""

from __future__ import annotations

import logging
from collections.abc import Callable

from msgspec.structs import replace

from rightseat.errors import GuardrailRefused
from rightseat.middleware.guardrails.rules import Guard, Lists
from rightseat.middleware.guardrails.verdict import UNCHECKED, Refuse, Replace
from rightseat.middleware.guardrails.words import Words
from rightseat.types.messages import Message, Part, Text, said
from rightseat.types.model import Model
from rightseat.types.tokens import estimate
from rightseat.types.turn import Turn

log = logging.getLogger(__name__)
ModelOf = Callable[[str | None], Model | None]
"""Returns the model of an assistant, or None."""
REMOVED = "[removed: not allowed here]"
"""Replaces earlier messages that were refused, because clients post them again with every turn."""


MOST_CHECKED = 8
"""Unanswered messages that checks see; older ones are removed."""


def refused(guard: Guard, kind: str, reason: str = "") -> GuardrailRefused:
    log.info("a guardrail refused a message: %s", kind)
    return GuardrailRefused(guard.told("input", kind, reason))


def unanswered(turn: Turn) -> list[int]:
    """Return the indices of user messages since the last answer, newest first. A trailing assistant text is a
    prefill of the client, not an answer."""
    end = len(turn.messages)
    while end and not turn.answers and prefilled(turn.messages[end - 1]):
        end -= 1
    found = []
    for number in range(end - 1, -1, -1):
        if turn.messages[number].role == "assistant":
            break
        if turn.messages[number].role == "user":
            found.append(number)
    return found


def prefilled(message: Message) -> bool:
    return message.role == "assistant" and not message.calls


def newest(turn: Turn) -> int:
    """Return the index of the newest unanswered user message, else the number of messages. Earlier ones were
    refused or answered before: refusing them again would end the conversation."""
    return next(iter(unanswered(turn)), len(turn.messages))


def admitted(guard: Guard, turn: Turn) -> Turn:
    """Apply the rules that need no model or service; return the cleaned turn or raise GuardrailRefused."""
    rules = guard.input
    last = newest(turn)
    new = [message.text for message in turn.messages[last : last + 1]]
    new += [answer.text for answer in turn.answers if answer.text]
    if turn.raw is not None:
        if not isinstance(turn.raw.text, str) and rules:
            raise refused(guard, "unchecked")
        new.append(turn.raw.text if isinstance(turn.raw.text, str) else "")
    for text in new:
        if problem := rules.problem(text):
            raise refused(guard, problem)
    denied = Words(turn.topics.deny)
    narrowed(guard, turn, new, denied)
    return cleaned(guard, turn, last, denied)


def narrowed(guard: Guard, turn: Turn, new: list[str], denied: Words) -> None:
    """Check topics by their words, including the client's. Answers to interrupts and sub-runs are always on
    topic. If a topical check is configured, it decides about allowed topics."""
    if not new or turn.answers or turn.depth:
        return
    if any(denied.within(text) for text in new):
        raise refused(guard, "topic")
    if any(check.topical and "input" in check.directions for check in guard.checks):
        return
    for allowed in (guard.input.allow, Words(turn.topics.allow)):
        if allowed and not any(allowed.within(text) for text in new):
            raise refused(guard, "off_topic")


def cleaned(guard: Guard, turn: Turn, last: int, denied: Words) -> Turn:
    """Return the turn without earlier refused messages and without personal data."""
    rules = guard.input
    if not rules and not denied:
        return turn
    messages = tuple(
        clean(message, rules, denied, new=number == last) for number, message in enumerate(turn.messages)
    )
    turn = replace(turn, messages=messages)
    if turn.raw is not None and isinstance(turn.raw.text, str) and rules.redaction is not None:
        turn = replace(turn, raw=replace(turn.raw, text=rules.redaction.redacted(turn.raw.text)))
    return turn


def clean(message: Message, rules: Lists, denied: Words, *, new: bool) -> Message:
    if message.role != "user" or not message.parts:
        return message
    if not new and (rules.problem(message.text) is not None or denied.within(message.text)):
        return said("user", REMOVED, name=message.name, id=message.id)
    if rules.redaction is None:
        return message
    parts: tuple[Part, ...] = tuple(
        Text(rules.redaction.redacted(part.text)) if isinstance(part, Text) else part
        for part in message.parts
    )
    return message if parts == message.parts else replace(message, parts=parts)


def waits(guard: Guard) -> bool:
    """Whether asynchronous checks must run before the answer."""
    return bool(guard.input.max_tokens) or any("input" in check.directions for check in guard.checks)


async def checked(guard: Guard, turn: Turn, model: ModelOf) -> Turn:
    """Apply the rules that need a model or service (tokens, judge, validators); return the turn."""
    messages = list(turn.messages)
    for place, number in enumerate(unanswered(turn)):
        if place < MOST_CHECKED:
            messages[number] = await passed(guard, turn, messages[number], model, new=not place)
        else:
            messages[number] = said("user", REMOVED, id=messages[number].id)
    turn = replace(turn, messages=tuple(messages))
    if turn.raw is not None and isinstance(turn.raw.text, str):
        text = await judged(guard, turn, turn.raw.text, model)
        turn = replace(turn, raw=replace(turn.raw, text=text))
    return turn


async def passed(guard: Guard, turn: Turn, message: Message, model: ModelOf, *, new: bool) -> Message:
    """Return the message as checks allow it. Only a new message is refused; an older one is replaced."""
    if not message.text or message.text == REMOVED:
        return message
    try:
        text = await judged(guard, turn, message.text, model)
    except GuardrailRefused:
        if new:
            raise
        text = REMOVED
    if text == message.text:
        return message
    others = tuple(part for part in message.parts if not isinstance(part, Text))
    return replace(message, parts=(Text(text), *others))


async def count(text: str, model: Model | None) -> int:
    """Count tokens by the model's tokenizer, else estimate them."""
    tokenize = getattr(model, "tokenize", None)
    if tokenize is None:
        return estimate(text)
    return len(await tokenize(text, add=False, special=False, pieces=False))


async def judged(guard: Guard, turn: Turn, text: str, model: ModelOf) -> str:
    most = guard.input.max_tokens
    # A token has at least one byte.
    if most and len(text.encode(errors="replace")) > most and await count(text, model(turn.assistant)) > most:
        raise refused(guard, "tokens")
    for check in guard.checks:
        if "input" not in check.directions:
            continue
        match await check.verdict(text, "input", turn):
            case Refuse() as refusal:
                if refusal is UNCHECKED:
                    raise refused(guard, "unchecked")
                kind = "topic" if check.topical else "validator"
                raise refused(guard, kind, refusal.reason)
            case Replace(changed):
                text = changed
            case None:
                pass
    return text
