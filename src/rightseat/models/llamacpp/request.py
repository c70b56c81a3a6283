"""Build the body of llama-server's /completion from a PromptPlan and the caller's settings."""

from __future__ import annotations

from typing import Any

from rightseat.errors import CallerError
from rightseat.models.llamacpp.formats.format import PromptPlan
from rightseat.types.model import SamplingSettings

_MAX_TOP_LOGPROBS = 20
# Settings forwarded unchanged.
_FORWARDED_SETTINGS = (
    "frequency_penalty",
    "presence_penalty",
    "top_k",
    "min_p",
    "repeat_penalty",
)


def build_sampling(
    settings: SamplingSettings, *, default_max_tokens: int, temperature: float | None = None
) -> dict[str, Any]:
    """Return sampling parameters; the arguments are defaults for what the caller leaves out."""
    body: dict[str, Any] = {"n_predict": settings.max_tokens or default_max_tokens}
    chosen_temperature = temperature if settings.temperature is None else settings.temperature
    optional = {"temperature": chosen_temperature, "top_p": settings.top_p, "seed": settings.seed}
    body |= {name: value for name, value in optional.items() if value is not None}
    body |= {
        name: settings.extra[name] for name in _FORWARDED_SETTINGS if settings.extra.get(name) is not None
    }
    top_logprobs = get_top_logprobs(settings)
    if top_logprobs is not None:
        # With top_logprobs = 0 the chosen token's own logprob is still wanted.
        body["n_probs"] = max(1, top_logprobs)
    if bias := settings.extra.get("logit_bias"):
        body["logit_bias"] = _parse_logit_bias(bias)
    return body


def get_top_logprobs(settings: SamplingSettings) -> int | None:
    """Return the requested `top_logprobs`; None if no logprobs are requested."""
    if not settings.extra.get("logprobs"):
        return None
    top_logprobs = settings.extra.get("top_logprobs") or 0
    if not isinstance(top_logprobs, int) or not 0 <= top_logprobs <= _MAX_TOP_LOGPROBS:
        raise CallerError(f"top_logprobs is a number from 0 to {_MAX_TOP_LOGPROBS}.", param="top_logprobs")
    return top_logprobs


def _parse_logit_bias(bias: dict[str, Any]) -> list[list[Any]]:
    try:
        return [[int(token), weight] for token, weight in bias.items()]
    except ValueError:
        raise CallerError("logit_bias has numbers of tokens as its keys.", param="logit_bias") from None


def build_request_body(
    plan: PromptPlan,
    prompt: str | list[int],
    settings: SamplingSettings,
    *,
    default_max_tokens: int,
    temperature: float | None = None,
    has_adapter: bool = False,
) -> dict[str, Any]:
    """Build the request body. `has_adapter`: a LoRA adapter is loaded that the request must enable."""
    stops = [*plan.stop_words, *(() if plan.filters_stop_words else settings.stop)]
    request: dict[str, Any] = {"prompt": prompt, "cache_prompt": True}
    request |= build_sampling(settings, default_max_tokens=default_max_tokens, temperature=temperature)
    if stops:
        request["stop"] = stops
    if plan.preserved_tokens:
        request["preserved_tokens"] = list(plan.preserved_tokens)
    if plan.grammar:
        request["grammar"] = plan.grammar
    if plan.uses_adapter and has_adapter:
        request["lora"] = [{"id": 0, "scale": 1.0}]
    return request
