"""ToolCallFormat: how tools are described to a model, what the model may write, and how that is parsed.

Formats override the hooks; `make_plan` is common to all. No I/O.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any, ClassVar, Literal

from msgspec import Struct
from msgspec.structs import replace

from rightseat.models.llamacpp.control_tokens import ControlTokens, TrustedText
from rightseat.models.llamacpp.formats.answer_grammar import AnswerGrammar, Parser, ThinkingTags, add_excluding_rule
from rightseat.models.llamacpp.template_probe import TemplateCapabilities
from rightseat.tools.text_calls.reader import ModelTextReader, ParseSteps
from rightseat.types.messages import Message, TextMessagePart, text_message
from rightseat.types.model import Prompt, ToolSpec


class FormatContext(Struct, frozen=True, kw_only=True):
    """One prompt with the properties of its model."""

    prompt: Prompt
    capabilities: TemplateCapabilities
    control_tokens: ControlTokens = ControlTokens(())
    thinking: ThinkingTags = ThinkingTags()
    publish: Literal["typescript", "json"] = "typescript"
    """How GenericFormat describes tools."""
    thought_channel: Literal["content", "reasoning"] = "content"
    """Where GenericFormat's thought goes: into the content or into the reasoning."""
    clock: Callable[[], datetime] = datetime.now

    @property
    def tools(self) -> tuple[ToolSpec, ...]:
        return self.prompt.callable_tools

    def replace_prompt(self, **changes: Any) -> FormatContext:
        return replace(self, prompt=replace(self.prompt, **changes))

    def dump_tools(self, indent: int | None = None) -> str:
        """Return the callable tools as a JSON list in OpenAI's form, with control tokens marked."""
        return self.mark_foreign(dump_json(list(map(to_openai_tool, self.tools)), indent=indent))

    @property
    def must_call(self) -> bool:
        return self.prompt.requires_tool_call

    def mark_foreign(self, text: str) -> str:
        """Return user or tool text with its control tokens marked, for use inside TrustedText."""
        return str(self.control_tokens.mark(text))


class PromptPlan(Struct, frozen=True, kw_only=True):
    """What to send to the engine for a prompt, and how to parse the answer."""

    messages: tuple[Message, ...]
    tools: tuple[dict[str, Any], ...] = ()
    """Tools for the template in OpenAI's form; empty if the format describes them itself."""
    template_variables: dict[str, Any] = {}
    """Extra template variables."""
    answer_prefix: str = ""
    """Start of the answer, appended to the prompt; the parser does not see it."""
    grammar: str = ""
    uses_adapter: bool = False
    """Enable the loaded LoRA adapter for this answer."""
    stop_words: tuple[str, ...] = ()
    preserved_tokens: tuple[str, ...] = ()
    """Control tokens that the engine must not strip from the answer."""
    filters_stop_words: bool = False
    """The caller's stop words apply to parsed text only, so they are not sent to the engine."""
    enforced_tools: frozenset[str] = frozenset()
    engine_fields: dict[str, Any] = {}
    """Further fields of the request to the engine."""
    chat_request: dict[str, Any] | None = None
    """A request of the engine's own chat route, which then constrains and parses the answer itself; the rendered
    prompt only chooses a slot."""
    parse: Parser

    def make_reader(self) -> ModelTextReader:
        return ModelTextReader(self.parse, enforced=self.enforced_tools)


