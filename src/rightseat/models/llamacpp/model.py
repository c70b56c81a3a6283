"""LlamaCppModel: chat, raw completion, tokenization and embeddings by a llama-server.

A Prompt is rendered by the model's chat template and tool-call format, and the completion is parsed here: all
servers, managed or attached, get our prompt and our grammar at the raw completion endpoint.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, Protocol, TypeVar

from msgspec import Meta, Struct
from msgspec.structs import replace

from rightseat.errors import CallerError, ConfigError, ContextTooLong, NotConfigured, UpstreamError, UpstreamGarbled
from rightseat.models.llamacpp import (
    chat_route,
    completion,
    control_tokens,
    engine_info,
    formats,
    media,
    prompt_log,
    session_file,
    slot_scheduler,
    token_counts,
    tool_ranking,
    transcribe,
)
from rightseat.models.llamacpp.answer_start import skip_thinking, split_begun_answer, use_own_grammar
from rightseat.models.llamacpp.client import LlamaServer, LlamaServerClient
from rightseat.models.llamacpp.completion import RequestPrompt
from rightseat.models.llamacpp.control_tokens import ControlTokenDiscovery, ControlTokens, select_control_tokens
from rightseat.models.llamacpp.embedder import Embedder
from rightseat.models.llamacpp.formats.answer_grammar import ThinkingTags
from rightseat.models.llamacpp.formats.format import FormatContext, PromptPlan, ToolCallFormat
from rightseat.models.llamacpp.formats.native import NativeFormat, split_control_tokens
from rightseat.models.llamacpp.gguf import read_header
from rightseat.models.llamacpp.infill import InfillTokens, infill_tokens_from_header
from rightseat.models.llamacpp.media import PromptMedia
from rightseat.models.llamacpp.prefix_cache import PromptText
from rightseat.models.llamacpp.raw_prompt import RawPromptBuilder, get_media_marker
from rightseat.models.llamacpp.rerank import Reranker
from rightseat.models.llamacpp.template import (
    ChatTemplate,
    TemplateChoice,
    TemplateSources,
    load_template,
    sources_from_header,
    sources_from_props,
)
from rightseat.models.llamacpp.template_probe import TemplateCapabilities
from rightseat.models.llamacpp.thinking import (
    ENABLED_VARIABLES,
    build_budget,
    close_thought,
    find_budget,
    is_thinking_enabled,
    template_variables,
)
from rightseat.models.llamacpp.token_counts import TokenCounts
from rightseat.types.chunks import ModelChunk, TextChunk
from rightseat.types.events import Usage
from rightseat.types.messages import Message, text_message
from rightseat.types.model import MEDIA_MARKER, UNDECLARED, Model, Prompt, RawPrompt, ToolChoice, has_audio
from rightseat.types.speech import Transcript, TranscriptionRequest
from rightseat.types.streams import closing
from rightseat.types.text import estimate_tokens

log = logging.getLogger(__name__)


class PromptOptions(Struct, frozen=True, kw_only=True):
    """Options of prompts and completions."""

    tool_format: str | None = None
    """The format of tool calls. Without it, `signatures` for the embedded model with its adapter; else the chat
    template decides."""
    chat_template: str | None = None
    """The chat template: a file, `chatml`, or the name of a template in the GGUF file. Without it, the model's own."""
    publish: Literal["typescript", "json"] = "typescript"
    """How tools are described to a model whose template does not support tools."""
    reasoning: Literal["content", "reasoning"] = "content"
    """Where text that the model writes before a tool call goes: `content` is the answer, `reasoning` the reasoning
    channel."""
    thinking: bool | None = None
    """Whether a model that can do both thinks before it answers. Without it, its chat template decides; models that
    were pulled by a name of the list do not think."""
    max_tokens: Annotated[int, Meta(ge=1)] = 2048
    """The most tokens of an answer if the caller sets no limit. Without it, 512 for the embedded model, else 2048."""
    temperature: Annotated[float, Meta(ge=0, le=2)] | None = None
    """The temperature if the caller sets none. Without it, 0.2 for the embedded model, else the engine's default."""
    choice: Literal["model", "likelihood"] | None = None
    """How a tool is chosen with the format `generic`: `model` asks the model, `likelihood` takes the tool whose
    description makes the question most likely. Without it, `likelihood` for the embedded model, else `model`; the
    embedded model's adapter has a format of its own and chooses itself."""


