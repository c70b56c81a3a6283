"""The bytes: framing, Accept, GET, refusals, keys, and a server that says nothing of its version."""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any
from urllib.parse import quote

import pytest

from rightseat import Runtime
from rightseat.config.secret import Secret
from rightseat.config.settings import AuthSettings
from rightseat.http.auth import Authenticator
from rightseat.types.chunks import ModelChunk, TextChunk
from rightseat.types.model import Prompt
from tests.kit.app_server import FakeModel, reply_text
from tests.kit.client import RawHttpClient
from tests.unit.doors.copilotkit.client import (
    DOCUMENT,
    GENERIC_DOCUMENT,
    PATH,
    UNSTREAMED_DOCUMENT,
    GraphQLAnswer,
    make_action,
    make_input,
    make_request_body,
    parse_answer,
    post_graphql,
    serve_copilotkit,
)

pytestmark = pytest.mark.io

CLIENT = {"X-CopilotKit-Runtime-Client-GQL-Version": "1.10.6"}
AGENTS = {"query": "{ availableAgents { agents { name id description __typename } __typename } }"}


def make_runtime() -> Runtime:
    return Runtime(model=FakeModel(reply_text("Hello", ", ", "world", "!")))


async def get_answer(url: str, target: str, accept: str = "application/json") -> GraphQLAnswer:
    async with RawHttpClient(url) as client:
        await client.get(target, {"Accept": accept})
        return parse_answer(await client.read_head(), await client.read_body())


@pytest.mark.demand("copilotkit.multipart_mixed_form_urql", "copilotkit.message_ids_parent_ids")
async def test_parts_as_the_peer_writes_them() -> None:
    async with serve_copilotkit(make_runtime()) as url:
        answer = await post_graphql(url, make_request_body(make_input()))
    assert answer.head.headers["content-type"] == 'multipart/mixed; boundary="-"'
    # A version that is not the client's own raises a banner.
    assert "x-copilotkit-runtime-version" not in answer.head.headers
    first, begun, *chunks, last = answer.frames
    assert first["data"]["generateCopilotResponse"] == {
        "threadId": "t1",
        "runId": None,
        "extensions": None,
        "messages": [],
        "metaEvents": [],
        "__typename": "CopilotResponse",
    }
    assert begun["incremental"][0]["path"] == ["generateCopilotResponse", "messages", 0]
    path = ["generateCopilotResponse", "messages", 0, "content"]
    assert [c["incremental"] for c in chunks] == [
        [{"items": [word], "path": [*path, n]}] for n, word in enumerate(("Hello", ", ", "world", "!"))
    ]
    assert [sorted(entry) for entry in last["incremental"]] == [["data", "path"], ["data", "path"]]
    [message] = answer.messages
    assert message["status"] == {"code": "Success", "__typename": "SuccessMessageStatus"}
    assert message["createdAt"][-5] == "."
    assert message["createdAt"].endswith("Z")
    assert answer.response["status"] == {"code": "Success", "__typename": "SuccessResponseStatus"}


@pytest.mark.demand("copilotkit.text_event_stream_plain")
@pytest.mark.parametrize("document", [DOCUMENT, GENERIC_DOCUMENT])
async def test_events_where_a_client_takes_only_those(document: str) -> None:
    async with serve_copilotkit(make_runtime()) as url:
        answer = await post_graphql(url, make_request_body(make_input(), document), "text/event-stream")
    assert answer.head.headers["content-type"] == "text/event-stream"
    assert answer.text == "Hello, world!"


@pytest.mark.demand("copilotkit.text_event_stream_plain")
@pytest.mark.parametrize("accept", [None, "*/*", "multipart/mixed", "text/event-stream;q=0, multipart/*"])
async def test_parts_where_anything_is_taken(accept: str | None) -> None:
    async with serve_copilotkit(make_runtime()) as url:
        answer = await post_graphql(url, make_request_body(make_input()), accept)
    assert answer.head.headers["content-type"].startswith("multipart/mixed")
    assert answer.text == "Hello, world!"


