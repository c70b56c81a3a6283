"""Complete the Turn: render added context, pages and function call results before the model is called."""

from __future__ import annotations

import mimetypes
import re
from collections.abc import Iterable
from typing import Any

from msgspec.structs import replace

from rightseat.doors.openbb import client_results
from rightseat.doors.openbb.client_results import RenderedResult
from rightseat.doors.openbb.messages import ClientCall, ConversationItem, PostedText, RoundTripBatch
from rightseat.doors.openbb.read import AddedContext, CitedSource, OpenBBRequest, ReadNotice, find_last_user_index
from rightseat.doors.openbb.skills import GET_SKILL, parse_loaded_skill
from rightseat.doors.openbb.wire import as_dict, to_json
from rightseat.doors.openbb.workspace_tools import EXECUTE_TOOL
from rightseat.http.fetch import OutboundClient
from rightseat.types.messages import FileMessagePart, ImageMessagePart, Message, TextMessagePart, ToolCall, text_message
from rightseat.types.sentences import get_sentence
from rightseat.types.text import estimate_tokens
from rightseat.types.turn import AppContext, Turn, add_date

WORD = re.compile(r"[^\W_]+(?:[.-][^\W_]+)*")
MAX_CHARS = 20_000
STEM_LENGTH = 4
SHARE_SENTENCES = {
    "widgets": "openbb_offered_widgets",
    "tools": "openbb_offered_tools",
    "skills": "openbb_offered_skills",
    "items": "openbb_offered_items",
    "pages": "openbb_offered_pages",
}
"""Sentences for the user by what an OfferedShare counts."""
SKILL_LOADED = "The skill {slug!r} is active: follow its instructions."
"""Result of loading a skill for the model; its text is among the instructions."""

# Function words of questions.
STOP_WORDS = frozenset(
    WORD.findall(
        "what which when where who whose how many much does did are was were will would can could has have "
        "had the this that these those there and for from with about into over than then your you his her "
        "its our their tell show give list say any all not"
    )
)


def matches_added_data(question: str, added: str, widgets: Iterable[str]) -> bool:
    """Whether the question shares more words with the added data than with any widget."""
    words = extract_words(question)
    return count_shared_words(words, added) > max((count_shared_words(words, text) for text in widgets), default=0)


def extract_words(text: str) -> set[str]:
    result: set[str] = set()
    for word in WORD.findall(text.lower()):
        if any("\u2e80" <= char <= "\uffef" for char in word):
            # CJK text has no spaces: each pair of adjacent characters is a word.
            result |= {word[place : place + 2] for place in range(max(len(word) - 1, 1))}
        elif len(word) > 2 or any(sign.isdigit() for sign in word):
            result.add(word)
    return result - STOP_WORDS


def count_shared_words(question_words: set[str], text: str) -> int:
    """Count the question's words that occur in a text, compared by stem."""
    text_words = extract_words(text[:MAX_CHARS])
    stems = {word[:STEM_LENGTH] for word in text_words if len(word) >= STEM_LENGTH and word.isalpha()}
    return sum(word in text_words or (word.isalpha() and word[:STEM_LENGTH] in stems) for word in question_words)


# Endings of our own questions: a question mark, a list of options, a hint on how to answer.
QUESTION_END = re.compile(r"[?？]|^- |\breply\b|\bplease\b|请", re.IGNORECASE | re.MULTILINE)


