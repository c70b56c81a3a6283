"""Input checks: a turn is refused, or passed on without denied texts and personal data."""

from __future__ import annotations

import logging
from collections.abc import Callable

from msgspec.structs import replace

from rightseat.errors import GuardrailRefused
from rightseat.middleware.guardrails.matchers import RuleViolation, WordList
from rightseat.middleware.guardrails.rules import GuardrailPolicy, TextRules, apply_checks
from rightseat.types.messages import Message, MessagePart, TextMessagePart, text_message
from rightseat.types.model import InfillPrompt, Model, RawPrompt, Tokenizes, find_protocol
from rightseat.types.text import estimate_tokens
from rightseat.types.turn import Turn
from rightseat.types.workers import run_sized

log = logging.getLogger(__name__)
ModelLookup = Callable[[str | None], Model | None]
"""Returns the model of an assistant, or None."""
REMOVED = "[removed: not allowed here]"
"""Replaces earlier messages that were refused, because clients post them again with every turn."""
MAX_CHECKED = 8
"""Unanswered messages that checks see; older ones are removed."""


def make_refusal(guard: GuardrailPolicy, turn: Turn, kind: str, reason: str = "") -> GuardrailRefused:
    log.info("a guardrail refused a message: %s", kind)
    return GuardrailRefused(guard.format_refusal("input", kind, turn.get_language(), reason))


def find_unanswered(turn: Turn) -> list[int]:
    """Return the indices of user messages since the last answer, newest first. A trailing assistant text is a
    prefill of the client, not an answer."""
    end = len(turn.messages)
    while end and not turn.answers and turn.messages[end - 1].role == "assistant" and not turn.messages[end - 1].calls:
        end -= 1
    indices = []
    for number in reversed(range(end)):
        if turn.messages[number].role == "assistant":
            break
        if turn.messages[number].role == "user":
            indices.append(number)
    return indices


def apply_local_rules(guard: GuardrailPolicy, turn: Turn) -> Turn:
    """Apply the rules that need no model or service; return the cleaned turn or raise GuardrailRefused."""
    rules = guard.input
    # Earlier messages were refused or answered before: refusing them again would end the conversation.
    newest_index = next(iter(find_unanswered(turn)), len(turn.messages))
    texts = [message.text for message in turn.messages[newest_index : newest_index + 1]]
    texts += [answer.text for answer in turn.answers if answer.text]
    if turn.raw is not None:
        if not isinstance(turn.raw.text, str) and rules:
            raise make_refusal(guard, turn, "unchecked")
        texts += list_raw_texts(turn.raw)
    for text in texts:
        if problem := rules.find_problem(text):
            raise make_refusal(guard, turn, problem)
    denied = WordList(turn.client.topics.deny)
    check_topics(guard, turn, texts, denied)
    return clean_history(guard, turn, newest_index, denied)


def check_topics(guard: GuardrailPolicy, turn: Turn, texts: list[str], denied: WordList) -> None:
    """Check topics by their words, including the client's. Answers to interrupts and sub-runs are always on
    topic. If a topical check is configured, it decides about allowed topics."""
    if not texts or turn.answers or turn.depth:
        return
    if any(denied.matches(text) for text in texts):
        raise make_refusal(guard, turn, "topic")
    if any(check.topical and "input" in check.directions for check in guard.checks):
        return
    for allowed in (guard.input.allow, WordList(turn.client.topics.allow)):
        if allowed and not any(allowed.matches(text) for text in texts):
            raise make_refusal(guard, turn, "off_topic")


def clean_history(guard: GuardrailPolicy, turn: Turn, newest_index: int, denied: WordList) -> Turn:
    """Return the turn without earlier refused messages and without personal data."""
    rules = guard.input
    if not rules and not denied:
        return turn
    messages = tuple(
        clean_message(message, rules, denied, is_new=number == newest_index)
        for number, message in enumerate(turn.messages)
    )
    turn = replace(turn, messages=messages)
    if turn.raw is not None and rules.redaction is not None:
        texts = map(rules.redaction.redact, list_raw_texts(turn.raw))
        turn = replace(turn, raw=replace_raw_texts(turn.raw, list(texts)))
    return turn


