"""LlamaCppChatModel: render a Prompt by the model's chat template and tool-call format, parse the completion.

Describe a model before its first prompt: templates and control tokens, from a GGUF file or a server. Report which
part of a prompt fills the context window.

All servers, managed or attached, get our prompt and our grammar at the raw completion endpoint.
"""

from __future__ import annotations

import asyncio
import datetime
import json
import logging
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Literal, Protocol

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from rightseat.errors import CallerError, ConfigError, ContextTooLong
from rightseat.models.llamacpp import control_tokens, gguf, prompt_log, slot_scheduler, tool_ranking
from rightseat.models.llamacpp.client import CompletionChunk, LlamaServerClient
from rightseat.models.llamacpp.completion import CompletionReader, build_request_body
from rightseat.models.llamacpp.control_tokens import ControlTokenDiscovery, ControlTokens, select_control_tokens
from rightseat.models.llamacpp.formats import (
    GENERIC,
    FormatContext,
    PromptPlan,
    ToolCallFormat,
    detect_format,
    get_format,
)
from rightseat.models.llamacpp.formats.answer_grammar import ThinkingTags
from rightseat.models.llamacpp.sandbox import Clock
from rightseat.models.llamacpp.slot_scheduler import common_prefix_length
from rightseat.models.llamacpp.template import (
    MAX_TEMPLATE_CHARS,
    ChatTemplate,
    TemplateSources,
    load_chatml,
    load_template,
    sources_from_header,
    sources_from_props,
)
from rightseat.types.chunks import ModelChunk
from rightseat.types.messages import TextMessagePart, text_message
from rightseat.types.model import UNDECLARED, Model, Prompt
from rightseat.types.streams import closing
from rightseat.types.text import closest_match


def add_largest_part(error: ContextTooLong, prompt: Prompt) -> ContextTooLong:
    """Return the error with the name and share of the prompt's largest part."""
    sizes = {
        f"message {number} ({message.role})": len(message.text) + sum(len(c.arguments) for c in message.calls)
        for number, message in enumerate(prompt.messages, 1)
    }
    if prompt.tools:
        tools = [(tool.name, tool.description, tool.parameters) for tool in prompt.tools]
        sizes["the tools"] = len(json.dumps(tools))
    total = sum(sizes.values())
    if len(sizes) < 2 or not total:
        return error
    largest = max(sizes, key=lambda name: sizes[name])
    share = round(100 * sizes[largest] / total)
    return ContextTooLong(f"{error.message} The largest part is {largest}, about {share} % of it.")


log = logging.getLogger(__name__)


class LlamaServer(Protocol):
    """A llama-server: ManagedServer, SharedServer or AttachedServer."""

    @property
    def ready(self) -> bool: ...
    async def start(self) -> None: ...
    async def close(self) -> None: ...
    async def client(self) -> LlamaServerClient: ...
    def stream_completion(self, request: dict[str, object], /) -> AsyncIterator[CompletionChunk]: ...


class PromptOptions(Struct, frozen=True, kw_only=True):
    """Options of prompts and completions. `tool_format` None: detect it from the chat template."""

    tool_format: str | None = None
    publish: Literal["typescript", "json"] = "typescript"
    thought_channel: Literal["content", "reasoning"] = "content"
    max_tokens: int = 2048
    """Default for the caller's `max_tokens`."""
    temperature: float | None = None
    """Default for the caller's temperature; None: the engine's own."""
    tool_choice_by: Literal["model", "likelihood"] = "model"
    """What chooses the tool if the template knows none: the model, or `tool_ranking`."""
    has_adapter: bool = False
    """A LoRA adapter is loaded that is enabled per request."""
    precached_prompts: tuple[str, ...] = ()
    """System messages that are processed at start and cached on disk."""


class ModelDescription(Struct, frozen=True):
    """Templates of a model, and its control tokens if its vocabulary is readable."""

    sources: TemplateSources
    control_tokens: ControlTokens | None = None


class ChatFormat(Struct, frozen=True):
    """A chat template with its tool-call format and thinking tags."""

    template: ChatTemplate
    format: ToolCallFormat
    thinking: ThinkingTags


