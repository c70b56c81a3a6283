"""Known fields of OpenAI's and llama-server's requests, and what the door does with each.

No known field is dropped in silence: the door reads it, hands it on as a sampling setting, which the model takes
or refuses, leaves it out as this table says, or refuses it. An unknown field is ignored and named in the log.
`make reference` writes the table into docs/openai.md.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from typing import Any, Literal

from msgspec import Raw, Struct

from rightseat.errors import CallerError
from rightseat.http.endpoint import decode_body
from rightseat.types.settings import CONTINUE

FieldSource = Literal["OpenAI", "llama-server", "rightseat"]
log = logging.getLogger(__name__)


class KnownField(Struct, frozen=True, kw_only=True):
    """`read`: the door uses it. `setting`: the model takes or refuses it. `left_out`: it changes no answer.
    `refused`: every value but the neutral ones is a 400."""

    name: str
    source: FieldSource
    handling: Literal["read", "setting", "left_out", "refused"]
    setting: str = ""
    """Name of the setting, where it is another than the field's."""
    neutral: tuple[Any, ...] = ()
    advice: str = ""
    """Next step of a caller whose field is refused; in the table, a remark about any other field."""

    @property
    def setting_name(self) -> str:
        return self.setting or self.name


def _list_fields(
    source: FieldSource, handling: Literal["read", "setting", "left_out"], names: Iterable[str], advice: str = ""
) -> dict[str, KnownField]:
    return {name: KnownField(name=name, source=source, handling=handling, advice=advice) for name in names}


def _refuse(source: FieldSource, name: str, advice: str, *neutral: Any) -> dict[str, KnownField]:
    return {name: KnownField(name=name, source=source, handling="refused", neutral=neutral, advice=advice)}


def _alias(source: FieldSource, name: str, setting: str) -> dict[str, KnownField]:
    return {name: KnownField(name=name, source=source, handling="setting", setting=setting)}


_OPENAI_SETTINGS = _list_fields(
    "OpenAI",
    "setting",
    (
        *("temperature", "top_p", "max_tokens", "stop", "seed", "frequency_penalty", "presence_penalty", "logit_bias"),
        *("logprobs", "user"),
    ),
)
_LLAMA_SERVER_SETTINGS = {
    **_list_fields(
        "llama-server",
        "setting",
        (
            *("top_k", "min_p", "typical_p", "top_n_sigma", "xtc_probability", "xtc_threshold", "dynatemp_range"),
            *("dynatemp_exponent", "repeat_penalty", "repeat_last_n"),
            *("dry_multiplier", "dry_base", "dry_allowed_length"),
            *("dry_penalty_last_n", "dry_sequence_breakers", "mirostat", "mirostat_tau", "mirostat_eta"),
            *("adaptive_target", "adaptive_decay", "samplers", "min_keep"),
            *("ignore_eos", "grammar", "cache_prompt", "lora"),
            *("n_keep", "n_discard", "n_indent", "n_cache_reuse", "t_max_predict_ms", "backend_sampling"),
        ),
    ),
    **_alias("llama-server", "n_predict", "max_tokens"),
    **_alias("llama-server", "n_probs", "logprobs"),
    **_alias("llama-server", "typ_p", "typical_p"),
}
_TEMPLATE_PART = "Leave it out: the server derives it from the chat template."
_LLAMA_SERVER_OTHERS = {
    **_list_fields("llama-server", "read", ("json_schema",), "an output schema, as `response_format` has"),
    **_list_fields("llama-server", "read", ("n_cmpl",), "`n`"),
    **_list_fields(
        "llama-server",
        "left_out",
        (
            *("timings_per_token", "return_tokens", "return_progress"),
            *("response_fields", "verbose", "sse_ping_interval"),
            *("reasoning_control",),
        ),
        "OpenAI's answers have no place for it",
    ),
    **_list_fields(
        "llama-server",
        "left_out",
        (
            *("speculative.n_max", "speculative.n_min", "speculative.p_min", "speculative.type"),
            *("speculative.ngram_size_n", "speculative.ngram_size_m", "speculative.ngram_min_hits"),
        ),
        "the model's set-up decides",
    ),
    **_refuse("llama-server", "id_slot", "Leave it out: send session_id to keep a conversation in its slot.", -1),
    **_refuse("llama-server", "post_sampling_probs", "Leave it out, and send logprobs.", False),
    **_refuse("llama-server", "grammar_lazy", "Leave it out: a grammar holds from the first token.", False),
    **_refuse("llama-server", "grammar_triggers", "Leave it out: a grammar holds from the first token."),
    **_refuse("llama-server", "grammar_trigger_words", "Leave it out: a grammar holds from the first token."),
    **_refuse("llama-server", "grammar_type", "Leave it out: every grammar is the caller's.", "user"),
    **_refuse("llama-server", "preserved_tokens", _TEMPLATE_PART),
}

