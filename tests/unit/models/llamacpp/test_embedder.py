"""Texts that are longer than an embedding engine takes at once."""

import base64
import math
import struct
from typing import Any

import pytest

from rightseat import Runtime
from rightseat.errors import ContextTooLong
from rightseat.models.llamacpp import weights
from rightseat.models.llamacpp.client import error_from_response
from rightseat.models.llamacpp.embedder import Embedder, EmbeddingOverflow
from rightseat.models.llamacpp.options import make_unchecked_model
from tests.kit.app_server import serve_runtime
from tests.kit.client import RawHttpClient
from tests.kit.timeouts import HANG_TIMEOUT
from tests.unit.models.llamacpp.in_process_server import InProcessServer

CLS, SEP = 1, 2
REFUSAL = b"""{"error":{"code":500,"type":"server_error","message":
"input (%d tokens) is too large to process. increase the physical batch size (current batch size: %d)"}}"""


class VectorServer(InProcessServer):
    """A server whose tokens are letters between two end tokens, and whose vectors are the mean letter and a 1."""

    def __init__(self, window: int, *, ends: bool = True) -> None:
        super().__init__()
        self.window = window
        self.ends = ends

    async def tokenize(self, text: str, *, special: bool = True, add: bool = False) -> list[int]:
        letters = list(map(ord, text))
        return [CLS, *letters, *([SEP] if self.ends else [])] if add else letters

    async def embed(self, body: dict[str, Any]) -> dict[str, Any]:
        self.requests.append(body)
        value = body["input"]
        inputs = [value] if isinstance(value, str) or isinstance(value[0], int) else value
        tokens = [item if isinstance(item, list) else await self.tokenize(item, add=True) for item in inputs]
        for item in tokens:
            if len(item) > self.window:
                raise error_from_response(500, REFUSAL.replace(b"\n", b"") % (len(item), self.window))
        data = [{"index": n, "embedding": [sum(item) / len(item), 1.0]} for n, item in enumerate(tokens)]
        return {"object": "list", "data": data, "usage": {"prompt_tokens": sum(map(len, tokens))}}


def make_embedder(
    overflow: EmbeddingOverflow, *, known: bool = True, ends: bool = True
) -> tuple[VectorServer, Embedder]:
    server = VectorServer(10, ends=ends)
    return server, Embedder(server, overflow=overflow, window=10 if known else None)


@pytest.mark.demand("window.embeddings_over_the_window")
@pytest.mark.parametrize("known", [True, False])
async def test_a_long_text_is_refused_with_its_numbers(known: bool) -> None:
    _, embedder = make_embedder("refuse", known=known)
    with pytest.raises(ContextTooLong, match=r"^input: the text has 22 tokens, .* takes 10\. .*embedding_overflow"):
        await embedder.embed({"input": "a" * 20})
    with pytest.raises(ContextTooLong, match=r"^input\[1\]: the text has 22 tokens") as caught:
        await embedder.embed({"input": ["a", "b" * 20, "c" * 30]})
    assert (caught.value.param, caught.value.status) == ("input[1]", 400)
    with pytest.raises(ContextTooLong, match="has 12 tokens"):
        await embedder.embed({"input": [7] * 12})
    assert len((await embedder.embed({"input": ["a" * 8, "b"]}))["data"]) == 2


@pytest.mark.demand("window.embeddings_over_the_window")
@pytest.mark.parametrize("known", [True, False])
async def test_a_long_text_is_cut(known: bool) -> None:
    server, embedder = make_embedder("cut", known=known)
    body = await embedder.embed({"input": ["a" * 8 + "b" * 30, "c"]})
    assert server.requests[-1]["input"] == [[CLS, *[ord("a")] * 8, SEP], [CLS, ord("c"), SEP]]
    assert [entry["index"] for entry in body["data"]] == [0, 1]
    assert len(server.requests) == (1 if known else 2)


@pytest.mark.demand("window.embeddings_over_the_window")
@pytest.mark.parametrize("ends", [True, False])
async def test_the_pieces_of_a_long_text_are_averaged(ends: bool) -> None:
    server, embedder = make_embedder("average", ends=ends)
    body = await embedder.embed({"input": ["a" * 20, "c"]})
    pieces, short = server.requests[-1]["input"][:-1], server.requests[-1]["input"][-1]
    assert all(piece[0] == CLS and (piece[-1] == SEP) is ends and len(piece) <= 10 for piece in pieces)
    assert sum(piece.count(ord("a")) for piece in pieces) == 20
    vector = body["data"][0]["embedding"]
    assert math.hypot(*vector) == pytest.approx(1)
    assert body["data"][1]["embedding"] == [sum(short) / len(short), 1.0], "a short one is as the server gives it"
    plain = await embedder.embed({"input": "a" * 20, "embd_normalize": -1})
    assert server.requests[-1]["embd_normalize"] == -1
    assert plain["data"][0]["embedding"][1] == pytest.approx(1)
    packed = await embedder.embed({"input": "a" * 20, "encoding_format": "base64"})
    assert struct.unpack("<2f", base64.b64decode(packed["data"][0]["embedding"])) == pytest.approx(vector)


@pytest.mark.io
@pytest.mark.model
@pytest.mark.demand("window.embeddings_over_the_window")
async def test_the_real_engine_refuses_a_long_text_with_its_number() -> None:
    options = {"pooling": "mean", "context": 256, "slots": 1}
    async with serve_runtime(Runtime(model=make_unchecked_model(str(weights.require_weights()), options))) as server:
        status, body = await post_embeddings(server.url, ["short", "word " * 3000])
    assert (status, body["error"]["code"]) == (400, "context_length_exceeded")
    assert body["error"]["param"] == "input[1]"
    assert "takes 256" in body["error"]["message"]


@pytest.mark.io
@pytest.mark.long
@pytest.mark.model
@pytest.mark.demand("window.embeddings_over_the_window")
async def test_the_real_engine_takes_its_whole_context() -> None:
    options = {"pooling": "mean", "context": 600, "slots": 1}
    async with serve_runtime(Runtime(model=make_unchecked_model(str(weights.require_weights()), options))) as server:
        status, body = await post_embeddings(server.url, "word " * 540)
    assert (status, len(body["data"][0]["embedding"])) == (200, 576), "more than a batch of the engine's usual size"


async def post_embeddings(url: str, value: Any) -> tuple[int, dict[str, Any]]:
    async with RawHttpClient(url, timeout=3 * HANG_TIMEOUT) as client:
        await client.post_json("/v1/embeddings", {"input": value})
        head = await client.read_head()
        return head.status, await client.read_json()


@pytest.mark.demand("window.embeddings_over_the_window")
async def test_tokens_of_the_client_are_cut_as_they_are() -> None:
    server, embedder = make_embedder("cut")
    await embedder.embed({"input": list(range(100, 120))})
    assert server.requests[-1]["input"] == [list(range(100, 110))]