class ToolCallFormat:
    name: ClassVar[str]
    template_markers: ClassVar[tuple[tuple[str, ...], ...]] = ()
    """Marker sets: a template that contains all markers of one set uses this format."""
    needs_round_trip: ClassVar[bool] = False
    """Markers are ambiguous: `parse` must also read back the template's rendering of PROBE_CALL."""
    own_prompt: ClassVar[bool] = False
    """The format always describes the tools itself, even if the template could."""
    instructions_first: ClassVar[bool] = False
    """The format's instructions precede the caller's system text."""
    triggers: ClassVar[tuple[str, ...]] = ()
    """Markers that begin a call anywhere in the answer; text must not contain them. The grammar covers the
    whole answer instead of using llama.cpp's lazy grammars, which fail if a token is longer than the trigger,
    miss a trigger spelled in other tokens, and take one inside a thought for a call."""
    stop_words: ClassVar[tuple[str, ...]] = ()
    preserved_tokens: ClassVar[tuple[str, ...]] = ()

    # ---- hooks

    def describe_tools(self, context: FormatContext) -> str:
        """Return the system text that describes the tools, for templates that cannot."""
        raise NotImplementedError

    def describe_output_schema(self, schema: dict[str, Any], context: FormatContext) -> str:
        words = "Answer in JSON that satisfies this JSON schema, and write nothing else:"
        return f"{words}\n{context.mark_foreign(dump_json(schema))}"

    def build_calls_gbnf(self, grammar: AnswerGrammar) -> str:
        """Add rules to the grammar and return the GBNF of one or more calls."""
        raise NotImplementedError

    def parse(self, reader: ModelTextReader) -> ParseSteps[None]:
        """Parse text and calls, after any thinking."""
        raise NotImplementedError

    def make_parser(self, context: FormatContext) -> Parser:
        """Return the parser; a format may make it depend on the tools."""
        return self.parse

    def list_template_tools(self, context: FormatContext) -> tuple[dict[str, Any], ...]:
        """Return the tools in the form of a template that supports tools."""
        return tuple(map(to_openai_tool, context.tools))

    def make_template_variables(self, context: FormatContext) -> dict[str, Any]:
        return {}

    def make_answer_prefix(self, context: FormatContext) -> str:
        """Return the start of the answer that the template's generation prompt lacks."""
        return ""

    def writes_calls_as_text(self, message: Message, context: FormatContext) -> bool:
        """Return whether `format_calls` writes earlier calls, because the template renders them badly."""
        return self.own_prompt or not context.capabilities.renders_calls(message.text)

    def writes_results_as_text(self, context: FormatContext) -> bool:
        """Return whether `format_result` writes results, because the template has no role for them."""
        return self.own_prompt or not context.capabilities.renders_results

    def format_calls(self, message: Message, context: FormatContext) -> str:
        """Return an earlier assistant message with calls, as the model would have written it."""
        raise NotImplementedError

    def format_result(self, message: Message, context: FormatContext) -> str:
        """Return a tool result as user text, for templates without a tool role."""
        name = f" of {message.name}" if message.name else ""
        return f"Result{context.mark_foreign(name)}:\n{context.mark_foreign(message.text)}"

    def build_output_gbnf(self, output: str) -> str:
        """Return GBNF of an answer by the output schema; `output` is the schema's rule."""
        return output

    def parse_text(self, reader: ModelTextReader) -> ParseSteps[None]:
        """Parse an answer without calls, after any thinking."""
        yield from reader.text_until()

    def build_answer_gbnf(self, grammar: AnswerGrammar) -> str:
        """Return GBNF of an answer after any thinking: calls, output-schema JSON, or text and calls."""
        calls = self.build_calls_gbnf(grammar)
        if grammar.must_call:
            return calls
        if grammar.output_rule is not None:
            return f"{calls} | {self.build_output_gbnf(grammar.output_rule)}"
        return f"{self.build_text_gbnf(grammar)} ({calls})?"

    def build_toolless_gbnf(self, grammar: AnswerGrammar) -> str:
        """Return GBNF of an answer without calls, after any thinking."""
        output = grammar.output_rule
        return self.build_text_gbnf(grammar) if output is None else self.build_output_gbnf(output)

    def build_text_gbnf(self, grammar: AnswerGrammar) -> str:
        """Return GBNF of text without call triggers."""
        return add_excluding_rule(grammar.rules, self.triggers)

    # ---- common to all formats

    def uses_template_tools(self, context: FormatContext) -> bool:
        return context.capabilities.tools and not self.own_prompt

    def make_plan(self, context: FormatContext) -> PromptPlan:
        if not context.tools:
            return self.make_toolless_plan(context)
        compiled = AnswerGrammar.compile(self, context)
        instructions = [] if self.uses_template_tools(context) else [self.describe_tools(context)]
        if (schema := context.prompt.output_schema) is not None:
            instructions.append(self.describe_output_schema(schema, context))
        return PromptPlan(
            messages=self.insert_instructions(instructions, context),
            tools=self.list_template_tools(context) if self.uses_template_tools(context) else (),
            template_variables=self.make_template_variables(context),
            answer_prefix=self.make_answer_prefix(context),
            grammar=compiled.grammar,
            stop_words=self.stop_words,
            preserved_tokens=(*self.preserved_tokens, *context.thinking.active_tags),
            # Stop words may occur inside a call, where they must not stop the engine.
            filters_stop_words=bool(context.prompt.settings.stop),
            enforced_tools=compiled.enforced_tools,
            parse=context.thinking.wrap_parser(self.make_parser(context)),
        )

    def make_toolless_plan(self, context: FormatContext) -> PromptPlan:
        """Plan an answer without calls: text, or JSON by the output schema."""
        schema = context.prompt.output_schema
        instructions = [] if schema is None else [self.describe_output_schema(schema, context)]
        # Only a model that knows of tools may try to call one; other text needs no grammar.
        may_try_calls = bool(context.prompt.tools and self.triggers)
        return PromptPlan(
            messages=self.insert_instructions(instructions, context),
            grammar=AnswerGrammar.compile(self, context).grammar if may_try_calls or schema is not None else "",
            stop_words=self.stop_words,
            preserved_tokens=(*self.preserved_tokens, *context.thinking.active_tags),
            parse=context.thinking.wrap_parser(self.parse_text),
        )

    def format_history(self, context: FormatContext) -> tuple[Message, ...]:
        """Return the messages with calls and results as text where the template cannot render them."""
        names = {call.id: call.name for message in context.prompt.messages for call in message.calls}

        def format_message(message: Message) -> Message:
            if message.calls and self.writes_calls_as_text(message, context):
                part = TextMessagePart(TrustedText(self.format_calls(message, context)))
                return replace(message, parts=(part,), calls=())
            if message.role == "tool" and self.writes_results_as_text(context):
                # Clients often send only the call id, not the tool's name.
                called = replace(message, name=message.name or names.get(message.call_id or ""))
                return text_message("user", TrustedText(self.format_result(called, context)))
            return message

        return tuple(map(format_message, context.prompt.messages))

    def insert_instructions(self, instructions: Sequence[str], context: FormatContext) -> tuple[Message, ...]:
        """Return the messages with our instructions in the first system message, added if missing."""
        messages = self.format_history(context)
        if not instructions:
            return messages
        if not messages or messages[0].role not in ("system", "developer"):
            return (text_message("system", TrustedText("\n\n".join(instructions))), *messages)
        system = context.mark_foreign(messages[0].text)
        texts = [*instructions, system] if self.instructions_first else [system, *instructions]
        part = TextMessagePart(TrustedText("\n\n".join(filter(None, texts))))
        return (replace(messages[0], parts=(part,)), *messages[1:])


def to_openai_tool(tool: ToolSpec) -> dict[str, Any]:
    function = {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
    return {"type": "function", "function": function}


def dump_json(value: Any, *, indent: int | None = None) -> str:
    return json.dumps(value, ensure_ascii=False, indent=indent)
