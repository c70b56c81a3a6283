"""examples/first-hour/first_hour.sh, the path of docs/start.md: clone, serve, own model, tool, plugin, a key.

tests/package/test_stranger.py runs the same script with a wheel in place of the clone.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.test_docs import ROOT
from tests.peers.install import CURL
from tests.peers.prerequisites import require
from tests.peers.test_haproxy import reserve_port

SCRIPT = ROOT / "examples" / "first-hour" / "first_hour.sh"
pytestmark = pytest.mark.demand("server.first_hour")
STEPS = ("2. Serve", "3. Your own model", "4. Your own tool", "5. Your own plugin", "6. Deploy with a key")
ANSWERS = ("It is 2 days.", "It has been up for 1 d 1 h 1 min.")


def check_steps(done: subprocess.CompletedProcess[str], first: str) -> None:
    """Every step was made in its order, and the answers of the own tool and the own plugin came."""
    assert done.returncode == 0, done.stdout + done.stderr
    titles = [line.removeprefix("== ") for line in done.stdout.splitlines() if line.startswith("== ")]
    assert [step for step, title in zip((first, *STEPS), titles, strict=False) if not title.startswith(step)] == []
    assert titles[-1].startswith("Done.")
    assert [answer for answer in ANSWERS if answer not in done.stdout] == []


@pytest.mark.peers
@pytest.mark.io
@pytest.mark.timeout(600)
def test_the_script_runs_to_its_end_without_a_key_of_a_model(tmp_path: Path) -> None:
    require(CURL)
    environment = {
        "HOME": str(tmp_path),
        "PATH": os.environ["PATH"],
        "PORT": str(reserve_port()),
        "RIGHTSEAT": str(Path(sys.executable).with_name("rightseat")),
    }
    command = ["bash", str(SCRIPT), str(tmp_path / "first-hour")]
    done = subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, text=True)
    check_steps(done, "1. Clone")
    # The folder is a set-up of its own, without a secret in a file.
    configuration = (tmp_path / "first-hour" / "rightseat.toml").read_text("utf-8")
    assert 'me = "env:RIGHTSEAT_KEY"' in configuration


def test_the_page_has_the_steps_of_the_script() -> None:
    page = (ROOT / "docs" / "start.md").read_text("utf-8")
    assert "(../examples/first-hour/first_hour.sh)" in page
    for command in (
        "rightseat plugins new inventory",
        "rightseat plugins check --strict inventory",
        "rightseat doctor --url",
    ):
        assert command in page
    script = SCRIPT.read_text("utf-8")
    for line in ('me = "env:RIGHTSEAT_KEY"', '[[plugins]]\npath = "inventory"'):
        assert line in page
        assert line in script
