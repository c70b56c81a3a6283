"""A flow whose store goes away while a step runs: the step has had its effect, so the flow waits and goes on."""

import asyncio
from typing import Any

import pytest

from rightseat.plugins.flows import checkpoint
from tests.kit.app_server import reply_text
from tests.kit.away_store import AwayStore
from tests.kit.waiting import wait_until
from tests.unit.plugins.flows.conversations import RecordingTools, open_conversation

pytestmark = pytest.mark.demand("cluster.flows_wait_for_store")
FLOW = """
name: f
description: d
steps:
  - {name: start, call_type: charge, next: mail}
  - {name: mail, call_type: mail, next: tell}
  - {name: tell, call_type: llm, params: {user_prompt: "{steps}"}}
"""


@pytest.fixture(autouse=True)
def short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checkpoint, "SAVE_SECONDS", (0.01, 0.01))
    monkeypatch.setattr(checkpoint, "RELEASE_SECONDS", (0.01, 0.01))


async def test_the_flow_goes_on_when_the_store_is_back_and_runs_each_step_once() -> None:
    store, calls = AwayStore(), []

    def charge(args: dict[str, Any]) -> str:
        calls.append("charge")
        store.is_away = True
        asyncio.get_running_loop().call_later(0.1, setattr, store, "is_away", False)
        return "charged"

    def mail(args: dict[str, Any]) -> str:
        calls.append("mail")
        return "sent"

    play = open_conversation(FLOW, RecordingTools({"charge": charge, "mail": mail}), reply_text("Done."), store=store)
    await play.send()
    assert play.failure is None
    assert play.text == "Done."
    assert calls == ["charge", "mail"]


async def test_a_store_that_stays_away_is_the_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checkpoint, "CONFIRM_SECONDS", 0.05)
    store = AwayStore()

    def charge(args: dict[str, Any]) -> str:
        store.is_away = True
        return "charged"

    play = open_conversation(FLOW, RecordingTools({"charge": charge}), store=store)
    await play.send()
    assert play.failure is not None
    assert (play.failure.code, play.failure.after_effect, play.failure.retry_after) == ("store_failed", True, None)
    store.is_away = False
    # Free for other workers again.
    await wait_until(lambda: not checkpoint._releases)
