"""Functionary v3.1: `<function=NAME>{…}</function>`, and Python code after `<|python_tag|>`."""

from __future__ import annotations

from typing import Any

from rightseat.models.llamacpp.formats.format import FormatContext, to_openai_tool
from rightseat.models.llamacpp.formats.llama31 import FUNCTION, LlamaFunctionsFormat
from rightseat.models.llamacpp.formats.python_tag import TAG
from rightseat.tools.text_calls.builtin import CODE_TOOLS
from rightseat.types.model import ToolSpec

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
