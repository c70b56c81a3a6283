"""Ours in the clients' words: each code with the status, the place and the weight that it has in 1.10.6."""

from collections.abc import AsyncIterator

import pytest

from rightseat import Runtime, errors
from rightseat.doors.copilotkit.failures import (
    CLASS_NAMES,
    CODE_STATUS,
    get_client_code,
    make_error_details,
    make_extensions,
)
from rightseat.errors import RightseatError
from rightseat.runtime.runs import to_run_failed
from rightseat.types.events import Event, RunFailed
from rightseat.types.turn import Turn
from tests.kit.app_server import FakeModel, reply_text
from tests.kit.cases import each_case
from tests.unit.doors.copilotkit.client import make_input, make_request_body, post_graphql, serve_copilotkit

# As the clients' own table has them: status, visibility, severity.
CLIENTS = {
    "NETWORK_ERROR": (503, "banner", "critical"),
    "NOT_FOUND": (404, "banner", "critical"),
    "AGENT_NOT_FOUND": (500, "banner", "critical"),
    "API_NOT_FOUND": (404, "banner", "critical"),
    "REMOTE_ENDPOINT_NOT_FOUND": (404, "banner", "critical"),
    "AUTHENTICATION_ERROR": (401, "banner", "critical"),
    "MISUSE": (400, "dev_only", "warning"),
    "CONFIGURATION_ERROR": (400, "banner", "warning"),
    "MISSING_PUBLIC_API_KEY_ERROR": (400, "banner", "critical"),
}
# How the seed's five are called here.
SEED: dict[type[RightseatError], str] = {
    errors.RightseatError: "UNKNOWN",
    errors.UpstreamRefused: "NETWORK_ERROR",
    errors.NotFound: "API_NOT_FOUND",
    errors.DiscoveryFailed: "REMOTE_ENDPOINT_NOT_FOUND",
    errors.AgentNotFound: "AGENT_NOT_FOUND",
    errors.Misused: "MISUSE",
}


def make_error(kind: type[RightseatError]) -> RightseatError:
    return kind("Words.", allow="POST") if issubclass(kind, errors.MethodNotAllowed) else kind("Words.")


@pytest.mark.demand("models.seed_tree_copilotkiterror_lowlevel")
@each_case("kind", errors.errors_by_code().values())
def test_every_error_is_one_of_theirs(kind: type[RightseatError]) -> None:
    told = make_extensions(make_error(kind))
    assert told["name"] == CLASS_NAMES.get(told["code"], "CopilotKitError")
    assert told["originalErrorType"] == kind.code
    assert told["originalError"] == {"message": "Words."}
    if told["code"] == "UNKNOWN":
        assert (told["statusCode"], told["visibility"]) == (500, "toast")
    else:
        assert (told["statusCode"], told["visibility"], told["severity"]) == CLIENTS[told["code"]]


@pytest.mark.demand("models.seed_tree_copilotkiterror_lowlevel")
@each_case(("kind", "code"), SEED.items())
def test_the_seeds_tree(kind: type[RightseatError], code: str) -> None:
    assert get_client_code(make_error(kind)) == code
    assert code in CODE_STATUS


def test_a_thing_that_is_named_and_not_there_is_no_wrong_path() -> None:
    assert get_client_code(errors.NotFound("No.", param="model")) == "NOT_FOUND"
    assert get_client_code(errors.NotFound("No.", param="agentName")) == "AGENT_NOT_FOUND"
    assert get_client_code(to_run_failed(errors.NotFound("No."))) == "NOT_FOUND"


@pytest.mark.parametrize(
    ("fault", "code"), [("caller", "CONFIGURATION_ERROR"), ("upstream", "NETWORK_ERROR"), ("ours", "UNKNOWN")]
)
def test_a_code_of_somebody_else(fault: errors.Fault, code: str) -> None:
    told = make_error_details(RunFailed("their_code", "Words.", 500, fault))
    original = told["originalError"]
    assert (told["description"], original["code"], original["originalErrorType"]) == ("Words.", code, "their_code")
    assert original["extensions"]["troubleshootingUrl"] is None


@pytest.mark.io
async def test_an_error_links_to_its_page() -> None:
    async with serve_copilotkit(Runtime(model=FakeModel(reply_text("x")))) as url:
        answer = await post_graphql(url, make_request_body(make_input(agentSession={"agentName": "zzz"})))
    [error] = answer.errors
    assert error["extensions"]["troubleshootingUrl"] == "http://127.0.0.1/docs/errors/agent_not_found"


async def raise_misused(turn: Turn) -> AsyncIterator[Event]:
    raise errors.Misused("There is no model here, only agents. Name one.")
    yield


@pytest.mark.demand("models.door_writes_error_client")
@pytest.mark.io
async def test_misuse_is_as_recorded() -> None:
    async with serve_copilotkit(Runtime(agents={"default": raise_misused})) as url:
        answer = await post_graphql(url, make_request_body(make_input()))
    original = answer.response["status"]["details"]["originalError"]
    assert (original["code"], original["statusCode"]) == ("MISUSE", 400)
    assert (original["visibility"], original["severity"]) == ("dev_only", "warning")
