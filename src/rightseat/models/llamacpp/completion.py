"""Requests to llama-server's /completion, and its chunks converted to ModelChunks. No I/O."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from typing import Any, Literal

from msgspec import ValidationError, convert, to_builtins

from rightseat.errors import CallerError
from rightseat.http.endpoint import to_caller_error
from rightseat.models.llamacpp.client import CompletionChunk, Timings, make_format_error
from rightseat.models.llamacpp.formats.format import PromptPlan
from rightseat.models.llamacpp.grammar.rules import GrammarRules
from rightseat.tools.text_calls.reader import StopSequenceFilter, TextFormatError
from rightseat.types.chunks import FinishChunk, ModelChunk, ProviderDataChunk, ReasoningChunk, TextChunk, UsageChunk
from rightseat.types.events import Usage
from rightseat.types.messages import REASONING_PROVIDER
from rightseat.types.model import RawPrompt, SamplingSettings
from rightseat.types.settings import CONTINUE, EngineSampling

# A text, tokens, or a text with images.
RequestPrompt = str | list[int] | dict[str, Any]

_MAX_TOP_LOGPROBS = 20

# OpenAI's default: raw text has no natural end, and a small model would fill its context.
DEFAULT_RAW_TOKENS = 16

# The engine parses grammars recursively; unbounded nesting would crash its process.
MAX_GRAMMAR_CHARS = 256 << 10
MAX_GRAMMAR_DEPTH = 200

# Enables the loaded LoRA adapter.
ADAPTER = [{"id": 0, "scale": 1.0}]

# Settings forwarded unchanged.
_FORWARDED_SETTINGS = (
    *("frequency_penalty", "presence_penalty", "repeat_penalty", "repeat_last_n"),
    *("top_k", "min_p", "typical_p", "top_n_sigma", "xtc_probability", "xtc_threshold"),
    *("dynatemp_range", "dynatemp_exponent", "mirostat", "mirostat_tau", "mirostat_eta"),
    *("dry_multiplier", "dry_base", "dry_allowed_length", "dry_penalty_last_n", "dry_sequence_breakers"),
    *("adaptive_target", "adaptive_decay", "samplers", "min_keep", "ignore_eos", "cache_prompt", "lora"),
    *("n_keep", "n_discard", "n_indent", "n_cache_reuse", "t_max_predict_ms", "backend_sampling"),
)
_LAST_TOKENS = {"repeat_last_n", "dry_penalty_last_n"}
_WHOLE_CONTEXT = 1 << 16
# Settings of a request, and where they are in llama-server's.
SETTINGS = {
    "temperature": "temperature",
    "top_p": "top_p",
    "max_tokens": "n_predict",
    "stop": "stop",
    "seed": "seed",
    "parallel_tool_calls": "grammar",
    "logprobs": "n_probs",
    "top_logprobs": "n_probs",
    "logit_bias": "logit_bias",
    "grammar": "grammar",
    CONTINUE: "prompt",
    **dict.fromkeys(("reasoning_effort", "chat_template_kwargs", "enable_thinking", "thinking", "reasoning"), "prompt"),
    **dict.fromkeys(("reasoning_budget_tokens", "thinking_budget_tokens"), "reasoning_budget_tokens"),
    **{name: name for name in _FORWARDED_SETTINGS},
}


def build_sampling(
    settings: SamplingSettings, *, default_max_tokens: int, temperature: float | None = None
) -> dict[str, Any]:
    """Return sampling parameters; the arguments are defaults for what the caller leaves out."""
    body: dict[str, Any] = {"n_predict": settings.max_tokens or default_max_tokens}
    chosen_temperature = temperature if settings.temperature is None else settings.temperature
    optional = {"temperature": chosen_temperature, "top_p": settings.top_p, "seed": settings.seed}
    body |= {name: value for name, value in optional.items() if value is not None}
    forwarded = {name: settings.extra[name] for name in _FORWARDED_SETTINGS if settings.extra.get(name) is not None}
    check_ranges(forwarded)
    body |= forwarded
    for name in _LAST_TOKENS & body.keys():
        # The engine knows no word for all of the context.
        body[name] = _WHOLE_CONTEXT if body[name] == -1 else body[name]
    top_logprobs = get_top_logprobs(settings)
    if top_logprobs is not None:
        # With top_logprobs = 0 the chosen token's own logprob is still wanted.
        body["n_probs"] = max(1, top_logprobs)
    if bias := settings.extra.get("logit_bias"):
        body["logit_bias"] = _parse_logit_bias(bias)
    return body


def check_ranges(parameters: dict[str, Any]) -> None:
    """Raise CallerError for a sampling parameter that is out of its range."""
    try:
        convert(parameters, EngineSampling)
    except ValidationError as error:
        raise to_caller_error(error, EngineSampling) from None


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
        raise CallerError("logit_bias: the keys must be token ids.", param="logit_bias") from None


def build_request_body(
    plan: PromptPlan,
    prompt: RequestPrompt,
    settings: SamplingSettings,
    *,
    default_max_tokens: int,
    temperature: float | None = None,
    has_adapter: bool = False,
) -> dict[str, Any]:
    """Build the request body. `has_adapter`: a LoRA adapter is loaded that the request must enable."""
    request: dict[str, Any] = {"prompt": prompt, "cache_prompt": True}
    request |= build_sampling(settings, default_max_tokens=default_max_tokens, temperature=temperature)
    optional = {
        "stop": [*plan.stop_words, *(() if plan.filters_stop_words else settings.stop)],
        "preserved_tokens": list(plan.preserved_tokens),
        "grammar": plan.grammar,
        "lora": ADAPTER if plan.uses_adapter and has_adapter and "lora" not in request else None,
    }
    return request | {name: value for name, value in optional.items() if value} | plan.engine_fields


def check_grammar(grammar: str) -> None:
    """Raise CallerError for a caller's grammar that the engine must not get."""
    signs = "" if len(grammar) > MAX_GRAMMAR_CHARS else re.sub(r"[^()]+", "", grammar)
    depths = itertools.accumulate(1 if sign == "(" else -1 for sign in signs)
    if len(grammar) > MAX_GRAMMAR_CHARS or max(depths, default=0) > MAX_GRAMMAR_DEPTH:
        raise CallerError("grammar: it is too long or too deeply nested. Simplify it.", param="grammar")


