"""Prompt → arguments of the SDK's `messages.create`."""

from __future__ import annotations

from typing import Any, Literal

import msgspec
from msgspec import Struct

from rightseat.models.anthropic import known
from rightseat.models.anthropic.conversation import PROVIDER, Conversation, conversation, plain
from rightseat.models.anthropic.known import UNKNOWN_LONGEST, Claude
from rightseat.models.anthropic.schema import enforceable
from rightseat.types.model import Prompt, Settings, ToolChoice, ToolSpec

LEAST_BUDGET = 1024
BUDGET = 8192
# The last API version with sampling settings.
OLD_API = "2023-06-01"
RULE = "Answer with one JSON value that fits this JSON Schema, and nothing else:\n"

_CACHED = {"type": "ephemeral"}
_CHOICES: dict[str, dict[str, Any]] = {
    "auto": {"type": "auto"},
    "none": {"type": "none"},
    "required": {"type": "any"},
}
_TIERS = ("auto", "standard_only")


class Manner(Struct, frozen=True, kw_only=True):
    """Options of the model that shape its requests."""

    max_tokens: int | None = None
    thinking: bool | int | None = None
    effort: Literal["low", "medium", "high", "xhigh", "max"] | None = None
    cache: bool = True
    sampling: bool = False
    strict_tools: bool = False
    schema: bool = True


class Asked(Struct, frozen=True):
    """A request body. `tool_names` maps names sent to the API to tool names; `enforced` are sent names."""

    body: dict[str, Any]
    names: dict[str, str]
    enforced: frozenset[str]


def asked(name: str, prompt: Prompt, manner: Manner) -> Asked:
    model = known.claude(name)
    limit = _limit(prompt.settings, manner, model)
    thinking = _thinking(prompt, manner, model, limit)
    thinks = thinking is not None and thinking["type"] != "disabled"
    told = conversation(prompt.messages, name, model, thinking=thinks or model.thinks == "always")
    body: dict[str, Any] = {"model": name, "max_tokens": limit, "messages": told.messages, "stream": True}
    if thinking is not None:
        body["thinking"] = thinking
    _schema(body, told, prompt, manner)
    enforced = _tools(body, told, prompt, manner)
    system = ["\n\n".join(told.leading)] if told.leading else []
    if system + told.late:
        body["system"] = [{"type": "text", "text": words} for words in system + told.late]
    if manner.cache:
        _mark(body, bool(told.leading))
    _knobs(body, prompt.settings, manner, model)
    return Asked(body, {plain(tool.name): tool.name for tool in prompt.tools}, enforced)


def _limit(settings: Settings, manner: Manner, model: Claude) -> int:
    asked = settings.max_tokens or manner.max_tokens or model.longest or UNKNOWN_LONGEST
    return min(asked, model.longest or asked)


def _thinking(prompt: Prompt, manner: Manner, model: Claude, limit: int) -> dict[str, Any] | None:
    """Return the `thinking` field, or None to leave the model's default."""
    wish = manner.thinking
    if wish is False or (prompt.must and not model.forced_thinks):
        return {"type": "disabled"} if model.thinks == "default" else None
    if model.thinks in ("default", "always") or (wish is not None and model.thinks == "asked"):
        # Sent only so that the thinking is shown.
        return {"type": "adaptive", "display": "summarized"}
    if wish is None or model.thinks != "budget" or not _thought_so_far(prompt):
        return None
    budget = min(max(BUDGET if wish is True else wish, LEAST_BUDGET), limit - 1)
    return {"type": "enabled", "budget_tokens": budget} if budget >= LEAST_BUDGET else None


def _thought_so_far(prompt: Prompt) -> bool:
    """Whether the turn's last answer kept its thinking; without it, the API refuses a thinking budget."""
    for message in reversed(prompt.messages):
        if message.role == "assistant":
            return any(opaque.provider == PROVIDER for opaque in message.opaque)
        if message.role == "user":
            break
    return True


