"""Speech at an OpenAI-compatible server: the form of /audio/transcriptions, and the transcript in its answer."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import Struct

from rightseat.http.multipart import MultipartField, format_form
from rightseat.types.speech import Transcript, TranscriptionRequest, TranscriptSegment


class TimedText(Struct):
    start: float = 0
    end: float = 0
    text: str = ""
    word: str = ""


class TranscriptionAnswer(Struct):
    """Body of the answer; only `verbose_json` has more than `text`."""

    text: str
    language: str | None = None
    # Some servers send it as text.
    duration: float | str | None = None
    segments: list[TimedText] | None = None
    words: list[TimedText] | None = None


def build_transcription_form(request: TranscriptionRequest, model: str) -> tuple[bytes, str]:
    """Return the body and its content type. Times come only with `verbose_json`, which some models refuse."""
    timed = request.with_segments or request.with_words
    fields: list[tuple[str, Any]] = [
        ("model", model),
        ("response_format", "verbose_json" if timed else "json"),
        ("language", request.language),
        ("prompt", request.prompt),
        ("temperature", request.temperature),
        ("timestamp_granularities[]", "word" if request.with_words else ""),
        ("timestamp_granularities[]", "segment" if request.with_words and request.with_segments else ""),
    ]
    audio = MultipartField("file", request.audio.data, request.audio.name, request.audio.media_type)
    plain = [MultipartField(name, str(value).encode()) for name, value in fields if value not in ("", None)]
    return format_form([*plain, audio])


def parse_transcription(data: bytes) -> Transcript:
    """Return the transcript of an answer; raises msgspec.DecodeError if it is none."""
    answer = msgspec.json.decode(data, type=TranscriptionAnswer)
    return Transcript(
        text=answer.text.strip(),
        language=answer.language or "",
        duration=_parse_seconds(answer.duration),
        segments=_make_segments(answer.segments),
        words=_make_segments(answer.words),
    )


def _make_segments(items: list[TimedText] | None) -> tuple[TranscriptSegment, ...]:
    return tuple(TranscriptSegment(item.start, item.end, (item.text or item.word).strip()) for item in items or ())


def _parse_seconds(value: float | str | None) -> float | None:
    try:
        return None if value is None else float(value)
    except ValueError:
        return None
