"""Tool-call formats of model families, and the detection of a model's format from its chat template.

`format` has the base class ToolCallFormat; `answer_grammar` builds the grammar of an answer and separates
reasoning. The other modules are formats: `hermes` (also Qwen and the embedded model), `llama`, `functionary`,
`mistral`, `deepseek`, `command_r7b`, and `generic` for models without tool support. A new format is one class
and one line here.
"""

from __future__ import annotations

import json

from rightseat.errors import ConfigError
from rightseat.models.llamacpp.abilities import PROBE, Abilities
from rightseat.models.llamacpp.formats.command_r7b import CommandR7B
from rightseat.models.llamacpp.formats.deepseek import DeepSeek, DeepSeekV31
from rightseat.models.llamacpp.formats.format import Ask, Format, Plan
from rightseat.models.llamacpp.formats.functionary_v2 import FunctionaryV2
from rightseat.models.llamacpp.formats.functionary_v3 import FunctionaryV3, FunctionaryV32
from rightseat.models.llamacpp.formats.functionary_v31 import FunctionaryV31
from rightseat.models.llamacpp.formats.generic import Generic
from rightseat.models.llamacpp.formats.hermes import Hermes
from rightseat.models.llamacpp.formats.llama31 import Llama31, LlamaFunctions
from rightseat.models.llamacpp.formats.mistral import Mistral, MistralNamed
from rightseat.models.llamacpp.formats.signatures import Signatures
from rightseat.tools.text_calls.reader import Reader, Unreadable
from rightseat.types.chunks import CallArgs, CallName
from rightseat.types.nearest import nearest

__all__ = ["FORMATS", "GENERIC", "Ask", "Format", "Plan", "detect", "named"]

# The first format whose markers occur in the template wins, so specific formats come first.
FORMATS: tuple[type[Format], ...] = (
    CommandR7B,
    DeepSeek,
    DeepSeekV31,
    MistralNamed,
    Mistral,
    Hermes,
    FunctionaryV2,
    FunctionaryV32,
    FunctionaryV3,
    FunctionaryV31,
    Llama31,
    LlamaFunctions,
    Signatures,
)
GENERIC: type[Format] = Generic


def detect(source: str, abilities: Abilities) -> Format:
    """Return the format that a template was written for, or GenericFormat if it does not support tools."""
    if abilities.tools or abilities.tool_calls:
        for kind in FORMATS:
            marked = any(all(mark in source for mark in marks) for marks in kind.marks)
            if marked and (not kind.proven or _reads(kind(), abilities.called)):
                return kind()
    return GENERIC()


def _reads(format: Format, written: str) -> bool:
    """Return whether the format parses PROBE_CALL from the template's rendering of it."""
    reader = Reader(format.read)
    try:
        found = [*reader.feed(written), *reader.close()]
        name, *_ = [piece.name for piece in found if isinstance(piece, CallName)]
        arguments = "".join(piece.json for piece in found if isinstance(piece, CallArgs))
        return (name, json.loads(arguments)) == PROBE and not reader.inside
    except (Unreadable, ValueError):
        return False


def named(name: str) -> Format:
    known = {kind.name: kind for kind in (*FORMATS, GENERIC)}
    if name in known:
        return known[name]()
    near = nearest(name, known)
    question = f" Did you mean {near!r}?" if near else ""
    raise ConfigError(f"There is no tool format {name!r}.{question} Known: {', '.join(known)}.")
