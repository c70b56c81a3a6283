"""What a service adapter is asked, and what it returns: requests, responses, messages; from and to a Prompt."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any

import msgspec
from msgspec import Struct

from rightseat.copilotkit.event_source import RuntimeEventSource
from rightseat.doors.copilotkit.wire import ActionInput, AgentSessionInput, AgentStateInput, ForwardedParametersInput
from rightseat.runtime.runs import DEFAULT_ASSISTANT
from rightseat.types.messages import ImageMessagePart, Message, Role, ToolCall, text_message
from rightseat.types.model import Prompt, SamplingSettings, ToolChoice, ToolSpec
from rightseat.types.text import decode_or_none
from rightseat.types.turn import Turn


class MessageRole(StrEnum):
    USER = "user"
    ASSISTANT = "assistant"
    SYSTEM = "system"
    TOOL = "tool"
    DEVELOPER = "developer"


class ChatMessageFields(Struct, kw_only=True):
    """Base of the messages that an adapter gets."""

    id: str
    created_at: datetime = msgspec.field(default_factory=lambda: datetime.now(UTC))

    @property
    def type(self) -> str:
        return self.__class__.__name__


class TextMessage(ChatMessageFields, kw_only=True):
    role: MessageRole
    content: str
    parent_message_id: str | None = None


class ImageMessage(ChatMessageFields, kw_only=True):
    """An image in base64, or its address where the client has sent one."""

    role: MessageRole
    format: str = ""
    bytes: str = ""
    url: str = ""


class ActionExecutionMessage(ChatMessageFields, kw_only=True):
    name: str
    arguments: dict[str, Any]
    parent_message_id: str | None = None


class ResultMessage(ChatMessageFields, kw_only=True):
    action_execution_id: str
    action_name: str
    result: str


ChatMessage = TextMessage | ImageMessage | ActionExecutionMessage | ResultMessage


@dataclass(kw_only=True)
class CopilotRuntimeRequest:
    """One request to an adapter. `actions` has the front end's and the server's: the runtime runs the latter."""

    event_source: RuntimeEventSource
    messages: list[ChatMessage]
    actions: list[ActionInput] = field(default_factory=list)
    model: str | None = None
    thread_id: str | None = None
    run_id: str | None = None
    forwarded_parameters: ForwardedParametersInput | None = None
    extensions: dict[str, Any] | None = None
    agent_session: AgentSessionInput | None = None
    agent_states: list[AgentStateInput] | None = None
    properties: dict[str, Any] = field(default_factory=dict)


@dataclass(kw_only=True)
class CopilotRuntimeResponse:
    """What `process` returns. The client gets `extensions`; its thread keeps the id that the client knows."""

    thread_id: str | None = None
    run_id: str | None = None
    extensions: dict[str, Any] | None = None


def build_request(prompt: Prompt, turn: Turn | None, source: RuntimeEventSource) -> CopilotRuntimeRequest:
    turn = turn or Turn(messages=())
    agent = turn.assistant if turn.assistant != DEFAULT_ASSISTANT else None
    state = msgspec.json.encode(turn.state).decode() if turn.state is not None else None
    session = AgentSessionInput(agent_name=agent, thread_id=turn.thread) if agent else None
    return CopilotRuntimeRequest(
        event_source=source,
        messages=list(iter_chat_messages(prompt.messages)),
        actions=[
            ActionInput(
                name=tool.name,
                description=tool.description,
                json_schema=msgspec.json.encode(tool.parameters).decode(),
                available="enabled",
            )
            for tool in prompt.callable_tools
        ],
        model=turn.model,
        thread_id=turn.thread or None,
        run_id=turn.run or None,
        forwarded_parameters=build_parameters(prompt, turn.model),
        extensions=turn.client.forwarded.extensions or None,
        agent_session=session,
        agent_states=[AgentStateInput(agent_name=agent or DEFAULT_ASSISTANT, state=state)] if state else None,
        properties=turn.client.forwarded.properties,
    )


def build_parameters(prompt: Prompt, model: str | None) -> ForwardedParametersInput:
    settings, choice = prompt.settings, prompt.tool_choice
    return ForwardedParametersInput(
        model=model,
        max_tokens=settings.max_tokens,
        stop=list(settings.stop) or None,
        tool_choice="function" if choice.mode == "named" else choice.mode,
        tool_choice_function_name=choice.name,
        temperature=settings.temperature,
    )


def iter_chat_messages(messages: Iterable[Message]) -> Iterator[ChatMessage]:
    """Yield CopilotKit's messages: one for each text, image, call and result."""
    call_names: dict[str | None, str] = {}
    for number, message in enumerate(messages):
        id, role = message.id or f"message-{number}", MessageRole(message.role)
        if message.role == "tool":
            call_id = message.call_id or ""
            name = call_names.get(message.call_id, "")
            yield ResultMessage(id=id, action_execution_id=call_id, action_name=name, result=message.text)
            continue
        if message.text:
            yield TextMessage(id=id, role=role, content=message.text)
        for part in message.parts:
            if isinstance(part, ImageMessagePart):
                yield make_image_message(id, role, part.url)
        for call in message.calls:
            call_names[call.id] = call.name
            arguments = decode_or_none(call.arguments)
            fields = arguments if isinstance(arguments, dict) else {}
            yield ActionExecutionMessage(id=call.id, name=call.name, arguments=fields, parent_message_id=id)


