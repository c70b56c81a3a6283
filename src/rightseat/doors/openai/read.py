"""Decode OpenAI requests (chat, completion, embedding) into turns."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import UNSET, Struct
from msgspec.structs import replace

from rightseat.doors.openai import wire
from rightseat.doors.openai.messages import parse_messages
from rightseat.doors.openai.tools import CallShape, parse_tool_choice, parse_tools
from rightseat.errors import CallerError
from rightseat.http.endpoint import Host, Request, decode_body, parse_id_header, parse_plugins_header
from rightseat.types.messages import text_message
from rightseat.types.model import InfillPrompt, RawPrompt, SamplingSettings
from rightseat.types.schema import get_validator
from rightseat.types.turn import Turn, TurnClient

MAX_PROMPTS = 8
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
    tools, call_shape = parse_tools(body), CallShape.from_request(body, streamed=request.stream_arguments)
    schema, response_format = parse_response_format(body)
    turn = Turn(
        messages=parse_messages(body.messages),
        assistant=host.resolve_responder(body.model),
        model=host.resolve_model(body.model),
        tools=tools,
        tool_choice=parse_tool_choice(body, tools),
        plugins=tuple(body.plugins or ()) or parse_plugins_header(request),
        output_schema=schema,
        settings=replace(parse_settings(body), extra=collect_extra(body) | response_format),
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
        repeat_turn(turn, body.n or 1, host),
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
        raise CallerError(
            "n: an assistant gives only one answer. Send n = 1, or name a model instead of an assistant.", param="n"
        )
    return (turn, *(replace(turn, run=f"{turn.run}-{index}") for index in range(1, choices)))


def read_completion(request: Request, host: Host) -> OpenAIRequest:
    body = decode_body(request.body, wire.CompletionRequest)
    name = host.resolve_responder(body.model)
    supports_raw = host.supports_completion(name)
    validate_completion(body, supports_raw)
    # The legacy `logprobs` number is two fields in a chat request.
    logprobs = {} if body.logprobs is None else {"logprobs": True, "top_logprobs": body.logprobs}
    extra_fields = {key: value for key, value in collect_extra(body).items() if key != "logprobs"} | logprobs
    turns = tuple(
        Turn(
            messages=(text_message("user", prompt if isinstance(prompt, str) else ""),),
            raw=make_raw_prompt(body, prompt) if supports_raw else None,
            assistant=name,
            model=host.resolve_model(body.model),
            settings=replace(parse_settings(body), extra=extra_fields),
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
        for number, prompt in enumerate(split_prompts(body.prompt))
    )
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
    if body.grammar is not None:
        raise CallerError("grammar: this model supports no grammar. Use a local model.", param="grammar")
    if not all(isinstance(prompt, str) for prompt in split_prompts(body.prompt)):
        raise CallerError("prompt: this model accepts text only. Send text instead of tokens.", param="prompt")


def make_raw_prompt(body: wire.CompletionRequest, prompt: str | list[int]) -> RawPrompt:
    text = prompt if isinstance(prompt, str) else tuple(prompt)
    if not text:
        raise CallerError("prompt: the prompt is empty. Send text to continue.", param="prompt")
    infill = InfillPrompt(body.suffix) if body.suffix else None
    return RawPrompt(text, body.grammar or "", body.logprobs, bool(body.echo), infill=infill)


def read_embedding(request: Request, host: Host) -> tuple[str | None, str, dict[str, Any]]:
    """Return the responder's name, the model name as requested, and the request body without `model`."""
    body = decode_body(request.body, wire.EmbeddingRequest)
    fields = msgspec.to_builtins(body)
    fields.pop("model", None)
    return host.resolve_responder(body.model), body.model or "default", fields


def parse_response_format(body: wire.ChatRequest) -> tuple[dict[str, Any] | None, dict[str, Any]]:
    """Return the answer's JSON schema, and `response_format` as it is forwarded to an upstream."""
    match body.response_format:
        case wire.JsonObjectFormat():
            return {"type": "object"}, {"response_format": {"type": "json_object"}}
        case wire.JsonSchemaFormat(json_schema):
            try:
                get_validator(json_schema.schema)
            except CallerError as error:
                place = "response_format.json_schema.schema"
                raise CallerError(f"{place}: {error.message}", param=place) from None
            encoded = msgspec.to_builtins(json_schema)
            fields = {name: value for name, value in encoded.items() if value is not None}
            return json_schema.schema, {"response_format": {"type": "json_schema", "json_schema": fields}}
        case _:
            return None, {}


def parse_settings(body: wire.ChatRequest | wire.CompletionRequest) -> SamplingSettings:
    chat = body if isinstance(body, wire.ChatRequest) else None
    return SamplingSettings(
        temperature=body.temperature,
        top_p=body.top_p,
        max_tokens=(chat and chat.max_completion_tokens) or body.max_tokens,
        stop=(body.stop,) if isinstance(body.stop, str) else tuple(body.stop or ()),
        seed=body.seed,
        # The function API of 2023 has room for one call.
        parallel_calls=False if chat and chat.functions else chat.parallel_tool_calls if chat else None,
    )


def collect_extra(body: wire.ChatRequest | wire.CompletionRequest) -> dict[str, Any]:
    """Collect the allow-listed fields that are set and forwarded to an OpenAI-compatible upstream."""
    fields = {name: getattr(body, name, None) for name in wire.PASSTHROUGH_FIELDS if hasattr(body, name)}
    return {name: value for name, value in fields.items() if value is not UNSET}


def wants_usage(body: wire.ChatRequest | wire.CompletionRequest) -> bool:
    return bool(body.stream_options and body.stream_options.include_usage)
