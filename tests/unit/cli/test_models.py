"""`rightseat models`, and what a start does about the embedded model's weights."""

from __future__ import annotations

import importlib.util
import os
import signal
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from rightseat.cli import models
from rightseat.config.installation import format_install_command
from rightseat.config.settings import AssistantSettings, Config, ModelSettings
from rightseat.errors import NotFound, WeightsError
from rightseat.models.llamacpp import weights
from rightseat.models.llamacpp.weights import EMBEDDED, Weights
from rightseat.wiring import default_model
from tests.kit.cases import each_case

ENV = ("OPENAI_API_KEY", "OPENAI_BASE_URL")
Pull = Callable[..., Path]


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("RIGHTSEAT_CACHE", str(tmp_path))
    monkeypatch.setattr(weights, "_installed_path", lambda known: None)
    for name in ENV:
        monkeypatch.delenv(name, raising=False)
    return tmp_path


def write_weights_file(cache: Path) -> Path:
    place = cache / "models" / EMBEDDED.sha256[:16] / EMBEDDED.file_name
    place.parent.mkdir(parents=True)
    with place.open("wb") as file:
        file.truncate(EMBEDDED.size)
    return place


def patch_pull(monkeypatch: pytest.MonkeyPatch, cache: Path, error: str = "") -> list[str]:
    """A pull without a network; the names of what was pulled."""
    pulled: list[str] = []

    def pull(which: Weights, progress: Callable[[int, int], None]) -> Path:
        pulled.append(which.name)
        progress(1, 2)
        if error:
            raise WeightsError(error)
        return write_weights_file(cache)

    monkeypatch.setattr(weights, "pull_weights", pull)
    return pulled


@pytest.mark.demand("llamacpp.rightseat_models_list_pull")
def test_list_says_what_is_here(cache: Path, capsys: pytest.CaptureFixture[str]) -> None:
    models.print_models()
    first = capsys.readouterr().out
    assert first.startswith("– smollm2-135m-instruct  98 MB  not downloaded; run: rightseat models pull\n")
    place = write_weights_file(cache)
    models.print_models()
    assert f"✓ smollm2-135m-instruct  98 MB  downloaded, answers by default\n    {place}\n" in capsys.readouterr().out


@pytest.mark.demand("llamacpp.rightseat_models_list_pull")
def test_path_and_pull_print_the_path_alone(
    cache: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(WeightsError, match="rightseat models pull"):
        models.print_path(None)
    pulled = patch_pull(monkeypatch, cache)
    models.pull_and_print(EMBEDDED.name)
    out, err = capsys.readouterr()
    assert pulled == [EMBEDDED.name]
    assert err.startswith("Fetching smollm2-135m-instruct (98 MB)")
    models.print_path(EMBEDDED.name)
    assert out == capsys.readouterr().out == f"{weights.require_weights()}\n"


@pytest.mark.demand("llamacpp.rightseat_models_list_pull")
def test_a_wrong_name_is_told() -> None:
    with pytest.raises(NotFound, match=f"Did you mean '{EMBEDDED.name}'"):
        models.pull_and_print("smollm2-135m")


LOCAL = ModelSettings(spec="local")


@each_case(
    ("config", "wanted", "named"),
    [
        (Config(), True, False),
        (Config(flags={"tool_format": "x"}), True, True),
        (Config(model="local"), True, True),
        (Config(models={"a": LOCAL}), True, True),
        (Config(models={"a": ModelSettings(spec="scripted:demo")}), False, False),
        (Config(model="x.gguf"), False, False),
        (Config(model="openai:x", assistants={"a": AssistantSettings(model="local")}), True, True),
        (Config(assistants={"a": AssistantSettings()}), True, False),
    ],
)
def test_who_wants_the_embedded_model(config: Config, wanted: bool, named: bool) -> None:
    assert (default_model.needs_embedded_model(config, {}), default_model.requests_embedded_model(config)) == (
        wanted,
        named,
    )
    assert not default_model.needs_embedded_model(Config(), {"OPENAI_API_KEY": "k"})


@pytest.mark.demand("llamacpp.local_default_serve_embedded")
def test_a_start_fetches_them_once(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pulled = patch_pull(monkeypatch, cache)
    assert models.prepare_config(Config(model="scripted:demo")) == Config(model="scripted:demo")
    assert pulled == []
    assert models.prepare_config(Config()) == Config()
    assert models.prepare_config(Config()) == Config()
    assert pulled == [EMBEDDED.name]


@pytest.mark.demand("engine.serve_prints_card_without", "llamacpp.weights_come_wheel_without")
def test_without_a_network_a_script_answers_and_that_is_said(
    cache: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    patch_pull(monkeypatch, cache, "No network.")
    config = models.prepare_config(Config())
    assert "rightseat models pull" in config.without_local
    assert "warning: A short script answers, not a model. No network." in capsys.readouterr().err
    # A reload fetches nothing, and finds the same.
    assert models.prepare_config(Config(), fetch=False) == config
    assert capsys.readouterr().err == ""


@pytest.mark.demand("llamacpp.local_default_serve_embedded")
def test_who_asked_for_it_by_name_gets_nothing_else(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    patch_pull(monkeypatch, cache, "No network.")
    with pytest.raises(WeightsError, match="No network"):
        models.prepare_config(Config(model="local"))
    assert models.prepare_config(Config(model="local"), fetch=False) == Config(model="local")


def test_without_the_engine_nothing_is_fetched(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pulled = patch_pull(monkeypatch, cache)
    find = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name, *more: None if name == "xllamacpp" else find(name, *more)
    )
    assert format_install_command("xllamacpp") in models.prepare_config(Config()).without_local
    assert pulled == []


@pytest.mark.demand("llamacpp.weights_come_wheel_without")
def test_sigterm_ends_a_download_as_ctrl_c_does(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def pull(*args: Any) -> Path:
        os.kill(os.getpid(), signal.SIGTERM)
        raise AssertionError("the signal came first")

    before = signal.getsignal(signal.SIGTERM)
    monkeypatch.setattr(weights, "pull_weights", pull)
    with pytest.raises(KeyboardInterrupt):
        models.pull_weights(replace(EMBEDDED))
    assert signal.getsignal(signal.SIGTERM) == before
