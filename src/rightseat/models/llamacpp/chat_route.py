"""The engine's own chat route (`/v1/chat/completions`): whether it knows a template, requests and answers."""

from __future__ import annotations

import logging
import re
from typing import Any, Literal

import msgspec
from msgspec import Struct

from rightseat.errors import (
    Incomplete,
    RightseatError,
    UpstreamBusy,
    UpstreamOverloaded,
    UpstreamRefused,
    UpstreamTimeout,
)
from rightseat.models._vendor.chat_parser import ChatStreamParser
from rightseat.models._vendor.reasoning import ReasoningRules
from rightseat.models._vendor.request import parse_object
from rightseat.models.llamacpp import completion
from rightseat.models.llamacpp.client import ERRORS, ChatEvent, LlamaServerClient, Timings, make_format_error
from rightseat.models.llamacpp.control_tokens import WORD_JOINER
from rightseat.models.llamacpp.formats.answer_grammar import MAX_CALLS
from rightseat.models.llamacpp.formats.format import PromptPlan
from rightseat.models.llamacpp.formats.native import PYTHONIC_BEGIN, PYTHONIC_MARKERS, UNENFORCED_MARKERS, NativeFormat
from rightseat.models.llamacpp.template_probe import PROBE_CALL, PROBE_TOOLS, TemplateCapabilities, make_probe_messages
from rightseat.tools.text_calls.reader import SPACE, StopSequenceFilter
from rightseat.types.chunks import FinishChunk, ModelChunk, TextChunk, ToolCallArgs, ToolCallStart, UsageChunk
from rightseat.types.events import Usage
from rightseat.types.model import Prompt, SamplingSettings
from rightseat.types.schema import get_validator

# Tags with the word, and Gemma's channel of thoughts.
_EMPTY_THOUGHT = re.compile(r"(?:\s|<[^<>\s]{0,24}think[^<>\s]{0,24}>|<\|channel>thought\n<channel\|>)*$")
# As much of the text before an answer must be the same as the header of a message has.
_HEADER_CHARS = 12
# What says nothing about the engine's abilities.
_TRANSIENT_ERRORS = (Incomplete, UpstreamBusy, UpstreamOverloaded, UpstreamRefused, UpstreamTimeout)
log = logging.getLogger(__name__)


async def probe_engine(
    client: LlamaServerClient, source: str, capabilities: TemplateCapabilities
) -> NativeFormat | None:
    """Return the native format if the engine handles the tools of this template; None for an engine that has
    another template, does not know this one, or is too old to say so."""
    try:
        props = await client.get_props()
        if not _has_template(props, source) or not _handles_tools(props, source):
            return None
        request = {"messages": make_probe_messages()[:1], "tools": PROBE_TOOLS, "tool_choice": "required"}
        # The engine also builds the grammar and the parser for this request.
        if PROBE_CALL[0] not in await client.apply_template(request):
            return None
        opening = f"{PYTHONIC_BEGIN}["
        if capabilities.tool_calls:
            opening = await _check_opening(client, request, capabilities.call_opening)
        return NativeFormat(opening, enforces_schemas=not any(mark in source for mark in UNENFORCED_MARKERS))
    except _TRANSIENT_ERRORS:
        raise
    except RightseatError as error:
        log.debug("the engine does not handle the template's tools: %s", error)
        return None


async def _check_opening(client: LlamaServerClient, request: dict[str, Any], opening: str) -> str:
    """Return the opening if the engine puts it where the template begins a call, else an empty text. The engine
    may write an empty thought before it."""
    if not opening:
        return ""
    user, *called = make_probe_messages()
    begun = {"role": "assistant", "content": opening}
    continued = {**request, "messages": [user, begun], "continue_final_message": True}
    try:
        prompt = await client.apply_template({**continued, "add_generation_prompt": False})
        history = await client.apply_template({**request, "messages": [user, *called]})
    except _TRANSIENT_ERRORS:
        raise
    except RightseatError:
        return ""
    before = history[: max(0, history.rfind(opening))]
    begins_answer = _cut_empty_thought(prompt.removesuffix(opening)) == _cut_empty_thought(before)
    return opening if before and prompt.endswith(opening) and begins_answer else ""


def _cut_empty_thought(text: str) -> str:
    """Return the last characters of a text without the tags of a thought and without white space after them."""
    return _EMPTY_THOUGHT.sub("", text[-200:])[-_HEADER_CHARS:]


def _has_template(props: dict[str, Any], source: str) -> bool:
    """Return whether the engine renders this template. It may have patched conditions of it to be false."""
    texts = [props.get(key) for key in ("chat_template", "chat_template_tool_use")]
    return any(
        isinstance(text, str) and text and all(part in source for part in text.split("{%- if false %}"))
        for text in texts
    )


def _handles_tools(props: dict[str, Any], source: str) -> bool:
    capabilities = props.get("chat_template_caps")
    if not isinstance(capabilities, dict) or capabilities.get("supports_tools") is not True:
        return False
    return capabilities.get("supports_tool_calls") is True or any(mark in source for mark in PYTHONIC_MARKERS)


def build_chat_body(
    plan: PromptPlan,
    settings: SamplingSettings,
    *,
    default_max_tokens: int,
    temperature: float | None = None,
    has_adapter: bool = False,
) -> dict[str, Any]:
    """Build the body of the chat route from the plan's request and the caller's settings."""
    assert plan.chat_request is not None
    sampling = completion.build_sampling(settings, default_max_tokens=default_max_tokens, temperature=temperature)
    return {
        **plan.chat_request,
        "cache_prompt": True,
        **sampling,
        "stream_options": {"include_usage": True},
        # For an answer that is ended here, before the engine sends the usage.
        "timings_per_token": True,
        **{name: value for name, value in plan.engine_fields.items() if name == "reasoning_budget_tokens"},
        **({"lora": completion.ADAPTER} if plan.uses_adapter and has_adapter and "lora" not in sampling else {}),
    }


