"""Fit a conversation into the model's context window.

The oldest turns are dropped, by the model's own token counts where it counts them, else by an estimate. Instructions,
tools and the newest turn stay, and a call is dropped only with its results. Turns are dropped in blocks that depend
on the beginning of the conversation alone: several requests in a row keep the same prefix, which a model's prompt
cache can use. A model that refuses a prompt before its first token gets a shorter one.
"""

from __future__ import annotations

import asyncio
import hashlib
import itertools
import logging
from collections import OrderedDict
from collections.abc import Iterable, Sequence

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from rightseat.engine.history import estimate_message_tokens, split_turns
from rightseat.errors import CallerError, ContextTooLong, RightseatError
from rightseat.types.messages import Message, TextMessagePart, measure_messages
from rightseat.types.model import BoundModel, CountsTokens, Prompt, SamplingSettings, ToolSpec, find_protocol
from rightseat.types.text import estimate_tokens
from rightseat.types.workers import run_sized

RESERVED_ANSWER_TOKENS = 1024
MAX_REFUSALS = 5
"""Prompts that a model may refuse before the client is told."""
_REFUSED_SHARE = 0.6
"""Share of a refused prompt that is sent next, where the model does not say how many tokens it takes."""
_NAMED_SHARE = 0.95
_MAX_LEARNED = 1024
_BLOCKS = 4
_MESSAGE_OVERHEAD = 32
_HASHED_CHARS = 32_000
"""Characters of a message by which the beginning of a conversation is recognized."""
_TURNS_AT_ONCE = 8
_TURNS_WITHOUT_PAUSE = 512
log = logging.getLogger(__name__)


class EstimatingCounter:
    """Counts tokens without a tokenizer, for models that cannot count."""

    async def find_context(self) -> int | None:
        return None

    async def count_prompt_tokens(self, prompt: Prompt, /) -> int:
        return await run_sized(measure_messages(prompt.messages), estimate_prompt_tokens, prompt)

    async def count_message_tokens(self, messages: Sequence[Message], /) -> list[int]:
        return await run_sized(measure_messages(messages), lambda: list(map(estimate_message_tokens, messages)))


ESTIMATING_COUNTER = EstimatingCounter()


class FittedHistory(Struct, frozen=True):
    """Messages that fit, and those dropped from between the instructions and the first of the others."""

    messages: list[Message]
    dropped: list[Message] = []


def hash_beginning(messages: Sequence[Message]) -> bytes:
    """Return a hash of the conversation's beginning, by which later requests with the same one are recognized."""
    digest = hashlib.blake2b(digest_size=16)
    for message in messages:
        text = message.text
        digest.update(f"{message.role}\0{len(text)}\0{text[:_HASHED_CHARS]}\0".encode(errors="replace"))
        if message.role == "user":
            break
    return digest.digest()


def estimate_tool_tokens(tools: Iterable[ToolSpec]) -> int:
    return sum(estimate_tokens(tool.description + str(tool.parameters)) for tool in tools)


def estimate_prompt_tokens(prompt: Prompt) -> int:
    return estimate_tool_tokens(prompt.tools) + sum(map(estimate_message_tokens, prompt.messages))


