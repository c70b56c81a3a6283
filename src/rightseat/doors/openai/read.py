"""Decode OpenAI requests (chat, completion, embedding) into turns."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import UNSET, Struct
from msgspec.structs import replace

from rightseat.doors.openai import wire
from rightseat.doors.openai.fields import CHAT_FIELDS, COMPLETION_FIELDS, EMBEDDING_FIELDS, check_fields
from rightseat.doors.openai.messages import parse_messages
from rightseat.doors.openai.settings import (
    check_schema,
    parse_chat_settings,
    parse_completion_settings,
    parse_response_format,
)
from rightseat.doors.openai.tools import CallShape, parse_tool_choice, parse_tools
from rightseat.errors import CallerError
from rightseat.http.endpoint import Host, Request, decode_body, parse_id_header, parse_plugins_header
from rightseat.types.messages import text_message
from rightseat.types.model import InfillPrompt, RawPrompt, ToolChoice
from rightseat.types.turn import Turn, TurnClient

MAX_PROMPTS = 8
ONE_ANSWER = "n: an assistant gives only one answer. Send n = 1, or name a model instead of an assistant."
NO_MESSAGES = (
    "messages: there are none. Send at least one message, or name a flow or one plugin with a predefined_question."
)


class OpenAIRequest(Struct, frozen=True):
    """A decoded request: one turn for each choice, and the options of the response."""

    turns: tuple[Turn, ...]
    model: str
    stream: bool
    include_usage: bool
    legacy: bool = False
    call_shape: CallShape = CallShape()
    fingerprint: str = ""


def read_chat(request: Request, host: Host) -> OpenAIRequest:
    body = decode_body(request.body, wire.ChatRequest)
    check_fields(request.body, CHAT_FIELDS)
    tools, call_shape = parse_tools(body), CallShape.from_request(body, streamed=request.stream_arguments)
    turn = Turn(
        messages=parse_messages(body.messages),
        assistant=host.resolve_responder(body.model),
        model=host.resolve_model(body.model),
        tools=tools,
        # The caller's grammar leaves no room for calls of the assistant's own tools.
        tool_choice=ToolChoice("none") if body.grammar else parse_tool_choice(body, tools),
        plugins=tuple(body.plugins or ()) or parse_plugins_header(request),
        output_schema=parse_response_format(body)[0],
        settings=parse_chat_settings(body),
        owner=request.owner,
        client=TurnClient(
            headers=request.forwarded_headers,
            shows_interrupts=False,
            shows_artifacts=False,
            shows_suggestions=False,
            returns_call_ids=not call_shape.legacy,
            base_url=request.base,
            session=body.session_id or body.prompt_cache_key or None,
            parent=body.parent_session_id,
        ),
        run=request.id,
        conversation=parse_id_header(request, "x-thread-id"),
        truncation=body.truncation,
    )
    if not turn.messages and not host.fills_empty_question(turn):
        raise CallerError(NO_MESSAGES, param="messages")
    check_required_call(turn, host)
    return OpenAIRequest(
        repeat_turn(turn, body.n or body.n_cmpl or 1, host),
        body.model or "default",
        bool(body.stream),
        wants_usage(body),
        call_shape=call_shape,
        fingerprint=host.get_fingerprint(turn.assistant),
    )


def check_required_call(turn: Turn, host: Host) -> None:
    if turn.tool_choice.mode == "required" and not turn.tools and host.is_plain_model(turn.assistant):
        raise CallerError("tool_choice: a call is required, but there are no tools. Send `tools`.", param="tool_choice")


def repeat_turn(turn: Turn, choices: int, host: Host) -> tuple[Turn, ...]:
    """Return the turn once for each choice. Only a bare model takes several: assistants have side effects."""
    if choices > 1 and not host.is_plain_model(turn.assistant):
        raise CallerError(ONE_ANSWER, param="n")
    return (turn, *(replace(turn, run=f"{turn.run}-{index}") for index in range(1, choices)))


def read_completion(request: Request, host: Host) -> OpenAIRequest:
    body = decode_body(request.body, wire.CompletionRequest)
    check_fields(request.body, COMPLETION_FIELDS)
    name = host.resolve_responder(body.model)
    supports_raw = host.supports_completion(name)
    validate_completion(body, supports_raw)
    settings = parse_completion_settings(body)
    if supports_raw:
        # The raw prompt has it.
        settings = replace(settings, extra={key: settings.extra[key] for key in settings.extra if key != "grammar"})
    schema = None if body.json_schema in (UNSET, None) else check_schema(body.json_schema, "json_schema")
    choices = body.n or body.n_cmpl or 1
    prompts = split_prompts(body.prompt)
    if len(prompts) * choices > MAX_PROMPTS:
        raise CallerError(f"n: ask for at most {MAX_PROMPTS} answers in one request.", param="n")
    turns = tuple(
        Turn(
            messages=(text_message("user", prompt if isinstance(prompt, str) else ""),),
            raw=make_raw_prompt(body, prompt, schema) if supports_raw else None,
            output_schema=None if supports_raw else schema,
            assistant=name,
            model=host.resolve_model(body.model),
            settings=settings,
            owner=request.owner,
            client=TurnClient(
                headers=request.trace_headers,
                shows_interrupts=False,
                shows_artifacts=False,
                shows_suggestions=False,
                base_url=request.base,
            ),
            run=request.id if number == 0 else f"{request.id}-{number}",
        )
        for number, prompt in enumerate(prompt for prompt in prompts for _ in range(choices))
    )
    # A raw prompt calls no tools, so an assistant's has no side effects.
    if choices > 1 and not supports_raw and not host.is_plain_model(name):
        raise CallerError(ONE_ANSWER, param="n")
    return OpenAIRequest(
        turns,
        body.model or "default",
        bool(body.stream),
        wants_usage(body),
        legacy=True,
        fingerprint=host.get_fingerprint(name),
    )


def split_prompts(prompt: str | list[str | int | list[int]]) -> list[str | list[int]]:
    """Split `prompt` into texts and token lists; a flat list of numbers is one token list."""
    if isinstance(prompt, str):
        return [prompt]
    numbers = [item for item in prompt if isinstance(item, int)]
    others = [item for item in prompt if not isinstance(item, int)]
    if numbers and others:
        raise CallerError("prompt: do not mix tokens and texts. Send one kind.", param="prompt")
    if len(others) > MAX_PROMPTS:
        raise CallerError(f"prompt: send at most {MAX_PROMPTS} prompts in one request.", param="prompt")
    return others or [numbers]


def validate_completion(body: wire.CompletionRequest, supports_raw: bool) -> None:
    """Refuse options that need a model with raw completion (`supports_raw`)."""
    if body.echo and body.logprobs is not None:
        raise CallerError("echo: cannot be combined with logprobs. Leave one out.", param="echo")
    if body.suffix and body.echo:
        raise CallerError("echo: cannot be combined with suffix. Leave one out.", param="echo")
    if supports_raw:
        return
    if body.suffix:
        raise CallerError(
            "suffix: this model cannot fill in text before a suffix. Leave it out and put all text into `prompt`, or "
            "use a local code model.",
            param="suffix",
        )
    if body.echo:
        raise CallerError("echo: this model cannot return the prompt. Leave it out.", param="echo")
    if not all(isinstance(prompt, str) for prompt in split_prompts(body.prompt)):
        raise CallerError("prompt: this model accepts text only. Send text instead of tokens.", param="prompt")


def make_raw_prompt(body: wire.CompletionRequest, prompt: str | list[int], schema: dict[str, Any] | None) -> RawPrompt:
    text = prompt if isinstance(prompt, str) else tuple(prompt)
    if not text:
        raise CallerError("prompt: the prompt is empty. Send text to continue.", param="prompt")
    infill = InfillPrompt(body.suffix) if body.suffix else None
    return RawPrompt(text, body.grammar or "", body.logprobs, bool(body.echo), schema=schema, infill=infill)


def read_embedding(request: Request, host: Host) -> tuple[str | None, str, dict[str, Any]]:
    """Return the responder's name, the model name as requested, and the request body without `model`."""
    body = decode_body(request.body, wire.EmbeddingRequest)
    check_fields(request.body, EMBEDDING_FIELDS)
    if body.input == []:
        raise CallerError("input: there are no texts. Send at least one.", param="input")
    fields = {name: value for name, value in msgspec.to_builtins(body).items() if name != "model" and value is not None}
    return host.resolve_responder(body.model), body.model or "default", fields


def wants_usage(body: wire.ChatRequest | wire.CompletionRequest) -> bool:
    return bool(body.stream_options and body.stream_options.include_usage)
