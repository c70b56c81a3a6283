"""LlamaCppChatModel: render a Prompt by the model's chat template and tool-call format, parse the completion.

All servers, managed or attached, get our prompt and our grammar at the raw completion endpoint.
"""

from __future__ import annotations

import asyncio
import datetime
import logging
from collections.abc import AsyncIterator
from typing import Literal, Protocol

from msgspec import Struct
from msgspec.structs import replace

from rightseat.errors import CallerError, ContextTooLong
from rightseat.models.llamacpp import choosing, control, request, room, sessions
from rightseat.models.llamacpp import prompt_log as lens
from rightseat.models.llamacpp.answer import Answer
from rightseat.models.llamacpp.client import Client
from rightseat.models.llamacpp.control import Control, Discovery
from rightseat.models.llamacpp.formats import GENERIC, Ask, Format, Plan, detect, named
from rightseat.models.llamacpp.formats.thinking import Thinking
from rightseat.models.llamacpp.sandbox import Clock
from rightseat.models.llamacpp.seats import common
from rightseat.models.llamacpp.template import Sources, Template, load
from rightseat.models.llamacpp.wire import Piece
from rightseat.types.chunks import Fragment
from rightseat.types.messages import Text as TextPart
from rightseat.types.messages import said
from rightseat.types.model import Prompt
from rightseat.types.streams import closing

log = logging.getLogger(__name__)


class Server(Protocol):
    """A llama-server: ManagedServer, SharedServer or AttachedServer."""

    @property
    def ready(self) -> bool: ...
    async def start(self) -> None: ...
    async def close(self) -> None: ...
    async def client(self) -> Client: ...
    def completion(self, request: dict[str, object], /) -> AsyncIterator[Piece]: ...


class Manner(Struct, frozen=True, kw_only=True):
    """Options of prompts and completions. `tool_format` None: detect it from the chat template."""

    tool_format: str | None = None
    publish: Literal["typescript", "json"] = "typescript"
    thought: Literal["content", "reasoning"] = "content"
    max_tokens: int = 2048
    """Default for the caller's `max_tokens`."""
    temperature: float | None = None
    """Default for the caller's temperature; None: the engine's own."""
    choice: Literal["model", "likelihood"] = "model"
    """What chooses the tool if the template knows none: the model, or `tool_ranking`."""
    adapter: bool = False
    """A LoRA adapter is loaded that is enabled per request."""
    precache: tuple[str, ...] = ()
    """System messages that are processed at start and cached on disk."""


class Known(Struct, frozen=True):
    """Templates of a model, and its control tokens (`control`) if its vocabulary is readable."""

    sources: Sources
    control: Control | None = None


class Voice(Struct, frozen=True):
    """A chat template with its tool-call format and thinking tags."""

    template: Template
    format: Format
    thinking: Thinking