@pytest.mark.demand("copilotkit.text_event_stream_plain")
@pytest.mark.parametrize(
    ("accept", "kind"),
    [
        (None, "application/json"),
        ("application/json", "application/json"),
        ("application/graphql-response+json, application/json", "application/graphql-response+json"),
    ],
)
async def test_one_json_for_a_document_without_directives(accept: str | None, kind: str) -> None:
    async with serve_copilotkit(make_runtime()) as url:
        answer = await post_graphql(url, make_request_body(make_input(), UNSTREAMED_DOCUMENT), accept)
    assert answer.head.headers["content-type"] == f"{kind}; charset=utf-8"
    assert answer.text == "Hello, world!"
    assert answer.response["status"]["code"] == "Success"


@pytest.mark.demand("copilotkit.text_event_stream_plain")
async def test_a_stream_that_is_not_accepted() -> None:
    async with serve_copilotkit(make_runtime()) as url:
        answer = await post_graphql(url, make_request_body(make_input()), "application/json")
        assert answer.head.status == 406
        assert (await post_graphql(url, AGENTS, "image/png")).head.status == 406
        events = await post_graphql(url, AGENTS, "text/event-stream")
    assert events.data["availableAgents"]["agents"][0]["name"] == "default"


@pytest.mark.demand("copilotkit.whole_schema_clients_compiled", "copilotkit.text_event_stream_plain")
async def test_queries_by_get_and_by_post() -> None:
    async with serve_copilotkit(make_runtime()) as url:
        posted = await post_graphql(url, AGENTS)
        got = await get_answer(url, f"{PATH}?query={quote(AGENTS['query'])}")
        hello = await get_answer(url, f"{PATH}?query={quote('query A { hello } query B { hello }')}&operationName=B")
        mutation = await get_answer(url, f"{PATH}?query={quote(DOCUMENT)}&variables=%7B%7D", "*/*")
        nothing = await get_answer(url, PATH, "text/html")
    assert posted.data == got.data
    assert posted.data["availableAgents"]["__typename"] == "AgentsResponse"
    assert hello.data == {"hello": "Hello World"}
    assert (mutation.head.status, mutation.head.headers["allow"]) == (405, "POST")
    assert nothing.head.status == 405


@pytest.mark.demand("copilotkit.whole_schema_clients_compiled")
async def test_agent_state() -> None:
    fields = "threadId threadExists state messages"
    query = f"query($data: LoadAgentStateInput!) {{ loadAgentState(data: $data) {{ {fields} }} }}"
    async with serve_copilotkit(make_runtime()) as url:
        found, missing = [
            await post_graphql(url, {"query": query, "variables": {"data": {"agentName": name, "threadId": "t9"}}})
            for name in ("default", "nope")
        ]
    state = {"threadId": "t9", "threadExists": False, "state": "{}", "messages": "[]"}
    assert found.data == {"loadAgentState": state}
    assert (missing.head.status, missing.data) == (200, None)
    assert missing.errors[0]["path"] == ["loadAgentState"]
    assert missing.errors[0]["extensions"]["code"] == "AGENT_NOT_FOUND"


BAD: list[Any] = [
    {"query": "{ nothing }"},
    {"query": "{"},
    {"query": ""},
    {"query": None},
    {"query": "query A { hello } query B { hello }"},
    {"query": "query A { hello }", "operationName": "C"},
    {"query": UNSTREAMED_DOCUMENT, "variables": {}},
    {"query": UNSTREAMED_DOCUMENT, "variables": {"data": {**make_input(), "more": 1}}},
]


@pytest.mark.demand("copilotkit.errors_http_200_errors")
@pytest.mark.parametrize("value", BAD)
async def test_what_does_not_fit_the_schema(value: Any) -> None:
    """400 as GraphQL over HTTP has it; but of that CopilotKit's client shows its user nothing."""
    async with serve_copilotkit(make_runtime()) as url:
        for accept, headers, status in (
            ("application/graphql-response+json", {}, 400),
            ("application/json", {}, 200),
            ("application/graphql-response+json", CLIENT, 200),
        ):
            answer = await post_graphql(url, value, accept, headers)
            assert answer.head.status == status
            assert answer.errors[0]["message"]


