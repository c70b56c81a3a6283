"""What a person sees of an answer: each event on the emulated screen, as strictly as the client reads it."""

import json
from pathlib import Path
from typing import Any

import pytest

from rightseat.doctor.openbb import reply as reply_module
from rightseat.doctor.openbb.ask import OpenBBQuestion, ask_agent, read_body, read_item
from rightseat.errors import ConfigError
from tests.kit.app_server import serve_app
from tests.kit.command import run_command
from tests.unit.doctor.openbb.fake_copilot import FakeCopilotServer, format_sse, format_text_chunks

pytestmark = pytest.mark.io

STREAM = "text/event-stream"
CHUNK, STATUS, ARTIFACT = "copilotMessageChunk", "copilotStatusUpdate", "copilotMessageArtifact"
HELLO = (CHUNK, {"delta": "Hello."})
ROWS = [{"city": "Oslo", "sold": 3}, {"city": "Rome", "sold": None}]


def make_artifact(type: str, content: Any, **more: Any) -> tuple[str, dict[str, Any]]:
    return ARTIFACT, {"type": type, "name": "Sales", "description": "Sales", "uuid": "u1", "content": content, **more}


def make_chart(kind: str, **params: Any) -> tuple[str, dict[str, Any]]:
    return make_artifact("chart", ROWS, chart_params={"chartType": kind, **params})


CITATION = {
    "id": "c1",
    "source_info": {"type": "widget", "name": "Report", "metadata": {}},
    "details": [{"symbol": "ACME"}],
    "quote_bounding_boxes": [[{"text": "Sales grew", "page": 3, "x0": 1, "top": 2, "x1": 3, "bottom": 4}]],
}
STATUS_DATA = {"eventType": "INFO", "message": "Reading", "group": "reasoning", "details": [{"rows": 3}, "two\nlines"]}
SCREENS: dict[str, tuple[bytes, str]] = {
    "text": (format_text_chunks("one ", "", "two"), "one two"),
    "status": (format_sse((STATUS, STATUS_DATA)), "[step] Reading\n    rows: 3\n    two\n    lines"),
    "warning": (format_sse((STATUS, {"eventType": "WARNING", "message": "Half"})), "[warning] Half"),
    "hidden status": (format_sse((STATUS, {**STATUS_DATA, "hidden": True}), HELLO), "Hello."),
    "status with an artifact": (
        format_sse((STATUS, {"eventType": "INFO", "message": "M", "artifacts": [make_artifact("text", "t")[1]]})),
        "[step] M\n[note] Sales\n    t",
    ),
    "table": (format_sse(make_artifact("table", ROWS)), "[table] Sales: 2 rows\n    city  sold\n    Oslo  3\n    Rome"),
    "long table": (
        format_sse(make_artifact("table", [{"n": n} for n in range(120)])),
        "[table] Sales: 120 rows\n    n\n    0\n    1\n    2\n    3\n    4\n    … and 115 more rows",
    ),
    "wide table": (
        format_sse(make_artifact("table", [{f"c{n}": n for n in range(9)}])),
        "[table] Sales: 1 row\n    c0  c1  c2  c3  c4  c5  c6  c7\n    0   1   2   3   4   5   6   7\n"
        "    … and 1 more column",
    ),
    "line": (
        format_sse(make_chart("line", xKey="city", yKey=["sold"])),
        "[chart] Sales: line, 2 points\n    sold by city: Oslo 3",
    ),
    "pie": (
        format_sse(make_chart("pie", angleKey="sold", calloutLabelKey="city")),
        "[chart] Sales: pie, 2 slices\n    sold by city: Oslo 3",
    ),
    "html": (
        format_sse(make_artifact("html", "<h1>Card</h1><script>x</script><p>Up 3 %</p>", description="A card")),
        "[html] Sales (A card)\n    # Card\n    Up 3 %",
    ),
    "html without text": (format_sse(make_artifact("html", "<svg/>")), "[html] Sales\n    (a page without text)"),
    "another artifact": (
        format_sse(make_artifact("snowflake_query", "SELECT 1")),
        "[note] Sales, snowflake_query\n    SELECT 1",
    ),
    "citation": (
        format_sse(("copilotCitationCollection", {"citations": [CITATION]})),
        "[citation] Report (widget)\n    symbol: ACME\n    highlighted on page 3: Sales grew",
    ),
    "suggestions": (
        format_sse(("copilotPromptSuggestions", {"suggestions": ["And Rome?", "Why?"]})),
        "[suggestion] And Rome?\n[suggestion] Why?",
    ),
    "control characters": (format_text_chunks("a\x1b[2J\u202eb"), "a[2Jb"),
}


