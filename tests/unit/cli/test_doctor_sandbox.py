"""The doctor says what confines the Python tools of plugins on this machine, and what to write where nothing does."""

from pathlib import Path

import pytest

from rightseat.config.load import load_config
from rightseat.doctor import setup
from rightseat.doctor.setup import check_sandbox
from rightseat.tools.sandbox.machine import SandboxReport

pytestmark = pytest.mark.demand("security.lib_tools_confined")
HOLDING = SandboxReport(layers=("seccomp",), missing={"uid": "the server is not root"})
FAILING = SandboxReport(problem="Darwin has no means to confine a process")


def write_plugins(folder: Path, **lib: str) -> Path:
    """Plugins with Python code, by name, with their setting `lib`."""
    config = folder / "rightseat.toml"
    config.touch()
    for name, setting in lib.items():
        (folder / name / "lib").mkdir(parents=True)
        (folder / name / "plugin.json").write_text("{}")
        with config.open("a") as file:
            file.write(f'[[plugins]]\npath = "{name}"\nlib = "{setting}"\n')
    return config


@pytest.mark.parametrize(
    ("report", "state", "why"),
    [
        (HOLDING, "good", "confined by a seccomp filter; without uid (the server is not root); every attack"),
        (FAILING, "broken", "left out, not confined: Darwin has no means to confine a process"),
    ],
)
def test_the_line_says_what_holds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, report: SandboxReport, state: str, why: str
) -> None:
    monkeypatch.setattr(setup, "probe_machine", lambda: report)
    [line] = check_sandbox(load_config(write_plugins(tmp_path, kit="confined")))
    assert line.state == state
    assert line.why.startswith(why)
    assert (state == "good") == (line.fix == "")
    if line.fix:
        assert 'write lib = "trusted" into its [[plugins]] table of rightseat.toml' in line.fix


def test_trusted_plugins_are_named_and_nothing_is_probed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(setup, "probe_machine", lambda: pytest.fail("nothing is confined here"))
    [line] = check_sandbox(load_config(write_plugins(tmp_path, kit="trusted", more="trusted")))
    assert (line.state, line.why) == ("skipped", "trusted, they may do what the server may: kit, more")


def test_plugins_without_python_have_no_line(tmp_path: Path) -> None:
    assert list(check_sandbox(load_config(write_plugins(tmp_path)))) == []
