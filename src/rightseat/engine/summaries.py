"""Summaries of dropped turns: the model writes one when turns are dropped, and later prompts of the conversation repeat
it unchanged."""

from __future__ import annotations

import asyncio
import hashlib
import logging
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from weakref import WeakValueDictionary

from msgspec.structs import replace

from rightseat.engine.history import split_turns
from rightseat.errors import ContextTooLong, RightseatError
from rightseat.types.chunks import TextChunk, UsageChunk
from rightseat.types.events import Usage
from rightseat.types.messages import Message, measure_messages, text_message
from rightseat.types.model import Model, Prompt, SamplingSettings
from rightseat.types.streams import closing
from rightseat.types.workers import run_sized

SUMMARY_HEADING = "Summary of the earlier conversation, whose messages are left out:"
MAX_SUMMARY_TOKENS = 256
MAX_SUMMARY_CHARS = 4096
_USUAL_CONTEXT = 8192
_MAX_SUMMARIES = 512
_REQUEST = (
    "Summarise the conversation below in at most 150 words for an assistant that goes on with it. Keep names, numbers, "
    "decisions, results of tools and what the person wants. Write only the summary, in the language of the person."
)
log = logging.getLogger(__name__)


class ConversationSummaries:
    """Summaries by the messages that they stand for; a longer beginning extends the summary of a shorter one."""

    def __init__(self) -> None:
        self._summaries: OrderedDict[bytes, str] = OrderedDict()
        self._locks: WeakValueDictionary[bytes, asyncio.Lock] = WeakValueDictionary()

    async def summarise(
        self, model: Model, dropped: Sequence[Message], context: int | None
    ) -> tuple[str | None, Usage | None]:
        """Return the summary of the dropped messages and the usage of the model call, if one was made. The summary
        is None where the model fails."""
        keys = await run_sized(measure_messages(dropped), lambda: list(_hash_beginnings(dropped)))
        lock = self._locks.setdefault(keys[-1], asyncio.Lock())
        # A second request of the same conversation waits for the first one's summary.
        async with lock:
            known = next((number for number in range(len(keys), 0, -1) if keys[number - 1] in self._summaries), 0)
            earlier = self._summaries[keys[known - 1]] if known else ""
            if known == len(keys):
                self._summaries.move_to_end(keys[-1])
                return earlier, None
            try:
                summary, usage = await _write_summary(model, earlier, dropped[known:], context or _USUAL_CONTEXT)
            except RightseatError as error:
                log.warning("the dropped messages are not summarised: %s (%s)", error.message, error.code)
                return None, None
            if not summary:
                log.warning("the dropped messages are not summarised: the model wrote nothing")
                return None, usage
            self._summaries[keys[-1]] = summary
            if len(self._summaries) > _MAX_SUMMARIES:
                self._summaries.popitem(last=False)
            return summary, usage


def insert_summary(prompt: Prompt, summary: str) -> Prompt:
    """Return the prompt with the summary as the last of its leading instructions."""
    leading, _ = split_turns(list(prompt.messages))
    note = text_message("system", f"{SUMMARY_HEADING}\n{summary}")
    return replace(prompt, messages=(*leading, note, *prompt.messages[len(leading) :]))


async def _write_summary(
    model: Model, earlier: str, messages: Sequence[Message], context: int
) -> tuple[str, Usage | None]:
    """Return the model's summary of an earlier summary and of messages, and the usage."""
    text = await run_sized(measure_messages(messages), _format_messages, messages)
    try:
        # Half of the window in most texts.
        return await _ask_model(model, earlier, _shorten_text(text, context * 2), context)
    except ContextTooLong:
        return await _ask_model(model, earlier, _shorten_text(text, context // 2), context)


def _shorten_text(text: str, chars: int) -> str:
    """Return a text without its middle: what a conversation is about stands at its beginning."""
    return text if len(text) <= chars else f"{text[: chars // 2]}\n…\n{text[-(chars // 2) :]}"


async def _ask_model(model: Model, earlier: str, text: str, context: int) -> tuple[str, Usage | None]:
    text = f"Earlier: {earlier}\n{text}" if earlier else text
    settings = SamplingSettings(max_tokens=min(MAX_SUMMARY_TOKENS, max(context // 8, 1)))
    prompt = Prompt(messages=(text_message("system", _REQUEST), text_message("user", text)), settings=settings)
    texts: list[str] = []
    usage: Usage | None = None
    async with closing(model.stream(prompt)) as chunks:
        async for chunk in chunks:
            if isinstance(chunk, TextChunk):
                texts.append(chunk.text)
            elif isinstance(chunk, UsageChunk):
                usage = chunk.usage + (usage or Usage())
    return "".join(texts).strip()[:MAX_SUMMARY_CHARS], usage


def _format_messages(messages: Sequence[Message]) -> str:
    return "\n".join(_format_message(message) for message in messages)


def _format_message(message: Message) -> str:
    calls = "".join(f" [calls {call.name} {call.arguments}]" for call in message.calls)
    return f"{message.role}: {message.text}{calls}"


def _hash_beginnings(messages: Sequence[Message]) -> Iterator[bytes]:
    """Yield a hash of the first message, of the first two, and so on."""
    digest = hashlib.blake2b(digest_size=16)
    for message in messages:
        digest.update(f"{_format_message(message)}\0".encode(errors="replace"))
        yield digest.digest()
