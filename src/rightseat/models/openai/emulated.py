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

from rightseat.errors import OutputInvalid, UpstreamGarbled
from rightseat.models.openai.client import OpenAI
from rightseat.tools.text_calls.generic import CALLS, THOUGHT, Envelope, worded
from rightseat.tools.text_calls.reader import Reader, Unreadable
from rightseat.tools.text_calls.stops import Stops
from rightseat.types.chunks import CallName, Finish, Fragment, Refusal, Text, Used
from rightseat.types.events import Usage
from rightseat.types.messages import Message, said
from rightseat.types.model import Prompt, Settings
from rightseat.types.schema import Checker, checker
from rightseat.types.streams import closing

Way = Literal["schema", "prompt"]
# Meaningless for the caller, since the answer is our envelope.
_WITHHELD = frozenset({"response_format", "logprobs", "top_logprobs"})


class Emulated(OpenAI):
    """An OpenAIModel with emulated tools; `tools` selects the emulation."""

    def __init__(self, name: str, *, tools: Way, **options: Any) -> None:
        super().__init__(name, **options)
        self._way = tools

    def stream(self, prompt: Prompt, /) -> AsyncIterator[Fragment]:
        prompt = replace(prompt, messages=worded(prompt.messages))
        if not prompt.callable:
            return super().stream(replace(prompt, tools=()))
        return self._held_to_it(prompt) if self._way == "schema" else self._asked(prompt)

    async def _held_to_it(self, prompt: Prompt) -> AsyncIterator[Fragment]:
        envelope = Envelope.of(prompt)
        opened = Opened(envelope, prompt.settings, self.enforces_schema)
        told = replace(_told(prompt, envelope), output_schema=envelope.schema())
        async with closing(super().stream(told)) as stream:
            async for fragment in stream:
                for shown in opened.take(fragment):
                    yield shown
                if opened.over:
                    return

    async def _asked(self, prompt: Prompt) -> AsyncIterator[Fragment]:
        envelope = Envelope.of(prompt)
        check = checker(envelope.schema())
        told = _told(prompt, envelope)
        used: Usage | None = None
        problem: str | None = None
        for _ in range(2):
            answer = Held()
            async with closing(super().stream(told)) as stream:
                async for fragment in stream:
                    if not answer.take(fragment):
                        yield fragment
            used = answer.usage if used is None else used + (answer.usage or Usage())
            problem = answer.problem(envelope, check)
            if problem is None:
                for shown in answer.shown(envelope, prompt.settings, used):
                    yield shown
                return
            told = replace(told, messages=(*told.messages, *_again(answer.text, problem)))
        raise OutputInvalid(f"The model did not call a tool in the form that was asked for: {problem}"[:500])


class Opened:
    """Parses a streamed envelope into text and tool call chunks."""

    def __init__(self, envelope: Envelope, settings: Settings, enforced: bool) -> None:
        self._names = frozenset(tool.name for tool in envelope.tools)
        self._reader = Reader(envelope.read, enforced=self._names if enforced else frozenset())
        self._stops = Stops(settings.stop)
        self._refused = False
        self.over = False

    def take(self, fragment: Fragment) -> list[Fragment]:
        if isinstance(fragment, Text):
            out = self._stops.cut(self._read(fragment.text))
            self.over = self._stops.met
            return [*out, Finish("stop")] if self.over else out
        if isinstance(fragment, Finish):
            self.over = True
            return self._ended(fragment)
        self._refused = self._refused or isinstance(fragment, Refusal)
        return [fragment]

    def _read(self, text: str | None) -> list[Fragment]:
        """Feed text to the reader; None closes it."""
        try:
            found = self._reader.close() if text is None else self._reader.feed(text)
        except Unreadable as error:
            raise _unlike() from error
        if any(isinstance(one, CallName) and one.name not in self._names for one in found):
            raise _unlike()
        return found

    def _ended(self, finish: Finish) -> list[Fragment]:
        if self._refused:
            return [finish]
        out = self._stops.cut(self._read(None), last=True)
        if finish.reason not in ("stop", "calls"):
            return [*out, finish]
        if self._reader.cut:
            raise _unlike()
        return [*out, Finish("calls" if self._reader.calls else "stop")]


class Held:
    """An answer that is buffered until it is validated."""

    def __init__(self) -> None:
        self.text = ""
        self.usage: Usage | None = None
        self._finish = Finish("stop")
        self._refused = False
        self._json = ""

    def take(self, fragment: Fragment) -> bool:
        """Buffer a chunk; return False for chunks to pass on at once."""
        match fragment:
            case Text(text):
                self.text += text
            case Used(usage):
                self.usage = usage
            case Finish():
                self._finish = fragment
            case _:
                self._refused = self._refused or isinstance(fragment, Refusal)
                return False
        return True

    def problem(self, envelope: Envelope, check: Checker) -> str | None:
        """Return why the answer does not fit, else None. Truncated and refused answers are not checked."""
        if self._refused or self._finish.reason not in ("stop", "calls"):
            return None
        try:
            value = _first_object(self.text)
            found = check.problem(value)
        except (ValueError, msgspec.MsgspecError, RecursionError):
            found = "it is not JSON"
        else:
            # Re-encode: duplicate keys and invalid JSON values do not get through.
            self._json = "" if found else msgspec.json.encode(value).decode()
        return None if self._just_words(envelope) else found

    def _just_words(self, envelope: Envelope) -> bool:
        """Whether the answer is plain text, where neither a call nor an output schema is required."""
        tried = f'"{THOUGHT}"' in self.text or f'"{CALLS}"' in self.text
        return not (tried or envelope.must or envelope.output is not None)

    def shown(self, envelope: Envelope, settings: Settings, usage: Usage | None) -> list[Fragment]:
        used: list[Fragment] = [] if usage is None else [Used(usage)]
        if self._json:
            opened = Opened(envelope, settings, enforced=True)
            out = [*used, *opened.take(Text(self._json))]
            return out if opened.over else out + opened.take(self._finish)
        stops = Stops(settings.stop)
        words = self._refused or not self._just_words(envelope)
        text = stops.cut([] if words else [Text(self.text)], last=True)
        return [*text, *used, Finish("stop") if stops.met else self._finish]


def _first_object(text: str) -> Any:
    """Decode the JSON object at the first brace; ignore a code fence or text around it."""
    start = text.index("{")
    _, end = json.JSONDecoder().raw_decode(text, start)
    return msgspec.json.decode(text[start:end])


def _told(prompt: Prompt, envelope: Envelope) -> Prompt:
    settings = prompt.settings
    extra = {name: value for name, value in settings.extra.items() if name not in _WITHHELD}
    return Prompt(
        messages=_first(prompt.messages, envelope.instructions()),
        settings=replace(settings, stop=(), extra=extra),
        conversation=prompt.conversation,
    )


def _first(messages: tuple[Message, ...], words: str) -> tuple[Message, ...]:
    """Append the instructions to the first system message, or add one."""
    if messages and messages[0].role in ("system", "developer"):
        return (said(messages[0].role, f"{messages[0].text}\n\n{words}"), *messages[1:])
    return (said("system", words), *messages)


def _again(text: str, problem: str) -> tuple[Message, Message]:
    ask = f"That answer does not fit the schema that was asked for: {problem}. Answer again, JSON only."
    return said("assistant", text or "…"), said("user", ask)


def _unlike() -> UpstreamGarbled:
    return UpstreamGarbled(
        "The server did not hold the model to the JSON schema of tool calls. Set `tools` of this model to "
        '"prompt", or to "native" if the server knows tools.'
    )
