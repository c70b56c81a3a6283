"""Pictures and sound for local models with an encoder of them: load them, and put them into a prompt."""

from __future__ import annotations

import asyncio
import base64
import binascii
import re
import struct

from msgspec.structs import replace

from rightseat.documents.document import DEFAULT_LIMITS, DocumentUnreadable
from rightseat.documents.image import read_size
from rightseat.documents.kinds import kind_from_bytes
from rightseat.errors import AddressRefused, CallerError, UpstreamError, UpstreamTooLarge
from rightseat.http.fetch.fetch import OutboundClient
from rightseat.models.llamacpp.control_tokens import MARK, TrustedText
from rightseat.types.messages import FileMessagePart, ImageMessagePart, Message, MessagePart, TextMessagePart
from rightseat.types.model import MEDIA_MARKER, Prompt, is_audio

MAX_IMAGES = 16
IMAGE_TOKENS = 1000  # of one image: the engine tells the real number only afterwards
TIMEOUT_SECONDS = 20.0
# Of MP3, with and without a tag, and of FLAC.
AUDIO_STARTS = (b"ID3", b"\xff\xfb", b"\xff\xf3", b"\xff\xf2", b"\xff\xfa", b"fLaC")
_DATA_URL = re.compile(r"data:image/[\w.+-]+;base64,")
# Between the characters of a control token in a person's text: invisible, and no token begins with it.
_SEPARATOR = "\u200b"

NO_IMAGES = (
    "This model reads text only: send no images or files. For a local model that sees, set mmproj = PATH.gguf, its "
    "image encoder."
)
NO_AUDIO = (
    "This model takes no audio. For a local model that hears, set mmproj = PATH.gguf, its encoder, which must be one "
    "for audio."
)
NO_FILES = "This model reads text, images and audio only: send no other files."


class PromptMedia:
    """Images and recordings of one prompt in the order of its messages, each in base64. `marker` is the engine's place
    of one."""

    def __init__(self, images: list[str], marker: str) -> None:
        self._images = images
        self._marker = marker

    def to_request(self, rendered: str) -> dict[str, object]:
        """Return llama-server's form of a text with images, for the rendered prompt."""
        if rendered.count(self._marker) != len(self._images):
            raise CallerError("The model's chat template dropped an image: use another chat_template.")
        text = rendered.replace(MARK, _SEPARATOR)
        return {"prompt_string": text, "multimodal_data": self._images}


def has_media(prompt: Prompt) -> bool:
    return any(not isinstance(part, TextMessagePart) for message in prompt.messages for part in message.parts)


def drop_media(prompt: Prompt) -> tuple[Prompt, int]:
    """Return the prompt without its images and files, and how many they are."""
    if not has_media(prompt):
        return prompt, 0
    kept = [tuple(part for part in m.parts if isinstance(part, TextMessagePart)) for m in prompt.messages]
    dropped = sum(len(m.parts) - len(parts) for m, parts in zip(prompt.messages, kept, strict=True))
    messages = (replace(m, parts=parts) for m, parts in zip(prompt.messages, kept, strict=True))
    return replace(prompt, messages=tuple(messages)), dropped


async def extract_media(prompt: Prompt, marker: str) -> tuple[Prompt, PromptMedia]:
    """Return the prompt with a marker in the place of each image and recording, and them."""
    marked = mark_media(prompt, marker)
    parts = [part for message in prompt.messages for part in message.parts if not isinstance(part, TextMessagePart)]
    if len(parts) > MAX_IMAGES:
        raise CallerError(f"Send at most {MAX_IMAGES} images in one request.")
    async with OutboundClient(max_bytes=DEFAULT_LIMITS.bytes, seconds=TIMEOUT_SECONDS) as outbound:
        loaded = await asyncio.gather(*(load_part(part, outbound) for part in parts))
    return marked, PromptMedia(list(loaded), marker)


def has_images(prompt: Prompt) -> bool:
    return any(isinstance(part, ImageMessagePart) for message in prompt.messages for part in message.parts)


async def load_part(part: ImageMessagePart | FileMessagePart, outbound: OutboundClient) -> str:
    """Return an image or a recording in base64."""
    if isinstance(part, ImageMessagePart):
        return await load_image(part.url, outbound)
    data = (part.data or "").rpartition(",")[2]
    try:
        check_audio(base64.b64decode(data, validate=True))
    except (binascii.Error, ValueError) as error:
        raise CallerError("A recording is not base64: check how it is encoded.") from error
    return data


