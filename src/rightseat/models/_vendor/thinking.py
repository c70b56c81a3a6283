"""What a request says about thinking, read once for all models that are not OpenAI-compatible servers."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from rightseat.errors import CallerError
from rightseat.types.model import SamplingSettings

EFFORTS = ("none", "minimal", "low", "medium", "high", "xhigh", "max")
_DISABLING = ("none", "minimal")
_BUDGET_FIELDS = ("thinking_budget_tokens", "reasoning_budget_tokens", "thinking_budget")

_SWITCH_FIELDS = ("reasoning_effort", "chat_template_kwargs", "enable_thinking", "thinking", "reasoning")
THINKING_FIELDS = frozenset({*_SWITCH_FIELDS, *_BUDGET_FIELDS})
"""Fields of `SamplingSettings.extra` that a ThinkingRequest is read from."""


class ThinkingRequest(Struct, frozen=True, kw_only=True):
    """A caller's wish. None: the caller says nothing about it.

    `enabled` is false for the efforts `none` and `minimal`. `budget` is in tokens; -1 means no limit.
    `template_variables` are those of `chat_template_kwargs`, for models whose chat template is rendered here.
    """

    enabled: bool | None = None
    effort: str | None = None
    budget: int | None = None
    template_variables: dict[str, Any] = {}

    @classmethod
    def from_settings(cls, settings: SamplingSettings) -> ThinkingRequest:
        """Read the fields in `extra`; raise CallerError for one of a wrong type."""
        extra = settings.extra
        variables = _read_object(extra, "chat_template_kwargs")
        switch = _read_object(extra, "thinking")
        reasoning = _read_object(extra, "reasoning")
        effort = _read_effort(extra, "reasoning_effort", _read_effort(reasoning, "effort", None, "reasoning."))
        budgets = [
            *(_read_budget(extra, name) for name in _BUDGET_FIELDS),
            _read_budget(switch, "budget_tokens", "thinking."),
            _read_budget(reasoning, "max_tokens", "reasoning."),
        ]
        budget = next((number for number in budgets if number is not None), None)
        switches = [
            False if effort in _DISABLING else None,
            _read_bool(variables, "enable_thinking", "chat_template_kwargs."),
            _read_template_switch(variables),
            _read_bool(extra, "enable_thinking"),
            _read_switch(switch),
            _read_bool(reasoning, "enabled", "reasoning."),
            None if effort is None else True,
            None if budget is None else budget != 0,
        ]
        enabled = next((value for value in switches if value is not None), None)
        return cls(enabled=enabled, effort=effort, budget=budget, template_variables=variables)


def _read_object(extra: dict[str, Any], name: str) -> dict[str, Any]:
    value = extra.get(name)
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise CallerError(f"{name}: send an object.", param=name)
    return value


def _read_bool(values: dict[str, Any], name: str, prefix: str = "") -> bool | None:
    value = values.get(name)
    if value is None or isinstance(value, bool):
        return value
    raise CallerError(f"{prefix}{name}: send true or false.", param=prefix + name)


def _read_template_switch(variables: dict[str, Any]) -> bool | None:
    """Return the variable `thinking` of DeepSeek's and Kimi's templates, where it is a switch."""
    value = variables.get("thinking")
    return value if isinstance(value, bool) else None


def _read_switch(switch: dict[str, Any]) -> bool | None:
    """Return whether `thinking` of DeepSeek, Kimi and GLM, `{"type": …}`, turns thinking on."""
    kind = switch.get("type")
    if kind is None:
        return None
    if kind not in ("enabled", "disabled", "adaptive"):
        raise CallerError("thinking.type: send enabled, disabled or adaptive.", param="thinking.type")
    return bool(kind != "disabled")


def _read_effort(values: dict[str, Any], name: str, default: str | None, prefix: str = "") -> str | None:
    value = values.get(name)
    if value is None:
        return default
    if value not in EFFORTS:
        raise CallerError(f"{prefix}{name}: send one of {', '.join(EFFORTS)}.", param=prefix + name)
    return str(value)


def _read_budget(values: dict[str, Any], name: str, prefix: str = "") -> int | None:
    value = values.get(name)
    if value is None:
        return None
    if not isinstance(value, int) or isinstance(value, bool) or not -1 <= value < 2**31:
        raise CallerError(f"{prefix}{name}: send a number of tokens, or -1 for no limit.", param=prefix + name)
    return value
