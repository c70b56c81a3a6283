"""Sampling settings by name: which values change nothing, and what a caller does where a model takes none.

A model declares the settings that it takes (`Capabilities.settings`). `select_settings` holds a request against
that declaration: this is the one place where a setting is refused. `EngineSampling` has the ranges of llama-server's.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from msgspec import Meta, Struct
from msgspec.structs import replace

from rightseat.errors import CallerError
from rightseat.types.model import Capabilities, SamplingSettings

# Fields of SamplingSettings, by the name of their setting.
_FIELDS = {
    "temperature": "temperature",
    "top_p": "top_p",
    "max_tokens": "max_tokens",
    "stop": "stop",
    "seed": "seed",
    "parallel_tool_calls": "parallel_calls",
}
_EMPTY: tuple[Any, ...] = (None, "", (), [], {})
# Settings that an empty object switches on.
_SWITCHED_ON_BY_EMPTY = frozenset({"web_search_options"})
# What a request that continues its last message has, and what one has that leaves this to the model.
CONTINUE = "continue_final_message"
CONTINUE_IF_POSSIBLE = "auto"


class SettingRule(Struct, frozen=True):
    neutral: tuple[Any, ...] = ()
    """Values that change nothing, such as the default: a model that does not take the setting gets none."""
    optional: bool = False
    """The setting is about speed, price or bookkeeping: it is left out where the model does not take it."""
    advice: str = "Leave it out, or name a model that takes it."


_LOCAL = "Leave it out, or name a local model."
_OPTIONAL = SettingRule(optional=True)
_SCHEMA_INSTEAD = "Send a JSON schema as response_format, or name a local model."

SETTING_RULES: dict[str, SettingRule] = {
    "temperature": SettingRule((1,)),
    "top_p": SettingRule((1,)),
    "max_tokens": SettingRule(),
    "stop": SettingRule(),
    "seed": SettingRule((-1,)),
    "parallel_tool_calls": SettingRule((True,), advice="Leave it out: this model itself decides about its calls."),
    "frequency_penalty": SettingRule((0,)),
    "presence_penalty": SettingRule((0,)),
    "logprobs": SettingRule((False,)),
    "top_logprobs": SettingRule((0,)),
    "logit_bias": SettingRule(),
    "reasoning_effort": SettingRule(("none",)),
    "verbosity": SettingRule(("medium",), advice="Leave it out, and say in the instructions how long answers are."),
    "web_search_options": SettingRule(advice="Leave it out, and give the assistant a tool that searches."),
    **dict.fromkeys(("prediction", "service_tier", "user", "safety_identifier", "response_format"), _OPTIONAL),
    **dict.fromkeys(("prompt_cache_key", "prompt_cache_options", "prompt_cache_retention"), _OPTIONAL),
    # llama-server's: what switches a sampler off, and its defaults.
    "grammar": SettingRule(advice=_SCHEMA_INSTEAD),
    CONTINUE: SettingRule((False, CONTINUE_IF_POSSIBLE), advice="Ask for the rest in a user message instead."),
    "chat_template_kwargs": SettingRule(({"enable_thinking": False},), advice=_LOCAL),
    "enable_thinking": SettingRule((False,), advice="Send reasoning_effort, or name a local model."),
    "thinking": SettingRule(({"type": "disabled"},), advice="Send reasoning_effort instead."),
    "reasoning": SettingRule(({"enabled": False},), advice="Send reasoning_effort instead."),
    "reasoning_budget_tokens": SettingRule((-1,), advice="Send reasoning_effort instead."),
    "thinking_budget_tokens": SettingRule((-1,), advice="Send reasoning_effort instead."),
    "thinking_budget": SettingRule((-1,), advice="Send reasoning_effort instead."),
    "cache_prompt": SettingRule(optional=True),
    "backend_sampling": SettingRule(optional=True),
    "ignore_eos": SettingRule((False,), advice=_LOCAL),
    "lora": SettingRule(advice="Leave it out: the model's set-up names its adapters."),
    "top_k": SettingRule((0, -1, 40), advice=_LOCAL),
    "min_p": SettingRule((0, 0.05), advice=_LOCAL),
    "typical_p": SettingRule((1,), advice=_LOCAL),
    "top_n_sigma": SettingRule((-1, 0), advice=_LOCAL),
    "xtc_probability": SettingRule((0,), advice=_LOCAL),
    "xtc_threshold": SettingRule((0.1,), advice=_LOCAL),
    "dynatemp_range": SettingRule((0,), advice=_LOCAL),
    "dynatemp_exponent": SettingRule((1,), advice=_LOCAL),
    "repeat_penalty": SettingRule((1, 1.1), advice=_LOCAL),
    "repeat_last_n": SettingRule((64, 0, -1), advice=_LOCAL),
    "dry_multiplier": SettingRule((0,), advice=_LOCAL),
    "dry_base": SettingRule((1.75,), advice=_LOCAL),
    "dry_allowed_length": SettingRule((2,), advice=_LOCAL),
    "dry_penalty_last_n": SettingRule((-1, 64, 0), advice=_LOCAL),
    "dry_sequence_breakers": SettingRule((["\n", ":", '"', "*"],), advice=_LOCAL),
    "mirostat": SettingRule((0,), advice=_LOCAL),
    "mirostat_tau": SettingRule((5,), advice=_LOCAL),
    "mirostat_eta": SettingRule((0.1,), advice=_LOCAL),
    "adaptive_target": SettingRule((-1,), advice=_LOCAL),
    "adaptive_decay": SettingRule((0.9,), advice=_LOCAL),
    "samplers": SettingRule(advice=_LOCAL),
    "min_keep": SettingRule((0,), advice=_LOCAL),
    "n_keep": SettingRule((0,), advice=_LOCAL),
    "n_discard": SettingRule((0,), advice=_LOCAL),
    "n_indent": SettingRule((0,), advice=_LOCAL),
    "n_cache_reuse": SettingRule(optional=True),
    "t_max_predict_ms": SettingRule((0, -1), advice="Leave it out, and send max_tokens."),
}


def select_settings(settings: SamplingSettings, capabilities: Capabilities, *, has_tools: bool) -> SamplingSettings:
    """Return the settings that the model takes; raise CallerError for one that it does not.

    Values that change nothing and settings that the model ignores by its set-up are left out. Without tools,
    `parallel_tool_calls` changes nothing.
    """
    left_out = []
    for name, value in _list_values(settings):
        if name in capabilities.settings:
            continue
        rule = SETTING_RULES.get(name, _UNKNOWN)
        is_neutral = rule.optional or value in rule.neutral or (name == "parallel_tool_calls" and not has_tools)
        if not is_neutral and name not in capabilities.ignored_settings:
            raise CallerError(f"{name}: this model does not take it. {rule.advice}", param=name)
        left_out.append(name)
    if not left_out:
        return settings
    changes: dict[str, Any] = {_FIELDS[name]: () if name == "stop" else None for name in left_out if name in _FIELDS}
    extra = {name: value for name, value in settings.extra.items() if name not in left_out}
    return replace(settings, extra=extra, **changes)


_UNKNOWN = SettingRule()


def takes_settings(settings: SamplingSettings, capabilities: Capabilities, *, has_tools: bool) -> bool:
    """Tell whether the model answers a request with these settings."""
    try:
        select_settings(settings, capabilities, has_tools=has_tools)
    except CallerError:
        return False
    return True


def _list_values(settings: SamplingSettings) -> list[tuple[str, Any]]:
    """List the settings that have a value, by name."""
    fields = ((name, getattr(settings, field)) for name, field in _FIELDS.items())
    return [
        (name, value)
        for name, value in (*fields, *settings.extra.items())
        if value not in _EMPTY or (name in _SWITCHED_ON_BY_EMPTY and value is not None)
    ]


NotNegative = Annotated[int, Meta(ge=0, le=1 << 20)]
# -1 is the whole context.
LastTokens = Annotated[int, Meta(ge=-1, le=1 << 16)]
Limit = Annotated[int, Meta(ge=-1, le=(1 << 31) - 1)]
Share = Annotated[float, Meta(ge=0, le=1)]
SamplerName = Literal[
    "penalties", "dry", "top_n_sigma", "top_k", "typ_p", "top_p", "min_p", "xtc", "temperature", "infill", "adaptive_p"
]


class EngineSampling(Struct, kw_only=True):
    """Sampling parameters of a llama-server that are sent to it as they are. The ranges are ours: an engine allocates
    memory for `repeat_last_n` and `dry_penalty_last_n`, however large they are."""

    temperature: Annotated[float, Meta(ge=0, le=100)] | None = None
    dynatemp_range: Annotated[float, Meta(ge=0, le=100)] | None = None
    dynatemp_exponent: float | None = None
    top_k: Annotated[int, Meta(ge=-1, le=1 << 20)] | None = None
    top_p: Share | None = None
    min_p: Share | None = None
    top_n_sigma: float | None = None
    typical_p: float | None = None
    xtc_probability: Share | None = None
    xtc_threshold: Share | None = None
    repeat_penalty: float | None = None
    repeat_last_n: LastTokens | None = None
    presence_penalty: float | None = None
    frequency_penalty: float | None = None
    dry_multiplier: float | None = None
    dry_base: float | None = None
    dry_allowed_length: NotNegative | None = None
    dry_penalty_last_n: LastTokens | None = None
    dry_sequence_breakers: (
        Annotated[list[Annotated[str, Meta(min_length=1, max_length=40)]], Meta(min_length=1, max_length=32)] | None
    ) = None
    mirostat: Literal[0, 1, 2] | None = None
    mirostat_tau: float | None = None
    mirostat_eta: float | None = None
    adaptive_target: float | None = None
    adaptive_decay: Annotated[float, Meta(ge=0, le=0.99)] | None = None
    seed: Annotated[int, Meta(ge=-1, lt=1 << 32)] | None = None
    samplers: Annotated[list[SamplerName], Meta(max_length=32)] | Annotated[str, Meta(max_length=32)] | None = None
    min_keep: NotNegative | None = None
    ignore_eos: bool | None = None
    n_indent: NotNegative | None = None
    n_keep: Limit | None = None
    t_max_predict_ms: Limit | None = None
    cache_prompt: bool | None = None
    post_sampling_probs: bool | None = None
    timings_per_token: bool | None = None