@pytest.mark.demand("copilotkit.errors_http_200_errors")
@pytest.mark.parametrize("document", [DOCUMENT, GENERIC_DOCUMENT])
@pytest.mark.parametrize(
    ("more", "code", "words"),
    [
        ({"agentSession": {"agentName": "zzz"}}, "AGENT_NOT_FOUND", "zzz"),
        ({"frontend": {"actions": [make_action(schema="{")]}}, "CONFIGURATION_ERROR", "actions[0].jsonSchema"),
        ({"frontend": {"actions": [make_action(schema="[]")]}}, "CONFIGURATION_ERROR", "setColor"),
        ({"frontend": {"actions": [make_action(schema={"type": 7})]}}, "CONFIGURATION_ERROR", "jsonSchema"),
        ({"messages": []}, "CONFIGURATION_ERROR", "nothing to answer"),
        ({"forwardedParameters": {"maxTokens": 0}}, "CONFIGURATION_ERROR", "maxTokens"),
        ({"threadId": "t" * 201}, "CONFIGURATION_ERROR", "threadId"),
    ],
)
async def test_a_run_that_cannot_begin(document: str, more: Any, code: str, words: str) -> None:
    """Recorded: 200, no data, and an error with the place and with what the client shows."""
    async with serve_copilotkit(make_runtime()) as url:
        answer = await post_graphql(url, make_request_body(make_input(**more), document))
    assert (answer.head.status, answer.data) == (200, None)
    assert answer.head.headers["content-type"].startswith("application/graphql-response+json")
    [error] = answer.errors
    assert error["path"] == ["generateCopilotResponse"]
    assert words in error["message"]
    more = error["extensions"]
    severity = "critical" if code == "AGENT_NOT_FOUND" else "warning"
    assert (more["code"], more["visibility"], more["severity"]) == (code, "banner", severity)
    assert more["originalError"]["message"] == error["message"]


@pytest.mark.demand("copilotkit.abuse_depth_alias_batch")
@pytest.mark.parametrize("more", [{"thread": "x"}, {"runId": 7}, {"messages": [{"id": "1"}]}, {"frontend": {}}])
async def test_a_field_that_does_not_fit(more: Any) -> None:
    async with serve_copilotkit(make_runtime()) as url:
        for document in (DOCUMENT, GENERIC_DOCUMENT):
            answer = await post_graphql(url, make_request_body(make_input(**more), document), headers=CLIENT)
            assert answer.head.status == 200
            assert answer.errors[0]["message"]


KEYS = AuthSettings(keys={"ada": Secret("ada-key")})


@pytest.mark.demand("copilotkit.key_taken_authorization_x")
@pytest.mark.parametrize(
    "headers",
    [
        {"Authorization": "Bearer ada-key"},
        {"x-copilotcloud-public-api-key": "ada-key"},
        {"x-copilotcloud-public-api-key": "ada-key", "Authorization": "ada-key"},
    ],
)
async def test_a_key_by_either_header(headers: dict[str, str]) -> None:
    async with serve_copilotkit(make_runtime(), authenticate=Authenticator(KEYS)) as url:
        assert (await post_graphql(url, make_request_body(make_input()), headers=headers)).text == "Hello, world!"


@pytest.mark.demand("copilotkit.key_taken_authorization_x")
@pytest.mark.parametrize("headers", [{}, {"x-copilotcloud-public-api-key": "ck_pub_wrong"}])
async def test_no_key_is_said_in_the_words_of_the_client(headers: dict[str, str]) -> None:
    async with serve_copilotkit(make_runtime(), authenticate=Authenticator(KEYS)) as url:
        theirs = await post_graphql(url, make_request_body(make_input()), headers={**CLIENT, **headers})
        other = await post_graphql(url, make_request_body(make_input()), headers=headers)
    assert (theirs.head.status, theirs.data) == (200, None)
    assert theirs.errors[0]["extensions"]["code"] == "AUTHENTICATION_ERROR"
    assert "key" in theirs.errors[0]["message"]
    assert other.head.status == 401
    assert json.loads(other.raw)["code"] == "unauthorized"


