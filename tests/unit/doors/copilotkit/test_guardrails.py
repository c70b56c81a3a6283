"""Guardrails on CopilotKit's GraphQL: what the page sends along, and what it is told."""

from typing import Any

import pytest

from rightseat import Runtime
from rightseat.middleware.guardrails import GuardrailPolicies, GuardrailPolicy, TextRules, WordList
from rightseat.middleware.guardrails.rules import format_refusal
from tests.kit.app_server import FakeModel, reply_text
from tests.unit.doors.copilotkit.client import (
    DOCUMENT,
    GENERIC_DOCUMENT,
    UNSTREAMED_DOCUMENT,
    make_input,
    make_request_body,
    make_text_message,
    post_graphql,
    serve_copilotkit,
)

pytestmark = pytest.mark.io

DENY = TextRules(deny=WordList(["gun"]))
FAILED = "GUARDRAILS_VALIDATION_FAILED"
documents = pytest.mark.parametrize("document", [DOCUMENT, GENERIC_DOCUMENT, UNSTREAMED_DOCUMENT])


def make_cloud_rules(allow: list[str], deny: list[str]) -> dict[str, Any]:
    return {"guardrails": {"inputValidationRules": {"allowList": allow, "denyList": deny}}}


def get_failure(response: Any) -> tuple[str, str, str]:
    status = response["status"]
    details = status["details"]
    return status["reason"], details["guardrailsReason"], details["originalError"]["originalErrorType"]


@pytest.mark.demand("models.refusal_looks_right_door")
@documents
async def test_a_refused_message_has_the_clients_own_reason(document: str) -> None:
    async with serve_copilotkit(
        Runtime(model=FakeModel(), guards=GuardrailPolicies(GuardrailPolicy(input=DENY)))
    ) as url:
        answer = await post_graphql(url, make_request_body(make_input(make_text_message("a gun")), document))
    words = format_refusal("input", "words")
    assert get_failure(answer.response) == (FAILED, words, "guardrails_validation_failed")
    assert answer.messages == []


@pytest.mark.demand("models.refusal_looks_right_door")
@documents
async def test_a_stopped_answer_keeps_what_was_said_as_failed(document: str) -> None:
    async with serve_copilotkit(
        Runtime(model=FakeModel(reply_text("My gun")), guards=GuardrailPolicies(GuardrailPolicy(output=DENY)))
    ) as url:
        answer = await post_graphql(url, make_request_body(make_input(make_text_message("hi")), document))
    assert get_failure(answer.response) == (FAILED, format_refusal("output", "words"), "output_guarded")
    assert [("".join(m["content"]), m["status"]["code"]) for m in answer.messages] == [("My ", "Failed")]


@pytest.mark.demand("copilotkit.inputs_whole_message_kind")
async def test_the_pages_own_lists_are_kept_to() -> None:
    async with serve_copilotkit(Runtime(model=FakeModel(reply_text("Yes."), reply_text("Yes.")))) as url:
        denied = await post_graphql(
            url,
            make_request_body(make_input(make_text_message("Poker tonight?"), cloud=make_cloud_rules([], ["poker"]))),
        )
        missed = await post_graphql(
            url,
            make_request_body(make_input(make_text_message("Poker tonight?"), cloud=make_cloud_rules(["cooking"], []))),
        )
        fine = await post_graphql(
            url,
            make_request_body(
                make_input(make_text_message("Cooking tonight?"), cloud=make_cloud_rules(["cooking"], ["poker"]))
            ),
        )
        # What the page asks for by itself is not what a person said.
        kind = {"requestType": "Suggestion"}
        own = await post_graphql(
            url,
            make_request_body(
                make_input(make_text_message("Suggest"), metadata=kind, cloud=make_cloud_rules(["cooking"], []))
            ),
        )
        many = await post_graphql(
            url, make_request_body(make_input(make_text_message("hi"), cloud=make_cloud_rules([], ["word"] * 2501)))
        )
    assert "10000 characters of topics" in many.errors[0]["message"]
    assert get_failure(denied.response)[:2] == (FAILED, format_refusal("input", "topic"))
    assert get_failure(missed.response)[:2] == (FAILED, format_refusal("input", "off_topic"))
    assert (fine.text, own.text) == ("Yes.", "Yes.")
