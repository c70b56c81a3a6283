"""Floods and nonsense: refused at once, in words, and the next request is served."""

import json
import time
from typing import Any

import pytest

from rightseat import Runtime
from rightseat.config.settings import GraphQLLimits
from rightseat.doors.copilotkit import graphql_document
from rightseat.types.chunks import FinishChunk, ModelChunk, TextChunk
from tests.kit.app_server import FakeModel, reply_text
from tests.kit.client import RawHttpClient
from tests.unit.doors.copilotkit.client import (
    DOCUMENT,
    GENERIC_DOCUMENT,
    PATH,
    GraphQLAnswer,
    make_action,
    make_input,
    make_request_body,
    parse_answer,
    post_graphql,
    serve_copilotkit,
)

pytestmark = pytest.mark.io

# Of CPU, as no machine is too slow for it: each is refused in a few hundredths of one here.
SECONDS = 2
FLOODS = {
    "aliases": "{" + " ".join(f"a{n}: hello" for n in range(1000)) + "}",
    "some aliases": "{" + " ".join(f"a{n}: hello" for n in range(40)) + "}",
    "fields": "{" + " hello" * 400 + "}",
    "selections": "{" + " availableAgents { agents { name } }" * 120 + "}",
    "depth": "{ availableAgents" * 200 + "}" * 200,
    "deep": "{ a" * 490 + "}" * 490,
    "lists": "{ loadAgentState(data: " + "[" * 400 + "]" * 400 + ") { state } }",
    "directives": "{ hello" + " @skip(if: false)" * 150 + "}",
    "defers": "{ availableAgents {" + " ... @defer { agents { name } }" * 100 + "} }",
    "fragments": "{ ...F0 } "
    + " ".join(f"fragment F{n} on Query {{ ...F{n + 1} ...F{n + 1} }}" for n in range(14))
    + " fragment F14 on Query { hello }",
    "circle": "{ ...F } fragment F on Query { ...F }",
    "operations": " ".join(f"query Q{n} {{ hello }}" for n in range(100)),
    "length": "{ hello " + "#" + "x" * 30_000 + "\n}",
    "tokens": "{ hello(" + "a: 1 " * 500 + ") }",
    "introspection": "{ __schema { types { fields { type { fields { type { name } } } } } } }",
    "runs": "mutation($d: GenerateCopilotResponseInput!) { a: generateCopilotResponse(data: $d) { threadId } "
    "b: generateCopilotResponse(data: $d) { threadId } }",
    "surrogate": "{ hello \ud800 }",
}


@pytest.mark.demand("copilotkit.abuse_depth_alias_batch")
@pytest.mark.parametrize("name", FLOODS)
async def test_a_flood_of_a_document(name: str) -> None:
    model = FakeModel(reply_text("ok"), reply_text("ok"), reply_text("ok"))
    value = {"query": FLOODS[name], "variables": {"d": make_input()}}
    async with serve_copilotkit(Runtime(model=model)) as url:
        await post_graphql(url, {"query": "{ hello }"})
        start = time.process_time()
        answer = await post_graphql(url, value, "application/graphql-response+json, multipart/mixed")
        assert time.process_time() - start < SECONDS
        assert answer.head.status in (200, 400)
        assert answer.errors[0]["message"]
        assert (await post_graphql(url, {"query": "{ hello }"})).data == {"hello": "Hello World"}


LIMITS = {
    "max_characters": ("aliases", "more than 1 characters"),
    "max_tokens": ("some aliases", "1 token"),
    "max_depth": ("deep enough", "at most 1 are"),
    "max_selections": ("two fields", "selections in one place; at most 1 are"),
    "max_aliases": ("two aliases", "aliases; at most 1 are"),
    "max_directives": ("two directives", "directives; at most 1 are"),
    "max_definitions": ("two operations", "definitions; at most 1 are"),
}
SMALL = {
    "deep enough": "{ availableAgents { agents { name } } }",
    "two fields": "{ hello availableAgents { agents { name } } }",
    "two aliases": "{ a: hello b: hello }",
    "two directives": "{ hello @skip(if: false) @include(if: true) }",
    "two operations": "query A { hello } query B { hello }",
}


@pytest.mark.demand("copilotkit.abuse_depth_alias_batch")
@pytest.mark.parametrize("limit", LIMITS)
async def test_the_limits_are_the_operators(limit: str) -> None:
    name, words = LIMITS[limit]
    query = SMALL.get(name) or FLOODS[name]
    value = {"query": query, "operationName": "A" if "query A" in query else None}
    async with serve_copilotkit(Runtime(model=FakeModel()), graphql=GraphQLLimits(**{limit: 1})) as url:
        answer = await post_graphql(url, value)
        assert words in answer.errors[0]["message"]
    if name in SMALL:
        async with serve_copilotkit(Runtime(model=FakeModel())) as url:
            assert (await post_graphql(url, value)).errors == []


def to_bytes(value: Any) -> bytes:
    return value if isinstance(value, bytes) else json.dumps(value).encode()


async def post_raw(url: str, body: bytes) -> GraphQLAnswer:
    async with RawHttpClient(url) as client:
        lines = f"POST {PATH} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        await client.send(f"{lines}Content-Length: {len(body)}\r\n\r\n".encode() + body)
        return parse_answer(await client.read_head(), await client.read_body())


