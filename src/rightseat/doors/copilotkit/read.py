"""Convert GenerateCopilotResponseInput to a Turn."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from typing import Any

import msgspec
from msgspec.structs import replace

from rightseat.doors.copilotkit import wire
from rightseat.engine.history import trailing_results
from rightseat.errors import AgentNotFound, CallerError, PublicKeyRequired
from rightseat.http.agui.read import parse_legacy_answer
from rightseat.http.auth import PUBLIC_KEY_HEADER
from rightseat.http.endpoint import Host, Request, make_tool_spec, parse_plugins_header
from rightseat.types.agents import RemoteAgentInfo
from rightseat.types.messages import ImageMessagePart, Message, Role, ToolCall, text_message
from rightseat.types.model import SamplingSettings, ToolChoice, ToolSpec
from rightseat.types.text import decode_or_none
from rightseat.types.turn import AppContext, ClientTopics, ForwardedProps, InterruptAnswer, Turn, TurnClient


def build_conversation(posted: list[wire.MessageInput]) -> tuple[Message, ...]:
    messages: list[Message] = []
    # Index of the assistant's message by id; calls name it as their parent.
    places: dict[str, int] = {}
    for id, item in zip(assign_message_ids(posted), posted, strict=True):
        if call := item.action_execution_message:
            add_call(messages, places, id, call)
        elif message := parse_message(id, item):
            if message.role == "assistant":
                places[id] = len(messages)
            messages.append(message)
    return tuple(messages)


def assign_message_ids(posted: list[wire.MessageInput]) -> list[str]:
    """Return the id of each message. One without an id gets its number; a call that of the first result of its action
    after it which names no other call."""
    named = {item.id for item in posted if item.id}
    results = [(number, item.result_message) for number, item in enumerate(posted) if item.result_message]
    ids: list[str] = []
    for number, item in enumerate(posted):
        id = item.id or f"message-{number}"
        if (call := item.action_execution_message) and not item.id:
            later = (result for place, result in results if place > number and result.action_name == call.name)
            id = next((r.action_execution_id for r in later if r.action_execution_id not in named), id)
        named.add(id)
        ids.append(id)
    return ids


def parse_message(id: str, item: wire.MessageInput) -> Message | None:
    if text := item.text_message:
        # A tool's text without a call is dropped.
        return None if text.role == "tool" else text_message(text.role, text.content, id=id)
    if result := item.result_message:
        return text_message("tool", result.result, call_id=result.action_execution_id, id=id)
    if image := item.image_message:
        role: Role = "assistant" if image.role == "assistant" else "user"
        return Message(role, (ImageMessagePart(f"data:image/{image.format.lower()};base64,{image.bytes}"),), id=id)
    # Agent states are not part of the conversation.
    return None


def add_call(messages: list[Message], places: dict[str, int], id: str, call: wire.ActionExecutionMessageInput) -> None:
    parent = call.parent_message_id or id
    model_call = ToolCall(id, call.name, call.arguments)
    place = places.get(parent)
    if place is None:
        places[parent] = len(messages)
        messages.append(Message("assistant", calls=(model_call,), id=parent))
    else:
        messages[place] = replace(messages[place], calls=(*messages[place].calls, model_call))


DEFAULT = "default"
MAX_TOPICS = 10_000


@dataclass(frozen=True, slots=True)
class CopilotKitRequest:
    turn: Turn
    run: str | None
    """The client's run id; the Turn has its own."""
    agent: str
    has_agent_session: bool
    """The client has selected an agent by name."""

    @property
    def has_client_results(self) -> bool:
        """Whether the request ends with results of client tools."""
        return bool(trailing_results(self.turn.messages))

    @property
    def call_names(self) -> dict[str, str]:
        """Names of the posted calls by id."""
        return {call.id: call.name for message in self.turn.messages for call in message.calls}


