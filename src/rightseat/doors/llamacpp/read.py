"""Decode llama-server's requests into turns."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from msgspec import Struct
from msgspec.structs import fields, replace

from rightseat.doors.llamacpp import wire
from rightseat.errors import CallerError, NotConfigured
from rightseat.http.endpoint import Host, Request, decode_body, parse_id_header
from rightseat.types.messages import text_message
from rightseat.types.model import InfillPrompt, RawPrompt, SamplingSettings
from rightseat.types.settings import EngineSampling
from rightseat.types.turn import Turn, TurnClient

MAX_COMPLETIONS = 8
MAX_MIXED_TEXTS = 64
WHOLE_CONTEXT = 1 << 16
NO_RAW_TEXT = (
    "This model does not go on with a raw text: only a local one does. Name one that is local, or send messages to "
    "/v1/chat/completions."
)
TOKEN_ID = re.compile(r"[0-9]{1,9}")
ENGINE_OPTIONS = tuple(field.name for field in fields(EngineSampling))
REFUSED = {
    "lora": "adapters are chosen in the configuration. Leave it out.",
    "grammar_lazy": "a grammar applies from the first token on. Leave it out.",
    "grammar_triggers": "a grammar applies from the first token on. Leave them out.",
    "grammar_trigger_words": "a grammar applies from the first token on. Leave them out.",
}


class LlamaRequest(Struct, frozen=True):
    """A decoded request: one turn for each completion, and the options of the response."""

    turns: tuple[Turn, ...]
    model: str
    stream: bool
    is_list: bool
    """Several prompts were sent, or several completions asked for: a whole answer is a list."""
    return_tokens: bool
    with_probabilities: bool
    response_fields: tuple[str, ...] = ()


def read_completion(request: Request, host: Host) -> LlamaRequest:
    body = decode_body(request.body, wire.LlamaCompletionRequest)
    prompts = split_prompts(body.prompt)
    return make_request(request, host, body, [make_raw_prompt(prompt) for prompt in prompts])


def read_infill(request: Request, host: Host) -> LlamaRequest:
    body = decode_body(request.body, wire.InfillRequest)
    files = tuple((file.filename, file.text) for file in body.input_extra or ())
    raw = RawPrompt(body.input_prefix, infill=InfillPrompt(body.input_suffix, files, body.prompt or ""))
    return make_request(request, host, body, [raw])


def make_request(request: Request, host: Host, body: wire.CompletionOptions, raws: list[RawPrompt]) -> LlamaRequest:
    name = host.resolve_responder(body.model)
    if not host.supports_completion(name):
        raise NotConfigured(NO_RAW_TEXT)
    check_options(body)
    count = len(raws) * (body.n_cmpl or 1)
    if count > MAX_COMPLETIONS:
        raise CallerError(f"prompt: ask for at most {MAX_COMPLETIONS} completions in one request.", param="prompt")
    settings = parse_settings(body)
    options = collect_options(body)
    turns = tuple(
        Turn(
            messages=(text_message("user", raw.text if isinstance(raw.text, str) else ""),),
            raw=replace(raw, grammar=body.grammar or "", schema=body.json_schema, options=options, reports=True),
            assistant=name,
            model=host.resolve_model(body.model),
            settings=settings,
            owner=request.owner,
            client=TurnClient(
                headers=request.trace_headers,
                shows_interrupts=False,
                shows_artifacts=False,
                shows_suggestions=False,
                base_url=request.base,
            ),
            run=request.id if number == 0 else f"{request.id}-{number}",
            conversation=parse_id_header(request, "x-thread-id") if count == 1 else None,
        )
        for number, raw in enumerate(raw for raw in raws for _ in range(body.n_cmpl or 1))
    )
    return LlamaRequest(
        turns,
        body.model or name or "default",
        bool(body.stream),
        count > 1,
        bool(body.return_tokens),
        bool(body.n_probs),
        tuple(body.response_fields or ()),
    )


def split_prompts(prompt: str | list[wire.PromptItem] | wire.MultimodalPrompt) -> list[Any]:
    """Split `prompt` into single ones. A list with a number in it is one prompt of tokens and texts."""
    if not isinstance(prompt, list):
        return [prompt]
    if not prompt:
        raise CallerError("prompt: it is empty. Send a text or tokens.", param="prompt")
    if not any(isinstance(item, int) for item in prompt):
        return prompt
    if not all(isinstance(item, int | str) for item in prompt):
        raise CallerError("prompt: do not mix tokens and whole prompts. Put each prompt in a list.", param="prompt")
    return [prompt]


def make_raw_prompt(prompt: str | list[int | str] | wire.MultimodalPrompt) -> RawPrompt:
    if isinstance(prompt, wire.MultimodalPrompt):
        return RawPrompt(prompt.prompt_string, media=tuple(prompt.multimodal_data))
    if prompt == []:
        raise CallerError("prompt: it is empty. Send a text or tokens.", param="prompt")
    if isinstance(prompt, str):
        return RawPrompt(prompt)
    # Each text is a request to the engine's tokenizer.
    if sum(isinstance(item, str) for item in prompt) > MAX_MIXED_TEXTS:
        raise CallerError(f"prompt: put at most {MAX_MIXED_TEXTS} texts between tokens.", param="prompt")
    return RawPrompt(tuple(prompt))


def check_options(body: wire.CompletionOptions) -> None:
    for name, problem in REFUSED.items():
        if getattr(body, name):
            raise CallerError(f"{name}: {problem}", param=name)
    if body.grammar and body.json_schema is not None:
        raise CallerError("grammar: cannot be combined with json_schema. Leave one out.", param="grammar")


def parse_settings(body: wire.CompletionOptions) -> SamplingSettings:
    """Return the settings that all models know, for limits and metrics; -1 and 0 tokens are no limit there."""
    limit = body.max_tokens if body.n_predict is None else body.n_predict
    stop = (body.stop,) if isinstance(body.stop, str) else tuple(body.stop or ())
    return SamplingSettings(max_tokens=limit if limit and limit > 0 else None, stop=tuple(filter(None, stop)))


def collect_options(body: wire.CompletionOptions) -> dict[str, Any]:
    """Return the fields for the engine that are set."""
    options = {name: getattr(body, name) for name in ENGINE_OPTIONS if getattr(body, name) is not None}
    for name in ("repeat_last_n", "dry_penalty_last_n"):
        if options.get(name) == -1:
            options[name] = WHOLE_CONTEXT
    if body.n_predict == 0 or body.max_tokens == 0:
        options["n_predict"] = 0
    if body.n_probs:
        options["n_probs"] = body.n_probs
    if body.logit_bias:
        options["logit_bias"] = list_biases(body.logit_bias)
    return options | {"return_tokens": True}


def list_biases(bias: Mapping[str, float] | list[tuple[int | str, float]]) -> list[list[Any]]:
    """Return pairs of a token's id, or a text, and its bias. A key of an object is an id if it is a number."""
    if isinstance(bias, list):
        return [list(pair) for pair in bias]
    return [[int(key) if TOKEN_ID.fullmatch(key) else key, weight] for key, weight in bias.items()]


def read_rerank(request: Request, host: Host) -> tuple[str | None, wire.RerankRequest]:
    body = decode_body(request.body, wire.RerankRequest)
    if not (body.documents or body.texts):
        raise CallerError("documents: send at least one text.", param="documents")
    return host.resolve_responder(body.model), body


def read_name(request: Request, host: Host) -> tuple[str | None, str]:
    """Return the responder that a GET request names, and the name for the answer."""
    model = request.query.get("model")
    name = host.resolve_responder(model)
    return name, model or name or "default"