def prompt_budget(context: int | None, settings: SamplingSettings) -> int | None:
    """Return the tokens that the prompt may take, without the part reserved for the answer."""
    if context is None:
        return None
    return context - min(settings.max_tokens or RESERVED_ANSWER_TOKENS, context // 4)


def cap_answer(settings: SamplingSettings, prompt: Prompt, context: int | None, most: int | None) -> SamplingSettings:
    """Return the settings with `max_tokens` capped at what fits beside the prompt and at `most`, the model's limit."""
    wanted = settings.max_tokens
    if wanted is None:
        return settings
    limits = [wanted] if most is None else [wanted, most]
    if context is not None and wanted > context // 4:
        # The estimate may be too low by a quarter; a quarter of the window is reserved in any case.
        limits.append(max(context - estimate_prompt_tokens(prompt) * 5 // 4, context // 4, 1))
    return settings if min(limits) == wanted else replace(settings, max_tokens=min(limits))


class HistoryFitter:
    """Fits the conversations of one assistant into the context windows of its models. `reserved`: tokens that are
    left free for a summary of what is dropped."""

    def __init__(self, reserved: int = 0) -> None:
        self._reserved = reserved
        # By the model, which lives as long as its assistant, and the beginning of the conversation.
        self._learned_limits: OrderedDict[tuple[int, bytes], int] = OrderedDict()

    async def find_context(self, bound_model: BoundModel) -> int | None:
        """Return the context window in tokens: as configured or listed, else as the model's server reports it."""
        if bound_model.context is not None:
            return bound_model.context
        counter = find_protocol(bound_model.model, CountsTokens)
        try:
            return await counter.find_context() if counter is not None else None
        except RightseatError as error:
            # The answer itself fails in the same way, or a fallback gives it.
            log.debug("the context window is not known: %s", error.message)
            return None

    async def fit(self, bound_model: BoundModel, prompt: Prompt, context: int | None) -> FittedHistory:
        """Return the prompt's messages without the oldest turns that do not fit; raise ContextTooLong if the
        instructions, the tools and the newest turn alone do not fit."""
        budget = prompt_budget(context, prompt.settings)
        learned = self._learned_limits.get((id(bound_model.model), hash_beginning(prompt.messages)))
        limits = [limit for limit in (budget, learned) if limit is not None]
        if not limits or await count_most_tokens(prompt) <= min(limits):
            return FittedHistory(list(prompt.messages))
        limit, block = min(limits), (context or min(limits)) // _BLOCKS
        counter = find_protocol(bound_model.model, CountsTokens) or ESTIMATING_COUNTER
        try:
            return await self._fit_counted(prompt, limit, block, counter)
        except ContextTooLong:
            if limit == budget:
                raise
            # A learned limit is a guess: the model decides about what must stay.
            return keep_last_turn(prompt)
        except CallerError:
            raise
        except RightseatError as error:
            log.warning("the model cannot count tokens (%s): they are estimated", error.code)
            return await self._fit_counted(prompt, limit, block, ESTIMATING_COUNTER)

    async def check_fits(self, bound_model: BoundModel, prompt: Prompt, context: int | None) -> None:
        """Raise ContextTooLong for a prompt that does not fit, of which nothing may be dropped. A server that cuts
        prompts silently would not refuse it."""
        if context is None or await count_most_tokens(prompt) <= context:
            return
        counter = find_protocol(bound_model.model, CountsTokens) or ESTIMATING_COUNTER
        try:
            tokens = await counter.count_prompt_tokens(prompt)
        except CallerError:
            raise
        except RightseatError as error:
            log.warning("the model cannot count tokens (%s): its server decides", error.code)
            return
        if tokens > context:
            raise await _make_refusal(prompt, context, counter)

    async def _fit_counted(self, prompt: Prompt, limit: int, block: int, counter: CountsTokens) -> FittedHistory:
        fitted = await fit_history(prompt, limit, block, counter)
        reserved = min(self._reserved, limit // 4)
        if not fitted.dropped or not reserved:
            return fitted
        try:
            return await fit_history(prompt, limit - reserved, block, counter)
        except ContextTooLong:
            return fitted

    async def learn_refusal(
        self, bound_model: BoundModel, prompt: Prompt, error: ContextTooLong, beginning: bytes
    ) -> None:
        """Remember that the model refused this prompt: `fit` returns fewer messages of the conversation with this
        beginning."""
        counter = find_protocol(bound_model.model, CountsTokens) or ESTIMATING_COUNTER
        tokens = await counter.count_prompt_tokens(prompt)
        share = _REFUSED_SHARE
        if error.tokens and error.window:
            answer = min(prompt.settings.max_tokens or RESERVED_ANSWER_TOKENS, error.window // 4)
            share = min((error.window - answer) / error.tokens, 1) * _NAMED_SHARE
        key = (id(bound_model.model), beginning)
        self._learned_limits[key] = max(int(tokens * share), 1)
        self._learned_limits.move_to_end(key)
        if len(self._learned_limits) > _MAX_LEARNED:
            self._learned_limits.popitem(last=False)


def keep_last_turn(prompt: Prompt) -> FittedHistory:
    leading, turns = split_turns(list(prompt.messages))
    dropped = [message for turn in turns[:-1] for message in turn]
    return FittedHistory([*leading, *(turns[-1] if turns else [])], dropped)


def find_answer_limit(prompt: Prompt, error: ContextTooLong) -> int | None:
    """Return the most tokens of an answer, where the model refused `max_tokens` beside this prompt; None if the
    prompt itself is too long."""
    wanted = prompt.settings.max_tokens
    if wanted is None or wanted <= RESERVED_ANSWER_TOKENS:
        return None
    if error.window is None or error.tokens is None:
        return RESERVED_ANSWER_TOKENS
    limit = error.window - error.tokens
    return limit if RESERVED_ANSWER_TOKENS <= limit < wanted else None


async def fit_history(prompt: Prompt, limit: int, block: int, counter: CountsTokens) -> FittedHistory:
    """Return the messages of a prompt that fit into `limit` tokens. `block`: tokens that are dropped at once."""
    leading, turns = split_turns(list(prompt.messages))
    last_turn = turns.pop() if turns else []
    older = turns
    fixed = await counter.count_prompt_tokens(replace(prompt, messages=(*leading, *last_turn)))
    kept_first: list[Message] = []
    if fixed > limit:
        # Of the newest turn only the question and the newest calls with their results must stay.
        kept_first, rounds = _split_rounds(last_turn)
        last_turn = rounds.pop() if rounds else []
        fixed = await counter.count_prompt_tokens(replace(prompt, messages=(*leading, *kept_first, *last_turn)))
        if fixed > limit:
            raise await _make_refusal(replace(prompt, messages=(*leading, *kept_first, *last_turn)), limit, counter)
        older = rounds
    start, tokens = await _find_fitting_turn(older, limit - fixed, counter)
    start = await run_sized(measure_messages(prompt.messages), _align_cut, older, start, block, tokens)
    kept = [message for turn in older[start:] for message in turn]
    dropped = [message for turn in older[:start] for message in turn]
    if older is not turns:
        dropped = [message for turn in turns for message in turn] + dropped
    return FittedHistory([*leading, *kept_first, *kept, *last_turn], dropped)


def _align_cut(turns: Sequence[Sequence[Message]], start: int, block: int, tokens: int) -> int:
    """Return the first turn from `start` on that begins a block; the turns from `start` on have this many tokens."""
    return align_to_block(turns, start, block * _round_bytes_per_token(turns[start:], tokens))


def _split_rounds(turn: Sequence[Message]) -> tuple[list[Message], list[list[Message]]]:
    """Split a turn into its question and its rounds, each an assistant message with the results of its calls."""
    question = list(itertools.takewhile(lambda message: message.role not in ("assistant", "tool"), turn))
    rounds: list[list[Message]] = []
    for message in turn[len(question) :]:
        if message.role == "assistant" or not rounds:
            rounds.append([])
        rounds[-1].append(message)
    return question, rounds


async def _find_fitting_turn(turns: Sequence[Sequence[Message]], budget: int, counter: CountsTokens) -> tuple[int, int]:
    """Return the number of the oldest turn from which on all fit into the budget, and their tokens. Older turns are
    not counted, so that the cost depends on the window and not on the conversation."""
    start, tokens = len(turns), 0
    while start:
        first = max(0, start - _TURNS_AT_ONCE)
        if not (len(turns) - start) % _TURNS_WITHOUT_PAUSE:
            # Short turns may be many.
            await asyncio.sleep(0)
        counts = iter(await counter.count_message_tokens([message for turn in turns[first:start] for message in turn]))
        costs = [sum(itertools.islice(counts, len(turn))) for turn in turns[first:start]]
        for cost in reversed(costs):
            if tokens + cost > budget:
                return start, tokens
            tokens += cost
            start -= 1
    return start, tokens


def _round_bytes_per_token(turns: Sequence[Sequence[Message]], tokens: int) -> int:
    """Return 4, 2 or 1: rounded down, so that the blocks of a conversation seldom change with its text."""
    size = sum(_count_bytes(message) for turn in turns for message in turn)
    return next((number for number in (4, 2) if size >= number * tokens), 1)


def align_to_block(turns: Sequence[Sequence[Message]], start: int, block: int) -> int:
    """Return the first turn from `start` on that begins a block of this many bytes. Blocks are counted from the
    beginning of the conversation: a longer conversation has the same ones, so that the cut moves seldom."""
    if start == 0 or start >= len(turns):
        return start
    ends = list(itertools.accumulate(sum(map(_count_bytes, turn)) for turn in turns))
    while block > 1:
        for number in range(start, len(turns)):
            before = ends[number - 2] if number > 1 else 0
            if before // block < ends[number - 1] // block:
                return number
        block //= 2
    return start


async def _make_refusal(prompt: Prompt, limit: int, counter: CountsTokens) -> ContextTooLong:
    """Make the error for a prompt of which nothing may be dropped."""
    _, turns = split_turns(list(prompt.messages))
    last_turn = sum(await counter.count_message_tokens(turns[-1] if turns else []))
    fixed = max(await counter.count_prompt_tokens(prompt) - last_turn, 0)
    error = ContextTooLong(
        f"A prompt has room for {limit} tokens; instructions and tools take about {fixed} and the last turn about "
        f"{last_turn}. Shorten the last message, the system prompt or the list of tools.",
        param="messages",
    )
    return await add_largest_part(error, prompt, counter)


async def add_largest_part(error: ContextTooLong, prompt: Prompt, counter: CountsTokens | None) -> ContextTooLong:
    """Return the error with the name and the tokens of the prompt's largest part."""
    counter = counter or ESTIMATING_COUNTER
    counts = await counter.count_message_tokens(prompt.messages)
    numbered = enumerate(zip(prompt.messages, counts, strict=True), 1)
    sizes = {f"message {number} ({message.role})": count for number, (message, count) in numbered}
    if prompt.tools:
        sizes["the tools"] = estimate_tool_tokens(prompt.tools)
    if len(sizes) < 2:
        return error
    largest = max(sizes, key=lambda name: sizes[name])
    message = f"{error.message} The largest part is {largest}, about {sizes[largest]} tokens."
    return ContextTooLong(message, param=error.param, tokens=error.tokens, window=error.window)


def _count_bytes(message: Message) -> int:
    texts = [part.text for part in message.parts if isinstance(part, TextMessagePart)]
    texts += [text for call in message.calls for text in (call.name, call.arguments)]
    return sum(len(text) if text.isascii() else len(text.encode(errors="replace")) for text in texts)


async def count_most_tokens(prompt: Prompt) -> int:
    """Return a number of tokens that the prompt does not exceed, without holding the event loop."""
    return await run_sized(measure_messages(prompt.messages), _count_most_tokens, prompt)


def _count_most_tokens(prompt: Prompt) -> int:
    """Return a number of tokens that the prompt does not exceed: a token has at least one byte."""
    if any(not isinstance(part, TextMessagePart) for message in prompt.messages for part in message.parts):
        return 1 << 60
    tools = len(msgspec.json.encode(prompt.tools)) if prompt.tools else 0
    calls = sum(len(message.calls) for message in prompt.messages)
    overhead = _MESSAGE_OVERHEAD * (2 + len(prompt.messages) + calls)
    return overhead + 2 * tools + sum(map(_count_bytes, prompt.messages))
