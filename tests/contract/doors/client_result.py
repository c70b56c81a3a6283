"""What a client has after an answer, and the tools that it brings."""

from dataclasses import dataclass, field
from typing import Any

CLIENT_TOOLS = ("show", "paint")
TOOL_SCHEMA = {"type": "object", "properties": {"title": {"type": "string"}}, "required": ["title"]}


@dataclass
class ClientResult:
    """What the client has after one answer."""

    text: str = ""
    calls: dict[str, tuple[str, Any]] = field(default_factory=dict)
    """Calls that the client is to run: id → name, arguments."""
    results: dict[str, str] = field(default_factory=dict)
    questions: list[dict[str, Any]] = field(default_factory=list)
    steps: list[str] = field(default_factory=list)
    artifacts: list[dict[str, Any]] = field(default_factory=list)
    """What the client draws, in the form of its wire: each has a name and a content."""
    error: str | None = None
    finish_reason: str | None = None
    status: int = 200