def build_schema_grammar(schema: dict[str, Any]) -> str:
    """Return the GBNF of a JSON value that fits the schema."""
    rules = GrammarRules()
    root = rules.reserve("root")
    rules.define(root, rules.add_schema(schema, "answer"))
    return rules.to_gbnf(root)


def build_raw_request(
    raw: RawPrompt, settings: SamplingSettings, prompt: RequestPrompt, default_max_tokens: int = DEFAULT_RAW_TOKENS
) -> dict[str, Any]:
    """Build the body for raw text without a chat template; unset options are omitted."""
    check_grammar(raw.grammar)
    grammar = raw.grammar if raw.schema is None else build_schema_grammar(raw.schema)
    body: dict[str, Any] = {
        "prompt": prompt,
        "cache_prompt": True,
        **build_sampling(settings, default_max_tokens=default_max_tokens),
        **raw.options,
    }
    # With logprobs = 0 the chosen token's own logprob is still wanted.
    n_probs = None if raw.logprobs is None else max(1, raw.logprobs)
    optional = {"stop": list(settings.stop), "grammar": grammar, "n_probs": n_probs}
    return body | {name: value for name, value in optional.items() if value}


def read_raw_chunk(chunk: CompletionChunk, raw: RawPrompt) -> Iterator[ModelChunk]:
    if raw.reports:
        yield from _read_reported_chunk(chunk)
        return
    # The end-of-text token has no text.
    probabilities = [token for token in chunk.completion_probabilities if token.get("token")]
    tokens = None if raw.logprobs is None else format_logprobs(probabilities, raw.logprobs)
    if chunk.content or tokens:
        yield TextChunk(chunk.content, tokens and {"content": tokens})
    if chunk.stop:
        yield UsageChunk(Usage(chunk.tokens_evaluated, chunk.tokens_predicted))
        yield FinishChunk(_raw_finish_reason(chunk))


def _raw_finish_reason(chunk: CompletionChunk) -> Literal["stop", "length"]:
    return "stop" if chunk.stop_type in ("eos", "word") else "length"


def _read_reported_chunk(chunk: CompletionChunk) -> Iterator[ModelChunk]:
    """Yield the text with its tokens and probabilities: a guardrail that changes the text drops them too."""
    if chunk.content or chunk.tokens or chunk.completion_probabilities:
        report = {"content": chunk.completion_probabilities, "tokens": chunk.tokens}
        timings = None if chunk.stop else chunk.timings
        yield TextChunk(chunk.content, report if timings is None else report | {"timings": to_builtins(timings)})
    if chunk.stop:
        yield UsageChunk(chunk.usage)
        yield FinishChunk(_raw_finish_reason(chunk), make_report(chunk))