class ModelDescription(Struct, frozen=True):
    """Templates of a model, its control tokens if its vocabulary is readable, and its context window."""

    sources: TemplateSources
    control_tokens: ControlTokens | None = None
    context: int | None = None
    """Context window that an attached server reports, in tokens."""
    infill_tokens: InfillTokens | None = None
    """Tokens of a gap that the file names; others are searched when a gap is to be filled."""


ModelDescriber = Callable[[LlamaServer], Awaitable[ModelDescription]]


class ChatFormat(Struct, frozen=True):
    """A chat template with its tool-call format and thinking tags."""

    template: ChatTemplate
    format: ToolCallFormat
    thinking: ThinkingTags


class LlamaCppModel(Model):
    """A model of a llama-server. `describe` runs once the server is up and may query it.

    `has_adapter`: a LoRA adapter is loaded that is enabled per request. `precached_prompts`: system messages that
    are processed at start and cached on disk. `session_file`: where the slots are kept between runs. `rightseat doctor`
    reads `address` (of an attached server) and `weights` (the file).
    """

    completes = True

    def __init__(
        self,
        name: str,
        server: LlamaServer,
        describe: ModelDescriber,
        *,
        options: PromptOptions,
        has_adapter: bool = False,
        precached_prompts: tuple[str, ...] = (),
        embedder: Embedder | None = None,
        address: str | None = None,
        weights: Path | None = None,
        context: int | None = None,
        reranker: Reranker | None = None,
        sees_images: bool = False,
        hears: bool = False,
        session_file: Path | None = None,
    ) -> None:
        self.name = name
        taken = replace(UNDECLARED, advertises_images=sees_images, audio=hears, text_only=not (sees_images or hears))
        self.capabilities = replace(taken, context=context, settings=frozenset(completion.SETTINGS))
        self.address = address
        self.weights = weights
        self._server = server
        self._describe = describe
        self._options = options
        self.has_adapter = has_adapter
        self._precached_prompts = precached_prompts
        self._session_file = session_file
        self._embedder = embedder
        self._reranker = reranker
        self._raw_prompts = RawPromptBuilder(context)
        self._start_attempted = False
        self._starting = asyncio.Lock()
        self._description: ModelDescription | None = None
        self._chat_formats: dict[str, ChatFormat] = {}
        self._discovery: ControlTokenDiscovery | None = None
        self._adds_bos: bool | None = None
        self._token_counts = TokenCounts()
        self._message_overhead: int | None = None

    @property
    def engine_settings(self) -> str:
        """Threads, slots, context and batch of the engine in words; empty for an attached server."""
        return self._server.launch.describe() if self._server.launch else ""

    @property
    def ready(self) -> bool:
        """True before the first start attempt: models start lazily, so nothing is down until then."""
        return not self._start_attempted or self._server.ready

    async def start(self) -> None:
        """Start the server once; raises ConfigError if the model or its template cannot be used."""
        self._start_attempted = True
        async with self._starting:
            if self._description is None:
                await self._server.start()
                self._description = await self._describe(self._server)
                try:
                    await self._load_chat_format(self._description.sources.default)
                    for text in self._precached_prompts:
                        await slot_scheduler.precache_prefix(self._server, await self._find_prompt_prefix(text))
                    if self._session_file is not None:
                        await session_file.load_session(self._server, self._session_file)
                except BaseException:
                    self._description = None
                    raise

    async def close(self) -> None:
        if self._session_file is not None and self._description is not None and self._server.ready:
            await session_file.save_session(self._server, self._session_file)
        await self._server.close()
        if self._embedder is not None:
            await self._embedder.close()
        if self._reranker is not None:
            await self._reranker.close()

    def stream(self, prompt: Prompt, /) -> AsyncIterator[ModelChunk]:
        return self.stream_chat(prompt) if prompt.raw is None else self._stream_raw(prompt, prompt.raw)

    async def stream_chat(self, prompt: Prompt, *, uses_adapter: bool = False) -> AsyncIterator[ModelChunk]:
        """Stream the answer to a chat. `uses_adapter`: with the adapter even where the format does not need it."""
        prompt, images = await self._extract_images(prompt)
        await self.start()
        if prompt.settings.extra.get("grammar"):
            prompt = skip_thinking(prompt)
        prompt = await self._choose_tool(prompt)
        plan, text = await self._plan_prompt(prompt, images)
        completion.check_logprobs(plan, prompt.settings)
        if uses_adapter:
            plan = replace(plan, uses_adapter=True)
        begun = False
        try:
            async with closing(self._stream_plan(prompt, plan, text)) as chunks:
                async for chunk in chunks:
                    begun = True
                    yield chunk
            return
        except (CallerError, UpstreamGarbled) as error:
            # A template may refuse these tools, and a model may not write what its template makes the engine expect.
            if plan.chat_request is None or begun or isinstance(error, ContextTooLong):
                raise
            log.info("model %s: asked again in the generic format: %s", self.name, error)
        plan, text = await self._plan_prompt(prompt, format=formats.GENERIC())
        async with closing(self._stream_plan(prompt, plan, text)) as chunks:
            async for chunk in chunks:
                yield chunk

    async def _stream_plan(self, prompt: Prompt, plan: PromptPlan, text: RequestPrompt) -> AsyncIterator[ModelChunk]:
        """Stream the answer to a planned prompt, by the chat route where the plan is a request of it."""
        options, settings, conversation = self._options, prompt.settings, slot_scheduler.get_conversation(prompt)
        defaults: dict[str, Any] = {
            "default_max_tokens": options.max_tokens,
            "temperature": options.temperature,
            "has_adapter": self.has_adapter,
        }
        if plan.chat_request is not None and not isinstance(text, dict):
            body = chat_route.build_chat_body(plan, settings, **defaults)
            events = slot_scheduler.stream_chat_in_slot(self._server, body, text, conversation)
            answer = read_answer(events, chat_route.ChatRouteReader(plan, prompt))
        else:
            body = completion.build_request_body(plan, text, settings, **defaults)
            pieces = slot_scheduler.stream_in_slot(self._server, body, conversation)
            answer = read_answer(pieces, completion.CompletionReader(plan, settings))
        async with closing(answer) as chunks:
            async for chunk in chunks:
                yield chunk

    async def _stream_raw(self, prompt: Prompt, raw: RawPrompt) -> AsyncIterator[ModelChunk]:
        await self.start()
        assert self._description is not None
        client = await self._server.client()
        content = await self._raw_prompts.build(raw, client, self._description.infill_tokens)
        default = self._options.max_tokens if raw.reports else completion.DEFAULT_RAW_TOKENS
        body = completion.build_raw_request(raw, prompt.settings, content, default)
        if raw.echo:
            yield TextChunk(await client.detokenize(content) if isinstance(content, list) else str(raw.text))
        conversation = slot_scheduler.get_conversation(prompt)
        async with closing(slot_scheduler.stream_in_slot(self._server, body, conversation)) as chunks:
            async for chunk in chunks:
                for model_chunk in completion.read_raw_chunk(chunk, raw):
                    yield model_chunk

    async def find_context(self) -> int | None:
        if self.capabilities.context is not None:
            return self.capabilities.context
        await self.start()
        return self._description.context if self._description is not None else None

    async def count_prompt_tokens(self, prompt: Prompt, /) -> int:
        await self.start()
        text_only, images = media.drop_media(prompt)
        _, rendered = await self._render_prompt(text_only)
        if len(rendered) > token_counts.MAX_TOKENIZED_CHARS:
            return estimate_tokens(rendered)
        client = await self._server.client()
        text = await control_tokens.tokenize_prompt(rendered, client)
        tokens = text if isinstance(text, list) else await client.tokenize(text, add=True)
        # A model that does not see refuses images later, in its own words.
        return len(tokens) + (images * media.IMAGE_TOKENS if self.capabilities.supports_images else 0)

    async def count_message_tokens(self, messages: Sequence[Message], /) -> list[int]:
        await self.start()
        if self._message_overhead is None:
            self._message_overhead = await self._measure_message_overhead()
        client = await self._server.client()
        return await token_counts.count_message_tokens(messages, self._token_counts, client, self._message_overhead)

    async def _measure_message_overhead(self) -> int:
        """Return the tokens that the chat template writes around a message, rounded up."""
        question, answer = text_message("user", "a"), text_message("assistant", "b")
        short = await self.count_prompt_tokens(Prompt(messages=(question,)))
        long = await self.count_prompt_tokens(Prompt(messages=(question, answer, question)))
        return max(0, (long - short + 1) // 2 - 1)

    async def tokenize(self, text: str, *, special: bool = True, add: bool = False, pieces: bool = False) -> list[Any]:
        """Return token ids; with `pieces`, objects with `id` and `piece`."""
        await self.start()
        client = await self._server.client()
        numbers = await client.tokenize(text, special=special, add=add)
        if not pieces:
            return numbers
        tokens = await client.tokenize_with_pieces(text, special=special)
        # Tokens that the server prepends (BOS) come only as ids.
        leading = numbers[: len(numbers) - len(tokens)]
        return [{"id": number, "piece": await client.detokenize([number])} for number in leading] + [
            {"id": token.id, "piece": token.piece} for token in tokens
        ]

    async def detokenize(self, tokens: list[int]) -> str:
        await self.start()
        try:
            return await (await self._server.client()).detokenize(tokens)
        except UpstreamError as error:
            # A llama-server fails with a plain 500 on an unknown token id.
            if type(error) is not UpstreamError:
                raise
            raise CallerError("tokens: one of the ids is not a token of this model.", param="tokens") from error

    async def embed(self, body: dict[str, Any]) -> dict[str, Any]:
        if self._embedder is None:
            raise NotConfigured(
                "No embedding model is set up here. Give the local model one: embedding = PATH.gguf, "
                'or pooling = "mean" to use its own weights.'
            )
        return await self._embedder.embed(body)

    async def rerank(self, query: str, documents: list[str]) -> tuple[list[float], Usage]:
        if self._reranker is None:
            raise NotConfigured("No reranker is set up here. Give the local model one: rerank = PATH.gguf.")
        return await self._reranker.rerank(query, documents)

    async def transcribe(self, request: TranscriptionRequest, /) -> Transcript:
        return await transcribe.transcribe(self, request)

    async def render_prompt(self, prompt: Prompt) -> str:
        """Return the text that the chat template makes of a prompt, with a marker in the place of each image."""
        self._check_media(prompt)
        await self.start()
        marked = media.mark_media(prompt, MEDIA_MARKER) if media.has_media(prompt) else prompt
        return (await self._render_prompt(marked))[1].replace(control_tokens.MARK, "")

    async def get_engine_props(self) -> dict[str, Any]:
        await self.start()
        assert self._description is not None
        client = await self._server.client()
        return await engine_info.get_props(client, self.name, self._description.sources, self._options.max_tokens)

    async def list_engine_slots(self) -> list[dict[str, Any]]:
        await self.start()
        return await engine_info.list_slots(await self._server.client())

    def _check_media(self, prompt: Prompt) -> None:
        """Raise CallerError for images and recordings if our own engine has no encoder for them."""
        launch = self._server.launch
        if launch is not None and launch.mmproj is None and media.has_media(prompt):
            raise CallerError(media.NO_AUDIO if has_audio(prompt) else media.NO_IMAGES)

    async def _extract_images(self, prompt: Prompt) -> tuple[Prompt, PromptMedia | None]:
        """Return the prompt with a marker for each image, and the images; None if it has none."""
        if not media.has_media(prompt):
            return prompt, None
        self._check_media(prompt)
        await self.start()
        kinds = {"images": media.has_images(prompt), "audio": has_audio(prompt)}
        return await media.extract_media(prompt, await get_media_marker(await self._server.client(), **kinds))

    async def _choose_tool(self, prompt: Prompt) -> Prompt:
        """Narrow the prompt's tool choice by `tool_ranking`, for models too small to choose."""
        assert self._description is not None
        if self._options.choice != "likelihood" or not prompt.callable_tools:
            return prompt
        chat_format = await self._load_chat_format(self._description.sources.select(True))
        if not isinstance(chat_format.format, formats.GENERIC):
            return prompt
        choice = await tool_ranking.choose_tool(self._server, prompt)
        # With parallel calls a small model repeats the same call until the limit.
        settings = replace(prompt.settings, parallel_calls=prompt.settings.parallel_calls or False)
        return replace(prompt, tool_choice=choice, settings=settings)

    async def _plan_prompt(
        self, prompt: Prompt, images: PromptMedia | None = None, format: ToolCallFormat | None = None
    ) -> tuple[PromptPlan, RequestPrompt]:
        plan, rendered = await self._render_prompt(prompt, format)
        if plan.chat_request is not None and images is not None:
            # Images go with our own prompt.
            plan, rendered = await self._render_prompt(prompt, formats.GENERIC())
        prompt_log.record_prompt(self.name, rendered, plan.grammar)
        if images is not None:
            return plan, images.to_request(rendered)
        return plan, await control_tokens.tokenize_prompt(rendered, await self._server.client())

    async def _render_prompt(self, prompt: Prompt, format: ToolCallFormat | None = None) -> tuple[PromptPlan, str]:
        """Return the plan of a prompt and its text; `format` replaces the model's own."""
        description = self._description
        assert description is not None
        source = description.sources.select(bool(prompt.tools))
        chat_format = await self._load_chat_format(source)
        prompt, begun = split_begun_answer(prompt)
        format = format or chat_format.format
        if isinstance(format, NativeFormat) and (begun or not format.takes_prompt(prompt)):
            format = formats.GENERIC()
        chat_format = replace(chat_format, format=format)
        if begun and isinstance(chat_format.format, formats.GENERIC):
            # Its answers with tools are JSON: text that has begun has no tool calls.
            prompt = replace(prompt, tools=(), tool_choice=ToolChoice())
        client = await self._server.client()
        context = FormatContext(
            prompt=prompt,
            capabilities=chat_format.template.capabilities,
            control_tokens=await self._find_control_tokens(description, prompt, client),
            thinking=chat_format.thinking,
            publish=self._options.publish,
            thought_channel=self._options.reasoning,
        )
        try:
            plan, rendered = _render_plan(chat_format, context, self._options)
        except CallerError:
            if isinstance(chat_format.format, NativeFormat):
                return await self._render_prompt(prompt, formats.GENERIC())
            if source == description.sources.default:
                raise
            # The tool_use template may reject these tools: describe them in the default template instead.
            default = await self._load_chat_format(description.sources.default)
            context = replace(context, capabilities=default.template.capabilities, thinking=default.thinking)
            chat_format = replace(default, format=chat_format.format)
            plan, rendered = _render_plan(chat_format, context, self._options)
        plan = use_own_grammar(plan, prompt)
        rendered += plan.answer_prefix + context.mark_foreign(begun)
        if self._adds_bos is None:
            self._adds_bos = bool(await client.tokenize("", add=True))
        if self._adds_bos:
            # The template's BOS token would be a second one, and two of them confuse a model.
            rendered = rendered.removeprefix(description.sources.bos)
        if plan.chat_request is not None:
            rendered = rendered.replace(control_tokens.MARK, control_tokens.WORD_JOINER)
        return plan, rendered

    async def _find_prompt_prefix(self, system: str) -> PromptText:
        """Return the common prefix of all prompts with this system message."""
        prompts = [Prompt(messages=(text_message("system", system), text_message("user", word))) for word in ("a", "b")]
        client = await self._server.client()
        rendered = [(await self._render_prompt(prompt))[1] for prompt in prompts]
        first, second = [await control_tokens.tokenize_prompt(text, client) for text in rendered]
        return first[: slot_scheduler.common_prefix_length(first, second)]

    async def _find_control_tokens(
        self, description: ModelDescription, prompt: Prompt, client: LlamaServerClient
    ) -> ControlTokens:
        if description.control_tokens is not None:
            return description.control_tokens
        if self._discovery is None:
            self._discovery = ControlTokenDiscovery(client)
        texts = [(message.text, message.reasoning, message.name, message.call_id) for message in prompt.messages]
        calls = [(call.id, call.name, call.arguments) for message in prompt.messages for call in message.calls]
        tools = [(tool.name, tool.description, tool.parameters) for tool in prompt.tools]
        variables = prompt.settings.extra.get("chat_template_kwargs")
        return await self._discovery.find_control_tokens(texts, calls, tools, prompt.output_schema, variables)

    async def _load_chat_format(self, source: str) -> ChatFormat:
        chat_format = self._chat_formats.get(source)
        if chat_format is None:
            assert self._description is not None
            sources = self._description.sources
            template = await load_template(source, bos=sources.bos, eos=sources.eos)
            format = await self._choose_format(source, template.capabilities)
            thinking = ThinkingTags.from_template(source, template.capabilities.ending)
            chat_format = self._chat_formats[source] = ChatFormat(template, format, thinking)
            log.info("model %s: tool format %s", self.name, format.name)
        return chat_format

    async def _choose_format(self, source: str, capabilities: TemplateCapabilities) -> ToolCallFormat:
        """Return the configured format, else the one of the template, else the engine's own, else GENERIC."""
        name = self._options.tool_format
        format = formats.get_format(name) if name else formats.detect_format(source, capabilities)
        may_be_native = isinstance(format, formats.GENERIC) and (capabilities.tools or capabilities.tool_calls)
        if not isinstance(format, NativeFormat) and (name or not may_be_native):
            return format
        native = await chat_route.probe_engine(await self._server.client(), source, capabilities)
        if native is None and name:
            raise ConfigError(
                "tool_format: the engine does not handle the tools of this chat template. Leave tool_format out, or "
                'set it to "generic".',
                param="tool_format",
            )
        return native or format


Chunk = TypeVar("Chunk")
Chunk_contra = TypeVar("Chunk_contra", contravariant=True)


class AnswerReader(Protocol[Chunk_contra]):
    """Reader of one answer's chunks. `finished`: no more of them are needed."""

    finished: bool

    def read_chunk(self, chunk: Chunk_contra, /) -> list[ModelChunk]: ...


async def read_answer(stream: AsyncIterator[Chunk], reader: AnswerReader[Chunk]) -> AsyncIterator[ModelChunk]:
    """Yield what the reader makes of the stream; ends the stream once the reader is finished."""
    async with closing(stream) as chunks:
        async for chunk in chunks:
            for model_chunk in reader.read_chunk(chunk):
                yield model_chunk
            if reader.finished:
                return


def _render_plan(chat_format: ChatFormat, context: FormatContext, options: PromptOptions) -> tuple[PromptPlan, str]:
    """Return the format's plan and the prompt that the template renders from it."""
    plan = chat_format.format.make_plan(context)
    template, settings = chat_format.template, context.prompt.settings
    variables = {**template_variables(settings, options, template.source), **plan.template_variables}

    def render(**changes: Any) -> str:
        return template.render(
            plan.messages, control_tokens=context.control_tokens, tools=plan.tools, variables={**variables, **changes}
        )

    rendered = render()
    # Some templates open a thought after a user message but not after a tool result.
    thinking = ThinkingTags.from_template(template.source, rendered)
    disabled = is_thinking_enabled(settings, options) is False and bool(thinking.active_tags)
    # A thought that the prompt opens nevertheless, or a template without a switch.
    if disabled and (thinking.opened_by_prompt or rendered == render(**ENABLED_VARIABLES)):
        rendered += close_thought(thinking)
        thinking = ThinkingTags.from_template(template.source, rendered)
    if thinking != context.thinking:
        plan = chat_format.format.make_plan(replace(context, thinking=thinking))
    if plan.chat_request is not None and variables:
        # The engine knows the tags of these templates itself.
        budget = 0 if disabled else find_budget(settings, template.source)
        limit = {} if budget is None else {"reasoning_budget_tokens": budget}
        split = split_control_tokens({"chat_template_kwargs": variables}, context)
        plan = replace(plan, chat_request={**plan.chat_request, **limit, **split})
    return replace(plan, engine_fields=build_budget(settings, thinking, template.source)), rendered


def describe_from_file(path: Path, template: TemplateChoice) -> ModelDescriber:
    async def describe(_server: LlamaServer) -> ModelDescription:
        # Reading a vocabulary of some hundred thousand tokens would block the event loop.
        header = await asyncio.to_thread(read_header, path)
        sources = template.resolve(sources_from_header(header), header.templates)
        written = sources.default + (sources.tool_use or "")
        tokens = select_control_tokens(header.control_tokens, header.added_tokens, written)
        return ModelDescription(sources, tokens, infill_tokens=infill_tokens_from_header(header))

    return describe


def describe_from_server(template: TemplateChoice) -> ModelDescriber:
    """Describe the model of an attached server. Control tokens stay unknown and are discovered per prompt."""

    async def describe(server: LlamaServer) -> ModelDescription:
        props = await (await server.client()).get_props()
        sources = template.resolve(sources_from_props(props), {})
        return ModelDescription(sources, context=_read_context(props))

    return describe


def _read_context(props: dict[str, Any]) -> int | None:
    """Return the tokens of a slot's context that a llama-server reports at /props."""
    settings = props.get("default_generation_settings")
    context = settings.get("n_ctx") if isinstance(settings, dict) else None
    return context if type(context) is int and context > 0 else None
