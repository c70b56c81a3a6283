"""CopilotKit's own client 1.10.6 (`@copilotkit/runtime-client-gql`) against the real server.

The program is copilotkit-gql/drive.mjs. What it shows is what the client has made of the parts: messages,
statuses, questions, errors.
"""

import asyncio
import json
from collections.abc import Callable
from typing import Any

import pytest

from rightseat import EventChunk, FinishChunk, Runtime, TextChunk, response_extensions
from tests.kit.app_server import FakeModel
from tests.kit.faults import CANARY
from tests.kit.timeouts import HANG_TIMEOUT
from tests.peers.client_runner import ClientReport
from tests.peers.install import HERE
from tests.peers.prerequisites import require
from tests.unit.doors.copilotkit.client import PATH, serve_copilotkit

pytestmark = [pytest.mark.peers, pytest.mark.timeout(600)]

HELLO = "Hello from the script: é漢😀"
DETAIL, ZONE = {"detail": "high"}, {"zone": "UTC"}
LOCATE = ["call", "locate", DETAIL, "Success"]
# What the person sees at the end, and how many requests it took.
EXPECTED_MESSAGES: dict[str, tuple[int, list[Any]]] = {
    "text": (1, [["user", "hello"], ["assistant", HELLO]]),
    "bearer": (1, [["user", "hello"], ["assistant", HELLO]]),
    "paced": (1, [["user", "slowly"], ["assistant", "Three slow words."]]),
    "server_tool": (
        1,
        [
            ["user", "sum"],
            ["assistant", "Let me see."],
            ["call", "add", {"a": 2, "b": 3}, "Success"],
            ["result", "add", "5"],
            ["assistant", "That makes 5."],
        ],
    ),
    "object_result": (
        1,
        [
            ["user", "object"],
            ["call", "describe", {}, "Success"],
            ["result", "describe", '{"a":1,"b":[true,null]}'],
            ["assistant", "Described."],
        ],
    ),
    "void_result": (
        1,
        [["user", "void"], ["call", "forget", {}, "Success"], ["result", "forget", ""], ["assistant", "Forgotten."]],
    ),
    "client_tool": (
        2,
        [["user", "where am i"], LOCATE, ["result", "locate", "Oslo"], ["assistant", "You are in Oslo."]],
    ),
    "client_number": (2, [["user", "where am i"], LOCATE, ["result", "locate", "42"], ["assistant", "You are in 42."]]),
    "client_object": (
        2,
        [
            ["user", "where am i"],
            LOCATE,
            ["result", "locate", '{"city":"Oslo"}'],
            ["assistant", 'You are in {"city":"Oslo"}.'],
        ],
    ),
    "client_void": (2, [["user", "where am i"], LOCATE, ["result", "locate", ""], ["assistant", "You are in ."]]),
    "two_calls": (
        2,
        [
            ["user", "pair"],
            ["call", "locate", {"detail": "low"}, "Success"],
            ["result", "locate", "Oslo"],
            ["call", "clock", ZONE, "Success"],
            ["result", "clock", "noon"],
            ["assistant", "It is noon."],
        ],
    ),
    "render_only": (1, [["user", "where am i"], LOCATE]),
    "question": (
        1,
        [
            ["user", "question"],
            ["assistant", "One moment."],
            ["call", "greet", {}, "Success"],
            ["result", "greet", "Hello Ada."],
            ["assistant", "Hello Ada."],
            ["user", "hello"],
            ["assistant", HELLO],
        ],
    ),
    "approved": (
        1,
        [
            ["user", "book approved"],
            ["call", "book", {"seat": "book approved"}, "Success"],
            ["result", "book", "Booked book approved."],
            ["assistant", "Booked book approved."],
        ],
    ),
    "both": (
        1,
        [
            ["user", "both both"],
            ["call", "locate", {"detail": "low"}, "Success"],
            ["result", "locate", "Oslo"],
            ["call", "book", {"seat": "both both"}, "Success"],
            ["assistant", 'Allow book with {"seat":"both both"}?'],
            ["result", "book", "Booked both both."],
            ["assistant", "Booked both both."],
        ],
    ),
    "flow": (
        1,
        [
            ["user", "trip flow"],
            ["call", "trip", {"name": "trip flow"}, "Success"],
            ["state", "plan", True, {"planned": "trip flow"}],
            ["result", "trip", "Bought: Oslo."],
            ["assistant", "Bought: Oslo."],
        ],
    ),
}
RUN_ERRORS = {
    "cut_shown": ("NETWORK_ERROR", "length", "cut off in the middle of a tool call"),
    "second_held": ("NETWORK_ERROR", "length", "cut off in the middle of a tool call"),
    "second_shown": ("NETWORK_ERROR", "length", "cut off in the middle of a tool call"),
    "dead_midway": ("NETWORK_ERROR", "incomplete", "ended before it was finished"),
    "upstream_401": ("AUTHENTICATION_ERROR", "upstream_denied", "refused our key"),
    "upstream_500": ("NETWORK_ERROR", "upstream_error", "HTTP 500"),
}
REQUEST_ERRORS = {
    "wrong_key": ("AUTHENTICATION_ERROR", "The key is not known here"),
    "bad_schema": ("CONFIGURATION_ERROR", "data.frontend.actions[0].jsonSchema"),
    "no_such_agent": ("AGENT_NOT_FOUND", "Agent 'nobody' was not found"),
}
OTHER_CASES = (
    *("failing_tool", "wrong_json", "disabled", "denied", "nasty", "held", "kinds", "agents"),
    *("reload", "leave", "leave_waiting", "guarded"),
)
CASES = tuple(f"{name} stream" for name in (*EXPECTED_MESSAGES, *RUN_ERRORS, *REQUEST_ERRORS, *OTHER_CASES))


