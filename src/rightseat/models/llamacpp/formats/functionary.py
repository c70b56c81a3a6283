"""The Functionary formats: an answer is a list of messages, each to `all` or to a tool.

v2: `<|from|>assistant`, `<|recipient|>NAME` and `<|content|>{…}`, each on its own line. v3 for Llama 3: `>>>NAME` with
the arguments on the next line. v3.1: `<function=NAME>{…}</function>`, and Python code after `<|python_tag|>`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar

from msgspec.structs import replace

from rightseat.errors import CallerError
from rightseat.models.llamacpp.formats import llama
from rightseat.models.llamacpp.formats.answer_grammar import AnswerGrammar, Parser, add_excluding_rule, check_bare_name
from rightseat.models.llamacpp.formats.format import FormatContext, PromptPlan, ToolCallFormat, to_openai_tool
from rightseat.models.llamacpp.formats.llama import FUNCTION, TAG, LlamaFunctionsFormat, get_single_argument
from rightseat.tools.text_calls import builtin
from rightseat.tools.text_calls.builtin import CODE_TOOLS
from rightseat.tools.text_calls.reader import ModelTextReader, ParseSteps, copy_value
from rightseat.tools.text_calls.typescript import render_namespace
from rightseat.types.messages import Message, ToolCall
from rightseat.types.model import ToolChoice, ToolSpec

EVERYBODY = "all"
INTERPRETER = "python"


class RecipientFormat(ToolCallFormat):
    recipient_prefix: ClassVar[str]
    """Markup before a recipient."""
    recipient_suffix: ClassVar[str]
    """Markup between a recipient and its content."""
    instructions_first = True

    def find_interpreter(self, context: FormatContext) -> str | None:
        """Return the tool that takes Python code instead of JSON, as the recipient `python`."""
        return None

    def map_recipients(self, context: FormatContext) -> dict[str, str]:
        """Return the callable tools by their recipient markup."""
        interpreter = self.find_interpreter(context)
        addressed = (tool.name for tool in context.tools if tool.name != interpreter)
        names = {self._address_tool(name): name for name in addressed}
        return names if interpreter is None else {INTERPRETER + self.recipient_suffix: interpreter, **names}

    def _address_tool(self, tool: str) -> str:
        if tool == EVERYBODY:
            raise CallerError(f"The tool name {EVERYBODY!r} is reserved by this model. Give the tool another name.")
        return check_bare_name(tool, self.recipient_suffix, "\n") + self.recipient_suffix

    def list_message_prefixes(self, recipients: Iterable[str]) -> tuple[str, ...]:
        """Return the markers that begin a further message."""
        return tuple(self.recipient_prefix + end for end in (EVERYBODY + self.recipient_suffix, *recipients))

    def list_forbidden_words(self, recipients: Iterable[str]) -> tuple[str, ...]:
        """Return the markers that text must not contain."""
        return self.list_message_prefixes(recipients)

    def build_calls_gbnf(self, grammar: AnswerGrammar) -> str:
        quote = grammar.rules.quote
        recipients = self.map_recipients(grammar.context)
        interpreter = self.find_interpreter(grammar.context)
        options = []
        for recipient, tool in recipients.items():
            content_rule = grammar.argument_rules[tool]
            if tool == interpreter:
                content_rule = add_excluding_rule(grammar.rules, self.list_forbidden_words(recipients))
            options.append(f"{quote(recipient)} {content_rule}")
        call = grammar.rules.add("call", " | ".join(options))
        return grammar.repeat_calls(call, f'"\\n"? {quote(self.recipient_prefix)}')

    def build_answer_gbnf(self, grammar: AnswerGrammar) -> str:
        calls = self.build_calls_gbnf(grammar)
        if grammar.must_call:
            return calls
        everybody = grammar.rules.quote(EVERYBODY + self.recipient_suffix)
        if grammar.output_rule is not None:
            return f"{calls} | {everybody} {grammar.output_rule}"
        prefix = grammar.rules.quote(self.recipient_prefix)
        return f"{everybody} {self.build_text_gbnf(grammar)} ({prefix} {calls})? | {calls}"

    def build_text_gbnf(self, grammar: AnswerGrammar) -> str:
        return add_excluding_rule(grammar.rules, self.list_forbidden_words(self.map_recipients(grammar.context)))

    def make_toolless_plan(self, context: FormatContext) -> PromptPlan:
        begins = self.list_message_prefixes(self.map_recipients(context.replace_prompt(tool_choice=ToolChoice())))

        def parse_text(reader: ModelTextReader) -> ParseSteps[None]:
            # Messages to other recipients are dropped.
            yield from reader.text_until(*begins)

        # The prompt already contains the recipient `all`.
        prefix = self.make_answer_prefix(context) + EVERYBODY + self.recipient_suffix
        plan = super().make_toolless_plan(context)
        return replace(plan, answer_prefix=prefix, parse=context.thinking.wrap_parser(parse_text))

    def make_answer_prefix(self, context: FormatContext) -> str:
        """Return the part of the recipient prefix that the generation prompt lacks."""
        sizes = range(len(self.recipient_prefix), -1, -1)
        present = next(size for size in sizes if context.capabilities.ending.endswith(self.recipient_prefix[:size]))
        return self.recipient_prefix[present:]

    def make_parser(self, context: FormatContext) -> Parser:
        recipients = self.map_recipients(context)
        interpreter = self.find_interpreter(context)
        begins = self.list_message_prefixes(recipients)

        def read(reader: ModelTextReader) -> ParseSteps[None]:
            recipient = yield from reader.peek(EVERYBODY + self.recipient_suffix, *recipients)
            yield from reader.expect(recipient or "")
            while True:
                tool = recipients.get(recipient or "")
                if tool is None:
                    begin = yield from reader.text_until(*begins)
                elif tool == interpreter:
                    begin = yield from llama.parse_code_call(reader, tool, *begins)
                else:
                    yield from copy_value(reader, reader.begin_call(tool))
                    reader.end_call()
                    # Text between messages is dropped.
                    begin = yield from reader.text_until(*begins, emit=lambda text: None)
                if begin is None:
                    return
                recipient = begin.removeprefix(self.recipient_prefix)

        return read

    def writes_calls_as_text(self, message: Message, context: FormatContext) -> bool:
        return not context.capabilities.renders_calls(message.text)

    def writes_results_as_text(self, context: FormatContext) -> bool:
        return not context.capabilities.renders_results

    def format_calls(self, message: Message, context: FormatContext) -> str:
        mark, prefix, suffix = context.mark_foreign, self.recipient_prefix, self.recipient_suffix
        contents = [(EVERYBODY, message.text)] if message.text else []
        contents += [(mark(call.name), call.arguments) for call in message.calls]
        return "\n".join(f"{prefix}{recipient}{suffix}{mark(content)}" for recipient, content in contents)

    def format_history(self, context: FormatContext) -> tuple[Message, ...]:
        """Add missing tool names to results, because the template renders results by name."""
        called = {call.id: call.name for message in context.prompt.messages for call in message.calls}

        def name_result(message: Message) -> Message:
            if message.role != "tool" or message.name:
                return message
            return replace(message, name=called.get(message.call_id or "", "tool"))

        messages = tuple(map(name_result, context.prompt.messages))
        return super().format_history(context.replace_prompt(messages=messages))


FROM, RECIPIENT, CONTENT, STOP = "<|from|>", "<|recipient|>", "<|content|>", "<|stop|>"


class FunctionaryV2Format(RecipientFormat):
    name = "functionary-v2"
    template_markers = ((FROM, RECIPIENT, CONTENT),)
    own_prompt = True
    recipient_prefix = f"{FROM}assistant\n{RECIPIENT}"
    recipient_suffix = f"\n{CONTENT}"
    stop_words = (STOP,)
    preserved_tokens = (FROM, RECIPIENT, CONTENT, STOP)

    def list_forbidden_words(self, recipients: Iterable[str]) -> tuple[str, ...]:
        return (FROM,)

    def describe_tools(self, context: FormatContext) -> str:
        return context.mark_foreign(render_namespace(context.tools))


# The template's form of the interpreter tool.
CODE_INTERPRETER = {"type": "code_interpreter"}


class FunctionaryV31Format(LlamaFunctionsFormat):
    name = "functionary-v3.1"
    own_prompt = False
    template_markers = ((FUNCTION, TAG),)

    def list_builtin_tools(self, context: FormatContext) -> tuple[ToolSpec, ...]:
        return tuple(tool for tool in super().list_builtin_tools(context) if tool.name in CODE_TOOLS)

    def list_template_tools(self, context: FormatContext) -> tuple[dict[str, Any], ...]:
        interpreter = [CODE_INTERPRETER] if self.list_builtin_tools(context) else []
        return (*interpreter, *map(to_openai_tool, self.list_other_tools(context)))


_INSTRUCTIONS = """You are capable of executing available function(s) if required.
Only execute function(s) when absolutely necessary.
Ask for the required input to:recipient==all
Use JSON for function arguments.
Respond in this format:
>>>${recipient}
${content}
Available functions:
"""


class FunctionaryV3Format(RecipientFormat):
    name = "functionary-v3"
    template_markers: ClassVar[tuple[tuple[str, ...], ...]] = ((">>>all",),)
    own_prompt = True
    recipient_prefix = ">>>"
    recipient_suffix = "\n"

    def describe_tools(self, context: FormatContext) -> str:
        return _INSTRUCTIONS + context.mark_foreign(render_namespace(context.tools))


class FunctionaryV32Format(FunctionaryV3Format):
    name = "functionary-v3.2"
    template_markers = ((">>>all", "namespace"),)
    own_prompt = False

    def make_plan(self, context: FormatContext) -> PromptPlan:
        context = context.replace_prompt(tools=tuple(map(builtin.with_builtin_schema, context.prompt.tools)))
        # Code runs to the end of the answer, so stop words must not cut it.
        plan = super().make_plan(context)
        return replace(plan, filters_stop_words=plan.filters_stop_words or self.find_interpreter(context) is not None)

    def find_interpreter(self, context: FormatContext) -> str | None:
        named = (tool.name for tool in context.tools if tool.name in builtin.CODE_TOOLS and builtin.is_builtin(tool))
        return next(named, None) if self.uses_template_tools(context) else None

    def list_template_tools(self, context: FormatContext) -> tuple[dict[str, Any], ...]:
        interpreter = self.find_interpreter(context)
        others = (to_openai_tool(tool) for tool in context.tools if tool.name != interpreter)
        return (*others, CODE_INTERPRETER) if interpreter else tuple(others)

    def format_history(self, context: FormatContext) -> tuple[Message, ...]:
        interpreter = self.find_interpreter(context.replace_prompt(tool_choice=ToolChoice()))

        def rename_call(call: ToolCall) -> ToolCall:
            if call.name != interpreter:
                return call
            return replace(call, name=INTERPRETER, arguments=get_single_argument(call))

        history = context.prompt.messages
        messages = tuple(replace(message, calls=tuple(map(rename_call, message.calls))) for message in history)
        return super().format_history(context.replace_prompt(messages=messages))
