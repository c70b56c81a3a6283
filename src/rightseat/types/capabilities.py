"""Capabilities of models: the value that the engine reads, and a table of model families by provider.

A table entry is a pattern for the beginning of a model's name. The first match counts, so specific entries
stand above general ones; a name without a match gets the provider's default. Keys of the configuration
([models.NAME] images, tools, …) override the table.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from rightseat.types.messages import Image
from rightseat.types.model import Model, Prompt


class Abilities(Struct, frozen=True, kw_only=True):
    """Capabilities of a model. `context` is None where it is unknown."""

    tools: bool = True
    parallel: bool = True
    """Several tool calls in one answer."""
    schema: bool = True
    """The model itself enforces an output schema."""
    images: bool = False
    reasoning: bool = False
    context: int | None = None


K = 1000
_TEXT = Abilities(schema=False)
_SEEING = Abilities(images=True)
_THINKING = Abilities(images=True, reasoning=True)
_WORDS_ONLY = Abilities(tools=False, parallel=False, schema=False)

_OPENAI = (
    (r"gpt-4\.1", replace(_SEEING, context=1047 * K)),
    (r"(gpt|chatgpt)-4o.*(audio|realtime|transcribe|tts)", replace(_SEEING, images=False, context=128 * K)),
    (r"gpt-4o-mini-search|gpt-4o-search", replace(_WORDS_ONLY, schema=True, context=128 * K)),
    (r"chatgpt-4o", replace(_WORDS_ONLY, images=True, context=128 * K)),
    (r"gpt-4o", replace(_SEEING, context=128 * K)),
    (r"gpt-4-turbo", replace(_SEEING, schema=False, context=128 * K)),
    (r"gpt-4-(0125|1106)-preview", replace(_TEXT, context=128 * K)),
    (r"gpt-4-vision", replace(_WORDS_ONLY, images=True, context=128 * K)),
    (r"gpt-audio", replace(_TEXT, context=128 * K)),
    (r"gpt-4-32k", replace(_TEXT, context=32 * K)),
    (r"gpt-4", replace(_TEXT, context=8 * K)),
    (r"gpt-3\.5-turbo-instruct", replace(_WORDS_ONLY, context=4 * K)),
    (r"gpt-3\.5", replace(_TEXT, context=16 * K)),
    (r"gpt-5.*-chat", replace(_SEEING, context=128 * K)),
    (r"gpt-5(\.[1-3])?(?!\.)", replace(_THINKING, context=400 * K)),
    (r"gpt-\d", _THINKING),
    (r"o1-(mini|preview)", replace(_WORDS_ONLY, reasoning=True, context=128 * K)),
    (r"o3-mini", Abilities(parallel=False, reasoning=True, context=200 * K)),
    (r"o[1-9]", replace(_THINKING, parallel=False, context=200 * K)),
    (r"codex", replace(_THINKING, context=200 * K)),
    (r"gpt-oss", Abilities(reasoning=True, context=131 * K)),
)
# Open-weight families, served by an OpenAI-compatible server, Ollama or llama.cpp.
_OPEN = (
    (r"gpt-oss", Abilities(reasoning=True, context=131 * K)),
    (r"deepseek-(r1|reasoner)", Abilities(schema=False, reasoning=True)),
    (r"qwq", Abilities(reasoning=True)),
    (r"magistral", _THINKING),
    (r"qwen.*(vl|omni)|llava|pixtral|gemma-?3|llama-?4|llama-?3\.2-(11b|90b)|minicpm-v|internvl", _SEEING),
    (r"qwen-?3(?!\.\d)", Abilities(reasoning=True)),
)
_CLAUDE = (
    (r"claude-(2|instant)", replace(_WORDS_ONLY, context=100 * K)),
    (r"claude-3-haiku|claude-3-sonnet|claude-3-opus", replace(_SEEING, schema=False, context=200 * K)),
    (r"claude-3-5", replace(_SEEING, schema=False, context=200 * K)),
    (r"claude-3-7", replace(_THINKING, schema=False, context=200 * K)),
    (r"claude-(opus|sonnet)-4-(0|2025)", replace(_THINKING, schema=False, context=200 * K)),
    (r"claude-(opus|sonnet|haiku)-4-[1-5]", replace(_THINKING, context=200 * K)),
    (r"claude", _THINKING),
)
_GEMINI = (
    (r"gemini-1\.0|gemini-pro$", replace(_TEXT, context=32 * K)),
    (r"gemini-1\.5-pro", replace(_SEEING, context=2097 * K)),
    (r"gemini-(1\.5|2\.0)-flash-lite", replace(_SEEING, context=1048 * K)),
    (r"gemini-2\.0.*thinking", replace(_THINKING, tools=False, parallel=False, context=1048 * K)),
    (r"gemini.*(-image|-tts|-transcribe)", replace(_WORDS_ONLY, images=True, context=32 * K)),
    (r"gemini-(1\.5|2\.0)", replace(_SEEING, context=1048 * K)),
    (r"gemini-[23]", replace(_THINKING, context=1048 * K)),
    (r"gemini", _THINKING),
    (r"gemma", replace(_WORDS_ONLY, images=True, context=128 * K)),
)

_TABLE: dict[str, tuple[tuple[tuple[str, Abilities], ...], Abilities]] = {
    "openai": (_OPENAI, _SEEING),
    "azure": (_OPENAI, _SEEING),
    "compatible": (_OPEN, _SEEING),
    "anthropic": (_CLAUDE, _THINKING),
    "google": (_GEMINI, _THINKING),
    "langchain": ((*_OPENAI, *_CLAUDE, *_GEMINI, *_OPEN), replace(_SEEING, schema=False)),
    "local": (_OPEN, Abilities()),
    "empty": ((), _SEEING),
}
"""Provider → its families and the default for other names. `compatible` is any OpenAI-compatible server that
is not OpenAI's. Defaults allow images: the upstream refuses them if need be."""

