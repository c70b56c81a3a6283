"""Each vendor's server that breaks, and each client that leaves, by every door of the running server."""

import contextlib
import json
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from typing import Any

import pytest
import pytest_asyncio

from tests.faults.protocols import PROTOCOLS, ProtocolClient, read_until_text
from tests.kit.answers import SSE_HEADERS, UpstreamReply, answer_tokens
from tests.kit.client import RawHttpClient
from tests.kit.connection import Connection, ReceivedRequest
from tests.kit.server import RightseatProcess
from tests.kit.upstream import FakeUpstream
from tests.kit.vendors import anthropic, google, responses

pytestmark = [pytest.mark.io, pytest.mark.asyncio(loop_scope="module")]

KEY = "sk-vendors-canary"
PROMPT_CANARY = "prompt-canary"
# Takes longer than a stuck program: whoever only waits for its end is seen.
SLOW_TURN = {"say": [f"w{n} " for n in range(5000)], "pace_ms": 20}
FIRST_WORDS = ["w0", " w1", " w2"]
CONFIG = """
[models.chat]
spec = "openai:gpt-4o"
base_url = "{chat}/v1"
[models.azure]
spec = "openai:gpt-4o"
azure_endpoint = "{azure}"
[models.responses]
spec = "openai:gpt-5"
base_url = "{responses}/v1"
api = "responses"
[models.anthropic]
spec = "anthropic:claude-opus-5-5"
base_url = "{anthropic}"
[models.google]
spec = "google:gemini-3-pro"
base_url = "{google}"
"""


def answer_chat_turn(turn: dict[str, Any]) -> UpstreamReply:
    return answer_tokens(turn["say"], 1000 / turn["pace_ms"])


def encode_events(*values: dict[str, Any]) -> list[bytes]:
    return [b"event: %b\ndata: %b\n\n" % (one["type"].encode(), json.dumps(one).encode()) for one in values]


# By vendor: what says a turn slowly, and the pieces of an answer that does not end.
VENDORS: dict[str, tuple[Callable[[dict[str, Any]], UpstreamReply], list[bytes]]] = {
    "chat": (answer_chat_turn, answer_tokens(FIRST_WORDS).encode_frames()[:4]),
    "azure": (answer_chat_turn, answer_tokens(FIRST_WORDS).encode_frames()[:4]),
    "responses": (responses.answer_turn, encode_events(*responses.make_text_events(0, *FIRST_WORDS)[:5])),
    "anthropic": (
        anthropic.answer_turn,
        [anthropic.encode_message_start(), *anthropic.encode_text(0, *FIRST_WORDS)[:4]],
    ),
    "google": (
        google.answer_turn,
        [google.encode_frame(google.make_chunk(google.make_part(word))) for word in FIRST_WORDS],
    ),
}


def send_then_close(pieces: list[bytes]) -> UpstreamReply:
    async def reply(connection: Connection, _request: ReceivedRequest) -> None:
        await connection.write_head(200, SSE_HEADERS)
        for piece in pieces:
            await connection.write_chunk(piece)
        await connection.fin()

    return reply


@dataclass
class Deployment:
    server: RightseatProcess
    upstreams: dict[str, FakeUpstream]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def deployment() -> AsyncIterator[Deployment]:
    async with contextlib.AsyncExitStack() as open_:
        ups = {name: await open_.enter_async_context(FakeUpstream()) for name in VENDORS}
        config = CONFIG.format(**{name: up.origin for name, up in ups.items()})
        config = config.replace("spec =", 'api_key = "env:KIT_KEY"\ntries = 1\nspec =')
        async with RightseatProcess(config=config, env={"KIT_KEY": KEY}) as server:
            yield Deployment(server, ups)
        assert KEY not in server.stderr
        assert PROMPT_CANARY not in server.stderr
        assert "Traceback" not in server.stderr


over_vendors = pytest.mark.parametrize("vendor", VENDORS)
over_protocols = pytest.mark.parametrize("face", PROTOCOLS, ids=lambda face: face.name)


@pytest.mark.demand("models.secrets_prompts_never_messages", "models.model_contract_suite_passes")
@over_vendors
@over_protocols
async def test_a_server_that_breaks_in_the_middle(deployment: Deployment, face: ProtocolClient, vendor: str) -> None:
    deployment.upstreams[vendor].reply = send_then_close(VENDORS[vendor][1])
    outcome = await face(deployment.server.url, PROMPT_CANARY, vendor)
    assert outcome.failures == ["incomplete"]
    assert not outcome.finished
    # What was said stays, where the door had sent it.
    assert outcome.text == ("w0 w1 w2" if face.streamed else "")
    assert KEY.encode() not in outcome.body


@pytest.mark.demand("models.model_contract_suite_passes")
@over_vendors
@over_protocols
async def test_a_client_that_leaves(deployment: Deployment, face: ProtocolClient, vendor: str) -> None:
    upstream = deployment.upstreams[vendor]
    upstream.reply = VENDORS[vendor][0](SLOW_TURN)
    closed, asked = upstream.closed_count, len(upstream.requests)
    async with RawHttpClient(deployment.server.url) as client:
        await face.send(client, "hi", vendor)
        await upstream.wait_requests(asked + 1)
        if face.streamed:
            await read_until_text(client, "w1")
    await upstream.wait_closed(closed + 1)