@pytest.fixture
def report(drive_client: Callable[[str, tuple[str, ...]], ClientReport]) -> ClientReport:
    return drive_client("copilotkit-gql", CASES)


@pytest.mark.demand("copilotkit.server_tools_run_results", "copilotkit.npm_client_copilotkit_runtime")
@pytest.mark.parametrize("case", EXPECTED_MESSAGES)
def test_what_the_person_sees(report: ClientReport, case: str) -> None:
    last = report.get_turns(case)[-1]
    assert (last["trips"], last["messages"]) == EXPECTED_MESSAGES[case]
    assert (last["status"]["code"], last["threw"], last["errors"]) == ("Success", None, [])


@pytest.mark.demand("copilotkit.errors_http_200_errors")
def test_no_version_banner(report: ClientReport) -> None:
    assert report.version == "1.10.6"
    turns = [turn for case in (*EXPECTED_MESSAGES, *RUN_ERRORS, *REQUEST_ERRORS) for turn in report.get_turns(case)]
    assert [turn["warnings"] for turn in turns if turn["warnings"]] == []


@pytest.mark.demand("copilotkit.multipart_mixed_form_urql")
def test_text_comes_as_it_is_said(report: ClientReport) -> None:
    [turn] = report.get_turns("held")
    assert turn["said"][0] == "Held, "
    assert turn["messages"][-1] == ["assistant", "Held, and let go."]


@pytest.mark.demand("copilotkit.graphql_door_results_encoded", "copilotkit.npm_client_copilotkit_runtime")
@pytest.mark.parametrize(("case", "code"), [("failing_tool", "HANDLER_ERROR"), ("wrong_json", "INVALID_ARGUMENTS")])
def test_a_failed_action_has_an_error_and_an_empty_result_and_the_run_ends(
    report: ClientReport, case: str, code: str
) -> None:
    [turn] = report.get_turns(case)
    [result] = [message for message in turn["messages"] if message[0] == "result"]
    told = json.loads(result[2])
    assert (told["error"]["code"], told["result"]) == (code, "")
    assert turn["messages"][-1][0] == "assistant"
    assert turn["status"]["code"] == "Success"


@pytest.mark.demand("copilotkit.tool_list_order_de")
def test_what_is_disabled_or_remote_is_not_offered(report: ClientReport) -> None:
    [turn] = report.get_turns("disabled")
    [result] = [message for message in turn["messages"] if message[0] == "result"]
    error = json.loads(result[2])["error"]
    assert error["code"] == "unknown_tool"
    assert "clock" not in error["message"]


@pytest.mark.demand("copilotkit.errors_http_200_errors", "copilotkit.npm_client_copilotkit_runtime")
@pytest.mark.parametrize("case", RUN_ERRORS)
def test_a_run_that_fails(report: ClientReport, case: str) -> None:
    code, ours, words = RUN_ERRORS[case]
    [turn] = report.get_turns(case)
    assert turn["status"]["reason"] == "UNKNOWN_ERROR"
    details = turn["status"]["details"]
    assert words in details["description"]
    original = details["originalError"]
    assert (original["code"], original["originalErrorType"]) == (code, ours)
    assert original["visibility"] == "banner"
    assert CANARY not in json.dumps(turn)
    if case == "dead_midway":
        assert turn["messages"][-1] == ["assistant", "w0 w1 w2"]
    if case in ("cut_shown", "second_held", "second_shown"):
        # The client runs what is not pending.
        assert turn["messages"][-1][3] == "Pending"


@pytest.mark.demand("copilotkit.errors_http_200_errors")
@pytest.mark.parametrize("case", REQUEST_ERRORS)
def test_a_request_that_is_refused_is_shown_with_its_words(report: ClientReport, case: str) -> None:
    code, words = REQUEST_ERRORS[case]
    [turn] = report.get_turns(case)
    assert turn["errors"][0]["codes"] == [code]
    assert words in turn["errors"][0]["message"]