def _schema(body: dict[str, Any], told: Conversation, prompt: Prompt, manner: Manner) -> None:
    schema = prompt.output_schema
    if schema is None:
        return
    closed = enforceable(schema) if manner.schema else None
    if closed is not None:
        body["output_config"] = {"format": {"type": "json_schema", "schema": closed}}
    else:
        told.late.append(RULE + msgspec.json.encode(schema).decode())


def _tools(body: dict[str, Any], told: Conversation, prompt: Prompt, manner: Manner) -> frozenset[str]:
    """Add the tools to the body; return the names whose arguments the API enforces."""
    if not prompt.tools:
        if told.called:
            # The API refuses past calls without tool definitions: declare them, but forbid calling.
            open_schema = {"type": "object"}
            body["tools"] = [{"name": name, "input_schema": open_schema} for name in told.called]
            body["tool_choice"] = _CHOICES["none"]
        return frozenset()
    body["tools"] = [_tool(tool, manner.strict_tools) for tool in prompt.tools]
    choice = _choice(prompt.tool_choice)
    if prompt.settings.parallel_calls is False and choice["type"] != "none":
        choice = {**choice, "disable_parallel_tool_use": True}
    if choice != _CHOICES["auto"]:
        body["tool_choice"] = choice
    return frozenset(tool["name"] for tool in body["tools"] if tool.get("strict"))


def _tool(tool: ToolSpec, strict: bool) -> dict[str, Any]:
    schema = (
        tool.parameters if tool.parameters.get("type") == "object" else {**tool.parameters, "type": "object"}
    )
    out: dict[str, Any] = {"name": plain(tool.name), "input_schema": schema}
    if tool.description:
        out["description"] = tool.description
    # The API refuses `strict` for a schema it cannot fully enforce; such arguments are validated here.
    if (strict or tool.strict) and enforceable(schema) == schema:
        out["strict"] = True
    return out


def _choice(choice: ToolChoice) -> dict[str, Any]:
    if choice.mode == "named":
        return {"type": "tool", "name": plain(choice.name or "")}
    return _CHOICES[choice.mode]


def _mark(body: dict[str, Any], leading: bool) -> None:
    """Set cache breakpoints after the tools and system text, and after the last user message."""
    if leading:
        body["system"][0]["cache_control"] = _CACHED
    elif "tools" in body:
        body["tools"][-1]["cache_control"] = _CACHED
    for message in reversed(body["messages"]):
        if message["role"] == "user":
            message["content"][-1]["cache_control"] = _CACHED
            break


def _knobs(body: dict[str, Any], settings: Settings, manner: Manner, model: Claude) -> None:
    """Add the remaining settings that this API supports; others are ignored."""
    stops = [stop for stop in settings.stop if stop.strip()]
    if stops:
        body["stop_sequences"] = stops
    extra = settings.extra
    effort = known.effort(extra.get("reasoning_effort"), model) or known.effort(manner.effort, model)
    if effort:
        body.setdefault("output_config", {})["effort"] = effort
    metadata = extra.get("metadata")
    if isinstance(metadata, dict) and isinstance(metadata.get("user_id"), str):
        body["metadata"] = {"user_id": metadata["user_id"]}
    if extra.get("service_tier") in _TIERS:
        body["service_tier"] = extra["service_tier"]
    if manner.sampling and (sampling := _sampling(settings, "thinking" in body)):
        body["extra_body"] = sampling
        body["extra_headers"] = {"anthropic-version": OLD_API}


def _sampling(settings: Settings, thinking: bool) -> dict[str, Any]:
    """Return at most one of temperature and top_p, and none with thinking, as the API requires."""
    if thinking:
        return {}
    if settings.temperature is not None:
        out: dict[str, Any] = {"temperature": min(max(settings.temperature, 0.0), 1.0)}
    else:
        out = {} if settings.top_p is None else {"top_p": settings.top_p}
    if isinstance(top_k := settings.extra.get("top_k"), int) and top_k > 0:
        out["top_k"] = top_k
    return out
