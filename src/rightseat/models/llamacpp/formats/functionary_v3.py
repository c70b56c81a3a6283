"""Functionary v3 for Llama 3: `>>>NAME` with the arguments on the next line; text goes to `>>>all`.

The template of v3 does not describe tools, so the format does; that of v3.2 does, and supports a Python
interpreter whose argument is code.
"""

from __future__ import annotations

from typing import Any, ClassVar

from msgspec.structs import replace

from rightseat.models.llamacpp.formats.format import FormatContext, PromptPlan, to_openai_tool
from rightseat.models.llamacpp.formats.functionary_v31 import CODE_INTERPRETER
from rightseat.models.llamacpp.formats.python_tag import get_single_argument
from rightseat.models.llamacpp.formats.recipients import INTERPRETER, RecipientFormat
from rightseat.tools.text_calls import builtin
from rightseat.tools.text_calls.typescript import render_namespace
from rightseat.types.messages import Message, ToolCall
from rightseat.types.model import ToolChoice

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
        tools = tuple(map(builtin.with_builtin_schema, context.prompt.tools))
        context = replace(context, prompt=replace(context.prompt, tools=tools))
        # Code runs to the end of the answer, so stop words must not cut it.
        plan = super().make_plan(context)
        return replace(
            plan, filters_stop_words=plan.filters_stop_words or self.find_interpreter(context) is not None
        )

    def find_interpreter(self, context: FormatContext) -> str | None:
        named = (
            tool.name
            for tool in context.tools
            if tool.name in builtin.CODE_TOOLS and builtin.is_builtin(tool)
        )
        return next(named, None) if self.uses_template_tools(context) else None

    def list_template_tools(self, context: FormatContext) -> tuple[dict[str, Any], ...]:
        interpreter = self.find_interpreter(context)
        others = (to_openai_tool(tool) for tool in context.tools if tool.name != interpreter)
        return (*others, CODE_INTERPRETER) if interpreter else tuple(others)

    def format_history(self, context: FormatContext) -> tuple[Message, ...]:
        everything = replace(context, prompt=replace(context.prompt, tool_choice=ToolChoice()))
        interpreter = self.find_interpreter(everything)

        def rename_call(call: ToolCall) -> ToolCall:
            if call.name != interpreter:
                return call
            return replace(call, name=INTERPRETER, arguments=get_single_argument(call))

        messages = (
            replace(message, calls=tuple(map(rename_call, message.calls)))
            for message in context.prompt.messages
        )
        return super().format_history(
            replace(context, prompt=replace(context.prompt, messages=tuple(messages)))
        )
