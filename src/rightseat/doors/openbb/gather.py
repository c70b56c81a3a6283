"""Read all data before the model is called: added context, pages and function call results."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

from msgspec.structs import replace

from rightseat.doors.openbb import results
from rightseat.doors.openbb.bearing import bears
from rightseat.doors.openbb.context import Added
from rightseat.doors.openbb.messages import Batch, Item, Said
from rightseat.doors.openbb.read import Asked, Source, last_said
from rightseat.doors.openbb.results import Told
from rightseat.doors.openbb.widgets import EXECUTE, Offer
from rightseat.doors.openbb.wire import table, written
from rightseat.engine.history import fitted, least
from rightseat.http.fetch import Outbound
from rightseat.types.messages import Call, File, Image, Message, Text, said
from rightseat.types.tokens import estimate
from rightseat.types.turn import Context, Turn

# Endings of our own questions: a question mark, a list of options, a hint on how to answer.
ASKING = re.compile(r"[?？]|^- |\breply\b|\bplease\b|请", re.IGNORECASE | re.MULTILINE)


class Budget:
    """Tokens left for the data still to be read, shared equally among its parts."""

    def __init__(self, tokens: int, parts: int, *, dense: bool) -> None:
        self.tokens = tokens
        self.parts = parts
        self.dense = dense

    def share(self) -> int:
        return max(self.tokens // max(self.parts, 1), results.LEAST)

    async def read(self, raw: Any, outbound: Outbound, *, images: bool) -> Told:
        told = await results.told(raw, self.share(), outbound, images=images, dense=self.dense)
        self.tokens -= results.weight(told.text, dense=self.dense)
        self.parts -= 1
        return told


async def finished(asked: Asked, outbound: Outbound) -> Turn:
    """Return the turn with messages and context from all rendered data."""
    # Each instruction gets at most half of the budget, at four characters per token.
    context = [Context(label, value[: asked.budget * 2]) for label, value in asked.around]
    left = asked.budget - sum(estimate(one.value) for one in context)
    current = count(asked.current)
    budget = Budget(left, current + len(asked.added) + len(asked.state.urls), dense=asked.small)
    # Results of earlier turns share half of the budget.
    earlier = Budget(asked.budget // 2, count(asked.items) - current, dense=asked.small)
    given = [(one, await taken(one.raw, one.facts["name"], budget, asked, outbound)) for one in asked.added]
    opened = [await opened_page(url, budget, asked, outbound) for url in asked.state.urls]
    edge = last_said(asked.items)
    handed = [(one, told) for one, told in given if meant(asked, one, told)]
    context += [Context(one.label, told.text) for one, told in given if (one, told) not in handed]
    messages: list[Message] = []
    for place, item in enumerate(asked.items):
        if place == edge:
            # Page text is untrusted: it goes before the question, not into the instructions.
            messages += [said("user", f"The page {url} says:\n{told.text}") for url, told in opened]
        if isinstance(item, Said):
            messages.append(said(item.role, item.text))
        else:
            fresh = place > edge
            messages += await answered(item, budget if fresh else earlier, asked if fresh else None, outbound)
        if place == edge:
            messages += as_results(asked.handed, handed)
    pictures = [image for _, told in (*given, *opened) for image in told.images]
    attached = [*pictures, *(asked.files if asked.equipped else ())]
    told = recent(messages, context, asked)
    return replace(asked.turn, messages=tuple(shown(told, attached)), context=tuple(context))


def recent(messages: list[Message], context: Sequence[Context], asked: Asked) -> list[Message]:
    """Drop the oldest turns that do not fit the context window: users cannot shorten a chat in Workspace."""
    if asked.room is None:
        return messages
    texts = [one.value for one in context] + [message.text for message in messages if message.role == "tool"]
    marks = sum(results.weight(text, dense=asked.small) - estimate(text) for text in texts)
    left = asked.room * 3 // 4 - marks - sum(estimate(one.description + one.value) for one in context)
    tools = asked.turn.tools
    return fitted(messages, tools, max(left, least(messages, tools)))[0]


async def taken(raw: Any, name: str, budget: Budget, asked: Asked, outbound: Outbound) -> Told:
    """Render an added item within its share; record a notice for the user if it cannot be read."""
    told = await budget.read(raw, outbound, images=asked.sees)
    asked.files += told.files
    if told.failed and (asked.unread or asked.slow):
        asked.unread.append(f"{name[:200]} could not be read")
    return told


async def opened_page(url: str, budget: Budget, asked: Asked, outbound: Outbound) -> tuple[str, Told]:
    told = await taken({"url": url}, url, budget, asked, outbound)
    if not told.failed:
        asked.sources.append(Source(url=url))
    return url, told


def meant(asked: Asked, one: Added, told: Told) -> bool:
    """Whether an added item becomes a tool result instead of an instruction."""
    place = last_said(asked.items)
    question = asked.items[place] if place >= 0 else None
    if not asked.handed or not isinstance(question, Said) or asks(asked.items[:place]):
        return False
    widgets = [
        f"{offer.spec.description} {written(offer.spec.parameters)}" for offer in asked.offers.values()
    ]
    return bears(question.text, f"{one.label} {told.text}", widgets)


def asks(before: Sequence[Item]) -> bool:
    """Whether the last item is an assistant's question. Its answer must stay the last message."""
    last = before[-1] if before else None
    return isinstance(last, Said) and last.role == "assistant" and bool(ASKING.search(last.text[-400:]))


