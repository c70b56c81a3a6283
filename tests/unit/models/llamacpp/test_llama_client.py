"""The client of a llama-server, against a server that answers, cuts and lies as a test tells it."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from rightseat import errors
from rightseat.config.secret import Secret
from rightseat.errors import RightseatError
from rightseat.models._vendor.exchange import Timeouts
from rightseat.models.llamacpp.client import CompletionChunk, LlamaServerClient, TokenPiece
from rightseat.types.streams import closing
from tests.kit import connection_faults
from tests.kit.answers import SSE_HEADERS, UpstreamReply, write_json
from tests.kit.connection import Connection, ReceivedRequest
from tests.kit.framing import send_raw
from tests.kit.timeouts import HANG_TIMEOUT
from tests.kit.upstream import FakeUpstream
from tests.kit.waiting import read_into

pytestmark = pytest.mark.io

TEXTS = ("héllo ", "世界 ", "🙂\u2028")
FINAL = {
    "content": "",
    "stop": True,
    "stop_type": "limit",
    "truncated": False,
    "tokens_evaluated": 7,
    "tokens_predicted": 3,
    "timings": {"cache_n": 5, "prompt_n": 2, "predicted_n": 3, "unknown": 1},
}


def format_event(value: object) -> bytes:
    return b"data: " + json.dumps(value, ensure_ascii=False).encode() + b"\n\n"


ANSWER = [format_event({"content": text, "tokens": [number], "stop": False}) for number, text in enumerate(TEXTS)]
WHOLE = b"".join([*ANSWER, format_event(FINAL)])


@asynccontextmanager
async def connect_client(reply: UpstreamReply, **options: Any) -> AsyncIterator[tuple[FakeUpstream, LlamaServerClient]]:
    async with FakeUpstream() as upstream:
        upstream.reply = reply
        client = LlamaServerClient(upstream.origin, **options)
        try:
            yield upstream, client
        finally:
            await client.close()


async def collect_completion(
    client: LlamaServerClient, **request: Any
) -> tuple[list[CompletionChunk], RightseatError | None]:
    pieces: list[CompletionChunk] = []
    try:
        await read_into(client.stream_completion({"prompt": "hi", **request}), pieces)
    except RightseatError as error:
        return pieces, error
    return pieces, None


def make_json_reply(status: int, value: object) -> UpstreamReply:
    async def reply(connection: Connection, _request: ReceivedRequest) -> None:
        await write_json(connection, status, value)

    return reply


async def test_a_completion_streams() -> None:
    async with connect_client(send_raw([WHOLE]), key=Secret("secret-key")) as (upstream, client):
        pieces, failure = await collect_completion(client, n_predict=3)
        request = upstream.requests[0]
    assert failure is None
    assert [piece.content for piece in pieces] == [*TEXTS, ""]
    last = pieces[-1]
    assert (last.stop, last.stop_type, last.cached_tokens) == (True, "limit", 5)
    assert (last.tokens_evaluated, last.tokens_predicted) == (7, 3)
    assert (request.method, request.target) == ("POST", "/completion")
    assert request.json == {"prompt": "hi", "n_predict": 3, "stream": True, "return_progress": True}
    assert request.headers["authorization"] == "Bearer secret-key"


@pytest.mark.parametrize("size", [1, 2, 3, 5, 7, 50])
async def test_every_chunking_gives_the_same_pieces(size: int) -> None:
    cuts = [WHOLE[start : start + size] for start in range(0, len(WHOLE), size)]
    async with connect_client(send_raw(cuts)) as (_, client):
        pieces, failure = await collect_completion(client)
    assert failure is None
    assert [piece.content for piece in pieces] == [*TEXTS, ""]


async def test_leaving_closes_the_connection() -> None:
    async def endless(connection: Connection, _request: ReceivedRequest) -> None:
        await connection.write_head(200, SSE_HEADERS)
        while True:
            await connection.write_chunk(ANSWER[0])
            await asyncio.sleep(0.01)

    async with connect_client(endless) as (upstream, client):
        async with closing(client.stream_completion({"prompt": "hi"})) as stream:
            await anext(stream)
        await upstream.wait_closed(1)


async def test_cancelling_before_the_first_token_closes_the_connection() -> None:
    async with connect_client(connection_faults.send_nothing()) as (upstream, client):
        asking = asyncio.create_task(collect_completion(client))
        await upstream.wait_requests(1)
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        await upstream.wait_closed(1)


CONTEXT = {"code": 400, "message": "no", "type": "exceed_context_size_error", "n_prompt_tokens": 90, "n_ctx": 64}


@pytest.mark.parametrize(
    ("status", "error", "kind", "words"),
    [
        (400, {"message": "Failed to parse grammar"}, errors.CallerError, "does not take this grammar"),
        (400, CONTEXT, errors.ContextTooLong, "has 90 tokens.*room for 64.*cut at least 27"),
        (400, {"message": "exceeds the available context size"}, errors.ContextTooLong, "does not fit"),
        (400, {"message": "Field 'temperature': must be"}, errors.CallerError, "check its settings"),
        (401, {"message": "Invalid API Key"}, errors.UpstreamDenied, "api_key"),
        (404, {"message": "File Not Found"}, errors.UpstreamRejected, "does not offer"),
        (501, {"message": "no embeddings"}, errors.UpstreamRejected, "HTTP 501"),
        (503, {"message": "Loading model"}, errors.UpstreamOverloaded, "still loading"),
        (429, None, errors.UpstreamBusy, "try later"),
        (500, {"message": "SECRET WORDS"}, errors.UpstreamError, "HTTP 500"),
        (307, None, errors.UpstreamRejected, "HTTP 307"),
    ],
)
async def test_refusals_have_our_words(status: int, error: object, kind: type[RightseatError], words: str) -> None:
    async with connect_client(make_json_reply(status, {"error": error})) as (_, client):
        pieces, failure = await collect_completion(client)
    assert pieces == []
    assert type(failure) is kind
    with pytest.raises(kind, match=words):
        raise failure
    assert "SECRET" not in str(failure)


@pytest.mark.parametrize(
    ("reply", "kind", "count"),
    [
        (send_raw(ANSWER), errors.Incomplete, 3),
        (send_raw(ANSWER, end=False), errors.Incomplete, 3),
        (send_raw([ANSWER[0], b"data: {nonsense}\n\n"]), errors.UpstreamGarbled, 1),
        (send_raw([ANSWER[0], b'data: {"content": "\xff"}\n\n']), errors.UpstreamGarbled, 1),
        (send_raw([ANSWER[0], b"data: " + b"[" * 100_000 + b"\n\n"]), errors.UpstreamGarbled, 1),
        (send_raw([ANSWER[0], format_event({"error": CONTEXT})]), errors.ContextTooLong, 1),
        (connection_faults.reset_at_once(), errors.UpstreamError, 0),
        (connection_faults.close_at_once(), errors.Incomplete, 0),
        (connection_faults.send_garbage(), errors.UpstreamGarbled, 0),
    ],
    ids=["end", "cut", "no json", "no utf-8", "deep", "in-band", "reset", "closed", "no http"],
)
async def test_broken_answers(reply: UpstreamReply, kind: type[RightseatError], count: int) -> None:
    async with connect_client(reply) as (_, client):
        pieces, failure = await collect_completion(client)
    assert isinstance(failure, kind)
    assert len(pieces) == count


@pytest.mark.parametrize(("sent", "words"), [(1, "fell silent"), (0, "did not begin")])
async def test_silence_ends(sent: int, words: str) -> None:
    async def stalled(connection: Connection, _request: ReceivedRequest) -> None:
        await connection.write_head(200, SSE_HEADERS)
        for piece in ANSWER[:sent]:
            await connection.write_chunk(piece)
        await asyncio.Event().wait()

    first = HANG_TIMEOUT if sent else 0.3
    async with connect_client(stalled, timeouts=Timeouts(first_token=first, idle=0.2)) as (upstream, client):
        _, failure = await collect_completion(client)
        await upstream.wait_closed(1)
    with pytest.raises(errors.UpstreamTimeout, match=words):
        raise failure or AssertionError("no failure")


async def test_nobody_there() -> None:
    async with FakeUpstream() as upstream:
        origin = upstream.origin
    client = LlamaServerClient(origin)
    _, failure = await collect_completion(client)
    assert isinstance(failure, errors.UpstreamRefused)
    assert not await client.is_healthy()
    await client.close()
    _, failure = await collect_completion(client)
    assert isinstance(failure, errors.UpstreamRefused)


@pytest.mark.parametrize("grammar", ["%llguidance {}\nstart: 'a'", "  \n%llguidance {}"])
async def test_a_grammar_that_could_end_a_server_is_not_passed_on(grammar: str) -> None:
    async with connect_client(send_raw([WHOLE])) as (upstream, client):
        _, failure = await collect_completion(client, grammar=grammar)
        assert isinstance(failure, errors.CallerError)
        assert failure.param == "grammar"
        assert upstream.requests == []
        _, failure = await collect_completion(client, grammar='root ::= "%llguidance"')
        assert failure is None
    async with connect_client(send_raw([WHOLE]), own_server=True) as (upstream, client):
        _, failure = await collect_completion(client, grammar=grammar)
        assert failure is None
        assert upstream.requests[0].json["grammar"] == grammar


async def test_half_a_character_is_the_callers_fault() -> None:
    async with connect_client(send_raw([WHOLE])) as (upstream, client):
        _, failure = await collect_completion(client, prompt="\ud800")
        assert type(failure) is errors.CallerError
        assert upstream.requests == []


async def test_the_endpoints_around_it() -> None:
    replies: dict[str, object] = {
        "/tokenize": {"tokens": [1, 2]},
        "/detokenize": {"content": "hé"},
        "/props": {"bos_token": "<s>"},
        "/slots": [{"id": 0}],
        "/slots/1?action=save": {"n_saved": 3},
        "/v1/embeddings": {"data": []},
        "/health": {"status": "ok"},
    }

    async def reply(connection: Connection, request: ReceivedRequest) -> None:
        await write_json(connection, 200, replies[request.target])

    async with connect_client(reply) as (upstream, client):
        assert await client.tokenize("a", special=False, add=True) == [1, 2]
        assert upstream.requests[0].json == {"content": "a", "add_special": True, "parse_special": False}
        assert await client.detokenize([1, 2]) == "hé"
        assert await client.get_props() == {"bos_token": "<s>"}
        assert await client.list_slots() == [{"id": 0}]
        await client.run_slot_action(1, "save", "thread.bin")
        assert upstream.requests[-1].json == {"filename": "thread.bin"}
        assert await client.embed({"input": "x"}) == {"data": []}
        assert await client.is_healthy()
        replies["/tokenize"] = {"tokens": [{"id": 1, "piece": "a"}, {"id": 2, "piece": [240, 159]}]}
        assert await client.tokenize_with_pieces("a") == [TokenPiece(1, "a"), TokenPiece(2, [240, 159])]


@pytest.mark.parametrize("value", [{}, [], {"tokens": "x"}, {"tokens": [1.5]}])
async def test_an_unexpected_reply(value: object) -> None:
    async with connect_client(make_json_reply(200, value)) as (_, client):
        with pytest.raises(errors.UpstreamGarbled, match="/tokenize"):
            await client.tokenize("a")
        with pytest.raises(errors.UpstreamGarbled):
            await client.detokenize([1])


async def test_health_while_loading() -> None:
    async with connect_client(make_json_reply(503, {"error": {"message": "Loading model"}})) as (_, client):
        assert not await client.is_healthy()


@pytest.mark.long
async def test_many_at_a_time() -> None:
    async with connect_client(send_raw([WHOLE])) as (_, client):
        done = await asyncio.gather(*(collect_completion(client) for _ in range(150)))
    assert all(failure is None and len(pieces) == 4 for pieces, failure in done)


@pytest.mark.parametrize(
    ("url", "target"), [("{}/", "/props"), ("{}/v1", "/props"), ("{}/a/b/", "/a/b/props"), ("{}/a/v1/", "/a/props")]
)
async def test_addresses(url: str, target: str) -> None:
    async with FakeUpstream() as upstream:
        upstream.reply = make_json_reply(200, {})
        client = LlamaServerClient(url.format(upstream.origin))
        await client.get_props()
        await client.close()
        assert upstream.requests[0].target == target


@pytest.mark.parametrize("url", ["", "localhost:80", "ftp://a", "http://", "http://a:b@c", "http://[x"])
def test_addresses_that_are_none(url: str) -> None:
    with pytest.raises(errors.ConfigError, match="address"):
        LlamaServerClient(url)
