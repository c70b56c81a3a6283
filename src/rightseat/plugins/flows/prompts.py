"""Prompts of steps, kept within what the model can take; and the one that ends a flow without an `llm`."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from msgspec import Struct

from rightseat.documents.cut import fits, middle, share
from rightseat.documents.shape import Shape, written
from rightseat.engine.history import MESSAGE_TOKENS
from rightseat.engine.structured import RULE
from rightseat.errors import ContextTooLong
from rightseat.plugins.flows.flow import END, Flow, Step
from rightseat.plugins.flows.names import CONTEXT, Names
from rightseat.plugins.flows.path import opened
from rightseat.plugins.flows.stage import Stage
from rightseat.plugins.flows.template import as_text, pieces
from rightseat.types.messages import said
from rightseat.types.model import Prompt, Settings
from rightseat.types.tokens import estimate

UNKNOWN = 32_000
"""Tokens of a prompt where nobody knows what the model can take."""
LEAST = 16
SYSTEM = "You are a helpful assistant. Answer in the language of the question."
USER = "Question:\n{question}\n\nData:\n{data}\n\nBackground:\n{context}\n\nThe time is {time}."
ANSWER = """\
A workflow has run to answer a question. What it is for:
{description}

What its steps gave:
{steps}

Question:
{question}

Answer the question from what the steps gave. If they did not give it, say so."""


class Fitted(Struct, frozen=True):
    """Texts with everything filled in. `cut` are the names whose values had to be shortened."""

    texts: tuple[str, ...]
    cut: tuple[str, ...] = ()


def answer_step(flow: Flow) -> Step:
    """What says the answer where a flow's own last step does not: run it as any other, as the last."""
    return Step(name=f"{END}_answer", kind="llm", params={"system_prompt": SYSTEM, "user_prompt": ANSWER})


def room(context: int | None) -> int:
    """Tokens that a prompt may have: 80 % of the context."""
    return UNKNOWN if context is None else context * 4 // 5


async def fitted(stage: Stage, *templates: str, beside: int = 0) -> Fitted:
    """The templates filled in, together within the room that `beside` leaves."""
    # In a thread: data may be large.
    left = room(stage.kit.context) - beside
    return await asyncio.to_thread(fit, templates, Names(stage), left)


def fit(templates: Sequence[str], names: Names, left: int) -> Fitted:
    all_pieces = [pieces(template, names) for template in templates]
    holes = [piece for made in all_pieces for piece in made if not isinstance(piece, str)]
    fixed = sum(estimate(piece) for made in all_pieces for piece in made if isinstance(piece, str))
    sizes = [estimate(as_text(value)) for _, value in holes]
    free = left - fixed - MESSAGE_TOKENS * len(templates)
    needed = sum(min(size, LEAST) for size in sizes)
    if free < needed:
        raise ContextTooLong(
            f"A prompt of this step takes about {left - free + needed} tokens without its data, and there is "
            f"room for {left}. Shorten it, or use a model with a larger context."
        )
    parts = sizes if sum(sizes) <= free else share(sizes, free)
    shown = iter([shortened(*hole, part) for hole, part in zip(holes, parts, strict=True)])
    short = (name for (name, _), size, part in zip(holes, sizes, parts, strict=True) if part < size)
    texts = ("".join(one if isinstance(one, str) else next(shown) for one in made) for made in all_pieces)
    return Fitted(tuple(texts), tuple(dict.fromkeys(short)))


def shortened(name: str, value: Any, budget: int) -> str:
    """JSON stays JSON, and what is gone is said where it stood."""
    text = as_text(value)
    if fits(text, budget):
        return text
    inner = opened(value)
    if isinstance(inner, dict | list):
        return Shape().cut(inner, budget)
    # Of a conversation the end says more than the beginning.
    return middle(text, budget, front=0.25 if name == CONTEXT else 0.5)


def around(schema: dict[str, Any], *texts: str) -> int:
    """Tokens that a question under a schema takes beside what is filled in."""
    return sum(map(estimate, (RULE, written(schema), *texts))) + 2 * MESSAGE_TOKENS


def prompt(texts: Sequence[str], settings: Settings, schema: dict[str, Any] | None = None) -> Prompt:
    system, user = texts
    messages = ([said("system", system)] if system else []) + [said("user", user)]
    return Prompt(messages=tuple(messages), settings=settings, output_schema=schema)
