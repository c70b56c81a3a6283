"""Flow and Step: the values that a flow's file is read into."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

START, END = "start", "end"


class Step(Struct, frozen=True, kw_only=True):
    name: str
    kind: str
    """The file's `call_type`: one of the step kinds, or the name of a tool of lib/."""
    params: dict[str, Any] = {}
    next: str | None = None
    on_error: Step | None = None
    retry: int = 0
    """Attempts after the first."""
    timeout: float | None = None
    confirm: bool = False
    """A person must approve before it runs."""
    repeatable: bool | None = None
    """Whether it may run twice after a crash; overrides the step kind."""
    line: int = 0


class NextFlow(Struct, frozen=True, kw_only=True):
    """A follow-up flow to suggest. A question given in the file is shown unchanged."""

    flow: str
    plugin: str = ""
    question: str = ""
    line: int = 0


class Flow(Struct, frozen=True, kw_only=True):
    plugin: str
    """The plugin's id."""
    name: str
    """Unique in its plugin; the file's `name`, or `id` in later files."""
    description: str
    steps: dict[str, Step]
    """In the file's order."""
    on_error: Step | None = None
    next_flow: tuple[NextFlow, ...] = ()
    max_steps: int = 100
    timeout: float = 600.0
    file: str = ""
    """Path within the plugin's folder; empty for a flow made of an operation (`automatic_flow`)."""
    digest: str = ""
    """Hash of what the flow does: a paused run resumes only if it is unchanged."""

    @property
    def id(self) -> str:
        return f"{self.plugin}/{self.name}"
