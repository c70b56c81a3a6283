"""AG-UI's RunAgentInput as a Turn."""

from __future__ import annotations

from typing import Any, get_args

from rightseat.door import Host, Request, client_spec, decode
from rightseat.doors.agui.wire import RunAgentInput, WireMessage
from rightseat.errors import CallerError, NotFound
from rightseat.messages import Call, File, Image, Message, Part, Role, Text
from rightseat.prompt import Settings
from rightseat.turn import Answer, Context, Turn

ROLES: dict[str, Role] = {role: role for role in get_args(Role)}


def read(request: Request, host: Host) -> Turn:
    agent = request.params["agent"]
    if agent not in host.responders:
        known = ", ".join(host.responders)
        raise NotFound(f"There is no agent {agent[:64]!r}. Those that exist: {known}")
    given = decode(request.body, RunAgentInput)
    if not given.messages and not given.resume:
        raise CallerError(
            "messages: there is nothing to answer. Send a message or a resume.", param="messages"
        )
    return Turn(
        messages=tuple(found for n, m in enumerate(given.messages) if (found := message(m, n))),
        assistant=agent,
        tools=tuple(
            client_spec(tool.name, tool.description, tool.parameters, f"tools[{number}]")
            for number, tool in enumerate(given.tools or ())
        ),
        settings=Settings(),
        context=tuple(Context(item.description, item.value) for item in given.context or ()),
        state=given.state,
        answers=tuple(Answer(r.interrupt_id, r.status, r.payload) for r in given.resume or ()),
        thread=given.thread_id,
        run=given.run_id,
        owner=request.owner,
        headers=request.trace,
    )


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