class DataBudget:
    """Tokens left for the data still to be read, shared equally among its parts."""

    def __init__(self, tokens: int, parts: int, outbound: OutboundClient, *, dense: bool) -> None:
        self.tokens = tokens
        self.parts = parts
        self.outbound = outbound
        self.dense = dense

    async def render(self, raw: Any, *, images: bool) -> RenderedResult:
        share = max(self.tokens // max(self.parts, 1), client_results.MIN_PART_TOKENS)
        rendered = await client_results.render_result(raw, share, self.outbound, images=images, dense=self.dense)
        self.tokens -= client_results.estimate_result_tokens(rendered.text, dense=self.dense)
        self.parts -= 1
        return rendered


async def complete_turn(request: OpenBBRequest, outbound: OutboundClient) -> Turn:
    """Return the turn with messages and context from all rendered data; add notices of what is left out."""
    add_offer_notices(request)
    context: list[AppContext] = []
    remaining = request.budget
    for label, value in request.instructions:
        context.append(make_instruction(request, label, value, remaining // 2))
        remaining -= estimate_tokens(context[-1].value)
    current = count_results(request.current_batches)
    parts = current + len(request.added_context) + len(request.state.urls)
    dense = request.has_small_context
    budget = DataBudget(remaining, parts, outbound, dense=dense)
    # Results of earlier turns share half of the budget.
    earlier = DataBudget(request.budget // 2, count_results(request.items) - current, outbound, dense=dense)
    added = [(item, await read_data(item.raw, item.facts["name"], budget, request)) for item in request.added_context]
    pages = [(url, await read_page(url, budget, request)) for url in request.state.urls]
    last_user = find_last_user_index(request.items)
    tool_data = [pair for pair in added if is_about_added_context(request, *pair)]
    context += [AppContext(pair[0].label, pair[1].text) for pair in added if pair not in tool_data]
    messages: list[Message] = []
    for place, item in enumerate(request.items):
        if place == last_user:
            # Page text is untrusted: it goes before the question, not into the instructions.
            messages += [text_message("user", f"The page {url} says:\n{rendered.text}") for url, rendered in pages]
        if isinstance(item, PostedText):
            messages.append(text_message(item.role, item.text))
        elif place > last_user:
            messages += await render_batch(item, budget, request)
        else:
            messages += await render_batch(item, earlier, None)
        if place == last_user:
            messages += make_tool_messages(request.added_data_tool, tool_data)
    images = [image for _, rendered in (*added, *pages) for image in rendered.images]
    attached = [*images, *(request.files if request.passes_files else ())]
    messages = attach_to_last_user(messages, attached)
    turn = replace(request.turn, messages=tuple(messages), context=tuple(context))
    return add_date(turn, request.now, request.state.timezone)


async def read_data(raw: Any, name: str, budget: DataBudget, request: OpenBBRequest) -> RenderedResult:
    """Render an added item or a page within its share; record a notice for the user if it cannot be read."""
    rendered = await budget.render(raw, images=request.supports_images)
    request.files += rendered.files
    add_read_notices(request, name, rendered, is_new=not request.current_batches)
    return rendered


def make_instruction(request: OpenBBRequest, label: str, value: str, max_tokens: int) -> AppContext:
    """Make an instruction of at most `max_tokens`, with a notice if its text is cut."""
    tokens = estimate_tokens(value)
    if tokens <= max_tokens:
        return AppContext(label, value)
    text = get_sentence("openbb_cut", request.language, name=label.removeprefix("Follow the user's "))
    request.notices.append(ReadNotice(text, is_new=not request.current_batches))
    return AppContext(label, value[: len(value) * max(max_tokens, 0) // tokens] + " … (the rest does not fit)")


def add_offer_notices(request: OpenBBRequest) -> None:
    """Add notices of widgets, tools and skills that the model is not offered, and of added items that are not read."""
    is_new = not request.current_batches
    for share in (*request.left_out, *request.unread):
        shown, total = f"{share.offered:,}", f"{share.total:,}"
        text = get_sentence(SHARE_SENTENCES[share.kind], request.language, shown=shown, total=total)
        request.notices.append(ReadNotice(text, is_new=is_new))


def add_read_notices(request: OpenBBRequest, name: str, rendered: RenderedResult, *, is_new: bool) -> None:
    """Add notices of files and pages that could not be read, and of data that was read only in part."""
    for file in rendered.unread:
        label = name[:200] if file in ("", name) else f"{name[:200]}: {file[:200]}"
        is_image = (mimetypes.guess_type(file)[0] or "").startswith("image/")
        unseen = is_image and not request.supports_images
        text = get_sentence("openbb_unseen" if unseen else "openbb_unread", request.language, name=label)
        request.notices.append(ReadNotice(text, failed=True, is_new=is_new))
    if rendered.rows is not None:
        shown, total = rendered.rows
        text = get_sentence("openbb_rows", request.language, name=name[:200], shown=f"{shown:,}", total=f"{total:,}")
    elif rendered.cut:
        text = get_sentence("openbb_cut", request.language, name=name[:200])
    else:
        return
    request.notices.append(ReadNotice(text, is_new=is_new))


async def read_page(url: str, budget: DataBudget, request: OpenBBRequest) -> RenderedResult:
    rendered = await read_data({"url": url}, url, budget, request)
    if not rendered.failed:
        request.sources.append(CitedSource(url=url))
    return rendered


def is_about_added_context(request: OpenBBRequest, item: AddedContext, rendered: RenderedResult) -> bool:
    """Whether an added item becomes a tool result instead of an instruction."""
    place = find_last_user_index(request.items)
    question = request.items[place] if place >= 0 else None
    if not request.added_data_tool or not isinstance(question, PostedText) or ends_with_question(request.items[:place]):
        return False
    widgets = [f"{offer.spec.description} {to_json(offer.spec.parameters)}" for offer in request.tools.values()]
    return matches_added_data(question.text, f"{item.label} {rendered.text}", widgets)


def ends_with_question(items: list[ConversationItem]) -> bool:
    """Whether the last item is an assistant's question. Its answer must stay the last message."""
    last = items[-1] if items else None
    return isinstance(last, PostedText) and last.role == "assistant" and bool(QUESTION_END.search(last.text[-400:]))


def make_tool_messages(name: str, tool_data: list[tuple[AddedContext, RenderedResult]]) -> list[Message]:
    """Make messages in which the model has called for each added item, with its result."""
    if not tool_data:
        return []
    calls = [ToolCall(f"added_{place}", name, to_json(item.facts)) for place, (item, _) in enumerate(tool_data)]
    tool_messages = [
        text_message("tool", data.text, call_id=f"added_{place}") for place, (_, data) in enumerate(tool_data)
    ]
    return [Message("assistant", (), tuple(calls)), *tool_messages]


def count_results(items: Iterable[ConversationItem]) -> int:
    """Count the results in all round trips."""
    return sum(len(trip.results) for item in items if isinstance(item, RoundTripBatch) for trip in item.round_trips)


async def render_batch(batch: RoundTripBatch, budget: DataBudget, request: OpenBBRequest | None) -> list[Message]:
    """Make messages of a batch's calls and results; record sources and files in `request`."""
    calls: list[ToolCall] = []
    tool_messages: list[Message] = []
    image_parts: list[ImageMessagePart] = []
    for trip in batch.round_trips:
        for pending, client_call, raw in zip(trip.calls, trip.client_calls, trip.results, strict=True):
            # Images of the current turn only: each costs as much as a page of text.
            images = request is not None and request.supports_images
            if client_call.function == GET_SKILL and (skill := parse_loaded_skill(raw)):
                rendered = RenderedResult(SKILL_LOADED.format(slug=skill.slug), citable=False)
            else:
                rendered = await budget.render(raw, images=images)
            if request is not None:
                # Earlier requests of the last batch have only sent its next call.
                add_read_notices(request, name_call(client_call), rendered, is_new=batch is request.items[-1])
                record_sources(request, client_call, rendered)
                request.files += rendered.files
            calls.append(ToolCall(pending.id, pending.name, to_json(pending.arguments)))
            tool_messages.append(text_message("tool", rendered.text, call_id=pending.id))
            image_parts += rendered.images
    text_parts = (TextMessagePart(batch.text),) if batch.text else ()
    # Images are a user message: tool messages hold text only.
    image_messages = [Message("user", tuple(image_parts))] if image_parts else []
    return [Message("assistant", text_parts, tuple(calls)), *tool_messages, *image_messages]


def name_call(call: ClientCall) -> str:
    return (call.tool.title if call.tool else "") or call.name


def record_sources(request: OpenBBRequest, call: ClientCall, rendered: RenderedResult) -> None:
    if rendered.failed or not rendered.citable:
        return
    if call.tool is not None:
        arguments = call.source.get("parameters" if call.tool.function == EXECUTE_TOOL else "input_args")
        request.sources.append(CitedSource(tool=call.tool, arguments=as_dict(arguments)))
    request.sources += [CitedSource(citation=citation) for citation in rendered.citations]


def attach_to_last_user(messages: list[Message], attached: list[ImageMessagePart | FileMessagePart]) -> list[Message]:
    """Attach images and files to the last user message."""
    place = max((place for place, message in enumerate(messages) if message.role == "user"), default=None)
    if attached and place is not None:
        messages[place] = replace(messages[place], parts=(*messages[place].parts, *attached))
    return messages
