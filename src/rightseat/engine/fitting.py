"""Adapt a prompt to the capabilities of its model."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec.structs import replace

from rightseat.errors import CallerError
from rightseat.tools.text_calls.generic import worded
from rightseat.types.capabilities import Abilities, pictured
from rightseat.types.model import Prompt, ToolChoice


def fitting(prompt: Prompt, able: Abilities, seeing: Iterable[str] = ()) -> Prompt:
    """Return the prompt without what the model cannot take; raise CallerError for what cannot be left out.
    `vision_models` are suggested where it has an image."""
    if not able.images and pictured(prompt):
        others = ", ".join(seeing)
        hint = f"Ask one that does: {others}." if others else "Leave it out, or ask a model that does."
        raise CallerError(f"This model takes no images. {hint}", param="messages")
    if able.tools:
        if able.parallel or not prompt.tools or prompt.settings.parallel_calls is False:
            return prompt
        return replace(prompt, settings=replace(prompt.settings, parallel_calls=False))
    if prompt.must:
        raise CallerError(
            "This model calls no tools, and one was required. Ask another.", param="tool_choice"
        )
    return replace(prompt, messages=worded(prompt.messages), tools=(), tool_choice=ToolChoice())
