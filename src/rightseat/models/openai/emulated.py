"""Tool calls for servers without tool support: the model answers with a JSON envelope, parsed as calls.

`schema`: the server enforces the envelope by `response_format`, and it is parsed while it streams. `prompt`:
the model is only instructed; its answer is buffered, validated, and requested once more if invalid.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any, Literal

import msgspec
from msgspec.structs import replace

from rightseat.errors import CallerError, OutputInvalid, UpstreamGarbled
from rightseat.models.openai.client import OpenAIModel
from rightseat.tools.text_calls.generic import CALLS, THOUGHT, JsonCallEnvelope, tool_messages_as_text
from rightseat.tools.text_calls.reader import ModelTextReader, StopSequenceFilter, TextFormatError
from rightseat.types.chunks import FinishChunk, ModelChunk, RefusalChunk, TextChunk, ToolCallStart, UsageChunk
from rightseat.types.events import Usage
from rightseat.types.messages import Message, text_message
from rightseat.types.model import Prompt, SamplingSettings
from rightseat.types.schema import SchemaValidator, get_validator
from rightseat.types.streams import closing

ToolEmulation = Literal["schema", "prompt"]
# Meaningless for the caller, since the answer is our envelope.
_WITHHELD_SETTINGS = frozenset({"response_format", "logprobs", "top_logprobs"})


class EmulatedToolsModel(OpenAIModel):
    """An OpenAIModel with emulated tools; `tools` selects the emulation."""

    def __init__(self, name: str, *, tools: ToolEmulation, **options: Any) -> None:
        super().__init__(name, **options)
        self._emulation = tools
        self.capabilities = replace(self.capabilities, allowed_tools=False)

    def stream(self, prompt: Prompt, /) -> AsyncIterator[ModelChunk]:
        prompt = replace(prompt, messages=tool_messages_as_text(prompt.messages))
        if not prompt.callable_tools:
            return super().stream(replace(prompt, tools=()))
        return self._stream_with_schema(prompt) if self._emulation == "schema" else self._stream_with_prompt(prompt)

    async def _stream_with_schema(self, prompt: Prompt) -> AsyncIterator[ModelChunk]:
        envelope = JsonCallEnvelope.from_prompt(prompt)
        parser = EnvelopeParser(envelope, prompt.settings, self.capabilities.enforces_schema)
        emulated_prompt = replace(_make_emulated_prompt(prompt, envelope), output_schema=envelope.schema())
        async with closing(super().stream(emulated_prompt)) as stream:
            async for fragment in stream:
                for chunk in parser.feed(fragment):
                    yield chunk
                if parser.done:
                    return

    async def _stream_with_prompt(self, prompt: Prompt) -> AsyncIterator[ModelChunk]:
        envelope = JsonCallEnvelope.from_prompt(prompt)
        check = get_validator(envelope.schema())
        emulated_prompt = _make_emulated_prompt(prompt, envelope)
        usage: Usage | None = None
        problem: str | None = None
        for _ in range(2):
            answer = BufferedAnswer()
            async with closing(super().stream(emulated_prompt)) as stream:
                async for fragment in stream:
                    if not answer.accept(fragment):
                        yield fragment
            usage = answer.usage if usage is None else usage + (answer.usage or Usage())
            problem = answer.find_problem(envelope, check)
            if problem is None:
                for chunk in answer.make_chunks(envelope, prompt.settings, usage):
                    yield chunk
                return
            emulated_prompt = replace(
                emulated_prompt, messages=(*emulated_prompt.messages, *_make_retry_messages(answer.text, problem))
            )
        raise OutputInvalid(f"The model did not call a tool in the requested form: {problem}"[:500])


class EnvelopeParser:
    """Parses a streamed envelope into text and tool call chunks."""

    def __init__(self, envelope: JsonCallEnvelope, settings: SamplingSettings, enforced: bool) -> None:
        self._names = frozenset(tool.name for tool in envelope.tools)
        self._reader = ModelTextReader(envelope.parse, enforced=self._names if enforced else frozenset())
        self._stops = StopSequenceFilter(settings.stop)
        self._refused = False
        self.done = False

    def feed(self, fragment: ModelChunk) -> list[ModelChunk]:
        if isinstance(fragment, TextChunk):
            out = self._stops.filter(self._parse(fragment.text))
            self.done = self._stops.stopped
            return [*out, FinishChunk("stop")] if self.done else out
        if isinstance(fragment, FinishChunk):
            self.done = True
            return self._finish(fragment)
        self._refused = self._refused or isinstance(fragment, RefusalChunk)
        return [fragment]

    def _parse(self, text: str | None) -> list[ModelChunk]:
        """Feed text to the reader; None closes it."""
        try:
            chunks = self._reader.close() if text is None else self._reader.feed(text)
        except TextFormatError as error:
            raise _unenforced_schema_error() from error
        if any(isinstance(chunk, ToolCallStart) and chunk.name not in self._names for chunk in chunks):
            raise _unenforced_schema_error()
        return chunks

    def _finish(self, finish: FinishChunk) -> list[ModelChunk]:
        if self._refused:
            return [finish]
        out = self._stops.filter(self._parse(None), last=True)
        if finish.reason not in ("stop", "calls"):
            return [*out, finish]
        if self._reader.truncated:
            raise _unenforced_schema_error()
        return [*out, FinishChunk("calls" if self._reader.calls else "stop")]


class BufferedAnswer:
    """An answer that is buffered until it is validated."""

    def __init__(self) -> None:
        self.text = ""
        self.usage: Usage | None = None
        self._finish = FinishChunk("stop")
        self._refused = False
        self._json = ""

    def accept(self, fragment: ModelChunk) -> bool:
        """Buffer a chunk; return False for chunks to pass on at once."""
        match fragment:
            case TextChunk(text):
                self.text += text
            case UsageChunk(usage):
                self.usage = usage
            case FinishChunk():
                self._finish = fragment
            case _:
                self._refused = self._refused or isinstance(fragment, RefusalChunk)
                return False
        return True

    def find_problem(self, envelope: JsonCallEnvelope, check: SchemaValidator) -> str | None:
        """Return why the answer does not fit, else None. Truncated and refused answers are not checked."""
        if self._refused or self._finish.reason not in ("stop", "calls"):
            return None
        try:
            value = _parse_first_object(self.text)
            problem = check.find_problem(value)
        except (ValueError, msgspec.MsgspecError, RecursionError):
            problem = "it is not JSON"
        else:
            # Re-encode: duplicate keys and invalid JSON values do not get through.
            self._json = "" if problem else msgspec.json.encode(value).decode()
        return None if self._is_plain_text(envelope) else problem

    def _is_plain_text(self, envelope: JsonCallEnvelope) -> bool:
        """Whether the answer is plain text, where neither a call nor an output schema is required."""
        looks_like_envelope = f'"{THOUGHT}"' in self.text or f'"{CALLS}"' in self.text
        return not (looks_like_envelope or envelope.requires_call or envelope.output_schema is not None)

    def _parse_truncated(self, envelope: JsonCallEnvelope, settings: SamplingSettings) -> list[ModelChunk]:
        """Return the chunks of an envelope that the token limit cut; none if its beginning is not of the form."""
        parser = EnvelopeParser(envelope, settings, enforced=False)
        try:
            return parser.feed(TextChunk(self.text[self.text.index("{") :]))
        except (ValueError, UpstreamGarbled):
            return []

    def make_chunks(
        self, envelope: JsonCallEnvelope, settings: SamplingSettings, usage: Usage | None
    ) -> list[ModelChunk]:
        usage_chunks: list[ModelChunk] = [] if usage is None else [UsageChunk(usage)]
        if self._json:
            parser = EnvelopeParser(envelope, settings, enforced=True)
            out = [*usage_chunks, *parser.feed(TextChunk(self._json))]
            return out if parser.done else out + parser.feed(self._finish)
        if self._finish.reason == "length" and not self._refused:
            truncated_chunks = self._parse_truncated(envelope, settings)
            if truncated_chunks:
                is_stopped = isinstance(truncated_chunks[-1], FinishChunk)
                return [*usage_chunks, *truncated_chunks, *(() if is_stopped else (self._finish,))]
        stops = StopSequenceFilter(settings.stop)
        hide_text = self._refused or not self._is_plain_text(envelope)
        chunks = stops.filter([] if hide_text else [TextChunk(self.text)], last=True)
        return [*chunks, *usage_chunks, FinishChunk("stop") if stops.stopped else self._finish]


def _parse_first_object(text: str) -> Any:
    """Decode the JSON object at the first brace; ignore a code fence or text around it."""
    start = text.index("{")
    _, end = json.JSONDecoder().raw_decode(text, start)
    return msgspec.json.decode(text[start:end])


def _make_emulated_prompt(prompt: Prompt, envelope: JsonCallEnvelope) -> Prompt:
    settings = prompt.settings
    if settings.extra.get("logprobs"):
        raise CallerError(
            "logprobs: this model calls tools in its text, whose tokens are not the answer's. Leave out logprobs or "
            "the tools.",
            param="logprobs",
        )
    extra = {name: value for name, value in settings.extra.items() if name not in _WITHHELD_SETTINGS}
    return Prompt(
        messages=_add_instructions(prompt.messages, envelope.instructions()),
        settings=replace(settings, stop=(), extra=extra),
        conversation=prompt.conversation,
    )


def _add_instructions(messages: tuple[Message, ...], instructions: str) -> tuple[Message, ...]:
    """Append the instructions to the first system message, or add one."""
    if messages and messages[0].role in ("system", "developer"):
        return (text_message(messages[0].role, f"{messages[0].text}\n\n{instructions}"), *messages[1:])
    return (text_message("system", instructions), *messages)


def _make_retry_messages(text: str, problem: str) -> tuple[Message, Message]:
    ask = f"That answer does not fit the schema that was asked for: {problem}. Answer again, JSON only."
    return text_message("assistant", text or "…"), text_message("user", ask)


def _unenforced_schema_error() -> UpstreamGarbled:
    return UpstreamGarbled(
        "The server did not hold the model to the JSON schema of tool calls. Set `tools` of this model to "
        '"prompt", or to "native" if the server knows tools.'
    )
