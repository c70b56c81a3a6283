"""`rightseat doctor` says of each plugin whether it works, and what to do where it does not."""

from pathlib import Path

import pytest

from rightseat.cli.doctor import print_lines, stream_checks
from tests.unit.plugins.runtime.api_plugins import write_api_plugin

pytestmark = pytest.mark.io


async def test_doctor_names_every_plugin(tmp_path: Path) -> None:
    write_api_plugin(tmp_path / "plugins" / "hosts")
    (tmp_path / "plugins" / "bad").mkdir()
    (tmp_path / "plugins" / "bad" / "plugin.json").write_text("{", "utf-8")
    text = '[server]\nport = 0\n[models.m]\nspec = "scripted:demo"\n[[plugins]]\npath = "plugins"\n'
    (tmp_path / "rightseat.toml").write_text(text, "utf-8")
    lines = {
        line.what: line
        for line in await print_lines(stream_checks(None, None, tmp_path / "rightseat.toml"), quiet=True)
    }
    assert lines["plugin hosts"].state == "good"
    assert lines["plugin bad"].state == "broken"
    assert lines["plugin bad"].fix == f"rightseat plugins check {tmp_path / 'plugins' / 'bad'}"
