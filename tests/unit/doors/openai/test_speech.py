"""POST /v1/audio/transcriptions: every format, to an OpenAI-compatible endpoint, and what is refused."""

import json
from pathlib import Path
from typing import Any

import pytest

from rightseat import Runtime
from rightseat.config.load import load_config
from rightseat.errors import ConfigError
from rightseat.http.multipart import MultipartField, format_form, parse_form
from rightseat.wiring.from_config import build_runtime
from tests.kit import faults
from tests.kit.app_server import FakeModel, serve_runtime
from tests.kit.client import RawHttpClient, build_raw_request
from tests.kit.connection import Connection, ReceivedRequest
from tests.kit.upstream import FakeUpstream

pytestmark = pytest.mark.io

PATH = "/v1/audio/transcriptions"
AUDIO = MultipartField("file", b"RIFF\x00\xff--", "hello.wav", "audio/wav")
VERBOSE = {
    "task": "transcribe",
    "language": "english",
    "duration": 3725.5,
    "text": " Hello there. Good day. ",
    "segments": [
        {"id": 0, "start": 0.0, "end": 1.5, "text": " Hello there.", "tokens": [1, 2], "avg_logprob": -0.2},
        {"id": 1, "start": 1.5, "end": 3725.25, "text": " Good -->\n day."},
    ],
    "words": [{"word": "Hello", "start": 0.0, "end": 0.5}],
}
CONFIG = """
[models.default]
spec = "openai:chat"
base_url = "{url}"
[models.ears]
spec = "openai:whisper-1"
base_url = "{url}"
api_key = "k"
tries = 1
transcribes = true
"""


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    """A vendor that answers chats where a file has no model for them."""
    monkeypatch.setenv("OPENAI_API_KEY", "k")


def make_runtime(folder: Path, upstream: FakeUpstream, config: str = CONFIG) -> Runtime:
    file = folder / "rightseat.toml"
    file.write_text(config.replace("{url}", upstream.base_url), "utf-8")
    return build_runtime(load_config(file, env={}), env={"OPENAI_API_KEY": "k"})


async def post_form(
    runtime: Runtime, *parts: MultipartField, headers: dict[str, str] | None = None, path: str = PATH
) -> tuple[int, str, bytes]:
    body, content_type = format_form(parts)
    async with serve_runtime(runtime) as server, RawHttpClient(server.url) as client:
        fields = {"Content-Type": content_type} | (headers or {})
        await client.send(build_raw_request("POST", path, body, fields))
        head = await client.read_head()
        return head.status, head.headers["content-type"], await client.read_body()


def make_field(name: str, value: str) -> MultipartField:
    return MultipartField(name, value.encode())


async def answer_like_whisper(connection: Connection, request: ReceivedRequest) -> None:
    fields = {part.name: part.text for part in parse_form(request.body, request.headers["content-type"])}
    answer = VERBOSE if fields["response_format"] == "verbose_json" else {"text": VERBOSE["text"]}
    await faults.answer_body(json.dumps(answer).encode())(connection, request)


@pytest.mark.demand("speech.openai_endpoint", "speech.formats")
async def test_every_format(tmp_path: Path) -> None:
    texts = {
        "text": b"Hello there. Good day.\n",
        "srt": (
            b"1\n00:00:00,000 --> 00:00:01,500\nHello there.\n\n"
            b"2\n00:00:01,500 --> 01:02:05,250\n" + "Good → day.\n\n".encode()
        ),
        "vtt": (
            b"WEBVTT\n\n00:00:00.000 --> 00:00:01.500\nHello there.\n\n"
            b"00:00:01.500 --> 01:02:05.250\n" + "Good → day.\n\n".encode()
        ),
    }
    async with FakeUpstream() as upstream:
        upstream.reply = answer_like_whisper
        for name, text in texts.items():
            runtime = make_runtime(tmp_path, upstream)
            assert await post_form(runtime, AUDIO, make_field("response_format", name)) == (
                200,
                "text/plain; charset=utf-8",
                text,
            )
        status, kind, body = await post_form(make_runtime(tmp_path, upstream), AUDIO, make_field("model", "whisper-1"))
        assert (status, kind, json.loads(body)) == (200, "application/json", {"text": "Hello there. Good day."})
        granular = (make_field("timestamp_granularities[]", "word"), make_field("timestamp_granularities[]", "segment"))
        verbose = (AUDIO, make_field("response_format", "verbose_json"), *granular)
        _, _, body = await post_form(make_runtime(tmp_path, upstream), *verbose)
    told = json.loads(body)
    assert (told["task"], told["language"], told["duration"]) == ("transcribe", "english", 3725.5)
    assert told["segments"][0] == {"id": 0, "start": 0.0, "end": 1.5, "text": "Hello there."}
    assert told["words"] == [{"word": "Hello", "start": 0.0, "end": 0.5}]


@pytest.mark.demand("speech.openai_endpoint")
async def test_what_the_endpoint_gets(tmp_path: Path) -> None:
    async with FakeUpstream() as upstream:
        upstream.reply = answer_like_whisper
        fields = {"model": "ears", "language": "en", "prompt": "Rightseat", "temperature": "0.2"}
        parts = [AUDIO, *(make_field(name, value) for name, value in fields.items())]
        assert (await post_form(make_runtime(tmp_path, upstream), *parts))[0] == 200
        [request] = upstream.requests
    assert (request.target, request.headers["authorization"]) == ("/v1/audio/transcriptions", "Bearer k")
    sent = {part.name: part for part in parse_form(request.body, request.headers["content-type"])}
    assert (sent["file"].data, sent["file"].filename, sent["file"].media_type) == (AUDIO.data, "hello.wav", "audio/wav")
    assert {name: part.text for name, part in sent.items() if name != "file"} == {
        **fields,
        "model": "whisper-1",
        "response_format": "json",
    }


