"""The live suite itself: it says what was not run, passes a good vendor, and goes red at a bad one."""

import json
from typing import Any

import pytest

from tests.kit import answers, faults
from tests.kit.connection import Connection, ReceivedRequest
from tests.kit.upstream import FakeUpstream
from tests.live.__main__ import VENDORS, main

pytestmark = pytest.mark.io

KEYS = {key for vendor in VENDORS for key in vendor.keys}


@pytest.mark.demand("models.test_live_runs_model")
async def test_without_a_key_nothing_is_run_and_that_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    assert await main({}) == 0
    said = capsys.readouterr().out
    assert said.count("not run: ") == len(VENDORS)
    assert "not run: anthropic: ANTHROPIC_API_KEY is not set" in said
    assert f"live: 0 of {len(VENDORS)} vendors, 0 problems" in said


async def reply_as_good_vendor(connection: Connection, request: ReceivedRequest) -> None:
    """A chat model that does what the cases ask for."""
    body = request.json
    if body["model"] == "no-such-model-1":
        await faults.fail_with_status(404)(connection, request)
        return
    await choose_reply(body)(connection, request)


def choose_reply(body: dict[str, Any]) -> Any:
    messages = json.dumps(body["messages"])
    if body.get("max_tokens") == 20:
        return answers.answer_at_length_limit()
    if "tool_choice" in body:
        return answers.answer_tool_calls() if body["tool_choice"] == "required" else answers.answer_tool_call()
    if "tools" in body:
        return answers.answer_tokens(["They are 5 and 42."])
    if "response_format" in body:
        return answers.answer_tokens(['{"a": 2, ', '"b": 3}'])
    # Takes longer than a stuck program: whoever only waits for its end is seen.
    return answers.answer_text(500, rate=5) if "500" in messages else answers.answer_tokens(["Paris, red."])


@pytest.fixture
def no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for key in (*KEYS, "OPENAI_BASE_URL", "OPENAI_MODEL"):
        monkeypatch.delenv(key, raising=False)


@pytest.mark.demand("models.test_live_runs_model")
@pytest.mark.usefixtures("no_keys")
async def test_a_good_vendor_passes_and_a_bad_one_does_not(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("tests.live.__main__.VENDORS", VENDORS[:1])
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    async with FakeUpstream() as upstream:
        monkeypatch.setenv("OPENAI_BASE_URL", upstream.base_url)
        upstream.reply = reply_as_good_vendor
        assert await main({"OPENAI_API_KEY": "k"}) == 0, capsys.readouterr().out
        assert "live: 1 of 1 vendors, 0 problems" in capsys.readouterr().out
        upstream.reply = answers.answer_text()
        assert await main({"OPENAI_API_KEY": "k"}) == 1
    said = capsys.readouterr().out
    for name in ("text and usage no Paris", "calls and results", "a named call", "a model that is none"):
        assert f"RED  openai: {name}" in said