def list_raw_texts(raw: RawPrompt) -> list[str]:
    """Return the texts of a raw prompt; tokens are none."""
    texts = [raw.text] if isinstance(raw.text, str) else []
    if raw.infill is not None:
        texts += [raw.infill.suffix, raw.infill.begun, *(text for file in raw.infill.files for text in file)]
    return texts


def replace_raw_texts(raw: RawPrompt, texts: list[str]) -> RawPrompt:
    """Return the raw prompt with other texts, in the order of `list_raw_texts`."""
    if isinstance(raw.text, str):
        raw, texts = replace(raw, text=texts[0]), texts[1:]
    if raw.infill is not None:
        files = tuple(zip(texts[2::2], texts[3::2], strict=True))
        raw = replace(raw, infill=InfillPrompt(texts[0], files, texts[1]))
    return raw


def clean_message(message: Message, rules: TextRules, denied: WordList, *, is_new: bool) -> Message:
    if message.role != "user" or not message.parts:
        return message
    if not is_new and (rules.find_problem(message.text) is not None or denied.matches(message.text)):
        return text_message("user", REMOVED, name=message.name, id=message.id)
    if rules.redaction is None:
        return message
    parts: tuple[MessagePart, ...] = tuple(
        TextMessagePart(rules.redaction.redact(part.text)) if isinstance(part, TextMessagePart) else part
        for part in message.parts
    )
    return message if parts == message.parts else replace(message, parts=parts)


def needs_checks(guard: GuardrailPolicy) -> bool:
    """Whether asynchronous checks must run before the answer."""
    return bool(guard.input.max_tokens) or any("input" in check.directions for check in guard.checks)


async def run_checks(guard: GuardrailPolicy, turn: Turn, find_model: ModelLookup) -> Turn:
    """Apply the rules that need a model or service (tokens, judge, validators); return the turn."""
    messages = list(turn.messages)
    for place, number in enumerate(find_unanswered(turn)):
        if place < MAX_CHECKED:
            messages[number] = await check_message(guard, turn, messages[number], find_model, is_new=not place)
        else:
            messages[number] = text_message("user", REMOVED, id=messages[number].id)
    turn = replace(turn, messages=tuple(messages))
    if turn.raw is not None:
        texts = [await check_text(guard, turn, text, find_model) for text in list_raw_texts(turn.raw)]
        turn = replace(turn, raw=replace_raw_texts(turn.raw, texts))
    return turn


async def check_message(
    guard: GuardrailPolicy, turn: Turn, message: Message, find_model: ModelLookup, *, is_new: bool
) -> Message:
    """Return the message as checks allow it. Only a new message is refused; an older one is replaced."""
    if not message.text or message.text == REMOVED:
        return message
    try:
        text = await check_text(guard, turn, message.text, find_model)
    except GuardrailRefused:
        if is_new:
            raise
        text = REMOVED
    if text == message.text:
        return message
    others = tuple(part for part in message.parts if not isinstance(part, TextMessagePart))
    return replace(message, parts=(TextMessagePart(text), *others))


async def count_tokens(text: str, model: Model | None) -> int:
    """Count tokens by the model's tokenizer, else estimate them."""
    tokenizer = find_protocol(model, Tokenizes)
    if tokenizer is None:
        return await run_sized(len(text), estimate_tokens, text)
    return len(await tokenizer.tokenize(text, add=False, special=False, pieces=False))


async def check_text(guard: GuardrailPolicy, turn: Turn, text: str, find_model: ModelLookup) -> str:
    max_tokens = guard.input.max_tokens
    # A token has at least one byte.
    may_exceed = max_tokens and len(text.encode(errors="replace")) > max_tokens
    if may_exceed and await count_tokens(text, find_model(turn.assistant)) > max_tokens:
        raise make_refusal(guard, turn, "tokens")
    try:
        return await apply_checks(guard.checks, text, "input", turn)
    except RuleViolation as violation:
        raise make_refusal(guard, turn, violation.kind, violation.reason) from None
