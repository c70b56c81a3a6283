"""The playground's half on the server: its files, and what the page asks for."""

import gzip
import json
import re
import time
from pathlib import Path
from typing import Any

import pytest

from rightseat import Runtime
from rightseat.config.load import load_config
from rightseat.config.secret import Secret
from rightseat.config.settings import AuthSettings
from rightseat.http.auth import Authenticator
from rightseat.http.fetch.fetch import record_request, record_requests
from rightseat.http.static import StaticFiles
from rightseat.models.llamacpp.machine import Machine
from rightseat.server.playground import door, overview
from rightseat.wiring import model_notes
from rightseat.wiring.from_config import build_runtime
from tests.kit.app_server import FakeModel, reply_text, serve_runtime
from tests.kit.client import RawHttpClient

pytestmark = pytest.mark.io

PAGE = Path(overview.PLAYGROUND_DIR) / "page"
KEYED = Authenticator(AuthSettings(keys={"ann": Secret("sesame-7")}))
HTML = {"accept": "text/html"}
LIMIT = 300_000
ODD = """
from rightseat import tool

@tool
def fail() -> str:
    \"\"\"Fail.\"\"\"
    raise ValueError("no luck")

@tool
def add(a: int) -> int:
    \"\"\"Add.\"\"\"
    return a + 1

@tool(confirm=True)
def clear(year: int) -> str:
    \"\"\"Forget a year.\"\"\"
    return f"{year} is gone"
"""


async def get_response(url: str, path: str, headers: dict[str, str] | None = None) -> tuple[int, dict[str, str], bytes]:
    async with RawHttpClient(url) as client:
        await client.get(path, headers)
        head = await client.read_head()
        return head.status, dict(head.headers), await client.read_body()


async def get_json(url: str, path: str) -> Any:
    async with RawHttpClient(url) as client:
        await client.get(path)
        assert (await client.read_head()).status == 200
        return await client.read_json()


def make_demo_runtime() -> Runtime:
    return build_runtime(load_config(env={"RIGHTSEAT_MODEL": "scripted:demo"}))


async def test_a_browser_gets_the_page_and_a_program_gets_words() -> None:
    async with serve_runtime(Runtime(model=FakeModel())) as server:
        status, headers, body = await get_response(server.url, "/", HTML)
        assert (status, headers["content-type"]) == (200, "text/html; charset=utf-8")
        assert b'<script type="module" src="playground/main.js">' in body
        status, headers, body = await get_response(server.url, "/", {"accept": "*/*"})
        assert (status, headers["content-type"]) == (200, "text/plain; charset=utf-8")
        assert b"OPENAI_BASE_URL" in body


# Whole: a text of a model that becomes an image, a form or a frame must have nowhere to send what it knows.
POLICY = {
    "default-src": "'none'",
    "script-src": "'self'",
    "style-src": "'self'",
    "img-src": "'self' data:",
    "connect-src": "'self'",
    "base-uri": "'none'",
    "form-action": "'none'",
    "frame-ancestors": "'none'",
}


def parse_policy(header: str) -> dict[str, str]:
    directives = [directive.strip().partition(" ") for directive in header.split(";")]
    return {name: sources for name, _, sources in directives}


@pytest.mark.demand("playground.strict_content_security_policy")
async def test_every_file_is_served_under_a_policy_that_lets_nothing_in() -> None:
    async with serve_runtime(Runtime(model=FakeModel())) as server:
        for path in [*PAGE.iterdir(), PAGE / "index.html"]:
            status, headers, body = await get_response(server.url, f"/playground/{path.name}")
            assert (status, body) == (200, path.read_bytes())
            assert parse_policy(headers["content-security-policy"]) == POLICY
            assert headers["x-content-type-options"] == "nosniff"


async def test_a_file_is_packed_and_not_sent_twice() -> None:
    async with serve_runtime(Runtime(model=FakeModel())) as server:
        _, headers, body = await get_response(server.url, "/playground/main.js", {"accept-encoding": "gzip, br"})
        assert headers["content-encoding"] == "gzip"
        assert gzip.decompress(body) == (PAGE / "main.js").read_bytes()
        async with RawHttpClient(server.url) as client:
            await client.get("/playground/main.js", {"if-none-match": headers["etag"]})
            assert (await client.read_head()).status == 304
            # Without a body: what follows on this connection is the next answer.
            await client.get("/playground/nothing.js")
            assert (await client.read_head()).status == 404


@pytest.mark.parametrize("name", ["nothing.js", "../__init__.py", "%2e%2e/answers.py", "vendor/../files.py"])
async def test_no_other_file_is_reached(name: str) -> None:
    async with serve_runtime(Runtime(model=FakeModel())) as server:
        status, _, body = await get_response(server.url, f"/playground/{name}")
        assert status == 404
        assert b"import" not in body


