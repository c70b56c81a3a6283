"""Each rule that the client enforces, broken once, is found; what it only ignores is said and not counted."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from rightseat.doctor.result import CheckResult
from tests.kit.app_server import serve_app
from tests.unit.doctor.openbb.fake_copilot import (
    FakeCopilotServer,
    format_sse,
    format_text_chunks,
    make_agents_json,
    make_widget_call,
)
from tests.unit.doctor.openbb.helpers import collect_check_results

pytestmark = pytest.mark.io

Sabotage = Callable[[FakeCopilotServer], None]
STREAM = "text/event-stream"
CHUNK, STATUS, CALL = "copilotMessageChunk", "copilotStatusUpdate", "copilotFunctionCall"
ARTIFACT = "copilotMessageArtifact"
QUESTION, WIDGET, FILE = "question", "widget", "openbb: agents.json"
UUID = "6f1c1c52-5f0e-4d3c-9a34-1d2f7a3b9c10"
SOURCE = {"widget_uuid": UUID, "origin": "Doctor", "id": "share_prices", "input_args": {}}
STATE: dict[str, Any] = {"extra_state": {"a": 1}}


def update_agent(**more: Any) -> Sabotage:
    def spoil(server: FakeCopilotServer) -> None:
        server.agents["ada"] |= more

    return spoil


def remove_agent_field(name: str) -> Sabotage:
    def spoil(server: FakeCopilotServer) -> None:
        del server.agents["ada"][name]

    return spoil


def set_server_field(name: str, value: Any) -> Sabotage:
    return lambda server: setattr(server, name, value)


def answer_question_with(body: bytes, status: int = 200, kind: str = STREAM) -> Sabotage:
    return lambda server: server.spare.update(plain=(status, kind, body))


def answer_with_event(name: str, data: Any) -> Sabotage:
    return answer_question_with(format_sse((name, data), (CHUNK, {"delta": "x"})))


def answer_with_call(function: str = "get_widget_data", arguments: Any = None, **more: Any) -> Sabotage:
    given = {"data_sources": [SOURCE]} if arguments is None else arguments
    data = {"function": function, "input_arguments": given, **more}
    return lambda server: server.spare.update(call=(200, STREAM, format_sse((CALL, data))))


def make_artifact(**more: Any) -> tuple[str, Any]:
    made = {"type": "text", "name": "A", "description": "d", "uuid": UUID, "content": "c"}
    return ARTIFACT, made | more


def answer_path_with(name: str, status: int, body: bytes = b"", kind: str = "application/json") -> Sabotage:
    return lambda server: server.spare.update({name: (status, kind, body)})


TWO_CALLS = format_sse(
    (CALL, make_widget_call({"widgets": [{"uuid": "u"}]})), (CALL, make_widget_call({"widgets": [{"uuid": "u"}]}))
)
# (what is spoilt, in which line it must show, with which words)
BROKEN: dict[str, tuple[Sabotage, str, str]] = {
    "no file": (set_server_field("agents", None), FILE, "404"),
    "file that fails": (answer_path_with("/agents.json", 500), FILE, "500"),
    "file that is no JSON": (answer_path_with("/agents.json", 200, b"<html>"), FILE, "no JSON"),
    "file without agents": (set_server_field("agents", {}), FILE, "names no agent"),
    "file as a list": (set_server_field("agents", [make_agents_json()["ada"]]), FILE, "names no agent"),
    "image null": (update_agent(image=None), FILE, "image"),
    "image empty": (update_agent(image=""), FILE, "image"),
    "image no URL": (update_agent(image="http://[x"), FILE, "image is no URL"),
    "no name": (remove_agent_field("name"), FILE, "name"),
    "name a number": (update_agent(name=3), FILE, "$.name"),
    "no description": (remove_agent_field("description"), FILE, "description"),
    "no endpoints": (remove_agent_field("endpoints"), FILE, "endpoints"),
    "no query": (update_agent(endpoints={"feedback": "/f"}), FILE, "endpoints.query"),
    "query no URL": (update_agent(endpoints={"query": "mailto:a"}), FILE, "query is no URL"),
    "query null": (update_agent(endpoints={"query": None}), FILE, "query"),
    "feature a word": (update_agent(features={"streaming": "yes"}), FILE, "features"),
    "feature without label": (update_agent(features={"x": {"type": "toggle"}}), FILE, "label"),
    "feature of no type": (update_agent(features={"x": {"label": "X", "type": "knob"}}), FILE, "knob"),
    "option without value": (update_agent(features={"x": {"label": "X", "options": [{"label": "a"}]}}), FILE, "value"),
    "model without id": (update_agent(models=[{"name": "M"}]), FILE, "id"),
    "flag no bool": (update_agent(hasStreaming="yes"), FILE, "hasStreaming"),
    "one name twice": (lambda s: s.agents.update(bob=s.agents["ada"]), FILE, "one name"),
    "file not readable": (set_server_field("origins", ()), FILE, "CORS"),
    "preflight refused": (set_server_field("preflight", 405), "openbb: preflight", "405"),
    "preflight of a stranger": (set_server_field("origins", ()), "openbb: preflight", "may not call"),
    "header not allowed": (set_server_field("allowed", "content-type"), "openbb: preflight", "x-trace-id"),
    "private network": (set_server_field("network", False), "openbb: private network", "private address"),
    "answer not readable": (set_server_field("cors", {"access-control-allow-origin": "null"}), QUESTION, "CORS"),
    "error status": (answer_question_with(b"busy", 503), QUESTION, "503"),
    "refusal": (answer_question_with(b"{}", 422), QUESTION, "422"),
    "no stream": (answer_question_with(b'{"delta": "x"}', kind="application/json"), QUESTION, "no event stream"),
    "empty stream": (answer_question_with(b""), QUESTION, "sees nothing"),
    "comments only": (answer_question_with(b": ping\n\n"), QUESTION, "sees nothing"),
    "data no JSON": (answer_question_with(format_text_chunks("x") + b"data: [DONE]\n\n"), QUESTION, "[DONE]"),
    "data NaN": (answer_question_with(b'event: copilotMessageChunk\ndata: {"delta": NaN}\n\n'), QUESTION, "no JSON"),
    "data in single quotes": (
        answer_question_with(b"event: copilotMessageChunk\ndata: {'delta': 'x'}\n\n"),
        QUESTION,
        "JSON",
    ),
    "no blank line at the end": (answer_question_with(format_text_chunks("x")[:-1]), QUESTION, "is lost"),
    "event without data": (
        answer_question_with(format_text_chunks("x") + b"event: copilotMessageChunk\n\n"),
        QUESTION,
        "no data",
    ),
    "events that nobody knows": (
        answer_question_with(format_sse(("message", {"delta": "x"}))),
        QUESTION,
        "sees nothing",
    ),
    "delta no text": (answer_question_with(format_sse((CHUNK, {"delta": 1}))), QUESTION, "delta"),
    "delta missing": (answer_question_with(format_sse((CHUNK, {}))), QUESTION, "delta"),
    "data a list": (answer_question_with(format_sse((CHUNK, []))), QUESTION, CHUNK),
    "status of no type": (answer_with_event(STATUS, {"eventType": "SUCCESS", "message": "m"}), QUESTION, "SUCCESS"),
    "status without message": (answer_with_event(STATUS, {"eventType": "INFO"}), QUESTION, "message"),
    "status details": (
        answer_with_event(STATUS, {"eventType": "INFO", "message": "m", "details": [3]}),
        QUESTION,
        "details",
    ),
    "artifact of no type": (answer_question_with(format_sse(make_artifact(type="video"))), QUESTION, "video"),
    "artifact without uuid": (answer_question_with(format_sse(make_artifact(uuid=None))), QUESTION, "uuid"),
    "artifact with a quote": (answer_question_with(format_sse(make_artifact(name='a"b'))), QUESTION, "quote"),
    "artifacts alike": (answer_question_with(format_sse(make_artifact(), make_artifact())), QUESTION, "one name"),
    "table as text": (
        answer_question_with(format_sse(make_artifact(type="table", content="a,b"))),
        QUESTION,
        "content",
    ),
    "chart without params": (
        answer_question_with(format_sse(make_artifact(type="chart", content=[]))),
        QUESTION,
        "chart_params",
    ),
    "chart of no type": (
        answer_question_with(format_sse(make_artifact(type="chart", content=[], chart_params={"chartType": "radar"}))),
        QUESTION,
        "radar",
    ),
    "pie without angle": (
        answer_question_with(
            format_sse(make_artifact(type="chart", content=[], chart_params={"chartType": "pie", "xKey": "a"}))
        ),
        QUESTION,
        "angleKey",
    ),
    "citation without id": (
        answer_with_event("copilotCitationCollection", {"citations": [{"source_info": {"type": "web"}}]}),
        QUESTION,
        "id",
    ),
    "citation of no type": (
        answer_with_event("copilotCitationCollection", {"citations": [{"id": "1", "source_info": {"type": "x"}}]}),
        QUESTION,
        "type",
    ),
    "suggestions as text": (
        answer_with_event("copilotPromptSuggestions", {"suggestions": "a"}),
        QUESTION,
        "suggestions",
    ),
    "two calls": (lambda s: s.spare.update(call=(200, STREAM, TWO_CALLS)), WIDGET, "2 function calls"),
    "text after the call": (
        lambda s: s.spare.update(
            call=(
                200,
                STREAM,
                format_sse((CALL, make_widget_call({"widgets": [{"uuid": UUID}]}))) + format_text_chunks("x"),
            )
        ),
        WIDGET,
        "follows",
    ),
    "unknown function": (answer_with_call("run_python", {}, **STATE), WIDGET, "run_python"),
    "arguments as text": (answer_with_call(arguments="{}", **STATE), WIDGET, "input_arguments"),
    "source without origin": (
        answer_with_call(arguments={"data_sources": [{"id": "a", "input_args": {}}]}, **STATE),
        WIDGET,
        "origin",
    ),
    "input_args missing": (
        answer_with_call(arguments={"data_sources": [{"id": "a", "origin": "b"}]}, **STATE),
        WIDGET,
        "input_args",
    ),
    "2024's arguments today": (answer_with_call(arguments={"widget_uuid": UUID}, **STATE), WIDGET, "data_sources"),
    "today's arguments in 2024": (answer_with_call(**STATE), "openbb 2024: widget", "widget_uuid"),
    "tool without server": (
        answer_with_call("execute_agent_tool", {"tool_name": "a", "parameters": {}}, **STATE),
        WIDGET,
        "server_id",
    ),
    "tabs without operation": (answer_with_call("manage_navigation_bar", {"tabs": []}, **STATE), WIDGET, "operation"),
    "no extra_state": (answer_with_call(), WIDGET, "endless"),
    "empty extra_state": (answer_with_call(extra_state={}), WIDGET, "without extra_state"),
    "a widget that is not there": (
        answer_with_call(arguments={"data_sources": [{"origin": "o", "id": "elsewhere", "input_args": {}}]}, **STATE),
        WIDGET,
        "elsewhere",
    ),
    "call without end": (
        lambda s: setattr(s, "spare", {"after": (200, STREAM, format_sse((CALL, make_current_call())))}),
        "openbb today: widget",
        "no answer after",
    ),
    "result refused": (lambda s: s.spare.update(after=(422, "application/json", b"{}")), WIDGET, "422"),
    "result brings nothing": (
        lambda s: s.spare.update(after=(200, STREAM, format_sse((STATUS, {"eventType": "INFO", "message": "m"})))),
        WIDGET,
        "no words",
    ),
    "loose request refused": (answer_path_with("loose", 422), "openbb: loose request", "422"),
    "no messages, 500": (answer_path_with("empty", 500), "openbb: no messages", "500"),
    "vote refused": (answer_path_with("/v1/feedback", 404), "openbb: feedback", "404"),
}
ALSO_REPORTED_ELSEWHERE = ("preflight of a stranger", "answer not readable")


def make_current_call() -> Any:
    return {"function": "get_widget_data", "input_arguments": {"data_sources": [SOURCE]}, **STATE}


ADVICE: dict[str, tuple[Sabotage, str, str]] = {
    "flags of 2024": (update_agent(hasFunctionCalling=True), FILE, "hasFunctionCalling"),
    "feature of their own": (update_agent(features={"magic": True}), FILE, "magic"),
    "votes nowhere": (update_agent(endpoints={"query": "/v1/query"}), FILE, "votes"),
    "http elsewhere": (update_agent(image="http://pictures.example/a.png"), FILE, "image is http"),
    "other origins": (set_server_field("origins", ("https://pro.openbb.co",)), "openbb: preflight", "pro.openbb.dev"),
    "unknown event": (answer_with_event("copilotMagic", {}), QUESTION, "copilotMagic"),
    "no name": (answer_question_with(b"data: {}\n\n" + format_text_chunks("x")), QUESTION, "without a name"),
    "odd line": (answer_question_with(b"hello\n" + format_text_chunks("x")), QUESTION, "no field"),
    "status in 2024": (
        answer_with_event(STATUS, {"eventType": "INFO", "message": "m"}),
        "openbb 2024: question",
        "2024",
    ),
    "ERROR": (answer_with_event(STATUS, {"eventType": "ERROR", "message": "m"}), QUESTION, "forget"),
    "trace not exposed": (set_server_field("cors", {"x-trace-id": "t"}), QUESTION, "X-Trace-Id"),
    "no messages, 400": (answer_path_with("empty", 400), "openbb: no messages", "400"),
}


async def check_sabotaged(spoil: Sabotage) -> list[CheckResult]:
    server = FakeCopilotServer()
    spoil(server)
    async with serve_app(server) as url:
        return await collect_check_results(url)


@pytest.mark.demand("openbb.our_own_conformance_checker")
@pytest.mark.parametrize("name", BROKEN)
async def test_a_broken_rule_is_found(name: str) -> None:
    spoil, what, why = BROKEN[name]
    lines = [line for line in await check_sabotaged(spoil) if line.state == "broken"]
    assert [line for line in lines if what in line.what and why in line.why and line.fix], lines
    # One thing is spoilt, so nothing else may be red; but the file and the origin concern everything.
    kind = what.rpartition(": ")[2]
    assert what == FILE or name in ALSO_REPORTED_ELSEWHERE or all(kind in line.what for line in lines)


@pytest.mark.demand("openbb.our_own_conformance_checker")
@pytest.mark.parametrize("name", ADVICE)
async def test_what_the_client_bears_is_said_and_not_counted(name: str) -> None:
    spoil, what, why = ADVICE[name]
    lines = await check_sabotaged(spoil)
    assert [line for line in lines if line.state == "broken"] == []
    assert [line for line in lines if line.state == "skipped" and what in line.what and why in line.why]


@pytest.mark.demand("openbb.our_own_conformance_checker")
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
async def test_every_end_of_a_line_and_comments_between(end: str) -> None:
    ping = f": ping{end}{end}".encode()
    chunk = f'id: 1{end}event: {CHUNK}{end}data: {{"delta":{end}data:"x"}}{end}{end}'.encode()
    lines = await check_sabotaged(answer_question_with(ping + chunk + ping))
    assert [line.why for line in lines if QUESTION in line.what and "flows" not in line.what] == ["answered 'x'"] * 2


async def test_a_lone_surrogate_passes_as_it_does_in_a_browser() -> None:
    lines = await check_sabotaged(answer_question_with(b'event: copilotMessageChunk\ndata: {"delta": "\\ud83d"}\n\n'))
    assert [line for line in lines if line.state == "broken"] == []
    assert json.dumps([line.to_dict() for line in lines])


async def test_a_thousand_faults_are_a_few_lines() -> None:
    body = format_sse(*((CHUNK, {f"k{n}": n}) for n in range(1000)), *((f"e{n}", {}) for n in range(1000)))
    lines = [
        line for line in await check_sabotaged(answer_question_with(body)) if line.what == "openbb today: question"
    ]
    assert len(lines) <= 6


async def test_an_event_in_another_form_is_told_its_own() -> None:
    lines = await check_sabotaged(answer_with_event(STATUS, {"eventType": "SUCCESS", "message": "m"}))
    assert any("WARNING" in (line.fix or "") for line in lines if "SUCCESS" in line.why)