@pytest.mark.demand("copilotkit.abuse_depth_alias_batch")
@pytest.mark.parametrize(
    "value",
    [
        b"",
        b"{",
        b"null",
        b"7",
        b'"x"',
        b"\xff\xfe",
        b"{}",
        [{"query": "{ hello }"}] * 1000,
        {"query": 7},
        {"query": "{ hello }", "variables": 7},
        {"query": "{ hello }", "variables": []},
        {"query": "{ hello }", "operationName": {}},
        {"query": DOCUMENT, "variables": {"data": 7}},
        {"query": DOCUMENT, "variables": {"data": make_input(), "properties": []}},
        {"query": DOCUMENT},
        b'{"query": "{ hello }", "variables": {"a": ' + b"[" * 200_000 + b"]" * 200_000 + b"}}",
        b'{"query": ' + json.dumps(DOCUMENT).encode() + b', "variables": {"data": ' + b'{"a":' * 100_000,
    ],
)
async def test_a_body_that_is_no_request(value: Any) -> None:
    async with serve_copilotkit(Runtime(model=FakeModel())) as url:
        answer = await post_raw(url, to_bytes(value))
        assert answer.head.status in (200, 400)
        assert answer.errors[0]["message"]
        assert (await post_graphql(url, {"query": "{ hello }"})).data == {"hello": "Hello World"}


@pytest.mark.demand("copilotkit.abuse_depth_alias_batch")
@pytest.mark.parametrize("document", [DOCUMENT, GENERIC_DOCUMENT])
async def test_ten_megabytes_of_variables(document: str) -> None:
    async with serve_copilotkit(Runtime(model=FakeModel(reply_text("ok"))), max_body_mb=10) as url:
        big = make_input(properties_of_nobody="x" * 9_000_000)
        answer = await post_graphql(
            url, make_request_body(big, document), headers={"X-CopilotKit-Runtime-Client-GQL-Version": "1"}
        )
        assert answer.head.status == 200
        assert len(answer.raw) < 10_000
        assert "properties_of_nobody" in answer.errors[0]["message"]
        over = to_bytes(make_request_body(make_input(threadId="x" * 11_000_000), document))
        async with RawHttpClient(url) as client:
            lines = f"POST {PATH} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
            await client.send(f"{lines}Content-Length: {len(over)}\r\n\r\n".encode())
            large = parse_answer(await client.read_head(), await client.read_body())
    assert large.head.status == 413
    assert large.errors[0]["extensions"]["originalErrorType"] == "too_large"


@pytest.mark.demand("copilotkit.abuse_depth_alias_batch")
@pytest.mark.parametrize(
    "schema",
    [
        "",
        "{",
        "7",
        '"x"',
        '{"type": 7}',
        '{"type":"object","properties":{"a":{"pattern":"("}}}',
        '{"$ref":"http://127.0.0.1:1/x"}',
        '{"$ref":"file:///etc/passwd"}',
        '{"a":' * 5000 + "1" + "}" * 5000,
        json.dumps({"type": "object", "properties": {f"p{n}": {} for n in range(50_000)}}),
    ],
)
async def test_a_bad_schema_of_an_action(schema: str) -> None:
    async with serve_copilotkit(Runtime(model=FakeModel(reply_text("ok")))) as url:
        given = make_input(frontend={"actions": [make_action(schema=schema)]})
        start = time.process_time()
        answer = await post_graphql(url, make_request_body(given))
        assert time.process_time() - start < SECONDS
    if schema:
        [error] = answer.errors
        assert error["extensions"]["code"] == "CONFIGURATION_ERROR"
        assert "data.frontend.actions[0].jsonSchema" in error["message"]
        assert len(error["message"]) <= 500
    else:
        assert answer.text == "ok"


@pytest.mark.demand("copilotkit.abuse_depth_alias_batch")
@pytest.mark.parametrize("name", ["a b", "", "x" * 129, "a\n", "é"])
async def test_a_bad_name_of_an_action(name: str) -> None:
    async with serve_copilotkit(Runtime(model=FakeModel())) as url:
        for way in (DOCUMENT, GENERIC_DOCUMENT):
            answer = await post_graphql(
                url, make_request_body(make_input(frontend={"actions": [make_action(name)]}), way)
            )
            assert "name" in answer.errors[0]["message"]


NASTY = ["\r\n---\r\n", "\r\n-----\r\n", "---", "\r\n\r\n{}", "data: x\n\n", "\u2028\u0085\x00", '"\\', "event: y\r\r"]


@pytest.mark.demand("copilotkit.multipart_mixed_form_urql")
@pytest.mark.parametrize("accept", ["multipart/mixed", "text/event-stream"])
@pytest.mark.parametrize("way", [DOCUMENT, GENERIC_DOCUMENT])
async def test_text_cannot_break_a_frame(accept: str, way: str) -> None:
    line: list[ModelChunk] = [*(TextChunk(words) for words in NASTY), FinishChunk("stop")]
    async with serve_copilotkit(Runtime(model=FakeModel(line))) as url:
        answer = await post_graphql(url, make_request_body(make_input(threadId="\r\n---\r\n"), way), accept)
    assert answer.messages[0]["content"] == NASTY
    assert answer.response["threadId"] == "\r\n---\r\n"


@pytest.mark.demand("copilotkit.abuse_depth_alias_batch")
async def test_documents_are_kept_within_a_limit() -> None:
    async with serve_copilotkit(Runtime(model=FakeModel())) as url:
        for number in range(graphql_document.CACHE_SIZE + 20):
            await post_graphql(url, {"query": f"query Q{number} {{ hello }}"})
    kept = graphql_document.prepare_document.cache_info()
    assert kept.maxsize == graphql_document.CACHE_SIZE
    assert kept.currsize == graphql_document.CACHE_SIZE
