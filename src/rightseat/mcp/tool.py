"""Make Tools of a server's tools, named `server__tool`; elicitations become Asks, which pause the turn."""

from __future__ import annotations

import base64
import binascii
import hashlib
import mimetypes
import re
from collections.abc import AsyncIterator, Container
from typing import Any

import mcp_types as types
from msgspec.structs import asdict

from rightseat.errors import CallerError, UpstreamError
from rightseat.mcp.connect import ConfirmPolicy
from rightseat.mcp.connection import (
    EXPIRED,
    CallFailure,
    CallProgress,
    FinalResult,
    McpConnection,
    RemoteToolCall,
    ServerQuestion,
)
from rightseat.mcp.held_calls import RelayedCall
from rightseat.types.events import Artifact, Custom, Event
from rightseat.types.language import Language
from rightseat.types.schema import get_validator
from rightseat.types.sentences import get_sentence
from rightseat.types.text import escape_invisible, estimate_tokens
from rightseat.types.tools import (
    Ask,
    Effect,
    Pause,
    Result,
    Tool,
    ToolContext,
    error_result,
    is_approved,
    make_approval,
)

MAX_NAME_LENGTH, HASH_LENGTH = 64, 6
INVALID_CHARS = re.compile(r"[^a-zA-Z0-9_-]+")
CHARS_PER_TOKEN = 3
"""Characters of a token at least."""
MAX_DESCRIPTION, MAX_RESULT = 4000, 1 << 20
"""Characters of a description and of a result at most; both are untrusted."""

# Effects of calls that the user must confirm, by the server's `confirm` setting.
CONFIRMED_EFFECTS: dict[ConfirmPolicy, tuple[Effect, ...]] = {
    "all": ("reads", "writes", "dangerous"),
    "writes": ("writes", "dangerous"),
    "dangerous": ("dangerous",),
    "never": (),
}


def convert_result(call: str, name: str, result: types.CallToolResult) -> tuple[list[Artifact], Result]:
    """Return artifacts and the Result: structured content as JSON, else text. Images, audio and files become
    artifacts for the user; the model gets a note about each."""
    artifacts: list[Artifact] = []
    texts: list[str] = []
    for number, block in enumerate(result.content):
        text = get_block_text(block)
        if text is not None:
            texts.append(text)
        elif (file := get_block_file(block, f"{name}-{number + 1}")) is not None:
            artifacts.append(Artifact(f"{call}-{number}", "file", file["name"], file))
            texts.append(f"[{file['name']}, {file['media_type']}: shown to the person]")
    text = "\n".join(texts)
    if result.is_error:
        return artifacts, error_result("tool_failed", text or f"{name} failed and did not say why.")
    if result.structured_content is not None and not artifacts:
        return artifacts, Result(result.structured_content)
    return artifacts, Result(text)


def get_block_text(block: Any) -> str | None:
    match block:
        case types.TextContent(text=text):
            return text
        case types.ResourceLink(uri=uri, name=name):
            return f"{name}: {uri}"
        case types.EmbeddedResource(resource=types.TextResourceContents(text=text)):
            return text
        case _:
            return None


def get_block_file(block: Any, name: str) -> dict[str, Any] | None:
    match block:
        case types.ImageContent(data=data, mime_type=kind) | types.AudioContent(data=data, mime_type=kind):
            pass
        case types.EmbeddedResource(resource=types.BlobResourceContents(blob=data, mime_type=kind)):
            kind = kind or "application/octet-stream"
        case _:
            return None
    try:
        base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError):
        return None
    return {"name": name + (mimetypes.guess_extension(kind) or ""), "media_type": kind, "data": data}


def parse_elicitation(params: Any, language: Language) -> Ask | None:
    """Return the Ask of an elicitation; None if it is of an unknown kind."""
    match params:
        case types.ElicitRequestURLParams(message=message, url=url):
            text = f"{message}\n{get_sentence('open_url', language, url=url)}"
            return make_approval(text)
        case types.ElicitRequestFormParams(message=message, requested_schema=schema):
            # A form without fields is a confirmation.
            if not schema.get("properties"):
                return make_approval(message)
            return Ask(escape_invisible(message, keep="\n"), "form", schema)
        case _:
            return None


def make_elicit_result(ask: Ask, value: Any) -> types.ElicitResult:
    if ask.kind == "confirm":
        return types.ElicitResult(action="accept" if is_approved(value) else "decline", content={})
    return types.ElicitResult(action="accept", content=value if isinstance(value, dict) else {})


def make_name_prefix(server: str) -> str:
    return f"{INVALID_CHARS.sub('_', server)}__"


def make_tool_name(server: str, tool: str, taken: Container[str]) -> str:
    """Make the tool's name for the model: valid and short enough for every upstream, and not in `taken`."""
    name = make_name_prefix(server) + INVALID_CHARS.sub("_", tool)
    is_valid = INVALID_CHARS.search(tool) is None
    if is_valid and len(name) <= MAX_NAME_LENGTH and name not in taken:
        return name
    suffix = hashlib.sha256(f"{server}\0{tool}".encode()).hexdigest()[:HASH_LENGTH]
    return f"{name[: MAX_NAME_LENGTH - HASH_LENGTH - 1]}_{suffix}"


