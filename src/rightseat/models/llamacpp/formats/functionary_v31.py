"""Functionary v3.1: `<function=NAME>{…}</function>`, and Python code after `<|python_tag|>`."""

from __future__ import annotations

from typing import Any

from rightseat.models.llamacpp.formats.format import Ask, published
from rightseat.models.llamacpp.formats.llama31 import FUNCTION, LlamaFunctions
from rightseat.models.llamacpp.formats.python_tag import TAG
from rightseat.tools.text_calls.builtin import CODE
from rightseat.types.model import ToolSpec

# The template's form of the interpreter tool.
CODE_INTERPRETER = {"type": "code_interpreter"}


class FunctionaryV31(LlamaFunctions):
    name = "functionary-v3.1"
    own_prompt = False
    marks = ((FUNCTION, TAG),)

    def builtins(self, ask: Ask) -> tuple[ToolSpec, ...]:
        return tuple(tool for tool in super().builtins(ask) if tool.name in CODE)

    def shown(self, ask: Ask) -> tuple[dict[str, Any], ...]:
        interpreter = [CODE_INTERPRETER] if self.builtins(ask) else []
        return (*interpreter, *map(published, self.others(ask)))
