"""Client libraries over the OpenAI door: each does a tool loop, a stream and a structured answer with a scripted
upstream, whose words are known, and with the embedded model, whose answers have at least the right form.

The programs are NAME/library*; what they share is library_program.py.
"""

from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass

import pytest
import pytest_asyncio

from rightseat.models.llamacpp import weights
from tests.kit.chunks import Json
from tests.kit.server import RightseatProcess
from tests.kit.upstream import FakeUpstream
from tests.peers.library_runner import LIBRARIES, SCRIPTED_CONFIG, LibraryReport, drive_library
from tests.peers.library_upstream import FIRST_PIECE, GREETING_TEXT, PERSON, WEATHER_CALL, WEATHER_TEXT, LibraryReply
from tests.peers.prerequisites import require

pytestmark = [pytest.mark.peers, pytest.mark.timeout(1200), pytest.mark.asyncio(loop_scope="module")]
RecordDriven = Callable[[str, str], None]
SCRIPTED_CASES = (
    ("tool", "script"),
    ("tool_stream", "script"),
    ("stream", "script"),
    ("structured", "script"),
    ("cut", "cut"),
    ("cut_stream", "cut"),
)
EMBEDDED_CASES = (("tool", "default"), ("stream", "default"), ("structured", "default"))
# One answer of the embedded model takes seconds, and an agent asks for several.
EMBEDDED_TIMEOUT = 600.0
# By a call and by a schema.
BOTH_WAYS = ("instructor", "llama-index", "pydantic-ai")
SENT_FIELDS: dict[str, Json] = {
    "openai-agents": {"parallel_tool_calls": True},
    "pydantic-ai": {"parallel_tool_calls": True, "user": "ada"},
    "autogen": {"parallel_tool_calls": True},
    "ai-sdk": {"user": "ada", "reasoning_effort": "low"},
}
"""Fields of a library's requests that the model's server must get."""

RUN_NOTHING = {("instructor", "cut"), ("ai-sdk", "cut"), ("ai-sdk", "cut_stream")}
"""Where a library runs no call of an answer with the finish reason `length`."""


@dataclass(frozen=True, slots=True)
class ScriptedServer:
    process: RightseatProcess
    upstream: FakeUpstream


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def scripted_server() -> AsyncIterator[ScriptedServer]:
    async with FakeUpstream() as upstream:
        upstream.reply = LibraryReply()
        async with RightseatProcess(config=SCRIPTED_CONFIG.format(base_url=upstream.base_url)) as process:
            yield ScriptedServer(process, upstream)


@pytest_asyncio.fixture(scope="module", loop_scope="module", params=LIBRARIES)
async def report(
    request: pytest.FixtureRequest, scripted_server: ScriptedServer, record_driven: RecordDriven
) -> LibraryReport:
    require(LIBRARIES[request.param])
    seen = await drive_library(request.param, SCRIPTED_CASES, scripted_server.process, scripted_server.upstream)
    record_driven(seen.name, seen.version)
    return seen


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def embedded_server() -> AsyncIterator[RightseatProcess]:
    env = {"RIGHTSEAT_CACHE": str(weights.cache_folder()), "RIGHTSEAT_MODEL": ""}
    async with RightseatProcess(env=env, start_timeout=120) as process:
        yield process


@pytest_asyncio.fixture(scope="module", loop_scope="module", params=LIBRARIES)
async def embedded_report(request: pytest.FixtureRequest, embedded_server: RightseatProcess) -> LibraryReport:
    require(LIBRARIES[request.param])
    return await drive_library(request.param, EMBEDDED_CASES, embedded_server, reply_timeout=EMBEDDED_TIMEOUT)


@pytest.mark.demand("openai.client_libraries_scripted")
@pytest.mark.parametrize("case", ["tool", "tool_stream"])
async def test_a_tool_loop(report: LibraryReport, case: str) -> None:
    answer = report.answers[case]
    assert (answer["runs"], answer["text"]) == ([WEATHER_CALL], WEATHER_TEXT), answer
    # The call, and the answer from its result.
    assert len(report.requests[case]) == 2


@pytest.mark.demand("openai.client_libraries_scripted")
async def test_a_stream(report: LibraryReport) -> None:
    answer = report.answers["stream"]
    assert ("".join(answer["pieces"]), answer["text"]) == (GREETING_TEXT, GREETING_TEXT), answer
    assert len(report.requests["stream"]) == 1
    # Instructor streams a call, which the server holds until it is whole.
    if report.name != "instructor":
        assert answer["pieces"][0] == FIRST_PIECE, "the other pieces were held until the first was there"


@pytest.mark.demand("openai.client_libraries_scripted")
async def test_a_structured_answer(report: LibraryReport) -> None:
    answer = report.answers["structured"]
    assert answer.get("people") == [PERSON] * (2 if report.name in BOTH_WAYS else 1), answer


@pytest.mark.demand("openai.client_libraries_scripted")
async def test_fields_that_reach_the_model(report: LibraryReport) -> None:
    expected = SENT_FIELDS.get(report.name, {})
    for sent in report.requests["tool"]:
        assert expected.items() <= sent.items()


@pytest.mark.demand("openai.client_libraries_run_no_cut_call")
@pytest.mark.parametrize("case", ["cut", "cut_stream"])
async def test_a_cut_call_is_not_run(report: LibraryReport, case: str) -> None:
    """The call before it is whole, and most libraries run that one although the answer was cut."""
    runs = [] if (report.name, case) in RUN_NOTHING else [WEATHER_CALL]
    assert report.answers[case]["runs"] == runs, report.answers[case]


@pytest.mark.model
@pytest.mark.demand("openai.client_libraries_embedded")
async def test_a_tool_loop_with_the_embedded_model(embedded_report: LibraryReport) -> None:
    """A model as small as this may call again what it has called; the city it keeps."""
    answer = embedded_report.answers["tool"]
    assert answer["runs"], answer
    assert all(run == WEATHER_CALL for run in answer["runs"])
    assert answer.get("text"), answer


@pytest.mark.model
@pytest.mark.demand("openai.client_libraries_embedded")
async def test_a_stream_of_the_embedded_model(embedded_report: LibraryReport) -> None:
    answer = embedded_report.answers["stream"]
    assert answer.get("text"), answer
    assert "".join(answer["pieces"]) == answer["text"]


@pytest.mark.model
@pytest.mark.demand("openai.client_libraries_embedded")
async def test_a_structured_answer_of_the_embedded_model(embedded_report: LibraryReport) -> None:
    people = embedded_report.answers["structured"].get("people")
    assert people, embedded_report.answers["structured"]
    assert {(type(person["name"]), type(person["age"])) for person in people} == {(str, int)}
