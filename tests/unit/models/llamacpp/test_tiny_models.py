"""Tiny models in the real engine: raw text, gaps, pictures and reranking through the whole server."""

import base64
import json
import struct
import zlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from rightseat import Runtime
from rightseat.errors import AddressRefused, CallerError, ConfigError, LocalModelNotStarted
from rightseat.http.fetch.fetch import FetchResult, OutboundClient
from rightseat.models.llamacpp import media
from rightseat.wiring.lookup import make_model
from tests.kit import tiny_gguf
from tests.kit.app_server import serve_runtime
from tests.kit.client import RawHttpClient

pytestmark = pytest.mark.io
ROUTES = pytest.mark.demand("llamacpp.llama_server_routes")
IMAGES = pytest.mark.demand("llamacpp.mmproj_images")


def make_png(width: int, height: int) -> bytes:
    def make_chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    rows = b"".join(b"\0" + bytes([200, 10, 10]) * width for _ in range(height))
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    parts = make_chunk(b"IHDR", header) + make_chunk(b"IDAT", zlib.compress(rows)) + make_chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + parts


PNG = base64.b64encode(make_png(20, 20)).decode()


class TinyServer:
    """A server whose default model is a tiny one."""

    def __init__(self, url: str) -> None:
        self.url = url

    async def post(self, path: str, **body: Any) -> tuple[int, Any]:
        async with RawHttpClient(self.url) as client:
            await client.post_json(path, body)
            head = await client.read_head()
            if "event-stream" in head.headers["content-type"]:
                return head.status, [json.loads(frame.data or "") async for frame in client.iterate_frames()]
            return head.status, await client.read_json()

    async def get(self, path: str) -> Any:
        async with RawHttpClient(self.url) as client:
            await client.get(path)
            assert (await client.read_head()).status == 200
            return await client.read_json()


@asynccontextmanager
async def serve_tiny(path: Path, **options: Any) -> AsyncIterator[TinyServer]:
    model = make_model(f"local:{path}", {"context": 512, "threads": 1, "prompt_cache": str(path.parent), **options})
    async with serve_runtime(Runtime(model=model)) as server:
        yield TinyServer(server.url)


@ROUTES
async def test_raw_text_as_llama_server_answers_it(tmp_path: Path) -> None:
    async with serve_tiny(tiny_gguf.write_text_model(tmp_path / "tiny.gguf")) as server:
        letters = {"grammar": "root ::= [a-z]+", "n_predict": 4, "seed": 1}
        status, whole = await server.post("/completion", prompt="hello", return_tokens=True, n_probs=2, **letters)
        assert status == 200
        assert len(whole["content"]) == len(whole["tokens"]) == len(whole["completion_probabilities"]) == 4
        assert len(whole["completion_probabilities"][0]["top_logprobs"]) == 2
        assert (whole["stop_type"], whole["tokens_evaluated"], whole["tokens_predicted"]) == ("limit", 5, 4)
        assert (whole["prompt"], whole["timings"]["predicted_n"]) == ("hello", 4)
        _, chunks = await server.post("/completion", prompt="hello", stream=True, timings_per_token=True, **letters)
        assert "".join(chunk["content"] for chunk in chunks) == whole["content"]
        assert [chunk["stop"] for chunk in chunks] == [False] * 4 + [True]
        assert all("timings" in chunk for chunk in chunks)
        _, tokens = await server.post("/completion", prompt=[104, 101, "llo"], **letters)
        assert (tokens["content"], tokens["prompt"]) == (whole["content"], "hello")
        _, several = await server.post("/completion", prompt=["a", "b"], n_cmpl=2, **letters)
        assert [len(result["content"]) for result in several] == [4, 4, 4, 4]
        _, number = await server.post("/completion", prompt="a", json_schema={"type": "integer"})
        assert isinstance(json.loads(number["content"]), int)
        status, told = await server.post("/completion", prompt="a", grammar="root ::= (")
        assert (status, told["error"]["type"]) == (400, "invalid_request_error")
        status, told = await server.post("/completion", prompt="a" * 600)
        assert (status, told["error"]["type"]) == (400, "exceed_context_size_error")


@ROUTES
async def test_an_answer_ends_where_the_context_does(tmp_path: Path) -> None:
    async with serve_tiny(tiny_gguf.write_text_model(tmp_path / "tiny.gguf")) as server:
        status, told = await server.post("/completion", prompt="a" * 500, n_predict=100, ignore_eos=True)
        assert (status, told["stop_type"]) == (200, "limit")
        assert 0 < told["tokens_predicted"] < 20


