"""AG-UI's RunAgentInput, and its conversion to a Turn."""

from __future__ import annotations

from itertools import count
from typing import Annotated, Any, Literal, get_args

from msgspec import Meta, Struct

from rightseat.errors import AgentNotFound, CallerError
from rightseat.http.endpoint import Host, Request, make_tool_spec, parse_plugins_header
from rightseat.types.messages import (
    MAX_MESSAGES,
    MAX_TOOLS,
    FileMessagePart,
    ImageMessagePart,
    Message,
    MessagePart,
    Role,
    TextMessagePart,
    ToolCall,
)
from rightseat.types.model import SamplingSettings, ToolChoice
from rightseat.types.text import decode_or_none
from rightseat.types.turn import AppContext, ForwardedProps, InterruptAnswer, Turn, TurnClient

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
    messages: Annotated[list[AguiMessage], Meta(max_length=MAX_MESSAGES)] = []
    tools: Annotated[list[AguiTool], Meta(max_length=MAX_TOOLS)] | None = None
    context: Annotated[list[AguiContext], Meta(max_length=MAX_TOOLS)] | None = None
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

    @property
    def props(self) -> dict[str, Any]:
        """The forwarded properties; empty if they are no object."""
        return self.forwarded_props if isinstance(self.forwarded_props, dict) else {}


INPUT_REQUIRED = "input_required"
ROLES: dict[str, Role] = {role: role for role in get_args(Role)}


def require_agent(name: str, host: Host) -> str:
    if name not in host.responders:
        known = ", ".join(host.responders)
        raise AgentNotFound(f"There is no agent {name[:64]!r}. Those that exist: {known}", param="agentId")
    return name


def parse_turn(run_input: RunAgentInput, agent: str, request: Request) -> Turn:
    return Turn(
        messages=tuple(filter(None, map(parse_message, run_input.messages, count()))),
        assistant=agent,
        model=model if isinstance(model := run_input.props.get("model"), str) else None,
        tools=tuple(
            make_tool_spec(tool.name, tool.description, tool.parameters, f"tools[{number}]")
            for number, tool in enumerate(run_input.tools or ())
        ),
        tool_choice=parse_tool_choice(run_input.props),
        plugins=parse_plugins_header(request),
        settings=SamplingSettings(),
        context=tuple(AppContext(item.description, item.value) for item in run_input.context or ()),
        state=run_input.state,
        answers=parse_answers(run_input),
        thread=run_input.thread_id,
        run=run_input.run_id,
        owner=request.owner,
        client=TurnClient(
            headers=request.forwarded_headers,
            public_key=request.public_key,
            base_url=request.base,
            forwarded=ForwardedProps(run_input.props),
        ),
    )


def parse_tool_choice(props: dict[str, Any]) -> ToolChoice:
    """Parse `forwardedProps.toolChoice` in OpenAI's format; clients request suggestions by it."""
    match props:
        case {"toolChoice": ("auto" | "none" | "required") as mode}:
            return ToolChoice(mode)
        case {"toolChoice": {"type": "function", "function": {"name": str(name)}}}:
            return ToolChoice("named", name)
        case _:
            return ToolChoice()


def require_input(turn: Turn, host: Host) -> Turn:
    if not turn.messages and not turn.answers and not host.fills_empty_question(turn):
        problem = "messages: there is nothing to answer. Send a message or a resume."
        raise CallerError(problem, param="messages")
    return turn


def parse_answers(run_input: RunAgentInput) -> tuple[InterruptAnswer, ...]:
    """Return the answers that name their question: `resume`, or the older command with `interruptEvent`."""
    if run_input.resume:
        return tuple(InterruptAnswer(item.interrupt_id, item.status, item.payload) for item in run_input.resume)
    resume_command = parse_resume_command(run_input) or {}
    # The echoed interrupt is an object or its JSON text.
    question = resume_command.get("interruptEvent")
    match decode_or_none(question) if isinstance(question, str) else question:
        case {"id": str(id), **more}:
            is_text = more.get("reason") == INPUT_REQUIRED
            return (parse_legacy_answer(id, resume_command["resume"], is_text=is_text),)
        case _:
            return ()


