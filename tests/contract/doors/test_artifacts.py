"""A file and a table that a tool brings, through every door: shown, or said in words and a link."""

import asyncio
import base64
import re
import urllib.request
from collections.abc import AsyncIterator, Callable

import pytest

from rightseat import Result, Runtime, tool
from rightseat.types.events import Artifact, Event
from rightseat.types.tools import Pause
from tests.contract.doors.members import MEMBERS, DoorClient
from tests.kit.app_server import FakeModel, reply_calls, reply_text, serve_runtime
from tests.kit.client import RawHttpClient
from tests.kit.timeouts import HANG_TIMEOUT

pytestmark = [pytest.mark.io, pytest.mark.parametrize("member", MEMBERS)]
LINK = re.compile(r"http://127\.0\.0\.1(/files/file_[0-9a-f]{32}/[\w.%-]+)")
DATA = bytes(range(256)) * 400
DRAWING_MEMBERS = ("openbb-today", "agui", "copilotkit-routes", "copilotkit-single")


@tool
async def report() -> AsyncIterator[Event | Result | Pause]:
    """A report as a file, and its numbers."""
    content = {"media_type": "text/csv", "size": len(DATA), "data": base64.b64encode(DATA).decode()}
    yield Artifact("f1", "file", "Bericht 1|2.csv", content)
    yield Artifact("t1", "table", "Sales", [{"city": "Oslo", "sold": 3}, {"city": "a|b", "sold": None}])
    yield Result("done")


@pytest.fixture
def make_client(member: str) -> Callable[[str], DoorClient]:
    return MEMBERS[member]


def download(url: str) -> tuple[bytes, dict[str, str]]:
    with urllib.request.urlopen(url, timeout=HANG_TIMEOUT) as reply:
        return reply.read(), {name.lower(): value for name, value in reply.headers.items()}


async def ask_for_report(make_client: Callable[[str], DoorClient], url: str) -> str:
    """All that the door answers, as it came."""
    door_client = make_client(url)
    door_client.history.append({"id": "1", "role": "user", "content": "the report, please"})
    path, body = door_client.build_request()
    async with RawHttpClient(url) as client:
        await client.post_json(path, body)
        await client.read_head()
        return (await client.read_body()).decode()


@pytest.mark.demand("openbb.text_status_updates_server", "plugins.binary_answer_becomes_downloadable")
async def test_a_file_is_led_to_by_a_link_that_needs_no_key(
    make_client: Callable[[str], DoorClient], member: str
) -> None:
    model = FakeModel(reply_calls(("report", "{}")), reply_text("Here."))
    async with serve_runtime(Runtime(model=model, tools=[report])) as home:
        said = await ask_for_report(make_client, home.url)
        [path] = set(LINK.findall(said))
        data, headers = await asyncio.to_thread(download, home.url + path)
    assert data == DATA
    assert headers["content-type"] == "text/csv"
    assert headers["content-disposition"] == "attachment; filename*=UTF-8''Bericht%201%7C2.csv"
    assert "sandbox" in headers["content-security-policy"]
    # Too large to be sent along with the news of it.
    assert base64.b64encode(DATA).decode()[:100] not in said
    assert ("| Oslo | 3 |" in said) is (member not in DRAWING_MEMBERS)
