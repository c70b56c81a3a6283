"""What a vendor's server says becomes one of a few, and each door shows it: status, shape, words, waiting."""

import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

from rightseat import Runtime, errors
from rightseat.errors import RightseatError
from rightseat.types.chunks import ModelChunk, TextChunk
from rightseat.types.model import Prompt
from tests.faults.faces import AGUI, COPILOTKIT, OPENBB, STREAMED, WHOLE, Face, Outcome, payloads
from tests.kit.house import Lines, Script, house

pytestmark = pytest.mark.io

OPENAI = (STREAMED, WHOLE)
FACES = (*OPENAI, AGUI, COPILOTKIT, OPENBB)
SAID = "It is the vendor's turn, and what to do is to try again."

# What went wrong at a vendor's → the one class for it, and what OpenAI's and CopilotKit's clients take it as.
FEW: dict[str, tuple[type[RightseatError], int, str, str]] = {
    "authentication": (errors.UpstreamDenied, 502, "upstream_error", "AUTHENTICATION_ERROR"),
    "rate limit": (errors.UpstreamBusy, 429, "rate_limit_error", "NETWORK_ERROR"),
    "context too long": (errors.ContextTooLong, 400, "invalid_request_error", "CONFIGURATION_ERROR"),
    "content refused": (errors.ContentRefused, 400, "invalid_request_error", "UNKNOWN"),
    "overloaded": (errors.UpstreamOverloaded, 503, "upstream_error", "NETWORK_ERROR"),
    "unavailable": (errors.UpstreamRefused, 502, "upstream_error", "NETWORK_ERROR"),
    "timeout": (errors.UpstreamTimeout, 504, "upstream_error", "NETWORK_ERROR"),
    "bad request": (errors.UpstreamRejected, 502, "upstream_error", "CONFIGURATION_ERROR"),
}
FILTERED = (errors.ContentRefused, errors.GuardrailRefused, errors.OutputGuarded)


def failing(error: RightseatError, *texts: str) -> Script:
    async def line(prompt: Prompt) -> AsyncIterator[ModelChunk]:
        for text in texts:
            yield TextChunk(text)
        raise error

    return line


async def shown(face: Face, error: RightseatError, *texts: str) -> Outcome:
    async with house(Runtime(model=Lines(failing(error, *texts)))) as server:
        return await face(server.url, "hi")


def last(outcome: Outcome) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(payloads(outcome.body)[-1])
    return found


@pytest.mark.demand("models.door_writes_error_client", "models.vendor_errors_map_same")
@pytest.mark.parametrize("face", FACES, ids=lambda face: face.name)
@pytest.mark.parametrize("what", FEW)
async def test_before_anything_is_said(face: Face, what: str) -> None:
    kind, status, type_, code = FEW[what]
    wait = 7.0 if kind.status in (429, 503) else None
    outcome = await shown(face, kind(SAID, retry_after=wait))
    assert SAID.encode() in outcome.body
    assert not outcome.finished
    if face in OPENAI:
        error = json.loads(outcome.body)["error"]
        assert (outcome.status, error["type"], error["message"]) == (status, type_, SAID)
        assert error["code"] == ("content_filter" if kind in FILTERED else kind.code)
        assert outcome.headers.get("retry-after") == ("7" if wait else None)
        return
    assert (outcome.status, outcome.failures) == (200, [kind.code])
    if face is AGUI:
        assert last(outcome) == {"type": "RUN_ERROR", "message": SAID, "code": kind.code}
    elif face is COPILOTKIT:
        assert f'"code":"{code}"'.encode() in outcome.body
        assert f'"originalErrorType":"{kind.code}"'.encode() in outcome.body
        assert f'/docs/errors/{kind.code}"'.encode() in outcome.body
    else:
        assert last(outcome)["delta"] == f"{SAID} ({kind.code})"


@pytest.mark.demand("models.door_writes_error_client")
@pytest.mark.parametrize("face", FACES, ids=lambda face: face.name)
@pytest.mark.parametrize("what", FEW)
async def test_in_the_middle_of_an_answer(face: Face, what: str) -> None:
    """What was said stays; the failure comes inside the stream, where there is one."""
    kind, status, type_, _ = FEW[what]
    outcome = await shown(face, kind(SAID), "so ", "far")
    assert not outcome.finished or face is STREAMED
    if kind in FILTERED and face in OPENAI:
        assert (outcome.status, outcome.text, outcome.failures) == (200, "so far", [])
        assert b'"finish_reason":"content_filter"' in outcome.body
        return
    assert outcome.failures == [kind.code]
    if face is WHOLE:
        assert (outcome.status, json.loads(outcome.body)["error"]["type"]) == (status, type_)
        return
    assert (outcome.status, outcome.text) == (200, "so far")
    if face is STREAMED:
        told = {"message": SAID, "type": type_, "param": None, "code": kind.code}
        assert last(outcome) == {"error": told}


@pytest.mark.demand("models.door_writes_error_client")
@pytest.mark.parametrize("kind", FILTERED)
@pytest.mark.parametrize("face", OPENAI, ids=lambda face: face.name)
async def test_a_refusal_is_a_content_filters_to_openai_clients(face: Face, kind: type[RightseatError]) -> None:
    """Not a 5xx, which they would send again; the name of ours goes along."""
    outcome = await shown(face, kind(SAID))
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
