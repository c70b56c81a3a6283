"""Three requests that people have in their notes for such servers, pasted as they are."""

import asyncio
import json
from asyncio.subprocess import PIPE
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from tests.kit.server import RightseatProcess
from tests.kit.timeouts import HANG_TIMEOUT
from tests.peers.install import CURL
from tests.peers.prerequisites import require

pytestmark = [pytest.mark.peers, pytest.mark.asyncio(loop_scope="module")]

CURLS = Path(__file__).with_name("curls.sh")
DOCUMENTED_URL = "http://localhost:8080"
ORIGIN = ' -H "Origin: http://localhost:3000"'
JSON = '-H "Content-Type: application/json"'
SCRIPT = {
    "turns": [
        {
            "when": {"user": "San Francisco"},
            "say": "One call for each city.",
            "calls": [
                {
                    "name": "get_n_day_weather_forecast",
                    "arguments": {"location": city, "format": "celsius", "num_days": 4},
                }
                for city in ("San Francisco, CA", "Glasgow")
            ],
        },
        {"when": {"user": "15315"}, "calls": [{"name": "eval_python", "arguments": {"expression": "15315*3/55"}}]},
        {"when": {}, "say": "You asked: {user}"},
    ]
}


def read_commands() -> list[str]:
    """Each command of the file with everything that follows it up to the next."""
    commands = [f"curl{rest}".strip() for rest in CURLS.read_text("utf-8").split("\ncurl")[1:]]
    assert len(commands) == 3
    return commands


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def server(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[RightseatProcess]:
    require(CURL)
    script = tmp_path_factory.mktemp("curl") / "script.json"
    script.write_text(json.dumps(SCRIPT), encoding="utf-8")
    async with RightseatProcess(model=f"scripted:{script}") as running:
        yield running


async def run_command(line: str, server: RightseatProcess) -> tuple[int, Any]:
    """What the shell does with it; the status is asked for besides."""
    assert DOCUMENTED_URL in line
    line = line.replace(DOCUMENTED_URL, f"http://localhost:{server.port}")
    process = await asyncio.create_subprocess_shell(f"{line} -sS -w '\\n%{{http_code}}'", stdout=PIPE, stderr=PIPE)
    out, err = await asyncio.wait_for(process.communicate(), HANG_TIMEOUT)
    assert (process.returncode, err) == (0, b"")
    text, _, status = out.decode().rpartition("\n")
    return int(status), json.loads(text)


def list_tool_calls(answer: Any) -> list[tuple[str, Any]]:
    (choice,) = answer["choices"]
    found = choice["message"].get("tool_calls") or []
    assert all(isinstance(call["function"]["arguments"], str) for call in found)
    return [(call["function"]["name"], json.loads(call["function"]["arguments"])) for call in found]


@pytest.mark.demand(
    "openai.server_model_answers_model", "openai.seed_curl_lines_verbatim", "openai.arguments_always_strings"
)
async def test_the_weather_of_two_cities(server: RightseatProcess) -> None:
    status, answer = await run_command(read_commands()[0], server)
    assert (status, answer["model"], answer["object"]) == (200, "gpt-3.5-turbo", "chat.completion")
    assert answer["choices"][0]["finish_reason"] == "tool_calls"
    assert [(name, given["location"], given["num_days"]) for name, given in list_tool_calls(answer)] == [
        ("get_n_day_weather_forecast", "San Francisco, CA", 4),
        ("get_n_day_weather_forecast", "Glasgow", 4),
    ]


@pytest.mark.demand(
    "openai.server_model_answers_model", "openai.seed_curl_lines_verbatim", "openai.without_origin_header_body"
)
async def test_no_model_and_no_content_type(server: RightseatProcess) -> None:
    status, answer = await run_command(read_commands()[1], server)
    assert (status, answer["model"]) == (200, "default")
    assert list_tool_calls(answer) == [("eval_python", {"expression": "15315*3/55"})]
    status, answer = await run_command(read_commands()[2], server)
    assert (status, list_tool_calls(answer)) == (200, [])
    assert answer["choices"][0]["message"]["content"] == "You asked: What is life?"


@pytest.mark.demand("openai.without_origin_header_body")
@pytest.mark.parametrize("number", [0, 1, 2])
async def test_a_page_must_say_that_it_sends_json(server: RightseatProcess, number: int) -> None:
    line = read_commands()[number]
    plain = line.replace(JSON, '-H "Content-Type: text/plain"')
    status, answer = await run_command(plain + ORIGIN, server)
    assert (status, answer["error"]["code"], answer["error"]["type"]) == (415, "not_json", "invalid_request_error")
    status, _ = await run_command(plain, server)
    assert status == 200
    said = line if JSON in line else f"{line} {JSON}"
    status, _ = await run_command(said + ORIGIN, server)
    assert status == 200
