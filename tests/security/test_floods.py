"""Heads and bodies made to hurt: each is a 4xx, costs little memory and few lines of log (rows 18, 31)."""

import contextlib
import gzip
import json

import pytest

from rightseat.http.security import RequestGuard
from rightseat.types.messages import MAX_TOOLS
from tests.faults.protocols import PeakMeter
from tests.kit.client import RawHttpClient
from tests.security import asgi_client
from tests.security.conftest import ALICE, Deployment

pytestmark = [pytest.mark.io, pytest.mark.asyncio(loop_scope="session")]

MB = 1_000_000
KEY_HEADERS = {"X-Api-Key": ALICE, "Content-Type": "application/json"}
POST_PATHS = ("/v1/chat/completions", "/agui/default", "/copilotkit", "/copilotkit/agent/default/run")
START = b"POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nX-Api-Key: " + ALICE.encode() + b"\r\n"
REQUEST_HEADS = {
    "a header of 1 MB": START + b"X: " + b"a" * MB + b"\r\n\r\n",
    "a target of 1 MB": b"GET /" + b"a" * MB + b" HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "10k headers": START + b"".join(b"X-%d: a\r\n" % n for n in range(10_000)) + b"\r\n",
    "101 headers": START + b"".join(b"X-%d: a\r\n" % n for n in range(101)) + b"\r\n",
    "10k bad cookies": START + b"Cookie: " + b";;=\x01, " * 10_000 + b"\r\n\r\n",
    "two hosts": START + b"Host: evil.com\r\n\r\n",
    "the same host twice": START + b"Host: localhost\r\n\r\n",
    "length and chunks": START + b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "two lengths": START + b"Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello",
    "a list of lengths": START + b"Content-Length: 5, 5\r\n\r\nhello",
    "a negative length": START + b"Content-Length: -1\r\n\r\n",
    "a length with a plus": START + b"Content-Length: +5\r\n\r\nhello",
    "an odd coding": START + b"Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n",
    "a folded header": START + b"X: a\r\n b: c\r\n\r\n",
    "a space before the colon": START + b"Content-Length : 5\r\n\r\nhello",
    "a header without a colon": START + b"nonsense\r\n\r\n",
    "a NUL in a header": START + b"X: a\0b\r\n\r\n",
    "a bare LF": START.replace(b"\r\n", b"\n") + b"\n",
    "a bad chunk": START + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n",
    "a chunk of 2^64": START + b"Transfer-Encoding: chunked\r\n\r\n" + b"f" * 17 + b"\r\n",
    "no HTTP": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n",
}
# A door would refuse most of these too, for its body: each must be refused for its head, before a door sees it.
LARGE_HEADS = {"a header of 1 MB", "a target of 1 MB", "10k headers", "101 headers"}
TWO_HOSTS = {"two hosts", "the same host twice"}


def find_refusal(name: str) -> tuple[int, str]:
    if name in LARGE_HEADS:
        return 431, "headers_too_large"
    return 400, "bad_host" if name in TWO_HOSTS else "bad_http"


@pytest.mark.demand("engine.security_rows_18_31")
@pytest.mark.parametrize("name", REQUEST_HEADS)
async def test_a_bad_head_is_refused(deployment: Deployment, name: str) -> None:
    lines = deployment.server.stderr.count("\n")
    async with PeakMeter(lambda: deployment.server.rss_bytes).track() as rss:
        for _ in range(5):
            async with RawHttpClient(deployment.server.url) as client:
                await client.send(REQUEST_HEADS[name])
                head = await client.read_head()
                code = (await client.read_json())["error"]["code"]
            assert (head.status, code) == find_refusal(name)
    assert rss.growth < 20 * MB
    assert deployment.server.stderr.count("\n") - lines < 100
    await deployment.assert_works()


