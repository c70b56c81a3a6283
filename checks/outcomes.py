"""pytest plugin of checks/mutations.py: writes the outcome of each phase of each test as a line of JSON, and refuses to
run the code of another tree."""

import json
import os
from pathlib import Path

import pytest

import rightseat

OUTCOMES_VARIABLE = "RIGHTSEAT_TEST_OUTCOMES"


def pytest_sessionstart(session: pytest.Session) -> None:
    source = Path(rightseat.__file__)
    if not source.is_relative_to(session.config.rootpath / "src"):
        raise pytest.UsageError(f"the tests of {session.config.rootpath} would run the code of {source.parent}")


def write_line(entry: dict[str, str]) -> None:
    with Path(os.environ[OUTCOMES_VARIABLE]).open("a", encoding="utf-8") as file:
        file.write(json.dumps(entry) + "\n")


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    write_line({"test": report.nodeid, "phase": report.when or "", "outcome": report.outcome})


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_call(item: pytest.Item) -> None:
    """Name the test that runs, for one that never ends."""
    write_line({"test": item.nodeid, "phase": "call", "outcome": "started"})
