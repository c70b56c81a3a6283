"""A prompt as its model can take it."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec.structs import replace

from rightseat.errors import CallerError
from rightseat.tools.text_calls.generic import worded
from rightseat.types.capabilities import Abilities, pictured
from rightseat.types.model import Prompt, ToolChoice


def fitting(prompt: Prompt, able: Abilities, seeing: Iterable[str] = ()) -> Prompt:
    """The prompt as a model can take it. What cannot be left out is refused; `seeing` are models that could
    be asked instead where it has a picture."""
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
