"""One line for each request, and nothing in it that is nobody's business."""

import json
import logging
from collections.abc import Iterator

import pytest

from rightseat import Runtime
from rightseat.cli.log import ConsoleFormatter, JsonFormatter
from rightseat.config.secret import Secret
from rightseat.config.settings import AuthSettings, ServerSettings
from rightseat.http.auth import Authenticator
from rightseat.http.endpoint import REQUEST_ID
from tests.kit.app_server import FakeModel, reply_text, serve_runtime
from tests.kit.client import RawHttpClient

pytestmark = pytest.mark.io

KEYED = Authenticator(AuthSettings(keys={"alice": Secret("canary-key")}))
CHAT = {"messages": [{"role": "user", "content": "canary-words"}]}


class LogCapture(logging.Handler):
    """Every record as both formats write it, at the time it is written."""

    def __init__(self) -> None:
        super().__init__()
        self.json: list[dict[str, object]] = []
        self.text: list[str] = []
        self.requests: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.json.append(json.loads(JsonFormatter().format(record)))
        self.text.append(ConsoleFormatter().format(record))
        self.requests.append(REQUEST_ID.get())


@pytest.fixture
def log() -> Iterator[LogCapture]:
    logger = logging.getLogger("rightseat.access")
    handler = LogCapture()
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    yield handler
    logger.removeHandler(handler)
    logger.setLevel(logging.NOTSET)


@pytest.mark.demand("server.access_line_per_request")
async def test_one_line_per_request(log: LogCapture) -> None:
    settings = ServerSettings(port=0, trusted_proxies=("127.0.0.1",))
    async with serve_runtime(Runtime(model=FakeModel(reply_text("canary-answer"))), settings, KEYED) as server:
        for method, target, headers in (
            ("POST", "/v1/chat/completions?token=canary-query", {"X-Api-Key": "canary-key"}),
            ("POST", "/agui/canary-agent", {"X-Api-Key": "canary-key"}),
            ("POST", "/v1/chat/completions", {"X-Api-Key": "canary-wrong"}),
            ("GET", "/health", {"X-Forwarded-For": "203.0.113.7"}),
            ("GET", "/canary-path", {}),
        ):
            async with RawHttpClient(server.url) as client:
                given = {"X-Request-Id": f"r-{len(log.json)}", **headers}
                await (client.post_json(target, CHAT, given) if method == "POST" else client.get(target, given))
                await client.read_head()
                await client.read_body()
    keys = ("method", "path", "status", "owner", "client", "request_id", "level")
    assert [tuple(line[key] for key in keys) for line in log.json] == [
        ("POST", "/v1/chat/completions", 200, "key", "127.0.0.1", "r-0", "info"),
        ("POST", "/agui/{agent}", 404, "key", "127.0.0.1", "r-1", "info"),
        ("POST", "/v1/chat/completions", 401, "-", "127.0.0.1", "r-2", "info"),
        ("GET", "/health", 200, "open", "203.0.113.7", "r-3", "info"),
        ("GET", "(none)", 404, "-", "127.0.0.1", "r-4", "info"),
    ]
    assert all(isinstance(line["ms"], float) and line["ms"] >= 0 for line in log.json)
    assert (log.json[0]["run"], bool(log.json[0]["thread"])) == ("r-0", True)
    assert f"[r-0 {log.json[0]['thread']}] POST /v1/chat/completions 200" in log.text[0]
    assert "[r-3] GET /health 200" in log.text[3]
    codes = [line.get("code") for line in log.json]
    assert codes == [None, "agent_not_found", "unauthorized", None, "not_found"]
    assert "canary" not in json.dumps(log.json) + "".join(log.text)


@pytest.mark.demand("server.access_line_per_request")
async def test_a_client_that_leaves_is_a_line_too(log: LogCapture) -> None:
    async with serve_runtime(Runtime(model=FakeModel())) as server:
        async with RawHttpClient(server.url) as client:
            head = b"POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n"
            await client.send(head + b"{")
        async with RawHttpClient(server.url) as client:
            await client.get("/health")
            await client.read_head()
            await client.read_body()
    assert sorted(str(line["status"]) for line in log.json) == ["200", "499"]


@pytest.mark.demand("server.access_line_per_request")
async def test_it_can_be_switched_off(log: LogCapture) -> None:
    quiet = ServerSettings(port=0, access_log=False)
    async with serve_runtime(Runtime(model=FakeModel()), quiet) as server, RawHttpClient(server.url) as client:
        await client.get("/health")
        await client.read_head()
        await client.read_body()
    assert log.json == []


@pytest.mark.demand("copilotkit.graphql_refusals_count_access")
async def test_a_refusal_that_must_be_a_200_is_counted_as_what_it_is(log: LogCapture) -> None:
    """A client of CopilotKit's up to 1.10 shows its user nothing of any other status."""
    gql = {"X-CopilotKit-Runtime-Client-GQL-Version": "1.10.6", "Accept": "application/json"}
    agent = {"query": '{ loadAgentState(data: {agentName: "x", threadId: "t"}) { state } }'}
    variables = {"data": {"metadata": {}, "messages": [], "frontend": {"actions": []}}}
    fields = "generateCopilotResponse(data: $data) { threadId }"
    run = f"mutation($data: GenerateCopilotResponseInput!) {{ {fields} }}"
    asked: list[tuple[object, str, int]] = [
        ({"query": "{ hello }"}, "canary-key", 200),
        ({"query": "{ nothing }"}, "canary-key", 400),
        ({"query": ""}, "canary-key", 400),
        (agent, "canary-key", 404),
        ({"query": run, "variables": variables}, "canary-key", 400),
        ({"query": "{ hello }"}, "wrong", 401),
    ]
    runtime = Runtime(model=FakeModel())
    async with serve_runtime(runtime, authenticate=KEYED) as server:
        for value, key, _ in asked:
            async with RawHttpClient(server.url) as client:
                await client.post_json("/copilotkit", value, {**gql, "X-Api-Key": key})
                assert (await client.read_head()).status == 200
                await client.read_body()
        # The line is written when the answer is out.
        async with RawHttpClient(server.url) as client:
            await client.get("/health")
            await client.read_head()
    assert [line["status"] for line in log.json][: len(asked)] == [status for *_, status in asked]
    counted = [line for line in runtime.meters.to_prometheus().decode().splitlines() if '"/copilotkit"' in line]
    assert [line for line in counted if 'status="404"' in line and line.endswith(" 1.0")], counted


async def test_a_status_that_says_it_already_is_the_one_in_the_log(log: LogCapture) -> None:
    """OpenBB's is 422 where ours is 400: the log has what the client saw."""
    async with serve_runtime(Runtime(model=FakeModel())) as server:
        async with RawHttpClient(server.url) as client:
            await client.post_json("/v1/query", {"messages": "x"})
            assert (await client.read_head()).status == 422
            await client.read_body()
        async with RawHttpClient(server.url) as client:
            await client.get("/health")
            await client.read_head()
    assert log.json[0]["status"] == 422
