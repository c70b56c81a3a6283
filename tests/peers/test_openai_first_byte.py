"""Client libraries over the OpenAI door while the model is silent: each skips the comment that comes before the first
event, and tells its user of an error that comes after it. The upstream answers when the comment has gone out."""

from collections.abc import AsyncIterator
from dataclasses import dataclass

import pytest
import pytest_asyncio

from tests.kit import faults
from tests.kit.connection import Connection, ReceivedRequest
from tests.kit.server import RightseatProcess
from tests.kit.upstream import FakeUpstream
from tests.peers.comment_relay import CommentRelay, start_relay
from tests.peers.library_runner import LIBRARIES, SCRIPTED_CONFIG, LibraryReport, drive_library
from tests.peers.library_upstream import GREETING_TEXT, WEATHER_CALL, WEATHER_TEXT, LibraryReply
from tests.peers.prerequisites import require

pytestmark = [
    pytest.mark.peers,
    pytest.mark.timeout(1200),
    pytest.mark.asyncio(loop_scope="module"),
    pytest.mark.demand("server.first_byte"),
]
OPENAI_CLIENTS = ("openai-py", "openai-js")
OPENAI_CASES = ("stream", "accumulated", "completion")
CONFIG = f"""
[server]
first_byte = 0.02
{SCRIPTED_CONFIG}
[models.broken]
spec = "openai:broken"
base_url = "{{base_url}}"
"""


class SilentReply(LibraryReply):
    """The library's answers, or an error of the model `broken`, once the client of a stream was sent a comment."""

    relay: CommentRelay

    async def __call__(self, connection: Connection, request: ReceivedRequest) -> None:
        await self.relay.wait_for_comment()
        broken = request.json["model"] == "broken"
        reply = faults.fail_with_status(400) if broken else self.choose_reply(request)
        await reply(connection, request)


@dataclass(frozen=True, slots=True)
class SilentServer:
    process: RightseatProcess
    upstream: FakeUpstream
    relay: CommentRelay


@dataclass(frozen=True, slots=True)
class SilentRun:
    """What a library's user saw; `comments`: how many comments it was sent."""

    report: LibraryReport
    failed: LibraryReport
    comments: int


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def silent_server() -> AsyncIterator[SilentServer]:
    async with FakeUpstream() as upstream:
        upstream.reply = reply = SilentReply()
        config = CONFIG.format(base_url=upstream.base_url)
        async with RightseatProcess(config=config) as process, start_relay(process.url) as relay:
            reply.relay = relay
            yield SilentServer(process, upstream, relay)


@pytest_asyncio.fixture(scope="module", loop_scope="module", params=[*OPENAI_CLIENTS, *LIBRARIES])
async def run(request: pytest.FixtureRequest, silent_server: SilentServer) -> SilentRun:
    name: str = request.param
    require(LIBRARIES.get(name, name))
    cases = OPENAI_CASES if name in OPENAI_CLIENTS else ("tool_stream", "stream")
    process, upstream, relay = silent_server.process, silent_server.upstream, silent_server.relay
    before = relay.comments
    report = await drive_library(name, [(case, "script") for case in cases], process, upstream, url=relay.url)
    failed = await drive_library(name, [("stream", "broken")], process, upstream, url=relay.url)
    return SilentRun(report, failed, relay.comments - before)


async def test_the_comment_before_the_first_event_is_skipped(run: SilentRun) -> None:
    texts = {case: answer.get("text") for case, answer in run.report.answers.items()}
    expected = {case: WEATHER_TEXT if case == "tool_stream" else GREETING_TEXT for case in texts}
    assert texts == expected, run.report.answers
    if "tool_stream" in texts:
        assert run.report.answers["tool_stream"]["runs"] == [WEATHER_CALL]
    # A tool loop has two requests; the failed case has one.
    assert run.comments >= len(texts) + 1


async def test_an_error_after_the_comment_reaches_the_user(run: SilentRun) -> None:
    answer = run.failed.answers["stream"]
    assert answer["error"], answer
    assert not answer.get("text")