@pytest.mark.demand("copilotkit.key_taken_authorization_x")
async def test_a_preflight_takes_the_clients_headers() -> None:
    asked = "content-type,x-copilotcloud-public-api-key,x-copilotkit-runtime-client-gql-version"
    async with serve_copilotkit(make_runtime(), cors=("https://app.example",)) as url, RawHttpClient(url) as client:
        lines = f"OPTIONS {PATH} HTTP/1.1\r\nHost: localhost\r\nOrigin: https://app.example\r\n"
        lines += f"Access-Control-Request-Method: POST\r\nAccess-Control-Request-Headers: {asked}\r\n\r\n"
        await client.send(lines.encode())
        head = await client.read_head()
    assert head.headers["access-control-allow-origin"] == "https://app.example"
    assert head.headers["access-control-allow-headers"] == asked


@pytest.mark.demand("copilotkit.multipart_mixed_form_urql")
async def test_keep_alives_are_parts_that_change_nothing() -> None:
    beats = asyncio.Event()

    async def slow(prompt: Prompt) -> AsyncIterator[ModelChunk]:
        yield TextChunk("one")
        await beats.wait()
        for fragment in reply_text(" two"):
            yield fragment

    alive = b'{"hasNext":true}'
    async with serve_copilotkit(Runtime(model=FakeModel(slow)), keep_alive=0.03) as url, RawHttpClient(url) as client:
        await client.post_json(PATH, make_request_body(make_input()), {"Accept": "*/*"})
        head = await client.read_head()
        raw = b""
        async for piece in client.iterate_pieces():
            raw += piece
            if raw.count(alive) >= 2:
                beats.set()
    answer = parse_answer(head, raw)
    assert answer.frames.count({"hasNext": True}) >= 2
    assert answer.text == "one two"


@pytest.mark.demand("copilotkit.graphiql_browser_introspection_switchable")
async def test_looking_around_is_off_until_it_is_switched_on() -> None:
    question = {"query": "{ __schema { queryType { name } } }"}
    async with serve_copilotkit(make_runtime()) as url:
        off = await post_graphql(url, question, "application/json")
        page = await get_answer(url, PATH, "text/html")
    assert off.data is None
    assert "introspection" in off.errors[0]["message"]
    assert page.head.status == 405
    async with serve_copilotkit(make_runtime(), introspection=True) as url:
        on = await post_graphql(url, question, "application/json")
        async with RawHttpClient(url) as client:
            await client.get(PATH, {"Accept": "text/html"})
            head = await client.read_head()
            html = (await client.read_body()).decode()
    assert on.data == {"__schema": {"queryType": {"name": "Query"}}}
    assert head.headers["content-type"] == "text/html; charset=utf-8"
    assert "default-src 'none'" in head.headers["content-security-policy"]
    assert "http" not in html.replace("https://", "http")


@pytest.mark.demand("copilotkit.valid_document_works_through")
async def test_any_document_that_is_valid() -> None:
    """Aliases, named fragments, a list twice, an initial count, skipped fields: graphql-core's business."""
    document = """mutation($d: GenerateCopilotResponseInput!, $no: Boolean = false) {
      again: generateCopilotResponse(data: $d) {
        one: messages { ...Words }
        two: messages @stream(initialCount: 1) { ...Words ... on TextMessageOutput @skip(if: true) { role } }
        metaEvents @include(if: $no) { name }
        ... @defer(label: "end") { status { __typename } }
      }
    }
    fragment Words on TextMessageOutput { all: content some: content @stream(initialCount: 2, label: "w") }"""
    async with serve_copilotkit(make_runtime()) as url:
        answer = await post_graphql(url, {"query": document, "variables": {"d": make_input()}})
    words = {"all": ["Hello", ", ", "world", "!"], "some": ["Hello", ", ", "world", "!"]}
    assert answer.data["again"] == {"one": [words], "two": [words], "status": {"__typename": "SuccessResponseStatus"}}