def get_effect(tool: types.Tool) -> Effect:
    """Return the tool's effect by its annotations, which are not verified."""
    hints = tool.annotations
    if hints is not None and hints.read_only_hint is True:
        return "reads"
    return "dangerous" if hints is not None and hints.destructive_hint is True else "writes"


def has_valid_schema(tool: types.Tool) -> bool:
    try:
        get_validator(tool.input_schema)
    except CallerError:
        return False
    return True


def make_tool(connection: McpConnection, tool: types.Tool, name: str) -> Tool:
    async def call(args: dict[str, Any], ctx: ToolContext) -> AsyncIterator[Event | Result | Pause]:
        is_held = "flight" in (ctx.state or {})
        remote_call = (
            await resume_call(connection, tool.name, ctx) if is_held else start_call(connection, tool.name, args, ctx)
        )
        if remote_call is None:
            yield error_result(EXPIRED.code, EXPIRED.message)
            return
        try:
            while isinstance(item := await remote_call.items.get(), CallProgress):
                fields = {"call": ctx.call_id, "tool": name, "progress": item.done}
                optional = {"total": item.total, "message": item.message}
                yield Custom("progress", fields | {key: value for key, value in optional.items() if value is not None})
            for part in finish_call(remote_call, item, ctx):
                yield part
        finally:
            if not remote_call.is_held:
                await remote_call.close()

    return Tool(
        name,
        (tool.description or tool.title or tool.name)[:MAX_DESCRIPTION],
        {"type": "object", **tool.input_schema},
        call,
        confirm=get_effect(tool) in CONFIRMED_EFFECTS[connection.server.confirm],
        timeout=connection.server.timeout,
        effect=get_effect(tool),
        untrusted=True,
    )


def finish_call(
    remote_call: RemoteToolCall | RelayedCall,
    item: ServerQuestion | FinalResult | UpstreamError | CallFailure,
    ctx: ToolContext,
) -> list[Event | Result | Pause]:
    """Convert the call's last item to artifacts and a Result, or to a Pause."""
    language = ctx.turn.get_language()
    match item:
        case ServerQuestion(params):
            return [hold_for_answer(remote_call, params, language)]
        case types.InputRequiredResult():
            return [pause_for_input(item, language)]
        case types.CallToolResult():
            artifacts, result = convert_result(ctx.call_id, remote_call.name, item)
            return [*artifacts, truncate_result(result, ctx.budget)]
        case error:
            return [error_result(error.code, error.message)]


def start_call(connection: McpConnection, name: str, args: dict[str, Any], ctx: ToolContext) -> RemoteToolCall:
    """Start a call, or repeat it with the answers that a stateless server asked for."""
    state = ctx.state or {}
    if not state:
        remote_call = RemoteToolCall(connection, name, args, {})
        remote_call.owner = ctx.turn.owner.name
        return remote_call
    asks = [Ask(**ask) for ask in state["asks"]]
    values = ctx.answers[len(ctx.answers) - len(asks) :]
    answers = {key: make_elicit_result(ask, value) for key, ask, value in zip(state["keys"], asks, values, strict=True)}
    return RemoteToolCall(connection, name, args, {"input_responses": answers, "request_state": state["state"]})


async def resume_call(connection: McpConnection, name: str, ctx: ToolContext) -> RemoteToolCall | RelayedCall | None:
    """Return the held call of a handshake server after passing it the answer; None if it has expired."""
    id, worker = ctx.state["flight"], ctx.state.get("worker", "")
    result = make_elicit_result(Ask(**ctx.state["ask"]), ctx.answers[-1])
    remote_call = connection.held_calls.pop(id, None)
    if remote_call is not None:
        return remote_call if remote_call.resume(result) else None
    if connection.link is None or worker in ("", connection.link.worker):
        return None
    return await connection.link.answer_call(worker, ctx.turn.owner.name, id, name, result)


def hold_for_answer(remote_call: RemoteToolCall | RelayedCall, params: Any, language: Language) -> Pause | Result:
    ask = parse_elicitation(params, language)
    if ask is None:
        return error_result("unsupported", "The server wants something of its client that is no question.")
    remote_call.hold()
    return Pause((ask,), {"flight": remote_call.id, "worker": remote_call.worker, "ask": asdict(ask)})


def pause_for_input(result: types.InputRequiredResult, language: Language) -> Pause | Result:
    """Pause for a stateless server's questions; the call is repeated with the answers."""
    requests = result.input_requests or {}
    asks = [parse_elicitation(getattr(request, "params", None), language) for request in requests.values()]
    if not asks or None in asks:
        return error_result("unsupported", "The server wants something of its client that is no question.")
    questions = tuple(ask for ask in asks if ask is not None)
    state = {"asks": [*map(asdict, questions)], "keys": list(requests), "state": result.request_state}
    return Pause(questions, state)


def truncate_result(result: Result, budget: int | None) -> Result:
    """Truncate a result to the model's budget."""
    if result.failed:
        return result
    text = result.text
    max_characters = MAX_RESULT
    if budget is not None and estimate_tokens(text) > budget:
        max_characters = min(MAX_RESULT, budget * CHARS_PER_TOKEN)
    if len(text) <= max_characters:
        return result
    return Result(f"{text[:max_characters]}\n[cut: the result is too long for the model]")
