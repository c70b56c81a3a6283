"""Wire structs of AG-UI's RunAgentInput. Unknown fields are ignored."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from msgspec import Meta, Struct

Id = Annotated[str, Meta(max_length=200)]


class AguiFunctionCall(Struct):
    name: str
    arguments: str = ""


class AguiToolCall(Struct):
    id: str
    function: AguiFunctionCall


class AguiMessage(Struct, rename="camel"):
    role: str
    id: str | None = None
    content: Any = None
    name: str | None = None
    tool_calls: list[AguiToolCall] | None = None
    tool_call_id: str | None = None
    error: Any = None
    """The error of a client tool."""


class AguiTool(Struct):
    name: Annotated[str, Meta(pattern=r"^[a-zA-Z0-9_.:/-]{1,128}\Z")]
    description: str | None = None
    parameters: dict[str, Any] | None = None


class AguiContext(Struct):
    value: str
    description: str = ""


class AguiResume(Struct, rename="camel"):
    interrupt_id: str
    status: Literal["resolved", "cancelled"] = "resolved"
    payload: Any = None


class RunAgentInput(Struct, rename="camel", kw_only=True):
    thread_id: Id = ""
    run_id: Id = ""
    messages: list[AguiMessage] = []
    tools: list[AguiTool] | None = None
    context: list[AguiContext] | None = None
    state: Any = None
    forwarded_props: Any = None
    resume: list[AguiResume] | None = None
    protocol_version: str = ""
    """Empty for clients before 1.0."""

    @property
    def supports_outcomes(self) -> bool:
        """Whether the client reads every outcome of 1.0. Older clients take an unknown outcome for a broken
        stream and silently drop the rest of the thread."""
        return self.protocol_version != ""
