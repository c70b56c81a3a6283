"""Each vendor's server that breaks, and each client that leaves, by every door of the running server."""

import contextlib
import json
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from typing import Any

import pytest
import pytest_asyncio

from tests.faults.faces import FACES, Face, spoken
from tests.kit.answers import SSE, Reply, say
from tests.kit.client import Client
from tests.kit.connection import Connection, Received
from tests.kit.server import Server
from tests.kit.upstream import Upstream
from tests.kit.vendors import anthropic, google, responses

pytestmark = [pytest.mark.io, pytest.mark.asyncio(loop_scope="module")]

KEY = "sk-vendors-canary"
ASKED = "prompt-canary"
# Takes longer than a stuck program: whoever only waits for its end is seen.
SLOW = {"say": [f"w{n} " for n in range(5000)], "pace_ms": 20}
HALF = ["w0", " w1", " w2"]
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


def chat(turn: dict[str, Any]) -> Reply:
    return say(turn["say"], 1000 / turn["pace_ms"])


def events(*found: dict[str, Any]) -> list[bytes]:
    return [b"event: %b\ndata: %b\n\n" % (one["type"].encode(), json.dumps(one).encode()) for one in found]


# By vendor: what says a turn slowly, and the pieces of an answer that does not end.
VENDORS: dict[str, tuple[Callable[[dict[str, Any]], Reply], list[bytes]]] = {
    "chat": (chat, say(HALF).frames()[:4]),
    "azure": (chat, say(HALF).frames()[:4]),
    "responses": (responses.of_turn, events(*responses.text(0, *HALF)[:5])),
    "anthropic": (anthropic.of_turn, [anthropic.opening(), *anthropic.text(0, *HALF)[:4]]),
    "google": (google.of_turn, [google.frame(google.chunk(google.part(word))) for word in HALF]),
}


def breaks(pieces: list[bytes]) -> Reply:
    async def reply(connection: Connection, _request: Received) -> None:
        await connection.head(200, SSE)
        for piece in pieces:
            await connection.chunk(piece)
        await connection.fin()

    return reply


@dataclass
class Stage:
    server: Server
    upstreams: dict[str, Upstream]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def stage() -> AsyncIterator[Stage]:
    async with contextlib.AsyncExitStack() as open_:
        ups = {name: await open_.enter_async_context(Upstream()) for name in VENDORS}
        config = CONFIG.format(**{name: up.origin for name, up in ups.items()})
        config = config.replace("spec =", 'api_key = "env:KIT_KEY"\ntries = 1\nspec =')
        async with Server(config=config, env={"KIT_KEY": KEY}) as server:
            yield Stage(server, ups)
        assert KEY not in server.stderr
        assert ASKED not in server.stderr
        assert "Traceback" not in server.stderr


over_vendors = pytest.mark.parametrize("vendor", VENDORS)
over_faces = pytest.mark.parametrize("face", FACES, ids=lambda face: face.name)


@pytest.mark.demand("models.secrets_prompts_never_messages", "models.model_contract_suite_passes")
@over_vendors
@over_faces
async def test_a_server_that_breaks_in_the_middle(stage: Stage, face: Face, vendor: str) -> None:
    stage.upstreams[vendor].reply = breaks(VENDORS[vendor][1])
    outcome = await face(stage.server.url, ASKED, vendor)
    assert outcome.failures == ["incomplete"]
    assert not outcome.finished
    # What was said stays, where the door had sent it.
    assert outcome.text == ("w0 w1 w2" if face.streamed else "")
    assert KEY.encode() not in outcome.body


@pytest.mark.demand("models.model_contract_suite_passes")
@over_vendors
@over_faces
async def test_a_client_that_leaves(stage: Stage, face: Face, vendor: str) -> None:
    upstream = stage.upstreams[vendor]
    upstream.reply = VENDORS[vendor][0](SLOW)
    closed, asked = upstream.closed, len(upstream.requests)
    async with Client(stage.server.url) as client:
        await face.send(client, "hi", vendor)
        await upstream.received(asked + 1)
        if face.streamed:
            await spoken(client, "w1")
    await upstream.all_closed(closed + 1)
