"""Each rule that the client enforces, broken once, is found; what it only ignores is said and not counted."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from rightseat.doctor.result import CheckResult
from tests.kit.house import serving
from tests.unit.doctor.openbb.asking import states
from tests.unit.doctor.openbb.copilot import Copilot, agents, called, sse, text

pytestmark = pytest.mark.io

Spoil = Callable[[Copilot], None]
STREAM = "text/event-stream"
CHUNK, STATUS, CALL = "copilotMessageChunk", "copilotStatusUpdate", "copilotFunctionCall"
ARTIFACT = "copilotMessageArtifact"
QUESTION, WIDGET, FILE = "question", "widget", "openbb: agents.json"
UUID = "6f1c1c52-5f0e-4d3c-9a34-1d2f7a3b9c10"
SOURCE = {"widget_uuid": UUID, "origin": "Doctor", "id": "share_prices", "input_args": {}}
STATE: dict[str, Any] = {"extra_state": {"a": 1}}


def entry(**more: Any) -> Spoil:
    def spoil(server: Copilot) -> None:
        server.agents["ada"] |= more

    return spoil


def without(name: str) -> Spoil:
    def spoil(server: Copilot) -> None:
        del server.agents["ada"][name]

    return spoil


def sets(name: str, value: Any) -> Spoil:
    return lambda server: setattr(server, name, value)


def plain(body: bytes, status: int = 200, kind: str = STREAM) -> Spoil:
    return lambda server: server.spare.update(plain=(status, kind, body))


def event(name: str, data: Any) -> Spoil:
    return plain(sse((name, data), (CHUNK, {"delta": "x"})))


def call(function: str = "get_widget_data", arguments: Any = None, **more: Any) -> Spoil:
    given = {"data_sources": [SOURCE]} if arguments is None else arguments
    data = {"function": function, "input_arguments": given, **more}
    return lambda server: server.spare.update(call=(200, STREAM, sse((CALL, data))))


def artifact(**more: Any) -> tuple[str, Any]:
    made = {"type": "text", "name": "A", "description": "d", "uuid": UUID, "content": "c"}
    return ARTIFACT, made | more


def path(name: str, status: int, body: bytes = b"", kind: str = "application/json") -> Spoil:
    return lambda server: server.spare.update({name: (status, kind, body)})


TWICE = sse((CALL, called({"widgets": [{"uuid": "u"}]})), (CALL, called({"widgets": [{"uuid": "u"}]})))
# (what is spoilt, in which line it must show, with which words)
BROKEN: dict[str, tuple[Spoil, str, str]] = {
    "no file": (sets("agents", None), FILE, "404"),
    "file that fails": (path("/agents.json", 500), FILE, "500"),
    "file that is no JSON": (path("/agents.json", 200, b"<html>"), FILE, "no JSON"),
    "file without agents": (sets("agents", {}), FILE, "names no agent"),
    "file as a list": (sets("agents", [agents()["ada"]]), FILE, "names no agent"),
    "image null": (entry(image=None), FILE, "image"),
    "image empty": (entry(image=""), FILE, "image"),
    "image no URL": (entry(image="http://[x"), FILE, "image is no URL"),
    "no name": (without("name"), FILE, "name"),
    "name a number": (entry(name=3), FILE, "$.name"),
    "no description": (without("description"), FILE, "description"),
    "no endpoints": (without("endpoints"), FILE, "endpoints"),
    "no query": (entry(endpoints={"feedback": "/f"}), FILE, "endpoints.query"),
    "query no URL": (entry(endpoints={"query": "mailto:a"}), FILE, "query is no URL"),
    "query null": (entry(endpoints={"query": None}), FILE, "query"),
    "feature a word": (entry(features={"streaming": "yes"}), FILE, "features"),
    "feature without label": (entry(features={"x": {"type": "toggle"}}), FILE, "label"),
    "feature of no type": (entry(features={"x": {"label": "X", "type": "knob"}}), FILE, "knob"),
    "option without value": (entry(features={"x": {"label": "X", "options": [{"label": "a"}]}}), FILE, "value"),
    "model without id": (entry(models=[{"name": "M"}]), FILE, "id"),
    "flag no bool": (entry(hasStreaming="yes"), FILE, "hasStreaming"),
    "one name twice": (lambda s: s.agents.update(bob=s.agents["ada"]), FILE, "one name"),
    "file not readable": (sets("origins", ()), FILE, "CORS"),
    "preflight refused": (sets("preflight", 405), "openbb: preflight", "405"),
    "preflight of a stranger": (sets("origins", ()), "openbb: preflight", "may not call"),
    "header not allowed": (sets("allowed", "content-type"), "openbb: preflight", "x-trace-id"),
    "private network": (sets("network", False), "openbb: private network", "private address"),
    "answer not readable": (sets("cors", {"access-control-allow-origin": "null"}), QUESTION, "CORS"),
    "error status": (plain(b"busy", 503), QUESTION, "503"),
    "refusal": (plain(b"{}", 422), QUESTION, "422"),
    "no stream": (plain(b'{"delta": "x"}', kind="application/json"), QUESTION, "no event stream"),
    "empty stream": (plain(b""), QUESTION, "sees nothing"),
    "comments only": (plain(b": ping\n\n"), QUESTION, "sees nothing"),
    "data no JSON": (plain(text("x") + b"data: [DONE]\n\n"), QUESTION, "[DONE]"),
    "data NaN": (plain(b'event: copilotMessageChunk\ndata: {"delta": NaN}\n\n'), QUESTION, "no JSON"),
    "data in single quotes": (plain(b"event: copilotMessageChunk\ndata: {'delta': 'x'}\n\n"), QUESTION, "JSON"),
    "no blank line at the end": (plain(text("x")[:-1]), QUESTION, "is lost"),
    "event without data": (plain(text("x") + b"event: copilotMessageChunk\n\n"), QUESTION, "no data"),
    "events that nobody knows": (plain(sse(("message", {"delta": "x"}))), QUESTION, "sees nothing"),
    "delta no text": (plain(sse((CHUNK, {"delta": 1}))), QUESTION, "delta"),
    "delta missing": (plain(sse((CHUNK, {}))), QUESTION, "delta"),
    "data a list": (plain(sse((CHUNK, []))), QUESTION, CHUNK),
    "status of no type": (event(STATUS, {"eventType": "SUCCESS", "message": "m"}), QUESTION, "SUCCESS"),
    "status without message": (event(STATUS, {"eventType": "INFO"}), QUESTION, "message"),
    "status details": (event(STATUS, {"eventType": "INFO", "message": "m", "details": [3]}), QUESTION, "details"),
    "artifact of no type": (plain(sse(artifact(type="video"))), QUESTION, "video"),
    "artifact without uuid": (plain(sse(artifact(uuid=None))), QUESTION, "uuid"),
    "artifact with a quote": (plain(sse(artifact(name='a"b'))), QUESTION, "quote"),
    "artifacts alike": (plain(sse(artifact(), artifact())), QUESTION, "one name"),
    "table as text": (plain(sse(artifact(type="table", content="a,b"))), QUESTION, "content"),
    "chart without params": (plain(sse(artifact(type="chart", content=[]))), QUESTION, "chart_params"),
    "chart of no type": (
        plain(sse(artifact(type="chart", content=[], chart_params={"chartType": "radar"}))),
        QUESTION,
        "radar",
    ),
    "pie without angle": (
        plain(sse(artifact(type="chart", content=[], chart_params={"chartType": "pie", "xKey": "a"}))),
        QUESTION,
        "angleKey",
    ),
    "citation without id": (
        event("copilotCitationCollection", {"citations": [{"source_info": {"type": "web"}}]}),
        QUESTION,
        "id",
    ),
    "citation of no type": (
        event("copilotCitationCollection", {"citations": [{"id": "1", "source_info": {"type": "x"}}]}),
        QUESTION,
        "type",
    ),
    "suggestions as text": (event("copilotPromptSuggestions", {"suggestions": "a"}), QUESTION, "suggestions"),
    "two calls": (lambda s: s.spare.update(call=(200, STREAM, TWICE)), WIDGET, "2 function calls"),
    "text after the call": (
        lambda s: s.spare.update(call=(200, STREAM, sse((CALL, called({"widgets": [{"uuid": UUID}]}))) + text("x"))),
        WIDGET,
        "follows",
    ),
    "unknown function": (call("run_python", {}, **STATE), WIDGET, "run_python"),
    "arguments as text": (call(arguments="{}", **STATE), WIDGET, "input_arguments"),
    "source without origin": (
        call(arguments={"data_sources": [{"id": "a", "input_args": {}}]}, **STATE),
        WIDGET,
        "origin",
    ),
    "input_args missing": (
        call(arguments={"data_sources": [{"id": "a", "origin": "b"}]}, **STATE),
        WIDGET,
        "input_args",
    ),
    "2024's arguments today": (call(arguments={"widget_uuid": UUID}, **STATE), WIDGET, "data_sources"),
    "today's arguments in 2024": (call(**STATE), "openbb 2024: widget", "widget_uuid"),
    "tool without server": (
        call("execute_agent_tool", {"tool_name": "a", "parameters": {}}, **STATE),
        WIDGET,
        "server_id",
    ),
    "tabs without operation": (call("manage_navigation_bar", {"tabs": []}, **STATE), WIDGET, "operation"),
    "no extra_state": (call(), WIDGET, "endless"),
    "empty extra_state": (call(extra_state={}), WIDGET, "without extra_state"),
    "a widget that is not there": (
        call(arguments={"data_sources": [{"origin": "o", "id": "elsewhere", "input_args": {}}]}, **STATE),
        WIDGET,
        "elsewhere",
    ),
    "call without end": (
        lambda s: setattr(s, "spare", {"after": (200, STREAM, sse((CALL, today_call())))}),
        "openbb today: widget",
        "no answer after",
    ),
    "result refused": (lambda s: s.spare.update(after=(422, "application/json", b"{}")), WIDGET, "422"),
    "result brings nothing": (
        lambda s: s.spare.update(after=(200, STREAM, sse((STATUS, {"eventType": "INFO", "message": "m"})))),
        WIDGET,
        "no words",
    ),
    "loose request refused": (path("loose", 422), "openbb: loose request", "422"),
    "no messages, 500": (path("empty", 500), "openbb: no messages", "500"),
    "vote refused": (path("/v1/feedback", 404), "openbb: feedback", "404"),
}
EVERYWHERE = ("preflight of a stranger", "answer not readable")


def today_call() -> Any:
    return {"function": "get_widget_data", "input_arguments": {"data_sources": [SOURCE]}, **STATE}


ADVICE: dict[str, tuple[Spoil, str, str]] = {
    "flags of 2024": (entry(hasFunctionCalling=True), FILE, "hasFunctionCalling"),
    "feature of their own": (entry(features={"magic": True}), FILE, "magic"),
    "votes nowhere": (entry(endpoints={"query": "/v1/query"}), FILE, "votes"),
    "http elsewhere": (entry(image="http://pictures.example/a.png"), FILE, "image is http"),
    "other origins": (sets("origins", ("https://pro.openbb.co",)), "openbb: preflight", "pro.openbb.dev"),
    "unknown event": (event("copilotMagic", {}), QUESTION, "copilotMagic"),
    "no name": (plain(b"data: {}\n\n" + text("x")), QUESTION, "without a name"),
    "odd line": (plain(b"hello\n" + text("x")), QUESTION, "no field"),
    "status in 2024": (event(STATUS, {"eventType": "INFO", "message": "m"}), "openbb 2024: question", "2024"),
    "ERROR": (event(STATUS, {"eventType": "ERROR", "message": "m"}), QUESTION, "forget"),
    "trace not exposed": (sets("cors", {"x-trace-id": "t"}), QUESTION, "X-Trace-Id"),
    "no messages, 400": (path("empty", 400), "openbb: no messages", "400"),
}


async def found(spoil: Spoil) -> list[CheckResult]:
    server = Copilot()
    spoil(server)
    async with serving(server) as url:
        return await states(url)


@pytest.mark.demand("openbb.our_own_conformance_checker")
@pytest.mark.parametrize("name", BROKEN)
async def test_a_broken_rule_is_found(name: str) -> None:
    spoil, what, why = BROKEN[name]
    lines = [line for line in await found(spoil) if line.state == "broken"]
    assert [line for line in lines if what in line.what and why in line.why and line.fix], lines
    # One thing is spoilt, so nothing else may be red; but the file and the origin concern everything.
    kind = what.rpartition(": ")[2]
    assert what == FILE or name in EVERYWHERE or all(kind in line.what for line in lines)


@pytest.mark.demand("openbb.our_own_conformance_checker")
@pytest.mark.parametrize("name", ADVICE)
async def test_what_the_client_bears_is_said_and_not_counted(name: str) -> None:
    spoil, what, why = ADVICE[name]
    lines = await found(spoil)
    assert [line for line in lines if line.state == "broken"] == []
    assert [line for line in lines if line.state == "skipped" and what in line.what and why in line.why]


@pytest.mark.demand("openbb.our_own_conformance_checker")
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
async def test_every_end_of_a_line_and_comments_between(end: str) -> None:
    ping = f": ping{end}{end}".encode()
    chunk = f'id: 1{end}event: {CHUNK}{end}data: {{"delta":{end}data:"x"}}{end}{end}'.encode()
    lines = await found(plain(ping + chunk + ping))
    assert [line.why for line in lines if QUESTION in line.what and "flows" not in line.what] == ["answered 'x'"] * 2


async def test_a_lone_surrogate_passes_as_it_does_in_a_browser() -> None:
    lines = await found(plain(b'event: copilotMessageChunk\ndata: {"delta": "\\ud83d"}\n\n'))
    assert [line for line in lines if line.state == "broken"] == []
    assert json.dumps([line.to_dict() for line in lines])


async def test_a_thousand_faults_are_a_few_lines() -> None:
    body = sse(*((CHUNK, {f"k{n}": n}) for n in range(1000)), *((f"e{n}", {}) for n in range(1000)))
    lines = [line for line in await found(plain(body)) if line.what == "openbb today: question"]
    assert len(lines) <= 6


async def test_an_event_in_another_form_is_told_its_own() -> None:
    lines = await found(event(STATUS, {"eventType": "SUCCESS", "message": "m"}))
    assert any("WARNING" in (line.fix or "") for line in lines if "SUCCESS" in line.why)
