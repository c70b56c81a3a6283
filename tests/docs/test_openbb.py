"""docs/openbb.md is run: its agents, its request limits, and what the doctor prints."""

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from rightseat import Runtime
from rightseat.config.load import load_config
from rightseat.config.settings import ServerSettings
from rightseat.doctor.openbb.ask import OpenBBQuestion, ask_agent
from rightseat.doctor.openbb.examine import examine
from rightseat.doctor.openbb.simulated_client import make_fields
from rightseat.documents.document import DEFAULT_LIMITS
from rightseat.doors.openbb import client_results, read, tool_selection
from rightseat.wiring.from_config import build_runtime
from tests.docs.test_docs import ROOT
from tests.kit.app_server import FakeModel, reply_calls, reply_text, serve_runtime
from tests.kit.client import RawHttpClient
from tests.kit.command import run_command
from tests.unit.doctor.openbb.helpers import PriceModel

pytestmark = pytest.mark.io

TEXT = (ROOT / "docs/openbb.md").read_text(encoding="utf-8")


def find_section_blocks(heading: str, kind: str) -> list[str]:
    section = TEXT.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    return re.findall(rf"^```{kind}\n(.*?)^```", section, re.MULTILINE | re.DOTALL)


@pytest.fixture
def agents_runtime(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Runtime:
    """The agents of the page, from its files."""
    monkeypatch.setenv("OPENAI_API_KEY", "unused")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.chdir(tmp_path)
    [config] = find_section_blocks("Describe your agents", "toml")
    [code] = find_section_blocks("Describe your agents", "python")
    (tmp_path / "rightseat.toml").write_text(config, encoding="utf-8")
    (tmp_path / "analyst.py").write_text(code, encoding="utf-8")
    return build_runtime(load_config(tmp_path / "rightseat.toml"))


def is_part_of(shown: Any, real: Any) -> bool:
    """Whether a page shows a part of what is real: it may leave out keys of objects."""
    if isinstance(shown, dict):
        return isinstance(real, dict) and all(name in real and is_part_of(shown[name], real[name]) for name in shown)
    return bool(shown == real)


@pytest.mark.demand("openbb.docs_agents_limits_eras")
async def test_the_pages_agents_are_in_agents_json(agents_runtime: Runtime) -> None:
    [shown] = find_section_blocks("Describe your agents", "json")
    async with serve_runtime(agents_runtime) as server, RawHttpClient(server.url) as client:
        await client.get("/agents.json", {"Host": "127.0.0.1:7777"})
        await client.read_head()
        agents = await client.read_json()
        checks = [line async for line in examine(server.url, {}) if line.what.endswith(".json")]
    assert is_part_of(json.loads(shown), agents), agents
    assert list(agents) == list(json.loads(shown))
    assert [line.why for line in checks if line.state == "broken"] == []


@pytest.mark.demand("openbb.docs_agents_limits_eras")
async def test_what_a_user_sets_reaches_the_pages_tool(agents_runtime: Runtime) -> None:
    model = FakeModel(reply_calls(("research", '{"topic": "tea"}')), reply_text("Here."))
    analyst = replace(agents_runtime.assistants["analyst"], model=model)
    await agents_runtime.close()
    body = {**make_fields(old=False), "workspace_options": {"deep-research": True}}
    async with serve_runtime(Runtime(assistants=[analyst])) as server:
        question = OpenBBQuestion(text="Tea?", body=body, agent="acme_analyst")
        answers = [answer async for answer in ask_agent(server.url, {}, question)]
    screen = "\n".join(part.format_text() for answer in answers for part in answer.parts)
    assert "20 sources on tea, in en" in screen
    assert "Deep research: on" in model.prompts[0].messages[0].text


@pytest.mark.demand("openbb.docs_agents_limits_eras")
async def test_the_pages_origin_may_call() -> None:
    [command] = find_section_blocks("Use a self-hosted Workspace", "sh")
    [config] = find_section_blocks("Use a self-hosted Workspace", "toml")
    origin = command.split("--origin ")[1].strip()
    assert f'cors = ["{origin}"]' in config
    async with serve_runtime(Runtime(model=PriceModel()), ServerSettings(port=0, cors=(origin,))) as server:
        printed = await run_command("doctor", "--openbb", server.url, "--origin", origin)
    assert printed.code == 0, printed.out


@pytest.mark.demand("openbb.docs_agents_limits_eras")
def test_the_pages_limits_are_the_codes() -> None:
    table = TEXT.partition("\n## Limits\n")[2].partition("\n## ")[0]
    limits = DEFAULT_LIMITS
    for shown in (
        f"| {ServerSettings().max_body_mb} MB;",
        f"| {limits.bytes >> 20} MiB, so",
        f"| {limits.seconds:g} s and {limits.memory >> 30} GiB of memory",
        f"; {limits.pages} pages of a PDF, {limits.cells:,} cells of a table",
        f"| {client_results.MAX_BYTES >> 20} MiB in {client_results.FETCH_TIMEOUT:g} s, and up to four `urls`",
        f"| files in one result | {client_results.MAX_PARTS} |",
        f"| items of added context | {read.MAX_CONTEXT_ITEMS} |",
        f"| {tool_selection.MAX_TOOLS}, and a third of its context",
        f"| {read.MAX_DATA_TOKENS:,} tokens",
        f"| function calls for one question | {read.MAX_ROUND_TRIPS} |",
    ):
        assert shown in table, shown
    assert read.MAX_URLS == 4


@pytest.mark.demand("doctor.openbb_screen")
async def test_the_pages_screen_is_the_commands() -> None:
    [command] = find_section_blocks("See what a person sees", "sh")
    [screen] = find_section_blocks("See what a person sees", "text")
    question = re.search(r"--ask '(.*)'", command)
    assert question
    async with serve_runtime(Runtime(model=PriceModel())) as server:
        printed = await run_command("doctor", "--openbb", server.url, "--ask", question[1])
    assert (printed.code, printed.out) == (0, screen)
