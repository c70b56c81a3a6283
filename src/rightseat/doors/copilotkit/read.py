"""Convert GenerateCopilotResponseInput to a Turn."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from typing import Any

import msgspec
from msgspec.structs import replace

from rightseat.doors.copilotkit.history import conversation
from rightseat.doors.copilotkit.wire import Action, AgentState, Data, MetaEvent, Parameters
from rightseat.engine.history import tail_results
from rightseat.errors import AgentNotFound, CallerError
from rightseat.http.endpoint import Host, Request, client_spec, pinned
from rightseat.types.agents import Guest
from rightseat.types.model import Settings, ToolChoice, ToolSpec
from rightseat.types.turn import Answer, Context, Forwarded, Topics, Turn

DEFAULT = "default"
MAX_TOPICS = 10_000


@dataclass(frozen=True, slots=True)
class Asked:
    turn: Turn
    run: str | None
    """The client's run id; the Turn has its own."""
    agent: str
    session: bool
    """The client has selected an agent by name."""

    @property
    def brought(self) -> bool:
        """Whether the request ends with results of client tools."""
        return bool(tail_results(self.turn.messages))

    @property
    def names(self) -> dict[str, str]:
        """Names of the posted calls by id."""
        return {call.id: call.name for message in self.turn.messages for call in message.calls}


def read(
    data: Data, properties: dict[str, Any] | None, request: Request, host: Host, *, asks: bool = True
) -> Asked:
    """Convert the input. Without `supports_interrupts` questions are sent as text."""
    messages = conversation(data.messages)
    session = data.agent_session
    # A remote agent's question may be plain text without an id: its answer gets the id "".
    remote = session is not None and isinstance(host.described(session.agent_name), Guest)
    told = (answered(event, otherwise="" if remote else None) for event in data.meta_events or ())
    answers = tuple(answer for answer in told if answer)
    if not messages and not answers:
        raise CallerError("data.messages: there is nothing to answer.", param="data.messages")
    given = data.forwarded_parameters or Parameters()
    if session is not None and session.agent_name not in host.responders:
        raise no_agent(session.agent_name, host)
    name, model = asked_for(session.agent_name if session else None, given.model, properties, host)
    agent = name or next((known for known in host.responders if known == DEFAULT), None) or first(host)
    offered = tools(data.frontend.actions, remote=session is not None)
    spoken = any(message.role in ("system", "developer") for message in messages)
    thread = data.thread_id or (session and session.thread_id) or str(uuid.uuid4())
    turn = Turn(
        messages=messages,
        assistant=agent,
        model=model,
        tools=offered,
        tool_choice=choice(given, offered, agent, host),
        plugins=pinned(request),
        settings=settings(given),
        # The client's system message repeats the context; agents do not get that message.
        context=tuple(Context(item.description, item.value) for item in data.context or ())
        if session or not spoken
        else (),
        state=state(data, agent),
        answers=answers,
        thread=thread,
        # A text answer is matched to its question by the conversation.
        conversation=None if asks else thread,
        owner=request.owner,
        headers=request.passed,
        shows_artifacts=False,
        shows_interrupts=asks,
        base=request.base,
        topics=topics(data),
        forwarded=Forwarded(
            properties or {}, extensions(data), config(data, agent), (session and session.node_name) or ""
        ),
        # Requests beside the chat, such as suggestions, are not stored.
        keep="asked" if chat(data) else "never",
    )
    return Asked(turn, data.run_id, agent, session is not None)


def asked_for(
    agent: str | None, model: str | None, properties: dict[str, Any] | None, host: Host
) -> tuple[str | None, str | None]:
    """Return the responder and the model: a selectable model, else the assistant of that name."""
    wanted = model or (properties or {}).get("model")
    wanted = wanted if isinstance(wanted, str) else None
    if agent is not None or wanted in host.offered(None):
        return agent, wanted
    return host.resolve(model), host.picked(model)


def first(host: Host) -> str:
    return next(iter(host.responders), DEFAULT)


def no_agent(name: str, host: Host) -> AgentNotFound:
    known = ", ".join(host.responders)
    return AgentNotFound(f"Agent {name[:64]!r} was not found. Those that exist: {known}", param="agentName")


def tools(actions: list[Action], *, remote: bool) -> tuple[ToolSpec, ...]:
    """Convert front-end actions to tool specs. Disabled actions are left out, remote ones are for agents
    only."""
    return tuple(
        spec(action, f"data.frontend.actions[{number}]")
        for number, action in enumerate(actions)
        if action.available != "disabled" and (remote or action.available != "remote")
    )


