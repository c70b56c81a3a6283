"""`rightseat doctor` against a running server, and against servers that something on the way has broken."""

from __future__ import annotations

import asyncio
import json
import sys
from asyncio.subprocess import PIPE
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from rightseat.cli.doctor import print_lines, stream_checks
from rightseat.config.secret import Secret
from rightseat.config.settings import AuthSettings, Config, ModelSettings, ServerSettings
from rightseat.doctor import running_server
from rightseat.doctor import running_server as whole_server
from rightseat.doctor.client import ProbeReply
from rightseat.doctor.result import CheckResult
from rightseat.errors import RightseatError
from rightseat.http.auth import Authenticator
from rightseat.http.endpoint import Door, Probe, Request, Route, make_reply
from rightseat.http.reply import Message, Receive, Reply, Send
from rightseat.wiring.from_config import build_runtime
from rightseat.wiring.lookup import load_all
from tests.kit.app_server import AppServer, serve_app, serve_runtime
from tests.kit.server import RightseatProcess
from tests.kit.timeouts import HANG_TIMEOUT

pytestmark = pytest.mark.io

MessageChange = Callable[[Message], list[Message]]
KEYS = Authenticator(AuthSettings(keys={"alice": Secret("alices-own-key")}))


# Slow enough to tell whether its stream flows, on any machine.
PACE = 150


def write_paced_script(pace_ms: int, folder: Path) -> str:
    file = folder / f"pace{pace_ms}.json"
    file.write_text(
        json.dumps({"turns": [{"when": {}, "say": ["one ", "two ", "three ", "four"], "pace_ms": pace_ms}]})
    )
    return f"scripted:{file}"


def make_config(pace_ms: int, folder: Path) -> Config:
    return Config(models={"default": ModelSettings(spec=write_paced_script(pace_ms, folder))})


