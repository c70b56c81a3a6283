"""Speech as text by a local model with an audio encoder: the recording and a request to write it down, as a chat."""

from __future__ import annotations

import base64

from rightseat.errors import CallerError
from rightseat.types.chunks import TextChunk
from rightseat.types.messages import FileMessagePart, Message, TextMessagePart
from rightseat.types.model import Model, Prompt, SamplingSettings
from rightseat.types.speech import Transcript, TranscriptionRequest

REQUEST = "Transcribe audio to text"


async def transcribe(model: Model, request: TranscriptionRequest) -> Transcript:
    """Return the model's transcript, which has no times."""
    if request.with_segments or request.with_words:
        raise CallerError(
            "response_format: this model tells no times. Use json or text, or a model of whisper.cpp.",
            param="response_format",
        )
    language = f" in the language {request.language}" if request.language else ""
    names = f". Names and words that may occur: {request.prompt}" if request.prompt else ""
    media_type = request.audio.media_type if request.audio.media_type.startswith("audio/") else "audio/wav"
    audio = FileMessagePart(media_type=media_type, data=base64.b64encode(request.audio.data).decode())
    prompt = Prompt(
        messages=(Message("user", (audio, TextMessagePart(f"{REQUEST}{language}{names}"))),),
        settings=SamplingSettings(temperature=request.temperature or 0.0),
    )
    pieces = [chunk.text async for chunk in model.stream(prompt) if isinstance(chunk, TextChunk)]
    return Transcript(text="".join(pieces).strip(), language=request.language)
