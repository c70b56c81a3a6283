"""One tools/call: its turn, its runs, the elicitations between them, and the JSON-RPC messages sent."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import AsyncIterator
from typing import Any

import msgspec
from msgspec.structs import replace

from rightseat.doors.mcp.active_calls import McpCallRegistry
from rightseat.doors.mcp.catalog import list_ask_tools, make_unknown_error
from rightseat.doors.mcp.wire import INVALID_PARAMS, JsonRpcError, McpRequest, make_response
from rightseat.engine.toolsets import DIRECT_CALLS
from rightseat.http.endpoint import ID_PATTERN, Host, Request
from rightseat.types.events import CallResult, CallStart, Custom, Event, Interrupt, RunFailed, StepStart
from rightseat.types.messages import Message, ToolCall, text_message
from rightseat.types.output import RunOutput
from rightseat.types.streams import closing, merge
from rightseat.types.text import decode_or_none
from rightseat.types.turn import InterruptAnswer, Turn, TurnClient

MAX_ROUNDS = 10
ANSWER_TIMEOUT = 600.0
"""Seconds that a user has to answer while the client's request is open."""
ANSWER_FIELD = "answer"
PRIMITIVE_TYPES = ("string", "number", "integer", "boolean")
FORM_KEYWORDS = ("type", "title", "description", "enum", "default", "minimum", "maximum", "minLength", "maxLength")


def make_elicitation(question: Interrupt) -> dict[str, Any]:
    """Make the elicitation/create request for a question."""
    params = {"mode": "form", "message": question.message, "requestedSchema": make_form_schema(question)}
    return {"method": "elicitation/create", "params": params}


def make_form_schema(question: Interrupt) -> dict[str, Any]:
    schema = question.schema
    if question.kind == "ask":
        schema = {"properties": {ANSWER_FIELD: schema}, "required": [ANSWER_FIELD]}
    fields = schema.get("properties")
    fields = fields if isinstance(fields, dict) else {}
    required = [name for name in schema.get("required", ()) if name in fields]
    # Optional nested fields are left out: a flat form cannot show them.
    shown = {name: field for name, field in fields.items() if name in required or not is_nested(field)}
    form_schema: dict[str, Any] = {"type": "object", "properties": {name: flatten_field(shown[name]) for name in shown}}
    return form_schema | ({"required": required} if required else {})


def is_nested(field: Any) -> bool:
    return isinstance(field, dict) and field.get("type") in ("object", "array")


def flatten_field(field: Any) -> dict[str, Any]:
    """Reduce a field's schema to what a form can show; other types become strings, checked when answered."""
    schema = field if isinstance(field, dict) else {}
    flat = {key: schema[key] for key in FORM_KEYWORDS if key in schema}
    if "enum" in flat:
        return {**flat, "type": "string", "enum": [str(value) for value in flat["enum"]]}
    return flat if flat.get("type") in PRIMITIVE_TYPES else {**flat, "type": "string"}


def parse_answer(key: str, result: Any) -> InterruptAnswer:
    """Parse the result for key `KIND.ID`. A decline rejects a confirm and cancels any other question."""
    kind, _, id = key.partition(".")
    match result:
        case {"action": "accept", "content": {**content}}:
            return InterruptAnswer(id, payload=content.get(ANSWER_FIELD) if kind == "ask" else content)
        case {"action": "decline"} if kind == "confirm":
            return InterruptAnswer(id, payload={"approved": False})
        case _:
            return InterruptAnswer(id, "cancelled")


def make_turn(rpc: McpRequest, request: Request, host: Host) -> Turn:
    """Make the turn of a tools/call: a user message for an `ask_NAME` tool, else a direct tool call."""
    name = rpc.require_text("name")
    arguments = rpc.params.get("arguments") or {}
    if not isinstance(arguments, dict):
        raise JsonRpcError(INVALID_PARAMS, "arguments: an object is expected.")
    if name in host.tools:
        call = ToolCall("call", name, msgspec.json.encode(arguments).decode())
        messages, assistant = (Message("assistant", calls=(call,)),), DIRECT_CALLS
    elif ask_tool := list_ask_tools(host).get(name):
        text = arguments.get("request")
        if not isinstance(text, str) or not text.strip():
            raise JsonRpcError(INVALID_PARAMS, "arguments.request: say what is wanted, in words.")
        messages, assistant = (text_message("user", text),), ask_tool.responder
    else:
        raise make_unknown_error("tool", name, [*host.tools, *list_ask_tools(host)])
    state = rpc.params.get("requestState")
    # A stateless client sends the answers when it repeats the call.
    responses = rpc.params.get("inputResponses")
    answers = responses.items() if isinstance(responses, dict) else ()
    return Turn(
        messages=messages,
        assistant=assistant,
        answers=tuple(parse_answer(key, value) for key, value in answers),
        thread=state if isinstance(state, str) and ID_PATTERN.fullmatch(state) else "",
        owner=request.owner,
        client=TurnClient(headers=request.forwarded_headers, base_url=request.base, shows_artifacts=False),
    )


def describe_progress(event: Event) -> str | None:
    """Return the progress message for an event, if any."""
    match event:
        case CallStart(name=name):
            return f"calls {name}"
        case StepStart(name=name):
            return name
        case Custom(name="progress", value={"message": str(text)}):
            return text
        case _:
            return None