def read_request(
    data: wire.GenerateCopilotResponseInput,
    properties: dict[str, Any] | None,
    request: Request,
    host: Host,
    supports_interrupts: bool,
) -> CopilotKitRequest:
    """Convert the input. Without `supports_interrupts` questions are sent as text."""
    check_public_key(data, request)
    messages = build_conversation(data.messages)
    session = data.agent_session
    # A remote agent's question may be plain text without an id: its answer gets the id "".
    remote = session is not None and isinstance(host.describe(session.agent_name), RemoteAgentInfo)
    parsed_answers = (parse_answer(event, default_id="" if remote else None) for event in data.meta_events or ())
    answers = tuple(answer for answer in parsed_answers if answer)
    if not messages and not answers:
        raise CallerError("data.messages: there is nothing to answer.", param="data.messages")
    parameters = data.forwarded_parameters or wire.ForwardedParametersInput()
    if session is not None and session.agent_name not in host.responders:
        raise make_agent_not_found(session.agent_name, host)
    name, model = resolve_agent_and_model(session.agent_name if session else None, parameters.model, properties, host)
    agent = name or (DEFAULT if DEFAULT in host.responders else next(iter(host.responders), DEFAULT))
    client_tools = parse_actions(data.frontend.actions, remote=session is not None)
    has_instructions = any(message.role in ("system", "developer") for message in messages)
    agent_state = find_agent_state(data, agent)
    config = decode_or_none(agent_state.config) if agent_state and agent_state.config else None
    thread = data.thread_id or (session and session.thread_id) or str(uuid.uuid4())
    node = (session and session.node_name) or ""
    forwarded = ForwardedProps(
        properties or {}, parse_extensions(data), config if isinstance(config, dict) else {}, node
    )
    turn = Turn(
        messages=messages,
        assistant=agent,
        model=model,
        tools=client_tools,
        tool_choice=parse_tool_choice(parameters, client_tools, agent, host),
        plugins=parse_plugins_header(request),
        settings=parse_settings(parameters),
        # The client's system message repeats the context; agents do not get that message.
        context=tuple(AppContext(item.description, item.value) for item in data.context or ())
        if session or not has_instructions
        else (),
        state=decode_or_none(agent_state.state) if agent_state else None,
        answers=answers,
        thread=thread,
        # A text answer is matched to its question by the conversation.
        conversation=None if supports_interrupts else thread,
        owner=request.owner,
        client=make_client(data, request, forwarded, supports_interrupts),
        # Requests beside the chat, such as suggestions, are not stored.
        recording="asked" if is_chat(data) else "never",
    )
    return CopilotKitRequest(turn, data.run_id, agent, session is not None)


def check_public_key(data: wire.GenerateCopilotResponseInput, request: Request) -> None:
    """Raise PublicKeyRequired where the page asks for features of the cloud without its key, as the original does."""
    if data.cloud is not None and not request.headers.get(PUBLIC_KEY_HEADER):
        message = "`cloud` needs the page's public API key: send it as X-CopilotCloud-Public-API-Key."
        raise PublicKeyRequired(message, param="data.cloud")


def make_client(
    data: wire.GenerateCopilotResponseInput, request: Request, forwarded: ForwardedProps, supports_interrupts: bool
) -> TurnClient:
    return TurnClient(
        headers=request.forwarded_headers,
        shows_artifacts=False,
        shows_interrupts=supports_interrupts,
        page_url=data.frontend.url or "",
        public_key=request.public_key,
        base_url=request.base,
        topics=parse_topics(data),
        forwarded=forwarded,
    )


def resolve_agent_and_model(
    agent: str | None, model: str | None, properties: dict[str, Any] | None, host: Host
) -> tuple[str | None, str | None]:
    """Return the responder and the model: a selectable model, else the assistant of that name."""
    model_name = model or (properties or {}).get("model")
    model_name = model_name if isinstance(model_name, str) else None
    if agent is not None or model_name in host.list_models(None):
        return agent, model_name
    return host.resolve_responder(model), host.resolve_model(model)


def describe_agent(name: str, host: Host) -> str:
    description = host.describe(name)
    return description.description or description.title if description else ""


def make_agent_not_found(name: str, host: Host) -> AgentNotFound:
    known = ", ".join(host.responders)
    return AgentNotFound(f"Agent {name[:64]!r} was not found. Those that exist: {known}", param="agentName")


def parse_actions(actions: list[wire.ActionInput], *, remote: bool) -> tuple[ToolSpec, ...]:
    """Convert front-end actions to tool specs. Disabled actions are left out, remote ones are for agents only."""
    return tuple(
        parse_action(action, f"data.frontend.actions[{number}]")
        for number, action in enumerate(actions)
        if action.available != "disabled" and (remote or action.available != "remote")
    )


