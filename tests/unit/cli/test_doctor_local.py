"""`rightseat doctor` and local models: the engine, the embedded weights, and other files."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError
from pathlib import Path

import pytest

from rightseat.cli.doctor import print_lines, stream_checks
from rightseat.config.installation import format_install_command
from rightseat.config.settings import Config
from rightseat.doctor import setup
from rightseat.doctor.result import CheckResult
from rightseat.models.llamacpp import options, weights
from rightseat.models.llamacpp.machine import Machine
from tests.unit.models.llamacpp.gguf_files import make_gguf, make_usual_entries

pytestmark = pytest.mark.io


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("RIGHTSEAT_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("RIGHTSEAT_PORT", "0")
    monkeypatch.setattr(weights, "_installed_path", lambda known: None)
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "RIGHTSEAT_HOST", "RIGHTSEAT_MODEL"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


async def collect_checks() -> dict[str, CheckResult]:
    return {line.what: line for line in await print_lines(stream_checks(None, None, None), quiet=True)}


async def test_missing_weights_are_not_broken_while_nobody_names_them(folder: Path) -> None:
    found = await collect_checks()
    line = found[f"weights {weights.EMBEDDED.name}"]
    assert (line.state, line.fix) == ("skipped", "rightseat models pull")
    assert "downloads them" in line.why
    assert found["model scripted:demo"].state == "skipped"
    assert found["assistants"].state == "good"


async def test_missing_weights_are_broken_where_somebody_does(folder: Path) -> None:
    (folder / "rightseat.toml").write_text('[models.a]\nspec = "local"\n')
    found = await collect_checks()
    assert found[f"weights {weights.EMBEDDED.name}"].state == "broken"
    assert "rightseat models pull" in found["model a"].why


async def test_a_file_says_what_it_is(folder: Path) -> None:
    (folder / "a.gguf").write_bytes(make_gguf(*make_usual_entries()))
    (folder / "b.gguf").write_bytes(make_gguf(*make_usual_entries(template=None)))
    (folder / "c.gguf").write_bytes(b"GGUF and nothing else")
    toml = "".join(f'[models.{name}]\nspec = "{name}.gguf"\n' for name in "abc")
    (folder / "rightseat.toml").write_text(toml)
    found = await collect_checks()
    assert found["model a, file"].why == "llama, 8192 tokens, with a chat template"
    assert found["model b, file"].why.endswith("no chat template: ChatML is used")
    assert found["model c, file"].state == "broken"


@pytest.mark.demand("llamacpp.settings_shown")
async def test_the_machine_and_the_settings_of_each_model_are_shown(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    laptop = Machine(processors=8, cores=4, memory=16 * 10**9, free=8 * 10**9)
    for module in (setup, options):
        monkeypatch.setattr(module, "get_machine", lambda: laptop)
    (folder / "a.gguf").write_bytes(make_gguf(*make_usual_entries()))
    limited = '[models.a]\nspec = "a.gguf"\nconcurrent = 1\n'
    own = '[models.b]\nspec = "a.gguf"\ncontext = 1024\nslots = 1\nbatch = 32\n'
    (folder / "rightseat.toml").write_text(limited + own)
    found = await collect_checks()
    assert found["machine"].why == "4 cores (8 processors), 16.0 GB memory, 8.0 GB free"
    assert found["model a, settings"].why.startswith("4 threads, 2 slots of 4096 tokens")
    assert found["model b, settings"].why == "4 threads, 1 slot of 1024 tokens, batch 32"


@pytest.mark.parametrize(("config", "state"), [(Config(), "skipped"), (Config(model="local"), "broken")])
def test_without_the_engine(config: Config, state: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def version(name: str) -> str:
        raise PackageNotFoundError(name)

    monkeypatch.setattr(setup, "version", version)
    line = setup.check_engine(config)
    assert (line.state, line.fix) == (state, format_install_command("xllamacpp"))
