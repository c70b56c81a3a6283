"""Which turns get the demo tools: plain chat, not requests of an application with data or tools of its own."""

from __future__ import annotations

import re

from rightseat.types.messages import Message, TextMessagePart
from rightseat.types.turn import Turn

MAX_GENERIC_PROMPT = 200
"""Characters; a longer system prompt is an application's own."""
_ADJECTIVE = r"(?:very|helpful|friendly|kind|polite|honest|concise|smart|useful|reliable|harmless|and|ai|chat|,)"
_GENERIC_PROMPT = re.compile(
    rf"(?:you are|you're|act as) (?:an? )?(?:{_ADJECTIVE},? )*(?:ai|assistant|chatbot|bot)"
    r"(?:[.!](?: (?:please )?(?:answer|reply|respond|be|keep|use)\b[^.!\d]*[.!])*)?",
    re.IGNORECASE,
)
_GENERIC_PROMPT_ZH = re.compile(
    r"你是(?:一个|一名|一位)?(?:[有乐于助人用友好礼貌诚实可靠智能的]{0,12})(?:AI|人工智能)?助手[。！]?", re.I
)
# Standard instructions of CopilotKit's GraphQL clients, with an empty context and nothing added at the end.
_COPILOTKIT_PROMPT = re.compile(
    r"Please act as an efficient, competent, conscientious, and industrious professional assistant\."
    r"[^`]*following context:\s*```\s*```[^`]*do not attempt further retries\."
)


def is_plain_turn(turn: Turn) -> bool:
    """Tell whether the turn is plain chat: no tools, context, files or instructions of an application, no workspace."""
    if turn.tools or turn.context or turn.client.is_workspace or turn.output_schema is not None:
        return False
    return not any(has_files(message) or is_application_prompt(message) for message in turn.messages)


def has_files(message: Message) -> bool:
    """Tell whether a message has images or files."""
    return any(not isinstance(part, TextMessagePart) for part in message.parts)


def is_application_prompt(message: Message) -> bool:
    """Tell whether a system message is an application's own. "You are a helpful assistant." is none, nor are the
    standard instructions of CopilotKit's clients with an empty context."""
    if message.role not in ("system", "developer"):
        return False
    text = message.text.strip()
    if not text or _COPILOTKIT_PROMPT.fullmatch(text):
        return False
    if len(text) > MAX_GENERIC_PROMPT:
        return True
    return not _GENERIC_PROMPT.fullmatch(text) and not _GENERIC_PROMPT_ZH.fullmatch(text)
