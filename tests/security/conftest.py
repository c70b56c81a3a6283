"""One running server for all of these tests: keys set, a canary in every slot that holds a secret."""

from collections.abc import AsyncIterator
from dataclasses import dataclass

import pytest_asyncio

from tests.faults.faces import FACES
from tests.kit.client import Client, Head, request
from tests.kit.server import Server
from tests.kit.upstream import Upstream

ALICE, BOB = "canary-alice-key-0001", "canary-bob-key-0002"
UPSTREAM_KEY, UPSTREAM_HEADER, UPSTREAM_QUERY = ("canary-up-key-03", "canary-up-header-04", "canary-up-query-05")
WRONG, COOKIE, QUERY = "canary-wrong-key-06", "canary-cookie-07", "canary-query-08"
CANARIES = (ALICE, BOB, UPSTREAM_KEY, UPSTREAM_HEADER, UPSTREAM_QUERY, WRONG, COOKIE, QUERY)

CONFIG = """
[server]
log_level = "debug"
environment = "development"   # the most is logged then
cors = ["https://app.example"]
hosts = ["app.example"]
header_timeout = 30
[auth.keys]
alice = "env:ALICE_KEY"
bob = "env:BOB_KEY"
[models.default]
spec = "openai:kit"
base_url = "{up}?key={query}"
api_key = "env:UPSTREAM_KEY"
tries = 1
first_token_timeout = 5
idle_timeout = 5
[models.default.headers]
X-Upstream-Secret = "env:UPSTREAM_HEADER"
"""
ENV = {"ALICE_KEY": ALICE, "BOB_KEY": BOB, "UPSTREAM_KEY": UPSTREAM_KEY, "UPSTREAM_HEADER": UPSTREAM_HEADER}


@dataclass
class Stage:
    server: Server
    upstream: Upstream

    async def raw(self, data: bytes) -> tuple[Head, bytes]:
        async with Client(self.server.url) as client:
            await client.send(data)
            return await client.head(), await client.body()

    async def ask(
        self,
        method: str,
        target: str,
        headers: dict[str, str] | None = None,
        body: bytes = b"",
        host: str = "localhost",
    ) -> tuple[Head, bytes]:
        fields = {"Connection": "close", **(headers or {})}
        async with Client(self.server.url) as client:
            await client.send(request(method, target, body, fields, host))
            head = await client.head()
            # The answer to HEAD has a length and no body.
            return head, b"" if method == "HEAD" else await client.body()

    async def works(self) -> None:
        self.upstream.reply = None
        for face in FACES:
            outcome = await face(self.server.url, "fault-ok", headers={"X-Api-Key": ALICE})
            assert (outcome.text, outcome.finished) == ("w0 w1 w2", True)


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def stage() -> AsyncIterator[Stage]:
    async with Upstream() as upstream:
        config = CONFIG.format(up=upstream.url, query=UPSTREAM_QUERY)
        async with Server(config=config, env=ENV) as server:
            yield Stage(server, upstream)
