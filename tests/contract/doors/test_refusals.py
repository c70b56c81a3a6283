"""`on_error` is told of every error that a client is told: of a failed run once, and of what is refused before one."""

import ast
import asyncio
from pathlib import Path
from typing import Any

import pytest

import rightseat
from rightseat import Hooks, Runtime
from rightseat.config.secret import Secret
from rightseat.config.settings import AuthSettings
from rightseat.errors import Forbidden, UpstreamRefused
from rightseat.http.auth import Authenticator
from rightseat.middleware import hooks as hooks_module
from rightseat.runtime.incidents import Incident
from tests.contract.doors.members import MEMBERS
from tests.kit.app_server import FakeModel, reply_text, serve_runtime
from tests.kit.client import RawHttpClient
from tests.kit.waiting import wait_until

pytestmark = [pytest.mark.io, pytest.mark.demand("copilotkit.refusals_reported")]
SOURCE = Path(rightseat.__file__).parent
# Functions by which doors answer an error.
ANSWERS = {"make_reply", "make_full_response", "make_error_response", "make_error_reply", "refuse"} | {
    *("format_failure", "reply_errors", "refuse_graphql", "encode_content")
}
KEYS = Authenticator(AuthSettings(keys={"ann": Secret("sesame-7")}))


async def send(url: str, target: str, body: Any) -> int:
    async with RawHttpClient(url) as client:
        await client.post_json(target, body)
        status = (await client.read_head()).status
        await client.read_body()
    return status


def break_messages(value: Any) -> Any:
    """A number in the place of the messages, wherever they are."""
    if not isinstance(value, dict):
        return value
    return {name: 5 if name == "messages" else break_messages(inner) for name, inner in value.items()}


@pytest.mark.parametrize("member", MEMBERS)
async def test_a_request_without_a_key_is_reported(member: str) -> None:
    told: list[Incident] = []
    runtime = Runtime(model=FakeModel(), hooks=Hooks(on_error=told.append))
    async with serve_runtime(runtime, authenticate=KEYS) as server:
        client = MEMBERS[member](server.url)
        target, body = client.build_request()
        await send(server.url, target, body)
        await wait_until(lambda: bool(told))
    [incident] = told
    assert (incident.code, incident.status, incident.fault) == ("unauthorized", 401, "caller")
    assert (incident.method, incident.thread, incident.run, incident.source) == ("POST", "", "", "runtime")
    assert incident.url == target
    assert incident.start <= incident.end


