"""The Dockerfile and the systemd unit, read: there is no Docker engine to build with here."""

import configparser
import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from rightseat.cli import app
from rightseat.config.settings import ServerSettings
from tests.kit.timeouts import HANG_TIMEOUT

ROOT = Path(__file__).parents[3]
DOCKERFILE = ROOT / "deploy" / "Dockerfile"
UNIT = ROOT / "deploy" / "rightseat.service"


def read_instructions() -> list[tuple[str, str]]:
    text = re.sub(r"\\\n\s*", "", DOCKERFILE.read_text(encoding="utf-8"))
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    return [(line.split(" ", 1)[0], line.split(" ", 1)[1]) for line in lines]


def list_arguments(kind: str) -> list[str]:
    return [rest for name, rest in read_instructions() if name == kind]


@pytest.mark.demand("server.dockerfile_stages_root_hashes")
def test_two_stages_from_one_base_and_no_other_host() -> None:
    assert list_arguments("FROM") == ["python:3.11-slim AS build", "python:3.11-slim"]
    hosts = re.findall(r"https?://([^/:\s]+)", DOCKERFILE.read_text(encoding="utf-8"))
    assert set(hosts) == {"127.0.0.1"}


@pytest.mark.demand("server.dockerfile_stages_root_hashes")
def test_what_it_copies_exists_and_passes_the_ignore_file() -> None:
    rules = (ROOT / "deploy" / "Dockerfile.dockerignore").read_text(encoding="utf-8").split()
    assert rules[0] == "*"
    for line in list_arguments("COPY"):
        if line.startswith("--from=build"):
            continue
        *sources, _ = line.split()
        for source in sources:
            assert (ROOT / source).exists(), source
            assert f"!{source}" in rules


@pytest.mark.demand("server.dockerfile_stages_root_hashes")
def test_it_installs_from_the_lock_with_hashes_and_the_project_offline() -> None:
    lock, project = (line for line in list_arguments("RUN") if "pip install" in line)
    assert "--require-hashes -r requirements/run.txt" in lock
    assert "--no-deps" in project
    assert "--no-index" in project
    # The lock holds the build backend: without it the second line would need the network.
    assert "hatchling==" in (ROOT / "requirements/run.txt").read_text(encoding="utf-8")


@pytest.mark.demand("server.dockerfile_stages_root_hashes")
def test_it_runs_without_root_and_says_how_it_is() -> None:
    names = [name for name, _ in read_instructions()]
    [user] = list_arguments("USER")
    assert user.isdecimal()
    assert int(user) > 0
    assert names.index("USER") < names.index("ENTRYPOINT")
    assert f"--uid {user}" in "".join(list_arguments("RUN"))
    [health] = list_arguments("HEALTHCHECK")
    command = json.loads(health[health.index("[") :])
    assert command[:2] == ["python", "-c"]
    compile(command[2], "healthcheck", "exec")
    assert "/health" in command[2]


@pytest.mark.demand("server.dockerfile_stages_root_hashes")
def test_its_command_is_one_that_exists() -> None:
    [entry], [command] = list_arguments("ENTRYPOINT"), list_arguments("CMD")
    words = [*json.loads(entry), *json.loads(command)]
    assert words[:2] == ["rightseat", "serve"]
    assert callable(app)
    assert words[2] == "--config"
    environment = " ".join(list_arguments("ENV"))
    assert "RIGHTSEAT_HOST=0.0.0.0" in environment
    assert list_arguments("EXPOSE") == ["7777"]


def read_unit() -> configparser.ConfigParser:
    parser = configparser.ConfigParser(interpolation=None, strict=False, delimiters=("=",))
    parser.optionxform = str  # type: ignore[assignment,method-assign]
    parser.read_string(UNIT.read_text(encoding="utf-8"))
    return parser


@pytest.mark.demand("server.hardened_systemd_unit_credentials")
def test_the_unit_reloads_stops_gracefully_and_keeps_secrets_from_the_environment() -> None:
    service = read_unit()["Service"]
    assert service["ExecReload"] == "/bin/kill -HUP $MAINPID"
    assert " serve --config /etc/rightseat/rightseat.toml" in service["ExecStart"]
    assert float(service["TimeoutStopSec"]) > ServerSettings().grace
    assert service["LoadCredential"]
    for key in ("NoNewPrivileges", "ProtectHome", "PrivateTmp", "PrivateDevices", "DynamicUser"):
        assert service[key] == "yes"
    assert service["ProtectSystem"] == "strict"
    assert service["CapabilityBoundingSet"] == ""


@pytest.mark.demand("server.hardened_systemd_unit_credentials")
@pytest.mark.io
@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="no systemd here")
def test_systemd_takes_the_unit(tmp_path: Path) -> None:
    """With a program that exists here: the unit names where it will be installed."""
    text = UNIT.read_text(encoding="utf-8").replace("/opt/rightseat/bin/rightseat", shutil.which("true") or "")
    copy = tmp_path / UNIT.name
    copy.write_text(text, encoding="utf-8")
    checked = subprocess.run(
        ["systemd-analyze", "verify", copy], capture_output=True, text=True, timeout=HANG_TIMEOUT, check=False
    )
    assert (checked.returncode, checked.stderr) == (0, "")
    crooked = text.replace("ProtectSystem=strict", "ProtectSystm=strict")
    copy.write_text(crooked, encoding="utf-8")
    told = subprocess.run(
        ["systemd-analyze", "verify", copy], capture_output=True, text=True, timeout=HANG_TIMEOUT, check=False
    )
    assert "ProtectSystm" in told.stderr
