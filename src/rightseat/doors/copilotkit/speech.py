"""CopilotKit's microphone: POST /copilotkit/transcribe, as a form or as JSON with base64; also `transcribe` of the
single endpoint. Errors have the codes that its clients know."""

from __future__ import annotations

import base64
import binascii

import msgspec
from msgspec import Struct

from rightseat.doors.copilotkit.failures import make_error_body
from rightseat.errors import CallerError, NotConfigured, RightseatError
from rightseat.http.endpoint import Host, Request, decode_body, format_error_headers, make_full_response, make_reply
from rightseat.http.multipart import is_form, parse_form
from rightseat.http.refusals import report_refusal
from rightseat.http.reply import Reply
from rightseat.types.speech import AudioFile, TranscriptionRequest

TYPE_FIELD = "mimeType"
DEFAULT_NAME, DEFAULT_TYPE = "recording.webm", "audio/webm"
AUDIO_TYPES = ("mpeg", "mp3", "mp4", "wav", "x-wav", "webm", "ogg", "flac", "aac", "m4a", "x-m4a")
encode = msgspec.json.Encoder().encode


class AudioMessage(Struct, rename="camel"):
    """Audio of a client of the single endpoint: base64, as such or as a data URL."""

    audio: str
    mime_type: str = DEFAULT_TYPE
    filename: str = DEFAULT_NAME


def transcribe(request: Request, host: Host) -> Reply:
    return transcribe_body(request.body, request, host)


def transcribe_body(body: bytes, request: Request, host: Host) -> Reply:
    """Handle a body by itself, since that of the single endpoint is a part of the request's."""
    if not host.transcribers:
        return reply_text(host, AudioFile("", "", b""), request)
    try:
        content_type = request.headers.get("content-type", "")
        audio = read_form(body, content_type) if is_form(content_type) else read_json(body)
        check_type(audio.media_type)
    except CallerError as error:
        report_refusal(error)
        return make_reply(400, format_failure(error))
    return reply_text(host, audio, request)


def read_form(body: bytes, content_type: str) -> AudioFile:
    part = next((part for part in parse_form(body, content_type) if part.name == "audio"), None)
    if part is None or not part.data:
        raise CallerError("audio: there is none. Send the recording in the form's part `audio`.", param="audio")
    media_type = part.media_type if part.media_type not in ("", "application/octet-stream") else DEFAULT_TYPE
    return AudioFile(part.filename or DEFAULT_NAME, media_type, part.data)


def read_json(body: bytes) -> AudioFile:
    message = decode_body(body, AudioMessage)
    try:
        data = base64.b64decode(message.audio.rpartition(",")[2], validate=True)
    except (binascii.Error, ValueError):
        raise CallerError("audio: this is no base64.", param="audio") from None
    if not data:
        raise CallerError("audio: there is none. Send the recording in base64.", param="audio")
    return AudioFile(message.filename or DEFAULT_NAME, message.mime_type or DEFAULT_TYPE, data)


def check_type(media_type: str) -> None:
    kind, _, name = media_type.partition(";")[0].strip().lower().partition("/")
    if kind != "audio" or name not in AUDIO_TYPES:
        known = ", ".join(AUDIO_TYPES)
        raise CallerError(f"audio: {media_type[:60]!r} is not taken. Send one of: {known}.", param=TYPE_FIELD)


async def reply_text(host: Host, audio: AudioFile, request: Request) -> Reply:
    try:
        transcript = await host.transcribe(None, TranscriptionRequest(audio=audio), request.owner)
    except RightseatError as error:
        report_refusal(error)
        yield make_full_response(error.status, format_failure(error), *format_error_headers(error))
        return
    body = {"text": transcript.text, "size": len(audio.data), "type": audio.media_type}
    yield make_full_response(200, encode(body))


def format_failure(error: RightseatError) -> bytes:
    code = name_failure(error)
    retryable = code in ("rate_limited", "provider_error")
    return encode({**make_error_body(error, code), "retryable": retryable})


def name_failure(error: RightseatError) -> str:
    """Return the code of CopilotKit's clients for an error."""
    if isinstance(error, NotConfigured):
        return "service_not_configured"
    if error.status == 429:
        return "rate_limited"
    if not isinstance(error, CallerError):
        return "provider_error"
    return "invalid_audio_format" if error.param == TYPE_FIELD else "invalid_request"
