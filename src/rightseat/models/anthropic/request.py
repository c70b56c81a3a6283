"""Prompt → JSON body of POST /v1/messages."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import Struct

from rightseat.engine.structured import SCHEMA_INSTRUCTION
from rightseat.errors import CallerError
from rightseat.models._vendor.thinking import THINKING_FIELDS, ThinkingRequest
from rightseat.models.anthropic import claude_models
from rightseat.models.anthropic.claude_models import DEFAULT_MAX_OUTPUT, ClaudeModel, make_enforceable
from rightseat.models.anthropic.conversation import PROVIDER, ConversationPayload, build_conversation, sanitize_name
from rightseat.types.model import Prompt, SamplingSettings, ToolChoice, ToolSpec
from rightseat.types.settings import CONTINUE

MIN_THINKING_BUDGET = 1024
DEFAULT_THINKING_BUDGET = 8192
# Budgets of a caller's efforts, for models that know no efforts.
EFFORT_BUDGETS = {"low": 2048, "medium": DEFAULT_THINKING_BUDGET, "high": 16384, "xhigh": 32768, "max": 32768}
# The last API version with sampling settings.
SAMPLING_API_VERSION = "2023-06-01"

_CACHE_CONTROL = {"type": "ephemeral"}
_TOOL_CHOICES: dict[str, dict[str, Any]] = {
    "auto": {"type": "auto"},
    "none": {"type": "none"},
    "required": {"type": "any"},
}
# OpenAI's tiers by Anthropic's names; there are no others.
_SERVICE_TIERS = {"auto": "auto", "default": "standard_only", "standard_only": "standard_only"}

# Settings of a request, and where they are in Anthropic's.
SETTINGS = {
    "max_tokens": "max_tokens",
    "stop": "stop_sequences",
    "parallel_tool_calls": "tool_choice.disable_parallel_tool_use",
    "service_tier": "service_tier",
}
# With `sampling = true`.
SAMPLING_SETTINGS = {"temperature": "temperature", "top_p": "top_p", "top_k": "top_k"}
# Where the model thinks or has levels of effort.
THINKING_SETTINGS = dict.fromkeys(THINKING_FIELDS - {"chat_template_kwargs"}, "thinking")
# Where the model continues a final assistant message.
PREFILL_SETTINGS = {CONTINUE: "messages"}


class AnthropicRequestOptions(Struct, frozen=True, kw_only=True):
    """Options of the model that shape its requests."""

    max_tokens: int | None = None
    thinking: bool | int | None = None
    effort: str | None = None
    cache: bool = True
    sampling: bool = False
    strict_tools: bool = False


class AnthropicRequest(Struct, frozen=True):
    """A request. `tool_names` maps names sent to the API to tool names; `enforced` are sent names."""

    body: dict[str, Any]
    headers: dict[str, str]
    tool_names: dict[str, str]
    enforced: frozenset[str]


def list_settings(name: str, options: AnthropicRequestOptions) -> frozenset[str]:
    """Return the settings that a model takes with these options."""
    model = claude_models.find_claude_model(name)
    names = frozenset(SETTINGS)
    names |= frozenset(SAMPLING_SETTINGS) if options.sampling else frozenset()
    names |= frozenset(THINKING_SETTINGS) if model.efforts or model.thinks != "never" else frozenset()
    return names | (frozenset(PREFILL_SETTINGS) if model.prefill and not options.thinking else frozenset())


def build_request(name: str, prompt: Prompt, options: AnthropicRequestOptions, *, schema: bool) -> AnthropicRequest:
    """Build the request. `schema`: the API enforces an output schema; else the prompt describes it."""
    model = claude_models.find_claude_model(name)
    requested = prompt.settings.max_tokens or options.max_tokens or model.longest or DEFAULT_MAX_OUTPUT
    max_tokens = min(requested, model.longest or requested)
    thinking = _build_thinking(prompt, options, model, max_tokens)
    thinks = thinking is not None and thinking["type"] != "disabled"
    payload = build_conversation(prompt.messages, name, model, thinking=thinks or model.thinks == "always")
    body: dict[str, Any] = {"model": name, "max_tokens": max_tokens, "messages": payload.messages, "stream": True}
    if thinking is not None:
        body["thinking"] = thinking
    if prompt.output_schema is not None:
        enforced_schema = make_enforceable(prompt.output_schema) if schema else None
        if enforced_schema is not None:
            body["output_config"] = {"format": {"type": "json_schema", "schema": enforced_schema}}
        else:
            instruction = SCHEMA_INSTRUCTION + msgspec.json.encode(prompt.output_schema).decode()
            payload.late_system_texts.append(instruction)
    enforced = _add_tools(body, payload, prompt, options)
    system = ["\n\n".join(payload.system_texts)] if payload.system_texts else []
    if system + payload.late_system_texts:
        body["system"] = [{"type": "text", "text": words} for words in system + payload.late_system_texts]
    if options.cache:
        _mark_cache_points(body, bool(payload.system_texts))
    _add_settings(body, prompt.settings, options, model)
    sampling = _build_sampling(prompt.settings) if options.sampling else {}
    if sampling and thinking is not None:
        raise CallerError(
            f"{next(iter(sampling))}: this model thinks, and takes no sampling settings. Leave it out.",
            param=next(iter(sampling)),
        )
    headers = {"anthropic-version": SAMPLING_API_VERSION} if sampling else {}
    tool_names = {sanitize_name(tool.name): tool.name for tool in prompt.tools}
    return AnthropicRequest(body | sampling, headers, tool_names, enforced)


def _choose_thinking(settings: SamplingSettings, options: AnthropicRequestOptions) -> bool | int | None:
    """Return whether the model is to think, or its budget: as the request says, else as the options do."""
    request = ThinkingRequest.from_settings(settings)
    if request.enabled is None:
        return options.thinking
    if not request.enabled:
        return False
    if request.budget is not None and request.budget > 0:
        return request.budget
    # A budget of the options stays, unless the request names an effort.
    return EFFORT_BUDGETS.get(request.effort or "", options.thinking or True)


def _build_thinking(
    prompt: Prompt, options: AnthropicRequestOptions, model: ClaudeModel, limit: int
) -> dict[str, Any] | None:
    """Return the `thinking` field, or None to leave the model's default."""
    requested = _choose_thinking(prompt.settings, options)
    if requested is False or (prompt.requires_tool_call and not model.forced_thinks):
        return {"type": "disabled"} if model.thinks == "default" else None
    if model.thinks in ("default", "always") or (requested is not None and model.thinks == "asked"):
        # Sent only so that the thinking is shown.
        return {"type": "adaptive", "display": "summarized"}
    if requested is None or model.thinks != "budget" or not _has_thinking_blocks(prompt):
        return None
    budget = min(max(DEFAULT_THINKING_BUDGET if requested is True else requested, MIN_THINKING_BUDGET), limit - 1)
    return {"type": "enabled", "budget_tokens": budget} if budget >= MIN_THINKING_BUDGET else None


