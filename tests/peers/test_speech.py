"""Speech that espeak-ng makes, written down by PocketSphinx behind our routes; asked for by the official client."""

import asyncio
import contextlib
import json
from asyncio.subprocess import DEVNULL, PIPE
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from rightseat.http.multipart import MultipartField, format_form
from tests.kit.client import RawHttpClient, build_raw_request
from tests.kit.server import RightseatProcess
from tests.kit.timeouts import HANG_TIMEOUT
from tests.peers.prerequisites import require

pytestmark = [pytest.mark.peers, pytest.mark.timeout(600)]

HERE = Path(__file__).parent
RecordDriven = Callable[[str, str], None]
CONFIG = """
[models.ears]
spec = "openai:pocketsphinx"
base_url = "http://127.0.0.1:{port}/v1"
transcribes = true
[models.default]
spec = "scripted:demo"
"""
SENTENCES = ("go forward ten meters", "turn left five degrees", "how are you today", "seven five three one")


def find_python(peer: str) -> str:
    return str(require(peer) / "bin" / "python")


async def run(*command: str) -> str:
    process = await asyncio.create_subprocess_exec(*command, stdout=PIPE, stderr=PIPE)
    out, err = await asyncio.wait_for(process.communicate(), 4 * HANG_TIMEOUT)
    assert process.returncode == 0, err.decode()
    return out.decode()


async def speak(text: str, folder: Path) -> Path:
    path = folder / f"{text.replace(' ', '-')}.wav"
    await run(find_python("speech"), str(HERE / "speech" / "speak.py"), text, str(path))
    return path


@contextlib.asynccontextmanager
async def serve_recogniser(record_driven: RecordDriven) -> AsyncIterator[RightseatProcess]:
    command = (find_python("speech"), str(HERE / "speech" / "recognise.py"))
    process = await asyncio.create_subprocess_exec(*command, stdin=DEVNULL, stdout=PIPE)
    assert process.stdout is not None
    try:
        line = await asyncio.wait_for(process.stdout.readline(), 4 * HANG_TIMEOUT)
        started = json.loads(line)
        record_driven("pocketsphinx", started["version"])
        async with RightseatProcess(config=CONFIG.replace("{port}", str(started["port"]))) as server:
            yield server
    finally:
        process.kill()
        await process.wait()


async def post_form(server: RightseatProcess, path: str, *parts: MultipartField) -> Any:
    body, content_type = format_form(parts)
    async with RawHttpClient(server.url) as client:
        await client.send(build_raw_request("POST", path, body, {"Content-Type": content_type}))
        assert (await client.read_head()).status == 200
        return await client.read_json()


@pytest.mark.demand("speech.real_recogniser")
async def test_what_is_spoken_is_written_down(tmp_path: Path, record_driven: RecordDriven) -> None:
    async with serve_recogniser(record_driven) as server:
        for sentence in SENTENCES:
            data = (await speak(sentence, tmp_path)).read_bytes()
            told = await post_form(
                server, "/v1/audio/transcriptions", MultipartField("file", data, "a.wav", "audio/wav")
            )
            assert told["text"] == sentence
        data = (await speak(SENTENCES[-1], tmp_path)).read_bytes()
        recording = MultipartField("audio", data, "recording.wav", "audio/wav")
        told = await post_form(server, "/copilotkit/transcribe", recording)
        assert told == {"text": SENTENCES[-1], "size": len(data), "type": "audio/wav"}


@pytest.mark.demand("speech.real_recogniser", "speech.formats")
async def test_the_official_client_gets_every_format(tmp_path: Path, record_driven: RecordDriven) -> None:
    path = await speak(SENTENCES[0], tmp_path)
    async with serve_recogniser(record_driven) as server:
        program = (find_python("openai-py"), str(HERE / "openai-py" / "transcribe.py"))
        told = json.loads(await run(*program, f"{server.url}/v1", str(path)))
    assert told["json"]["text"] == SENTENCES[0]
    assert told["text"].strip() == SENTENCES[0]
    assert told["srt"].startswith("1\n00:00:00,")
    assert told["vtt"].startswith("WEBVTT\n\n00:00:00.")
    assert all(told[name].endswith(f"\n{SENTENCES[0]}\n\n") for name in ("srt", "vtt"))
    verbose = told["verbose_json"]
    assert (verbose["text"], verbose["language"]) == (SENTENCES[0], "english")
    assert 0 <= verbose["segments"][0]["start"] < verbose["segments"][0]["end"] <= verbose["duration"] < 10
