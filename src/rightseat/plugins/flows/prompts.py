"""Prompts of steps, fitted into the model's context; and the answer step of a flow without an `llm` step."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from msgspec import Struct

from rightseat.documents.cut import cut_middle, fits_budget, share_budget
from rightseat.documents.shape import JsonCutter, encode_json
from rightseat.engine.history import MESSAGE_TOKENS
from rightseat.engine.structured import SCHEMA_INSTRUCTION
from rightseat.errors import ContextTooLong
from rightseat.plugins.flows.flow import END, Flow, Step
from rightseat.plugins.flows.names import CONTEXT, StepVariables
from rightseat.plugins.flows.path import decode_json_text
from rightseat.plugins.flows.stage import StepContext
from rightseat.plugins.flows.template import as_text, split_template
from rightseat.types.messages import text_message
from rightseat.types.model import Prompt, SamplingSettings
from rightseat.types.tokens import estimate_tokens

DEFAULT_BUDGET = 32_000
"""Tokens of a prompt where the model's context window is unknown."""
MIN_VALUE_TOKENS = 16
DEFAULT_SYSTEM_PROMPT = "You are a helpful assistant. Answer in the language of the question."
DEFAULT_USER_PROMPT = (
    "Question:\n{question}\n\nData:\n{data}\n\nBackground:\n{context}\n\nThe time is {time}."
)
ANSWER_PROMPT = """\
A workflow has run to answer a question. What it is for:
{description}

What its steps gave:
{steps}

Question:
{question}

Answer the question from what the steps gave. If they did not give it, say so."""


class RenderedPrompts(Struct, frozen=True):
    """Filled templates. `cut` names the variables whose values were shortened."""

    texts: tuple[str, ...]
    cut: tuple[str, ...] = ()


def make_answer_step(flow: Flow) -> Step:
    """Return the `llm` step that writes the answer where the flow's last step does not."""
    return Step(
        name=f"{END}_answer",
        kind="llm",
        params={"system_prompt": DEFAULT_SYSTEM_PROMPT, "user_prompt": ANSWER_PROMPT},
    )


def prompt_budget(context: int | None) -> int:
    """Return the tokens a prompt may have: 80 % of the context window."""
    return DEFAULT_BUDGET if context is None else context * 4 // 5


async def render_prompts(ctx: StepContext, *templates: str, reserved: int = 0) -> RenderedPrompts:
    """Fill the templates, together within the prompt budget less `reserved`."""
    # In a thread, because data may be large.
    budget = prompt_budget(ctx.services.context) - reserved
    return await asyncio.to_thread(fit_templates, templates, StepVariables(ctx), budget)


def fit_templates(templates: Sequence[str], variables: StepVariables, budget: int) -> RenderedPrompts:
    all_pieces = [split_template(template, variables) for template in templates]
    holes = [piece for made in all_pieces for piece in made if not isinstance(piece, str)]
    fixed = sum(estimate_tokens(piece) for made in all_pieces for piece in made if isinstance(piece, str))
    sizes = [estimate_tokens(as_text(value)) for _, value in holes]
    free = budget - fixed - MESSAGE_TOKENS * len(templates)
    needed = sum(min(size, MIN_VALUE_TOKENS) for size in sizes)
    if free < needed:
        raise ContextTooLong(
            f"A prompt of this step takes about {budget - free + needed} tokens without its data, and there is "
            f"room for {budget}. Shorten it, or use a model with a larger context."
        )
    parts = sizes if sum(sizes) <= free else share_budget(sizes, free)
    shown = iter([shorten_value(*hole, part) for hole, part in zip(holes, parts, strict=True)])
    shortened_names = (name for (name, _), size, part in zip(holes, sizes, parts, strict=True) if part < size)
    texts = ("".join(one if isinstance(one, str) else next(shown) for one in made) for made in all_pieces)
    return RenderedPrompts(tuple(texts), tuple(dict.fromkeys(shortened_names)))


def shorten_value(name: str, value: Any, budget: int) -> str:
    """Shorten a value to the budget. JSON stays JSON, and omissions are marked in place."""
    text = as_text(value)
    if fits_budget(text, budget):
        return text
    inner = decode_json_text(value)
    if isinstance(inner, dict | list):
        return JsonCutter().cut(inner, budget)
    # The end of a conversation matters more than its beginning.
    return cut_middle(text, budget, front=0.25 if name == CONTEXT else 0.5)


def estimate_overhead(schema: dict[str, Any], *texts: str) -> int:
    """Return the tokens of a structured question besides the filled template."""
    return sum(map(estimate_tokens, (SCHEMA_INSTRUCTION, encode_json(schema), *texts))) + 2 * MESSAGE_TOKENS


def build_prompt(
    texts: Sequence[str], settings: SamplingSettings, schema: dict[str, Any] | None = None
) -> Prompt:
    system, user = texts
    messages = ([text_message("system", system)] if system else []) + [text_message("user", user)]
    return Prompt(messages=tuple(messages), settings=settings, output_schema=schema)
