"""The package of docs/extend.md: built, installed beside rightseat, found by its entry points, and asked."""

from __future__ import annotations

import importlib
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rightseat.cli.doctor import print_lines, stream_checks
from rightseat.config.load import load_config
from rightseat.config.settings import Config
from rightseat.errors import ConfigError
from rightseat.models.llamacpp.formats import detect_format, get_format
from rightseat.models.llamacpp.template_probe import TemplateCapabilities
from rightseat.types.stores import PendingQuestion
from rightseat.types.turn import Owner
from rightseat.wiring.from_config import build_runtime
from rightseat.wiring.lookup import find
from tests.docs.test_docs import ROOT, find_blocks
from tests.kit.app_server import serve_app, serve_runtime
from tests.kit.client import RawHttpClient
from tests.kit.llama_server import FakeLlamaServer
from tests.kit.timeouts import HANG_TIMEOUT

pytestmark = pytest.mark.io

PAGE = ROOT / "docs/extend.md"
NAME = "rightseat_parrot"


def list_files() -> dict[str, str]:
    """Each block that says which file it is."""
    texts = [*find_blocks(PAGE, "toml"), *find_blocks(PAGE, "python")]
    return {found[1]: text for text in texts if (found := re.match(r"# (\S+\.\w+)\n", text))}


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where pip has installed the page's package."""
    source, target = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("site")
    for name, text in list_files().items():
        (source / name).parent.mkdir(parents=True, exist_ok=True)
        (source / name).write_text(text, encoding="utf-8")
    alone = ["--quiet", "--no-deps", "--no-build-isolation", "--no-index", "--disable-pip-version-check"]
    command = [sys.executable, "-m", "pip", "install", *alone, "--target", str(target), str(source)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=5 * HANG_TIMEOUT, check=False)
    assert done.returncode == 0, done.stderr
    return target