def spec(action: Action, place: str) -> ToolSpec:
    place_of_schema = f"{place}.jsonSchema"
    try:
        schema = msgspec.json.decode(action.json_schema or "{}", type=dict[str, Any])
    except (msgspec.DecodeError, msgspec.ValidationError, RecursionError) as error:
        problem = "nested too deeply" if isinstance(error, RecursionError) else str(error)
        message = f"{place_of_schema} of {action.name}: no JSON object: {problem}"
        raise CallerError(message[:500], param=place_of_schema) from None
    try:
        return client_spec(action.name, action.description, schema, place)
    except CallerError as error:
        problem = error.message.removeprefix(f"{place}.parameters: ")
        raise CallerError(
            f"{place_of_schema} of {action.name}: {problem}"[:500], param=place_of_schema
        ) from None


def choice(given: Parameters, offered: tuple[ToolSpec, ...], agent: str, host: Host) -> ToolChoice:
    match given.tool_choice:
        case "none":
            return ToolChoice("none")
        case "required":
            return ToolChoice("required")
        case "function" if given.tool_choice_function_name:
            known = given.tool_choice_function_name in {tool.name for tool in offered}
            # An assistant may have a server tool of that name.
            if not known and host.bare(agent):
                place = "data.forwardedParameters.toolChoiceFunctionName"
                raise CallerError(f"{place}: there is no such action among those offered.", param=place)
            return ToolChoice("named", given.tool_choice_function_name)
        case _:
            return ToolChoice()


def settings(given: Parameters) -> Settings:
    tokens = given.max_tokens
    if tokens is not None and not 1 <= tokens <= 1e9:
        place = "data.forwardedParameters.maxTokens"
        raise CallerError(f"{place}: expected a number from 1 on.", param=place)
    return Settings(
        temperature=given.temperature,
        max_tokens=None if tokens is None else int(tokens),
        stop=tuple(given.stop or ()),
    )


def chat(data: Data) -> bool:
    """Whether the request is a chat message, not a request for suggestions or the like."""
    return data.metadata.request_type in (None, "Chat")


def topics(data: Data) -> Topics:
    """Parse the allowed and denied topics of the page's guardrails."""
    if data.cloud is None or data.cloud.guardrails is None or not chat(data):
        return Topics()
    rules = data.cloud.guardrails.input_validation_rules
    found = Topics(tuple(rules.allow_list or ()), tuple(rules.deny_list or ()))
    # Bounded, because every topic is searched for in every message.
    if sum(map(len, (*found.allow, *found.deny))) > MAX_TOPICS:
        place = "data.cloud.guardrails.inputValidationRules"
        raise CallerError(f"{place}: more than {MAX_TOPICS} characters of topics.", param=place)
    return found


def state(data: Data, agent: str) -> Any:
    """Parse the client's state of the agent; None if it is not JSON."""
    found = known(data, agent)
    return None if found is None else decoded(found.state)


def config(data: Data, agent: str) -> dict[str, Any]:
    """Parse the client's configuration for the agent."""
    found = known(data, agent)
    given = decoded(found.config) if found is not None and found.config else None
    return given if isinstance(given, dict) else {}


def known(data: Data, agent: str) -> AgentState | None:
    listed = [*(data.agent_states or ()), *([data.agent_state] if data.agent_state else ())]
    return next((item for item in reversed(listed) if item.agent_name == agent), None)


def extensions(data: Data) -> dict[str, Any]:
    """Return the extensions under their wire names."""
    given: dict[str, Any] = {} if data.extensions is None else msgspec.to_builtins(data.extensions)
    return {name: value for name, value in given.items() if value is not None}


def decoded(text: str) -> Any:
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError):
        return None


def answered(event: MetaEvent, otherwise: str | None = None) -> Answer | None:
    """Parse a user's answer. The client echoes our question with its id; `default_id` is for a question
    without one."""
    asked = decoded(event.value)
    asked = asked if isinstance(asked, dict) else {}
    id = asked["id"] if isinstance(asked.get("id"), str) else otherwise
    if event.response is None or id is None:
        return None
    answer = Answer(id, text=event.response)
    if asked.get("kind") == "ask":
        return answer
    value = decoded(event.response)
    # A component may resolve with a JSON value or with text.
    if isinstance(value, dict | list | bool):
        return replace(answer, payload=value, text=None)
    return answer
