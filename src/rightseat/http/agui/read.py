"""Parses AG-UI's RunAgentInput into a Turn."""

from __future__ import annotations

from typing import Any, get_args

import msgspec

from rightseat.errors import AgentNotFound, CallerError
from rightseat.http.agui.wire import RunAgentInput, WireMessage
from rightseat.http.endpoint import Host, Request, client_spec, pinned
from rightseat.types.messages import Call, File, Image, Message, Part, Role, Text
from rightseat.types.model import Settings, ToolChoice
from rightseat.types.turn import Answer, Context, Forwarded, Turn

INPUT = "input_required"
ROLES: dict[str, Role] = {role: role for role in get_args(Role)}


def agent_of(name: str, host: Host) -> str:
    if name not in host.responders:
        known = ", ".join(host.responders)
        raise AgentNotFound(f"There is no agent {name[:64]!r}. Those that exist: {known}", param="agentId")
    return name


def read(given: RunAgentInput, agent: str, request: Request) -> Turn:
    return Turn(
        messages=tuple(found for n, m in enumerate(given.messages) if (found := message(m, n))),
        assistant=agent,
        model=chosen(given.forwarded_props),
        tools=tuple(
            client_spec(tool.name, tool.description, tool.parameters, f"tools[{number}]")
            for number, tool in enumerate(given.tools or ())
        ),
        tool_choice=choice(given.forwarded_props),
        plugins=pinned(request),
        settings=Settings(),
        context=tuple(Context(item.description, item.value) for item in given.context or ()),
        state=given.state,
        answers=answers(given),
        thread=given.thread_id,
        run=given.run_id,
        owner=request.owner,
        headers=request.passed,
        base=request.base,
        forwarded=Forwarded(given.forwarded_props if isinstance(given.forwarded_props, dict) else {}),
    )


def chosen(forwarded: Any) -> str | None:
    """Return `forwardedProps.model`, the model that the client asks for, or None."""
    return (
        forwarded["model"]
        if isinstance(forwarded, dict) and isinstance(forwarded.get("model"), str)
        else None
    )


def choice(forwarded: Any) -> ToolChoice:
    """Parse `forwardedProps.toolChoice` in OpenAI's format; clients request suggestions by it."""
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


def answers(given: RunAgentInput) -> tuple[Answer, ...]:
    """Return the answers that name their question: `resume`, or the older command with `interruptEvent`."""
    if given.resume:
        return tuple(Answer(item.interrupt_id, item.status, item.payload) for item in given.resume)
    told = command(given) or {}
    question = _question(told.get("interruptEvent"))
    if question is None:
        return ()
    return (older(question["id"], told["resume"], words=question.get("reason") == INPUT),)


def command(given: RunAgentInput) -> dict[str, Any] | None:
    """Return `forwardedProps.command` if it has `resume`: how clients before 1.0 answer a question."""
    props = given.forwarded_props
    told = props.get("command") if isinstance(props, dict) and not given.resume else None
    return told if isinstance(told, dict) and "resume" in told else None


def older(question: str, value: Any, *, words: bool) -> Answer:
    """Make an Answer of an older client's value: plain text, JSON text (approvals) or any JSON value."""
    if not isinstance(value, str):
        return Answer(question, payload=value)
    made = None if words else _decoded(value)
    if isinstance(made, dict | list | bool):
        return Answer(question, payload=made)
    return Answer(question, text=value)


def _question(told: Any) -> dict[str, Any] | None:
    """Return the echoed interrupt, sent as an object or as JSON text, if it has an id."""
    found = _decoded(told) if isinstance(told, str) else told
    return found if isinstance(found, dict) and isinstance(found.get("id"), str) else None


def _decoded(text: str) -> Any:
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError):
        return None


def message(m: WireMessage, number: int) -> Message | None:
    role = ROLES.get(m.role)
    if role is None:
        return None  # activity, reasoning and unknown roles are display-only
    calls = tuple(Call(call.id, call.function.name, call.function.arguments) for call in m.tool_calls or ())
    if role == "tool" and not m.tool_call_id:
        raise CallerError("A tool message needs the toolCallId it answers.", param=f"messages[{number}]")
    where = f"messages[{number}].content"
    content = m.error if role == "tool" and not m.content and isinstance(m.error, str) else m.content
    return Message(role, parts(content, where), calls, call_id=m.tool_call_id, name=m.name, id=m.id)


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
    """Parse a text, image or file part, in the format of 1.0 (`source`) or the older one (`binary`)."""
    match item:
        case {"type": "text", "text": str(text)}:
            return Text(text)
        case {"type": "image", "source": {"type": "url", "value": str(url)}}:
            return Image(url)
        case {"type": kind, "source": {"type": "data", "value": str(data), "mimeType": str(media)}, **more}:
            if kind == "image":
                return Image(f"data:{media};base64,{data}", name=filename(more))
            return File(filename(more), media, data)
        case {"type": str(kind), "source": {"type": "url", "value": str(url), **about}, **more}:
            return linked(kind, url, about.get("mimeType"), more)
        case {"type": "binary", "mimeType": str(media), "url": str(url)} if media.startswith("image/"):
            return Image(url)
        case {"type": "binary", "mimeType": str(media), "data": str(data), **more}:
            if media.startswith("image/"):
                return Image(f"data:{media};base64,{data}", name=filename(more))
            return File(filename(more), media, data)
        case {"type": "binary", "mimeType": str(media), "url": str(url), **more}:
            return linked("file", url, media, more)
        case _:
            pass
    raise CallerError(f"{where}: this kind of content is not understood here.", param=where)


def linked(kind: str, url: str, media: Any, more: dict[Any, Any]) -> Part:
    """Parse a part given by URL. Nothing is fetched: a `data:` URL becomes a File, any other URL a Text that
    names it, so that a history with links is never refused."""
    if url.startswith("data:") and isinstance(media, str):
        return File(filename(more), media, url)
    return Text(f"[{kind[:40]}: {url}]")


def filename(more: dict[Any, Any]) -> str | None:
    """Return `filename`, or the name in `metadata`, or None."""
    match more:
        case {"filename": str(name)} | {"metadata": {"filename": str(name)} | {"name": str(name)}}:
            return name
        case _:
            return None