class LlamaCppChatModel(Model):
    """Chat completions by a llama-server. `describe` runs once the server is up and may query it."""

    capabilities = replace(UNDECLARED, text_only=True)

    def __init__(
        self,
        name: str,
        server: LlamaServer,
        describe: ModelDescriber,
        *,
        options: PromptOptions | None = None,
        clock: Clock = datetime.datetime.now,
    ) -> None:
        self.name = name
        self._server = server
        self._describe = describe
        self._options = options or PromptOptions()
        self._clock = clock
        self._starting = asyncio.Lock()
        self._description: ModelDescription | None = None
        self._chat_formats: dict[str, ChatFormat] = {}
        self._discovery: ControlTokenDiscovery | None = None
        self._adds_bos: bool | None = None

    @property
    def ready(self) -> bool:
        return self._server.ready

    async def start(self) -> None:
        """Start the server once; raises ConfigError if the model or its template cannot be used."""
        async with self._starting:
            if self._description is None:
                await self._server.start()
                self._description = await self._describe(self._server)
                try:
                    await self._load_chat_format(self._description.sources.default)
                    for text in self._options.precached_prompts:
                        await slot_scheduler.precache_prefix(self._server, await self._find_prompt_prefix(text))
                except BaseException:
                    self._description = None
                    raise

    async def close(self) -> None:
        await self._server.close()

    async def stream(self, prompt: Prompt, /) -> AsyncIterator[ModelChunk]:
        _check_text_only(prompt)
        await self.start()
        prompt = await self._choose_tool(prompt)
        plan, text = await self._plan_prompt(prompt)
        options = self._options
        body = build_request_body(
            plan,
            text,
            prompt.settings,
            default_max_tokens=options.max_tokens,
            temperature=options.temperature,
            has_adapter=options.has_adapter,
        )
        reader = CompletionReader(plan, prompt.settings)
        completion = slot_scheduler.stream_in_slot(self._server, body, slot_scheduler.get_conversation(prompt))
        try:
            async with closing(completion) as pieces:
                async for piece in pieces:
                    for fragment in reader.read_chunk(piece):
                        yield fragment
                    if reader.finished:
                        return
        except ContextTooLong as error:
            raise add_largest_part(error, prompt) from error

    async def tokenize(self, text: str, *, special: bool = True, add: bool = False) -> list[int]:
        await self.start()
        return await (await self._server.client()).tokenize(text, special=special, add=add)

    async def detokenize(self, tokens: list[int]) -> str:
        await self.start()
        return await (await self._server.client()).detokenize(tokens)

    async def _choose_tool(self, prompt: Prompt) -> Prompt:
        """Narrow the prompt's tool choice by `tool_ranking`, for models too small to choose."""
        description = self._description
        assert description is not None
        if self._options.tool_choice_by == "model" or not prompt.callable_tools:
            return prompt
        chat_format = await self._load_chat_format(description.sources.select(True))
        if not isinstance(chat_format.format, GENERIC):
            return prompt
        choice = await tool_ranking.choose_tool(self._server, prompt)
        # With parallel calls a small model repeats the same call until the limit.
        settings = replace(prompt.settings, parallel_calls=prompt.settings.parallel_calls or False)
        return replace(prompt, tool_choice=choice, settings=settings)

    async def _plan_prompt(self, prompt: Prompt) -> tuple[PromptPlan, str | list[int]]:
        description = self._description
        assert description is not None
        source = description.sources.select(bool(prompt.tools))
        chat_format = await self._load_chat_format(source)
        client = await self._server.client()
        context = FormatContext(
            prompt=prompt,
            capabilities=chat_format.template.capabilities,
            control_tokens=await self._find_control_tokens(description, prompt, client),
            thinking=chat_format.thinking,
            publish=self._options.publish,
            thought_channel=self._options.thought_channel,
            clock=self._clock,
        )
        try:
            plan, rendered = _render_plan(chat_format, context)
        except CallerError:
            if source == description.sources.default:
                raise
            # The tool_use template may reject these tools: describe them in the default template instead.
            default_format = await self._load_chat_format(description.sources.default)
            chat_format = ChatFormat(default_format.template, chat_format.format, default_format.thinking)
            context = replace(
                context, capabilities=default_format.template.capabilities, thinking=default_format.thinking
            )
            plan, rendered = _render_plan(chat_format, context)
        if self._adds_bos is None:
            self._adds_bos = await control_tokens.adds_bos(client)
        rendered = control_tokens.remove_double_bos(
            rendered + plan.answer_prefix, description.sources.bos, self._adds_bos
        )
        prompt_log.record_prompt(self.name, rendered, plan.grammar)
        return plan, await control_tokens.tokenize_prompt(rendered, client)

    async def _find_prompt_prefix(self, system: str) -> str | list[int]:
        """Return the common prefix of all prompts with this system message."""
        prompts = [Prompt(messages=(text_message("system", system), text_message("user", word))) for word in ("a", "b")]
        first, second = [(await self._plan_prompt(prompt))[1] for prompt in prompts]
        return first[: common_prefix_length(first, second)]

    async def _find_control_tokens(
        self, description: ModelDescription, prompt: Prompt, client: LlamaServerClient
    ) -> ControlTokens:
        if description.control_tokens is not None:
            return description.control_tokens
        if self._discovery is None:
            self._discovery = ControlTokenDiscovery(client)
        texts = [part.text for message in prompt.messages for part in message.parts if hasattr(part, "text")]
        calls = [(call.name, call.arguments) for message in prompt.messages for call in message.calls]
        tools = [(tool.name, tool.description, tool.parameters) for tool in prompt.tools]
        return await self._discovery.find_control_tokens(texts, calls, tools, prompt.output_schema)

    async def _load_chat_format(self, source: str) -> ChatFormat:
        chat_format = self._chat_formats.get(source)
        if chat_format is None:
            assert self._description is not None
            sources = self._description.sources
            template = await load_template(source, bos=sources.bos, eos=sources.eos, clock=self._clock)
            name = self._options.tool_format
            format = get_format(name) if name else detect_format(source, template.capabilities)
            thinking = ThinkingTags.from_template(source, template.capabilities.ending)
            chat_format = self._chat_formats[source] = ChatFormat(template, format, thinking)
            log.info("model %s: tool format %s", self.name, format.name)
        return chat_format


