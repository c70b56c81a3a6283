"""An OpenAI chat request as a Turn."""

from __future__ import annotations

from typing import assert_never

from msgspec import UNSET, Struct

from rightseat.door import Host, Request, client_spec, decode, header_id
from rightseat.doors.openai.wire import (
    PASSED,
    ChatMessage,
    ChatRequest,
    ContentPart,
    FilePart,
    ImagePart,
    NamedChoice,
    RefusalPart,
    TextPart,
)
from rightseat.errors import CallerError, NotFound
from rightseat.messages import Call, File, Image, Message, Part, Role, Text
from rightseat.prompt import Settings, ToolChoice, ToolSpec
from rightseat.turn import Turn


class Asked(Struct, frozen=True):
    """The turn, and what of the request concerns only how the answer is written."""

    turn: Turn
    model: str
    stream: bool
    usage: bool


def read(request: Request, host: Host) -> Asked:
    asked = decode(request.body, ChatRequest)
    functions = enumerate(tool.function for tool in asked.tools or ())
    tools = tuple(
        client_spec(tool.name, tool.description, tool.parameters, f"tools[{number}].function")
        for number, tool in functions
    )
    turn = Turn(
        messages=tuple(message(m, number) for number, m in enumerate(asked.messages)),
        assistant=assistant(asked.model, host),
        tools=tools,
        tool_choice=choice(asked.tool_choice, tools),
        settings=settings(asked),
        owner=request.owner,
        run=request.id,
        shows_interrupts=False,
        conversation=header_id(request, "x-thread-id"),
    )
    usage = bool(asked.stream_options and asked.stream_options.include_usage)
    return Asked(turn, asked.model or "default", bool(asked.stream), usage)


def assistant(model: str | None, host: Host) -> str | None:
    """A server with one assistant answers to any name; one with several must be told which."""
    if model in host.responders:
        return model
    if model in (None, "", "default") or len(host.responders) <= 1:
        return None
    names = ", ".join(host.responders)
    raise NotFound(f"There is no model {str(model)[:64]!r}. Those that exist: {names}", param="model")


def message(m: ChatMessage, number: int) -> Message:
    role: Role = "tool" if m.role == "function" else m.role
    calls = tuple(Call(call.id, call.function.name, call.function.arguments) for call in m.tool_calls or ())
    call_id = m.tool_call_id
    # The API of 2023 had one call per message and no ids: the function's name stands for it.
    if m.function_call is not None:
        calls = (Call(m.function_call.name, m.function_call.name, m.function_call.arguments),)
    if m.role == "function":
        call_id = m.name
    if role == "tool" and not call_id:
        raise CallerError("A tool message needs the tool_call_id it answers.", param=f"messages[{number}]")
    return Message(role, parts(m.content), calls, call_id=call_id, name=m.name if role != "tool" else None)


def parts(content: str | list[ContentPart] | None) -> tuple[Part, ...]:
    if content is None or content == "":
        return ()
    return (Text(content),) if isinstance(content, str) else tuple(map(part, content))


def part(content: ContentPart) -> Part:
    match content:
        case TextPart(text):
            return Text(text)
        case RefusalPart(refusal):
            return Text(refusal)
        case ImagePart(image):
            return Image(image.url, image.detail)
        case FilePart(file):
            return File(name=file.filename, data=file.file_data, file_id=file.file_id)
        case _:
            assert_never(content)


def choice(given: str | NamedChoice | None, tools: tuple[ToolSpec, ...]) -> ToolChoice:
    match given:
        case NamedChoice():
            if given.function.name not in {tool.name for tool in tools}:
                problem = f"tool_choice names {given.function.name[:64]!r}, which is not among the tools."
                raise CallerError(problem, param="tool_choice")
            return ToolChoice("named", given.function.name)
        case "none":
            return ToolChoice("none")
        case "required":
            return ToolChoice("required")
        case _:
            return ToolChoice()


def settings(asked: ChatRequest) -> Settings:
    stop = (asked.stop,) if isinstance(asked.stop, str) else tuple(asked.stop or ())
    given = {name: getattr(asked, name) for name in PASSED}
    return Settings(
        temperature=asked.temperature,
        top_p=asked.top_p,
        max_tokens=asked.max_completion_tokens or asked.max_tokens,
        stop=stop,
        seed=asked.seed,
        parallel_calls=asked.parallel_tool_calls,
        extra={name: value for name, value in given.items() if value is not UNSET},
    )
