"""`rightseat models list | use | remove`, and what a start makes of a pulled model."""

from __future__ import annotations

import io
import os
from pathlib import Path

import msgspec
import pytest

from rightseat.cli import models
from rightseat.cli.serve import list_startup_rows, print_startup
from rightseat.config.settings import Config, ModelSettings
from rightseat.errors import ConfigError, NotFound, WeightsError
from rightseat.models.llamacpp import pulled, weights
from rightseat.models.llamacpp.curated import CURATED_MODELS
from rightseat.models.llamacpp.download import SourceRecord
from rightseat.models.llamacpp.hub import DownloadError, Hub
from rightseat.models.llamacpp.machine import Machine
from rightseat.models.llamacpp.weights import EMBEDDED
from rightseat.wiring import default_model
from rightseat.wiring.default_model import choose_model
from rightseat.wiring.from_config import build_runtime
from rightseat.wiring.lookup import make_model
from rightseat.wiring.models import ModelRegistry
from tests.unit.models.llamacpp.gguf_files import make_gguf, make_usual_entries

NAME = "qwen3-1.7b"
SPEC = f"local:{NAME}"


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("RIGHTSEAT_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(weights, "_installed_path", lambda known: None)
    monkeypatch.chdir(tmp_path)
    for vendor in default_model.VENDORS:
        for variable in vendor.variables:
            monkeypatch.delenv(variable, raising=False)
    return tmp_path / "cache"


def add_model(cache: Path, name: str = NAME, *, whole: bool = True, size: int = 0) -> Path:
    """What a pull leaves behind, without one."""
    folder = cache / "models" / "pulled" / name
    folder.mkdir(parents=True)
    path = folder / (f"{name}.gguf" if whole else "partial")
    path.write_bytes(make_gguf(*make_usual_entries()))
    record = SourceRecord(f"hf:o/r/{name}.gguf", size=size)
    (folder / "source.json").write_bytes(msgspec.json.encode(record))
    return path


def capture_list(capsys: pytest.CaptureFixture[str]) -> str:
    capsys.readouterr()
    models.print_models()
    return capsys.readouterr().out


@pytest.mark.demand("llamacpp.models_use_remove", "llamacpp.pull_named_or_any_model")
def test_the_list_says_what_a_model_costs(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    machine = Machine(processors=5, cores=4, memory=6_000_000_000, free=6_000_000_000)
    monkeypatch.setattr(models, "get_machine", lambda: machine)
    text = capture_list(capsys)
    assert "– qwen3-4b  2.5 GB  Apache-2.0, 4.1 GB of memory, about 4.8 tokens/s; several tools" in text
    assert "– qwen3-8b  5.0 GB  Apache-2.0, 6.6 GB of memory, more than this machine has, about 2.4 tokens/s" in text
    assert "estimates" in text
    assert "Here answers local: small and on this machine" in text


@pytest.mark.demand("llamacpp.models_use_remove")
def test_the_list_says_what_is_here_and_which_answers(cache: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = add_model(cache)
    add_model(cache, "half", whole=False, size=5_000_000)
    text = capture_list(capsys)
    assert f"✓ {NAME}  0 MB  downloaded\n    {path}\n" in text
    assert "– half  0 MB of 5 MB  not whole; run: rightseat models pull hf:o/r/half.gguf --name half\n" in text
    models.use_model(NAME)
    assert f"✓ {NAME}  0 MB  downloaded, answers by default\n" in capture_list(capsys)


@pytest.mark.demand("llamacpp.models_use_remove")
def test_use_makes_it_the_default_and_the_card_says_why(cache: Path, capsys: pytest.CaptureFixture[str]) -> None:
    add_model(cache)
    models.use_model(NAME)
    assert f"local:{NAME} answers from the next start" in capsys.readouterr().out
    choice = choose_model(Config(), {})
    assert choice.model == SPEC
    out = io.StringIO()
    print_startup(list_startup_rows(Config(), choice, "http://x", []), "http://x", out)
    assert f"local:{NAME}\n" in out.getvalue()
    assert f"rightseat models use {NAME}" in out.getvalue()
    assert models.prepare_config(Config(), fetch=False) == Config()
    assert models.prepare_config(Config(flags={"tool_format": "hermes"}), fetch=False).without_local == ""
    models.use_model("local")
    assert choose_model(Config(), {}).model == "local"


@pytest.mark.demand("llamacpp.models_use_remove")
def test_what_is_configured_comes_first_and_use_says_so(
    cache: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    add_model(cache)
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    models.use_model(NAME)
    text = capsys.readouterr().out
    assert "OPENAI_API_KEY is set" in text
    assert f"--model local:{NAME}" in text
    assert choose_model(Config(model="scripted:demo"), dict(os.environ)).model == "scripted:demo"


@pytest.mark.demand("llamacpp.models_use_remove")
def test_remove_frees_it_and_the_embedded_model_answers_again(cache: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = add_model(cache)
    models.use_model(NAME)
    models.remove_model(NAME)
    assert "Now the embedded model is." in capsys.readouterr().out
    assert not path.parent.exists()
    assert choose_model(Config(), {}).model == "local"
    with pytest.raises(WeightsError, match="rightseat models list"):
        models.remove_model(NAME)


def test_a_default_that_was_deleted_by_hand_is_not_used(cache: Path) -> None:
    path = add_model(cache)
    models.use_model(NAME)
    path.unlink()
    assert choose_model(Config(), {}).model == "local"
    (cache / "models" / "default").write_bytes(b"../../etc\xff")
    assert pulled.read_default() == ""


@pytest.mark.demand("llamacpp.models_use_remove")
def test_the_embedded_model_can_be_removed(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(WeightsError, match="nothing to remove"):
        models.remove_model("local")
    path = cache / "models" / EMBEDDED.sha256[:16] / EMBEDDED.file_name
    installed = cache / "installed.gguf"
    path.parent.mkdir(parents=True)
    for file in (path, installed):
        with file.open("wb") as weights_file:
            weights_file.truncate(EMBEDDED.size)
    models.remove_model(EMBEDDED.name)
    assert not path.exists()
    monkeypatch.setattr(weights, "_installed_path", lambda known: installed)
    with pytest.raises(WeightsError, match="pip uninstall"):
        models.remove_model("local")


@pytest.mark.demand("llamacpp.models_use_remove")
@pytest.mark.parametrize("config", [Config(model=SPEC), Config(models={"m": ModelSettings(spec=SPEC)})])
async def test_a_spec_finds_a_pulled_model_by_its_name(cache: Path, config: Config) -> None:
    path = add_model(cache)
    runtime = build_runtime(config, env={})
    model = runtime.assistants["default"].model
    assert (model.weights, model.name) == (path, NAME)
    await runtime.close()
    registry = ModelRegistry(config, choose_model(config, {}))
    assert registry.model_info(choose_model(config, {}).model).model == NAME


@pytest.mark.demand("llamacpp.models_use_remove")
@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ("local:qwen3-4b", "rightseat models pull qwen3-4b"),
        ("local:half", "rightseat models pull half"),
        ("local:nothing", "is not a file here"),
        ("qwen3-8b", "Did you mean 'local:qwen3-8b'"),
        ("half", "Did you mean 'local:half'"),
        ("openia", "Did you mean 'openai'"),
    ],
)
def test_a_name_that_is_not_here(cache: Path, spec: str, said: str) -> None:
    add_model(cache, "half", whole=False)
    with pytest.raises(ConfigError, match=said):
        make_model(spec)


@pytest.mark.demand("llamacpp.models_use_remove")
@pytest.mark.parametrize(
    ("name", "said"),
    [("qwen3-4b", "rightseat models pull qwen3-4b"), ("qwen3-1.7", f"'{NAME}'"), ("../x", "rightseat models list")],
)
def test_use_of_a_model_that_is_not_here(cache: Path, name: str, said: str) -> None:
    add_model(cache)
    with pytest.raises(NotFound, match=said):
        models.use_model(name)
    with pytest.raises(NotFound, match=said):
        models.print_path(name)


@pytest.mark.demand("llamacpp.pull_named_or_any_model")
def test_the_list_is_sound() -> None:
    assert [model.name for model in CURATED_MODELS] == ["qwen3-0.6b", "qwen3-1.7b", "qwen3-4b", "qwen3-8b"]
    assert [model.size for model in CURATED_MODELS] == sorted(model.size for model in CURATED_MODELS)
    for model in CURATED_MODELS:
        source = Hub.from_env({}).parse_source(model.source)
        assert source.url.path == f"/{model.repo}/resolve/main/{model.file}"
        assert len(bytes.fromhex(model.sha256)) == 32
        assert pulled.is_model_name(model.name)
        assert model.size < model.memory < 2 * model.size + 2_000_000_000


@pytest.mark.demand("llamacpp.pull_token_stays_with_hub")
def test_a_mirror_below_a_path() -> None:
    hub = Hub.from_env({"HF_ENDPOINT": "https://mirror.test/hub/", "HF_TOKEN": "hf_secret"})
    source = hub.parse_source("hf:o/r/a b.gguf")
    assert source.url.raw_path == "/hub/o/r/resolve/main/a%20b.gguf"
    assert hub.parse_source("https://mirror.test/hub/o/r/blob/main/a%20b.gguf") == source
    assert hub.auth_headers(source.url) == {"Authorization": "Bearer hf_secret"}
    assert hub.auth_headers(source.url.with_host("cdn.test")) == {}
    with pytest.raises(DownloadError, match=r"OWNER/REPO/FILE\.gguf"):
        hub.parse_source("hf:only")