def format_output(output: RunOutput, *, direct_call: bool) -> dict[str, Any]:
    """Format the result of a direct call, followed by other text of the run, such as a link to a file; else the
    assistant's text: results of its own tools are ignored."""
    text = output.join_texts().strip()
    results = [item for item in output.items if isinstance(item, CallResult)] if direct_call else []
    if not results:
        return {"content": [text_content(text)]}
    result = results[-1]
    value = decode_or_none(result.content)
    if result.failed:
        match value:
            case {"error": {"message": str(message)}}:
                return format_error(message)
            case _:
                return format_error(result.content)
    content = [text_content(result.content), *([text_content(text)] if text else [])]
    tool_result: dict[str, Any] = {"content": content}
    if isinstance(value, dict):
        tool_result["structuredContent"] = value
    return tool_result


def format_questions(rpc: McpRequest, questions: list[Interrupt], thread: str) -> dict[str, Any]:
    """Return `input_required` to a stateless client with elicitation, else an error with the questions."""
    if rpc.stateless and rpc.supports_elicitation:
        requests = {f"{question.kind}.{question.id}": make_elicitation(question) for question in questions}
        return {"resultType": "input_required", "inputRequests": requests, "requestState": thread}
    listing = "\n".join(f"{question.message} ({question.id})" for question in questions)
    reason = "This needs a person's answer, and this client cannot ask (it offers no elicitation):"
    return format_error(f"{reason}\n{listing}")


def format_error(message: str) -> dict[str, Any]:
    return {"content": [text_content(message)], "isError": True}


def text_content(value: str) -> dict[str, Any]:
    return {"type": "text", "text": value}


class ServedToolCall:
    """One tools/call: one run, or several with elicitations of a handshake client between them."""

    def __init__(
        self, registry: McpCallRegistry, rpc: McpRequest, turn: Turn, host: Host, *, asks_client: bool
    ) -> None:
        self.registry = registry
        self.rpc = rpc
        self.turn = replace(turn, thread=turn.thread or secrets.token_hex(12))
        self.host = host
        self.asks_client = asks_client
        self.output = RunOutput()
        self.error: RunFailed | None = None
        self.progress = 0
        self.cancelled = False
        self.wake = asyncio.Event()

    def cancel(self) -> None:
        self.cancelled = True
        self.wake.set()

    async def stream_messages(self) -> AsyncIterator[dict[str, Any]]:
        """Yield progress, questions and finally the response. A cancelled call has no response."""
        key = (self.turn.owner.name, self.rpc.session, str(self.rpc.id))
        self.registry.active_calls[key] = self.cancel
        try:
            for _ in range(MAX_ROUNDS):
                async with closing(self.stream_run()) as run_messages:
                    async for message in run_messages:
                        yield message
                if self.cancelled or not (self.output.interrupts and self.asks_client):
                    break
                async with closing(self.stream_questions()) as questions:
                    async for message in questions:
                        yield message
        finally:
            if self.registry.active_calls.get(key) == self.cancel:
                del self.registry.active_calls[key]
        if not self.cancelled:
            yield make_response(self.rpc, self.make_result())

    def make_result(self) -> dict[str, Any]:
        if self.error is not None:
            return format_error(self.error.message)
        if self.output.interrupts:
            return format_questions(self.rpc, self.output.interrupts, self.turn.thread)
        return format_output(self.output, direct_call=self.turn.assistant == DIRECT_CALLS)

    async def stream_run(self) -> AsyncIterator[dict[str, Any]]:
        """Run the turn once; yield progress notifications if the client sent a progress token."""
        self.output = RunOutput()
        self.error = None
        self.wake.clear()
        # The run has its own task, so that it can be cancelled while it waits.
        async with closing(merge(self.stream_events(), self.stream_cancellation())) as events:
            async for _, event in events:
                if event is None:
                    return
                self.output.add_event(event)
                if isinstance(event, RunFailed):
                    self.error = event
                token, message = self.rpc.progress_token, describe_progress(event)
                if token is not None and message is not None:
                    self.progress += 1
                    params = {"progressToken": token, "progress": self.progress, "message": message}
                    yield {"jsonrpc": "2.0", "method": "notifications/progress", "params": params}

    async def stream_events(self) -> AsyncIterator[Event | None]:
        async with closing(self.host.run(self.turn)) as events:
            async for event in events:
                yield event
        self.wake.set()

    async def stream_cancellation(self) -> AsyncIterator[Event | None]:
        await self.wake.wait()
        if self.cancelled:
            yield None

    async def stream_questions(self) -> AsyncIterator[dict[str, Any]]:
        """Send elicitations on the request's own stream and wait for the answers that the client posts."""
        answers: list[InterruptAnswer] = []
        for question in self.output.interrupts:
            id = f"ask-{secrets.token_hex(16)}"
            key = (self.turn.owner.name, self.rpc.session, id)
            future = self.registry.pending_answers[key] = asyncio.get_running_loop().create_future()
            try:
                yield {"jsonrpc": "2.0", "id": id, **make_elicitation(question)}
                answers.append(parse_answer(f"{question.kind}.{question.id}", await self.wait_for_answer(future)))
            finally:
                del self.registry.pending_answers[key]
        self.turn = replace(self.turn, answers=tuple(answers))

    async def wait_for_answer(self, future: asyncio.Future[dict[str, Any]]) -> dict[str, Any]:
        self.wake.clear()
        woken = asyncio.ensure_future(self.wake.wait())
        either: set[asyncio.Future[Any]] = {future, woken}
        try:
            await asyncio.wait(either, timeout=ANSWER_TIMEOUT, return_when=asyncio.FIRST_COMPLETED)
        finally:
            woken.cancel()
        return future.result() if future.done() else {"action": "cancel"}