def make_image_message(id: str, role: MessageRole, url: str) -> ImageMessage:
    head, comma, data = url.partition(",")
    if not (comma and head.startswith("data:image/") and head.endswith(";base64")):
        return ImageMessage(id=id, role=role, url=url)
    return ImageMessage(id=id, role=role, format=head[len("data:image/") : -len(";base64")], bytes=data)


def build_prompt(request: CopilotRuntimeRequest) -> Prompt:
    """Build the prompt of a request: the reverse of `build_request`."""
    parameters = request.forwarded_parameters or ForwardedParametersInput()
    tokens = parameters.max_tokens
    mode = parameters.tool_choice
    choice = ToolChoice()
    if mode == "function" and parameters.tool_choice_function_name:
        choice = ToolChoice("named", parameters.tool_choice_function_name)
    elif mode in ("none", "required"):
        choice = ToolChoice("none" if mode == "none" else "required")
    return Prompt(
        messages=build_messages(request.messages),
        tools=tuple(
            ToolSpec(action.name, action.description, msgspec.json.decode(action.json_schema or "{}"))
            for action in request.actions
        ),
        tool_choice=choice,
        settings=SamplingSettings(
            temperature=parameters.temperature,
            max_tokens=None if tokens is None else int(tokens),
            stop=tuple(parameters.stop or ()),
        ),
    )


def build_messages(chat_messages: Iterable[ChatMessage]) -> tuple[Message, ...]:
    messages: list[Message] = []
    for item in chat_messages:
        match item:
            case TextMessage():
                messages.append(text_message(to_role(item.role), item.content, id=item.id))
            case ImageMessage():
                url = item.url or f"data:image/{item.format};base64,{item.bytes}"
                messages.append(Message(to_role(item.role), (ImageMessagePart(url),), id=item.id))
            case ResultMessage():
                messages.append(text_message("tool", item.result, call_id=item.action_execution_id, id=item.id))
            case ActionExecutionMessage():
                call = ToolCall(item.id, item.name, msgspec.json.encode(item.arguments).decode())
                last = messages[-1] if messages else None
                if last is not None and last.role == "assistant" and last.id == item.parent_message_id:
                    messages[-1] = msgspec.structs.replace(last, calls=(*last.calls, call))
                else:
                    messages.append(Message("assistant", calls=(call,), id=item.parent_message_id))
    return tuple(messages)


def to_role(role: str) -> Role:
    converted: Role = msgspec.convert(str(role), Role)
    return converted