@pytest.mark.demand("playground.ranges_content_types_cannot")
@pytest.mark.parametrize(
    "headers",
    [
        {"range": "bytes=" + ",".join(f"{n}-{n}" for n in range(10_000))[:60_000]},
        {"content-type": "; !=" + '\\"' * 20_000},
    ],
)
async def test_ranges_and_odd_types_cost_nothing(headers: dict[str, str]) -> None:
    async with serve_runtime(Runtime(model=FakeModel())) as server:
        await get_response(server.url, "/playground/main.js")
        began = time.process_time()
        status, _, body = await get_response(server.url, "/playground/main.js", headers)
        # The whole file, or a refusal: never ten thousand parts.
        assert (status, len(body)) in ((200, len((PAGE / "main.js").read_bytes())), (431, len(body)))
        assert time.process_time() - began < 0.5


@pytest.mark.demand(
    "playground.strict_content_security_policy",
    "playground.readable_es_modules_without",
    "playground.first_load_most_300",
)
def test_the_page_is_small_and_has_nothing_inline_and_no_host() -> None:
    packed = sum(len(gzip.compress(path.read_bytes())) for path in PAGE.iterdir())
    assert packed < LIMIT, f"{packed} bytes"
    for path in PAGE.glob("*.js"):
        text = path.read_text(encoding="utf-8")
        assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(", text), path.name
        hosts = set(re.findall(r"https?://[\w.-]+", text)) - {"http://www.w3.org"}
        # One stands in a box as an example, to be changed.
        assert hosts <= {"https://api.openai.com"}, path.name
    html = (PAGE / "index.html").read_text(encoding="utf-8")
    assert not re.search(r"<script(?![^>]*src)|style=|\son\w+=", html)


@pytest.mark.demand("playground.light_dark_keyboard_first")
def test_both_languages_say_the_same() -> None:
    seen = 0
    for path in PAGE.glob("*.js"):
        text = path.read_text(encoding="utf-8")
        found = re.findall(r"(?:const (?:en|zh) = |learn\(\"(?:en|zh)\", )\{(.*?)\}\)?;", text, re.DOTALL)
        words = [set(re.findall(r"(?:^|[{,]\s*)(\w+):\s*\"", part)) for part in found]
        if words:
            english, chinese = words
            assert english == chinese, path.name
            seen += len(english)
    assert seen > 100


@pytest.mark.demand("playground.opens_three_example_chips")
async def test_a_newcomer_finds_three_examples() -> None:
    async with serve_runtime(make_demo_runtime()) as server:
        found = await get_json(server.url, "/playground/about")
        assert found["tiny"]
        assert [one["title"]["en"] for one in found["examples"]] == [
            "A tool call",
            "A flow with a chart",
            "An approval",
        ]
        names = [one["name"] for one in found["assistants"]]
        assert [one["assistant"] for one in found["examples"] if "assistant" in one] == ["demo.sales"]
        assert "demo.sales" in names


@pytest.mark.demand("playground.page_says_what_model_is_for", "engine.card_says_what_model_is_for")
async def test_the_page_is_told_what_the_model_is_for_in_both_languages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model_notes, "get_machine", lambda: Machine(8, 8, 16 << 30, 9 << 30))
    async with serve_runtime(make_demo_runtime()) as server:
        model = (await get_json(server.url, "/playground/about"))["model"]
        [agent] = [
            agent for agent in (await get_json(server.url, "/agents.json")).values() if agent["name"] == "Rightseat"
        ]
    assert model["name"] == "demo"
    assert [line["en"] for line in model["lines"]] == [
        "Good for: trying the front ends with a tool call, an approval and a chart.",
        "Not for: any other question. A script answers, not a model.",
    ]
    assert model["lines"][1]["zh"] == "不适合：其他问题。回答来自脚本，而不是模型。"
    assert model["better"] == "rightseat models pull qwen3-8b && rightseat models use qwen3-8b"
    assert agent["description"].endswith("Not for: any other question. A script answers, not a model.")


async def test_an_own_model_is_not_called_tiny_and_offers_no_demo() -> None:
    async with serve_runtime(Runtime(model=FakeModel())) as server:
        found = await get_json(server.url, "/playground/about")
    assert (found["tiny"], found["examples"]) == (False, [])


