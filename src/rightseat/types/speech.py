"""Speech as text: the audio of a request, the transcript of it, and the protocol of models that transcribe."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from msgspec import Struct


class AudioFile(Struct, frozen=True):
    name: str
    """Name of the file, whose ending tells many servers its format."""
    media_type: str
    data: bytes


class TranscriptionRequest(Struct, frozen=True, kw_only=True):
    audio: AudioFile
    language: str = ""
    """Language of the speech as a code such as `en`; without it, the model finds out."""
    prompt: str = ""
    """Text that guides the spelling, such as names."""
    temperature: float | None = None
    with_segments: bool = False
    """Whether the times of segments are wanted."""
    with_words: bool = False
    """Whether the times of words are wanted."""


class TranscriptSegment(Struct, frozen=True):
    """A stretch of speech, with its beginning and end in seconds."""

    start: float
    end: float
    text: str


class Transcript(Struct, frozen=True, kw_only=True):
    text: str
    language: str = ""
    duration: float | None = None
    """Seconds of audio, if the model tells them."""
    segments: tuple[TranscriptSegment, ...] = ()
    words: tuple[TranscriptSegment, ...] = ()


@runtime_checkable
class Transcribes(Protocol):
    async def transcribe(self, request: TranscriptionRequest, /) -> Transcript:
        """Return the speech of an audio file as text."""
