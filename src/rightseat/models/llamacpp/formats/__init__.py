"""Every tool-call format we know, and which of them a model was made for.

format.py says what a format is; allowed.py has the grammar of what a prompt allows; thinking.py splits off
reasoning. A new format is one file and one line here.
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

# The first whose marks a template has is taken: what is more special stands first.
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
    """The format that a template was written for; generic for a template that knows no tools."""
    if abilities.tools or abilities.tool_calls:
        for kind in FORMATS:
            marked = any(all(mark in source for mark in marks) for marks in kind.marks)
            if marked and (not kind.proven or _reads(kind(), abilities.called)):
                return kind()
    return GENERIC()


def _reads(format: Format, written: str) -> bool:
    """Whether the format finds in it the call that the template was asked to show."""
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