@pytest.mark.parametrize("member", MEMBERS)
async def test_a_request_that_cannot_be_read_is_reported(member: str) -> None:
    told: list[Incident] = []
    runtime = Runtime(model=FakeModel(), hooks=Hooks(on_error=told.append))
    async with serve_runtime(runtime) as server:
        target, body = MEMBERS[member](server.url).build_request()
        await send(server.url, target, break_messages(body))
        await wait_until(lambda: bool(told))
    assert [(incident.fault, incident.status // 100) for incident in told] == [("caller", 4)]


@pytest.mark.parametrize("member", MEMBERS)
async def test_a_failed_run_is_reported_once(member: str) -> None:
    told: list[Incident] = []

    def fail(prompt: object) -> Any:
        raise UpstreamRefused("The model is away.")

    runtime = Runtime(model=FakeModel(fail), hooks=Hooks(on_error=told.append))
    async with serve_runtime(runtime) as server:
        seen = await MEMBERS[member](server.url).send_message("hi")
        assert seen.error
        await wait_until(lambda: bool(told))
        # A request after it: what it had to report is reported by then.
        await send(server.url, "/nowhere", {})
        await wait_until(lambda: len(told) > 1)
    assert [incident.code for incident in told] == ["upstream_unreachable", "not_found"]
    assert told[0].run


@pytest.mark.parametrize("member", MEMBERS)
async def test_a_refusal_by_a_hook_is_reported_once(member: str) -> None:
    told: list[Incident] = []

    def refuse(asked: object) -> None:
        raise Forbidden("Not you.")

    hooks = Hooks(on_before_request=refuse, on_error=told.append)
    async with serve_runtime(Runtime(model=FakeModel(), hooks=hooks)) as server:
        await MEMBERS[member](server.url).send_message("hi")
        await send(server.url, "/nowhere", {})
        await wait_until(lambda: len(told) > 1)
    assert [incident.code for incident in told] == ["forbidden", "not_found"]


@pytest.mark.parametrize("member", MEMBERS)
async def test_an_answer_is_no_incident(member: str) -> None:
    told: list[Incident] = []
    runtime = Runtime(model=FakeModel(reply_text("Hello")), hooks=Hooks(on_error=told.append))
    async with serve_runtime(runtime) as server:
        assert (await MEMBERS[member](server.url).send_message("hi")).text == "Hello"
        await send(server.url, "/nowhere", {})
        await wait_until(lambda: bool(told))
    assert [incident.code for incident in told] == ["not_found"]


@pytest.mark.parametrize(
    ("target", "body", "code", "words"),
    [
        ("/copilotkit", {"query": "{ goodbye }"}, "invalid_request", "Cannot query field 'goodbye'"),
        ("/copilotkit", {"query": "{"}, "invalid_request", "Syntax Error"),
        (
            "/copilotkit",
            {"query": '{ loadAgentState(data: {threadId: "t", agentName: "nobody"}) { state } }'},
            "agent_not_found",
            "Agent 'nobody' was not found.",
        ),
        ("/copilotkit", {"method": "agent/run", "params": {"agentId": "nobody"}}, "agent_not_found", "nobody"),
        ("/mcp", {"jsonrpc": "2.0", "id": 1, "method": "nothing"}, "", ""),
        ("/v1/chat/completions", {"messages": [], "model": "nobody/here"}, "", ""),
        ("/v1/embeddings", {"input": "hi"}, "not_configured", "embeddings"),
        ("/nowhere", {}, "not_found", "/nowhere"),
    ],
)
async def test_what_is_refused_at_a_door(target: str, body: Any, code: str, words: str) -> None:
    told: list[Incident] = []
    runtime = Runtime(model=FakeModel(), hooks=Hooks(on_error=told.append))
    async with serve_runtime(runtime) as server:
        await send(server.url, target, body)
        await wait_until(lambda: bool(told))
    [incident] = told
    assert code in ("", incident.code)
    assert words in incident.message


async def test_strangers_cannot_pile_up_reports(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hooks_module, "MAX_WAITING_REFUSALS", 2)
    released = asyncio.Event()
    told: list[Incident] = []

    async def hold(incident: Incident) -> None:
        told.append(incident)
        await released.wait()

    runtime = Runtime(model=FakeModel(), hooks=Hooks(on_error=hold))
    async with serve_runtime(runtime) as server:
        for _ in range(5):
            await send(server.url, "/nowhere", {})
        await wait_until(lambda: len(told) == 2)
        released.set()
        await wait_until(lambda: not runtime.hooks.tasks)
        await send(server.url, "/nowhere", {})
        await wait_until(lambda: len(told) == 3)


def find_unreported(source: str) -> list[int]:
    """Return the lines of handlers that answer an error themselves and do not report it."""
    nodes = (node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.ExceptHandler))
    handlers = (node for node in nodes if node.name and "error" in node.name)
    return [
        handler.lineno
        for handler in handlers
        if (called := {ast.unparse(node.func) for node in ast.walk(handler) if isinstance(node, ast.Call)}) & ANSWERS
        and "report_refusal" not in called
    ]


def test_every_door_reports_what_it_answers_itself() -> None:
    files = [*(SOURCE / "doors").rglob("*.py"), *(SOURCE / "server").rglob("*.py"), *(SOURCE / "http").rglob("*.py")]
    found = {path.name: lines for path in files if (lines := find_unreported(path.read_text(encoding="utf-8")))}
    assert found == {}
    unreported = "try:\n    pass\nexcept RightseatError as error:\n    yield make_error_response(error)"
    assert find_unreported(unreported) == [3]
    assert find_unreported(unreported.replace("    yield", "    report_refusal(error)\n    yield")) == []
