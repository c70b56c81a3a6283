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
from tests.contract.doors.members import MEMBERS, Visit
from tests.kit.client import Client
from tests.kit.house import Lines, calls, house, says
from tests.kit.patience import STUCK

pytestmark = [pytest.mark.io, pytest.mark.parametrize("member", MEMBERS)]
LINK = re.compile(r"http://127\.0\.0\.1(/files/file_[0-9a-f]{32}/[\w.%-]+)")
DATA = bytes(range(256)) * 400
DRAWS = ("openbb-today", "agui", "copilotkit-routes", "copilotkit-single")


@tool
async def report() -> AsyncIterator[Event | Result | Pause]:
    """A report as a file, and its numbers."""
    content = {"media_type": "text/csv", "size": len(DATA), "data": base64.b64encode(DATA).decode()}
    yield Artifact("f1", "file", "Bericht 1|2.csv", content)
    yield Artifact("t1", "table", "Sales", [{"city": "Oslo", "sold": 3}, {"city": "a|b", "sold": None}])
    yield Result("done")


@pytest.fixture
def visit(member: str) -> Callable[[str], Visit]:
    return MEMBERS[member]


def got(url: str) -> tuple[bytes, dict[str, str]]:
    with urllib.request.urlopen(url, timeout=STUCK) as reply:
        return reply.read(), {name.lower(): value for name, value in reply.headers.items()}


async def asked(visit: Callable[[str], Visit], url: str) -> str:
    """All that the door answers, as it came."""
    person = visit(url)
    person.history.append({"id": "1", "role": "user", "content": "the report, please"})
    path, body = person.body()
    async with Client(url) as client:
        await client.post(path, body)
        await client.head()
        return (await client.body()).decode()


@pytest.mark.demand("openbb.text_status_updates_server", "plugins.binary_answer_becomes_downloadable")
async def test_a_file_is_led_to_by_a_link_that_needs_no_key(visit: Callable[[str], Visit], member: str) -> None:
    model = Lines(calls(("report", "{}")), says("Here."))
    async with house(Runtime(model=model, tools=[report])) as home:
        said = await asked(visit, home.url)
        [path] = set(LINK.findall(said))
        data, headers = await asyncio.to_thread(got, home.url + path)
    assert data == DATA
    assert headers["content-type"] == "text/csv"
    assert headers["content-disposition"] == "attachment; filename*=UTF-8''Bericht%201%7C2.csv"
    assert "sandbox" in headers["content-security-policy"]
    # Too large to be sent along with the news of it.
    assert base64.b64encode(DATA).decode()[:100] not in said
    assert ("| Oslo | 3 |" in said) is (member not in DRAWS)