def make_report(chunk: CompletionChunk) -> dict[str, Any]:
    """Return the fields of the last chunk that llama-server's clients read. Adapters have paths of this machine."""
    settings = {key: value for key, value in (chunk.generation_settings or {}).items() if key != "lora"}
    return {
        "id_slot": chunk.id_slot,
        "generation_settings": settings,
        "prompt": chunk.prompt,
        "has_new_line": chunk.has_new_line,
        "truncated": chunk.truncated,
        "stop_type": chunk.stop_type,
        "stopping_word": chunk.stopping_word,
        "tokens_cached": chunk.tokens_cached,
        "timings": to_builtins(chunk.timings or Timings()),
    }


# OpenAI's value for an impossible token: JSON has no infinity.
IMPOSSIBLE_LOGPROB = -9999.0


def format_logprobs(probabilities: list[dict[str, Any]], top: int) -> list[dict[str, Any]]:
    """Return logprobs in the form of OpenAI chat completions; doors convert them as needed."""
    return [
        _format_logprob(token) | {"top_logprobs": list(map(_format_logprob, (token.get("top_logprobs") or [])[:top]))}
        for token in probabilities
    ]


def _format_logprob(probability: dict[str, Any]) -> dict[str, Any]:
    logprob = probability.get("logprob")
    return {
        "token": probability.get("token", ""),
        "logprob": IMPOSSIBLE_LOGPROB if logprob is None else logprob,
        "bytes": probability.get("bytes"),
    }


def check_logprobs(plan: PromptPlan, settings: SamplingSettings) -> None:
    """Raise CallerError if logprobs are requested of an answer that is parsed from another text."""
    if plan.chat_request is None and plan.filters_stop_words and get_top_logprobs(settings) is not None:
        raise CallerError(
            "logprobs: this model writes its answer inside the form of its tools, or until a stop word, where tokens "
            "have no logprobs of their own. Leave out logprobs, or the tools and stop words.",
            param="logprobs",
        )


class CompletionReader:
    """Reads one completion. `finished`: no more chunks are needed, even if the engine would send more."""

    def __init__(self, plan: PromptPlan, settings: SamplingSettings) -> None:
        self._reader = plan.make_reader()
        # Without an envelope the engine applies the stop words itself.
        self._stops = StopSequenceFilter(settings.stop if plan.filters_stop_words else ())
        self._top_logprobs = None if plan.filters_stop_words else get_top_logprobs(settings)
        self._pending_logprobs: list[dict[str, Any]] = []
        self._thoughts: list[str] = []
        self.finished = False

    def read_chunk(self, chunk: CompletionChunk) -> list[ModelChunk]:
        out = self._stops.filter(self._parse_chunk(chunk), last=chunk.stop)
        if self._top_logprobs is not None:
            self._pending_logprobs += format_logprobs(chunk.completion_probabilities, self._top_logprobs)
            out = list(map(self._attach_logprobs, out))
        self._thoughts += [model_chunk.text for model_chunk in out if isinstance(model_chunk, ReasoningChunk)]
        self.finished = chunk.stop or self._stops.stopped
        if self.finished:
            if self._thoughts and self._reader.calls:
                # Templates show the thoughts before a call with its result.
                blob = {"origin": "llama.cpp", "text": "".join(self._thoughts)}
                out.append(ProviderDataChunk(REASONING_PROVIDER, blob))
            out += [UsageChunk(chunk.usage), FinishChunk(self._finish_reason(chunk))]
        return out

    def _parse_chunk(self, chunk: CompletionChunk) -> list[ModelChunk]:
        try:
            model_chunks = self._reader.feed(chunk.content)
            if not chunk.stop:
                return model_chunks
            return model_chunks + self._reader.close(length_limited=chunk.stop_type == "limit")
        except TextFormatError as error:
            raise make_format_error(error) from error

    def _attach_logprobs(self, model_chunk: ModelChunk) -> ModelChunk:
        """Attach the pending logprobs to a text chunk; logprobs of thoughts and calls are dropped."""
        logprobs, self._pending_logprobs = self._pending_logprobs, []
        return (
            TextChunk(model_chunk.text, {"content": logprobs})
            if isinstance(model_chunk, TextChunk) and logprobs
            else model_chunk
        )

    def _finish_reason(self, chunk: CompletionChunk) -> Literal["stop", "length", "calls"]:
        if self._stops.stopped:
            return "stop"
        if self._reader.inside_call or chunk.stop_type == "limit":
            return "length"
        return "calls" if self._reader.calls else "stop"