async def ask_for_screen(server: FakeCopilotServer, **question: Any) -> tuple[str, list[str]]:
    """The screen as text, and why it is broken."""
    async with serve_app(server) as url:
        asked = OpenBBQuestion(**{"text": "Count.", **question})
        answers = [answer async for answer in ask_agent(url, {}, asked)]
    text = "\n".join(part.format_text() for answer in answers for part in answer.parts)
    return text, [fault.why for answer in answers for fault in answer.faults if fault.enforced]


@pytest.mark.demand("doctor.openbb_screen")
@pytest.mark.parametrize("case", SCREENS)
async def test_each_event_is_on_the_screen(case: str) -> None:
    body, expected = SCREENS[case]
    screen, broken = await ask_for_screen(FakeCopilotServer(spare={"plain": (200, STREAM, body)}))
    assert screen == expected
    assert broken == []


# (what comes, what is seen, why it is broken; "" if the client only ignores it)
STRICT: dict[str, tuple[bytes, str, str]] = {
    "not-a-number in a table": (
        format_sse(HELLO) + b'event: copilotMessageArtifact\ndata: {"content": [{"a": NaN}]}\n\n' + format_sse(HELLO),
        "Hello.\n[error] The answer ends here: data that is no JSON",
        "no JSON",
    ),
    "half a JSON": (
        format_sse(HELLO) + b'event: copilotMessageChunk\ndata: {"delta": "x\n\n' + format_sse(HELLO),
        "Hello.\n[error] The answer ends here",
        "no JSON",
    ),
    "half an event": (
        format_sse(HELLO) + b'event: copilotMessageChunk\ndata: {"delta": "x',
        "Hello.\n[not shown] the last event is lost",
        "is lost",
    ),
    "an unknown event": (
        format_sse(("copilotSong", {"a": 1}), HELLO),
        "[not shown] the event copilotSong, which the client does not know\nHello.",
        "",
    ),
    "a table as text": (
        format_sse(make_artifact("table", "a,b"), HELLO),
        "[not shown] copilotMessageArtifact: Expected array, got str - at $.content\nHello.",
        "content",
    ),
    "a chart over a missing key": (
        format_sse(make_chart("bar", xKey="city", yKey=["price"])),
        "[chart] Sales: bar, 2 points\n    price by city: nothing is drawn",
        "no values for 'price'",
    ),
    "a box without a page": (
        format_sse(("copilotCitationCollection", {"citations": [{**CITATION, "quote_bounding_boxes": [[{}]]}]}), HELLO),
        "[not shown] copilotCitationCollection: Object missing required field text",
        "text",
    ),
    "a call of an unknown function": (
        format_sse(("copilotFunctionCall", {"function": "dance", "input_arguments": {}})),
        "[error] The answer ends here: the client has no function 'dance'",
        "dance",
    ),
    "nothing": (b": ping\n\n", "", "sees nothing"),
    "only empty text": (format_text_chunks(""), "", "sees nothing"),
}


@pytest.mark.demand("doctor.openbb_screen")
@pytest.mark.parametrize("case", STRICT)
async def test_the_screen_is_as_strict_as_the_client(case: str) -> None:
    body, expected, why = STRICT[case]
    screen, broken = await ask_for_screen(FakeCopilotServer(spare={"plain": (200, STREAM, body)}))
    assert screen.startswith(expected)
    assert why in " ".join(broken) if why else broken == []


