"""Report which part of a prompt fills the context window."""

from __future__ import annotations

import json

from rightseat.errors import ContextTooLong
from rightseat.types.model import Prompt


def add_largest_part(error: ContextTooLong, prompt: Prompt) -> ContextTooLong:
    """Return the error with the name and share of the prompt's largest part."""
    sizes = {
        f"message {number} ({message.role})": len(message.text) + sum(len(c.arguments) for c in message.calls)
        for number, message in enumerate(prompt.messages, 1)
    }
    if prompt.tools:
        tools = [(tool.name, tool.description, tool.parameters) for tool in prompt.tools]
        sizes["the tools"] = len(json.dumps(tools))
    total = sum(sizes.values())
    if len(sizes) < 2 or not total:
        return error
    largest = max(sizes, key=lambda name: sizes[name])
    share = round(100 * sizes[largest] / total)
    return ContextTooLong(f"{error.message} The largest part is {largest}, about {share} % of it.")
