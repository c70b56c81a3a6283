"""The workflows: pinned actions, least rights, commands that exist, and the systems that the pages name."""

from __future__ import annotations

import re
import shlex
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / ".github" / "workflows"
WORKFLOWS: dict[str, dict[Any, Any]] = {
    path.name: yaml.safe_load(path.read_text(encoding="utf-8")) for path in sorted(FOLDER.glob("*.yml"))
}
PINNED = re.compile(
    r"^\s*(?:- )?uses: (?P<action>[\w.-]+/[\w./-]+)@(?P<commit>[0-9a-f]{40}) # (?P<version>v\d+\.\d+\.\d+)$"
)
TARGETS = set(re.findall(r"^([\w-]+(?: [\w-]+)*):(?!=)", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
MAKE_TARGETS = {name for line in TARGETS for name in line.split()}
# Programs that runners and the locks bring.
PROGRAMS = {"gh", "git", "npm", "pip-audit"}
# What a job may write: by identity to the index and the pages, and the release's notes.
WRITING_JOBS = {
    ("docs.yml", "deploy"): {"pages": "write", "id-token": "write"},
    ("release.yml", "publish"): {"id-token": "write"},
    ("release.yml", "notes"): {"contents": "write"},
}
pytestmark = pytest.mark.demand("release.workflows")


def list_jobs() -> Iterator[tuple[str, str, dict[str, Any]]]:
    for file, workflow in WORKFLOWS.items():
        for name, job in workflow["jobs"].items():
            yield file, name, job


def list_commands() -> Iterator[tuple[str, list[str]]]:
    """Every command of a `run:`, with the place where it stands."""
    for file, name, job in list_jobs():
        for step in job["steps"]:
            for line in re.split(r"\n|&&|;|\|\|", step.get("run", "")):
                if words := shlex.split(line):
                    yield f"{file}: {name}: {line.strip()}", words


def exists(words: list[str]) -> bool:
    """Whether a command names a target, a module or a script of this repository, or a known program."""
    match words:
        case ["make", *goals]:
            return bool(goals) and {goal for goal in goals if "=" not in goal} <= MAKE_TARGETS
        case ["python", "-m", "pip", *_]:
            return True
        case ["python", "-m", module, *_]:
            path = ROOT / module.replace(".", "/")
            return path.with_suffix(".py").is_file() or (path / "__main__.py").is_file()
        case ["python" | "sh" | "bash", script, *_]:
            return (ROOT / script).is_file()
        case [program, *_]:
            return program in PROGRAMS
    return False


def test_every_action_is_pinned_by_its_commit() -> None:
    commits = defaultdict(set)
    for path in FOLDER.glob("*.yml"):
        for line in path.read_text(encoding="utf-8").splitlines():
            if "uses:" in line:
                pinned = PINNED.match(line)
                assert pinned, f"{path.name}: {line.strip()}"
                commits[pinned["action"]].add((pinned["commit"], pinned["version"]))
    assert {action: found for action, found in commits.items() if len(found) > 1} == {}
    assert len(commits) >= 7


def test_every_command_exists() -> None:
    commands = list(list_commands())
    assert len(commands) > 8
    assert [place for place, words in commands if not exists(words)] == []
    assert not exists(["make", "no-such-target"])
    assert not exists(["python", "checks/no_such_file.py"])
    assert not exists(["curl", "http://127.0.0.1"])


def test_files_that_a_command_names_exist() -> None:
    locks = [word for _, words in list_commands() for word in words if word.startswith("requirements/")]
    assert locks
    assert [name for name in locks if not (ROOT / name).is_file()] == []


def test_rights_are_the_least() -> None:
    for file, workflow in WORKFLOWS.items():
        assert workflow["permissions"] == {"contents": "read"}, file
        # YAML reads the key `on` as true.
        assert "pull_request_target" not in workflow[True], file
    granted = {(file, name): job["permissions"] for file, name, job in list_jobs() if "permissions" in job}
    assert granted == WRITING_JOBS


def test_no_text_of_an_event_reaches_a_shell() -> None:
    steps = [(file, step) for file, _, job in list_jobs() for step in job["steps"]]
    assert [file for file, step in steps if "${{" in step.get("run", "")] == []
    assert [file for file, step in steps if "secrets." in str(step)] == []


def test_no_checkout_leaves_its_key_in_the_clone() -> None:
    steps = [step for _, _, job in list_jobs() for step in job["steps"]]
    checkouts = [step for step in steps if step.get("uses", "").startswith("actions/checkout@")]
    assert checkouts
    assert [step for step in checkouts if step.get("with") != {"persist-credentials": False}] == []


def test_every_job_ends() -> None:
    assert [f"{file}: {name}" for file, name, job in list_jobs() if "timeout-minutes" not in job] == []
    for file, name, job in list_jobs():
        needed = job.get("needs", [])
        assert {needed} if isinstance(needed, str) else set(needed) <= WORKFLOWS[file]["jobs"].keys(), name


def test_the_systems_are_those_that_are_promised() -> None:
    jobs = WORKFLOWS["tests.yml"]["jobs"]
    assert jobs["test"]["strategy"]["matrix"] == {
        "runner": ["ubuntu-24.04", "ubuntu-24.04-arm"],
        "python": ["3.11", "3.13"],
    }
    assert jobs["elsewhere"]["strategy"]["matrix"] == {
        "runner": ["macos-15", "windows-2025"],
        "python": ["3.11", "3.13"],
    }
    # No `make` of the same kind is on Windows.
    for step in jobs["elsewhere"]["steps"]:
        assert not step.get("run", "").startswith("make") or step["if"] == "runner.os == 'macOS'"


def test_a_release_is_published_by_identity_with_attestations() -> None:
    release = WORKFLOWS["release.yml"]
    assert release[True] == {"push": {"tags": ["v*"]}}
    publish = release["jobs"]["publish"]
    assert publish["environment"] == "pypi"
    assert set(publish["needs"]) == {"build", "image"}
    [step] = [step for step in publish["steps"] if "pypi-publish" in step["uses"]]
    assert step["with"] == {"packages-dir": "dist/", "attestations": True}
    runs = [step["run"] for step in release["jobs"]["build"]["steps"] if "run" in step]
    assert runs[0].startswith('python checks/release_notes.py "$GITHUB_REF_NAME"')
    assert runs[1] == "make release-check"
    assert [step["run"] for step in release["jobs"]["image"]["steps"] if "run" in step] == ["make image"]
