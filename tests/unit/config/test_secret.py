from __future__ import annotations

import logging
import pickle
from pathlib import Path

import pytest

from rightseat.config.secret import Secret, resolve_reference
from rightseat.errors import ConfigError


def test_a_secret_never_shows_itself() -> None:
    secret = Secret("hunter2")
    shown = [repr(secret), str(secret), f"{secret}", f"{secret:>10}", repr({"a": [secret]})]
    assert "hunter2" not in "".join(shown)
    assert secret.reveal() == "hunter2"
    with pytest.raises(TypeError):
        pickle.dumps(secret)


def test_secrets_compare_by_value() -> None:
    assert Secret("a") == Secret("a")
    assert Secret("a") != Secret("b")
    assert Secret("a") != "a"
    assert len({Secret("a"), Secret("a")}) == 1
    assert not Secret("")


@pytest.mark.demand("engine.unknown_keys_rightseat_toml")
def test_references(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("A", "from-env")
    (tmp_path / "key").write_text("from-file\r\n", "utf-8")
    assert resolve_reference("env:A", "k").reveal() == "from-env"
    assert resolve_reference("file:key", "k", folder=tmp_path).reveal() == "from-file"
    assert resolve_reference(f"file:{tmp_path}/key", "k").reveal() == "from-file"


@pytest.mark.parametrize(
    ("reference", "said"),
    [
        ("env:GONE", "auth.keys.bob: the environment variable GONE is not set"),
        ("env:EMPTY", "auth.keys.bob: the environment variable EMPTY is empty"),
        ("file:gone", "auth.keys.bob: cannot read the secret's file"),
        ("file:empty", "auth.keys.bob: the secret's file"),
        ("file:binary", "not UTF-8"),
    ],
)
def test_a_reference_to_nothing_names_key_and_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, reference: str, said: str
) -> None:
    monkeypatch.setenv("EMPTY", "")
    monkeypatch.delenv("GONE", raising=False)
    (tmp_path / "empty").write_text("\n", "utf-8")
    (tmp_path / "binary").write_bytes(b"\xff\xfe")
    with pytest.raises(ConfigError) as caught:
        resolve_reference(reference, "auth.keys.bob", folder=tmp_path)
    assert said in caught.value.message


def test_a_plain_value_is_warned_about_without_being_said(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        assert resolve_reference("hunter2", "api_key").reveal() == "hunter2"
    assert "api_key" in caplog.text
    assert "hunter2" not in caplog.text
