"""Guardrails on CopilotKit's GraphQL: what the page sends along, and what it is told."""

from typing import Any

import pytest

from rightseat import Runtime
from rightseat.middleware.guardrails import GuardrailPolicies, GuardrailPolicy, TextRules, WordList
from rightseat.middleware.guardrails.rules import format_refusal
from tests.kit.house import Lines, says
from tests.unit.doors.copilotkit.client import DOCUMENT, GENERIC, WHOLE, ask, body, data, home, text

pytestmark = pytest.mark.io

DENY = TextRules(deny=WordList(["gun"]))
FAILED = "GUARDRAILS_VALIDATION_FAILED"
documents = pytest.mark.parametrize("document", [DOCUMENT, GENERIC, WHOLE])


def cloud(allow: list[str], deny: list[str]) -> dict[str, Any]:
    return {"guardrails": {"inputValidationRules": {"allowList": allow, "denyList": deny}}}


def told(response: Any) -> tuple[str, str, str]:
    status = response["status"]
    details = status["details"]
    return status["reason"], details["guardrailsReason"], details["originalError"]["originalErrorType"]


@pytest.mark.demand("models.refusal_looks_right_door")
@documents
async def test_a_refused_message_has_the_clients_own_reason(document: str) -> None:
    async with home(Runtime(model=Lines(), guards=GuardrailPolicies(GuardrailPolicy(input=DENY)))) as url:
        answer = await ask(url, body(data(text("a gun")), document))
    words = format_refusal("input", "words")
    assert told(answer.response) == (FAILED, words, "guardrails_validation_failed")
    assert answer.messages == []


@pytest.mark.demand("models.refusal_looks_right_door")
@documents
async def test_a_stopped_answer_keeps_what_was_said_as_failed(document: str) -> None:
    async with home(
        Runtime(model=Lines(says("My gun")), guards=GuardrailPolicies(GuardrailPolicy(output=DENY)))
    ) as url:
        answer = await ask(url, body(data(text("hi")), document))
    assert told(answer.response) == (FAILED, format_refusal("output", "words"), "output_guarded")
    assert [("".join(m["content"]), m["status"]["code"]) for m in answer.messages] == [("My ", "Failed")]


@pytest.mark.demand("copilotkit.inputs_whole_message_kind")
async def test_the_pages_own_lists_are_kept_to() -> None:
    async with home(Runtime(model=Lines(says("Yes."), says("Yes.")))) as url:
        denied = await ask(url, body(data(text("Poker tonight?"), cloud=cloud([], ["poker"]))))
        missed = await ask(url, body(data(text("Poker tonight?"), cloud=cloud(["cooking"], []))))
        fine = await ask(url, body(data(text("Cooking tonight?"), cloud=cloud(["cooking"], ["poker"]))))
        # What the page asks for by itself is not what a person said.
        kind = {"requestType": "Suggestion"}
        own = await ask(url, body(data(text("Suggest"), metadata=kind, cloud=cloud(["cooking"], []))))
        many = await ask(url, body(data(text("hi"), cloud=cloud([], ["word"] * 2501))))
    assert "10000 characters of topics" in many.errors[0]["message"]
    assert told(denied.response)[:2] == (FAILED, format_refusal("input", "topic"))
    assert told(missed.response)[:2] == (FAILED, format_refusal("input", "off_topic"))
    assert (fine.text, own.text) == ("Yes.", "Yes.")
