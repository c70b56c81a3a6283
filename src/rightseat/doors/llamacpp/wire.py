"""Request shapes of llama-server. Every known field is honoured or refused; unknown ones are ignored.

Fields that would change the engine for others have no place here: adapters, slots by number, files.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from msgspec import Meta, Struct

NotNegative = Annotated[int, Meta(ge=0, le=1 << 20)]
# -1 is the whole context.
LastTokens = Annotated[int, Meta(ge=-1, le=1 << 16)]
Limit = Annotated[int, Meta(ge=-1, le=(1 << 31) - 1)]
Share = Annotated[float, Meta(ge=0, le=1)]
TokenId = Annotated[int, Meta(ge=0, lt=1 << 31)]
BiasedText = Annotated[str, Meta(max_length=1000)]
SamplerName = Literal[
    "penalties", "dry", "top_n_sigma", "top_k", "typ_p", "top_p", "min_p", "xtc", "temperature", "infill", "adaptive_p"
]


class MultimodalPrompt(Struct):
    prompt_string: str
    multimodal_data: list[str] = []


PromptItem = str | TokenId | list[TokenId | str] | MultimodalPrompt


class SamplingOptions(Struct, kw_only=True):
    """Options that are sent to the engine as they are."""

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
    samplers: Annotated[list[SamplerName], Meta(max_length=32)] | None = None
    min_keep: NotNegative | None = None
    ignore_eos: bool | None = None
    n_indent: NotNegative | None = None
    n_keep: Limit | None = None
    t_max_predict_ms: Limit | None = None
    cache_prompt: bool | None = None
    post_sampling_probs: bool | None = None
    timings_per_token: bool | None = None


class CompletionOptions(SamplingOptions, kw_only=True):
    """Fields that /completion and /infill share."""

    model: str | None = None
    stream: bool | None = None
    n_predict: Limit | None = None
    max_tokens: Limit | None = None
    stop: str | Annotated[list[Annotated[str, Meta(max_length=1000)]], Meta(max_length=64)] | None = None
    n_probs: Annotated[int, Meta(ge=0, le=100)] | None = None
    logit_bias: (
        Annotated[list[tuple[TokenId | BiasedText, float | Literal[False]]], Meta(max_length=1000)]
        | Annotated[dict[BiasedText, float | bool], Meta(max_length=1000)]
        | None
    ) = None
    grammar: Annotated[str, Meta(max_length=1 << 20)] | None = None
    json_schema: dict[str, Any] | None = None
    n_cmpl: Annotated[int, Meta(ge=1, le=8)] | None = None
    return_tokens: bool | None = None
    response_fields: Annotated[list[str], Meta(max_length=64)] | None = None
    # Refused, since they change what other requests get, or what is checked here.
    lora: list[Any] | None = None
    grammar_lazy: bool | None = None
    grammar_triggers: list[Any] | None = None


class LlamaCompletionRequest(CompletionOptions, kw_only=True):
    """A text to go on with. Slots are assigned here: `id_slot` is not read."""

    prompt: str | list[PromptItem] | MultimodalPrompt


class ContextFile(Struct):
    text: str
    filename: str = ""


class InfillRequest(CompletionOptions, kw_only=True):
    """A gap between two texts, of which `prompt` is the start."""

    input_prefix: str
    input_suffix: str
    input_extra: Annotated[list[ContextFile], Meta(max_length=1000)] | None = None
    prompt: str | None = None


class RerankRequest(Struct, kw_only=True):
    """Documents to sort by their relevance to a query; with `texts` the answer has the shape of TEI's."""

    query: Annotated[str, Meta(min_length=1)]
    documents: Annotated[list[Annotated[str, Meta(min_length=1)]], Meta(max_length=1000)] | None = None
    texts: Annotated[list[Annotated[str, Meta(min_length=1)]], Meta(max_length=1000)] | None = None
    model: str | None = None
    top_n: Annotated[int, Meta(ge=1)] | None = None
    return_documents: bool | None = None
    return_text: bool | None = None