@pytest.mark.demand("playground.flows_list_per_plugin")
@pytest.mark.demand("playground.welcome_model_card", "playground.microphone_transcribes")
async def test_the_page_is_told_what_answers_and_whether_it_may_listen() -> None:
    model = FakeModel()
    runtime = Runtime(model=model)
    async with serve_runtime(runtime) as server:
        about = await get_json(server.url, "/playground/about")
    assert about["transcribes"] is False
    told = about["answering"]["default"]
    assert told["tools"] == 0
    assert told["model"]["name"] == model.info.model
    assert (told["model"]["builtin"], "tools" in told["model"]["can"]) == (False, True)
    async with serve_runtime(make_demo_runtime()) as server:
        told = (await get_json(server.url, "/playground/about"))["answering"]["default"]
    assert told["model"]["local"]
    assert told["tools"] >= 2


async def test_flows_and_plugins_are_told_of() -> None:
    async with serve_runtime(make_demo_runtime()) as server:
        [plugin] = await get_json(server.url, "/playground/flows")
        [flow] = plugin["flows"]
        assert (flow["id"], flow["agent"]) == ("demo/sales", "demo.sales")
        assert [box["name"] for box in flow["boxes"]] == ["start", "chart", "end"]
        assert [(line["source"], line["target"]) for line in flow["lines"]] == [("start", "chart"), ("chart", "end")]
        [plugin] = await get_json(server.url, "/playground/plugins")
        assert plugin["problems"] == []
        assert [tool["name"] for tool in plugin["tools"]] == ["demo_monthly_sales", "demo_sales"]


async def test_an_operation_is_called_by_hand() -> None:
    async with serve_runtime(make_demo_runtime()) as server, RawHttpClient(server.url) as client:
        await client.post_json("/playground/try", {"tool": "demo_monthly_sales", "arguments": {}})
        assert (await client.read_head()).status == 200
        answer = await client.read_json()
        assert answer["failed"] is False
        assert '"month":"Jan"' in answer["result"]
        for body, status in (({"tool": "none"}, 404), ({}, 400), ({"tool": "demo_monthly_sales", "arguments": 1}, 400)):
            await client.post_json("/playground/try", body)
            assert (await client.read_head()).status == status
            assert (await client.read_json())["error"]["message"]


@pytest.fixture
def broken_runtime(tmp_path: Path) -> Runtime:
    """A plugin that fails, asks and hangs."""
    folder = tmp_path / "odd"
    (folder / "lib").mkdir(parents=True)
    overview = {"id": "odd", "name": "Odd", "description": "Odd things.", "predefined_question": ""}
    (folder / "plugin.json").write_text(json.dumps(overview))
    (folder / "lib" / "odd.py").write_text(ODD)
    (tmp_path / "rightseat.toml").write_text(
        f"[models.default]\nspec = 'scripted:demo'\n[[plugins]]\npath = '{folder}'\n"
    )
    return build_runtime(load_config(tmp_path / "rightseat.toml", env={}))


async def post_try(client: RawHttpClient, **body: Any) -> Any:
    await client.post_json("/playground/try", body)
    assert (await client.read_head()).status == 200
    return await client.read_json()


@pytest.mark.demand("playground.plugins_loaded_wrong_try")
async def test_whatever_a_tool_does_is_a_result(broken_runtime: Runtime) -> None:
    async with serve_runtime(broken_runtime) as server, RawHttpClient(server.url) as client:
        answer = await post_try(client, tool="odd_fail")
        assert answer["failed"]
        assert "no luck" in answer["result"]
        answer = await post_try(client, tool="odd_add", arguments={"a": "x"})
        assert answer["failed"]
        assert "invalid_arguments" in answer["result"]


@pytest.mark.demand("playground.plugins_loaded_wrong_try")
async def test_a_call_that_needs_a_yes_is_asked_about_and_answered_once(broken_runtime: Runtime) -> None:
    async with serve_runtime(broken_runtime) as server, RawHttpClient(server.url) as client:
        [ask] = (await post_try(client, tool="odd_clear", arguments={"year": 2020}))["asks"]
        assert "2020" in ask["message"]
        yes = [{"id": ask["id"], "payload": {"approved": True}}]
        # The yes is for these arguments: others that come with it do not count.
        answer = await post_try(client, tool="odd_clear", arguments={"year": 1999}, answers=yes)
        assert (answer["result"], answer["failed"]) == ("2020 is gone", False)
        again = await post_try(client, tool="odd_clear", answers=yes)
        assert again["failed"]
        assert "answered before" in again["result"]


@pytest.mark.demand("playground.inspector_wire_view_same")
async def test_a_line_for_a_shell_asks_who_was_asked() -> None:
    async with serve_runtime(make_demo_runtime()) as server, RawHttpClient(server.url) as client:
        body = {"threadId": "t", "runId": "r", "messages": [{"id": "1", "role": "user", "content": "Draw"}]}
        await client.post_json("/copilotkit/agent/demo.sales/run", body | {"tools": [], "context": []})
        await client.read_head()
        await client.read_body()
        doors = {door["name"]: door for door in (await get_json(server.url, "/playground/wire/t"))["doors"]}
    assert '"model":"demo.sales"' in doors["openai"]["curl"]
    assert "/agui/demo.sales " in doors["agui"]["curl"]
    assert all("best month" in doors[name]["bytes"] for name in ("openai", "agui", "openbb", "copilotkit"))


