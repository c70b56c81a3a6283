"""The three OpenBB copilots of examples/openbb, each started from its own folder as a person would."""

import json
import shutil
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from rightseat.doctor.openbb.examine import examine
from rightseat.models.llamacpp import weights
from tests.docs.shell import PastingShell, on_posix
from tests.docs.test_docs import find_blocks
from tests.kit.answers import answer_tokens, answer_tool_call
from tests.kit.client import RawHttpClient
from tests.kit.server import RightseatProcess, find_executable
from tests.kit.timeouts import HANG_TIMEOUT
from tests.kit.upstream import FakeUpstream
from tests.unit.doors.openbb.client import PRICE_ROWS, WIDGETS, OpenBBChat, make_result_item

EXAMPLES = Path(__file__).parents[3] / "examples" / "openbb"
pytestmark = pytest.mark.io


@asynccontextmanager
async def start_example(
    name: str, env: Mapping[str, str], patience: float = HANG_TIMEOUT
) -> AsyncIterator[RightseatProcess]:
    server = RightseatProcess(command=[find_executable(), "serve", "--port", "0"], env=env, start_timeout=patience)
    shutil.copytree(EXAMPLES / name, server.folder, dirs_exist_ok=True)
    async with server:
        yield server


def make_vendor_env(upstream: FakeUpstream) -> dict[str, str]:
    """In the place of a vendor, for whom one would need a key."""
    model = {"RIGHTSEAT_MODEL": "openai:gpt-5-mini"}
    return {**model, "OPENAI_API_KEY": "unused", "OPENAI_BASE_URL": upstream.base_url}


async def fetch_card(url: str) -> dict[str, object]:
    async with RawHttpClient(url) as client:
        await client.get("/agents.json")
        assert (await client.read_head()).status == 200
        [entry] = (await client.read_json()).values()
        description: dict[str, object] = entry
        return description


@pytest.mark.demand("openbb.examples_holds_three_openbb")
@pytest.mark.long
async def test_plain() -> None:
    async with FakeUpstream() as upstream, start_example("plain", make_vendor_env(upstream)) as server:
        shown = await fetch_card(server.url)
        assert shown["name"] == "Plain copilot"
        assert shown["description"] == "Answers questions on finance in a few sentences."
        upstream.queue_replies(answer_tokens(["A ", "bond ", "is a loan."]))
        context = [{"name": "Note", "description": "A note", "data": {"items": [{"content": "Bonds fell."}]}}]
        answer = await OpenBBChat(server.url, timezone="UTC", context=context).send_text("What is a bond?")
        assert answer.text == "A bond is a loan."
        asked = json.dumps(upstream.requests[-1].json)
        assert "gpt-5-mini" in asked
        assert "on finance" in asked
        assert "Bonds fell." in asked


@pytest.mark.demand("openbb.examples_holds_three_openbb")
async def test_functions() -> None:
    async with FakeUpstream() as upstream, start_example("functions", make_vendor_env(upstream)) as server:
        assert (await fetch_card(server.url))["name"] == "Analyst"
        upstream.queue_replies(answer_tool_call("price", '{"symbol": "AAPL"}'))
        chat = OpenBBChat(server.url, widgets=WIDGETS)
        first = await chat.send_text("How much did AAPL change?")
        assert first.call is not None
        assert first.sources[0]["id"] == "historical_price"
        upstream.queue_replies(
            answer_tool_call("growth", '{"before": 231.3, "after": 233.85}'), answer_tokens(["By +1.10%."])
        )
        last = await chat.send_result(first.call, make_result_item(PRICE_ROWS, data_type="object", parse_as="table"))
        assert last.text == "By +1.10%."
        assert last.statuses[0] == ("INFO", "Running growth")
        results = [one["content"] for one in upstream.requests[-1].json["messages"] if one["role"] == "tool"]
        assert results == [json.dumps(PRICE_ROWS), "+1.10%"]


@pytest.mark.demand("openbb.examples_holds_three_openbb")
@pytest.mark.long
@pytest.mark.model
async def test_local() -> None:
    env = {"RIGHTSEAT_CACHE": str(weights.cache_folder())}
    async with start_example("local", env, patience=2 * HANG_TIMEOUT) as server:
        lines = [line async for line in examine(server.url, {})]
    assert [line.format_text() for line in lines if line.state == "broken"] == []
    assert "openbb today: question" in {line.what for line in lines if line.state == "good"}


@pytest.mark.demand("release.example_openbb")
@pytest.mark.long
@on_posix
async def test_as_the_readme_says(tmp_path: Path) -> None:
    shell = PastingShell(tmp_path)
    shell.copy_folder(EXAMPLES, {})
    serve, doctor = find_blocks(EXAMPLES / "README.md", "sh")[0].splitlines()
    [output] = await shell.serve(serve, doctor)
    assert output.endswith("Everything works.\n"), output


def test_every_example_is_in_the_readme() -> None:
    folders = {file.parent.name for file in EXAMPLES.glob("*/rightseat.toml")}
    text = (EXAMPLES / "README.md").read_text("utf-8")
    assert {name for name in folders if f"| `{name}` |" not in text} == set()
    assert len(folders) == 3