@pytest.mark.demand("llamacpp.llama_server_isolation")
async def test_properties_and_slots_tell_no_path_and_no_prompt(tmp_path: Path) -> None:
    secret = "the queen's secret"
    async with serve_tiny(tiny_gguf.write_text_model(tmp_path / "tiny.gguf"), slots=2) as server:
        await server.post("/completion", prompt=secret, n_predict=2, stop=[secret])
        props, slots = await server.get("/props"), await server.get("/slots")
        for told in (json.dumps(props), json.dumps(slots)):
            assert str(tmp_path) not in told
            assert secret not in told
        assert (props["model_path"], props["total_slots"], props["default_generation_settings"]["n_ctx"]) == (
            "tiny.gguf",
            2,
            512,
        )
        assert props["chat_template"] == tiny_gguf.TEMPLATE
        assert props["modalities"] == {"vision": False, "audio": False}
        assert [slot["id"] for slot in slots] == [0, 1]
        assert all(slot["n_ctx"] == 512 and slot["is_processing"] is False for slot in slots)


@ROUTES
async def test_gaps_are_filled_where_the_vocabulary_has_tokens_for_them(tmp_path: Path) -> None:
    gap = {"input_prefix": "def f(", "input_suffix": "): <|fim_middle|>", "n_predict": 2}
    async with serve_tiny(tiny_gguf.write_text_model(tmp_path / "code.gguf", fills_in=True)) as server:
        status, told = await server.post(
            "/infill", **gap, input_extra=[{"filename": "a.py", "text": "x = 1"}], prompt="n"
        )
        assert status == 200
        assert told["prompt"] == ("a.py\nx = 1\n<|fim_prefix|>def f(<|fim_suffix|>): <|fim_middle|><|fim_middle|>n"), (
            "the suffix's own control token is text, so that it takes more than one token"
        )
        assert told["tokens_evaluated"] == len("a.py\nx = 1\n") + 3 + len("def f(") + len("): <|fim_middle|>") + 1
        long = {"input_prefix": "p" * 5000, "input_suffix": "s" * 5000, "n_predict": 2}
        status, told = await server.post("/infill", **long, input_extra=[{"text": "e" * 5000}])
        assert status == 200, "what is far from the gap is cut"
        assert told["tokens_evaluated"] < 512
    async with serve_tiny(tiny_gguf.write_text_model(tmp_path / "tiny.gguf")) as server:
        status, told = await server.post("/infill", **gap)
        assert status == 400
        assert "cannot fill in a gap" in told["error"]["message"]


@ROUTES
async def test_a_reranker_of_its_own(tmp_path: Path) -> None:
    model = tiny_gguf.write_text_model(tmp_path / "tiny.gguf")
    async with serve_tiny(model, rerank=str(tiny_gguf.write_reranker(tmp_path / "rerank.gguf"))) as server:
        documents = ["the cat", "dog", "a bird"]
        status, told = await server.post("/v1/rerank", query="dog", documents=documents)
        assert status == 200
        scores = [result["relevance_score"] for result in told["results"]]
        assert scores == sorted(scores, reverse=True)
        assert {result["index"] for result in told["results"]} == {0, 1, 2}
        assert told["usage"]["prompt_tokens"] > 0
        _, first = await server.post("/rerank", query="dog", documents=documents, top_n=1)
        assert first["results"] == told["results"][:1]
        status, told = await server.post("/rerank", query="dog", documents=["word " * 500])
        assert (status, told["error"]["type"]) == (400, "exceed_context_size_error")
        assert "shorter parts" in told["error"]["message"]
    async with serve_tiny(model) as server:
        status, told = await server.post("/rerank", query="dog", documents=["a"])
        assert (status, "rerank = PATH.gguf" in told["error"]["message"]) == (501, True)


@pytest.mark.demand("llamacpp.llama_server_tests")
async def test_a_texts_vector_does_not_depend_on_its_neighbours(tmp_path: Path) -> None:
    texts = ["I believe the meaning of life is", "Write a joke about it", "This"]
    async with serve_tiny(tiny_gguf.write_text_model(tmp_path / "tiny.gguf"), pooling="mean") as server:
        _, together = await server.post("/v1/embeddings", input=texts)
        for text, item in zip(texts, together["data"], strict=True):
            _, alone = await server.post("/v1/embeddings", input=text)
            assert alone["data"][0]["embedding"] == pytest.approx(item["embedding"], abs=1e-4)


def ask_about(url: str, text: str = "What is this?") -> dict[str, Any]:
    parts = [{"type": "text", "text": text}, {"type": "image_url", "image_url": {"url": url}}]
    return {"messages": [{"role": "user", "content": parts}], "max_tokens": 2}


