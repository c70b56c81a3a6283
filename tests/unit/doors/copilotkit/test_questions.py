"""A question in both dialects: as the run's outcome, and as the event of clients that know no outcome."""

from typing import Any

import pytest

from rightseat import Runtime, ToolContext, tool
from tests.kit.client import Client, Frame
from tests.kit.house import House, Lines, calls, house, says
from tests.unit.doors.copilotkit.agui import given, kinds, played, text_of

pytestmark = pytest.mark.io

PAGE = [{"name": "locate", "description": "", "parameters": {"type": "object"}}]
ways = pytest.mark.parametrize("way", ["/agui/default", "/copilotkit/agent/default/run"])


@tool
def greet(ctx: ToolContext) -> str:
    """Greet."""
    return f"Hello {ctx.ask('Your name?')}"


async def run(server: House, way: str, body: dict[str, Any]) -> list[Frame]:
    async with Client(server.url) as client:
        await client.post(way, body)
        assert (await client.head()).status == 200
        return [frame async for frame in client.frames() if frame.data]


def older(frames: list[Frame]) -> list[Any]:
    return [frame.json["value"] for frame in frames if frame.json.get("name") == "on_interrupt"]


@pytest.mark.demand("copilotkit.single_endpoint_rest_routes")
@ways
async def test_the_question_is_said_in_both(way: str) -> None:
    async with house(Runtime(model=Lines(calls(("greet", "{}"))), tools=[greet])) as server:
        frames = await run(server, way, given("hi"))
    assert kinds(frames)[-2:] == ["CUSTOM", "RUN_FINISHED"]
    assert older(frames) == frames[-1].json["outcome"]["interrupts"]
    assert (older(frames)[0]["message"], older(frames)[0]["reason"]) == ("Your name?", "input_required")


@pytest.mark.demand("copilotkit.single_endpoint_rest_routes")
@ways
@pytest.mark.parametrize("version", ["", "1.0"])
async def test_beside_a_call_of_the_page_it_waits(way: str, version: str) -> None:
    """Such a client posts the call's result at once, and would be asked twice. One that knows outcomes but
    not 1.0 does not even post it as long as a question is open."""
    model = Lines(calls(("locate", "{}"), ("greet", "{}")))
    async with house(Runtime(model=model, tools=[greet])) as server:
        frames = await run(server, way, given("hi", tools=PAGE, protocolVersion=version))
    assert older(frames) == []
    assert len(frames[-1].json["outcome"].get("interrupts", ())) == (1 if version else 0)


@pytest.mark.demand("copilotkit.single_endpoint_rest_routes")
async def test_an_answer_without_a_name_is_for_the_one_that_was_shown() -> None:
    """One click must never allow two things."""
    done: list[str] = []

    @tool(confirm=True)
    def book(seat: str) -> str:
        """Book."""
        done.append(seat)
        return seat

    model = Lines(calls(("book", '{"seat":"1"}'), ("book", '{"seat":"2"}')), says("Done."))
    async with house(Runtime(model=model, tools=[book])) as server:
        (first,) = older(await played(server, "run", given("hi", run="r1")))
        resume = {"command": {"resume": {"approved": True}}}
        (second,) = older(await played(server, "run", given(run="r2", forwardedProps=resume)))
        assert done == ["1"]
        assert (first["message"], second["message"]) == (
            'Allow book with {"seat":"1"}?',
            'Allow book with {"seat":"2"}?',
        )
        resume = {"command": {"resume": {"approved": False}}}
        frames = await played(server, "run", given(run="r3", forwardedProps=resume))
    assert text_of(frames) == "Done."
    assert done == ["1"]


@pytest.mark.demand("copilotkit.single_endpoint_rest_routes")
@pytest.mark.parametrize("way", ["/agui/default", "/copilotkit/agent/default/run"])
async def test_a_command_that_names_its_question(way: str) -> None:
    model = Lines(calls(("greet", "{}")), says("Bye."))
    async with house(Runtime(model=model, tools=[greet])) as server:
        (question,) = older(await run(server, way, given("hi", run="r1")))
        command = {"resume": "Ada", "interruptEvent": question}
        frames = await run(server, way, given("hi", run="r2", forwardedProps={"command": command}))
    assert [f.json["content"] for f in frames if f.json["type"] == "TOOL_CALL_RESULT"] == ["Hello Ada"]
    assert text_of(frames) == "Bye."


@pytest.mark.demand("copilotkit.single_endpoint_rest_routes")
@pytest.mark.parametrize("named", [False, True])
@pytest.mark.parametrize(
    ("given_answer", "booked"),
    [
        ("yes", True),
        ('{"approved": true}', True),
        ("true", True),
        (True, True),
        ("no", False),
        ("false", False),
        ({"approved": False}, False),
    ],
)
async def test_an_approval_in_text(given_answer: object, booked: bool, named: bool) -> None:
    """A page of 1.50 resolves with whatever its author wrote, mostly text."""
    done: list[str] = []

    @tool(confirm=True)
    def book(seat: str) -> str:
        """Book."""
        done.append(seat)
        return seat

    model = Lines(calls(("book", '{"seat":"1"}')), says("Done."))
    async with house(Runtime(model=model, tools=[book])) as server:
        (question,) = older(await played(server, "run", given("hi", run="r1")))
        command = {"resume": given_answer, **({"interruptEvent": question} if named else {})}
        frames = await played(server, "run", given("hi", run="r2", forwardedProps={"command": command}))
    assert text_of(frames) == "Done."
    assert done == (["1"] if booked else [])


@pytest.mark.parametrize("words", ["Ada", '{"a": 1}', "true", "42"])
@pytest.mark.parametrize("named", [False, True])
async def test_words_that_were_asked_for_stay_words(words: str, named: bool) -> None:
    model = Lines(calls(("greet", "{}")), says("Bye."))
    async with house(Runtime(model=model, tools=[greet])) as server:
        (question,) = older(await played(server, "run", given("hi", run="r1")))
        command = {"resume": words, **({"interruptEvent": question} if named else {})}
        frames = await played(server, "run", given("hi", run="r2", forwardedProps={"command": command}))
    assert [f.json["content"] for f in frames if f.json["type"] == "TOOL_CALL_RESULT"] == [f"Hello {words}"]


async def test_the_same_run_id_answers_it() -> None:
    """The newest client resumes under the id of the run that asked."""
    model = Lines(calls(("greet", "{}")), says("Bye."))
    async with house(Runtime(model=model, tools=[greet])) as server:
        frames = await played(server, "run", given("hi", run="r"))
        id = frames[-1].json["outcome"]["interrupts"][0]["id"]
        resume = [{"interruptId": id, "status": "resolved", "payload": "Ada"}]
        frames = await played(server, "run", given("hi", run="r", resume=resume))
        replayed = await played(server, "connect", given())
    assert text_of(frames) == "Bye."
    assert [(f.json["type"], f.json["runId"]) for f in replayed if f.json["type"] == "RUN_STARTED"] == [
        ("RUN_STARTED", "r"),
        ("RUN_STARTED", "r"),
    ]
    assert kinds(replayed)[-1] == "RUN_FINISHED"
