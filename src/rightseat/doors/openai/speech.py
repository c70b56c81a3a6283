"""POST /v1/audio/transcriptions: a form with an audio file in; json, text, srt, vtt or verbose_json out."""

from __future__ import annotations

from typing import Any, Literal, cast, get_args

from rightseat.doors.openai.fields import FIELD_LOG
from rightseat.doors.openai.write import encode, make_error_response
from rightseat.errors import CallerError, RightseatError
from rightseat.http.endpoint import Host, Request, make_full_response
from rightseat.http.multipart import MultipartField, parse_form
from rightseat.http.refusals import report_refusal
from rightseat.http.reply import Reply
from rightseat.types.speech import AudioFile, Transcript, TranscriptionRequest, TranscriptSegment

TranscriptFormat = Literal["json", "text", "srt", "vtt", "verbose_json"]
FORMATS: tuple[str, ...] = get_args(TranscriptFormat)
TEXT_TYPE = b"text/plain; charset=utf-8"
MAX_PROMPT = 4000
LISTS = ("timestamp_granularities[]", "timestamp_granularities", "include[]")
READ = ("file", "model", "language", "prompt", "response_format", "temperature", "stream", *LISTS)
NO_TIMES = "response_format: this model tells no times, which {} needs. Ask for json or text."


def create_transcription(request: Request, host: Host) -> Reply:
    if not host.transcribers:
        # The form of a caller who cannot be served is not read.
        return reply_transcript(host, None, TranscriptionRequest(audio=AudioFile("", "", b"")), "json", request)
    parts = parse_form(request.body, request.headers.get("content-type", ""))
    fields = {part.name: part for part in parts}
    for name in fields.keys() - set(READ):
        FIELD_LOG.add(name, "it is unknown")
    if fields.get("stream", MultipartField("", b"")).text.lower() in ("true", "1"):
        raise CallerError("stream: a transcript comes whole. Leave it out.", param="stream")
    response_format = read_choice(fields)
    transcription = read_transcription(fields, parts, response_format)
    return reply_transcript(host, read_text(fields, "model"), transcription, response_format, request)


def read_text(fields: dict[str, MultipartField], name: str) -> str:
    return fields[name].text.strip() if name in fields else ""


def read_choice(fields: dict[str, MultipartField]) -> TranscriptFormat:
    name = read_text(fields, "response_format") or "json"
    if name not in FORMATS:
        raise CallerError(
            f"response_format: {name[:40]!r} is not known. Use one of: {', '.join(FORMATS)}.", param="response_format"
        )
    return cast(TranscriptFormat, name)


def read_transcription(
    fields: dict[str, MultipartField], parts: list[MultipartField], response_format: TranscriptFormat
) -> TranscriptionRequest:
    file = fields.get("file")
    if file is None or not file.data:
        raise CallerError("file: there is no audio. Send the file in the form's part `file`.", param="file")
    granularities = {part.text.strip() for part in parts if part.name in LISTS[:2]}
    if unknown := granularities - {"segment", "word"}:
        why = f"timestamp_granularities: {min(unknown)[:40]!r} is not known. Use segment or word."
        raise CallerError(why, param="timestamp_granularities")
    if granularities and response_format != "verbose_json":
        raise CallerError(
            "timestamp_granularities: only with response_format verbose_json.", param="timestamp_granularities"
        )
    return TranscriptionRequest(
        audio=AudioFile(file.filename or "audio.wav", file.media_type, file.data),
        language=read_text(fields, "language")[:40],
        prompt=read_text(fields, "prompt")[:MAX_PROMPT],
        temperature=read_temperature(fields),
        with_segments=response_format in ("srt", "vtt", "verbose_json"),
        with_words="word" in granularities,
    )


def read_temperature(fields: dict[str, MultipartField]) -> float | None:
    text = read_text(fields, "temperature")
    try:
        value = float(text) if text else None
    except ValueError:
        value = -1.0
    if value is not None and not 0 <= value <= 1:
        raise CallerError("temperature: send a number from 0 to 1, or leave it out.", param="temperature")
    return value


async def reply_transcript(
    host: Host,
    model: str | None,
    transcription: TranscriptionRequest,
    response_format: TranscriptFormat,
    request: Request,
) -> Reply:
    try:
        transcript = await host.transcribe(model, transcription, request.owner)
        body = format_transcript(transcript, response_format)
    except RightseatError as error:
        report_refusal(error)
        yield make_error_response(error)
        return
    is_json = response_format in ("json", "verbose_json")
    yield make_full_response(200, body, content_type=b"application/json" if is_json else TEXT_TYPE)


def format_transcript(transcript: Transcript, response_format: TranscriptFormat) -> bytes:
    match response_format:
        case "json":
            return encode({"text": transcript.text} | format_duration(transcript))
        case "verbose_json":
            return encode(format_verbose(transcript))
        case "text":
            return f"{transcript.text}\n".encode()
        case "srt":
            cues = list_cues(transcript, response_format)
            return "".join(format_cue(cue, f"{number}\n", ",") for number, cue in enumerate(cues, 1)).encode()
        case "vtt":
            cues = list_cues(transcript, response_format)
            return ("WEBVTT\n\n" + "".join(format_cue(cue, "", ".") for cue in cues)).encode()


def format_duration(transcript: Transcript) -> dict[str, Any]:
    seconds = transcript.duration
    return {} if seconds is None else {"usage": {"type": "duration", "seconds": seconds}}


def format_verbose(transcript: Transcript) -> dict[str, Any]:
    segments = [
        {"id": number, "start": segment.start, "end": segment.end, "text": segment.text}
        for number, segment in enumerate(transcript.segments)
    ]
    words = [{"word": word.text, "start": word.start, "end": word.end} for word in transcript.words]
    body = {
        "task": "transcribe",
        "language": transcript.language,
        "duration": transcript.duration or max((segment.end for segment in transcript.segments), default=0.0),
        "text": transcript.text,
        "segments": segments,
    }
    return body | ({"words": words} if words else {}) | format_duration(transcript)


def list_cues(transcript: Transcript, response_format: TranscriptFormat) -> tuple[TranscriptSegment, ...]:
    """Return the segments; the whole text as one of them where a model tells only the duration."""
    if transcript.segments or not transcript.text:
        return transcript.segments
    if transcript.duration is None:
        raise CallerError(NO_TIMES.format(response_format), param="response_format")
    return (TranscriptSegment(0, transcript.duration, transcript.text),)


def format_cue(cue: TranscriptSegment, number: str, point: str) -> str:
    # An empty line or an arrow in the text would end the cue or begin another.
    text = " ".join(cue.text.replace("-->", "→").split())
    return f"{number}{format_time(cue.start, point)} --> {format_time(cue.end, point)}\n{text}\n\n"


def format_time(seconds: float, point: str) -> str:
    """Return a time as HH:MM:SS,mmm; `point` stands before the milliseconds."""
    milliseconds = round(max(seconds, 0) * 1000)
    minutes, rest = divmod(milliseconds, 60_000)
    hours, minutes = divmod(minutes, 60)
    return f"{hours:02}:{minutes:02}:{rest // 1000:02}{point}{rest % 1000:03}"
