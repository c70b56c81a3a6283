"""[hooks] and [server] environment: read, checked, and wired into the Runtime."""

import importlib
from pathlib import Path
from typing import Any

import pytest

from rightseat.config.load import load_config
from rightseat.errors import ConfigError
from rightseat.types.messages import text_message
from rightseat.types.streams import closing
from rightseat.types.turn import Turn
from rightseat.wiring.from_config import build_runtime

HOOKS = """
seen = []
def before(asked):
    seen.append(asked.run)
async def failed(incident):
    seen.append(incident.code)
number = 7
"""


def write_config(folder: Path, text: str, name: str) -> Path:
    (folder / f"{name}.py").write_text(HOOKS, encoding="utf-8")
    (folder / "rightseat.toml").write_text(text.replace("MODULE", name), encoding="utf-8")
    return folder / "rightseat.toml"


@pytest.mark.demand("models.hooks_before_request_after")
@pytest.mark.slow
async def test_the_files_hooks_are_called(tmp_path: Path) -> None:
    path = write_config(
        tmp_path,
        """
        [models.default]
        spec = "scripted:demo"
        [hooks]
        on_before_request = "MODULE:before"
        on_error = "MODULE:failed"
        timeout = 1.5
        """,
        "hooks_that_are_called",
    )
    made = build_runtime(load_config(path, env={}), env={})
    assert (made.hooks.timeout, made.hooks.after) == (1.5, None)
    for assistant in (None, "nobody"):
        turn = Turn(messages=(text_message("user", "hi"),), run="r1", assistant=assistant)
        async with closing(made.run(turn)) as events:
            assert [event async for event in events]
    await made.close()
    seen: list[Any] = importlib.import_module("hooks_that_are_called").seen
    assert seen[0] == "r1"
    assert seen[1] in ("not_found", "agent_not_found")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('on_error = "nothing"', "not of the form module:attribute"),
        ('on_eror = "m:x"', "Did you mean on_error"),
        ("timeout = 0", "timeout"),
    ],
)
def test_what_is_wrong_is_said(tmp_path: Path, text: str, words: str) -> None:
    path = write_config(tmp_path, f"[hooks]\n{text}\n", "hooks_unused")
    with pytest.raises(ConfigError, match=r"rightseat\.toml") as error:
        load_config(path, env={})
    assert words in error.value.message


@pytest.mark.parametrize(
    ("target", "words"), [("MODULE:nobody", "has no 'nobody'"), ("MODULE:number", "is a int, not a function")]
)
def test_a_hook_that_is_not_there(tmp_path: Path, target: str, words: str) -> None:
    config = load_config(
        write_config(tmp_path, f'[hooks]\non_error = "{target}"\n', "hooks_not_there"), model="scripted:demo", env={}
    )
    with pytest.raises(ConfigError, match=r"\[hooks\]") as error:
        build_runtime(config, env={})
    assert words in error.value.message


@pytest.mark.demand("models.request_context_thread_run")
@pytest.mark.parametrize(
    ("text", "production"),
    [
        ("", False),
        ('[auth.keys]\nada = "env:ADA_KEY"', True),
        ('[server]\nenvironment = "production"', True),
        ('[server]\nenvironment = "development"\n[auth.keys]\nada = "env:ADA_KEY"', False),
    ],
)
def test_where_production_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, production: bool) -> None:
    monkeypatch.setenv("ADA_KEY", "ada-key-of-a-test")
    config = load_config(write_config(tmp_path, text, "hooks_unused"), model="scripted:demo")
    assert config.production is production
    assert build_runtime(config, env={}).environment == ("production" if production else "development")
