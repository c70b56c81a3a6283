"""Capabilities of known models, by provider and name, and the options that override them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from msgspec.structs import replace

from rightseat.types.model import Capabilities

THOUSAND = 1000
_TEXT = Capabilities(schema=False)
_VISION = Capabilities(images=True)
_VISION_REASONING = Capabilities(images=True, reasoning=True)
_NO_TOOLS = Capabilities(tools=False, parallel=False, schema=False)

_OPENAI = (
    (r"gpt-4\.1", replace(_VISION, context=1047 * THOUSAND, max_output=32768)),
    (r"(gpt|chatgpt)-4o.*(audio|realtime|transcribe|tts)", replace(_VISION, images=False, context=128 * THOUSAND)),
    (r"gpt-4o-mini-search|gpt-4o-search", replace(_NO_TOOLS, schema=True, context=128 * THOUSAND, max_output=16384)),
    (r"chatgpt-4o", replace(_NO_TOOLS, images=True, context=128 * THOUSAND, max_output=16384)),
    (r"gpt-4o-2024-05-13", replace(_VISION, context=128 * THOUSAND, max_output=4096)),
    (r"gpt-4o", replace(_VISION, context=128 * THOUSAND, max_output=16384)),
    (r"gpt-4-turbo", replace(_VISION, schema=False, context=128 * THOUSAND, max_output=4096)),
    (r"gpt-4-(0125|1106)-preview", replace(_TEXT, context=128 * THOUSAND, max_output=4096)),
    (r"gpt-4-vision", replace(_NO_TOOLS, images=True, context=128 * THOUSAND)),
    (r"gpt-audio", replace(_TEXT, context=128 * THOUSAND)),
    (r"gpt-4-32k", replace(_TEXT, context=32 * THOUSAND)),
    (r"gpt-4", replace(_TEXT, context=8 * THOUSAND, max_output=8192)),
    (r"gpt-3\.5-turbo-instruct", replace(_NO_TOOLS, context=4 * THOUSAND)),
    (r"gpt-3\.5", replace(_TEXT, context=16 * THOUSAND, max_output=4096)),
    (r"gpt-5.*-chat", replace(_VISION, context=128 * THOUSAND, max_output=16384)),
    (r"gpt-5(\.[1-3])?(?!\.)", replace(_VISION_REASONING, context=400 * THOUSAND, max_output=128000)),
    (r"gpt-\d", _VISION_REASONING),
    (r"o1-(mini|preview)", replace(_NO_TOOLS, reasoning=True, context=128 * THOUSAND)),
    (r"o3-mini", Capabilities(parallel=False, reasoning=True, context=200 * THOUSAND, max_output=100000)),
    (r"o[1-9]", replace(_VISION_REASONING, parallel=False, context=200 * THOUSAND, max_output=100000)),
    (r"codex", replace(_VISION_REASONING, context=200 * THOUSAND)),
    (r"gpt-oss", Capabilities(reasoning=True, context=131 * THOUSAND)),
)

# Open-weight families, served by an OpenAI-compatible server, Ollama or llama.cpp.
_OPEN_WEIGHTS = (
    (r"gpt-oss", Capabilities(reasoning=True, context=131 * THOUSAND)),
    (r"deepseek-(r1|reasoner)", Capabilities(schema=False, reasoning=True)),
    (r"qwq", Capabilities(reasoning=True)),
    (r"magistral", _VISION_REASONING),
    (r"qwen.*(vl|omni)|llava|pixtral|gemma-?3|llama-?4|llama-?3\.2-(11b|90b)|minicpm-v|internvl", _VISION),
    (r"qwen-?3(?!\.\d)", Capabilities(reasoning=True)),
)

_CLAUDE = (
    (r"claude-(2|instant)", replace(_NO_TOOLS, context=100 * THOUSAND)),
    (r"claude-3-haiku|claude-3-sonnet|claude-3-opus", replace(_VISION, schema=False, context=200 * THOUSAND)),
    (r"claude-3-5", replace(_VISION, schema=False, context=200 * THOUSAND)),
    (r"claude-3-7", replace(_VISION_REASONING, schema=False, context=200 * THOUSAND)),
    (r"claude-(opus|sonnet)-4-(0|2025)", replace(_VISION_REASONING, schema=False, context=200 * THOUSAND)),
    (r"claude-(opus|sonnet|haiku)-4-[1-5]", replace(_VISION_REASONING, context=200 * THOUSAND)),
    (r"claude", _VISION_REASONING),
)

_GEMINI = (
    (r"gemini-1\.0|gemini-pro$", replace(_TEXT, context=32 * THOUSAND)),
    (r"gemini-1\.5-pro", replace(_VISION, context=2097 * THOUSAND, max_output=8192)),
    (r"gemini-(1\.5|2\.0)-flash-lite", replace(_VISION, context=1048 * THOUSAND, max_output=8192)),
    (r"gemini-2\.0.*thinking", replace(_VISION_REASONING, tools=False, parallel=False, context=1048 * THOUSAND)),
    (r"gemini.*(-image|-tts|-transcribe)", replace(_NO_TOOLS, images=True, context=32 * THOUSAND)),
    (r"gemini-(1\.5|2\.0)", replace(_VISION, context=1048 * THOUSAND, max_output=8192)),
    (r"gemini-[23]", replace(_VISION_REASONING, context=1048 * THOUSAND, max_output=65536)),
    (r"gemini", _VISION_REASONING),
    (r"gemma", replace(_NO_TOOLS, images=True, context=128 * THOUSAND)),
)

# Models that accept audio.
_AUDIO = re.compile(r"gpt-(4o-)?(mini-)?audio|gemini-(?!1\.0|pro$|.*(image|tts))|qwen.*(omni|audio)|voxtral|ultravox")

_FAMILIES: dict[str, tuple[tuple[tuple[str, Capabilities], ...], Capabilities]] = {
    "openai": (_OPENAI, _VISION),
    "azure": (_OPENAI, _VISION),
    "compatible": (_OPEN_WEIGHTS, _VISION),
    "anthropic": (_CLAUDE, _VISION_REASONING),
    "google": (_GEMINI, _VISION_REASONING),
    "langchain": ((*_OPENAI, *_CLAUDE, *_GEMINI, *_OPEN_WEIGHTS), replace(_VISION, schema=False)),
    "local": (_OPEN_WEIGHTS, Capabilities()),
    "empty": ((), _VISION),
}
"""Provider → its families and the default for other names. `compatible` is any OpenAI-compatible server that
is not OpenAI's. Defaults allow images: the upstream refuses them if need be."""


def lookup_capabilities(provider: str, name: str) -> Capabilities:
    """Return the capabilities of a model; a fine-tune has those of its base model."""
    capabilities = find_listed_capabilities(provider, name) or _FAMILIES.get(provider, ((), Capabilities()))[1]
    return replace(capabilities, audio=_AUDIO.match(base_model_name(name)) is not None)


def find_listed_capabilities(provider: str, name: str) -> Capabilities | None:
    """Return the table entry of a model's family; None where `lookup_capabilities` uses the default."""
    base_name = base_model_name(name)
    families = _FAMILIES.get(provider, ((), None))[0]
    return next((capabilities for pattern, capabilities in families if re.match(pattern, base_name)), None)


def base_model_name(name: str) -> str:
    """Strip the folder, the vendor and the `ft:` prefix from a model's name."""
    return name.lower().removeprefix("ft:").rsplit("/", 1)[-1]


def override_capabilities(capabilities: Capabilities, options: Mapping[str, Any]) -> Capabilities:
    """Return the capabilities with the values of a model's options over them."""
    keys = [key for key in Capabilities.__struct_fields__ if options.get(key) is not None]
    return replace(capabilities, **{key: options[key] for key in keys})
