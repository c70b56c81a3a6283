"""A file and a table that a tool brings, through every door: shown, or said in words and a link."""

import asyncio
import base64
import json
import re
import urllib.request
from collections.abc import AsyncIterator, Callable

import pytest

from rightseat import Artifact, Event, Result, Runtime, tool
from rightseat.types.events import RunFinished, text_events
from rightseat.types.tools import Pause
from rightseat.types.turn import Turn
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


OPTION = {
    "xAxis": {"type": "category", "name": "month", "data": ["May", "June"]},
    "yAxis": {},
    "series": [{"type": "line", "name": "sales", "data": [12, 31]}],
}
HEATMAP = {
    "xAxis": {"name": "day", "data": ["Mon", "Tue"]},
    "yAxis": {"name": "hour", "data": ["9", "10"]},
    "series": [{"type": "heatmap", "name": "load", "data": [[0, 1, 55], [1, 0, 66]]}],
}
LONG_TABLE = [{"n": number} for number in range(30)]
ARTIFACTS = {
    "line": Artifact("c1", "chart", "Sales by month", OPTION, "Sales of the shop"),
    "heatmap": Artifact("c2", "chart", "Load", HEATMAP),
    "broken": Artifact("c3", "chart", "Odd", {"nothing": "drawable"}),
    "html": Artifact("h1", "html", "Summary", "<h1>Quarter</h1><p>Up by 3</p>"),
    "long": Artifact("t1", "table", "Numbers", LONG_TABLE),
    "text": Artifact("x1", "text", "Note", "All is well."),
}


@tool
async def show(which: str) -> AsyncIterator[Event | Result | Pause]:
    """Show one of the things."""
    yield ARTIFACTS[which]
    yield Result("It is shown.")


async def emit_line(turn: Turn) -> AsyncIterator[Event]:
    yield ARTIFACTS["line"]
    for event in text_events("m1", "There."):
        yield event
    yield RunFinished("stop")


# What this client does not draw, and a part of what its person gets instead.
INSTEAD = {"line": "| June | 31 |", "heatmap": "| Mon | 10 | 55 |", "html": "/Summary.html)", "long": "(20 of 30 rows)"}


@pytest.mark.demand("openbb.charts_not_drawn_are_tables")
@pytest.mark.spread("member", "which")
@pytest.mark.parametrize("which", ARTIFACTS)
async def test_the_model_is_told_what_the_person_got(
    make_client: Callable[[str], DoorClient], member: str, which: str
) -> None:
    model = FakeModel(reply_calls(("show", json.dumps({"which": which}))), reply_text("There."))
    async with serve_runtime(Runtime(model=model, tools=[show])) as home:
        said = await ask_for_report(make_client, home.url)
    [result] = [message.text for message in model.prompts[1].messages if message.role == "tool"]
    assert result.startswith("It is shown.")
    drawn = member in DRAWING_MEMBERS and not (member == "openbb-today" and which in ("heatmap", "broken"))
    if drawn or which == "text":
        assert result == "It is shown."
        return
    name = ARTIFACTS[which].name
    if which == "broken":
        assert f"({name} could not be shown.)" in said
        assert f"{name} was not shown" in result
    elif member == "openbb-today":
        assert '"type":"table"' in said
        assert '{"day":"Mon","hour":"10","load":55}' in said
        assert "sees its numbers as a table" in result
    else:
        assert INSTEAD[which] in said
        told = {"html": "as a link to a file", "long": "the first 20 of 30 rows"}
        assert told.get(which, "sees its numbers as a table") in result


@pytest.mark.demand("openbb.charts_not_drawn_are_tables")
async def test_a_chart_of_an_agent_is_a_table_where_nothing_draws(
    make_client: Callable[[str], DoorClient], member: str
) -> None:
    async with serve_runtime(Runtime(agents={"default": emit_line})) as home:
        said = await ask_for_report(make_client, home.url)
    assert ("| June | 31 |" in said) is (member not in DRAWING_MEMBERS)
    assert said.count("Sales of the shop") == 1
