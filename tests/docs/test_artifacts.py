"""docs/artifacts.md is run: each tool of the page behind real doors, and what the page shows is what they send."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from rightseat import Runtime, Tool
from rightseat.doctor.openbb.ask import OpenBBQuestion, ask_agent
from tests.docs.test_docs import ROOT, find_blocks, import_code
from tests.kit.app_server import FakeModel, reply_calls, reply_text, serve_runtime
from tests.kit.client import RawHttpClient

pytestmark = pytest.mark.io

PAGE = ROOT / "docs/artifacts.md"
QUESTION = "Go."
ANSWER = "Here you are."
# The tool of each file, with the arguments that the page names.
CALLS = {
    "sales": ("sales", '{"year": 2026}'),
    "charts": ("charts", "{}"),
    "pages": ("report", "{}"),
    "sources": ("look_up", "{}"),
    "next_questions": ("compare", "{}"),
    "progress": ("close_books", '{"year": 2026}'),
    "prices": ("prices", '{"symbol": "ACME"}'),
}
SHOWN_EVENTS = ("CUSTOM", "STEP_STARTED", "STEP_FINISHED")


def list_sections() -> dict[str, tuple[str, list[tuple[str, str]]]]:
    """The code of each file, and the blocks of text and JSON after it, up to the next file."""
    text = PAGE.read_text(encoding="utf-8")
    pieces = re.split(r"^```python\n# (\w+)\.py\n", text, flags=re.MULTILINE)
    sections = {}
    for name, rest in zip(pieces[1::2], pieces[2::2], strict=True):
        code, _, after = rest.partition("\n```\n")
        sections[name] = (code, re.findall(r"^```(text|json)\n(.*?)\n```", after, re.MULTILINE | re.DOTALL))
    return sections


SECTIONS = list_sections()


def get_block(name: str, kind: str, number: int) -> str | None:
    blocks = [text for block_kind, text in SECTIONS[name][1] if block_kind == kind]
    return blocks[number] if number < len(blocks) else None


def hide_addresses(text: str) -> str:
    """The page's address and an abbreviated token stand for those of the run."""
    return re.sub(r"http://127\.0\.0\.1(?::\d+)?/files/file_[0-9a-f]{32}", "http://127.0.0.1:7777/files/file_…", text)


def load_tool(name: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Tool:
    made = import_code(name, SECTIONS[name][0], folder, monkeypatch)
    found: Tool = getattr(made, CALLS[name][0])
    return found


def make_model(name: str) -> FakeModel:
    return FakeModel(reply_calls(CALLS[name]), reply_text(ANSWER))


async def read_screen(name: str, tool: Tool) -> str:
    """What a person sees of the answer in Workspace. The client must find no fault with it."""
    async with serve_runtime(Runtime(model=make_model(name), tools=[tool])) as server:
        [answer] = [answer async for answer in ask_agent(server.url, {}, OpenBBQuestion(text=QUESTION))]
    assert answer.faults == []
    return hide_addresses("\n".join(part.format_text() for part in answer.parts))


async def post(name: str, tool: Tool, path: str, body: Any) -> str:
    runtime = Runtime(model=make_model(name), tools=[tool])
    async with serve_runtime(runtime) as server, RawHttpClient(server.url) as client:
        await client.post_json(path, body)
        assert (await client.read_head()).status == 200
        return hide_addresses((await client.read_body()).decode())


async def read_agui_events(name: str, tool: Tool) -> list[Any]:
    lists: dict[str, Any] = {"tools": [], "context": [], "state": {}, "forwardedProps": {}}
    messages = [{"id": "m1", "role": "user", "content": QUESTION}]
    body = await post(name, tool, "/agui/default", {"threadId": "t1", "runId": "r1", "messages": messages, **lists})
    events = [json.loads(line) for line in re.findall(r"^data: (.*)$", body, re.MULTILINE)]
    return [event for event in events if event["type"] in SHOWN_EVENTS]


async def read_openai_text(name: str, tool: Tool) -> str:
    messages = [{"role": "user", "content": QUESTION}]
    body = await post(name, tool, "/v1/chat/completions", {"model": "default", "messages": messages})
    text: str = json.loads(body)["choices"][0]["message"]["content"]
    return text


def test_every_file_of_the_page_is_run() -> None:
    assert {*SECTIONS} == {*CALLS}


@pytest.mark.demand("openbb.docs_artifacts_page")
# tests/peers runs `prices`, which needs pandas.
@pytest.mark.parametrize("name", [name for name in CALLS if name != "prices"])
async def test_what_the_page_shows_of_each_door(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tool = load_tool(name, tmp_path, monkeypatch)
    assert await read_screen(name, tool) == get_block(name, "text", 0)
    events = await read_agui_events(name, tool)
    assert events
    if lines := get_block(name, "json", 0):
        assert events == [json.loads(line) for line in lines.splitlines()]
    text = await read_openai_text(name, tool)
    if (shown := get_block(name, "text", 1)) is not None:
        assert text == shown
    elif name != "charts":
        # The page says that these are not shown there.
        assert text == ANSWER


@pytest.mark.demand("openbb.docs_artifacts_page")
async def test_charts_are_tables_at_openai_and_as_written_at_agui(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tool = load_tool("charts", tmp_path, monkeypatch)
    text = await read_openai_text("charts", tool)
    assert text.count("| Jan | 40.5 | 12 |") == 3
    assert text.count("| Bonds | 60 |") == 2
    values = [event["value"] for event in await read_agui_events("charts", tool)]
    assert values[0]["content"]["chart"] == {"type": "line", "x": "month", "y": ["price", "volume"]}
    assert values[-1]["content"]["series"][0]["type"] == "funnel"


def test_the_page_is_linked_from_its_neighbours() -> None:
    for neighbour in ("docs/index.md", "docs/tools.md", "docs/openbb.md", "docs/agui.md", "docs/openai.md", "llms.txt"):
        assert "artifacts.md" in (ROOT / neighbour).read_text(encoding="utf-8"), neighbour


def test_the_pages_configuration_names_the_pages_tool() -> None:
    [text] = find_blocks(PAGE, "toml")
    assert 'tools = ["sales:sales"]' in text
