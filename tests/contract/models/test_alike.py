"""What goes wrong at any vendor's server is the same few errors, and a picture reaches each of them."""

import base64
from collections.abc import Callable
from typing import Any, cast

import pytest

from rightseat import errors
from rightseat.errors import RightseatError
from rightseat.models.anthropic import model as make_anthropic
from rightseat.models.google import model as make_google
from rightseat.models.openai import model as make_openai
from rightseat.types.messages import ImageMessagePart, Message, TextMessagePart
from rightseat.types.model import Prompt
from rightseat.types.streams import closing
from tests.contract.models.test_moving import TEXT_TURN, VENDORS
from tests.kit import faults
from tests.kit.answers import UpstreamReply
from tests.kit.upstream import FakeUpstream
from tests.kit.vendors import anthropic, google

pytestmark = pytest.mark.io

STATUSES: list[tuple[int, type[RightseatError]]] = [
    (400, errors.UpstreamRejected),
    (401, errors.UpstreamDenied),
    (403, errors.UpstreamDenied),
    (404, errors.UpstreamRejected),
    (429, errors.UpstreamBusy),
    (500, errors.UpstreamError),
    (503, errors.UpstreamOverloaded),
    (504, errors.UpstreamTimeout),
]


def fail_google(status: int) -> google.GoogleErrorReply:
    return google.GoogleErrorReply(status, google.make_error_body(status))


SERVERS: dict[str, tuple[Callable[[FakeUpstream], Any], Callable[[int], UpstreamReply]]] = {
    "openai": (lambda up: make_openai("m", {"base_url": up.base_url, "tries": 1}), faults.fail_with_status),
    "openai by responses": (
        lambda up: make_openai("m", {"base_url": up.base_url, "tries": 1, "api": "responses"}),
        faults.fail_with_status,
    ),
    "anthropic": (
        lambda up: make_anthropic("claude-opus-5-5", {"base_url": up.origin, "tries": 1}),
        anthropic.fail_with_status,
    ),
    "google": (lambda up: make_google("gemini-kit", {"base_url": up.origin, "api_key": "k", "tries": 1}), fail_google),
}
over_servers = pytest.mark.parametrize("name", SERVERS)


@pytest.mark.demand("models.model_contract_suite_passes")
@over_servers
@pytest.mark.parametrize(("status", "kind"), STATUSES)
async def test_a_status_is_the_same_error_at_every_vendor(name: str, status: int, kind: type[RightseatError]) -> None:
    make, refused = SERVERS[name]
    async with FakeUpstream() as upstream:
        upstream.reply = refused(status)
        model = make(upstream)
        try:
            with pytest.raises(RightseatError) as caught:
                async with closing(
                    model.stream(Prompt(messages=(Message("user", (TextMessagePart("secret"),)),)))
                ) as found:
                    await anext(found)
        finally:
            await model.close()
    assert type(caught.value) is kind
    # The words are ours: neither the server's nor the prompt's.
    assert faults.CANARY not in caught.value.message
    assert "secret" not in caught.value.message


@pytest.mark.demand("models.model_contract_suite_passes")
@over_servers
async def test_nobody_there_is_the_same_error_too(name: str) -> None:
    async with FakeUpstream() as upstream:
        model = SERVERS[name][0](upstream)
    try:
        with pytest.raises(errors.UpstreamRefused):
            async with closing(model.stream(Prompt(messages=(Message("user", (TextMessagePart("hi"),)),)))) as found:
                await anext(found)
    finally:
        await model.close()


@pytest.mark.demand("models.model_contract_suite_passes")
@over_servers
def test_what_is_no_address_is_said_so(name: str) -> None:
    class Nowhere:
        base_url = origin = "http://[::1"

    with pytest.raises(errors.ConfigError, match="base_url is not an address"):
        SERVERS[name][0](cast(FakeUpstream, Nowhere()))


PIXEL = (
    b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x01\x00\x00\x00\x01\x08\x06\x00\x00\x00\x1f\x15\xc4\x89"
    b"\x00\x00\x00\rIDATx\x9cc\xf8\xcf\xc0\xf0\x1f\x00\x05\x00\x01\xff\x56\xc7\x2f\x0d\x00\x00\x00\x00IEND\xaeB`\x82"
)


@pytest.mark.demand("models.model_contract_suite_passes")
@pytest.mark.parametrize("name", VENDORS)
async def test_a_picture_is_taken_by_each(name: str) -> None:
    url = "data:image/png;base64," + base64.b64encode(PIXEL).decode()
    ask = Message("user", (TextMessagePart("What is this?"), ImageMessagePart(url)))
    async with VENDORS[name](TEXT_TURN) as model, closing(model.stream(Prompt(messages=(ask,)))) as found:
        said = [getattr(fragment, "text", "") async for fragment in found]
    assert "".join(said) == "Done."
