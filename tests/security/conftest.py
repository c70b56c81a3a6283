"""One running server for all of these tests: keys set, a canary in every slot that holds a secret."""

from collections.abc import AsyncIterator
from dataclasses import dataclass

import pytest_asyncio

from tests.faults.protocols import PROTOCOLS
from tests.kit.client import RawHttpClient, ResponseHead, build_raw_request
from tests.kit.server import RightseatProcess
from tests.kit.upstream import FakeUpstream

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
class Deployment:
    server: RightseatProcess
    upstream: FakeUpstream

    async def send_raw(self, data: bytes) -> tuple[ResponseHead, bytes]:
        async with RawHttpClient(self.server.url) as client:
            await client.send(data)
            return await client.read_head(), await client.read_body()

    async def send_request(
        self,
        method: str,
        target: str,
        headers: dict[str, str] | None = None,
        body: bytes = b"",
        host: str = "localhost",
    ) -> tuple[ResponseHead, bytes]:
        fields = {"Connection": "close", **(headers or {})}
        async with RawHttpClient(self.server.url) as client:
            await client.send(build_raw_request(method, target, body, fields, host))
            head = await client.read_head()
            # The answer to HEAD has a length and no body.
            return head, b"" if method == "HEAD" else await client.read_body()

    async def assert_works(self) -> None:
        self.upstream.reply = None
        for face in PROTOCOLS:
            outcome = await face(self.server.url, "fault-ok", headers={"X-Api-Key": ALICE})
            assert (outcome.text, outcome.finished) == ("w0 w1 w2", True)


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def deployment() -> AsyncIterator[Deployment]:
    async with FakeUpstream() as upstream:
        config = CONFIG.format(up=upstream.base_url, query=UPSTREAM_QUERY)
        async with RightseatProcess(config=config, env=ENV) as server:
            yield Deployment(server, upstream)
