"""EmbeddedModel: the small local model, whose answers are checked before a person sees them.

For each prompt it chooses, in this order: a tool call that rules recognise, an answer about the assistant
itself, a draft of a message by a template, a sentence of the person's own text, a call or an answer of the
adapter, and plain chat of the base model. An answer under a schema is a call that rules recognise, or one of the
weights without the tools that have such rules. Other prompts that leave it no choice (a required call, raw text) go
to the weights unchanged.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterable, Mapping

from msgspec import Struct
from msgspec.structs import replace

from rightseat.models.llamacpp.embedded import drafts, help_answers, passages, plain_chat, request_intent, results
from rightseat.models.llamacpp.embedded.plain_chat import SentenceChecker
from rightseat.models.llamacpp.embedded.shortcuts import (
    BUILTIN_SHORTCUTS,
    Shortcut,
    find_missing_question,
    find_shortcut,
    select_shortcuts,
    select_tools,
)
from rightseat.models.llamacpp.model import LlamaCppModel
from rightseat.types.chunks import FinishChunk, ModelChunk, TextChunk, ToolCallArgs, ToolCallStart, UsageChunk
from rightseat.types.events import Usage
from rightseat.types.language import Language, find_language
from rightseat.types.messages import TextMessagePart
from rightseat.types.model import ModelWrapper, Prompt, ToolSpec
from rightseat.types.sentences import get_sentence
from rightseat.types.streams import closing
from rightseat.types.text import decode_or_none, estimate_tokens

# A client that asks for so few tokens measures or tests the weights.
MIN_MAX_TOKENS = 64
# Who sets one of these wants to see what the weights write.
WEIGHT_SETTINGS = frozenset({"logit_bias", "grammar", "ignore_eos", "samplers", "lora"})
# Longer questions are no calculations, and the rules would hold the event loop.
MAX_RULED = 20_000


class CompleteAnswer(Struct, frozen=True):
    chunks: list[ModelChunk]

    @property
    def text(self) -> str:
        return "".join(chunk.text for chunk in self.chunks if isinstance(chunk, TextChunk))

    @property
    def has_call(self) -> bool:
        return any(isinstance(chunk, ToolCallStart) for chunk in self.chunks)

    @property
    def reason(self) -> str:
        return next((chunk.reason for chunk in self.chunks if isinstance(chunk, FinishChunk)), "stop")

    @property
    def usage(self) -> Usage:
        return sum((chunk.usage for chunk in self.chunks if isinstance(chunk, UsageChunk)), Usage())


class EmbeddedModel(ModelWrapper):
    """Wrapper of the embedded LlamaCppModel. `shortcuts` are by tool name."""

    def __init__(self, model: LlamaCppModel, shortcuts: Iterable[Shortcut] = BUILTIN_SHORTCUTS) -> None:
        super().__init__(model)
        self.weights_model = model
        self.capabilities = replace(model.capabilities, needs_rules=True)
        self.shortcuts: dict[str, Shortcut] = {}
        self.add_shortcuts(shortcuts)

    def add_shortcuts(self, shortcuts: Iterable[Shortcut]) -> None:
        self.shortcuts |= {shortcut.tool: shortcut for shortcut in shortcuts}

    def stream(self, prompt: Prompt, /) -> AsyncIterator[ModelChunk]:
        is_structured = prompt.output_schema is not None and prompt.raw is None and not prompt.requires_tool_call
        fixed = find_fixed_answer(prompt)
        if fixed is not None:
            return stream_chunks(fixed)
        if not is_structured and not needs_checks(prompt):
            return self.weights_model.stream(prompt)
        answer = PromptAnswer(self.weights_model, self.shortcuts, prompt)
        if is_structured:
            return answer.stream_structured()
        return answer.stream_from_results() if prompt.messages[-1].role == "tool" else answer.stream_to_question()


def find_fixed_answer(prompt: Prompt) -> list[ModelChunk] | None:
    """Return the chunks of a prompt that leaves no choice: its answer is known, or the only tool that must be called
    takes no arguments."""
    if prompt.raw is not None or prompt.output_schema is not None:
        return None
    usage = UsageChunk(Usage())
    if prompt.known_answer:
        return [*map(TextChunk, passages.split_keeping_space(prompt.known_answer)), usage, FinishChunk("stop")]
    tools = prompt.callable_tools
    if not prompt.requires_tool_call or len(tools) != 1 or tools[0].parameters.get("properties"):
        return None
    return [ToolCallStart(0, tools[0].name, enforced=True), ToolCallArgs(0, "{}"), usage, FinishChunk("calls")]


async def stream_chunks(chunks: Iterable[ModelChunk]) -> AsyncIterator[ModelChunk]:
    for chunk in chunks:
        yield chunk


def needs_checks(prompt: Prompt) -> bool:
    """Tell whether the answer to this prompt is chosen and checked here."""
    settings = prompt.settings
    return (
        prompt.raw is None
        and prompt.output_schema is None
        and not prompt.requires_tool_call
        and bool(prompt.messages)
        and prompt.messages[-1].role in ("user", "tool")
        and all(isinstance(part, TextMessagePart) for message in prompt.messages for part in message.parts)
        and not settings.extra.get("logprobs")
        and not settings.extra.keys() & WEIGHT_SETTINGS
        and not settings.stop
        and (settings.max_tokens is None or settings.max_tokens >= MIN_MAX_TOKENS)
    )


class PromptAnswer:
    """The answer to one prompt."""

    def __init__(self, model: LlamaCppModel, shortcuts: Mapping[str, Shortcut], prompt: Prompt) -> None:
        self.model = model
        self.shortcuts = select_shortcuts(shortcuts, prompt.tools)
        self.prompt = prompt
        self.language: Language = find_language(prompt.messages)
        self.question = next((m.text.strip() for m in reversed(prompt.messages) if m.role == "user"), "")
        self.systems = [message.text for message in prompt.messages if message.role in ("system", "developer")]
        self.context = request_intent.find_context(self.systems)
        self.usage = Usage()

    async def stream_to_question(self) -> AsyncIterator[ModelChunk]:
        chunks = self.find_call() or self.find_help()
        if chunks is None:
            tools = select_tools(self.shortcuts, self.prompt.callable_tools, self.question)
            chunks = (await self.ask_adapter(tools) if tools else None) or self.find_draft() or self.find_passage()
            chunks = chunks or (None if tools else await self.ask_adapter(()))
        if chunks is not None:
            for chunk in chunks:
                yield chunk
            return
        async with closing(self.stream_plain_chat()) as answer:
            async for chunk in answer:
                yield chunk

    async def stream_structured(self) -> AsyncIterator[ModelChunk]:
        """Stream an answer under a schema. Shown a tool of ours that does not fit, the weights would call it in
        every round."""
        is_question = bool(self.prompt.messages) and self.prompt.messages[-1].role == "user"
        if is_question and (call := self.find_call()) is not None:
            for chunk in call:
                yield chunk
            return
        tools = tuple(tool for tool in self.prompt.tools if tool.name not in self.shortcuts)
        async with closing(self.model.stream(replace(self.prompt, tools=tools))) as answer:
            async for chunk in answer:
                yield chunk

    def find_call(self) -> list[ModelChunk] | None:
        """Return the call that a shortcut makes."""
        if self.prompt.tool_choice.mode == "none" or len(self.question) > MAX_RULED:
            return None
        match = find_shortcut(self.shortcuts, request_intent.correct_slang(self.question), self.context)
        if match is None:
            return None
        arguments = json.dumps(match.arguments, ensure_ascii=False)
        return [
            ToolCallStart(0, match.shortcut.tool, enforced=True),
            ToolCallArgs(0, arguments),
            UsageChunk(self.usage),
            FinishChunk("calls"),
        ]

    def find_help(self) -> list[ModelChunk] | None:
        before = next(
            (message.text for message in reversed(self.prompt.messages[:-1]) if message.role == "assistant"), ""
        )
        text = help_answers.find_help_answer(
            request_intent.correct_slang(self.question),
            self.language,
            self.prompt.tools,
            self.shortcuts,
            has_own_voice=request_intent.has_own_voice(self.systems),
            is_reply=before.rstrip().endswith(("?", "？")),
        )
        return None if text is None else self.make_text_chunks(text)

    def find_draft(self) -> list[ModelChunk] | None:
        text = drafts.find_draft(self.question)
        return None if text is None else self.make_text_chunks(text)

    def find_passage(self) -> list[ModelChunk] | None:
        text = (
            passages.find_lead_sentence(self.question)
            or passages.find_answer_sentence(self.question)
            or passages.find_context_sentence(self.question, self.context)
        )
        return None if text is None else self.make_text_chunks(text)

    async def ask_adapter(self, tools: tuple[ToolSpec, ...]) -> list[ModelChunk] | None:
        """Return the adapter's call or answer; None if it declines or its answer is unusable."""
        if request_intent.wants_writing(self.question) and not tools:
            return None
        answer = await self.collect(
            request_intent.with_final_mark(replace(self.prompt, tools=tools)), uses_adapter=True
        )
        if answer.has_call:
            missing = request_intent.find_ungrounded_argument(answer.chunks, self.prompt, tools)
            return answer.chunks if missing is None else self.make_sentence_chunks("embedded_ask_for", name=missing)
        question = find_missing_question(self.shortcuts, tools, self.language)
        if question is not None:
            return self.make_text_chunks(question)
        text = answer.text.strip()
        shown = "\n".join(message.text for message in self.prompt.messages)
        if not text or plain_chat.is_markup(text) or plain_chat.states_new_number(text, shown):
            return None
        if plain_chat.declines(text, self.question):
            can_do = request_intent.wants_action(self.question)
            return self.make_sentence_chunks("embedded_cannot_do") if can_do else None
        return self.make_text_chunks(text, answer.reason)

    async def stream_plain_chat(self) -> AsyncIterator[ModelChunk]:
        """Stream sentences of the base model. It writes no usable Chinese, so it is not asked there."""
        if self.language == "zh" and not request_intent.wants_english(self.question):
            for chunk in self.make_sentence_chunks("embedded_unsure"):
                yield chunk
            return
        prompt = plain_chat.make_plain_prompt(self.prompt, self.question)
        short = await self.ask_short_answer()
        for again in (False, True):
            settings = plain_chat.make_plain_settings(self.prompt.settings, again=again)
            sources = [message.text for message in prompt.messages]
            checker = SentenceChecker(self.question, sources, None if again else short)
            async with closing(self.stream_sentences(replace(prompt, settings=settings), checker)) as chunks:
                async for chunk in chunks:
                    yield chunk
            if checker.shown.strip():
                return
            if checker.speaks_of_itself and not request_intent.has_own_voice(self.systems):
                text = help_answers.describe_tools(self.prompt.tools, self.shortcuts, self.language)
                for chunk in self.make_text_chunks(text):
                    yield chunk
                return
            if checker.disagrees:
                break
        for chunk in self.make_sentence_chunks("embedded_unsure"):
            yield chunk

    async def ask_short_answer(self) -> plain_chat.ShortAnswer | None:
        prompt = plain_chat.make_short_prompt(self.prompt, self.question)
        if prompt is None:
            return None
        answer = await self.collect(prompt, uses_adapter=False)
        return plain_chat.find_short_answer(chunk for chunk in answer.chunks if isinstance(chunk, TextChunk))

    async def stream_sentences(self, prompt: Prompt, checker: SentenceChecker) -> AsyncIterator[ModelChunk]:
        """Stream the sentences of one answer that the checker passes, and its end unless there is none."""
        reason = "stop"
        async with closing(self.model.stream(prompt)) as chunks:
            async for chunk in chunks:
                if isinstance(chunk, TextChunk):
                    for sentence in checker.push(chunk):
                        yield TextChunk(sentence)
                elif isinstance(chunk, FinishChunk):
                    reason = chunk.reason
                elif isinstance(chunk, UsageChunk):
                    self.usage += chunk.usage
                if checker.ended:
                    # The engine counts only complete answers.
                    self.usage += Usage(estimate_tokens(self.question), estimate_tokens(checker.shown))
                    break
        # A limit of ours ends the answer with its last complete sentence; one of the client's is told.
        limited = reason == "length" and self.prompt.settings.max_tokens is not None
        for sentence in checker.close(complete=reason == "stop" or limited):
            yield TextChunk(sentence)
        if checker.shown.strip():
            yield UsageChunk(self.usage)
            yield FinishChunk("length" if limited and not checker.ended else "stop")

    async def stream_from_results(self) -> AsyncIterator[ModelChunk]:
        shown = results.list_results(self.prompt.messages)
        described = self.describe_results() or results.format_refusal(shown, self.language)
        if described is not None:
            for chunk in self.make_text_chunks(described):
                yield chunk
            return
        sources = [message.text for message in self.prompt.messages if message.role != "assistant"]
        sources += [call.arguments for message in self.prompt.messages for call in message.calls]
        for again in (False, True):
            settings = self.prompt.settings
            if again and settings.temperature is None:
                settings = replace(settings, temperature=0.7)
            answer = await self.collect(replace(self.prompt, settings=settings), uses_adapter=True)
            if answer.has_call and not request_intent.repeats_call(answer.chunks, self.prompt.messages):
                for chunk in answer.chunks:
                    yield chunk
                return
            if not answer.has_call and results.find_problem(answer.text, shown, sources, self.question) is None:
                for chunk in self.make_text_chunks(answer.text.strip(), answer.reason):
                    yield chunk
                return
        for chunk in self.make_text_chunks(results.format_results(shown, self.language)):
            yield chunk

    def describe_results(self) -> str | None:
        """Return the answer of the shortcuts whose tools were called; None if one has none, or a call failed
        so that another may succeed."""
        calls = {call.id: call for message in self.prompt.messages for call in message.calls}
        sentences: list[str] = []
        for message in results.list_result_messages(self.prompt.messages):
            call = calls.get(message.call_id or "")
            shortcut = self.shortcuts.get(call.name) if call is not None else None
            text = results.remove_fence(message.text)
            arguments = decode_or_none(call.arguments) if call is not None else None
            if shortcut is None or shortcut.describe is None or not results.is_final(text):
                return None
            if not isinstance(arguments, dict) or arguments.keys() - shortcut.parameters:
                return None
            sentence = shortcut.describe(self.question, arguments, text, self.language)
            if sentence is None:
                return None
            sentences.append(sentence)
        return "\n\n".join(sentences) or None

    async def collect(self, prompt: Prompt, *, uses_adapter: bool) -> CompleteAnswer:
        async with closing(self.model.stream_chat(prompt, uses_adapter=uses_adapter)) as chunks:
            answer = CompleteAnswer([chunk async for chunk in chunks])
        self.usage += answer.usage
        return answer

    def make_sentence_chunks(self, key: str, **values: object) -> list[ModelChunk]:
        return self.make_text_chunks(get_sentence(key, self.language, **values))

    def make_text_chunks(self, text: str, reason: str = "stop") -> list[ModelChunk]:
        """Return the chunks of a complete answer, a chunk for each sentence."""
        sentences = passages.split_keeping_space(text)
        finish = FinishChunk("length" if reason == "length" else "stop")
        return [*map(TextChunk, sentences), UsageChunk(self.usage), finish]