def _has_thinking_blocks(prompt: Prompt) -> bool:
    """Whether the turn's last answer kept its thinking; without it, the API refuses a thinking budget."""
    for message in reversed(prompt.messages):
        if message.role == "assistant":
            return any(opaque.provider == PROVIDER for opaque in message.opaque)
        if message.role == "user":
            break
    return True


def _add_tools(
    body: dict[str, Any], payload: ConversationPayload, prompt: Prompt, options: AnthropicRequestOptions
) -> frozenset[str]:
    """Add the tools to the body; return the names whose arguments the API enforces."""
    if not prompt.tools:
        if payload.called_tools:
            # The API refuses past calls without tool definitions: declare them, but forbid calling.
            open_schema = {"type": "object"}
            body["tools"] = [{"name": name, "input_schema": open_schema} for name in payload.called_tools]
            body["tool_choice"] = _TOOL_CHOICES["none"]
        return frozenset()
    body["tools"] = [_format_tool(tool, options.strict_tools) for tool in prompt.tools]
    choice = _format_tool_choice(prompt.tool_choice)
    if prompt.settings.parallel_calls is False and choice["type"] != "none":
        choice = {**choice, "disable_parallel_tool_use": True}
    if choice != _TOOL_CHOICES["auto"]:
        body["tool_choice"] = choice
    return frozenset(tool["name"] for tool in body["tools"] if tool.get("strict"))


def _format_tool(tool: ToolSpec, strict: bool) -> dict[str, Any]:
    schema = tool.parameters if tool.parameters.get("type") == "object" else {**tool.parameters, "type": "object"}
    out: dict[str, Any] = {"name": sanitize_name(tool.name), "input_schema": schema}
    if tool.description:
        out["description"] = tool.description
    # The API refuses `strict` for a schema it cannot fully enforce; such arguments are validated here.
    if (strict or tool.strict) and make_enforceable(schema) == schema:
        out["strict"] = True
    return out


def _format_tool_choice(choice: ToolChoice) -> dict[str, Any]:
    if choice.mode == "named":
        return {"type": "tool", "name": sanitize_name(choice.name or "")}
    return _TOOL_CHOICES[choice.mode]


def _mark_cache_points(body: dict[str, Any], leading: bool) -> None:
    """Set cache breakpoints after the tools and system text, and after the last user message."""
    if leading:
        body["system"][0]["cache_control"] = _CACHE_CONTROL
    elif "tools" in body:
        body["tools"][-1]["cache_control"] = _CACHE_CONTROL
    for message in reversed(body["messages"]):
        if message["role"] == "user":
            message["content"][-1]["cache_control"] = _CACHE_CONTROL
            break


def _add_settings(
    body: dict[str, Any], settings: SamplingSettings, options: AnthropicRequestOptions, model: ClaudeModel
) -> None:
    """Add the remaining settings that this API supports."""
    stops = [stop for stop in settings.stop if stop]
    if not all(map(str.strip, stops)):
        raise CallerError("stop: this model takes no stop word of white space only. Leave it out.", param="stop")
    if stops:
        body["stop_sequences"] = stops
    extra = settings.extra
    requested_effort = ThinkingRequest.from_settings(settings).effort
    effort = claude_models.clamp_effort(requested_effort, model) or claude_models.clamp_effort(options.effort, model)
    if effort:
        body.setdefault("output_config", {})["effort"] = effort
    metadata = extra.get("metadata")
    if isinstance(metadata, dict) and isinstance(metadata.get("user_id"), str):
        body["metadata"] = {"user_id": metadata["user_id"]}
    if tier := _SERVICE_TIERS.get(str(extra.get("service_tier"))):
        body["service_tier"] = tier


def _build_sampling(settings: SamplingSettings) -> dict[str, Any]:
    """Return the sampling settings. The API requires one of temperature and top_p at most."""
    top_p = None if settings.top_p == 1 else settings.top_p
    if settings.temperature is not None and top_p is not None:
        raise CallerError("top_p: this model takes temperature or top_p. Leave one out.", param="top_p")
    if settings.temperature is not None:
        out: dict[str, Any] = {"temperature": min(max(settings.temperature, 0.0), 1.0)}
    else:
        out = {} if top_p is None else {"top_p": top_p}
    if isinstance(top_k := settings.extra.get("top_k"), int) and top_k > 0:
        out["top_k"] = top_k
    return out