@pytest.mark.demand("doctor.openbb_screen")
@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (
            (413, "application/json", b'{"detail": "too large"}'),
            "[error] The client shows only that it failed: HTTP 413",
        ),
        ((200, "application/json", b"{}"), "[not shown] the answer is no event stream"),
    ],
)
async def test_an_answer_that_is_no_stream(answer: tuple[int, str, bytes], expected: str) -> None:
    screen, broken = await ask_for_screen(FakeCopilotServer(spare={"plain": answer}))
    assert screen == expected
    assert broken


async def test_a_page_that_may_not_read_sees_a_failure() -> None:
    screen, broken = await ask_for_screen(FakeCopilotServer(origins=()))
    assert screen == "[error] The client adds no agent: the page may not read the answer (CORS)"
    assert broken


@pytest.mark.demand("doctor.openbb_screen")
async def test_a_cut_connection_keeps_what_came() -> None:
    class CuttingServer(FakeCopilotServer):
        async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
            if scope["method"] != "POST":
                return await super().__call__(scope, receive, send)
            head = [(b"content-type", STREAM.encode()), (b"access-control-allow-origin", b"https://pro.openbb.co")]
            await send({"type": "http.response.start", "status": 200, "headers": [*head, (b"content-length", b"999")]})
            await send({"type": "http.response.body", "body": format_sse(HELLO), "more_body": True})
            return None

    screen, broken = await ask_for_screen(CuttingServer())
    assert screen == "Hello.\n[error] The client shows that it failed: the connection was cut"
    assert broken == ["the connection was cut"]


@pytest.mark.demand("doctor.openbb_screen")
async def test_a_widget_is_asked_for_and_its_data_posted() -> None:
    server = FakeCopilotServer()
    items = {"share_prices": {"content": "from the test", "citable": True}}
    screen, broken = await ask_for_screen(server, text="The closing price?", items=items)
    assert screen == "[call] get_widget_data\n    share_prices\nIt was 41.75."
    assert broken == []
    assert "from the test" in json.dumps(server.query_bodies[-1]["messages"][-1])


async def test_a_request_of_2024_has_no_trace_and_lists_its_widgets() -> None:
    server = FakeCopilotServer(copilots=FakeCopilotServer().agents)
    body = {"widgets": [{"uuid": "w1", "name": "Prices", "description": "Prices"}]}
    screen, broken = await ask_for_screen(server, text="The closing price?", body=body)
    assert screen == "[call] get_widget_data\n    w1\nIt was 41.75."
    assert broken == []
    assert "timezone" not in server.query_bodies[0]


async def test_a_widget_that_is_not_there_is_not_found() -> None:
    server = FakeCopilotServer(copilots=FakeCopilotServer().agents)
    call = {"function": "get_widget_data", "input_arguments": {"widget_uuid": "w2"}}
    server.spare["call"] = (200, STREAM, format_sse(("copilotFunctionCall", call)))
    body = {"widgets": [{"uuid": "w1", "name": "Prices", "description": "Prices"}, "no widget"]}
    await ask_for_screen(server, text="The closing price?", body=body)
    assert server.query_bodies[-1]["messages"][-1]["content"] == "There is no such widget on the dashboard."


async def test_tools_and_skills_are_run() -> None:
    tool_call = {"server_id": "s", "tool_name": "S_find", "parameters": {}}
    for function, arguments, expected in (
        ("execute_agent_tool", tool_call, "what was found"),
        ("get_skill_content", {"slug": "brief"}, "what was found"),
        ("get_skill_content", {"slug": "other"}, "There is no such skill."),
        ("get_params_options", {"param_options_queries": []}, "param_options"),
        ("save_skill", {}, "done"),
    ):
        call: dict[str, Any] = {"function": function, "input_arguments": arguments, "extra_state": {"a": 1}}
        server = FakeCopilotServer(spare={"plain": (200, STREAM, format_sse(("copilotFunctionCall", call)))})
        items = {name: {"content": "what was found"} for name in ("S_find", "brief")}
        screen, broken = await ask_for_screen(server, body={"skills_catalog": [{"slug": "brief"}]}, items=items)
        assert screen.startswith(f"[call] {function}")
        assert screen.endswith("It was 41.75.")
        assert broken == []
        assert expected in json.dumps(server.query_bodies[-1]["messages"][-1])


