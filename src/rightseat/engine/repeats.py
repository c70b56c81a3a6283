"""Requests and answers that come again in a conversation, so that an effect happens once.

A conversation is known by its thread, or by a hash of the posted history where the client names none. A request whose
run has finished an effect is recorded; an answer in words is matched to the question that its thread waits for.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from typing import Literal, NamedTuple

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from rightseat.errors import StoreDamaged, StoreFailed
from rightseat.types.events import Interrupt
from rightseat.types.language import LANGUAGES, detect_language
from rightseat.types.messages import Message, TextMessagePart
from rightseat.types.replies import asks_for_run, asks_nothing, asks_to_cancel, is_only_thanks, parse_consent
from rightseat.types.sentences import get_sentence
from rightseat.types.stores import CheckpointStore, PendingQuestion, Store, parse_resume_token
from rightseat.types.turn import InterruptAnswer, Owner, Turn, measure_turn
from rightseat.types.workers import PIECE_CHARS, run_sized, split_text

EFFECT_SECONDS = 24 * 3600.0
MAX_REQUEST_LENGTH = 4000
_QUESTION_MARK = re.compile("[?？]")
EffectRule = Literal["run", "ask", "refuse"]
HASH_LENGTH = 32
MAX_LOOKBACK = 32
"""Earlier requests of a history that are looked up: each lookup reads the store."""


def remove_whitespace(text: str) -> str:
    """Remove white space: clients trim texts, and a door may add a line between two."""
    return "".join("".join(piece.split()) for piece in split_text(text))


def hash_messages(turn: Turn, messages: Sequence[Message], *, with_ids: bool = False) -> str:
    """Hash what the person and the assistant have said."""
    return hash_prefixes(turn, messages, with_ids=with_ids)[-1]


async def hash_turn(turn: Turn, *, with_ids: bool = False) -> str:
    """Hash all that the person and the assistant have said, without holding the event loop."""
    return await run_sized(measure_turn(turn), hash_messages, turn, turn.messages, with_ids=with_ids)


def hash_prefixes(turn: Turn, messages: Sequence[Message], *, with_ids: bool = False) -> list[str]:
    """Return the hashes of the first 0, 1, … messages. Others than the person's and the assistant's words change from
    request to request and do not count."""
    running = hashlib.sha256(msgspec.json.encode(turn.assistant))
    hashes = [running.hexdigest()[:HASH_LENGTH]]
    for message in messages:
        if message.role in ("user", "assistant") and message.text:
            said = (message.role, remove_whitespace(message.text), message.id if with_ids else None)
            running.update(msgspec.json.encode(said))
        hashes.append(running.hexdigest()[:HASH_LENGTH])
    return hashes


# Answers in words to the question that a thread waits for


def make_waiting_key(turn: Turn, assistant: str) -> str:
    return f"waiting:{assistant}:{turn.thread}"


async def save_waiting_question(store: Store, turn: Turn, assistant: str, interrupts: Sequence[Interrupt]) -> None:
    """Keep the first question of a run at a client that shows interrupts: its person may answer in the chat."""
    if turn.client.shows_interrupts and not turn.depth and interrupts:
        first, key = interrupts[0], make_waiting_key(turn, assistant)
        earlier = await store.get_pending_question(turn.owner, key) if turn.answers else None
        # After an answer in words, the messages that gave it: posted once more, they do not answer this question too.
        answered = earlier is not None and earlier.kind == "answered"
        request = earlier.request if earlier and answered else await hash_turn(turn, with_ids=True)
        pending = PendingQuestion(first.id, first.kind, "", request=request, answers=answered)
        await store.save_pending_question(turn.owner, key, pending)


async def reopen_question(store: Store, turn: Turn, assistant: str, interrupts: Sequence[Interrupt]) -> None:
    """Keep the first question as open, for an answer that was not used and may be posted again."""
    if turn.client.shows_interrupts and not turn.depth and interrupts:
        pending = PendingQuestion(interrupts[0].id, interrupts[0].kind, "")
        await store.save_pending_question(turn.owner, make_waiting_key(turn, assistant), pending)


async def read_text_answer(store: Store, turn: Turn, assistant: str) -> Turn:
    """Return the turn with its last message as the answer, if its thread waits for one."""
    if turn.depth or not turn.client.shows_interrupts:
        return turn
    key = make_waiting_key(turn, assistant)
    if turn.answers:
        await store.take_pending_question(turn.owner, key)
        return turn
    pending = await read_question(store, turn, key) if is_persons_reply(turn) else None
    if pending is None:
        return turn
    request = await hash_turn(turn, with_ids=True)
    if pending.request == request and not await is_unused_answer(store, turn.owner, pending):
        # The same post again: an answer counts once, and a request is asked anew, without the question of its run.
        if not pending.answers:
            await store.take_pending_question(turn.owner, key)
        return replace(turn, repeats_answer=pending.answers)
    if pending.kind == "answered" and pending.request != request:
        return turn
    # Kept as answered, and not taken: the same post once more is no new request. The Continuation is claimed once.
    answered = PendingQuestion(pending.interrupt, "answered", "", request=request, answers=True)
    await store.save_pending_question(turn.owner, key, answered)
    *history, reply = turn.messages
    return with_answer(turn, history, reply, InterruptAnswer(pending.interrupt, text=reply.text))


async def read_question(store: Store, turn: Turn, key: str) -> PendingQuestion | None:
    """Return the question that a conversation waits for. While the store is away there is none, where the posted
    messages show that: a new question is answered then."""
    try:
        return await store.get_pending_question(turn.owner, key)
    except StoreDamaged:
        raise
    except StoreFailed:
        if may_answer_question(turn):
            raise
        return None


def may_answer_question(turn: Turn) -> bool:
    """Whether the last message may answer a question of ours, as far as the posted messages tell."""
    *history, reply = turn.messages
    finished = {message.call_id for message in history if message.role == "tool"}
    if any(call.id not in finished for message in history for call in message.calls):
        return True
    before = next((message for message in reversed(history) if message.role in ("user", "assistant", "tool")), None)
    if before is None:
        return parse_consent(reply.text) is not None
    if before.role != "assistant" or not before.text:
        return True
    return not turn.client.shows_interrupts and ends_with_question(before.text)


def ends_with_question(text: str) -> bool:
    """Whether a text may end with a question of a tool: with a question mark, a sentence on how to reply, or a list."""
    hints = tuple(get_sentence("reply_yes_or_no", language) for language in LANGUAGES)
    *_, last_line = text.strip().splitlines() or [""]
    return bool(_QUESTION_MARK.search(last_line)) or last_line.startswith("- ") or last_line.endswith(hints)


async def is_unused_answer(store: Store, owner: Owner, pending: PendingQuestion) -> bool:
    """Whether the answer that was given is not used: the worker that had claimed its continuation has died."""
    token = parse_resume_token(pending.interrupt) if pending.kind == "answered" else None
    return token is not None and await store.get_continuation(owner, token) is not None


def is_persons_reply(turn: Turn) -> bool:
    """Whether a person has written the last message. A page asks for suggestions too, and requires a call for them."""
    requires_call = turn.tool_choice.mode in ("named", "required")
    return bool(turn.messages) and turn.messages[-1].role == "user" and not requires_call


def with_answer(turn: Turn, history: Sequence[Message], reply: Message, answer: InterruptAnswer) -> Turn:
    """Return the turn with the answer instead of the reply. Its attachments stay: they may be what was asked for. A yes
    or no in Chinese tells the language too; "ok" is said in both."""
    files = tuple(part for part in reply.parts if not isinstance(part, TextMessagePart))
    messages = [*history, Message("user", files)] if files else history
    is_consent = isinstance(answer.payload, dict) or parse_consent(reply.text) is not None
    language = "zh" if is_consent and detect_language(reply.text) == "zh" else turn.caller_language
    return replace(turn, answers=(answer,), messages=tuple(messages), caller_language=language)


# Requests whose run has finished an effect


class RequestOrigin(Struct, frozen=True, omit_defaults=True):
    """Place of a request in its conversation."""

    request: str
    """Hash of its words."""
    history: str
    """Hash of the conversation up to and including the request."""
    before: str = ""
    """Hash of the conversation before it; empty where it is the first."""
    message: str = ""
    thread: str = ""
    """Thread that the client names."""
    assistant: str = ""
    text: str = ""
    """Its words, unless they are very long."""


class EarlierEffects(NamedTuple):
    """Effects that requests of a conversation have had so far."""

    last: RequestOrigin | None = None
    """The last request that has had one."""
    of_request: bool = False
    """Whether the request of the turn has had one, at an earlier place of the conversation."""


async def find_origin(turn: Turn) -> RequestOrigin | None:
    """Return the origin of the last user message; None where there is none."""
    places = find_requests(turn)
    return (await run_sized(measure_turn(turn), make_origins, turn, places[-1:]))[0] if places else None


def find_requests(turn: Turn) -> list[int]:
    """Return the places of the user messages."""
    return [] if turn.depth else [place for place, message in enumerate(turn.messages) if message.role == "user"]


def make_origins(turn: Turn, places: Sequence[int]) -> list[RequestOrigin]:
    """Return the origins of the user messages at these places."""
    hashes = hash_prefixes(turn, turn.messages)
    names_thread = turn.client.shows_interrupts or turn.conversation is not None
    thread = (turn.conversation or turn.thread) if names_thread else ""
    roles = [message.role for message in turn.messages]
    first_answer = roles.index("assistant") if "assistant" in roles else len(roles)
    origins = []
    for place in places:
        message = turn.messages[place]
        origin = RequestOrigin(
            request=hash_request(turn, message.text),
            history=hashes[place + 1],
            before="" if place < first_answer else hashes[place],
            message=message.id or "",
            thread=thread,
            assistant=turn.assistant or "",
            text=message.text if len(message.text) <= MAX_REQUEST_LENGTH else "",
        )
        origins.append(origin)
    return origins


def hash_request(turn: Turn, text: str) -> str:
    encoded = msgspec.json.encode([turn.assistant, normalize_request(text)])
    return hashlib.sha256(encoded).hexdigest()[:HASH_LENGTH]


def find_equal_requests(turn: Turn, places: Sequence[int], text: str) -> list[int]:
    """Return those of the places whose messages say the same as a text, at most the latest `MAX_LOOKBACK`."""
    words = normalize_request(text)
    return [place for place in places if normalize_request(turn.messages[place].text) == words][-MAX_LOOKBACK:]


def normalize_request(text: str) -> str:
    """Return the words of a request as they are compared; a very long one is compared as it is."""
    if len(text) > PIECE_CHARS:
        return text
    return " ".join(text.lower().split()).strip(" .!?。！？")


def make_effect_keys(origin: RequestOrigin) -> tuple[str, ...]:
    if not origin.thread:
        return (f"effect:{origin.history}",)
    return f"{origin.thread}/effect/{origin.assistant}", f"{origin.thread}/effect:{origin.request}"


async def record_effect(store: Store | None, owner: Owner, origin: RequestOrigin | None) -> None:
    """Record that the run of a request has finished an effect."""
    if isinstance(store, CheckpointStore) and origin is not None:
        for key in make_effect_keys(origin):
            await store.save_checkpoint(owner, key, msgspec.json.encode(origin), EFFECT_SECONDS)


async def find_earlier_effects(store: Store | None, turn: Turn) -> EarlierEffects:
    """Return what earlier requests of this conversation have finished; nothing for a request that is regenerated."""
    places = find_requests(turn)
    if not isinstance(store, CheckpointStore) or not places:
        return EarlierEffects()
    *earlier, last_place = places
    [origin] = await run_sized(measure_turn(turn), make_origins, turn, [last_place])
    if origin.thread:
        last_key, request_key = make_effect_keys(origin)
        last = await load_origin(store, turn.owner, last_key)
        same = await load_origin(store, turn.owner, request_key) if last else None
        is_regenerated = same is not None and is_same_place(same, origin)
        return EarlierEffects() if is_regenerated else EarlierEffects(last, same is not None)
    # The same request counts however long ago it was; the others only where the words do not say what they mean.
    text = turn.messages[last_place].text
    equal = await run_sized(measure_turn(turn), find_equal_requests, turn, earlier, text)
    latest = earlier[-MAX_LOOKBACK:] if asks_for_run(text) or asks_nothing(text) else []
    effects = EarlierEffects()
    for request in await run_sized(measure_turn(turn), make_origins, turn, sorted({*equal, *latest})):
        if await load_origin(store, turn.owner, make_effect_keys(request)[0]) is not None:
            effects = EarlierEffects(request, effects.of_request or request.request == origin.request)
    return effects


async def load_origin(store: CheckpointStore, owner: Owner, key: str) -> RequestOrigin | None:
    body = await store.get_checkpoint(owner, key)
    return None if body is None else msgspec.json.decode(body, type=RequestOrigin)


def is_same_place(earlier: RequestOrigin, origin: RequestOrigin) -> bool:
    """Whether both are one message, posted again to regenerate its answer."""
    # A client may give new ids, or none. A first message has no history before it that could tell.
    is_same_message = bool(origin.message) and earlier.message == origin.message
    return is_same_message or (bool(origin.before) and earlier.before == origin.before)


async def find_rerun(store: Store | None, turn: Turn) -> RequestOrigin | None:
    """Return the request that the turn asks for again, if it has had its effect in this conversation."""
    effects = await find_earlier_effects(store, turn)
    if effects.last is not None and asks_for_run(turn.messages[-1].text):
        return effects.last
    return await find_origin(turn) if effects.of_request else None


async def choose_effect_rule(store: Store | None, turn: Turn) -> EffectRule:
    """Choose what happens to calls with an effect: "refuse" after words that ask for nothing, "ask" where these may
    answer what the model has asked in its own words and after an answer that came twice, else "run"."""
    try:
        return await read_effect_rule(store, turn)
    except StoreFailed:
        # Only words that ask for nothing make it read the store.
        return "refuse"


async def read_effect_rule(store: Store | None, turn: Turn) -> EffectRule:
    if turn.repeats_answer:
        return "ask"
    if not await is_end_of_talk(store, turn) or asks_to_cancel(turn.messages[-1].text):
        return "run"
    if is_only_thanks(turn.messages[-1].text):
        return "refuse"
    if (await find_earlier_effects(store, turn)).last is None:
        return "run"
    answers = [message.text for message in turn.messages if message.role == "assistant" and message.text]
    return "ask" if answers and _QUESTION_MARK.search(answers[-1]) else "refuse"


async def is_end_of_talk(store: Store | None, turn: Turn) -> bool:
    """Whether the last message asks for nothing, in a conversation that has an answer already."""
    last = turn.messages[-1] if turn.messages else None
    if turn.depth or last is None or last.role != "user" or not asks_nothing(last.text):
        return False
    if any(not isinstance(part, TextMessagePart) for part in last.parts):
        return False
    has_answer = any(message.role == "assistant" for message in turn.messages)
    return has_answer or (await find_earlier_effects(store, turn)).last is not None
