"""Guardrails on CopilotKit's GraphQL: what the page sends along, and what it is told."""

from typing import Any

import pytest

from rightseat import Runtime
from rightseat.config.secret import Secret
from rightseat.config.settings import AuthSettings
from rightseat.http.auth import Authenticator
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
from tests.unit.middleware.guardrails.test_checks import serve_guardrails

pytestmark = pytest.mark.io

PUBLIC_KEY = {"X-CopilotCloud-Public-API-Key": "ck_pub_1"}

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

        async def ask(text: str, allow: list[str], deny: list[str], **more: Any) -> Any:
            data = make_input(make_text_message(text), cloud=make_cloud_rules(allow, deny), **more)
            return await post_graphql(url, make_request_body(data), headers=PUBLIC_KEY)

        denied = await ask("Poker tonight?", [], ["poker"])
        missed = await ask("Poker tonight?", ["cooking"], [])
        fine = await ask("Cooking tonight?", ["cooking"], ["poker"])
        # What the page asks for by itself is not what a person said.
        own = await ask("Suggest", ["cooking"], [], metadata={"requestType": "Suggestion"})
        many = await ask("hi", [], ["word"] * 2501)
    assert "10000 characters of topics" in many.errors[0]["message"]
    assert get_failure(denied.response)[:2] == (FAILED, format_refusal("input", "topic"))
    assert get_failure(missed.response)[:2] == (FAILED, format_refusal("input", "off_topic"))
    assert (fine.text, own.text) == ("Yes.", "Yes.")


@pytest.mark.demand("copilotkit.public_key")
@documents
async def test_cloud_needs_the_pages_public_key(document: str) -> None:
    async with serve_copilotkit(Runtime(model=FakeModel())) as url:
        for cloud in (make_cloud_rules([], ["poker"]), {}):
            answer = await post_graphql(url, make_request_body(make_input(cloud=cloud), document))
            [error] = answer.errors
            assert "X-CopilotCloud-Public-API-Key" in error["message"]
            assert error["extensions"]["code"] == "MISSING_PUBLIC_API_KEY_ERROR"


@pytest.mark.demand("copilotkit.public_key")
@pytest.mark.parametrize("own", [None, Secret("ck_operator")])
async def test_the_validator_gets_the_pages_key_unless_it_has_one(own: Secret | None) -> None:
    async with serve_guardrails(key=own) as (cloud, check):
        guards = GuardrailPolicies(GuardrailPolicy(checks=(check,)))
        async with serve_copilotkit(Runtime(model=FakeModel(reply_text("Yes.")), guards=guards)) as url:
            body = make_request_body(make_input(cloud=make_cloud_rules([], ["poker"])))
            assert (await post_graphql(url, body, headers=PUBLIC_KEY)).text == "Yes."
    [(_, headers)] = cloud.requests
    assert headers["x-copilotcloud-public-api-key"] == (own.reveal() if own else "ck_pub_1")


@pytest.mark.demand("copilotkit.public_key")
async def test_a_key_of_this_server_is_not_handed_on() -> None:
    authenticate = Authenticator(AuthSettings(keys={"ann": Secret("sesame-7")}))
    async with serve_guardrails() as (cloud, check):
        runtime = Runtime(
            model=FakeModel(reply_text("Yes.")), guards=GuardrailPolicies(GuardrailPolicy(checks=(check,)))
        )
        async with serve_copilotkit(runtime, authenticate=authenticate) as url:
            headers = {"X-CopilotCloud-Public-API-Key": "sesame-7"}
            body = make_request_body(make_input(cloud=make_cloud_rules([], ["poker"])))
            assert (await post_graphql(url, body, headers=headers)).text == "Yes."
    [(_, sent)] = cloud.requests
    assert "sesame-7" not in str(sent)
