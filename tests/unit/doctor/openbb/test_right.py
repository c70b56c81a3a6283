"""The checker against servers that are right: nothing is broken, and both eras were really played."""

import json
from pathlib import Path
from typing import Any

import pytest

from rightseat import Runtime
from rightseat.cli.doctor import parse_header, run_openbb_doctor
from rightseat.config.secret import Secret
from rightseat.config.settings import AuthSettings
from rightseat.doctor.openbb.examine import examine
from rightseat.doctor.result import CheckResult
from rightseat.errors import ConfigError
from rightseat.http.auth import Authenticator
from tests.kit.app_server import reply_text, serve_app, serve_runtime
from tests.unit.doctor.openbb.fake_copilot import FakeCopilotServer
from tests.unit.doctor.openbb.helpers import PriceModel, collect_check_results

pytestmark = pytest.mark.io

KEYS = Authenticator(AuthSettings(keys={"alice": Secret("alices-own-key")}))
ALL_CHECKS = {
    "openbb: agents.json",
    "openbb: preflight",
    "openbb: private network",
    "openbb today: question",
    "openbb 2024: question",
    "openbb today: widget",
    "openbb 2024: widget",
    "openbb: loose request",
    "openbb: no messages",
    "openbb: feedback",
}


def select_by_state(lines: list[CheckResult], state: str) -> set[str]:
    return {line.what for line in lines if line.state == state}


@pytest.mark.demand("openbb.our_own_conformance_checker")
async def test_our_own_door_is_right_in_both_eras() -> None:
    async with serve_runtime(Runtime(model=PriceModel())) as server:
        lines = [line async for line in examine(server.url, {})]
    assert select_by_state(lines, "broken") == set()
    assert select_by_state(lines, "good") == ALL_CHECKS | {"openbb: copilots.json"}
    assert [line.why for line in lines if "widget" in line.what] == ["1 call, then words: 'It was 41.75.'"] * 2


@pytest.mark.demand("openbb.our_own_conformance_checker")
async def test_our_door_with_a_key_takes_the_dialogs_header() -> None:
    async with serve_runtime(Runtime(model=PriceModel()), authenticate=KEYS) as server:
        bare = [line async for line in examine(server.url, {})]
        given = {"X-API-KEY": "alices-own-key"}
        lines = [line async for line in examine(f"{server.url}/agents.json", given)]
    assert select_by_state(bare, "broken") == {"openbb: agents.json", "openbb: copilots.json"}
    assert all("--header" in line.fix for line in bare if line.state == "broken")
    assert select_by_state(lines, "broken") == set()
    assert {"openbb: headers", "openbb today: widget"} <= select_by_state(lines, "good")


@pytest.mark.demand("openbb.our_own_conformance_checker")
async def test_our_failures_are_streams() -> None:
    class Failing:
        async def stream(self, prompt: Any, /) -> Any:
            raise ValueError("no")
            yield

    async with serve_runtime(Runtime(model=Failing())) as server:
        lines = [line async for line in examine(server.url, {})]
    assert select_by_state(lines, "broken") == set()
    assert any("a failure, told as it should be" in line.why for line in lines)


async def test_an_answer_without_a_call_is_said_and_not_broken() -> None:
    class Plain:
        async def stream(self, prompt: Any, /) -> Any:
            for fragment in reply_text("I know."):
                yield fragment

    async with serve_runtime(Runtime(model=Plain())) as server:
        lines = [line async for line in examine(server.url, {})]
    assert select_by_state(lines, "broken") == set()
    assert {"openbb today: widget", "openbb 2024: widget"} <= select_by_state(lines, "skipped")


@pytest.mark.demand("openbb.our_own_conformance_checker")
async def test_a_strangers_server_is_right() -> None:
    server = FakeCopilotServer()
    async with serve_app(server) as url:
        lines = [line async for line in examine(url, {"X-API-KEY": "k"})]
    assert select_by_state(lines, "broken") == set()
    assert select_by_state(lines, "good") == ALL_CHECKS
    assert select_by_state(lines, "skipped") >= {"openbb: copilots.json", "openbb: headers"}


@pytest.mark.demand("openbb.our_own_conformance_checker")
async def test_the_follow_up_is_the_clients() -> None:
    server = FakeCopilotServer()
    async with serve_app(server) as url:
        await collect_check_results(url)
    today, then = [body for body in server.query_bodies if body["messages"] and body["messages"][-1]["role"] == "tool"]
    assert not {"timezone", "urls", "selected_skills"} & today.keys()
    _, call, result = today["messages"]
    assert set(json.loads(call["content"])) == {"function", "input_arguments"}
    assert result["extra_state"] == {"copilot_function_call_arguments": {}}
    assert "41.75" in result["data"][0]["items"][0]["content"]
    _, call, result = then["messages"]
    assert json.loads(call["content"])["copilot_function_call_arguments"] == {"kept": True}
    assert "41.75" in result["data"]["content"]


@pytest.mark.demand("openbb.our_own_conformance_checker")
async def test_without_agents_json_the_older_file_is_taken() -> None:
    server = FakeCopilotServer()
    server.agents, server.copilots = (None, {"ada": dict(server.agents["ada"], image="https://a.example/i.png")})
    async with serve_app(server) as url:
        server.copilots["ada"]["endpoints"] = {"query": f"{url}/v1/query"}
        lines = [line async for line in examine(url, {})]
    assert select_by_state(lines, "broken") == set()
    assert {"openbb: copilots.json", "openbb today: widget"} <= select_by_state(lines, "good")
    assert {"openbb: agents.json", "openbb: feedback"} <= select_by_state(lines, "skipped")


def test_exit_codes_json_and_headers(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    # Nobody can listen there.
    assert run_openbb_doctor("http://127.0.0.1:1", ["X-API-KEY: hidden-value"], None, as_json=True) == 1
    told = json.loads(capsys.readouterr().out)
    assert (told["ok"], told["lines"][0]["what"]) == (False, "openbb: agents")
    monkeypatch.setenv("A_KEY", "of-the-env")
    assert parse_header("X-API-KEY: env:A_KEY") == ("X-API-KEY", "of-the-env")
    assert parse_header("Authorization: Bearer a:b") == ("Authorization", "Bearer a:b")
    for wrong in ("X-API-KEY", ": x", "X-API-KEY:"):
        with pytest.raises(ConfigError, match="NAME: VALUE"):
            parse_header(wrong)


def test_the_checker_knows_nothing_of_our_door() -> None:
    folder = Path(examine.__code__.co_filename).parent
    assert [file.name for file in folder.glob("*.py") if "rightseat.doors" in file.read_text("utf-8")] == []
