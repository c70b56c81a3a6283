"""Build the body of llama-server's /completion from a PromptPlan and the caller's settings."""

from __future__ import annotations

from typing import Any

from rightseat.errors import CallerError
from rightseat.models.llamacpp.formats.format import Plan
from rightseat.types.model import Settings

_MOST_LIKELY = 20
# Settings forwarded unchanged.
_KNOWN = (
    "frequency_penalty",
    "presence_penalty",
    "top_k",
    "min_p",
    "repeat_penalty",
)


def sampling(settings: Settings, *, most: int, temperature: float | None = None) -> dict[str, Any]:
    """Return sampling parameters; the arguments are defaults for what the caller leaves out."""
    body: dict[str, Any] = {"n_predict": settings.max_tokens or most}
    warmth = temperature if settings.temperature is None else settings.temperature
    given = {"temperature": warmth, "top_p": settings.top_p, "seed": settings.seed}
    body |= {name: value for name, value in given.items() if value is not None}
    body |= {name: settings.extra[name] for name in _KNOWN if settings.extra.get(name) is not None}
    most_likely = likely(settings)
    if most_likely is not None:
        # With top_logprobs = 0 the chosen token's own logprob is still wanted.
        body["n_probs"] = max(1, most_likely)
    if bias := settings.extra.get("logit_bias"):
        body["logit_bias"] = _bias(bias)
    return body


def likely(settings: Settings) -> int | None:
    """Return the requested `top_logprobs`; None if no logprobs are requested."""
    if not settings.extra.get("logprobs"):
        return None
    most = settings.extra.get("top_logprobs") or 0
    if not isinstance(most, int) or not 0 <= most <= _MOST_LIKELY:
        raise CallerError(f"top_logprobs is a number from 0 to {_MOST_LIKELY}.", param="top_logprobs")
    return most


def _bias(bias: dict[str, Any]) -> list[list[Any]]:
    try:
        return [[int(token), weight] for token, weight in bias.items()]
    except ValueError:
        raise CallerError("logit_bias has numbers of tokens as its keys.", param="logit_bias") from None


def body(
    plan: Plan,
    prompt: str | list[int],
    settings: Settings,
    *,
    most: int,
    temperature: float | None = None,
    adapter: bool = False,
) -> dict[str, Any]:
    """Build the request body. `has_adapter`: a LoRA adapter is loaded that the request must enable."""
    stops = [*plan.stops, *(() if plan.enveloped else settings.stop)]
    asked: dict[str, Any] = {"prompt": prompt, "cache_prompt": True}
    asked |= sampling(settings, most=most, temperature=temperature)
    if stops:
        asked["stop"] = stops
    if plan.preserved:
        asked["preserved_tokens"] = list(plan.preserved)
    if plan.grammar:
        asked["grammar"] = plan.grammar
    if plan.adapted and adapter:
        asked["lora"] = [{"id": 0, "scale": 1.0}]
    return asked
