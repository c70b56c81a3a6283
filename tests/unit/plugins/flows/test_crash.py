"""A flow that is killed at any point goes on there: the outputs are the same, and nothing is done twice
unasked."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.kit.rounds import limit_rounds
from tests.kit.timeouts import HANG_TIMEOUT

ROOT = Path(__file__).parents[4]
ORDER, MAIL = "POST /orders", "POST /mails"
ORDERS, MAILS = 4, 3


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    """One for each point at which the process was killed; the first is of a run that was not."""
    home = tmp_path_factory.mktemp("crash")
    command = [sys.executable, "-m", "tests.unit.plugins.flows.crash_program", str(home)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=10 * HANG_TIMEOUT, check=False)
    assert done.returncode == 0, done.stderr
    files = sorted(home.glob("*.json"), key=lambda file: int(file.stem))
    return [json.loads(file.read_text(encoding="utf-8")) for file in files]


def list_idempotency_keys(outcome: dict[str, Any], name: str) -> list[str]:
    return [key for called, key in outcome["effects"] if called == name]


@pytest.mark.demand("flows.state_journalled_per_step")
@pytest.mark.io
@pytest.mark.timeout(900)
def test_killed_at_every_point_the_outputs_are_those_of_a_run_without_harm(outcomes: list[dict[str, Any]]) -> None:
    whole, *others = outcomes
    assert whole["killed"] == 0
    assert len(list_idempotency_keys(whole, ORDER)) == ORDERS
    assert len(list_idempotency_keys(whole, MAIL)) == MAILS
    assert len(whole["points"]) > 60
    assert len(others) >= limit_rounds(60)
    for one in others:
        assert one["killed"] == 9, one
        assert one["again"] == 0, one
        assert one["outputs"] == whole["outputs"], one
        assert one["text"] == whole["text"] == "All done.", one


@pytest.mark.demand("flows.killed_inside_step_read")
@pytest.mark.io
@pytest.mark.timeout(900)
def test_a_peer_that_knows_our_key_sees_one_effect_for_each(outcomes: list[dict[str, Any]]) -> None:
    repeated = 0
    for one in outcomes:
        found = list_idempotency_keys(one, ORDER)
        assert len(set(found)) == ORDERS, one
        repeated += len(found) > ORDERS
    assert repeated, "some were killed after the order, and sent it again under the same key"


@pytest.mark.demand("flows.killed_inside_step_read")
@pytest.mark.io
@pytest.mark.timeout(900)
def test_what_may_have_run_is_asked_about_and_never_repeated_unasked(outcomes: list[dict[str, Any]]) -> None:
    asked = 0
    for one in outcomes:
        questions = [text for text in one["questions"] if "it may have run" in text]
        assert len(questions) <= 1, one
        sent = list_idempotency_keys(one, MAIL)
        assert len(set(sent)) == MAILS, one
        assert len(sent) <= MAILS + len(questions), one
        asked += len(questions)
        if len(sent) > MAILS:
            assert "POST /mails" in questions[0], one
    assert asked >= (6 if len(outcomes) > 60 else 1)
