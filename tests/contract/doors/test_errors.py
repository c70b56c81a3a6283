"""What a vendor's server says becomes one of a few, and each door shows it: status, shape, words, waiting."""

import json
import re
from collections.abc import AsyncIterator
from typing import Any

import pytest

from rightseat import Runtime, errors
from rightseat.errors import RightseatError
from rightseat.types.chunks import ModelChunk, TextChunk
from rightseat.types.model import Prompt
from tests.faults.protocols import (
    AGUI,
    COPILOTKIT,
    OPENAI_STREAMED,
    OPENAI_WHOLE,
    OPENBB,
    Outcome,
    ProtocolClient,
    parse_payloads,
)
from tests.kit.app_server import FakeModel, ModelReply, serve_runtime

pytestmark = pytest.mark.io

OPENAI_PROTOCOLS = (OPENAI_STREAMED, OPENAI_WHOLE)
PROTOCOLS = (*OPENAI_PROTOCOLS, AGUI, COPILOTKIT, OPENBB)
MESSAGE = "It is the vendor's turn, and what to do is to try again."

# What went wrong at a vendor's → the one class for it, and what OpenAI's and CopilotKit's clients take it as.
ERROR_CASES: dict[str, tuple[type[RightseatError], int, str, str]] = {
    "authentication": (errors.UpstreamDenied, 502, "upstream_error", "AUTHENTICATION_ERROR"),
    "rate limit": (errors.UpstreamBusy, 429, "rate_limit_error", "NETWORK_ERROR"),
    "context too long": (errors.ContextTooLong, 400, "invalid_request_error", "CONFIGURATION_ERROR"),
    "content refused": (errors.ContentRefused, 400, "invalid_request_error", "UNKNOWN"),
    "overloaded": (errors.UpstreamOverloaded, 503, "upstream_error", "NETWORK_ERROR"),
    "unavailable": (errors.UpstreamRefused, 502, "upstream_error", "NETWORK_ERROR"),
    "timeout": (errors.UpstreamTimeout, 504, "upstream_error", "NETWORK_ERROR"),
    "bad request": (errors.UpstreamRejected, 502, "upstream_error", "CONFIGURATION_ERROR"),
}
FILTER_ERRORS = (errors.ContentRefused, errors.GuardrailRefused, errors.OutputGuarded)


def fail_after_texts(error: RightseatError, *texts: str) -> ModelReply:
    async def reply(prompt: Prompt) -> AsyncIterator[ModelChunk]:
        for text in texts:
            yield TextChunk(text)
        raise error

    return reply


async def ask_failing_model(face: ProtocolClient, error: RightseatError, *texts: str) -> Outcome:
    async with serve_runtime(Runtime(model=FakeModel(fail_after_texts(error, *texts)))) as server:
        return await face(server.url, "hi")


def get_openai_code(kind: type[RightseatError]) -> str:
    """The code that OpenAI's clients know; most errors have none there and keep ours."""
    return "context_length_exceeded" if kind is errors.ContextTooLong else kind.code


def parse_last_payload(outcome: Outcome) -> dict[str, Any]:
    payload: dict[str, Any] = json.loads(parse_payloads(outcome.body)[-1])
    return payload


@pytest.mark.demand("models.door_writes_error_client", "models.vendor_errors_map_same")
@pytest.mark.spread("face", "what")
@pytest.mark.parametrize("face", PROTOCOLS, ids=lambda face: face.name)
@pytest.mark.parametrize("what", ERROR_CASES)
async def test_before_anything_is_said(face: ProtocolClient, what: str) -> None:
    kind, status, type_, code = ERROR_CASES[what]
    wait = 7.0 if kind.status in (429, 503) else None
    outcome = await ask_failing_model(face, kind(MESSAGE, retry_after=wait))
    assert MESSAGE.encode() in outcome.body
    assert not outcome.finished
    if face in OPENAI_PROTOCOLS:
        error = json.loads(outcome.body)["error"]
        assert (outcome.status, error["type"], error["message"]) == (status, type_, MESSAGE)
        assert error["code"] == ("content_filter" if kind in FILTER_ERRORS else get_openai_code(kind))
        assert outcome.headers.get("retry-after") == ("7" if wait else None)
        return
    assert (outcome.status, outcome.failures) == (200, [kind.code])
    if face is AGUI:
        assert parse_last_payload(outcome) == {"type": "RUN_ERROR", "message": MESSAGE, "code": kind.code}
    elif face is COPILOTKIT:
        assert f'"code":"{code}"'.encode() in outcome.body
        assert f'"originalErrorType":"{kind.code}"'.encode() in outcome.body
        assert f'/docs/errors/{kind.code}"'.encode() in outcome.body
    else:
        # This door adds instructions, so that a conversation that is too long has a largest part.
        assert re.fullmatch(rf"{MESSAGE}.* \({kind.code}\)", parse_last_payload(outcome)["delta"])


@pytest.mark.demand("models.door_writes_error_client")
@pytest.mark.spread("face", "what")
@pytest.mark.parametrize("face", PROTOCOLS, ids=lambda face: face.name)
@pytest.mark.parametrize("what", ERROR_CASES)
async def test_in_the_middle_of_an_answer(face: ProtocolClient, what: str) -> None:
    """What was said stays; the failure comes inside the stream, where there is one."""
    kind, status, type_, _ = ERROR_CASES[what]
    outcome = await ask_failing_model(face, kind(MESSAGE), "so ", "far")
    assert not outcome.finished or face is OPENAI_STREAMED
    if kind in FILTER_ERRORS and face in OPENAI_PROTOCOLS:
        assert (outcome.status, outcome.text, outcome.failures) == (200, "so far", [])
        assert b'"finish_reason":"content_filter"' in outcome.body
        return
    assert outcome.failures == [get_openai_code(kind) if face in OPENAI_PROTOCOLS else kind.code]
    if face is OPENAI_WHOLE:
        assert (outcome.status, json.loads(outcome.body)["error"]["type"]) == (status, type_)
        return
    assert (outcome.status, outcome.text) == (200, "so far")
    if face is OPENAI_STREAMED:
        told = {"message": MESSAGE, "type": type_, "param": None, "code": get_openai_code(kind)}
        payload = parse_last_payload(outcome)
        assert payload["error"].pop("doc_url").endswith(kind.link())
        assert payload == {"error": told}


@pytest.mark.demand("models.door_writes_error_client")
@pytest.mark.parametrize("kind", FILTER_ERRORS)
@pytest.mark.parametrize("face", OPENAI_PROTOCOLS, ids=lambda face: face.name)
async def test_a_refusal_is_a_content_filters_to_openai_clients(
    face: ProtocolClient, kind: type[RightseatError]
) -> None:
    """Not a 5xx, which they would send again; the name of ours goes along."""
    outcome = await ask_failing_model(face, kind(MESSAGE))
    error = json.loads(outcome.body)["error"]
    assert (outcome.status, error["code"], error["innererror"]) == (400, "content_filter", {"code": kind.code})


@pytest.mark.demand("models.seed_tree_copilotkiterror_lowlevel")
def test_every_error_says_what_to_do_and_how_it_is_shown() -> None:
    for code, kind in errors.errors_by_code().items():
        assert kind.code == code
        assert kind.hint.endswith(".")
        assert (kind.visibility, kind.severity) != ("silent", "critical")
        assert kind.link() == f"/docs/errors/{code}"
    assert len({kind.hint for kind in errors.errors_by_code().values()}) == len(errors.errors_by_code())
