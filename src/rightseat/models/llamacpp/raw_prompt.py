"""The `prompt` field of requests without a chat template: text, tokens, a text with images, a gap to fill in."""

from __future__ import annotations

from rightseat.errors import CallerError
from rightseat.models.llamacpp import infill, media
from rightseat.models.llamacpp.client import LlamaServerClient
from rightseat.models.llamacpp.completion import RequestPrompt
from rightseat.models.llamacpp.control_tokens import Tokenizer
from rightseat.models.llamacpp.infill import InfillTokens
from rightseat.types.model import MEDIA_MARKER, RawPrompt


class RawPromptBuilder:
    """Builder of raw prompts for one model, whose vocabulary is searched once for the tokens of a gap."""

    def __init__(self, context: int | None) -> None:
        self._context = context
        self._infill_tokens: InfillTokens | None = None
        self._was_searched = False

    async def build(self, raw: RawPrompt, client: LlamaServerClient, known: InfillTokens | None) -> RequestPrompt:
        """Return the prompt. `known`: the tokens of a gap that the model's file names."""
        text = raw.text
        if raw.infill is not None or raw.media:
            if not isinstance(text, str):
                raise CallerError("prompt: send text instead of tokens with a suffix or images.", param="prompt")
            if raw.infill is None:
                return media.mark_raw_media(text, raw.media, await get_media_marker(client))
            tokens = known or await self._find_infill_tokens(client)
            return await infill.build_infill_prompt(text, raw.infill, tokens, client, context=self._context)
        return text if isinstance(text, str) else await tokenize_mixed(text, client)

    async def _find_infill_tokens(self, client: LlamaServerClient) -> InfillTokens:
        if not self._was_searched:
            self._infill_tokens = await infill.find_infill_tokens(client)
            self._was_searched = True
        if self._infill_tokens is None:
            raise infill.make_refusal()
        return self._infill_tokens


async def get_media_marker(client: LlamaServerClient, *, images: bool = True, audio: bool = False) -> str:
    """Return the engine's marker for an image or a recording, which newer engines make anew at each start; CallerError
    if it takes none of those."""
    props = await client.get_props()
    modalities = props.get("modalities")
    known = modalities if isinstance(modalities, dict) else {}
    if images and not known.get("vision"):
        raise CallerError(media.NO_IMAGES)
    if audio and not known.get("audio"):
        raise CallerError(media.NO_AUDIO)
    return str(props.get("media_marker") or MEDIA_MARKER)


async def tokenize_mixed(parts: tuple[int | str, ...], tokenizer: Tokenizer) -> list[int]:
    """Return tokens of tokens and texts; only a text at the start gets the model's BOS token."""
    tokens: list[int] = []
    for number, part in enumerate(parts):
        tokens += [part] if isinstance(part, int) else await tokenizer.tokenize(part, add=number == 0)
    return tokens
