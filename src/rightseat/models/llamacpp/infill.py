"""Fill in a gap between two texts: find the vocabulary's tokens for it and build the prompt."""

from __future__ import annotations

import asyncio

from msgspec import Struct

from rightseat.errors import CallerError
from rightseat.models.llamacpp.control_tokens import Tokenizer
from rightseat.models.llamacpp.gguf import GgufHeader
from rightseat.types.model import InfillPrompt

# Names of the tokens in the vocabularies of code models: before, after and in the gap, repository, other file.
_NAMES = (
    ("<|fim_prefix|>", "<|fim_suffix|>", "<|fim_middle|>", "<|repo_name|>", "<|file_sep|>"),
    ("<fim_prefix>", "<fim_suffix>", "<fim_middle>", "<reponame>", "<file_sep>"),
    ("<fim-prefix>", "<fim-suffix>", "<fim-middle>", "<reponame>", "<file_sep>"),
    ("<｜fim▁begin｜>", "<｜fim▁hole｜>", "<｜fim▁end｜>", "", ""),
    ("<|code_prefix|>", "<|code_suffix|>", "<|code_middle|>", "", ""),
    ("▁<PRE>", "▁<SUF>", "▁<MID>", "", ""),
    ("<PRE>", "<SUF>", "<MID>", "", ""),
)
_KEYS = (("fim_pre", "prefix"), ("fim_suf", "suffix"), ("fim_mid", "middle"), ("fim_rep",), ("fim_sep",))
_REPOSITORY, _FILE = "myproject\n", "filename\n"
# Share of the context for prefix and suffix; the rest is for the answer and other files.
_PREFIX_SHARE, _SUFFIX_SHARE = 0.5, 0.25


class InfillTokens(Struct, frozen=True):
    """Token ids around a gap. `repository` and `file` are None where the vocabulary has none."""

    prefix: int
    suffix: int
    middle: int
    repository: int | None = None
    file: int | None = None


def infill_tokens_from_header(header: GgufHeader) -> InfillTokens | None:
    """Return the tokens that the model's file names, by today's keys or by the older ones."""
    ids = [_read_token_id(header, keys) for keys in _KEYS]
    prefix, suffix, middle, repository, file = ids
    if prefix is None or suffix is None or middle is None:
        return None
    return InfillTokens(prefix, suffix, middle, repository, file)


def _read_token_id(header: GgufHeader, keys: tuple[str, ...]) -> int | None:
    ids = (header.values.get(f"tokenizer.ggml.{key}_token_id") for key in keys)
    return next((id for id in ids if type(id) is int), None)


async def find_infill_tokens(tokenizer: Tokenizer) -> InfillTokens | None:
    """Return the tokens of a vocabulary: names that are one token each; None if it has none."""
    for names in _NAMES:
        found = await asyncio.gather(*(_find_token(name, tokenizer) for name in names))
        prefix, suffix, middle, repository, file = found
        if prefix is not None and suffix is not None and middle is not None:
            return InfillTokens(prefix, suffix, middle, repository, file)
    return None


async def _find_token(name: str, tokenizer: Tokenizer) -> int | None:
    tokens = await tokenizer.tokenize(name) if name else []
    return tokens[0] if len(tokens) == 1 else None


async def build_infill_prompt(
    before: str, infill: InfillPrompt, tokens: InfillTokens, tokenizer: Tokenizer, *, context: int | None
) -> list[int]:
    """Return the prompt as tokens. Of a long prefix the end is kept, of a long suffix the start; other files come
    first, and their start is cut, since what is near the gap matters most."""
    start, prefix, suffix, begun = await asyncio.gather(
        tokenizer.tokenize("", add=True),
        *(tokenizer.tokenize(text, special=False) for text in (before, infill.suffix, infill.begun)),
    )
    if context is not None:
        prefix = prefix[-max(1, int(context * _PREFIX_SHARE)) :]
        suffix = suffix[: max(1, int(context * _SUFFIX_SHARE))]
    gap = [tokens.prefix, *prefix, tokens.suffix, *suffix, tokens.middle, *begun]
    files = await _tokenize_files(infill, tokens, tokenizer)
    if context is not None:
        # Half of what is left is for the answer.
        space = max(0, context - len(gap)) // 2
        files = files[len(files) - space :] if space < len(files) else files
    return [*start, *files, *gap]


async def _tokenize_files(infill: InfillPrompt, tokens: InfillTokens, tokenizer: Tokenizer) -> list[int]:
    if not infill.files:
        return []
    texts = [f"{name}\n{text}" for name, text in infill.files]
    if tokens.repository is None or tokens.file is None:
        return await tokenizer.tokenize("\n".join(texts) + "\n", special=False)
    parts = await asyncio.gather(*(tokenizer.tokenize(text, special=False) for text in (_REPOSITORY, *texts, _FILE)))
    repository, *files = parts
    return [tokens.repository, *repository, *(token for part in files for token in (tokens.file, *part))]


def make_refusal() -> CallerError:
    return CallerError(
        "suffix: this model cannot fill in a gap: its vocabulary has no tokens for one. Leave the suffix "
        "out, or serve a code model that has them.",
        param="suffix",
    )
