"""The curl lines of README and docs, pasted into a shell: with a server that needs no key, and with one that does."""

import asyncio
import json
from asyncio.subprocess import PIPE
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from tests.docs.lines import OURS, DocumentedLine, list_curls
from tests.kit.server import RightseatProcess
from tests.kit.timeouts import HANG_TIMEOUT
from tests.peers.install import CURL
from tests.peers.prerequisites import require

KEY = "a-key-of-the-tests"
HEADER = '-H "Authorization: Bearer $RIGHTSEAT_KEY"'
# They need a model that continues a text or follows a grammar; tests/docs/test_docs.py runs them with one.
LOCAL_ONLY = ('"grammar"', "/completion ", "/v1/completions")
CURLS = [line for line in list_curls() if not any(word in line.text for word in LOCAL_ONLY)]
pytestmark = [
    pytest.mark.peers,
    pytest.mark.asyncio(loop_scope="module"),
    pytest.mark.demand("first_hour.snippets_run"),
    pytest.mark.parametrize("line", CURLS, ids=lambda line: f"{line.page}-{line.text[:60]}"),
]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def open_server() -> AsyncIterator[RightseatProcess]:
    require(CURL)
    async with RightseatProcess() as running:
        yield running


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def keyed_server() -> AsyncIterator[RightseatProcess]:
    require(CURL)
    config = '[models.default]\nspec = "scripted:demo"\n[auth.keys]\nme = "env:RIGHTSEAT_KEY"\n'
    async with RightseatProcess(config=config, env={"RIGHTSEAT_KEY": KEY}) as running:
        yield running


async def paste(text: str, server: RightseatProcess) -> tuple[int, str]:
    """What the shell does with it: the status, and the body."""
    line = OURS.sub(server.url, text) + r" -w '\n%{http_code}'"
    env = {"PATH": "/usr/local/bin:/usr/bin:/bin", "RIGHTSEAT_KEY": KEY}
    process = await asyncio.create_subprocess_exec("sh", "-c", line, env=env, stdout=PIPE, stderr=PIPE)
    async with asyncio.timeout(HANG_TIMEOUT):
        out, _ = await process.communicate()
    body, _, status = out.decode().rpartition("\n")
    return int(status), body


async def test_without_keys(line: DocumentedLine, open_server: RightseatProcess) -> None:
    status, body = await paste(line.text, open_server)
    assert (status, bool(body)) == (200, True)


async def test_with_keys(line: DocumentedLine, keyed_server: RightseatProcess) -> None:
    """As pasted it is refused with what to do; with the header that the answer names it works."""
    status, body = await paste(line.text, keyed_server)
    assert status == 401
    assert "Authorization: Bearer" in json.dumps(json.loads(body))
    status, body = await paste(f"{line.text.rstrip()} {HEADER}", keyed_server)
    assert (status, bool(body)) == (200, True)
