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
from rightseat.config.load import load_config
from rightseat.config.settings import Config
from rightseat.wiring.from_config import build_runtime
from rightseat.wiring.lookup import make_model
from tests.kit import tiny_gguf
from tests.kit.app_server import reply_text, serve_app, serve_runtime
from tests.kit.cases import each_case
from tests.kit.client import RawHttpClient, build_raw_request
from tests.unit.doors.openai.test_raw import LocalLikeModel
from tests.unit.models.llamacpp.gguf_files import make_gguf, make_usual_entries

ROOT = Path(__file__).parents[2]
PAGES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]


def find_blocks(page: Path, kind: str) -> list[str]:
    return re.findall(rf"^```{kind}\n(.*?)^```", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)


def list_blocks(kind: str) -> list[Any]:
    return [
        pytest.param(page, text, id=f"{page.name}-{number}")
        for page in PAGES
        for number, text in enumerate(find_blocks(page, kind))
    ]


def import_code(name: str, code: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A file, not exec: isolated tools and annotations need a module that can be imported."""
    (folder / f"{name}.py").write_text(code, encoding="utf-8")
    monkeypatch.syspath_prepend(str(folder))
    imported = importlib.import_module(name)
    monkeypatch.delitem(sys.modules, name)
    return imported


def list_scripts() -> list[Any]:
    """All but the files of a package, which are one thing together: test_extend.py; and those that need a package of
    tests/peers, which runs them, or of a recipe, whose requests were recorded: test_recipes.py."""
    foreign = re.compile(r"^import (pandas|gradio|chainlit)\b", re.MULTILINE)
    blocks = [block for block in list_blocks("python") if not foreign.search(str(block.values[1]))]
    return [block for block in blocks if not str(block.values[1]).startswith("# src/")]


@pytest.mark.demand("agents.docs_agents_md_docs", "doctor.docs_reader_say_run", "engine.readme_whose_first_screen")
@pytest.mark.parametrize(("page", "code"), list_scripts())
def test_python_runs(page: Path, code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    name = re.match(r"# (\w+)\.py\n", code)
    made = import_code(name[1] if name else f"page_{page.stem}", code, tmp_path, monkeypatch)
    assert any(not key.startswith("__") for key in vars(made))


EXAMPLE_TOOLS = (("README.md", {"find_order", "cancel_order"}), ("docs/tools.md", {"weather", "paint"}))


@pytest.mark.parametrize(("page", "tools"), EXAMPLE_TOOLS)
def test_the_pages_assistants_have_their_tools(
    page: str, tools: set[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "unused")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.chdir(tmp_path)
    for code in find_blocks(ROOT / page, "python"):
        if name := re.match(r"# (\w+\.py)\n", code):
            (tmp_path / name[1]).write_text(code, encoding="utf-8")
    [text] = find_blocks(ROOT / page, "toml")
    (tmp_path / "rightseat.toml").write_text(text, encoding="utf-8")
    made = build_runtime(load_config(tmp_path / "rightseat.toml"))
    assert tools <= {tool.name for tool in made.assistants["default"].tools}
    asyncio.run(made.close())


def list_configurations() -> list[Any]:
    """Every TOML that is a rightseat.toml; one that says it is another file is not."""
    return [block for block in list_blocks("toml") if not re.match(r"# (?!rightseat)", str(block.values[1]))]


@pytest.mark.demand(
    "agents.docs_agents_md_docs",
    "doctor.docs_reader_say_run",
    "models.docs_models_md_docs",
    "openbb.docs_openbb_md_zero",
)
@pytest.mark.parametrize(("page", "text"), list_configurations())
async def test_configuration_is_valid(page: Path, text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in {"OPENAI_API_KEY", *re.findall(r"env:(\w+)", text)}:
        monkeypatch.setenv(name, "unused")
    (tmp_path / "rightseat.toml").write_text(text, encoding="utf-8")
    config = load_config(tmp_path / "rightseat.toml")
    assert isinstance(config, Config)
    # A model checks its options itself, when it is made.
    for settings in config.models.values():
        make_model(settings.spec, settings.options)


def list_curls() -> list[Any]:
    lines = [(page, line) for page in PAGES for text in find_blocks(page, "sh") for line in parse_commands(text)]
    return [pytest.param(page, line, id=f"{page.name}-{n}") for n, (page, line) in enumerate(lines)]


def parse_commands(text: str) -> list[list[str]]:
    words = shlex.split(text, comments=True)
    return [words] if words[:1] == ["curl"] else []


async def send_curl(url: str, words: list[str]) -> tuple[int, bytes]:
    """What curl would send, sent."""
    target = urlsplit(next(word for word in words if word.startswith("http"))).path
    if "-d" not in words:
        async with RawHttpClient(url) as client:
            await client.get(target)
            return (await client.read_head()).status, await client.read_body()
    body = words[words.index("-d") + 1].encode()
    async with RawHttpClient(url) as client:
        form = {"Content-Type": "application/x-www-form-urlencoded"}  # what curl says of -d
        await client.send(build_raw_request("POST", target, body, form))
        return (await client.read_head()).status, await client.read_body()


@pytest.mark.demand(
    "copilotkit.docs_copilotkit_md_react",
    "doctor.docs_reader_say_run",
    "engine.readme_whose_first_screen",
    "openbb.docs_openbb_md_zero",
)
@pytest.mark.io
@pytest.mark.parametrize(("page", "words"), list_curls())
async def test_requests_are_answered(page: Path, words: list[str]) -> None:
    # A grammar is for a model that goes on with a text as it is.
    local = any('"grammar"' in word or word.endswith("/completion") for word in words)
    async with serve_runtime(
        Runtime(model=LocalLikeModel(reply_text("demo"))) if local else make_demo_runtime()
    ) as server:
        status, body = await send_curl(server.url, words)
    assert status == 200
    # A question is answered by the demo; a page for operators has its own words.
    assert (b"demo" in body or b"Sales of this year" in body) if "-d" in words else body


def make_demo_runtime() -> Runtime:
    return build_runtime(Config(model="scripted:demo"), env={})


def get_shape(value: Any) -> Any:
    """An answer without what differs from one machine, and one moment, to the next."""
    if isinstance(value, dict):
        return {name: get_shape(item) for name, item in value.items()}
    return [get_shape(item) for item in value] if isinstance(value, list) else type(value)


async def get_readme_answers(runtime: Runtime) -> tuple[Any, Any]:
    """The answer to the page's question, and the one that the page shows."""
    [shown] = find_blocks(ROOT / "README.md", "json")
    [words] = [line for text in find_blocks(ROOT / "README.md", "sh") for line in parse_commands(text)]
    await runtime.start()
    async with serve_runtime(runtime) as server:
        _, body = await send_curl(server.url, words)
    # The page may leave out what only programs read.
    return json.loads(body), {"system_fingerprint": "", **json.loads(shown)}


@pytest.mark.demand("engine.readme_whose_first_screen")
@pytest.mark.io
async def test_the_readmes_answer_has_the_real_shape() -> None:
    real, told = await get_readme_answers(make_demo_runtime())
    assert get_shape(real) == get_shape(told)


@pytest.mark.demand("llamacpp.local_default_serve_embedded")
@pytest.mark.model
async def test_the_readmes_answer_is_the_embedded_models() -> None:
    real, told = await get_readme_answers(build_runtime(Config(), env={}))
    assert get_shape(real) == get_shape(told)
    assert real["model"] == told["model"]
    assert real["choices"][0]["message"]["content"]


@pytest.mark.parametrize(("number", "context"), [(1, 16384), (2, 8192)])
def test_the_local_pages_other_files_are_valid_too(
    number: int, context: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RIGHTSEAT_CACHE", str(tmp_path / "cache"))
    text = find_blocks(ROOT / "docs" / "models-local.md", "toml")[number]
    (tmp_path / "rightseat.toml").write_text(text, encoding="utf-8")
    for name in re.findall(r'"([\w-]+\.gguf)"', text):
        (tmp_path / name).write_bytes(make_gguf(*make_usual_entries()))
    (tmp_path / "mine.jinja").write_text("{{ messages }}")
    made = build_runtime(load_config(tmp_path / "rightseat.toml", env={}), env={})
    assert made.assistants["default"].context == context


@pytest.mark.demand("llamacpp.mmproj_images")
def test_the_local_pages_model_that_sees(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RIGHTSEAT_CACHE", str(tmp_path / "cache"))
    [text] = [text for text in find_blocks(ROOT / "docs" / "models-local.md", "toml") if "mmproj" in text]
    (tmp_path / "rightseat.toml").write_text(text, encoding="utf-8")
    tiny_gguf.write_text_model(tmp_path / "vision.gguf")
    tiny_gguf.write_projector(tmp_path / "mmproj-vision.gguf")
    tiny_gguf.write_reranker(tmp_path / "reranker.gguf")
    made = build_runtime(load_config(tmp_path / "rightseat.toml", env={}), env={})
    assert made.assistants["default"].supports_images


@pytest.mark.demand("llamacpp.audio_encoder")
def test_the_speech_pages_model_that_hears(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    [text] = [text for text in find_blocks(ROOT / "docs" / "speech.md", "toml") if "mmproj" in text]
    (tmp_path / "rightseat.toml").write_text(text, encoding="utf-8")
    tiny_gguf.write_text_model(tmp_path / "qwen2-audio.gguf")
    tiny_gguf.write_audio_projector(tmp_path / "mmproj-qwen2-audio.gguf")
    made = build_runtime(load_config(tmp_path / "rightseat.toml", env={}), env={})
    assert made.transcribers["ears"].capabilities.audio


@pytest.mark.demand("engine.library_use_runtime_mount")
@pytest.mark.io
async def test_the_readmes_library_example_answers_behind_fastapi(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    code = next(text for text in find_blocks(ROOT / "README.md", "python") if "mount" in text)
    made = import_code("readme_library", code, tmp_path, monkeypatch)
    said = {"messages": [{"role": "user", "content": "hi"}]}
    async with serve_app(made.app) as url:
        for target in ("/copilot/v1/chat/completions", "/copilot/agui/default"):
            async with RawHttpClient(url) as client:
                await client.post_json(target, said)
                assert (await client.read_head()).status == 200
                assert b"You said: hi" in await client.read_body()


@pytest.mark.demand(
    "doctor.docs_reader_say_run",
    "engine.architecture_md_most_120",
    "models.docs_models_md_docs",
    "playground.screenshots_main_screens_produced",
)
@each_case("page", PAGES)
def test_links_lead_somewhere(page: Path) -> None:
    links = re.findall(r"\]\(([^)#]+)\)", page.read_text(encoding="utf-8"))
    assert [link for link in links if "://" not in link and not (page.parent / link).exists()] == []
