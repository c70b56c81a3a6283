"""examples/agent: the whole program, with the official client, over a model that calls both of its tools."""

import asyncio
import json
import os
from asyncio.subprocess import PIPE
from pathlib import Path
from typing import Any

import pytest

from tests.kit.server import RightseatProcess
from tests.kit.timeouts import HANG_TIMEOUT
from tests.peers.prerequisites import require

pytestmark = [pytest.mark.peers, pytest.mark.timeout(600)]

EXAMPLE = Path(__file__).parents[2] / "examples" / "agent"
FORECAST = "get_n_day_weather_forecast"
WEATHER = "get_current_weather"


def make_call(name: str, location: str, **arguments: Any) -> dict[str, Any]:
    return {"name": name, "arguments": {"location": location, "format": "celsius", **arguments}}


SCRIPT = {
    "turns": [
        {
            "when": {"user": "London"},
            "say": "Two calls.",
            "calls": [make_call(FORECAST, "San Francisco, CA", num_days=4), make_call(WEATHER, "London")],
        },
        {"when": {"user": "tomorrow"}, "calls": [make_call(FORECAST, "Oslo", num_days=99)]},
        {"when": {}, "say": "It was: {result}"},
    ]
}


async def run_agent(python: Path, server: RightseatProcess, question: str) -> tuple[str, str]:
    command = (str(python), "agent.py", question, "--base-url", f"{server.url}/v1")
    environment = {"PATH": os.environ["PATH"], "PYTHONUTF8": "1"}
    process = await asyncio.create_subprocess_exec(*command, cwd=EXAMPLE, env=environment, stdout=PIPE, stderr=PIPE)
    out, err = await asyncio.wait_for(process.communicate(), 4 * HANG_TIMEOUT)
    assert process.returncode == 0, err.decode()
    return out.decode(), err.decode()


@pytest.mark.demand("openai.agent_example")
async def test_the_agent_runs_the_calls_of_the_model(tmp_path: Path) -> None:
    python = require("openai-py") / "bin" / "python"
    script = tmp_path / "script.json"
    script.write_text(json.dumps(SCRIPT), "utf-8")
    async with RightseatProcess(model=f"scripted:{script}") as server:
        answer, calls = await run_agent(python, server, "What is the weather in San Francisco and London?")
        assert calls.count("→ ") == 2
        assert f'→ {FORECAST}({{"location":"San Francisco, CA"' in calls
        assert '"sky": "cloudy"' in answer
        answer, _ = await run_agent(python, server, "And tomorrow?")
        assert "num_days must be between 1 and 14" in answer


def test_the_example_is_short() -> None:
    assert len((EXAMPLE / "agent.py").read_text("utf-8").splitlines()) <= 105
    assert len((EXAMPLE / "README.md").read_text("utf-8").splitlines()) <= 16