class ModelDescriber(Protocol):
    """Describes the model of a running server."""

    async def __call__(self, server: LlamaServer, /) -> ModelDescription: ...


def _render_plan(chat_format: ChatFormat, context: FormatContext) -> tuple[PromptPlan, str]:
    """Return the format's plan and the prompt that the template renders from it."""
    plan = chat_format.format.make_plan(context)
    rendered = chat_format.template.render(
        plan.messages, control_tokens=context.control_tokens, tools=plan.tools, **plan.template_variables
    )
    # Some templates open a thought after a user message but not after a tool result.
    thinking = ThinkingTags.from_template(chat_format.template.source, rendered)
    if thinking != context.thinking:
        plan = chat_format.format.make_plan(replace(context, thinking=thinking))
    return plan, rendered


def _check_text_only(prompt: Prompt) -> None:
    for message in prompt.messages:
        if any(not isinstance(part, TextMessagePart) for part in message.parts):
            raise CallerError("This model reads text only: send no images or files.")


CHATML = "chatml"


class TemplateChoice(msgspec.Struct, frozen=True):
    """A configured chat template: its text, or the name of one of the model's. Empty: the model's default."""

    text: str = ""
    name: str = ""

    def resolve(self, own: TemplateSources, named: dict[str, str]) -> TemplateSources:
        if self.name:
            if self.name not in named:
                near = closest_match(self.name, named)
                question = f" Did you mean {near!r}?" if near else ""
                known = ", ".join((CHATML, *named))
                raise ConfigError(
                    f"chat_template: {self.name!r} is no file, and the model has no template of that name."
                    f"{question} Known: {known}."
                )
            return TemplateSources(named[self.name], None, own.bos, own.eos)
        return TemplateSources(self.text, None, own.bos, own.eos) if self.text else own


def parse_template_choice(value: str | None) -> TemplateChoice:
    """Parse the `chat_template` option: a file, `chatml`, or the name of one of the model's templates."""
    if not value:
        return TemplateChoice()
    if value == CHATML:
        return TemplateChoice(text=load_chatml())
    path = Path(value).expanduser()
    if not path.is_file():
        if path.suffix or len(path.parts) > 1:
            raise ConfigError(f"chat_template: there is no file {value}.", param="chat_template")
        return TemplateChoice(name=value)
    try:
        text = path.read_text("utf-8")
    except (OSError, UnicodeDecodeError):
        raise ConfigError(f"chat_template: {value} cannot be read as text.", param="chat_template") from None
    if not text.strip() or len(text) > MAX_TEMPLATE_CHARS:
        raise ConfigError(f"chat_template: {value} is empty or too long.", param="chat_template")
    return TemplateChoice(text=text)


def describe_from_file(path: Path, template: TemplateChoice) -> ModelDescriber:
    async def describe(server: LlamaServer, /) -> ModelDescription:
        # Reading a vocabulary of some hundred thousand tokens would block the event loop.
        header = await asyncio.to_thread(gguf.read_header, path)
        sources = template.resolve(sources_from_header(header), header.templates)
        written = sources.default + (sources.tool_use or "")
        return ModelDescription(sources, select_control_tokens(header.control_tokens, header.added_tokens, written))

    return describe


def describe_from_server(template: TemplateChoice) -> ModelDescriber:
    """Describe the model of an attached server. Control tokens stay unknown and are discovered per prompt."""

    async def describe(server: LlamaServer, /) -> ModelDescription:
        props = await (await server.client()).get_props()
        return ModelDescription(template.resolve(sources_from_props(props), {}))

    return describe
