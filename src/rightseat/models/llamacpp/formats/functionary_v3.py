"""Functionary v3 for Llama 3: `>>>NAME` with the arguments on the next line; text goes to `>>>all`.

The template of v3 does not describe tools, so the format does; that of v3.2 does, and supports a Python
interpreter whose argument is code.
"""

from __future__ import annotations

from typing import Any, ClassVar

from msgspec.structs import replace

from rightseat.models.llamacpp.formats.format import Ask, Plan, published
from rightseat.models.llamacpp.formats.functionary_v31 import CODE_INTERPRETER
from rightseat.models.llamacpp.formats.python_tag import argument
from rightseat.models.llamacpp.formats.recipients import INTERPRETER, Recipients
from rightseat.tools.text_calls import builtin
from rightseat.tools.text_calls.typescript import namespace
from rightseat.types.messages import Call, Message
from rightseat.types.model import ToolChoice

_TOLD = """You are capable of executing available function(s) if required.
Only execute function(s) when absolutely necessary.
Ask for the required input to:recipient==all
Use JSON for function arguments.
Respond in this format:
>>>${recipient}
${content}
Available functions:
"""


class FunctionaryV3(Recipients):
    name = "functionary-v3"
    marks: ClassVar[tuple[tuple[str, ...], ...]] = ((">>>all",),)
    own_prompt = True
    begin = ">>>"
    middle = "\n"

    def told(self, ask: Ask) -> str:
        return _TOLD + ask.foreign(namespace(ask.tools))


class FunctionaryV32(FunctionaryV3):
    name = "functionary-v3.2"
    marks = ((">>>all", "namespace"),)
    own_prompt = False

    def plan(self, ask: Ask) -> Plan:
        tools = tuple(map(builtin.understood, ask.prompt.tools))
        ask = replace(ask, prompt=replace(ask.prompt, tools=tools))
        # Code runs to the end of the answer, so stop words must not cut it.
        plan = super().plan(ask)
        return replace(plan, enveloped=plan.enveloped or self.interpreter(ask) is not None)

    def interpreter(self, ask: Ask) -> str | None:
        named = (tool.name for tool in ask.tools if tool.name in builtin.CODE and builtin.fits(tool))
        return next(named, None) if self.native(ask) else None

    def shown(self, ask: Ask) -> tuple[dict[str, Any], ...]:
        interpreter = self.interpreter(ask)
        others = (published(tool) for tool in ask.tools if tool.name != interpreter)
        return (*others, CODE_INTERPRETER) if interpreter else tuple(others)

    def history(self, ask: Ask) -> tuple[Message, ...]:
        everything = replace(ask, prompt=replace(ask.prompt, tool_choice=ToolChoice()))
        interpreter = self.interpreter(everything)

        def fitted(call: Call) -> Call:
            if call.name != interpreter:
                return call
            return replace(call, name=INTERPRETER, arguments=argument(call))

        told = (replace(message, calls=tuple(map(fitted, message.calls))) for message in ask.prompt.messages)
        return super().history(replace(ask, prompt=replace(ask.prompt, messages=tuple(told))))
