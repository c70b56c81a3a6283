"""AG-UI's RunAgentInput as a Turn."""

from __future__ import annotations

from typing import Any, get_args

import msgspec

from rightseat.agui.wire import RunAgentInput, WireMessage
from rightseat.door import Host, Request, client_spec
from rightseat.errors import CallerError, NotFound
from rightseat.messages import Call, File, Image, Message, Part, Role, Text
from rightseat.prompt import Settings, ToolChoice
from rightseat.turn import Answer, Context, Turn

ROLES: dict[str, Role] = {role: role for role in get_args(Role)}


def agent_of(name: str, host: Host) -> str:
    if name not in host.responders:
        known = ", ".join(host.responders)
        raise NotFound(f"There is no agent {name[:64]!r}. Those that exist: {known}")
    return name


def read(given: RunAgentInput, agent: str, request: Request) -> Turn:
    return Turn(
        messages=tuple(found for n, m in enumerate(given.messages) if (found := message(m, n))),
        assistant=agent,
        tools=tuple(
            client_spec(tool.name, tool.description, tool.parameters, f"tools[{number}]")
            for number, tool in enumerate(given.tools or ())
        ),
        tool_choice=choice(given.forwarded_props),
        settings=Settings(),
        context=tuple(Context(item.description, item.value) for item in given.context or ()),
        state=given.state,
        answers=tuple(Answer(r.interrupt_id, r.status, r.payload) for r in given.resume or ()),
        thread=given.thread_id,
        run=given.run_id,
        owner=request.owner,
        headers=request.trace,
    )


def choice(forwarded: Any) -> ToolChoice:
    """`forwardedProps.toolChoice`, in the words of OpenAI's API: by it a client asks for suggestions."""
    match forwarded:
        case {"toolChoice": ("auto" | "none" | "required") as mode}:
            return ToolChoice(mode)
        case {"toolChoice": {"type": "function", "function": {"name": str(name)}}}:
            return ToolChoice("named", name)
        case _:
            return ToolChoice()


def something(turn: Turn) -> Turn:
    if not turn.messages and not turn.answers:
        problem = "messages: there is nothing to answer. Send a message or a resume."
        raise CallerError(problem, param="messages")
    return turn


def command(given: RunAgentInput) -> tuple[bool, Any, str | None]:
    """The older way to answer a question: `forwardedProps.command.resume`. Whether there is one, the answer,
    and the question if the client says which."""
    match given.forwarded_props:
        case {"command": {"resume": value, **more}} if not given.resume:
            return True, value, _question(more.get("interruptEvent"))
        case _:
            return False, None, None


def _question(told: Any) -> str | None:
    """Clients send back what they were shown, as it came or as JSON text."""
    if isinstance(told, str):
        try:
            told = msgspec.json.decode(told)
        except (msgspec.DecodeError, RecursionError):
            return None
    match told:
        case {"id": str(id)}:
            return id
        case _:
            return None


def message(m: WireMessage, number: int) -> Message | None:
    role = ROLES.get(m.role)
    if role is None:
        return None  # activity, reasoning and what may come: shown to people, not said to models
    calls = tuple(Call(call.id, call.function.name, call.function.arguments) for call in m.tool_calls or ())
    if role == "tool" and not m.tool_call_id:
        raise CallerError("A tool message needs the toolCallId it answers.", param=f"messages[{number}]")
    where = f"messages[{number}].content"
    return Message(role, parts(m.content, where), calls, call_id=m.tool_call_id, name=m.name, id=m.id)


def parts(content: Any, where: str) -> tuple[Part, ...]:
    match content:
        case None | "":
            return ()
        case str():
            return (Text(content),)
        case list():
            return tuple(part(item, f"{where}[{number}]") for number, item in enumerate(content))
        case _:
            raise CallerError(f"{where}: expected a text or a list of parts.", param=where)


def part(item: Any, where: str) -> Part:
    """Text, an image or a file; in the form of protocol 1.0 (`source`) and in the older one (`binary`)."""
    match item:
        case {"type": "text", "text": str(text)}:
            return Text(text)
        case {"type": "image", "source": {"type": "url", "value": str(url)}}:
            return Image(url)
        case {"type": kind, "source": {"type": "data", "value": str(data), "mimeType": str(media)}}:
            return Image(f"data:{media};base64,{data}") if kind == "image" else File(None, media, data)
        case {"type": "binary", "mimeType": str(media), "url": str(url)} if media.startswith("image/"):
            return Image(url)
        case {"type": "binary", "mimeType": str(media), "data": str(data), **more}:
            name = more.get("filename")
            if media.startswith("image/"):
                return Image(f"data:{media};base64,{data}")
            return File(name if isinstance(name, str) else None, media, data)
        case _:
            pass
    raise CallerError(f"{where}: this kind of content is not understood here.", param=where)