@pytest.mark.demand("playground.inspector_wire_view_same")
async def test_a_line_for_a_shell_names_the_key_and_does_not_tell_it() -> None:
    async with serve_runtime(Runtime(model=FakeModel(reply_text("Hi."))), authenticate=KEYED) as server:
        key = {"authorization": "Bearer sesame-7"}
        async with RawHttpClient(server.url) as client:
            body = {"threadId": "t", "runId": "r", "messages": [{"id": "1", "role": "user", "content": "Hi"}]}
            await client.post_json("/copilotkit/agent/default/run", body | {"tools": [], "context": []}, key)
            await client.read_head()
            await client.read_body()
        status, _, found = await get_response(server.url, "/playground/wire/t", key)
        assert status == 200
        assert found.count(b"Bearer $RIGHTSEAT_KEY") == 5
        assert b"sesame" not in found


@pytest.mark.demand("playground.wheel_release_need_npm")
async def test_without_what_others_made_the_page_is_served_and_says_so(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """As in a clone where npm is not there."""
    (tmp_path / "page").symlink_to(PAGE)
    monkeypatch.setattr(overview, "PLAYGROUND_DIR", tmp_path)
    monkeypatch.setattr(door, "FILES", StaticFiles({"": tmp_path / "page", "vendor/": tmp_path / "vendor"}))
    async with serve_runtime(make_demo_runtime()) as server:
        assert (await get_response(server.url, "/", HTML))[0] == 200
        assert (await get_response(server.url, "/playground/vendor/echarts.js"))[0] == 404
        assert (await get_json(server.url, "/playground/about"))["charts"] is False
        lines = (await get_json(server.url, "/playground/setup"))["lines"]
        [charts] = [line for line in lines if line["what"] == "charts"]
        assert (charts["state"], charts["fix"]) == ("skipped", "make assets")


@pytest.mark.demand("playground.empty_loading_error_states")
async def test_what_it_shows_needs_the_key_and_its_files_do_not() -> None:
    async with serve_runtime(make_demo_runtime(), authenticate=KEYED) as server:
        for path in ("about", "flows", "plugins", "setup", "prompts/r", "wire/t"):
            status, _, _ = await get_response(server.url, f"/playground/{path}")
            assert status == 401, path
        assert (await get_response(server.url, "/playground/main.js"))[0] == 200
        # With keys there are several people here: nobody sees what a model was asked for another.
        key = {"authorization": "Bearer sesame-7"}
        assert (await get_response(server.url, "/playground/prompts/r", key))[0] == 404
        assert (await get_response(server.url, "/playground/about", key))[0] == 200


@pytest.mark.demand("playground.inspector_wire_view_same")
async def test_a_run_is_written_as_each_door_writes_it() -> None:
    async with (
        serve_runtime(Runtime(model=FakeModel(reply_text("Good day.")))) as server,
        RawHttpClient(server.url) as client,
    ):
        body = {
            "threadId": "t",
            "runId": "r",
            "messages": [{"id": "1", "role": "user", "content": 'Say "hi"'}],
            "tools": [],
            "context": [],
        }
        await client.post_json("/copilotkit/agent/default/run", body)
        await client.read_head()
        await client.read_body()
        found = await get_json(server.url, "/playground/wire/t")
        assert found["question"] == 'Say "hi"'
        doors = {door["name"]: door for door in found["doors"]}
        marks = {
            "openai": "chat.completion.chunk",
            "agui": "TEXT_MESSAGE_CONTENT",
            "openbb": "copilotMessageChunk",
            "copilotkit": "TextMessageOutput",
            "mcp": "jsonrpc",
        }
        for name, mark in marks.items():
            assert mark in doors[name]["bytes"], name
            assert "Good" in doors[name]["bytes"], name
            assert doors[name]["curl"].startswith("curl -N http://127.0.0.1")
        status, _, _ = await get_response(server.url, "/playground/wire/nobody")
        assert status == 404


def test_what_is_sent_while_somebody_watches_holds_no_key() -> None:
    record_request("GET", "http://a/", {}, None)
    with record_requests() as seen:
        record_request("POST", "http://a/b?x=1", {"Authorization": "Bearer k", "Accept": "*/*"}, b'{"a":1}')
    [one] = seen
    assert one == {
        "method": "POST",
        "url": "http://a/b?x=1",
        "headers": {"Authorization": "•••", "Accept": "*/*"},
        "body": '{"a":1}',
    }
