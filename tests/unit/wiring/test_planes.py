"""Which live plane [live] names, and what is said where it cannot be had."""

import importlib.util
from pathlib import Path
from typing import Any

import pytest

from rightseat.config.load import load_config
from rightseat.config.secret import Secret
from rightseat.config.settings import Config, LiveSettings, StoreSettings
from rightseat.errors import ConfigError
from rightseat.live.local import LocalPlane
from rightseat.live.memory import MemoryPlane
from rightseat.live.valkey import ValkeyPlane
from rightseat.stores.memory import MemoryStore
from rightseat.types.live import LivePlane
from rightseat.wiring import planes
from rightseat.wiring.lookup import list_names
from rightseat.wiring.planes import choose_plane, make_plane
from rightseat.wiring.storage import make_thread_runs


def configure(store: str = "sqlite", **live: Any) -> Config:
    if url := live.get("url"):
        live["url"] = Secret(url)
    return Config(store=StoreSettings(kind=store), live=LiveSettings(**live))


@pytest.mark.demand("cluster.live_kinds")
@pytest.mark.parametrize(
    ("config", "run_folder", "kind"),
    [
        (configure(), "", "memory"),
        (configure(), "/run", "local"),
        (configure("postgres"), "", "postgres"),
        (configure("postgres"), "/run", "postgres"),
        (configure("postgres", url="rediss://host"), "", "valkey"),
        (configure(url="unix:///socket"), "/run", "valkey"),
        (configure(url="postgresql://host/database"), "/run", "postgres"),
        (configure("postgres", kind="local"), "/run", "local"),
        (configure("postgres", kind="memory"), "", "memory"),
        (configure(kind="valkey", url="redis://host"), "/run", "valkey"),
    ],
)
def test_the_kind_follows_from_store_url_and_workers(config: Config, run_folder: str, kind: str) -> None:
    assert choose_plane(config, run_folder) == kind


@pytest.mark.io
def test_each_kind_is_made(tmp_path: Path) -> None:
    plane = make_plane(configure(), "w1", str(tmp_path))
    assert isinstance(plane, LocalPlane)
    plane.socket.close()
    assert isinstance(make_plane(configure(), "w1", ""), MemoryPlane)
    plane = make_plane(configure(url="redis://host", deployment="ours", window_ms=10), "w1", "/run")
    assert isinstance(plane, ValkeyPlane)
    assert isinstance(plane, LivePlane)
    assert (plane.deployment, plane.window.seconds) == ("ours", 0.01)
    assert list_names("planes")[:4] == ["memory", "local", "postgres", "valkey"]


def test_workers_of_one_run_are_one_deployment() -> None:
    names = [planes.name_deployment(configure(), folder) for folder in ("/run/a", "/run/a", "/run/b")]
    assert names[0] == names[1] != names[2]


@pytest.mark.demand("cluster.live_unreachable")
@pytest.mark.parametrize("url", ["redis://host", "postgresql://host"])
def test_a_missing_extra_is_said(monkeypatch: pytest.MonkeyPatch, url: str) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ConfigError, match=r"not installed: .*rightseat\[cluster\]"):
        make_plane(configure(url=url), "w1", "/run")


@pytest.mark.parametrize(
    ("config", "run_folder", "message"),
    [
        (configure(kind="memory"), "/run", "reaches one process only"),
        (configure(kind="local"), "", "workers of one machine"),
        (configure(kind="valkey"), "/run", "needs url"),
        (configure(kind="postgres"), "/run", "needs url"),
        (configure(kind="valky", url="redis://host"), "/run", "Did you mean 'valkey'"),
        (configure(url="host:6379"), "/run", "no address of a live server"),
    ],
)
def test_settings_that_do_not_fit(config: Config, run_folder: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        make_plane(config, "w1", run_folder)


def test_the_url_is_a_secret(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VALKEY_URL", "redis://:very-secret-word@host")
    file = tmp_path / "rightseat.toml"
    file.write_text('[live]\nurl = "env:VALKEY_URL"\n', "utf-8")
    live = load_config(file).live
    assert live.url is not None
    assert live.url.reveal() == "redis://:very-secret-word@host"
    assert "very-secret-word" not in repr(live)
    file.write_text('[live]\nurl = "redis://host"\ndeployment = "a b"\n', "utf-8")
    with pytest.raises(ConfigError, match="use letters"):
        load_config(file)


def test_a_server_that_nobody_needs_is_said(caplog: pytest.LogCaptureFixture) -> None:
    config = configure("memory", url="redis://host")
    make_thread_runs(config, MemoryStore(), env={})
    assert "[live] url is not used" in caplog.text