def parse_resume_command(run_input: RunAgentInput) -> dict[str, Any] | None:
    """Return `forwardedProps.command` if it has `resume`: how clients before 1.0 answer a question."""
    resume_command = None if run_input.resume else run_input.props.get("command")
    return resume_command if isinstance(resume_command, dict) and "resume" in resume_command else None


def parse_legacy_answer(question: str, value: Any, *, is_text: bool) -> InterruptAnswer:
    """Make an Answer of an older client's value: plain text, JSON text (approvals) or any JSON value."""
    if not isinstance(value, str):
        return InterruptAnswer(question, payload=value)
    payload = None if is_text else decode_or_none(value)
    if isinstance(payload, dict | list | bool):
        return InterruptAnswer(question, payload=payload)
    return InterruptAnswer(question, text=value)


def parse_message(message: AguiMessage, number: int) -> Message | None:
    role = ROLES.get(message.role)
    if role is None:
        return None  # activity, reasoning and unknown roles are display-only
    calls = tuple(ToolCall(call.id, call.function.name, call.function.arguments) for call in message.tool_calls or ())
    if role == "tool" and not message.tool_call_id:
        raise CallerError("A tool message needs the toolCallId it answers.", param=f"messages[{number}]")
    failed = role == "tool" and not message.content and isinstance(message.error, str)
    parts = parse_parts(message.error if failed else message.content, f"messages[{number}].content")
    return Message(role, parts, calls, call_id=message.tool_call_id, name=message.name, id=message.id)


def parse_parts(content: Any, where: str) -> tuple[MessagePart, ...]:
    match content:
        case None | "":
            return ()
        case str():
            return (TextMessagePart(content),)
        case list():
            return tuple(parse_part(item, f"{where}[{number}]") for number, item in enumerate(content))
        case _:
            raise CallerError(f"{where}: expected a text or a list of parts.", param=where)


def parse_part(item: Any, where: str) -> MessagePart:
    """Parse a text, image or file part, in the format of 1.0 (`source`) or the older one (`binary`)."""
    match item:
        case {"type": "text", "text": str(text)}:
            return TextMessagePart(text)
        case {"type": "image", "source": {"type": "url", "value": str(url)}}:
            return ImageMessagePart(url)
        case {"type": kind, "source": {"type": "data", "value": str(data), "mimeType": str(media)}, **more}:
            return parse_data(data, media, more, is_image=kind == "image")
        case {"type": str(kind), "source": {"type": "url", "value": str(url), **about}, **more}:
            return parse_link(kind, url, about.get("mimeType"), more)
        case {"type": "binary", "mimeType": str(media), "url": str(url)} if media.startswith("image/"):
            return ImageMessagePart(url)
        case {"type": "binary", "mimeType": str(media), "data": str(data), **more}:
            return parse_data(data, media, more, is_image=media.startswith("image/"))
        case {"type": "binary", "mimeType": str(media), "url": str(url), **more}:
            return parse_link("file", url, media, more)
        case _:
            raise CallerError(f"{where}: this content type is not supported.", param=where)


def parse_data(data: str, media: str, more: dict[Any, Any], *, is_image: bool) -> MessagePart:
    if is_image:
        return ImageMessagePart(f"data:{media};base64,{data}", name=parse_filename(more))
    return FileMessagePart(parse_filename(more), media, data)


def parse_link(kind: str, url: str, media: Any, more: dict[Any, Any]) -> MessagePart:
    """Parse a part given by URL. Nothing is fetched: a `data:` URL becomes a File, any other URL a Text that
    names it, so that a history with links is never refused."""
    if url.startswith("data:") and isinstance(media, str):
        return FileMessagePart(parse_filename(more), media, url)
    return TextMessagePart(f"[{kind[:40]}: {url}]")


def parse_filename(more: dict[Any, Any]) -> str | None:
    """Return `filename`, or the name in `metadata`, or None."""
    match more:
        case {"filename": str(name)} | {"metadata": {"filename": str(name)} | {"name": str(name)}}:
            return name
        case _:
            return None
