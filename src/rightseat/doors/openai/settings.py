"""Settings, output form and continued message of chat and completion requests, and contradictions among them."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import UNSET

from rightseat.doors.openai import wire
from rightseat.doors.openai.fields import CHAT_FIELDS, COMPLETION_FIELDS, list_settings
from rightseat.errors import CallerError
from rightseat.types.model import SamplingSettings
from rightseat.types.schema import get_validator
from rightseat.types.settings import CONTINUE, CONTINUE_IF_POSSIBLE

# Fields of SamplingSettings itself, and those that only make sense together with others.
_PARSED_APART = {"temperature", "top_p", "max_tokens", "stop", "seed", "parallel_tool_calls", CONTINUE}
_CHAT_EXTRA = tuple(field.name for field in list_settings(CHAT_FIELDS) if field.name not in _PARSED_APART)
_COMPLETION_EXTRA = tuple(
    field.name for field in list_settings(COMPLETION_FIELDS) if field.name not in _PARSED_APART | {"logprobs"}
)
# OpenAI's bias of a token that never comes.
_BAN = -100


def parse_chat_settings(body: wire.ChatRequest) -> SamplingSettings:
    """Parse the settings of a chat; raise CallerError for contradictions."""
    schema, response_format = parse_response_format(body)
    if body.grammar and (schema is not None or may_call(body)):
        other = "tools" if schema is None else "a JSON schema"
        raise CallerError(f"grammar: it cannot be combined with {other}. Leave one out.", param="grammar")
    extra = collect_extra(body, _CHAT_EXTRA) | parse_continuation(body, has_schema=schema is not None)
    if extra.get("top_logprobs") and not extra.get("logprobs"):
        raise CallerError("top_logprobs: it needs logprobs. Send logprobs: true.", param="top_logprobs")
    # The function API of 2023 has room for one call.
    parallel_calls = False if body.functions else body.parallel_tool_calls
    return _make_settings(body, extra | response_format, body.max_completion_tokens, parallel_calls)


def may_call(body: wire.ChatRequest) -> bool:
    """Tell whether the answer may call a tool of the request."""
    return bool(body.tools and body.tool_choice != "none") or bool(body.functions and body.function_call != "none")


def parse_completion_settings(body: wire.CompletionRequest) -> SamplingSettings:
    if body.grammar and body.json_schema not in (UNSET, None):
        raise CallerError("grammar: it cannot be combined with a JSON schema. Leave one out.", param="grammar")
    extra = collect_extra(body, _COMPLETION_EXTRA)
    if body.logprobs is not None:
        # The older form's number is two fields in a chat request.
        extra |= {"logprobs": True, "top_logprobs": body.logprobs}
    return _make_settings(body, extra)


def _make_settings(
    body: wire.ChatRequest | wire.CompletionRequest,
    extra: dict[str, Any],
    max_completion_tokens: int | None = None,
    parallel_calls: bool | None = None,
) -> SamplingSettings:
    return SamplingSettings(
        temperature=body.temperature,
        top_p=body.top_p,
        max_tokens=parse_token_limit(body, max_completion_tokens),
        # An empty stop word stops nothing, and vendors refuse it.
        stop=tuple(filter(None, [body.stop] if isinstance(body.stop, str) else body.stop or ())),
        seed=body.seed,
        parallel_calls=parallel_calls,
        extra=extra,
    )


def parse_token_limit(body: wire.ChatRequest | wire.CompletionRequest, max_completion_tokens: int | None) -> int | None:
    """Return the most tokens of the answer; a negative number is no limit. llama-server's own field wins."""
    limits = {
        "n_predict": body.n_predict,
        "max_completion_tokens": max_completion_tokens,
        "max_tokens": body.max_tokens,
    }
    for name, limit in limits.items():
        if limit is UNSET or limit is None:
            continue
        if limit == 0:
            raise CallerError(f"{name}: send at least 1, or -1 for no limit.", param=name)
        return limit if limit > 0 else None
    return None