@pytest.mark.demand("engine.security_rows_18_31")
async def test_ten_thousand_bad_heads_are_few_lines(deployment: Deployment) -> None:
    lines = deployment.server.stderr.count("\n")
    for _ in range(50):
        async with RawHttpClient(deployment.server.url) as client:
            await client.send(b"GET / HTTP/1.1\r\nHost: localhost\r\nCookie: " + b"a" * 100_000)
            assert (await client.read_head()).status == 431
    assert deployment.server.stderr.count("\n") - lines < 100


DEEP = 200_000
DIGITS = "9" * 100_000


def wrap_value(value: str) -> dict[str, str]:
    """The value in every place of a request that takes one, as JSON text."""
    message = '{"role": "user", "content": "hello"}'
    return {
        "as the body": value,
        "as the messages": f'{{"messages": {value}}}',
        "as a content": f'{{"messages": [{{"role": "user", "content": {value}}}]}}',
        "as a part": f'{{"messages": [{{"role": "user", "content": [{value}]}}]}}',
        "as parameters": f'{{"messages": [{message}], "tools": [{{"type": "function", "name": "a", '
        f'"function": {{"name": "a", "parameters": {{"x": {value}}}}}, "parameters": {{"x": {value}}}}}]}}',
        "as state": f'{{"messages": [{message}], "state": {value}, "forwardedProps": {value}}}',
        "as a payload": f'{{"messages": [{message}], "resume": [{{"interruptId": "a", "payload": {value}}}]}}',
        "as a seed": f'{{"messages": [{message}], "seed": {value}}}',
        "as a temperature": f'{{"messages": [{message}], "temperature": {value}}}',
        "as a bias": f'{{"messages": [{message}], "logit_bias": {{"1": {value}}}}}',
        "as an unknown field": f'{{"messages": [{message}], "x": {value}}}',
        "as a name": f'{{"messages": [{message}], "model": {value}, "threadId": {value}}}',
    }


BOMBS = {
    "lists": "[" * DEEP + "]" * DEEP,
    "objects": '{"a":' * DEEP + "1" + "}" * DEEP,
    "open lists": "[" * DEEP,
    "digits": DIGITS,
    "minus digits": f"-{DIGITS}",
    "fraction digits": f"0.{DIGITS}",
    "exponent": "1e999999999",
    "lone surrogate": '"\\ud800"',
    "lone low surrogate": '"a\\udfffb"',
    "lone surrogate as a key": '{"\\ud800": 1}',
    "NaN": "NaN",
    "nothing": "",
    "twice": '{"a": 1, "a": {"a": 1}}',
    "NUL": '"\\u0000"',
}


@pytest.mark.demand("copilotkit.abuse_depth_alias_batch")
@pytest.mark.parametrize("bomb", [pytest.param(name, marks=[pytest.mark.long] * (name == "objects")) for name in BOMBS])
async def test_a_bomb_is_refused_or_harmless(deployment: Deployment, bomb: str) -> None:
    async with PeakMeter(lambda: deployment.server.rss_bytes).track() as rss:
        for place, body in wrap_value(BOMBS[bomb]).items():
            for path in POST_PATHS:
                head, answer = await deployment.send_request("POST", path, KEY_HEADERS, body.encode())
                assert head.status == 200 or 400 <= head.status < 500, f"{place} at {path}: {answer[:200]!r}"
                assert b'"internal"' not in answer, f"{place} at {path}"
    assert rss.growth < 50 * MB
    assert "Traceback" not in deployment.server.stderr
    await deployment.assert_works()


@pytest.mark.demand("engine.security_rows_18_31")
@pytest.mark.parametrize("path", POST_PATHS[:3])
async def test_a_bomb_as_the_body_is_a_4xx(deployment: Deployment, path: str) -> None:
    for bomb, value in BOMBS.items():
        head, _ = await deployment.send_request("POST", path, KEY_HEADERS, value.encode())
        assert head.status == 400, bomb


@pytest.mark.parametrize(
    "body", [b"\xff\xfe", b'{"messages": "\xc3\x28"}', b"\xef\xbb\xbf{}", '{"messages": []}'.encode("utf-16")]
)
async def test_what_is_not_utf8_is_refused(deployment: Deployment, body: bytes) -> None:
    for path in POST_PATHS:
        assert (await deployment.send_request("POST", path, KEY_HEADERS, body))[0].status == 400


