"""All that must be read before the model is asked: context, pages, and what the client has brought."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from msgspec.structs import replace

from rightseat.doors.openbb import results
from rightseat.doors.openbb.messages import Batch, Item, Said
from rightseat.doors.openbb.read import Asked, Source, last_said
from rightseat.doors.openbb.results import Told
from rightseat.doors.openbb.widgets import Offer
from rightseat.doors.openbb.wire import table, written
from rightseat.history import estimate
from rightseat.messages import Call, File, Image, Message, Text, said
from rightseat.outbound import Outbound
from rightseat.turn import Context, Turn


class Budget:
    """What is left for the data that is still to be read, shared out fairly."""

    def __init__(self, tokens: int, parts: int) -> None:
        self.tokens = tokens
        self.parts = parts

    def share(self) -> int:
        return max(self.tokens // max(self.parts, 1), results.LEAST)

    def spend(self, told: str) -> None:
        self.tokens -= estimate(told)
        self.parts -= 1


async def finished(asked: Asked, outbound: Outbound) -> Turn:
    """The turn with all data read: context, pages, and every result in the history."""
    # Half of it at most for instructions that came along, four letters a token.
    context = [Context(label, value[: asked.budget * 2]) for label, value in asked.around]
    left = asked.budget - sum(estimate(one.value) for one in context)
    current = count(asked.current)
    budget = Budget(left, current + len(asked.added) + len(asked.state.urls))
    # Newer words matter more.
    earlier = Budget(asked.budget // 2, count(asked.items) - current)
    pictures: list[Image] = []
    pages: list[Message] = []
    for one in asked.added:
        told = await results.told(one.raw, budget.share(), outbound, images=asked.sees)
        budget.spend(told.text)
        pictures += told.images
        asked.files += told.files
        context.append(Context(one.label, told.text))
    for url in asked.state.urls:
        told = await results.told({"url": url}, budget.share(), outbound, images=asked.sees)
        budget.spend(told.text)
        pictures += told.images
        pages.append(said("user", f"The page {url} says:\n{told.text}"))
        if not told.failed:
            asked.sources.append(Source(url=url))
    messages: list[Message] = []
    edge = last_said(asked.items)
    for place, item in enumerate(asked.items):
        if place == edge:
            # Before the question, and not among the instructions: a stranger wrote it.
            messages += pages
        if isinstance(item, Said):
            messages.append(said(item.role, item.text))
        else:
            fresh = place > edge
            messages += await answered(item, budget if fresh else earlier, asked if fresh else None, outbound)
    attached = [*pictures, *(asked.files if asked.equipped else ())]
    return replace(asked.turn, messages=tuple(shown(messages, attached)), context=tuple(context))


def count(items: Iterable[Item]) -> int:
    """How many results there are."""
    return sum(len(trip.results) for item in items if isinstance(item, Batch) for trip in item.trips)


async def answered(batch: Batch, budget: Budget, asked: Asked | None, outbound: Outbound) -> list[Message]:
    """The model's calls and their results; what this turn rests on is noted in `asked`."""
    calls: list[Call] = []
    answers: list[Message] = []
    pictures: list[Image] = []
    for trip in batch.trips:
        for due, made, raw in zip(trip.calls, trip.made, trip.results, strict=True):
            # Pictures of the present turn only: each costs as much as a page of text.
            images = asked is not None and asked.sees
            told = await results.told(raw, budget.share(), outbound, images=images)
            budget.spend(told.text)
            if asked is not None:
                note(asked, made.offer, made.source, told)
                asked.files += told.files
            calls.append(Call(due.id, due.name, written(due.arguments)))
            answers.append(said("tool", told.text, call_id=due.id))
            pictures += told.images
    spoken = (Text(batch.text),) if batch.text else ()
    return [Message("assistant", spoken, tuple(calls)), *with_pictures(answers, pictures)]


def note(asked: Asked, offer: Offer | None, source: dict[str, Any], told: Told) -> None:
    if offer is not None and told.citable and not told.failed:
        asked.sources.append(Source(offer=offer, arguments=table(source.get("input_args"))))


def with_pictures(messages: list[Message], pictures: list[Image]) -> list[Message]:
    """A tool's message holds text only, so pictures follow as if the person showed them."""
    return [*messages, Message("user", tuple(pictures))] if pictures else messages


def shown(messages: list[Message], attached: Sequence[Image | File]) -> list[Message]:
    """Pictures and files from the context belong to what the person said last."""
    places = [place for place, message in enumerate(messages) if message.role == "user"]
    if not attached or not places:
        return messages
    asked = messages[places[-1]]
    messages[places[-1]] = replace(asked, parts=(*asked.parts, *attached))
    return messages
