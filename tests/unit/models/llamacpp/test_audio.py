"""Sound for local models: a tiny audio encoder in the real engine, through the whole server."""

import base64
import io
import math
import struct
import wave
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from rightseat.config.load import load_config
from rightseat.http.multipart import MultipartField, format_form
from rightseat.wiring.from_config import build_runtime
from tests.kit import tiny_gguf
from tests.kit.app_server import serve_runtime
from tests.kit.client import RawHttpClient, build_raw_request

pytestmark = [pytest.mark.io, pytest.mark.demand("llamacpp.audio_encoder")]
CONFIG = """
[models.default]
spec = "local:{model}"
mmproj = "{encoder}"
context = 2048
threads = 1
max_tokens = 8

[models.ears]
spec = "local:{model}"
mmproj = "{encoder}"
context = 2048
threads = 1
max_tokens = 8
transcribes = true
"""


def make_wav(seconds: float = 0.5, rate: int = 16000) -> bytes:
    file = io.BytesIO()
    with wave.open(file, "wb") as writer:
        writer.setnchannels(1)
        writer.setsampwidth(2)
        writer.setframerate(rate)
        samples = (int(8000 * math.sin(number / 8)) for number in range(int(seconds * rate)))
        writer.writeframes(b"".join(struct.pack("<h", sample) for sample in samples))
    return file.getvalue()


@asynccontextmanager
async def serve_listener(folder: Path, encoder: Path | None = None) -> AsyncIterator[str]:
    model = tiny_gguf.write_text_model(folder / "tiny.gguf")
    encoder = encoder or tiny_gguf.write_audio_projector(folder / "mmproj.gguf")
    file = folder / "rightseat.toml"
    file.write_text(CONFIG.format(model=model, encoder=encoder), encoding="utf-8")
    async with serve_runtime(build_runtime(load_config(file, env={}), env={})) as server:
        yield server.url


async def post_chat(url: str, *parts: dict[str, Any]) -> tuple[int, Any]:
    async with RawHttpClient(url) as client:
        body = {"messages": [{"role": "user", "content": list(parts)}], "max_tokens": 2}
        await client.post_json("/v1/chat/completions", body)
        head = await client.read_head()
        return head.status, await client.read_json()


async def post_recording(url: str, data: bytes, response_format: str = "json") -> tuple[int, Any]:
    fields = (
        MultipartField("response_format", response_format.encode()),
        MultipartField("file", data, "a.wav", "audio/wav"),
    )
    body, content_type = format_form(fields)
    async with RawHttpClient(url) as client:
        target = "/v1/audio/transcriptions"
        await client.send(build_raw_request("POST", target, body, {"Content-Type": content_type}))
        status = (await client.read_head()).status
        return status, await client.read_json()


def make_audio_part(data: bytes) -> dict[str, Any]:
    return {"type": "input_audio", "input_audio": {"data": base64.b64encode(data).decode(), "format": "wav"}}


async def test_sound_reaches_a_model_that_hears(tmp_path: Path) -> None:
    text = {"type": "text", "text": "What is this?"}
    async with serve_listener(tmp_path) as url:
        _, deaf = await post_chat(url, text)
        status, told = await post_chat(url, make_audio_part(make_wav()), text)
        assert (status, told["usage"]["prompt_tokens"] > deaf["usage"]["prompt_tokens"]) == (200, True)
        status, told = await post_chat(url, make_audio_part(b"no recording"), text)
        assert (status, "WAV, MP3 and FLAC" in told["error"]["message"]) == (400, True)
        # An encoder of audio only takes no images.
        image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}}
        status, told = await post_chat(url, image)
        assert (status, "mmproj" in told["error"]["message"]) == (400, True)


async def test_a_model_that_hears_writes_down_speech(tmp_path: Path) -> None:
    async with serve_listener(tmp_path) as url:
        status, told = await post_recording(url, make_wav())
        assert (status, list(told)) == (200, ["text"])
        status, told = await post_recording(url, make_wav(), "srt")
        assert (status, "tells no times" in told["error"]["message"]) == (400, True)
        status, told = await post_recording(url, b"no recording")
        assert (status, "WAV, MP3 and FLAC" in told["error"]["message"]) == (400, True)


async def test_an_encoder_of_images_takes_no_audio(tmp_path: Path) -> None:
    encoder = tiny_gguf.write_projector(tmp_path / "mmproj.gguf")
    async with serve_listener(tmp_path, encoder) as url:
        status, told = await post_recording(url, make_wav())
        assert (status, "takes no audio" in told["error"]["message"]) == (400, True)