@pytest.mark.parametrize("coding", ["gzip", "GZIP", "deflate", "br", "zstd", "identity, gzip", "x"])
async def test_a_compressed_request_is_not_read(deployment: Deployment, coding: str) -> None:
    bomb = gzip.compress(b" " * (50 * MB), 9)
    async with PeakMeter(lambda: deployment.server.rss_bytes).track() as rss:
        for path in POST_PATHS:
            for body in (bomb, b"{}"):
                coded = {**KEY_HEADERS, "Content-Encoding": coding}
                head, answer = await deployment.send_request("POST", path, coded, body)
                # Any other reason would mean that the body was read.
                assert head.status == 400
                assert b"without Content-Encoding" in answer
    assert rss.growth < 20 * MB


@pytest.mark.parametrize("chunked", [False, True])
async def test_a_body_over_the_limit(deployment: Deployment, chunked: bool) -> None:
    body = b" " * (11 * MB)
    async with PeakMeter(lambda: deployment.server.rss_bytes).track() as rss:
        for path in POST_PATHS:
            head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nX-Api-Key: {ALICE}\r\n".encode()
            if chunked:
                data = head + b"Transfer-Encoding: chunked\r\n\r\n%x\r\n%b\r\n0\r\n\r\n" % (len(body), body)
            else:
                data = head + b"Content-Length: %d\r\n\r\n%b" % (len(body), body)
            async with RawHttpClient(deployment.server.url) as client:
                # It may have heard enough before the end; the answer then stands in our buffer.
                with contextlib.suppress(ConnectionError):
                    await client.send(data)
                assert (await client.read_head()).status == 413
    assert rss.growth < 50 * MB
    await deployment.assert_works()


async def test_more_tools_than_a_request_may_have(deployment: Deployment) -> None:
    function = {"name": "f", "description": "f", "parameters": {"type": "object"}}
    message = {"id": "1", "role": "user", "content": "fault-ok"}
    run_input = {"threadId": "t", "runId": "r", "messages": [message], "context": [], "state": {}}
    for count, status in ((MAX_TOOLS, 200), (MAX_TOOLS + 1, 400)):
        functions = [{**function, "name": f"f{number}"} for number in range(count)]
        tools = [{"type": "function", "function": one} for one in functions]
        for path, body in (
            ("/v1/chat/completions", {"messages": [message], "tools": tools}),
            ("/v1/chat/completions", {"messages": [message], "functions": functions}),
            ("/agui/default", {**run_input, "tools": functions}),
        ):
            head, answer = await deployment.send_request("POST", path, KEY_HEADERS, json.dumps(body).encode())
            assert head.status == status, answer[:200]
            assert status == 200 or str(MAX_TOOLS) in answer.decode()


async def test_a_body_over_the_limit_of_someone_unknown_is_not_read(deployment: Deployment) -> None:
    head, _ = await deployment.send_request("POST", POST_PATHS[0], {"Content-Length": str(9 * MB)})
    assert head.status == 401


async def test_without_the_guard_it_goes_red(monkeypatch: pytest.MonkeyPatch) -> None:
    body = json.dumps({"messages": [{"role": "user", "content": "x" * 2000}]}).encode()

    async def statuses() -> tuple[int, int]:
        app = asgi_client.make_app(max_body_mb=0.001)
        large = await asgi_client.send_request(app, "POST", POST_PATHS[0], [("x-api-key", ALICE)], body)
        coded = await asgi_client.send_request(
            asgi_client.make_app(), "POST", POST_PATHS[0], [("x-api-key", ALICE), ("content-encoding", "gzip")], body
        )
        return large.status, coded.status

    assert await statuses() == (413, 400)

    async def unguarded(_guard: RequestGuard, _headers: object, _receive: object) -> bytes:
        return body

    monkeypatch.setattr(RequestGuard, "read_body", unguarded)
    assert await statuses() == (200, 200)