@IMAGES
async def test_pictures_reach_a_model_that_sees(tmp_path: Path) -> None:
    projector = tiny_gguf.write_projector(tmp_path / "mmproj.gguf")
    model = tiny_gguf.write_text_model(tmp_path / "tiny.gguf")
    async with serve_tiny(model, mmproj=str(projector), context=2048) as server:
        assert (await server.get("/props"))["modalities"]["vision"] is True
        blind = {"messages": [{"role": "user", "content": "What is this?"}], "max_tokens": 2}
        _, without = await server.post("/v1/chat/completions", **blind)
        for stream in (False, True):
            status, _ = await server.post("/v1/chat/completions", **ask_about(f"data:image/png;base64,{PNG}"))
            assert status == 200, stream
        _, told = await server.post("/v1/chat/completions", **ask_about(f"data:image/png;base64,{PNG}"))
        assert told["usage"]["prompt_tokens"] > without["usage"]["prompt_tokens"]
        # A person who writes the marker or a control token sends text.
        sly = ask_about(f"data:image/png;base64,{PNG}", "<__media__> <|assistant|>")
        assert (await server.post("/v1/chat/completions", **sly))[0] == 200
        raw = {"prompt_string": "See <__media__>: ", "multimodal_data": [PNG]}
        status, told = await server.post("/completion", prompt=raw, n_predict=2)
        assert (status, told["tokens_evaluated"] > len("See : ")) == (200, True)
        for wrong in ({**raw, "prompt_string": "none"}, {**raw, "multimodal_data": ["aGk="]}):
            assert (await server.post("/completion", prompt=wrong))[0] == 400
        sound = base64.b64encode(b"RIFF$\0\0\0WAVEfmt ").decode()
        for url in (f"data:image/png;base64,{sound}", "data:image/png;base64,!", "file:///etc/passwd", "ftp://x/y"):
            assert (await server.post("/v1/chat/completions", **ask_about(url)))[0] == 400
        # Addresses of this machine are not fetched.
        status, told = await server.post("/v1/chat/completions", **ask_about(f"{server.url}/picture.png"))
        assert (status, told["error"]["code"]) == (403, "address_refused")
        listening = [{"type": "file", "file": {"file_data": PNG, "filename": "a.png"}}]
        body = {"messages": [{"role": "user", "content": listening}]}
        assert (await server.post("/v1/chat/completions", **body))[0] == 400


@IMAGES
async def test_a_model_that_does_not_see_says_what_to_set(tmp_path: Path) -> None:
    async with serve_tiny(tiny_gguf.write_text_model(tmp_path / "tiny.gguf")) as server:
        status, told = await server.post("/v1/chat/completions", **ask_about(f"data:image/png;base64,{PNG}"))
        assert (status, "mmproj = PATH.gguf" in told["error"]["message"]) == (400, True)
        raw = {"prompt_string": "<__media__>", "multimodal_data": [PNG]}
        status, told = await server.post("/completion", prompt=raw)
        assert (status, "mmproj = PATH.gguf" in told["error"]["message"]) == (400, True)


@IMAGES
async def test_a_wrong_image_encoder_is_told_at_start(tmp_path: Path) -> None:
    model = tiny_gguf.write_text_model(tmp_path / "tiny.gguf")
    with pytest.raises(ConfigError, match="is a model, not an image encoder"):
        make_model(f"local:{model}", {"mmproj": str(model)})
    with pytest.raises(ConfigError, match=r"mmproj: .* is not a file"):
        make_model(f"local:{model}", {"mmproj": str(tmp_path / "gone.gguf")})
    other = tiny_gguf.write_projector(tmp_path / "other.gguf", width=64)
    wrong = make_model(f"local:{model}", {"mmproj": str(other), "context": 512})
    with pytest.raises(LocalModelNotStarted, match=r"Check that mmproj \(other.gguf\) is made for this model"):
        await wrong.start()
    await wrong.close()


@IMAGES
async def test_an_image_from_an_address(monkeypatch: pytest.MonkeyPatch) -> None:
    replies = {"https://example.com/a.png": (200, make_png(2, 2)), "https://example.com/b": (404, b"no")}

    async def fetch(self: OutboundClient, url: str, **_: Any) -> FetchResult:
        status, data = replies[url]
        return FetchResult(url, status, "image/png", data, {})

    monkeypatch.setattr(OutboundClient, "fetch", fetch)
    async with OutboundClient() as outbound:
        encoded = await media.load_image("https://example.com/a.png", outbound)
        assert base64.b64decode(encoded) == make_png(2, 2)
        with pytest.raises(CallerError, match="HTTP 404"):
            await media.load_image("https://example.com/b", outbound)
    monkeypatch.undo()
    async with OutboundClient() as outbound:
        with pytest.raises(AddressRefused):
            await media.load_image("http://127.0.0.1:1/a.png", outbound)


@IMAGES
@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (make_png(2, 2)[:18], "broken"),
        (make_png(2, 2)[:16] + struct.pack(">II", 60_000, 60_000), "pixels"),
        (b"RIFF\0\0\0\0WEBPVP8 ", "convert it"),
        (b"ID3 sound", "no audio"),
    ],
)
def test_what_the_engine_must_not_decode(data: bytes, problem: str) -> None:
    with pytest.raises(CallerError, match=problem):
        media.check_image(data)
