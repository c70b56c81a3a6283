"""CopilotKit's microphone over /transcribe: forms, base64, the single endpoint, its error codes."""

import base64
import json
from pathlib import Path
from typing import Any

import pytest

from rightseat import Runtime
from rightseat.config.load import load_config
from rightseat.http.multipart import MultipartField, format_form, parse_form
from rightseat.wiring.from_config import build_runtime
from tests.kit import faults
from tests.kit.app_server import FakeModel, serve_runtime
from tests.kit.client import RawHttpClient, build_raw_request
from tests.kit.upstream import FakeUpstream

pytestmark = pytest.mark.io

JSON = {"Content-Type": "application/json"}
SOUND = b"\x1aE\xdf\xa3"
IN_BASE64 = base64.b64encode(SOUND).decode()
CONFIG = """
[models.ears]
spec = "openai:whisper-1"
base_url = "{url}"
tries = 1
transcribes = true
[models.default]
spec = "scripted:demo"
"""


@pytest.fixture
def config(tmp_path: Path) -> Path:
    return tmp_path / "rightseat.toml"


def make_runtime(config: Path, upstream: FakeUpstream) -> Runtime:
    config.write_text(CONFIG.replace("{url}", upstream.base_url))
    return build_runtime(load_config(config, env={}), env={})


async def send(runtime: Runtime, path: str, body: bytes, headers: dict[str, str]) -> tuple[int, Any]:
    async with serve_runtime(runtime) as server, RawHttpClient(server.url) as client:
        await client.send(build_raw_request("POST", path, body, {"Origin": "http://localhost:3000", **headers}))
        return (await client.read_head()).status, await client.read_json()


def make_form(*parts: MultipartField) -> tuple[str, bytes, dict[str, str]]:
    body, content_type = format_form(parts)
    return "/copilotkit/transcribe", body, {"Content-Type": content_type}


def make_json(value: object) -> tuple[str, bytes, dict[str, str]]:
    return "/copilotkit/transcribe", json.dumps(value).encode(), JSON


RECORDING = MultipartField("audio", SOUND, "blob", "audio/webm;codecs=opus")
SINGLE = {"method": "transcribe", "body": {"audio": IN_BASE64, "mimeType": "audio/webm", "filename": "r.webm"}}


@pytest.mark.demand("speech.copilotkit")
@pytest.mark.parametrize(
    ("sent", "media_type"),
    [
        (make_form(RECORDING), "audio/webm;codecs=opus"),
        (make_form(MultipartField("audio", SOUND, "r.webm", "application/octet-stream")), "audio/webm"),
        (make_json({"audio": f"data:audio/ogg;base64,{IN_BASE64}", "mimeType": "audio/ogg"}), "audio/ogg"),
        (("/copilotkit", json.dumps(SINGLE).encode(), JSON), "audio/webm"),
    ],
)
async def test_a_recording_becomes_text(sent: tuple[str, bytes, dict[str, str]], media_type: str, config: Path) -> None:
    async with FakeUpstream() as upstream:
        upstream.reply = faults.answer_body(b'{"text": " Hello. "}')
        status, told = await send(make_runtime(config, upstream), *sent)
        assert (status, told) == (200, {"text": "Hello.", "size": len(SOUND), "type": media_type})
        [request] = upstream.requests
        [file] = [part for part in parse_form(request.body, request.headers["content-type"]) if part.name == "file"]
        assert (file.data, file.media_type) == (SOUND, media_type)


@pytest.mark.demand("speech.copilotkit")
async def test_clients_are_told_that_there_is_a_microphone(config: Path) -> None:
    async with FakeUpstream() as upstream:
        for runtime, enabled in ((make_runtime(config, upstream), True), (Runtime(model=FakeModel()), False)):
            async with serve_runtime(runtime) as server, RawHttpClient(server.url) as client:
                await client.get("/copilotkit/info")
                await client.read_head()
                assert (await client.read_json())["audioFileTranscriptionEnabled"] is enabled


@pytest.mark.parametrize(
    ("sent", "code"),
    [
        (make_form(MultipartField("file", SOUND, "a")), "invalid_request"),
        (make_form(MultipartField("audio", b"", "a", "audio/webm")), "invalid_request"),
        (make_form(MultipartField("audio", SOUND, "a", "video/mp4")), "invalid_audio_format"),
        (make_json({"audio": IN_BASE64, "mimeType": "text/html"}), "invalid_audio_format"),
        (make_json({"audio": "§§§"}), "invalid_request"),
        (make_json({"audio": ""}), "invalid_request"),
        (make_json({}), "invalid_request"),
    ],
)
async def test_what_is_no_recording(sent: tuple[str, bytes, dict[str, str]], code: str, config: Path) -> None:
    async with FakeUpstream() as upstream:
        status, told = await send(make_runtime(config, upstream), *sent)
        assert (status, told["error"], told["retryable"]) == (400, code, False)
        assert upstream.requests == []


@pytest.mark.parametrize(
    ("failed", "status", "code", "retryable"),
    [(500, 502, "provider_error", True), (429, 429, "rate_limited", True), (401, 502, "provider_error", True)],
)
async def test_an_endpoint_that_fails(failed: int, status: int, code: str, retryable: bool, config: Path) -> None:
    async with FakeUpstream() as upstream:
        upstream.reply = faults.fail_with_status(failed)
        answered, told = await send(make_runtime(config, upstream), *make_form(RECORDING))
        assert (answered, told["error"], told["retryable"]) == (status, code, retryable)
