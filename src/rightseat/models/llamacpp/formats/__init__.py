"""Tool-call formats of model families, and the detection of a model's format from its chat template.

`format` has the base class ToolCallFormat; `answer_grammar` builds the grammar of an answer and separates
reasoning. The other modules are formats: `hermes` (also Qwen and the embedded model), `llama`, `functionary`,
`mistral`, `deepseek`, `command_r7b`, `firefunction`, `native` for the engine's own chat route, and `generic` for models
without tool support. A new format is one class and one line here; other packages add theirs by the entry point group
`rightseat.formats`, which names the class.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from importlib.metadata import EntryPoint, entry_points

from rightseat.config.imports import import_object
from rightseat.errors import ConfigError
from rightseat.models.llamacpp.formats.command_r7b import CommandR7BFormat
from rightseat.models.llamacpp.formats.deepseek import DeepSeekFormat, DeepSeekV31Format
from rightseat.models.llamacpp.formats.firefunction import FireFunctionFormat
from rightseat.models.llamacpp.formats.format import FormatContext, PromptPlan, ToolCallFormat
from rightseat.models.llamacpp.formats.functionary import (
    FunctionaryV2Format,
    FunctionaryV3Format,
    FunctionaryV31Format,
    FunctionaryV32Format,
)
from rightseat.models.llamacpp.formats.generic import GenericFormat
from rightseat.models.llamacpp.formats.hermes import HermesFormat, SignatureFormat
from rightseat.models.llamacpp.formats.llama import Llama31Format, LlamaFunctionsFormat
from rightseat.models.llamacpp.formats.mistral import MistralArgsFormat, MistralFormat
from rightseat.models.llamacpp.formats.native import NativeFormat
from rightseat.models.llamacpp.template_probe import PROBE_CALL, TemplateCapabilities
from rightseat.tools.text_calls.reader import ModelTextReader, TextFormatError
from rightseat.types.chunks import ToolCallArgs, ToolCallStart
from rightseat.types.text import closest_match

__all__ = [
    "ENTRY_POINT_GROUP",
    "FORMATS",
    "GENERIC",
    "NATIVE",
    "FormatContext",
    "PromptPlan",
    "ToolCallFormat",
    "detect_format",
    "get_format",
]

ENTRY_POINT_GROUP = "rightseat.formats"
log = logging.getLogger(__name__)

# The first format whose markers occur in the template wins, so specific formats come first.
FORMATS: tuple[type[ToolCallFormat], ...] = (
    CommandR7BFormat,
    DeepSeekFormat,
    DeepSeekV31Format,
    MistralArgsFormat,
    MistralFormat,
    FireFunctionFormat,
    HermesFormat,
    FunctionaryV2Format,
    FunctionaryV32Format,
    FunctionaryV3Format,
    FunctionaryV31Format,
    Llama31Format,
    LlamaFunctionsFormat,
    SignatureFormat,
)
NATIVE: type[ToolCallFormat] = NativeFormat
GENERIC: type[ToolCallFormat] = GenericFormat


def entry_point_formats() -> dict[str, EntryPoint]:
    """Return the formats of other packages by name, without those whose names are taken here."""
    own = {kind.name for kind in (*FORMATS, NATIVE, GENERIC)}
    return {entry.name: entry for entry in entry_points(group=ENTRY_POINT_GROUP) if entry.name not in own}


def load_entry_point(entry: EntryPoint) -> type[ToolCallFormat]:
    kind = import_object(entry.value)
    if not (isinstance(kind, type) and issubclass(kind, ToolCallFormat)):
        raise ConfigError(f"The tool format {entry.name!r} cannot be used: {entry.value} is no ToolCallFormat.")
    return kind


def list_detectable() -> Iterator[type[ToolCallFormat]]:
    """Yield the formats in the order in which a template is compared with them: those of other packages come last."""
    yield from FORMATS
    for entry in entry_point_formats().values():
        try:
            yield load_entry_point(entry)
        except ConfigError as error:
            log.warning("the tool format %s is left out: %s", entry.name, error.message)


def detect_format(source: str, capabilities: TemplateCapabilities) -> ToolCallFormat:
    """Return the format that a template was written for, or GenericFormat if it does not support tools."""
    if capabilities.tools or capabilities.tool_calls:
        for kind in list_detectable():
            marked = any(all(mark in source for mark in marks) for marks in kind.template_markers)
            if marked and (not kind.needs_round_trip or _parses_probe_call(kind(), capabilities.called)):
                return kind()
    return GENERIC()


def _parses_probe_call(format: ToolCallFormat, rendered: str) -> bool:
    """Return whether the format parses PROBE_CALL from the template's rendering of it."""
    reader = ModelTextReader(format.parse)
    try:
        chunks = [*reader.feed(rendered), *reader.close()]
        name, *_ = [piece.name for piece in chunks if isinstance(piece, ToolCallStart)]
        arguments = "".join(piece.json for piece in chunks if isinstance(piece, ToolCallArgs))
        return (name, json.loads(arguments)) == PROBE_CALL and not reader.inside_call
    except (TextFormatError, ValueError):
        return False


def get_format(name: str) -> ToolCallFormat:
    own = {kind.name: kind for kind in (*FORMATS, NATIVE, GENERIC)}
    if name in own:
        return own[name]()
    known = [*own, *entry_point_formats()]
    if name in known:
        return load_entry_point(entry_point_formats()[name])()
    near = closest_match(name, known)
    question = f" Did you mean {near!r}?" if near else ""
    raise ConfigError(f"There is no tool format {name!r}.{question} Known: {', '.join(known)}.")
