"""Prompts of steps, fitted into the model's context; and the answer step of a flow without an `llm` step."""

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
"""Tokens of a prompt where the model's context window is unknown."""
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
    """Filled templates. `cut` names the variables whose values were shortened."""

    texts: tuple[str, ...]
    cut: tuple[str, ...] = ()


def answer_step(flow: Flow) -> Step:
    """Return the `llm` step that writes the answer where the flow's last step does not."""
    return Step(name=f"{END}_answer", kind="llm", params={"system_prompt": SYSTEM, "user_prompt": ANSWER})


def room(context: int | None) -> int:
    """Return the tokens a prompt may have: 80 % of the context window."""
    return UNKNOWN if context is None else context * 4 // 5


async def fitted(stage: Stage, *templates: str, beside: int = 0) -> Fitted:
    """Fill the templates, together within the prompt budget less `reserved`."""
    # In a thread, because data may be large.
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
    """Shorten a value to the budget. JSON stays JSON, and omissions are marked in place."""
    text = as_text(value)
    if fits(text, budget):
        return text
    inner = opened(value)
    if isinstance(inner, dict | list):
        return Shape().cut(inner, budget)
    # The end of a conversation matters more than its beginning.
    return middle(text, budget, front=0.25 if name == CONTEXT else 0.5)


def around(schema: dict[str, Any], *texts: str) -> int:
    """Return the tokens of a structured question besides the filled template."""
    return sum(map(estimate, (RULE, written(schema), *texts))) + 2 * MESSAGE_TOKENS


def prompt(texts: Sequence[str], settings: Settings, schema: dict[str, Any] | None = None) -> Prompt:
    system, user = texts
    messages = ([said("system", system)] if system else []) + [said("user", user)]
    return Prompt(messages=tuple(messages), settings=settings, output_schema=schema)