async def test_a_transcriber_is_no_assistant(tmp_path: Path) -> None:
    async with FakeUpstream() as upstream:
        runtime = make_runtime(tmp_path, upstream)
        assert list(runtime.responders) == ["default"]
        alone = CONFIG.partition("[models.ears]")[2]
        # A file whose only model transcribes leaves the chats to the usual one.
        other = make_runtime(tmp_path, upstream, f"[models.ears]{alone}")
        assert list(other.transcribers) == ["ears"]
        assert other.assistants["default"].model.name == "gpt-4o-mini"
        await runtime.close()
        await other.close()


@pytest.mark.parametrize(
    ("parts", "param"),
    [
        ([make_field("model", "x")], "file"),
        ([MultipartField("file", b"", "a.wav")], "file"),
        ([AUDIO, make_field("response_format", "docx")], "response_format"),
        ([AUDIO, make_field("temperature", "warm")], "temperature"),
        ([AUDIO, make_field("temperature", "nan")], "temperature"),
        ([AUDIO, make_field("stream", "true")], "stream"),
        ([AUDIO, make_field("timestamp_granularities[]", "word")], "timestamp_granularities"),
        (
            [AUDIO, make_field("response_format", "verbose_json"), make_field("timestamp_granularities[]", "page")],
            "timestamp_granularities",
        ),
    ],
)
async def test_what_does_not_fit_is_told(parts: list[MultipartField], param: str, tmp_path: Path) -> None:
    async with FakeUpstream() as upstream:
        status, _, body = await post_form(make_runtime(tmp_path, upstream), *parts)
        assert (status, json.loads(body)["error"]["param"], upstream.requests) == (400, param, [])


async def post_raw(runtime: Runtime, body: bytes, headers: dict[str, str]) -> tuple[int, Any]:
    async with serve_runtime(runtime) as server, RawHttpClient(server.url) as client:
        await client.send(build_raw_request("POST", PATH, body, headers))
        return (await client.read_head()).status, await client.read_json()


async def test_json_and_a_cut_form_are_no_forms(tmp_path: Path) -> None:
    async with FakeUpstream() as upstream:
        status, told = await post_raw(make_runtime(tmp_path, upstream), b"{}", {"Content-Type": "application/json"})
        assert (status, "Send a form" in told["error"]["message"]) == (400, True)
        form = {"Content-Type": "multipart/form-data; boundary=x"}
        status, told = await post_raw(make_runtime(tmp_path, upstream), b"--x\r\n", form)
        assert status == 400


@pytest.mark.parametrize(
    ("reply", "status", "code"),
    [
        (faults.fail_with_status(401), 502, "upstream_denied"),
        (faults.fail_with_status(429), 429, "upstream_busy"),
        (faults.answer_body(b"[1]"), 502, "upstream_garbled"),
        (faults.answer_body(b'{"text": 1}'), 502, "upstream_garbled"),
        (faults.answer_body(b"\xff"), 502, "upstream_garbled"),
    ],
)
async def test_an_endpoint_that_fails(reply: Any, status: int, code: str, tmp_path: Path) -> None:
    async with FakeUpstream() as upstream:
        upstream.reply = reply
        answered, _, body = await post_form(make_runtime(tmp_path, upstream), AUDIO)
        assert (answered, json.loads(body)["error"]["code"]) == (status, code)


async def test_a_model_without_times_writes_no_subtitles(tmp_path: Path) -> None:
    async with FakeUpstream() as upstream:
        upstream.reply = faults.answer_body(b'{"text": "Hello."}')
        status, _, body = await post_form(make_runtime(tmp_path, upstream), AUDIO, make_field("response_format", "srt"))
        assert (status, "tells no times" in json.loads(body)["error"]["message"]) == (400, True)
        upstream.reply = faults.answer_body(b'{"text": "Hello.", "duration": "2.5"}')
        status, _, body = await post_form(make_runtime(tmp_path, upstream), AUDIO, make_field("response_format", "srt"))
        assert (status, body) == (200, b"1\n00:00:00,000 --> 00:00:02,500\nHello.\n\n")


@pytest.mark.demand("speech.openai_endpoint")
async def test_a_page_may_send_a_form_here_and_nowhere_else(tmp_path: Path) -> None:
    page = {"Origin": "http://localhost:3000"}
    async with FakeUpstream() as upstream:
        upstream.reply = answer_like_whisper
        assert (await post_form(make_runtime(tmp_path, upstream), AUDIO, headers=page))[0] == 200
        other = {"Origin": "http://evil.example"}
        assert (await post_form(make_runtime(tmp_path, upstream), AUDIO, headers=other))[0] == 403
        chat = "/v1/chat/completions"
        assert (await post_form(make_runtime(tmp_path, upstream), AUDIO, headers=page, path=chat))[0] == 415


@pytest.mark.demand("speech.not_configured")
async def test_nothing_set_up_says_what_to_set_up() -> None:
    status, _, body = await post_form(Runtime(model=FakeModel()), AUDIO)
    message = json.loads(body)["error"]["message"]
    assert (status, "transcribes = true" in message, "whisper:ggml-base.bin" in message) == (503, True, True)


def test_a_model_that_cannot_is_told_at_start(tmp_path: Path) -> None:
    file = tmp_path / "rightseat.toml"
    file.write_text('[models.ears]\nspec = "scripted:demo"\ntranscribes = true\n')
    with pytest.raises(ConfigError, match=r"\[models\.ears\].*transcribes: scripted:demo cannot write down speech"):
        build_runtime(load_config(file, env={}), env={"OPENAI_API_KEY": "k"})