class Llama:
    """Chat completions by a llama-server. `describe` runs once the server is up and may query it."""

    text_only = True

    def __init__(
        self,
        name: str,
        server: Server,
        known: Source,
        *,
        manner: Manner | None = None,
        clock: Clock = datetime.datetime.now,
    ) -> None:
        self.name = name
        self._server = server
        self._source = known
        self._manner = manner or Manner()
        self._clock = clock
        self._starting = asyncio.Lock()
        self._known: Known | None = None
        self._voices: dict[str, Voice] = {}
        self._discovery: Discovery | None = None
        self._adds_start: bool | None = None

    @property
    def ready(self) -> bool:
        return self._server.ready

    async def start(self) -> None:
        """Start the server once; raises ConfigError if the model or its template cannot be used."""
        async with self._starting:
            if self._known is None:
                await self._server.start()
                self._known = await self._source(self._server)
                try:
                    await self._voice(self._known.sources.default)
                    for text in self._manner.precache:
                        await sessions.precache(self._server, await self._prefix(text))
                except BaseException:
                    self._known = None
                    raise

    async def close(self) -> None:
        await self._server.close()

    async def stream(self, prompt: Prompt, /) -> AsyncIterator[Fragment]:
        _check(prompt)
        await self.start()
        prompt = await self._narrowed(prompt)
        plan, text = await self._planned(prompt)
        manner = self._manner
        asked = request.body(
            plan,
            text,
            prompt.settings,
            most=manner.max_tokens,
            temperature=manner.temperature,
            adapter=manner.adapter,
        )
        answer = Answer(plan, prompt.settings)
        answering = sessions.completion(self._server, asked, sessions.talk(prompt))
        try:
            async with closing(answering) as pieces:
                async for piece in pieces:
                    for fragment in answer.read(piece):
                        yield fragment
                    if answer.over:
                        return
        except ContextTooLong as error:
            raise room.told(error, prompt) from error

    async def tokenize(self, text: str, *, special: bool = True, add: bool = False) -> list[int]:
        await self.start()
        return await (await self._server.client()).tokenize(text, special=special, add=add)

    async def detokenize(self, tokens: list[int]) -> str:
        await self.start()
        return await (await self._server.client()).detokenize(tokens)

    async def _narrowed(self, prompt: Prompt) -> Prompt:
        """Narrow the prompt's tool choice by `tool_ranking`, for models too small to choose."""
        known = self._known
        assert known is not None
        if self._manner.choice == "model" or not prompt.callable:
            return prompt
        voice = await self._voice(known.sources.chosen(True))
        if not isinstance(voice.format, GENERIC):
            return prompt
        choice = await choosing.chosen(self._server, prompt)
        # With parallel calls a small model repeats the same call until the limit.
        settings = replace(prompt.settings, parallel_calls=prompt.settings.parallel_calls or False)
        return replace(prompt, tool_choice=choice, settings=settings)

    async def _planned(self, prompt: Prompt) -> tuple[Plan, str | list[int]]:
        known = self._known
        assert known is not None
        chosen = known.sources.chosen(bool(prompt.tools))
        voice = await self._voice(chosen)
        client = await self._server.client()
        ask = Ask(
            prompt=prompt,
            abilities=voice.template.abilities,
            control=await self._control(known, prompt, client),
            thinking=voice.thinking,
            publish=self._manner.publish,
            thought=self._manner.thought,
            clock=self._clock,
        )
        try:
            plan, rendered = _drawn(voice, ask)
        except CallerError:
            if chosen == known.sources.default:
                raise
            # The tool_use template may reject these tools: describe them in the default template instead.
            other = await self._voice(known.sources.default)
            voice = Voice(other.template, voice.format, other.thinking)
            ask = replace(ask, abilities=other.template.abilities, thinking=other.thinking)
            plan, rendered = _drawn(voice, ask)
        if self._adds_start is None:
            self._adds_start = await control.adds_start(client)
        rendered = control.without_double_start(rendered + plan.ending, known.sources.bos, self._adds_start)
        lens.keep(self.name, rendered, plan.grammar)
        return plan, await control.prompt(rendered, client)

    async def _prefix(self, system: str) -> str | list[int]:
        """Return the common prefix of all prompts with this system message."""
        asked = [Prompt(messages=(said("system", system), said("user", word))) for word in ("a", "b")]
        one, other = [(await self._planned(prompt))[1] for prompt in asked]
        return one[: common(one, other)]

    async def _control(self, known: Known, prompt: Prompt, client: Client) -> Control:
        if known.control is not None:
            return known.control
        if self._discovery is None:
            self._discovery = Discovery(client)
        texts = [part.text for message in prompt.messages for part in message.parts if hasattr(part, "text")]
        calls = [(call.name, call.arguments) for message in prompt.messages for call in message.calls]
        tools = [(tool.name, tool.description, tool.parameters) for tool in prompt.tools]
        return await self._discovery.control(texts, calls, tools, prompt.output_schema)

    async def _voice(self, source: str) -> Voice:
        found = self._voices.get(source)
        if found is None:
            assert self._known is not None
            sources = self._known.sources
            template = await load(source, bos=sources.bos, eos=sources.eos, clock=self._clock)
            name = self._manner.tool_format
            format = named(name) if name else detect(source, template.abilities)
            thinking = Thinking.of(source, template.abilities.ending)
            found = self._voices[source] = Voice(template, format, thinking)
            log.info("model %s: tool format %s", self.name, format.name)
        return found


class Source(Protocol):
    """Describes the model of a running server."""

    async def __call__(self, server: Server, /) -> Known: ...


def _drawn(voice: Voice, ask: Ask) -> tuple[Plan, str]:
    """Return the format's plan and the prompt that the template renders from it."""
    plan = voice.format.plan(ask)
    rendered = voice.template.render(plan.messages, control=ask.control, tools=plan.tools, **plan.names)
    # Some templates open a thought after a user message but not after a tool result.
    thinking = Thinking.of(voice.template.source, rendered)
    if thinking != ask.thinking:
        plan = voice.format.plan(replace(ask, thinking=thinking))
    return plan, rendered


def _check(prompt: Prompt) -> None:
    for message in prompt.messages:
        if any(not isinstance(part, TextPart) for part in message.parts):
            raise CallerError("This model reads text only: send no images or files.")
