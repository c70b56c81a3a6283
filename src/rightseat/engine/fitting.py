"""Adapt a prompt to the capabilities of its model."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec.structs import replace

from rightseat.errors import CallerError
from rightseat.tools.text_calls.generic import tool_messages_as_text
from rightseat.types.capabilities import Capabilities, has_images
from rightseat.types.model import Prompt, ToolChoice


def fit_to_capabilities(
    prompt: Prompt, capabilities: Capabilities, vision_models: Iterable[str] = ()
) -> Prompt:
    """Return the prompt without what the model cannot take; raise CallerError for what cannot be left out.
    `vision_models` are suggested where it has an image."""
    if not capabilities.images and has_images(prompt):
        others = ", ".join(vision_models)
        hint = f"Ask one that does: {others}." if others else "Leave it out, or ask a model that does."
        raise CallerError(f"This model takes no images. {hint}", param="messages")
    if capabilities.tools:
        if capabilities.parallel or not prompt.tools or prompt.settings.parallel_calls is False:
            return prompt
        return replace(prompt, settings=replace(prompt.settings, parallel_calls=False))
    if prompt.requires_tool_call:
        raise CallerError(
            "This model calls no tools, and one was required. Ask another.", param="tool_choice"
        )
    return replace(
        prompt, messages=tool_messages_as_text(prompt.messages), tools=(), tool_choice=ToolChoice()
    )
