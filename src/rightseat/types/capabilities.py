"""What models can do: one value that the engine reads, and one table of families by provider and name.

A table entry is a pattern at the beginning of a model's name. The first one that fits counts, so the special
stands above the general; a name that none fits gets what its provider's models do as a rule. What a table of
the configuration says ([models.NAME] images, tools, …) is said over it.
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
    """`context` is None where nobody knows it; everything else is said."""

    tools: bool = True
    parallel: bool = True
    """Several calls in one answer."""
    schema: bool = True
    """An output schema is enforced by the model itself."""
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
# Families whose weights anyone may serve: by an OpenAI-compatible server, by Ollama, by llama.cpp.
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
"""By provider: its families, and what is believed of a name that is none of them. `compatible` is any server
that speaks OpenAI's API and is not OpenAI's. Where nobody can know, a picture is let through: whoever serves
the model refuses it if need be."""

KEYS = Abilities.__struct_fields__


def known(provider: str, name: str) -> Abilities:
    """What the table says of a model; a fine-tune is known by what it was made of."""
    return listed(provider, name) or _TABLE.get(provider, ((), Abilities()))[1]


def listed(provider: str, name: str) -> Abilities | None:
    """The entry of its family; None where the table has none, and `known` only guesses."""
    plain = bare(name)
    families = _TABLE.get(provider, ((), None))[0]
    return next((found for pattern, found in families if re.match(pattern, plain)), None)


def bare(name: str) -> str:
    """A model's own name: without the folder, the vendor or the `ft:` before it."""
    return name.lower().removeprefix("ft:").rsplit("/", 1)[-1]


def said(believed: Abilities, options: Mapping[str, Any]) -> Abilities:
    """What is believed of a model, with what its options say of it over it."""
    return replace(believed, **{key: options[key] for key in KEYS if options.get(key) is not None})


def abilities_of(model: Any) -> Abilities:
    """What a model says of itself; one that says nothing is believed to do what most can."""
    found = getattr(model, "abilities", None)
    return found if isinstance(found, Abilities) else Abilities(images=bool(getattr(model, "images", True)))


def sees(model: Any) -> bool:
    """Whether a picture may be sent to it unasked: only to a model that is known to take one."""
    images = getattr(model, "images", None)
    if images is None:
        found = getattr(model, "abilities", None)
        images = isinstance(found, Abilities) and found.images
    return bool(images)


class Seat(Struct, frozen=True):
    """A model as an assistant has it. `context` is what the configuration says, else what the table knows."""

    model: Model
    context: int | None = None
    abilities: Abilities = Abilities()

    @classmethod
    def of(cls, model: Model, context: int | None = None) -> Seat:
        able = abilities_of(model)
        return cls(model, context or able.context, able)


def pictured(prompt: Prompt) -> bool:
    return any(type(part) is Image for message in prompt.messages for part in message.parts)