KEYS = Abilities.__struct_fields__


def known(provider: str, name: str) -> Abilities:
    """Return the capabilities of a model; a fine-tune has those of its base model."""
    return listed(provider, name) or _TABLE.get(provider, ((), Abilities()))[1]


def listed(provider: str, name: str) -> Abilities | None:
    """Return the table entry of a model's family; None where `lookup_capabilities` uses the default."""
    plain = bare(name)
    families = _TABLE.get(provider, ((), None))[0]
    return next((found for pattern, found in families if re.match(pattern, plain)), None)


def bare(name: str) -> str:
    """Strip the folder, the vendor and the `ft:` prefix from a model's name."""
    return name.lower().removeprefix("ft:").rsplit("/", 1)[-1]


def said(believed: Abilities, options: Mapping[str, Any]) -> Abilities:
    """Return the capabilities with the values of a model's options over them."""
    return replace(believed, **{key: options[key] for key in KEYS if options.get(key) is not None})


def abilities_of(model: Any) -> Abilities:
    """Return the capabilities that a model declares, else the defaults."""
    found = getattr(model, "abilities", None)
    return found if isinstance(found, Abilities) else Abilities(images=bool(getattr(model, "images", True)))


def sees(model: Any) -> bool:
    """Whether a model is known to take images."""
    images = getattr(model, "images", None)
    if images is None:
        found = getattr(model, "abilities", None)
        images = isinstance(found, Abilities) and found.images
    return bool(images)


class Seat(Struct, frozen=True):
    """Model of an assistant. `context` is the configured window, else that of the table."""

    model: Model
    context: int | None = None
    abilities: Abilities = Abilities()

    @classmethod
    def of(cls, model: Model, context: int | None = None) -> Seat:
        able = abilities_of(model)
        return cls(model, context or able.context, able)


def pictured(prompt: Prompt) -> bool:
    return any(type(part) is Image for message in prompt.messages for part in message.parts)
