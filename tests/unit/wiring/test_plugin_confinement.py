"""What the log says of a plugin's Python tools when it is loaded, and which plugins close the server's memory."""

import logging
from pathlib import Path

import pytest

from rightseat.config.load import load_config
from rightseat.tools.sandbox.machine import SandboxReport
from rightseat.wiring import plugins as wiring
from rightseat.wiring.plugins import has_confined_scripts, load_catalog

pytestmark = pytest.mark.demand("security.lib_tools_confined")
HOLDING = SandboxReport(layers=("landlock", "seccomp"))
CODE = 'from rightseat import tool\n@tool\ndef f(a: int) -> int:\n    """Counts."""\n    return a\n'


@pytest.fixture
def holding_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wiring, "probe_machine", lambda: HOLDING)
    monkeypatch.setattr("rightseat.plugins.python.tools.probe_machine", lambda: HOLDING)


def write_kit(folder: Path) -> Path:
    (folder / "lib").mkdir(parents=True)
    (folder / "plugin.json").write_text('{"name": "Kit", "description": "A kit."}')
    (folder / "lib" / "a.py").write_text(CODE)
    return folder


@pytest.mark.usefixtures("holding_machine")
@pytest.mark.parametrize("place", ["beside", "inside"])
def test_files_of_the_server_in_a_plugin_are_named(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, place: str
) -> None:
    caplog.set_level(logging.INFO)
    kit = write_kit(tmp_path / "kit")
    config = (kit if place == "inside" else tmp_path) / "rightseat.toml"
    config.write_text(f'[store]\npath = "data"\n[[plugins]]\npath = "{kit}"\n')
    load_catalog(load_config(config, env={}))
    assert "Plugin kit: Python tools of plugins are confined by Landlock version" in caplog.text
    warned = f"its Python tools can read {config}. Move it out of {kit}." in caplog.text
    assert warned == (place == "inside")
    assert (f"can read {kit / 'data'}" in caplog.text) == (place == "inside")


@pytest.mark.parametrize(
    ("lib", "code", "closed"), [("confined", 1, True), ("trusted", 1, False), ("confined", 0, False)]
)
def test_the_server_is_closed_where_confined_code_is(tmp_path: Path, lib: str, code: int, closed: bool) -> None:
    kit = write_kit(tmp_path / "kit")
    if not code:
        (kit / "lib" / "a.py").unlink()
        (kit / "lib").rmdir()
    (tmp_path / "rightseat.toml").write_text(f'[[plugins]]\npath = "kit"\nlib = "{lib}"\n')
    assert has_confined_scripts(load_config(tmp_path / "rightseat.toml", env={})) is closed
