"""What the documents say is run: their code, their configuration, their requests and their links."""

import asyncio
import importlib
import json
import re
import shlex
import sys
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from rightseat import Runtime
from rightseat.config.read import load_config
from rightseat.config.settings import Config
from rightseat.wiring.from_config import build_runtime
from rightseat.wiring.registry import make_model
from tests.kit.client import Client, request
from tests.kit.house import house, says, serving
from tests.unit.doors.openai.test_raw import Going
from tests.unit.models.llamacpp.ggufs import gguf, usual

ROOT = Path(__file__).parents[2]
PAGES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]


def blocks(page: Path, kind: str) -> list[str]:
    return re.findall(rf"^```{kind}\n(.*?)^```", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)


def all_blocks(kind: str) -> list[Any]:
    return [
        pytest.param(page, text, id=f"{page.name}-{number}")
        for page in PAGES
        for number, text in enumerate(blocks(page, kind))
    ]


def module(name: str, code: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A file, not exec: isolated tools and annotations need a module that can be imported."""
    (folder / f"{name}.py").write_text(code, encoding="utf-8")
    monkeypatch.syspath_prepend(str(folder))
    made = importlib.import_module(name)
    monkeypatch.delitem(sys.modules, name)
    return made


def scripts() -> list[Any]:
    """All but the files of a package, which are one thing together: test_extend.py."""
    return [block for block in all_blocks("python") if not str(block.values[1]).startswith("# src/")]


@pytest.mark.demand("agents.docs_agents_md_docs", "doctor.docs_reader_say_run", "engine.readme_whose_first_screen")
@pytest.mark.parametrize(("page", "code"), scripts())
def test_python_runs(page: Path, code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    name = re.match(r"# (\w+)\.py\n", code)
    made = module(name[1] if name else f"page_{page.stem}", code, tmp_path, monkeypatch)
    assert any(not key.startswith("__") for key in vars(made))


DESKS = (("README.md", {"find_order", "cancel_order"}), ("docs/tools.md", {"weather", "paint"}))


@pytest.mark.parametrize(("page", "tools"), DESKS)
def test_the_pages_assistants_have_their_tools(
    page: str, tools: set[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "unused")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.chdir(tmp_path)
    for code in blocks(ROOT / page, "python"):
        if name := re.match(r"# (\w+\.py)\n", code):
            (tmp_path / name[1]).write_text(code, encoding="utf-8")
    [text] = blocks(ROOT / page, "toml")
    (tmp_path / "rightseat.toml").write_text(text, encoding="utf-8")
    made = build_runtime(load_config(tmp_path / "rightseat.toml"))
    assert tools <= {tool.name for tool in made.assistants["default"].tools}
    asyncio.run(made.close())


def configurations() -> list[Any]:
    """Every TOML that is a rightseat.toml; one that says it is another file is not."""
    return [block for block in all_blocks("toml") if not re.match(r"# (?!rightseat)", str(block.values[1]))]


@pytest.mark.demand(
    "agents.docs_agents_md_docs",
    "doctor.docs_reader_say_run",
    "models.docs_models_md_docs",
    "openbb.docs_openbb_md_zero",
)
@pytest.mark.parametrize(("page", "text"), configurations())
async def test_configuration_is_valid(page: Path, text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in {"OPENAI_API_KEY", *re.findall(r"env:(\w+)", text)}:
        monkeypatch.setenv(name, "unused")
    (tmp_path / "rightseat.toml").write_text(text, encoding="utf-8")
    config = load_config(tmp_path / "rightseat.toml")
    assert isinstance(config, Config)
    # A model checks its options itself, when it is made.
    for settings in config.models.values():
        make_model(settings.spec, settings.options)


def curls() -> list[Any]:
    found = [(page, line) for page in PAGES for text in blocks(page, "sh") for line in commands(text)]
    return [pytest.param(page, line, id=f"{page.name}-{n}") for n, (page, line) in enumerate(found)]


def commands(text: str) -> list[list[str]]:
    words = shlex.split(text, comments=True)
    return [words] if words[:1] == ["curl"] else []


async def ask(url: str, words: list[str]) -> tuple[int, bytes]:
    """What curl would send, sent."""
    target = urlsplit(next(word for word in words if word.startswith("http"))).path
    if "-d" not in words:
        async with Client(url) as client:
            await client.get(target)
            return (await client.head()).status, await client.body()
    body = words[words.index("-d") + 1].encode()
    async with Client(url) as client:
        form = {"Content-Type": "application/x-www-form-urlencoded"}  # what curl says of -d
        await client.send(request("POST", target, body, form))
        return (await client.head()).status, await client.body()


@pytest.mark.demand(
    "copilotkit.docs_copilotkit_md_react",
    "doctor.docs_reader_say_run",
    "engine.readme_whose_first_screen",
    "openbb.docs_openbb_md_zero",
)
@pytest.mark.io
@pytest.mark.parametrize(("page", "words"), curls())
async def test_requests_are_answered(page: Path, words: list[str]) -> None:
    # A grammar is for a model that goes on with a text as it is.
    local = any('"grammar"' in word for word in words)
    async with house(Runtime(model=Going(says("demo"))) if local else demo()) as server:
        status, body = await ask(server.url, words)
    assert status == 200
    # A question is answered by the demo; a page for operators has its own words.
    assert b"demo" in body if "-d" in words else body


def demo() -> Runtime:
    return build_runtime(Config(model="scripted:demo"), env={})


def shape(value: Any) -> Any:
    """An answer without what differs from one machine, and one moment, to the next."""
    if isinstance(value, dict):
        return {name: shape(item) for name, item in value.items()}
    return [shape(item) for item in value] if isinstance(value, list) else type(value)


async def readmes(made: Runtime) -> tuple[Any, Any]:
    """The answer to the page's question, and the one that the page shows."""
    [shown] = blocks(ROOT / "README.md", "json")
    [words] = [line for text in blocks(ROOT / "README.md", "sh") for line in commands(text)]
    await made.start()
    async with house(made) as server:
        _, body = await ask(server.url, words)
    return json.loads(body), json.loads(shown)


@pytest.mark.demand("engine.readme_whose_first_screen")
@pytest.mark.io
async def test_the_readmes_answer_has_the_real_shape() -> None:
    real, told = await readmes(demo())
    assert shape(real) == shape(told)


@pytest.mark.demand("llamacpp.local_default_serve_embedded")
@pytest.mark.model
async def test_the_readmes_answer_is_the_embedded_models() -> None:
    real, told = await readmes(build_runtime(Config(), env={}))
    assert shape(real) == shape(told)
    assert real["model"] == told["model"]
    assert real["choices"][0]["message"]["content"]


def test_the_local_pages_second_file_is_valid_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RIGHTSEAT_CACHE", str(tmp_path / "cache"))
    _, text = blocks(ROOT / "docs" / "models-local.md", "toml")
    (tmp_path / "rightseat.toml").write_text(text, encoding="utf-8")
    for name in re.findall(r'"([\w-]+\.gguf)"', text):
        (tmp_path / name).write_bytes(gguf(*usual()))
    (tmp_path / "mine.jinja").write_text("{{ messages }}")
    made = build_runtime(load_config(tmp_path / "rightseat.toml", env={}), env={})
    assert made.assistants["default"].context == 16384


@pytest.mark.demand("engine.library_use_runtime_mount")
@pytest.mark.io
async def test_the_readmes_library_example_answers_behind_fastapi(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    code = next(text for text in blocks(ROOT / "README.md", "python") if "mount" in text)
    made = module("readme_library", code, tmp_path, monkeypatch)
    said = {"messages": [{"role": "user", "content": "hi"}]}
    async with serving(made.app) as url:
        for target in ("/copilot/v1/chat/completions", "/copilot/agui/default"):
            async with Client(url) as client:
                await client.post(target, said)
                assert (await client.head()).status == 200
                assert b"You said: hi" in await client.body()


@pytest.mark.demand(
    "doctor.docs_reader_say_run",
    "engine.architecture_md_most_120",
    "models.docs_models_md_docs",
    "playground.screenshots_main_screens_produced",
)
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    links = re.findall(r"\]\(([^)#]+)\)", page.read_text(encoding="utf-8"))
    assert [link for link in links if "://" not in link and not (page.parent / link).exists()] == []
