"""WhisperModel: transcribes speech by a ggml file of whisper.cpp, in a child process that stays warm."""

from __future__ import annotations

import base64
import importlib.util
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Annotated, Any

from msgspec import Meta, Struct

from rightseat.config.installation import format_extra_command
from rightseat.config.options import parse_options
from rightseat.errors import CallerError, ConfigError, NotConfigured, UpstreamError
from rightseat.models.whisper.audio import AudioFormatError, open_wav
from rightseat.tools.subprocess import ToolProcesses
from rightseat.types.chunks import ModelChunk
from rightseat.types.model import Model, Prompt
from rightseat.types.speech import Transcript, TranscriptionRequest, TranscriptSegment

PACKAGE = "pywhispercpp"


class WhisperOptions(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    threads: Annotated[int, Meta(ge=1)] = 4
    """Threads of whisper.cpp."""
    timeout: Annotated[float, Meta(gt=0)] = 600
    """Seconds for one file."""


class WhisperModel(Model):
    """Speech only: it answers no chat."""

    def __init__(self, path: Path, options: WhisperOptions) -> None:
        self.name = path.stem
        self._path = path
        self._options = options
        self._processes = ToolProcesses("rightseat.models.whisper.recognise", "recognise")

    def stream(self, prompt: Prompt, /) -> AsyncIterator[ModelChunk]:
        raise NotConfigured("This model only transcribes speech: POST /v1/audio/transcriptions. Name another to chat.")

    async def transcribe(self, request: TranscriptionRequest, /) -> Transcript:
        try:
            # Only its header: the child reads the samples.
            open_wav(request.audio.data).close()
        except AudioFormatError as error:
            raise CallerError(f"file: {error}", param="file") from None
        arguments = {
            "path": str(self._path),
            "threads": self._options.threads,
            "audio": base64.b64encode(request.audio.data).decode(),
            "language": request.language,
            "prompt": request.prompt,
        }
        try:
            reply = await self._processes.call(arguments, self._options.timeout)
        except TimeoutError:
            raise UpstreamError(
                f"whisper.cpp took longer than {self._options.timeout:g} s. Send less at once."
            ) from None
        if reply.error:
            raise UpstreamError(f"whisper.cpp could not transcribe this: {reply.error}")
        segments = tuple(TranscriptSegment(start, end, text) for start, end, text in reply.value["segments"])
        text = " ".join(segment.text for segment in segments).strip()
        return Transcript(text=text, language=request.language, duration=reply.value["duration"], segments=segments)

    async def close(self) -> None:
        await self._processes.close()


def model(name: str, options: Mapping[str, Any]) -> WhisperModel:
    """Make the model of `whisper:PATH`."""
    parsed = parse_options(f"The model whisper:{name}", options, WhisperOptions)
    path = Path(name).expanduser()
    if not path.is_file():
        raise ConfigError(f"whisper:{name} is not a file here. Name a ggml file of whisper.cpp, such as ggml-base.bin.")
    if importlib.util.find_spec(PACKAGE) is None:
        command = format_extra_command("whisper")
        raise ConfigError(f"whisper:{name} needs {PACKAGE}, which is not installed: {command}")
    return WhisperModel(path.absolute(), parsed)