def parse_action(action: wire.ActionInput, place: str) -> ToolSpec:
    place_of_schema = f"{place}.jsonSchema"
    try:
        schema = msgspec.json.decode(action.json_schema or "{}", type=dict[str, Any])
    except (msgspec.DecodeError, msgspec.ValidationError, RecursionError) as error:
        problem = "nested too deeply" if isinstance(error, RecursionError) else str(error)
        message = f"{place_of_schema} of {action.name}: no JSON object: {problem}"
        raise CallerError(message[:500], param=place_of_schema) from None
    try:
        return make_tool_spec(action.name, action.description, schema, place)
    except CallerError as error:
        problem = error.message.removeprefix(f"{place}.parameters: ")
        raise CallerError(f"{place_of_schema} of {action.name}: {problem}"[:500], param=place_of_schema) from None


def parse_tool_choice(
    parameters: wire.ForwardedParametersInput, client_tools: tuple[ToolSpec, ...], agent: str, host: Host
) -> ToolChoice:
    match parameters.tool_choice:
        case ("none" | "required") as mode:
            return ToolChoice(mode)
        case "function" if parameters.tool_choice_function_name:
            known = parameters.tool_choice_function_name in {tool.name for tool in client_tools}
            # An assistant may have a server tool of that name.
            if not known and host.is_plain_model(agent):
                place = "data.forwardedParameters.toolChoiceFunctionName"
                raise CallerError(f"{place}: the request offers no action of this name.", param=place)
            return ToolChoice("named", parameters.tool_choice_function_name)
        case _:
            return ToolChoice()


def parse_settings(parameters: wire.ForwardedParametersInput) -> SamplingSettings:
    tokens = parameters.max_tokens
    if tokens is not None and not 1 <= tokens <= 1e9:
        place = "data.forwardedParameters.maxTokens"
        raise CallerError(f"{place}: expected a number of at least 1.", param=place)
    return SamplingSettings(
        temperature=parameters.temperature,
        max_tokens=None if tokens is None else int(tokens),
        stop=tuple(parameters.stop or ()),
    )


def is_chat(data: wire.GenerateCopilotResponseInput) -> bool:
    """Whether the request is a chat message, not a request for suggestions or the like."""
    return data.metadata.request_type in (None, "Chat")


def parse_topics(data: wire.GenerateCopilotResponseInput) -> ClientTopics:
    """Parse the allowed and denied topics of the page's guardrails."""
    if data.cloud is None or data.cloud.guardrails is None or not is_chat(data):
        return ClientTopics()
    rules = data.cloud.guardrails.input_validation_rules
    parsed = ClientTopics(tuple(rules.allow_list or ()), tuple(rules.deny_list or ()))
    # Bounded, because every topic is searched for in every message.
    if sum(map(len, (*parsed.allow, *parsed.deny))) > MAX_TOPICS:
        place = "data.cloud.guardrails.inputValidationRules"
        raise CallerError(f"{place}: more than {MAX_TOPICS} characters of topics.", param=place)
    return parsed


def find_agent_state(data: wire.GenerateCopilotResponseInput, agent: str) -> wire.AgentStateInput | None:
    listed = [*(data.agent_states or ()), *([data.agent_state] if data.agent_state else ())]
    return next((item for item in reversed(listed) if item.agent_name == agent), None)


def parse_extensions(data: wire.GenerateCopilotResponseInput) -> dict[str, Any]:
    """Return the extensions under their wire names."""
    fields: dict[str, Any] = {} if data.extensions is None else msgspec.to_builtins(data.extensions)
    return {name: value for name, value in fields.items() if value is not None}


def parse_answer(event: wire.MetaEventInput, default_id: str | None = None) -> InterruptAnswer | None:
    """Parse a user's answer. The client echoes our question with its id; `default_id` is for a question without one."""
    question = decode_or_none(event.value)
    question = question if isinstance(question, dict) else {}
    id = question["id"] if isinstance(question.get("id"), str) else default_id
    if event.response is None or id is None:
        return None
    # A component may resolve with a JSON value or with text.
    return parse_legacy_answer(id, event.response, is_text=question.get("kind") == "ask")