class ChatTimings(Struct, frozen=True):
    timings: Timings = Timings()


# Templates show the thoughts before a call with its result.
RETURNED_THOUGHTS = ReasoningRules(text="calls", origin="llama.cpp")


class LlamaChatParser(ChatStreamParser):
    errors = ERRORS


class ChatRouteReader:
    """Reads one answer of the chat route. `finished`: no more events are needed."""

    def __init__(self, plan: PromptPlan, prompt: Prompt) -> None:
        self._parser = LlamaChatParser(plan.enforced_tools, RETURNED_THOUGHTS)
        self._stops = StopSequenceFilter(prompt.settings.stop)
        self._top_logprobs = completion.get_top_logprobs(prompt.settings)
        self._tools = {tool.name: tool for tool in prompt.callable_tools}
        self._enforced = plan.enforced_tools
        self._must_call = prompt.requires_tool_call
        self._max_calls = 1 if prompt.settings.parallel_calls is False else MAX_CALLS
        self._names: dict[int, str] = {}
        self._arguments: dict[int, list[str]] = {}
        self._held_space = ""
        tools = msgspec.json.encode((plan.chat_request or {}).get("tools")).decode()
        self._has_split_tokens = WORD_JOINER in tools
        self._payload = b""
        self.finished = False

    def read_chunk(self, event: ChatEvent) -> list[ModelChunk]:
        chunks = self._parser.finish() if event.stop else self._parser.feed(event.payload)
        self._payload = event.payload
        out = [clean for chunk in chunks for clean in self._read(chunk)]
        out = self._stops.filter(out, last=self.finished)
        if self._stops.stopped and not self.finished:
            self.finished = True
            out += [self._read_usage(), FinishChunk("stop")]
        return out

    def _read(self, chunk: ModelChunk) -> list[ModelChunk]:
        if self.finished:
            return []
        if isinstance(chunk, TextChunk):
            return self._read_text(chunk)
        if isinstance(chunk, ToolCallStart):
            self._held_space = ""
            if len(self._names) == self._max_calls:
                # The engine's grammar has no limit, and some templates' none to one call.
                return [self._read_usage(), *self._finish("calls")]
            self._names[chunk.index] = chunk.name
        elif isinstance(chunk, ToolCallArgs):
            if self._has_split_tokens:
                chunk = ToolCallArgs(chunk.index, chunk.json.replace(WORD_JOINER, ""))
            self._arguments.setdefault(chunk.index, []).append(chunk.json)
            if self._is_last_call_complete(chunk):
                return [chunk, self._read_usage(), *self._finish("calls")]
        elif isinstance(chunk, FinishChunk):
            return self._finish(chunk.reason)
        return [chunk]

    def _is_last_call_complete(self, chunk: ToolCallArgs) -> bool:
        """Return whether no further call is allowed and this one ends here: a tiny model goes on with line ends."""
        if len(self._names) < self._max_calls or not chunk.json.endswith("}"):
            return False
        return parse_object("".join(self._arguments[chunk.index])) is not None

    def _read_text(self, chunk: TextChunk) -> list[ModelChunk]:
        logprobs = self._format_logprobs(chunk.logprobs)
        if not self._tools:
            return [TextChunk(chunk.text, logprobs)]
        # White space before and after calls belongs to the markup.
        text = self._held_space + chunk.text
        kept = text.rstrip(SPACE)
        self._held_space = text[len(kept) :]
        return [TextChunk(kept, logprobs)] if kept else []

    def _format_logprobs(self, logprobs: Any) -> Any:
        if self._top_logprobs is None or not isinstance(logprobs, dict):
            return None
        return {"content": completion.format_logprobs(logprobs.get("content") or [], self._top_logprobs)}

    def _finish(self, reason: Literal["stop", "length", "content_filter", "calls"]) -> list[ModelChunk]:
        self.finished = True
        if reason in ("stop", "calls"):
            self._check_calls()
        held, self._held_space = self._held_space, ""
        # A small model may end each answer with line ends; after calls they mean nothing.
        return [*([TextChunk(held)] if held and not self._names else []), FinishChunk(reason)]

    def _read_usage(self) -> UsageChunk:
        """Return the usage so far, which the last event has in its timings."""
        try:
            timings = msgspec.json.decode(self._payload, type=ChatTimings).timings
        except msgspec.DecodeError:
            timings = Timings()
        return UsageChunk(Usage(timings.prompt_n + timings.cache_n, timings.predicted_n, timings.cache_n))

    def _check_calls(self) -> None:
        """Raise UpstreamGarbled for a missing call, and for invalid arguments that were already streamed: the
        engine's grammar begins at a trigger, which a model may spell in other tokens."""
        if self._must_call and not self._names:
            raise make_format_error("there is no call")
        for index, name in self._names.items():
            if name not in self._enforced:
                continue
            arguments = "".join(self._arguments.get(index, ()))
            try:
                problem = get_validator(self._tools[name].parameters).find_problem(msgspec.json.decode(arguments))
            except (msgspec.DecodeError, RecursionError):
                problem = "no JSON"
            if problem is not None:
                raise make_format_error(problem)