async def test_a_slow_first_byte_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reply_module, "SLOW_SECONDS", 0.0)
    async with serve_app(FakeCopilotServer()) as url:
        [answer] = [answer async for answer in ask_agent(url, {}, OpenBBQuestion(text="Count."))]
    [fault] = answer.faults
    assert (fault.enforced, "a proxy may cut" in fault.why) == (False, True)


@pytest.mark.demand("doctor.openbb_screen")
async def test_the_command_prints_the_screen(tmp_path: Path) -> None:
    (tmp_path / "body.json").write_text(json.dumps({"messages": [{"role": "human", "content": "Hi"}]}))
    server = FakeCopilotServer()
    async with serve_app(server) as url:
        plain = await run_command("doctor", "--openbb", url, "--ask", "Count.", "--agent", "ada")
        from_file = await run_command("doctor", "--openbb", url, "--body", str(tmp_path / "body.json"), "--json")
        unknown = await run_command("doctor", "--openbb", url, "--ask", "Count.", "--agent", "bob")
        nothing = await run_command("doctor", "--openbb", url, "--ask", "")
    assert (plain.code, plain.out) == (0, "one two\n")
    assert from_file.code == 0
    assert json.loads(from_file.out)["screen"] == [{"kind": "text", "title": "one two", "lines": []}]
    assert server.query_bodies[-1]["messages"] == [{"role": "human", "content": "Hi"}]
    assert unknown.code == 1
    assert "name one of: ada" in unknown.out
    assert nothing.code != 0


@pytest.mark.demand("doctor.openbb_screen")
async def test_the_command_says_what_is_broken() -> None:
    server = FakeCopilotServer(spare={"plain": (200, STREAM, b"data: [DONE]\n\n")})
    async with serve_app(server) as url:
        printed = await run_command("doctor", "--openbb", url, "--ask", "Count.")
    assert printed.code == 1
    assert "✗ openbb: answer" in printed.out
    assert "leave out [DONE]" in printed.out


@pytest.mark.parametrize("options", [("--ask", "Hi"), ("--origin", "https://a"), ("--openbb", "u", "--agent", "a")])
async def test_options_without_effect_are_refused(options: tuple[str, ...]) -> None:
    printed = await run_command("doctor", *options)
    assert printed.code != 0
    assert "works only with" in printed.err


async def test_a_server_that_is_not_there() -> None:
    printed = await run_command("doctor", "--openbb", "http://127.0.0.1:1", "--ask", "Count.")
    assert printed.code == 1
    assert "[error] The client adds no agent: http://127.0.0.1:1: nothing listens there" in printed.out


def test_data_files_become_what_workspace_sends(tmp_path: Path) -> None:
    (tmp_path / "rows.json").write_text('[{"a": 1}]')
    (tmp_path / "report.PDF").write_bytes(b"%PDF")
    name, item = read_item(f"prices={tmp_path / 'rows.json'}")
    assert (name, item["content"]) == ("prices", '[{"a": 1}]')
    assert item["data_format"] == {"data_type": "object", "parse_as": "table"}
    _, item = read_item(f"report={tmp_path / 'report.PDF'}")
    assert (item["content"], item["data_format"]["data_type"]) == ("JVBERg==", "pdf")
    for wrong in ("prices", "=a.json", "a=b.exe", f"a={tmp_path / 'missing.json'}"):
        with pytest.raises(ConfigError, match="--data"):
            read_item(wrong)
    (tmp_path / "list.json").write_text("[]")
    for file in ("list.json", "missing.json", "report.PDF"):
        with pytest.raises(ConfigError, match="--body"):
            read_body(tmp_path / file)
