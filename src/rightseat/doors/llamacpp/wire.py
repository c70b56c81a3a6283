"""Request shapes of llama-server. Every known field is honoured or refused; unknown ones are ignored.

Fields that would change the engine for others have no place here: adapters, slots by number, files.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from msgspec import Meta, Struct

from rightseat.types.settings import EngineSampling, Limit

TokenId = Annotated[int, Meta(ge=0, lt=1 << 31)]
BiasedText = Annotated[str, Meta(max_length=1000)]


class MultimodalPrompt(Struct):
    prompt_string: str
    multimodal_data: list[str] = []


PromptItem = str | TokenId | list[TokenId | str] | MultimodalPrompt


class CompletionOptions(EngineSampling, kw_only=True):
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
    grammar_trigger_words: list[Any] | None = None


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
    # Each file is a request to the engine's tokenizer.
    input_extra: Annotated[list[ContextFile], Meta(max_length=64)] | None = None
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