@pytest.fixture
def installed_package(site: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.syspath_prepend(str(site))
    yield
    for name in [name for name in sys.modules if name.partition(".")[0] == NAME]:
        del sys.modules[name]


def make_parrot_runtime(folder: Path, options: str = "") -> Any:
    file = folder / "rightseat.toml"
    file.write_text(f'[server]\nport = 0\n[models.default]\nspec = "parrot:polly"\n{options}', "utf-8")
    return build_runtime(load_config(file, env={}), env={})


async def post_json(url: str, path: str, body: object) -> tuple[int, bytes]:
    async with RawHttpClient(url) as client:
        await client.post_json(path, body)
        return (await client.read_head()).status, await client.read_body()


@pytest.mark.demand("doctor.docs_reader_say_run")
def test_every_block_of_the_page_is_a_file_of_the_package() -> None:
    assert len(list_files()) == len(find_blocks(PAGE, "toml")) + len(find_blocks(PAGE, "python"))


@pytest.mark.long
@pytest.mark.usefixtures("installed_package")
def test_every_module_loads() -> None:
    names = [Path(name).stem for name in list_files() if name.endswith(".py") and "__init__" not in name]
    assert sorted(names) == ["app", "door", "format", "layer", "model", "store"]
    for name in names:
        importlib.import_module(f"{NAME}.{name}")


@pytest.mark.demand("doctor.docs_reader_say_run")
@pytest.mark.usefixtures("installed_package")
async def test_its_model_answers_at_every_door(tmp_path: Path) -> None:
    hello = {"messages": [{"role": "user", "content": "hello there"}]}
    async with serve_runtime(make_parrot_runtime(tmp_path, 'tail = "rrr"')) as home:
        assert b"hello there rrr" in (await post_json(home.url, "/v1/chat/completions", hello))[1]
        assert (await post_json(home.url, "/plain", "hi"))[1] == b'"hi" rrr'
        async with RawHttpClient(home.url) as client:
            await client.get("/openapi.json")
            await client.read_head()
            assert "/plain" in json.loads(await client.read_body())["paths"]


@pytest.mark.usefixtures("installed_package")
async def test_a_wrong_option_is_told(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="has no option 'tial': it takes tail"):
        make_parrot_runtime(tmp_path, 'tial = "x"')


@pytest.mark.demand("doctor.doctor_calls_door_running")
@pytest.mark.usefixtures("installed_package")
async def test_the_doctor_knows_its_door(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    async with serve_runtime(make_parrot_runtime(tmp_path)) as home:
        lines = await print_lines(stream_checks(home.url, None, None), quiet=True)
    assert {line.what: line.state for line in lines}["plain: say"] == "good"
    assert [line for line in lines if line.state == "broken"] == []


@pytest.mark.demand("llamacpp.formats_of_other_packages")
@pytest.mark.usefixtures("installed_package")
async def test_its_format_is_spoken_to_a_model(tmp_path: Path) -> None:
    answer = 'Well.<chirp>[{"name": "sing", "arguments": {"times": 3}}]'
    parameters = {"type": "object", "properties": {"times": {"type": "integer"}}, "required": ["times"]}
    tools = [{"type": "function", "function": {"name": "sing", "parameters": parameters}}]
    llama = FakeLlamaServer(4096, answer)
    async with llama.serve() as address:
        config = Config(model=f"llama-server:{address}", flags={"tool_format": "chirp"})
        async with serve_runtime(build_runtime(config, env={})) as home:
            hello = {"messages": [{"role": "user", "content": "Sing"}], "tools": tools}
            status, body = await post_json(home.url, "/v1/chat/completions", hello)
    assert status == 200
    message = json.loads(body)["choices"][0]["message"]
    assert message["content"] == "Well."
    assert [call["function"] for call in message["tool_calls"]] == [{"name": "sing", "arguments": '{"times": 3}'}]
    assert "To call some, write only: <chirp>[" in llama.prompts[0]
    assert "<chirp>[" in llama.requests[0]["grammar"]


@pytest.mark.usefixtures("installed_package")
def test_its_format_is_chosen_by_a_template() -> None:
    source, able = "{{ tools }} <chirp>", TemplateCapabilities(tools=True)
    assert detect_format(source, able).name == "chirp"
    assert detect_format("{{ tools }} <chirp> >>>all", able).name == "functionary-v3"
    with pytest.raises(ConfigError, match=r"There is no tool format 'chrip'\. Did you mean 'chirp'"):
        get_format("chrip")


def test_without_the_package_its_format_is_unknown() -> None:
    with pytest.raises(ConfigError, match="There is no tool format 'chirp'"):
        get_format("chirp")


@pytest.mark.usefixtures("installed_package")
async def test_its_store_gives_a_thing_once_and_to_its_owner() -> None:
    store = find("stores", "dictionary")()
    bound = PendingQuestion("i1", "ask", "Where?")
    await store.save_pending_question(Owner("a"), "c", bound)
    assert await store.take_pending_question(Owner("b"), "c") is None
    assert await store.take_pending_question(Owner("a"), "c") == bound
    assert await store.take_pending_question(Owner("a"), "c") is None
    await store.save_results(Owner("a"), {"call": "7"})
    assert await store.get_results(Owner("a"), ["call", "other"]) == {"call": "7"}
    assert await store.get_results(Owner("b"), ["call"]) == {}


@pytest.mark.demand("doctor.docs_reader_say_run")
@pytest.mark.usefixtures("installed_package")
async def test_its_app_has_the_layer_and_every_door() -> None:
    app = importlib.import_module(f"{NAME}.app")
    try:
        async with serve_app(app.app) as url:
            assert (await post_json(url, "/parrot/plain", "hi"))[1] == b'"hi" !'
            shouted = {"messages": [{"role": "user", "content": "HELLO"}]}
            status, body = await post_json(url, "/parrot/v1/chat/completions", shouted)
            assert (status, b"do not shout" in body) == (400, True)
    finally:
        await app.runtime.close()
