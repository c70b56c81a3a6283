"""Thinking of local models: variables that switch it in a chat template, its budget, a thought closed at once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rightseat.errors import CallerError
from rightseat.models._vendor.thinking import ThinkingRequest
from rightseat.models.llamacpp.formats.answer_grammar import ThinkingTags
from rightseat.types.model import SamplingSettings

if TYPE_CHECKING:
    from rightseat.models.llamacpp.model import PromptOptions

# What a template gets from the conversation and the model: no request may replace it.
RESERVED_VARIABLES = frozenset(
    {"messages", "tools", "functions", "documents", "add_generation_prompt", "bos_token", "eos_token", "builtin_tools"}
    | {"raise_exception", "strftime_now", "namespace", "range", "dict", "cycler", "joiner", "lipsum", "loop", "self"}
)

# Tokens for the thoughts of a model whose template has no efforts. More than `medium` has no limit.
BUDGETS = {"low": 512, "medium": 2048}
# The three efforts of Kimi's template, which refuses all others.
_KIMI_EFFORTS = {"low": "low", "medium": "high", "high": "high", "xhigh": "max", "max": "max"}


# In this order: the name in Qwen's template and most others, in DeepSeek's and Kimi's, in Cohere's, in MiniMax's.
ENABLED_VARIABLES = {"enable_thinking": True, "thinking": True, "reasoning": True, "thinking_mode": "enabled"}
_DISABLED_VARIABLES = {"enable_thinking": False, "thinking": False, "reasoning": False, "thinking_mode": "disabled"}


def template_variables(settings: SamplingSettings, options: PromptOptions, source: str = "") -> dict[str, Any]:
    """Return the variables by which a request, else the model's options, switch thinking in a chat template.

    `source` is the template, where it is known: the effort `none` is written in its words. Raises CallerError for
    fields of a wrong type and for `chat_template_kwargs` with a reserved name.
    """
    request = ThinkingRequest.from_settings(settings)
    for name in request.template_variables:
        if name in RESERVED_VARIABLES:
            raise CallerError(
                f"chat_template_kwargs: {name} comes from the conversation and the model. Leave it out.",
                param=f"chat_template_kwargs.{name}",
            )
    enabled = is_thinking_enabled(settings, options)
    variables: dict[str, Any] = {}
    if enabled is not None:
        variables |= ENABLED_VARIABLES if enabled else _DISABLED_VARIABLES
    if request.budget is not None or enabled is False:
        variables["thinking_budget"] = request.budget if enabled and request.budget is not None else 0
    effort = _translate_effort(request.effort, source)
    if effort is not None:
        variables |= {"reasoning_effort": effort, "reasoning_strength": effort}
    if request.effort in _KIMI_EFFORTS:
        variables["thinking_effort"] = _KIMI_EFFORTS[request.effort]
    return variables | request.template_variables


def is_thinking_enabled(settings: SamplingSettings, options: PromptOptions) -> bool | None:
    """Return whether the model is to think; None: as its template decides."""
    requested = ThinkingRequest.from_settings(settings).enabled
    return options.thinking if requested is None else requested


def _translate_effort(effort: str | None, source: str) -> str | None:
    """Return the effort in the template's words; None where it has no word for an answer without thinking."""
    if effort not in ("none", "minimal"):
        return effort
    words = (effort, "none", "no_think")
    quoted = (word for word in words if f'"{word}"' in source or f"'{word}'" in source)
    return next(quoted, "low" if "reasoning_effort" in source else None)


def find_budget(settings: SamplingSettings, source: str) -> int | None:
    """Return the most tokens of a thought: as the request says, else by its effort if the template has none."""
    request = ThinkingRequest.from_settings(settings)
    budget = request.budget
    if budget is None and "reasoning_effort" not in source:
        budget = BUDGETS.get(request.effort or "")
    return None if budget is None or budget < 0 else budget


def build_budget(settings: SamplingSettings, tags: ThinkingTags, source: str) -> dict[str, Any]:
    """Return the fields of a completion by which the engine ends a thought that is too long; none without a limit."""
    budget = find_budget(settings, source)
    if budget is None or not tags.active_tags:
        return {}
    return {
        "reasoning_budget_tokens": budget,
        "reasoning_budget_start_tag": tags.open_tag,
        "reasoning_budget_end_tags": [tags.close_tag],
        "reasoning_budget_message": "",
        # The engine counts from the start of a thought, which it looks for in this text and in the answer.
        "generation_prompt": tags.open_tag if tags.opened_by_prompt else "",
    }


def close_thought(tags: ThinkingTags) -> str:
    """Return the text after a prompt that makes a model answer without a thought, as Qwen's template writes it."""
    return f"{'' if tags.opened_by_prompt else tags.open_tag}\n\n{tags.close_tag}\n\n"
