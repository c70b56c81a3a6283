"""Model names of clients: those that mean the default assistant, and the answer to a name that nothing has."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from itertools import islice

NEAR = 0.75
"""Similarity from which an unknown name is taken for a misspelled one."""
MAX_NAME_SHOWN, MAX_NAMES_SHOWN = 64, 20
MAX_NAMES_COMPARED = 1000
"""Names that an unknown one is compared with: the comparison runs in the event loop."""
# A family's name ends with a digit, a separator or the whole name: `o1` and `yi-34b`, not `olive` or `yield`.
_FAMILIES = """
    gpt chatgpt text-davinci text-embedding text-curie text-babbage text-ada davinci-002 babbage-002 dall-e whisper tts
    claude gemini gemma llama codellama vicuna mistral mixtral ministral magistral codestral devstral pixtral
    open-mistral open-mixtral qwen qwq deepseek grok command-r command-a phi glm chatglm kimi moonshot yi ernie hunyuan
    doubao baichuan internlm minimax abab jamba dbrx granite falcon starcoder stablelm hermes openhermes wizardlm zephyr
    olmo smollm nemotron bge nomic-embed mxbai-embed all-minilm voyage
"""
_VENDORS = """
    openai anthropic google vertex_ai meta meta-llama mistralai qwen deepseek deepseek-ai x-ai xai cohere microsoft
    nvidia amazon bedrock azure openrouter ollama groq together fireworks fireworks_ai perplexity huggingface hf
    moonshotai zhipu z-ai zai-org 01-ai baidu tencent bytedance models accounts nousresearch
"""
_PLACEHOLDERS = {"local-model", "local", "model", "any", "auto", "rightseat"}
"""Names that clients send where nobody has chosen a model."""
_FAMILY = re.compile(rf"(?:{'|'.join(map(re.escape, _FAMILIES.split()))}|o(?=[1-9]))(?=[-_:.@\d]|$)", re.IGNORECASE)
_VENDOR = re.compile(rf"(?:{'|'.join(map(re.escape, _VENDORS.split()))})[/:]", re.IGNORECASE)
_FLOW_NAME = re.compile(r"[\w-]+\.[^\W\d].*")


def is_vendor_name(name: str) -> bool:
    """Whether the name is a well-known model's (`gpt-4o`, `openai/gpt-4o`, `llama3.1:8b`) or a client's placeholder."""
    last = name.rpartition("/")[2]
    return bool(name.lower() in _PLACEHOLDERS or _VENDOR.match(name) or _FAMILY.match(last))


def is_qualified_name(name: str) -> bool:
    """Whether the name has the form of PLUGIN.FLOW or ASSISTANT/MODEL, so that it means one thing only."""
    return "/" in name or _FLOW_NAME.fullmatch(name.removesuffix(".gguf")) is not None


def find_alias(name: str, aliases: Mapping[str, str]) -> str | None:
    """Return what an alias means; an exact one goes before a pattern such as `acme-*`."""
    if name in aliases:
        return aliases[name]
    return next((target for pattern, target in aliases.items() if "*" in pattern and fnmatchcase(name, pattern)), None)


def find_near_name(name: str, known: Iterable[str]) -> str | None:
    """Return the known name that a misspelled one means; also PLUGIN.FLOW by its plugin's or its flow's name."""
    names = list(islice(known, MAX_NAMES_COMPARED))
    by_part = (full for full in names if "." in full and name in full.split(".", 1))
    if full := next(by_part, None):
        return full
    by_lower = {full.lower(): full for full in names}
    near = difflib.get_close_matches(name.lower()[:200], by_lower, 1, NEAR)
    return by_lower[near[0]] if near else None


def describe_unknown_name(name: str, known: Sequence[str], listed: Sequence[str]) -> str:
    """Return the sentences that a client gets for a name that nothing has. Of the `known` names those that are not
    `listed` are told only to a client that almost knows them."""
    sentence = f"There is no model {name[:MAX_NAME_SHOWN]!r}."
    more = " …" if len(listed) > MAX_NAMES_SHOWN else ""
    existing = f"Those that exist: {', '.join(listed[:MAX_NAMES_SHOWN])}{more}."
    if near := find_near_name(name, known):
        return f"{sentence} Did you mean {near!r}? {existing}"
    return f"{sentence} {existing} For a name that should mean one of them, write it into [server.aliases]."