@pytest.mark.demand("copilotkit.npm_client_copilotkit_runtime")
@pytest.mark.parametrize(("case", "kind"), [("question", "ask"), ("approved", "confirm"), ("both", "confirm")])
def test_a_question_is_a_meta_event(report: ClientReport, case: str, kind: str) -> None:
    [event] = report.get_turns(case)[0]["meta"]
    assert (event["type"], event["name"]) == ("MetaEvent", "LangGraphInterruptEvent")
    assert json.loads(event["value"])["kind"] == kind


@pytest.mark.demand("copilotkit.npm_client_copilotkit_runtime")
def test_what_was_not_allowed_was_not_done(report: ClientReport) -> None:
    last = report.get_turns("denied")[-1]
    assert json.loads(last["messages"][2][2])["error"]["code"] == "denied"
    assert (
        report.count_bookings("book denied"),
        report.count_bookings("book approved"),
        report.count_bookings("both both"),
    ) == (0, 1, 1)


@pytest.mark.demand("copilotkit.multipart_mixed_form_urql")
def test_text_that_looks_like_the_framing(report: ClientReport) -> None:
    [turn] = report.get_turns("nasty")
    said, mirrored = turn["messages"]
    assert json.loads(mirrored[1])["messages"][-1][1] == said[1]


@pytest.mark.demand("copilotkit.inputs_whole_message_kind")
def test_every_kind_of_message_reaches_the_model(report: ClientReport) -> None:
    [turn] = report.get_turns("kinds")
    mirrored = json.loads(turn["messages"][-1][1])
    image = [{"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}}]
    assert [(role, words) for role, words, _ in mirrored["messages"]] == [
        ("system", "Be brief."),
        ("system", "one"),
        ("system", "two"),
        ("assistant", "three"),
        ("tool", "Oslo"),
        ("user", image),
        ("user", "mirror"),
    ]
    assert (mirrored["arguments"], mirrored["temperature"]) == (['{"x":1}'], 0.5)


@pytest.mark.demand("models.refusal_looks_right_door")
def test_a_guardrail_tells_its_reason_in_place_of_an_answer(report: ClientReport) -> None:
    refused, fine = report.get_turns("guarded")
    assert refused["status"]["reason"] == "GUARDRAILS_VALIDATION_FAILED"
    reason = refused["status"]["details"]["guardrailsReason"]
    assert reason == "This message is not answered: it is about something that is not talked about here."
    assert refused["messages"] == [["user", "a game of Poker?"]]
    # The client posts what was refused again, and the conversation goes on.
    assert fine["messages"][1:] == [["user", "hello"], ["assistant", HELLO]]


@pytest.mark.demand("copilotkit.whole_schema_clients_compiled")
def test_agents_and_their_state(report: ClientReport) -> None:
    [turn] = report.get_turns("agents")
    assert {"default", "mirror"} <= {agent["name"] for agent in turn["agents"]}
    assert turn["state"]["threadExists"] is False
    assert turn["missing"] == ["AGENT_NOT_FOUND"]


@pytest.mark.demand("copilotkit.loadagentstate_tells_whether_agent")
def test_a_reload_shows_the_conversation(report: ClientReport) -> None:
    *turns, loaded = report.get_turns("reload")
    assert loaded["state"]["threadExists"] is True
    assert loaded["messages"] == turns[-1]["messages"]
    assert len(loaded["messages"]) == 9


@pytest.mark.demand(
    "copilotkit.graphql_client_abort_cancels",
    "copilotkit.peer_bugs_listed_notes",
    "copilotkit.npm_client_copilotkit_runtime",
)
@pytest.mark.parametrize("case", ["leave", "leave_waiting"])
def test_an_abort_ends_the_model(report: ClientReport, case: str) -> None:
    assert report.cases[f"{case} stream"]["closed"]


@pytest.mark.demand("copilotkit.seed_document")
async def test_extensions_that_come_in_the_middle_are_merged() -> None:
    """They are null in the first frame: the client takes the later part for the same object."""
    thread = {"openaiAssistantAPI": {"threadId": "thread_7"}}
    middle = EventChunk(response_extensions(thread))
    model = FakeModel([TextChunk("a"), middle, TextChunk("b"), FinishChunk("stop")])
    async with serve_copilotkit(Runtime(model=model)) as url:
        arguments = (str(HERE / "copilotkit-gql" / "extensions.mjs"), str(require("copilotkit-gql")), url + PATH)
        process = await asyncio.create_subprocess_exec("node", *arguments, stdout=asyncio.subprocess.PIPE)
        async with asyncio.timeout(HANG_TIMEOUT):
            output, _ = await process.communicate()
    told = json.loads(output)
    assert told["text"] == "ab"
    assert (told["seen"][0], told["seen"][-1]) == (None, "thread_7")