CHAT_FIELDS: dict[str, KnownField] = {
    **_list_fields("OpenAI", "read", ("model", "messages", "stream", "stream_options", "tools", "tool_choice", "n")),
    **_list_fields("OpenAI", "read", ("functions", "function_call"), "the API of 2023: as `tools`, `tool_choice`"),
    **_list_fields("OpenAI", "read", ("response_format",), "a model that enforces no schema is told it, and checked"),
    **_OPENAI_SETTINGS,
    **_alias("OpenAI", "max_completion_tokens", "max_tokens"),
    **_list_fields(
        "OpenAI",
        "setting",
        (
            *("parallel_tool_calls", "top_logprobs", "reasoning_effort", "verbosity", "prediction", "service_tier"),
            *("safety_identifier", "prompt_cache_key", "prompt_cache_options", "prompt_cache_retention"),
            *("web_search_options",),
        ),
    ),
    **_list_fields("OpenAI", "left_out", ("metadata",), "for OpenAI's stored completions"),
    **_refuse("OpenAI", "store", "Leave it out: no vendor is asked to keep conversations. Threads keep them.", False),
    **_refuse("OpenAI", "audio", "Leave it out: answers are text."),
    **_refuse("OpenAI", "modalities", 'Send ["text"] or leave it out: answers are text.', ["text"]),
    **_refuse("OpenAI", "moderation", "Leave it out: [guardrails] of the configuration checks texts."),
    **_LLAMA_SERVER_SETTINGS,
    **_list_fields(
        "llama-server",
        "setting",
        (CONTINUE, "chat_template_kwargs", "reasoning_budget_tokens", "thinking_budget_tokens"),
    ),
    **_list_fields("llama-server", "setting", ("enable_thinking", "thinking", "reasoning"), "of other servers"),
    **_list_fields("llama-server", "read", ("add_generation_prompt",), "false needs a message to continue"),
    **_LLAMA_SERVER_OTHERS,
    **_refuse("llama-server", "echo", "Leave it out: put the message that is continued before the answer.", False),
    **_refuse("llama-server", "reasoning_format", "Leave it out: thoughts are reasoning_content.", "auto", "deepseek"),
    **_refuse("llama-server", "parse_tool_calls", "Leave it out, or send tool_choice none.", True),
    **_refuse("llama-server", "reasoning_budget_message", _TEMPLATE_PART),
    **_refuse("llama-server", "reasoning_budget_start_tag", _TEMPLATE_PART),
    **_refuse("llama-server", "reasoning_budget_end_tag", _TEMPLATE_PART),
    **_refuse("llama-server", "reasoning_budget_end_tags", _TEMPLATE_PART),
    **_refuse("llama-server", "generation_prompt", _TEMPLATE_PART),
    **_refuse("llama-server", "chat_format", _TEMPLATE_PART),
    **_refuse("llama-server", "chat_parser", _TEMPLATE_PART),
    **_list_fields("rightseat", "read", ("session_id", "parent_session_id", "plugins", "truncation")),
}

COMPLETION_FIELDS: dict[str, KnownField] = {
    **_list_fields("OpenAI", "read", ("model", "prompt", "stream", "stream_options", "n")),
    **_list_fields("OpenAI", "read", ("echo", "suffix"), "local models only"),
    **_OPENAI_SETTINGS,
    **_refuse("OpenAI", "best_of", "Leave it out, and send n.", 1),
    **_LLAMA_SERVER_SETTINGS,
    **_LLAMA_SERVER_OTHERS,
}

EMBEDDING_FIELDS: dict[str, KnownField] = {
    **_list_fields("OpenAI", "read", ("model", "input", "encoding_format")),
    **_list_fields("OpenAI", "read", ("dimensions",), "where the model can; local models refuse it"),
    **_list_fields("OpenAI", "read", ("user",), "not for local models"),
    **_list_fields("llama-server", "read", ("embd_normalize",), "OpenAI refuses it"),
}

MAX_LOGGED_NAMES = 200
MAX_LOGGED_CHARS = 64


class FieldLog:
    """Log of fields without an effect: one line for each name, however many requests have it."""

    def __init__(self) -> None:
        self._names: set[str] = set()

    def add(self, name: str, reason: str) -> None:
        # The bound is for clients that make names up.
        if name in self._names or len(self._names) >= MAX_LOGGED_NAMES:
            return
        self._names.add(name)
        log.info("the field %a of a request is ignored: %s", name[:MAX_LOGGED_CHARS], reason)
        if len(self._names) == MAX_LOGGED_NAMES:
            log.info("further fields that are ignored are not named any more")


FIELD_LOG = FieldLog()


def check_fields(body: bytes, fields: Mapping[str, KnownField]) -> None:
    """Raise CallerError for a field that this door refuses; log fields that have no effect."""
    for name, raw in decode_body(body, dict[str, Raw]).items():
        field = fields.get(name)
        if field is None:
            FIELD_LOG.add(name, "it is unknown")
        elif field.handling == "left_out":
            FIELD_LOG.add(name, field.advice)
        elif field.handling == "refused" and not _is_neutral(decode_body(bytes(raw), Any), field.neutral):
            raise CallerError(f"{name}: this server does not take it. {field.advice}", param=name)


def _is_neutral(value: Any, neutral: tuple[Any, ...]) -> bool:
    return value in (None, "", [], {}) or any(type(value) is type(other) and value == other for other in neutral)


def list_settings(fields: Mapping[str, KnownField]) -> tuple[KnownField, ...]:
    """List the fields that are handed on as settings under their own name."""
    return tuple(field for field in fields.values() if field.handling == "setting" and not field.setting)