def check_audio(data: bytes) -> None:
    """Refuse what the engine cannot decode."""
    if not (data[:4] == b"RIFF" and data[8:12] == b"WAVE") and not data.startswith(AUDIO_STARTS):
        raise CallerError("A recording is none of WAV, MP3 and FLAC: convert it.")
    if len(data) > DEFAULT_LIMITS.bytes:
        raise CallerError(f"A recording has more than {DEFAULT_LIMITS.bytes >> 20} MB: send a shorter one.")


def mark_media(prompt: Prompt, marker: str) -> Prompt:
    """Return the prompt with a marker in the place of each image and recording; other files are refused."""
    parts = (part for message in prompt.messages for part in message.parts)
    if any(isinstance(part, FileMessagePart) and not is_audio(part) for part in parts):
        raise CallerError(NO_FILES)
    return replace(prompt, messages=tuple(_mark_parts(message, marker) for message in prompt.messages))


def _mark_parts(message: Message, marker: str) -> Message:
    def convert(part: MessagePart) -> MessagePart:
        if isinstance(part, TextMessagePart):
            # Old servers have one marker for all, which a person may know and write.
            hidden = part.text.replace(marker, marker[:1] + _SEPARATOR + marker[1:])
            return part if hidden == part.text or isinstance(part.text, TrustedText) else TextMessagePart(hidden)
        return TextMessagePart(marker)

    return replace(message, parts=tuple(map(convert, message.parts)))


async def load_image(url: str, outbound: OutboundClient) -> str:
    """Return an image in base64: that of a data: URL, or fetched from its address by the guarded client."""
    if (head := _DATA_URL.match(url)) is not None:
        return check_encoded_image(url[head.end() :])
    if not url.startswith(("http://", "https://")):
        raise CallerError("An image is a data: URL in base64 (data:image/png;base64,…) or an http(s) address.")
    try:
        result = await outbound.fetch(url)
    except (AddressRefused, UpstreamTooLarge):
        raise
    except UpstreamError as error:
        raise CallerError("An image cannot be fetched from its address: check it, or send a data: URL.") from error
    if result.status != 200:
        raise CallerError(
            f"An image's address answered HTTP {result.status}: check it, or send the image as a data: URL."
        )
    check_image(result.data)
    return base64.b64encode(result.data).decode()


def check_encoded_image(data: str) -> str:
    try:
        check_image(base64.b64decode(data, validate=True))
    except (binascii.Error, ValueError) as error:
        raise CallerError("An image is not base64: check how it is encoded.") from error
    return data


def check_image(data: bytes) -> None:
    """Refuse what the engine cannot decode, and what it would decode by other programs or into too much memory."""
    kind = kind_from_bytes(data)
    if kind not in ("png", "jpeg", "gif"):
        raise CallerError("An image is none of PNG, JPEG and GIF: convert it. This model takes no audio and no video.")
    try:
        width, height = read_size(data, kind)
    except (struct.error, IndexError, DocumentUnreadable):
        raise CallerError("An image is broken: send it again.") from None
    if len(data) > DEFAULT_LIMITS.bytes or width * height > DEFAULT_LIMITS.pixels:
        raise CallerError(
            f"An image has more than {DEFAULT_LIMITS.bytes >> 20} MB or {DEFAULT_LIMITS.pixels // 1_000_000} million "
            "pixels: send a smaller one."
        )


def mark_raw_media(text: str, images: tuple[str, ...], marker: str) -> dict[str, object]:
    """Return llama-server's form of a raw text whose images stand where MEDIA_MARKER is."""
    if text.count(MEDIA_MARKER) != len(images):
        raise CallerError(
            f"prompt: it has {text.count(MEDIA_MARKER)} times {MEDIA_MARKER} and {len(images)} images in "
            "multimodal_data. Send one for each.",
            param="prompt",
        )
    if len(images) > MAX_IMAGES:
        raise CallerError(f"Send at most {MAX_IMAGES} images in one request.", param="prompt")
    return {
        "prompt_string": text.replace(MEDIA_MARKER, marker),
        "multimodal_data": list(map(check_encoded_image, images)),
    }
