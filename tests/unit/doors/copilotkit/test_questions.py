"""A question in both dialects: as the run's outcome, and as the event of clients that know no outcome."""

from typing import Any

import pytest

from rightseat import Runtime, ToolContext, tool
from tests.kit.app_server import AppServer, FakeModel, reply_calls, reply_text, serve_runtime
from tests.kit.client import RawHttpClient, SseFrame
from tests.unit.doors.copilotkit.agui import collect_frames, join_text, list_event_types, make_run_input

pytestmark = pytest.mark.io

PAGE = [{"name": "locate", "description": "", "parameters": {"type": "object"}}]
over_routes = pytest.mark.parametrize("way", ["/agui/default", "/copilotkit/agent/default/run"])


@tool
def greet(ctx: ToolContext) -> str:
    """Greet."""
    return f"Hello {ctx.ask('Your name?')}"


async def collect_run_frames(server: AppServer, way: str, body: dict[str, Any]) -> list[SseFrame]:
    async with RawHttpClient(server.url) as client:
        await client.post_json(way, body)
        assert (await client.read_head()).status == 200
        return [frame async for frame in client.iterate_frames() if frame.data]


def list_legacy_interrupts(frames: list[SseFrame]) -> list[Any]:
    return [frame.json["value"] for frame in frames if frame.json.get("name") == "on_interrupt"]


@pytest.mark.demand("copilotkit.single_endpoint_rest_routes")
@over_routes
async def test_the_question_is_said_in_both(way: str) -> None:
    async with serve_runtime(Runtime(model=FakeModel(reply_calls(("greet", "{}"))), tools=[greet])) as server:
        frames = await collect_run_frames(server, way, make_run_input("hi"))
    assert list_event_types(frames)[-2:] == ["CUSTOM", "RUN_FINISHED"]
    assert list_legacy_interrupts(frames) == frames[-1].json["outcome"]["interrupts"]
    assert (list_legacy_interrupts(frames)[0]["message"], list_legacy_interrupts(frames)[0]["reason"]) == (
        "Your name?",
        "input_required",
    )


@pytest.mark.demand("copilotkit.single_endpoint_rest_routes")
@over_routes
@pytest.mark.parametrize("version", ["", "1.0"])
async def test_beside_a_call_of_the_page_it_waits(way: str, version: str) -> None:
    """Such a client posts the call's result at once, and would be asked twice. One that knows outcomes but
    not 1.0 does not even post it as long as a question is open."""
    model = FakeModel(reply_calls(("locate", "{}"), ("greet", "{}")))
    async with serve_runtime(Runtime(model=model, tools=[greet])) as server:
        frames = await collect_run_frames(server, way, make_run_input("hi", tools=PAGE, protocolVersion=version))
    assert list_legacy_interrupts(frames) == []
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

    model = FakeModel(reply_calls(("book", '{"seat":"1"}'), ("book", '{"seat":"2"}')), reply_text("Done."))
    async with serve_runtime(Runtime(model=model, tools=[book])) as server:
        (first,) = list_legacy_interrupts(await collect_frames(server, "run", make_run_input("hi", run="r1")))
        resume = {"command": {"resume": {"approved": True}}}
        (second,) = list_legacy_interrupts(
            await collect_frames(server, "run", make_run_input(run="r2", forwardedProps=resume))
        )
        assert done == ["1"]
        assert (first["message"], second["message"]) == (
            'Allow book with {"seat":"1"}?',
            'Allow book with {"seat":"2"}?',
        )
        resume = {"command": {"resume": {"approved": False}}}
        frames = await collect_frames(server, "run", make_run_input(run="r3", forwardedProps=resume))
    assert join_text(frames) == "Done."
    assert done == ["1"]


@pytest.mark.demand("copilotkit.single_endpoint_rest_routes")
@pytest.mark.parametrize("way", ["/agui/default", "/copilotkit/agent/default/run"])
async def test_a_command_that_names_its_question(way: str) -> None:
    model = FakeModel(reply_calls(("greet", "{}")), reply_text("Bye."))
    async with serve_runtime(Runtime(model=model, tools=[greet])) as server:
        (question,) = list_legacy_interrupts(await collect_run_frames(server, way, make_run_input("hi", run="r1")))
        command = {"resume": "Ada", "interruptEvent": question}
        frames = await collect_run_frames(
            server, way, make_run_input("hi", run="r2", forwardedProps={"command": command})
        )
    assert [f.json["content"] for f in frames if f.json["type"] == "TOOL_CALL_RESULT"] == ["Hello Ada"]
    assert join_text(frames) == "Bye."


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

    model = FakeModel(reply_calls(("book", '{"seat":"1"}')), reply_text("Done."))
    async with serve_runtime(Runtime(model=model, tools=[book])) as server:
        (question,) = list_legacy_interrupts(await collect_frames(server, "run", make_run_input("hi", run="r1")))
        command = {"resume": given_answer, **({"interruptEvent": question} if named else {})}
        frames = await collect_frames(
            server, "run", make_run_input("hi", run="r2", forwardedProps={"command": command})
        )
    assert join_text(frames) == "Done."
    assert done == (["1"] if booked else [])


@pytest.mark.parametrize("words", ["Ada", '{"a": 1}', "true", "42"])
@pytest.mark.parametrize("named", [False, True])
async def test_words_that_were_asked_for_stay_words(words: str, named: bool) -> None:
    model = FakeModel(reply_calls(("greet", "{}")), reply_text("Bye."))
    async with serve_runtime(Runtime(model=model, tools=[greet])) as server:
        (question,) = list_legacy_interrupts(await collect_frames(server, "run", make_run_input("hi", run="r1")))
        command = {"resume": words, **({"interruptEvent": question} if named else {})}
        frames = await collect_frames(
            server, "run", make_run_input("hi", run="r2", forwardedProps={"command": command})
        )
    assert [f.json["content"] for f in frames if f.json["type"] == "TOOL_CALL_RESULT"] == [f"Hello {words}"]


async def test_the_same_run_id_answers_it() -> None:
    """The newest client resumes under the id of the run that asked."""
    model = FakeModel(reply_calls(("greet", "{}")), reply_text("Bye."))
    async with serve_runtime(Runtime(model=model, tools=[greet])) as server:
        frames = await collect_frames(server, "run", make_run_input("hi", run="r"))
        id = frames[-1].json["outcome"]["interrupts"][0]["id"]
        resume = [{"interruptId": id, "status": "resolved", "payload": "Ada"}]
        frames = await collect_frames(server, "run", make_run_input("hi", run="r", resume=resume))
        replayed = await collect_frames(server, "connect", make_run_input())
    assert join_text(frames) == "Bye."
    assert [(f.json["type"], f.json["runId"]) for f in replayed if f.json["type"] == "RUN_STARTED"] == [
        ("RUN_STARTED", "r"),
        ("RUN_STARTED", "r"),
    ]
    assert list_event_types(replayed)[-1] == "RUN_FINISHED"