def as_results(name: str, handed: Sequence[tuple[Added, Told]]) -> list[Message]:
    """Make messages in which the model has called for each added item, with its result."""
    calls = [Call(f"added_{place}", name, written(one.facts)) for place, (one, _) in enumerate(handed)]
    results = [
        said("tool", told.text, call_id=call.id) for call, (_, told) in zip(calls, handed, strict=True)
    ]
    return [Message("assistant", (), tuple(calls)), *results] if calls else []


def count(items: Iterable[Item]) -> int:
    """Count the results in all round trips."""
    return sum(len(trip.results) for item in items if isinstance(item, Batch) for trip in item.trips)


async def answered(batch: Batch, budget: Budget, asked: Asked | None, outbound: Outbound) -> list[Message]:
    """Make messages of a batch's calls and results; record sources and files in `request`."""
    calls: list[Call] = []
    answers: list[Message] = []
    pictures: list[Image] = []
    for trip in batch.trips:
        for due, made, raw in zip(trip.calls, trip.made, trip.results, strict=True):
            # Images of the current turn only: each costs as much as a page of text.
            images = asked is not None and asked.sees
            told = await budget.read(raw, outbound, images=images)
            if asked is not None:
                note(asked, made.offer, made.source, told)
                asked.files += told.files
            calls.append(Call(due.id, due.name, written(due.arguments)))
            answers.append(said("tool", told.text, call_id=due.id))
            pictures += told.images
    spoken = (Text(batch.text),) if batch.text else ()
    return [Message("assistant", spoken, tuple(calls)), *with_pictures(answers, pictures)]


def note(asked: Asked, offer: Offer | None, source: dict[str, Any], told: Told) -> None:
    if told.failed or not told.citable:
        return
    if offer is not None:
        given = source.get("parameters" if offer.function == EXECUTE else "input_args")
        asked.sources.append(Source(offer=offer, arguments=table(given)))
    asked.sources += [Source(given=one) for one in told.sources]


def with_pictures(messages: list[Message], pictures: list[Image]) -> list[Message]:
    """Append images as a user message: tool messages hold text only."""
    return [*messages, Message("user", tuple(pictures))] if pictures else messages


def shown(messages: list[Message], attached: Sequence[Image | File]) -> list[Message]:
    """Attach images and files to the last user message."""
    places = [place for place, message in enumerate(messages) if message.role == "user"]
    if not attached or not places:
        return messages
    asked = messages[places[-1]]
    messages[places[-1]] = replace(asked, parts=(*asked.parts, *attached))
    return messages