def collect_extra(body: wire.ChatRequest | wire.CompletionRequest, names: tuple[str, ...]) -> dict[str, Any]:
    """Collect the fields that are set, by the names of their settings."""
    values = ((name, getattr(body, name)) for name in names)
    extra = {name: value for name, value in values if value is not UNSET and value is not None}
    if "logit_bias" in extra:
        extra["logit_bias"] = normalize_logit_bias(extra["logit_bias"])
    if "lora" in extra:
        extra["lora"] = msgspec.to_builtins(extra["lora"])
    if body.typ_p is not UNSET and body.typ_p is not None:
        extra.setdefault("typical_p", body.typ_p)
    if body.n_probs:
        extra |= {"logprobs": True, "top_logprobs": body.n_probs}
    return extra


def normalize_logit_bias(bias: dict[str, Any] | list[tuple[int | str, Any]]) -> dict[str, Any]:
    """Return OpenAI's form of a logit bias: llama-server's may be a list of pairs, with false for a ban."""
    pairs = bias.items() if isinstance(bias, dict) else bias
    return {str(token): _BAN if weight is False else weight for token, weight in pairs}


def parse_response_format(body: wire.ChatRequest) -> tuple[dict[str, Any] | None, dict[str, Any]]:
    """Return the answer's JSON schema, and `response_format` as it is forwarded to an upstream."""
    own_schema = None if body.json_schema is UNSET else body.json_schema
    match body.response_format:
        case wire.JsonObjectFormat(None) if own_schema is None:
            return {"type": "object"}, {"response_format": {"type": "json_object"}}
        case wire.JsonObjectFormat(schema):
            return check_schema(schema or own_schema or {}, "response_format.schema" if schema else "json_schema"), {}
        case wire.JsonSchemaFormat(json_schema):
            if own_schema is not None:
                raise CallerError("json_schema: response_format has another one. Leave one out.", param="json_schema")
            check_schema(json_schema.schema, "response_format.json_schema.schema")
            encoded = msgspec.to_builtins(json_schema)
            fields = {name: value for name, value in encoded.items() if value is not None}
            return json_schema.schema, {"response_format": {"type": "json_schema", "json_schema": fields}}
        case _:
            return None if own_schema is None else check_schema(own_schema, "json_schema"), {}


def check_schema(schema: dict[str, Any], place: str) -> dict[str, Any]:
    try:
        get_validator(schema)
    except CallerError as error:
        raise CallerError(f"{place}: {error.message}", param=place) from None
    return schema


def parse_continuation(body: wire.ChatRequest, *, has_schema: bool) -> dict[str, Any]:
    """Return the setting of a request that continues its final assistant message.

    A client that only ends with such a message leaves it to the model: local models continue it, as llama-server
    does, and others begin a new message.
    """
    roles = [message.role for message in body.messages[-2:]]
    if roles == ["assistant", "assistant"]:
        raise CallerError(
            "messages: the last two are the assistant's. Join them, or end with a user message.", param="messages"
        )
    last = body.messages[-1] if body.messages else None
    has_message = last is not None and last.role == "assistant" and not last.tool_calls and bool(last.content)
    flag = None if body.continue_final_message is UNSET else body.continue_final_message
    if not flag and body.add_generation_prompt is not False:
        return {CONTINUE: CONTINUE_IF_POSSIBLE} if has_message and not has_schema else {}
    name = CONTINUE if flag else "add_generation_prompt"
    if flag not in (None, False, True, "content"):
        raise CallerError(f"{CONTINUE}: only the text of a message can be continued. Send true.", param=CONTINUE)
    if flag and body.add_generation_prompt:
        raise CallerError(
            f"add_generation_prompt: it begins a new message, and {CONTINUE} does not. Leave one out.",
            param="add_generation_prompt",
        )
    if not has_message:
        raise CallerError(f"{name}: the last message is no text of the assistant's to continue. Add one.", param=name)
    if has_schema:
        raise CallerError(f"{name}: JSON cannot be continued. Leave it out, or the JSON schema.", param=name)
    return {CONTINUE: True}