async def run_doctor(url: str, key: str | None = None, min_stream_seconds: float = HANG_TIMEOUT) -> list[CheckResult]:
    """What is told; a stream that took less than `telling` seconds says nothing about its flow."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(running_server, "MIN_STREAM_SECONDS", min_stream_seconds)
        return await print_lines(stream_checks(url, Secret(key) if key else None, None), quiet=True)


def list_broken_checks(lines: list[CheckResult]) -> list[str]:
    return [line.what for line in lines if line.state == "broken"]


@pytest.fixture(autouse=True)
def empty_working_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.demand("doctor.doctor_calls_door_running", "openbb.our_own_conformance_checker")
async def test_every_door_of_a_good_server_is_called(tmp_path: Path) -> None:
    async with serve_runtime(build_runtime(make_config(0, tmp_path), env={})) as home:
        lines = await run_doctor(home.url)
    assert list_broken_checks(lines) == []
    good = {line.what for line in lines if line.state == "good"}
    for door in load_all("doors"):
        assert door.probes, f"{door.name} brings no probe"
        assert {f"{door.name}: {probe.name}" for probe in door.probes} <= good
    assert {"operators: health", "operators: ready", "request id", "keep-alive"} <= good
    assert {"page at localhost:3000", "page of an unknown origin"} <= good


@pytest.mark.demand("doctor.finds_stands_between_proxy")
@pytest.mark.long
async def test_a_stream_that_flows_is_told_from_one_too_quick(tmp_path: Path) -> None:
    for pace, telling, state in ((0, HANG_TIMEOUT, "skipped"), (PACE, running_server.MIN_STREAM_SECONDS, "good")):
        async with serve_runtime(build_runtime(make_config(pace, tmp_path), env={})) as home:
            lines = await run_doctor(home.url, min_stream_seconds=telling)
        assert [line.state for line in lines if line.what.endswith(", unbuffered")] == [state] * 4


@pytest.mark.demand("doctor.finds_stands_between_proxy")
def test_a_short_answer_of_a_slow_model_shows_no_buffering() -> None:
    """Its few events come together: a small model on a slow machine answers so."""
    for events, state in ((1, "skipped"), (3, "skipped"), (4, "broken")):
        body = b": waiting\n\n" * 5 + b"event: copilotMessageChunk\ndata: {}\n\n" * events
        reply = ProbeReply(200, {"content-type": "text/event-stream"}, body, 6.27, 6.27)
        assert running_server.check_streaming("openbb: query", reply).state == state


@pytest.mark.demand("doctor.checks_keys_cors_private")
@pytest.mark.parametrize(
    ("key", "state"), [(None, "skipped"), ("alices-own-key", "good"), ("another-persons", "broken")]
)
async def test_keys(tmp_path: Path, key: str | None, state: str) -> None:
    async with serve_runtime(build_runtime(make_config(0, tmp_path), env={}), authenticate=KEYS) as home:
        lines = await run_doctor(home.url, key)
    states = {line.what: line.state for line in lines}
    assert states["openai: models"] == states["openai: chat, whole"] == states["agui: run"] == state
    assert states["openai: keys"] == states["agui: keys"] == "good"
    assert "alices-own-key" not in "".join(line.format_text() for line in lines)


@pytest.mark.demand("doctor.checks_keys_cors_private")
async def test_a_server_that_forgot_its_keys(tmp_path: Path) -> None:
    async with serve_runtime(build_runtime(make_config(0, tmp_path), env={})) as home:
        port = home.url.rsplit(":", 1)[1]
        (tmp_path / "key").write_text("alices-own-key")
        (tmp_path / "rightseat.toml").write_text(f'[server]\nport = {port}\n[auth.keys]\na = "file:key"\n')
        lines = await print_lines(stream_checks(None, None, None), quiet=True)
    assert list_broken_checks(lines) == [f"{door.name}: keys" for door in load_all("doors")]


@pytest.mark.demand("doctor.checks_keys_cors_private")
async def test_configured_origins(tmp_path: Path) -> None:
    settings = ServerSettings(port=0, cors=("https://known.example",))
    async with serve_runtime(build_runtime(make_config(0, tmp_path), env={}), settings) as home:
        port = home.url.rsplit(":", 1)[1]
        (tmp_path / "rightseat.toml").write_text(
            f'[server]\nport = {port}\ncors = ["https://known.example", "https://added.example"]\n'
        )
        lines = await print_lines(stream_checks(None, None, None), quiet=True)
    assert list_broken_checks(lines) == ["page at added.example"]
    assert [line.why for line in lines if line.what == "page at known.example"] == [
        "may call and read (CORS)",
        "may call a private network (PNA)",
    ]


@pytest.mark.demand("doctor.doctor_calls_door_running")
async def test_a_model_that_fails_is_told_at_each_door(tmp_path: Path) -> None:
    file = tmp_path / "dead.json"
    file.write_text('{"turns": [{"when": {}, "finish": "raise:upstream_denied"}]}')
    config = Config(models={"default": ModelSettings(spec=f"scripted:{file}")})
    async with serve_runtime(build_runtime(config, env={})) as home:
        lines = await run_doctor(home.url)
    asked = ["openai: chat, whole", "openai: chat, streamed", "agui: run"]
    assert list_broken_checks(lines) == [*asked, "openbb: query of 2024", "openbb: query of today", "copilotkit: run"]


@pytest.mark.demand("doctor.doctor_calls_door_running")
async def test_a_draining_server_is_not_ready(tmp_path: Path) -> None:
    async with serve_runtime(build_runtime(make_config(0, tmp_path), env={})) as home:
        home.app.runtime.stop_accepting()
        lines = await run_doctor(home.url)
    assert "operators: ready" in list_broken_checks(lines)


@asynccontextmanager
async def serve_behind_proxy(proxy: Callable[[AppServer], Any], folder: Path, pace: int = 0) -> AsyncIterator[str]:
    """The server behind something that changes its answers."""
    config = make_config(pace, folder)
    made = build_runtime(config, env={})
    async with serve_runtime(made, ServerSettings(port=0), KEYS) as home, serve_app(proxy(home)) as url:
        yield url


def make_proxy(change: Callable[[], MessageChange]) -> Callable[[AppServer], Any]:
    def proxy(home: AppServer) -> Any:
        async def app(scope: dict[str, Any], receive: Receive, send: Send) -> None:
            changed = change()

            async def pass_on(message: Message) -> None:
                for one in changed(message):
                    await send(one)

            await home.app(scope, receive, pass_on)

        return app

    return proxy


def drop_headers(*names: bytes) -> Callable[[], MessageChange]:
    def change(message: Message) -> list[Message]:
        if "headers" in message:
            message["headers"] = [pair for pair in message["headers"] if pair[0] not in names]
        return [message]

    return lambda: change


def buffer_response() -> MessageChange:
    kept: list[Message] = []

    def change(message: Message) -> list[Message]:
        kept.append(message)
        done = message["type"] == "http.response.body" and not message.get("more_body")
        return kept if done else []

    return change


def allow_any_origin() -> MessageChange:
    def change(message: Message) -> list[Message]:
        if "headers" in message:
            message["headers"] = [*message["headers"], (b"access-control-allow-origin", b"*")]
        return [message]

    return change


def make_401_html() -> MessageChange:
    refused = False

    def change(message: Message) -> list[Message]:
        nonlocal refused
        if message.get("status") == 401:
            refused = True
            message["headers"] = [(b"content-type", b"text/html"), (b"content-length", b"2")]
        elif refused and message.get("body"):
            message["body"] = b"no"
        return [message]

    return change


PAGE = "page at localhost:3000"
KEYED_DOORS = ("openai", "agui", "openbb", "copilotkit", "mcp", "llamacpp", "eulercopilot")
BREAKS: list[tuple[Callable[[], MessageChange], set[str]]] = [
    (drop_headers(b"x-request-id"), {"request id"}),
    (drop_headers(b"access-control-allow-origin"), {PAGE}),
    (drop_headers(b"access-control-allow-headers"), {PAGE}),
    (drop_headers(b"access-control-allow-methods"), {PAGE}),
    (drop_headers(b"access-control-allow-private-network"), {PAGE}),
    (allow_any_origin, {PAGE, "page of an unknown origin"}),
    (make_401_html, {f"{door}: keys" for door in KEYED_DOORS}),
]


@pytest.mark.demand("doctor.checks_keys_cors_private")
@pytest.mark.parametrize(("change", "found"), BREAKS)
async def test_what_a_proxy_breaks_is_found(
    change: Callable[[], MessageChange], found: set[str], tmp_path: Path
) -> None:
    async with serve_behind_proxy(make_proxy(change), tmp_path) as url:
        lines = await run_doctor(url, "alices-own-key")
    assert found == set(list_broken_checks(lines))
    assert all(line.fix for line in lines if line.state == "broken")


@pytest.mark.demand("doctor.finds_stands_between_proxy")
@pytest.mark.long
async def test_a_proxy_that_collects_a_stream_is_found(tmp_path: Path) -> None:
    async with serve_behind_proxy(make_proxy(buffer_response), tmp_path, pace=PACE) as url:
        lines = await run_doctor(url, "alices-own-key", min_stream_seconds=running_server.MIN_STREAM_SECONDS)
    streams = ["openai: chat, streamed", "agui: run", "openbb: query of 2024", "openbb: query of today"]
    assert list_broken_checks(lines) == [f"{stream}, unbuffered" for stream in streams]


@pytest.mark.demand("doctor.finds_stands_between_proxy")
async def test_connections_that_are_not_kept_are_found(tmp_path: Path) -> None:
    def closed() -> MessageChange:
        def change(message: Message) -> list[Message]:
            if "headers" in message:
                message["headers"] = [*message["headers"], (b"connection", b"close")]
            return [message]

        return change

    async with serve_behind_proxy(make_proxy(closed), tmp_path) as url:
        assert list_broken_checks(await run_doctor(url, "alices-own-key")) == ["keep-alive"]


@pytest.mark.demand("doctor.doctor_calls_door_running")
async def test_a_new_door_brings_its_own_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def answer(request: Request, host: object) -> Reply:
        return make_reply(200, b"pong")

    def refuse(error: RightseatError) -> Reply:
        return make_reply(error.status, b"{}")

    def check(status: int, headers: object, body: bytes) -> str | None:
        return None if body == b"ping" else "it did not say ping"

    probe = Probe("ping", "POST", "/ping", check, b"{}")
    door = Door("ping", (Route("POST", "/ping", answer),), refuse, lambda base: base, (probe,))
    monkeypatch.setattr(sys.modules["rightseat.cli.doctor"], "load_all", lambda family: [door])
    monkeypatch.setattr("tests.kit.app_server.load_all", lambda family: [door])
    async with serve_runtime(build_runtime(make_config(0, tmp_path), env={})) as home:
        lines = await run_doctor(home.url)
    [line] = [line for line in lines if line.what == "ping: ping"]
    assert (line.state, "it did not say ping" in line.why) == ("broken", True)


@pytest.mark.demand("doctor.doctor_calls_door_running")
@pytest.mark.parametrize(
    ("status", "body"), [(500, b"{}"), (200, b"<html>"), (200, b"\xff"), (200, b"[]"), (200, b'{"data": 1}')]
)
def test_no_answer_of_a_stranger_confuses_a_probe(status: int, body: bytes) -> None:
    probes = [probe for door in load_all("doors") for probe in door.probes] + list(whole_server.SERVER_PROBES)
    stream = {"content-type": "text/event-stream"}
    for probe in probes:
        for headers in ({}, stream):
            if probe.name != "models" or body != b'{"data": 1}':
                assert probe.check(status, headers, body), probe.name


async def run_doctor_command(url: str) -> tuple[int | None, bytes, bytes]:
    line = ["-m", "rightseat", "doctor", "--url", url, "--json"]
    child = await asyncio.create_subprocess_exec(sys.executable, *line, stdout=PIPE, stderr=PIPE)
    out, err = await asyncio.wait_for(child.communicate(), HANG_TIMEOUT)
    return child.returncode, out, err


@pytest.mark.demand("doctor.exit_code_0_all")
@pytest.mark.long
@pytest.mark.io
async def test_the_command_and_its_exit_code(tmp_path: Path) -> None:
    async with RightseatProcess(model=write_paced_script(PACE, tmp_path)) as server:
        code, out, err = await run_doctor_command(server.url)
    assert (code, err) == (0, b"")
    assert json.loads(out)["ok"] is True
    code, out, _ = await run_doctor_command(server.url)
    assert (code, json.loads(out)["ok"]) == (1, False)
