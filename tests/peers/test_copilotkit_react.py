"""React pages with CopilotKit 1.10.6, 1.50.1 and the newest against the real server: what the person sees."""

import asyncio
import json
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest

from tests.kit.faults import CANARY
from tests.peers.client_runner import ClientReport
from tests.peers.copilotkit_react import GENERATIONS, PEER, run_pages
from tests.peers.prerequisites import require

pytestmark = [pytest.mark.peers, pytest.mark.timeout(600)]

HELLO = "Hello from the script: é漢😀"
GREETING = [["user", "hello"], ["assistant", HELLO]]
WHERE_QUESTION = ["user", "where am i"]
SUM_MESSAGES = [["user", "sum"], ["assistant", "Let me see."], ["assistant", "That makes 5."]]
ADD_CARD = {"status": "complete", "args": {"a": 2, "b": 3}, "result": 5}

# The conversation at the end of what ends well.
EXPECTED_MESSAGES: dict[str, list[list[str]]] = {
    "text": [*GREETING, ["user", "hello again"], ["assistant", HELLO]],
    "public_key": GREETING,
    "named_agent": [*GREETING, WHERE_QUESTION, ["assistant", "You are in Oslo."]],
    "server_tool": SUM_MESSAGES,
    "object_result": [["user", "object"], ["assistant", "Described."]],
    "void_result": [["user", "void"], ["assistant", "Forgotten."]],
    "client_tool": [WHERE_QUESTION, ["assistant", "You are in Oslo."]],
    "client_number": [WHERE_QUESTION, ["assistant", "You are in 42."]],
    "client_object": [WHERE_QUESTION, ["assistant", 'You are in {"city":"Oslo"}.']],
    "client_void": [WHERE_QUESTION, ["assistant", "You are in ."]],
    "two_calls": [["user", "pair"], ["assistant", "It is noon."]],
    "mixed": [["user", "mixed"], ["assistant", "It is noon."]],
    "single_endpoint": [*GREETING, WHERE_QUESTION, ["assistant", "You are in Oslo."]],
    "render": [["user", "typed"], ["assistant", "You are in Oslo."]],
    "decision": [WHERE_QUESTION, ["assistant", "You are in Rome."]],
    "question": [["user", "question"], ["assistant", "One moment."], ["assistant", "Hello Ada."]],
    "approved": [["user", "book {0} approved"], ["assistant", "Booked book {0} approved."]],
    "state": [["user", "trip {0} state"], ["assistant", "Bought: Oslo."]],
    "state_in_chat": [["user", "trip {0} state_in_chat"], ["assistant", "Bought: Oslo."]],
    "suggestions": GREETING,
    "reload": [*GREETING, *SUM_MESSAGES, ["user", "object"], ["assistant", "Described."]],
    "reload_tool": [WHERE_QUESTION, ["assistant", "You are in Oslo."], *GREETING, *SUM_MESSAGES],
    "thoughts": [["user", "think"], ["assistant", "Thought through."], *GREETING],
}
# What the page's own actions were called with, each call once.
EXPECTED_CALLS: dict[str, list[Any]] = {
    "named_agent": [["locate", {"detail": "high"}]],
    "client_tool": [["locate", {"detail": "high"}]],
    "client_number": [["locate", {"detail": "high"}]],
    "client_object": [["locate", {"detail": "high"}]],
    "client_void": [["locate", {"detail": "high"}]],
    "client_error": [["locate", {"detail": "high"}]],
    "two_calls": [["locate", {"detail": "low"}], ["clock", {"zone": "UTC"}]],
    "mixed": [["clock", {"zone": "UTC"}]],
    "both": [["locate", {"detail": "low"}]],
    "single_endpoint": [["locate", {"detail": "high"}]],
    "reload_tool": [["locate", {"detail": "high"}]],
    "task": [["locate", {"detail": "by a task"}], ["ran"]],
}
RUN_ERRORS = {
    "upstream_401": "The model's server refused our key: check OPENAI_API_KEY (api_key).",
    "upstream_500": "The model's server failed (HTTP 500): try again.",
    "dead_midway": "The model's answer ended before it was finished: try again.",
}
OTHER_CASES = (
    *("long_text", "markdown", "failing_tool", "wrong_json", "client_error", "both", "denied", "readable"),
    *("instructions", "wrong_key", "reload_failed", "reload_asked", "interrupt", "task", "textarea"),
    "regenerated",
)
CASES = (*EXPECTED_MESSAGES, *RUN_ERRORS, *OTHER_CASES)


@pytest.fixture(scope="session")
def reports(record_driven: Callable[[str, str], None]) -> dict[str, ClientReport]:
    require(PEER)
    try:
        seen = asyncio.run(run_pages(CASES))
    except AssertionError as error:
        pytest.fail(f"{PEER}: {error}", pytrace=False)
    for generation, one in seen.items():
        record_driven(f"{PEER}-{generation}", one.version)
    return seen


@pytest.fixture(params=GENERATIONS)
def generation(request: pytest.FixtureRequest) -> str:
    found: str = request.param
    return found


@pytest.fixture
def report(reports: dict[str, ClientReport], generation: str) -> ClientReport:
    return reports[generation]


def list_cards(turn: dict[str, Any], name: str) -> list[str]:
    return [words for card, words in turn["cards"] if card == name]


@pytest.mark.demand("copilotkit.react_apps_jsdom_headless")
def test_the_versions(reports: dict[str, ClientReport]) -> None:
    assert [reports[name].version for name in GENERATIONS[:2]] == ["1.10.6", "1.50.1"]
    assert tuple(map(int, reports["newest"].version.split("."))) >= (1, 74, 0)


@pytest.mark.demand("copilotkit.thoughts_break_client_those", "copilotkit.react_apps_jsdom_headless")
@pytest.mark.parametrize("case", EXPECTED_MESSAGES)
def test_what_the_person_sees(report: ClientReport, generation: str, case: str) -> None:
    last = report.get_turns(case)[-1]
    assert last["messages"] == [[who, words.replace("{0}", generation)] for who, words in EXPECTED_MESSAGES[case]]
    assert (last["busy"], report.cases[f"{case} stream"]["late"]) == (False, [])
    # No banner and no toast, also none about versions.
    assert [turn["beside"] for turn in report.get_turns(case)] == [""] * len(report.get_turns(case))


@pytest.mark.demand("copilotkit.copilottask_suggestions_textarea_requests", "copilotkit.react_apps_jsdom_headless")
@pytest.mark.parametrize("case", EXPECTED_CALLS)
def test_the_pages_actions_run_once_with_what_the_model_gave(report: ClientReport, case: str) -> None:
    assert report.cases[f"{case} stream"]["log"] == EXPECTED_CALLS[case]


@pytest.mark.demand("copilotkit.react_apps_jsdom_headless")
def test_nothing_waited_for_is_missing(report: ClientReport) -> None:
    assert {case: told["late"] for case, told in report.cases.items() if told["late"]} == {}


@pytest.mark.demand("copilotkit.react_apps_jsdom_headless")
def test_a_long_answer_is_whole(report: ClientReport) -> None:
    [turn] = report.get_turns("long_text")
    assert turn["messages"][-1][1].split() == [f"w{n}" for n in range(2000)]


@pytest.mark.demand("copilotkit.react_apps_jsdom_headless")
def test_markdown_is_shown_and_its_html_does_nothing(report: ClientReport) -> None:
    shown = report.get_turns("markdown")[-1]
    assert shown["tags"] == {"h1": 1, "strong": 1, "li": 2, "table": 1, "code": 2, "[onerror]": 0}
    assert not shown["broken"]


@pytest.mark.demand("copilotkit.react_apps_jsdom_headless")
def test_a_card_for_a_tool_of_the_server(report: ClientReport, generation: str) -> None:
    def told(case: str, name: str) -> Any:
        [words] = list_cards(report.get_turns(case)[-1], name)
        return json.loads(words)

    assert told("server_tool", "add") == told("mixed", "add") == ADD_CARD
    assert told("object_result", "describe")["result"] == {"a": 1, "b": [True, None]}
    assert told("void_result", "forget")["result"] in ("", None)
    first = generation == "1.10"
    for case, name, code in (
        ("failing_tool", "stumble", "HANDLER_ERROR" if first else "tool_failed"),
        ("wrong_json", "add", "INVALID_ARGUMENTS" if first else "invalid_json"),
    ):
        assert told(case, name)["result"]["error"]["code"] == code
        # The model is told, and goes on.
        assert report.get_turns(case)[-1]["messages"][-1][1].startswith("The tool said")


@pytest.mark.demand("copilotkit.react_apps_jsdom_headless")
def test_a_card_that_grows_with_its_arguments(report: ClientReport) -> None:
    """Every status comes once, in order, and arguments are shown before they are whole."""
    steps = [step for step in report.cases["render stream"]["log"] if step[0] != "locate"]
    statuses = list(dict.fromkeys(status for status, _ in steps))
    assert [status for status in statuses if status != "executing"] == ["inProgress", "complete"]
    details = [args.get("detail", "") for _, args in steps]
    assert all(later.startswith(earlier) for earlier, later in pairwise(details))
    assert len(set(details)) > 2
    assert details[-1] == "one word after another word"
    ran = [step for step in report.cases["render stream"]["log"] if step[0] == "locate"]
    assert ran == [["locate", {"detail": "one word after another word"}]]


@pytest.mark.demand("copilotkit.react_apps_jsdom_headless")
def test_a_card_that_waits_for_the_person(report: ClientReport) -> None:
    before, after = report.get_turns("decision")
    assert list_cards(before, "decision") == ["executing highSay Rome"]
    assert list_cards(after, "decision") == ["complete high"]


@pytest.mark.demand("copilotkit.react_apps_jsdom_headless")
@pytest.mark.parametrize(
    ("case", "words"),
    [
        ("question", "What is your name?"),
        ("approved", "Allow book with"),
        ("denied", "Allow book with"),
        ("both", "Allow book with"),
        ("state", "Which city?"),
    ],
)
def test_a_question_is_shown_until_it_is_answered(report: ClientReport, case: str, words: str) -> None:
    asked, answered = report.get_turns(case)
    [question] = list_cards(asked, "question")
    assert words in question
    assert list_cards(answered, "question") == []
    assert (asked["beside"], answered["beside"]) == ("", "")


@pytest.mark.demand("copilotkit.react_apps_jsdom_headless")
def test_a_question_by_the_newest_hook(reports: dict[str, ClientReport]) -> None:
    asked, answered = reports["newest"].get_turns("interrupt")
    assert "What is your name?" in list_cards(asked, "question")[0]
    assert (answered["messages"], answered["cards"]) == (EXPECTED_MESSAGES["question"], [])


@pytest.mark.demand("copilotkit.react_apps_jsdom_headless")
@pytest.mark.parametrize("generation", GENERATIONS[1:])
def test_a_question_outlives_a_reload(reports: dict[str, ClientReport], generation: str) -> None:
    asked, again, answered = reports[generation].get_turns("reload_asked")
    assert "What is your name?" in list_cards(asked, "question")[0]
    assert (again["messages"], again["cards"]) == (asked["messages"], asked["cards"])
    assert (answered["messages"], answered["cards"]) == (EXPECTED_MESSAGES["question"], [])


@pytest.mark.demand("copilotkit.react_apps_jsdom_headless")
def test_what_was_not_allowed_was_not_done(report: ClientReport, generation: str) -> None:
    assert "did not allow" in report.get_turns("denied")[-1]["messages"][-1][1]
    assert "Booked" in report.get_turns("both")[-1]["messages"][-1][1]
    asked = (f"book {generation} approved", f"book {generation} denied", f"both {generation} both")
    assert [report.count_bookings(seat) for seat in asked] == [1, 0, 1]


@pytest.mark.demand("copilotkit.react_apps_jsdom_headless")
def test_an_agents_state(report: ClientReport, generation: str) -> None:
    for turn in report.get_turns("state"):
        [state] = list_cards(turn, "state")
        assert json.loads(state.rsplit(" ", 1)[0]) == {"planned": f"trip {generation} state"}
    assert f"trip {generation} state_in_chat" in list_cards(report.get_turns("state_in_chat")[-1], "planned")


@pytest.mark.demand("copilotkit.react_apps_jsdom_headless")
def test_what_the_page_lets_the_model_read(report: ClientReport, generation: str) -> None:
    [turn] = report.get_turns("readable")
    assert turn["messages"][-1][1].count("mauve") == 1
    if generation == "1.10":
        assert "Be a pirate." in report.get_turns("instructions")[-1]["messages"][-1][1]


@pytest.mark.demand("copilotkit.react_apps_jsdom_headless")
@pytest.mark.parametrize("case", RUN_ERRORS)
def test_a_failure_is_shown_and_the_chat_goes_on(report: ClientReport, case: str) -> None:
    failed, gone_on = report.get_turns(case)
    assert failed["beside"] == RUN_ERRORS[case]
    assert failed["messages"][1:] == ([["assistant", "w0 w1 w2"]] if case == "dead_midway" else [])
    assert gone_on["messages"] == [*failed["messages"], ["user", "fault-ok"], ["assistant", "w0 w1 w2"]]
    assert CANARY not in json.dumps(report.cases[f"{case} stream"])


@pytest.mark.demand("copilotkit.react_apps_jsdom_headless")
def test_an_action_of_the_page_that_fails(report: ClientReport, generation: str) -> None:
    failed, gone_on = report.get_turns("client_error")
    if generation == "1.10":
        assert failed["messages"][-1] == ["assistant", "You are in ."]
    else:
        assert failed["beside"] == "no map"
    assert gone_on["messages"][-2:] == GREETING


@pytest.mark.demand("copilotkit.react_apps_jsdom_headless")
def test_a_wrong_key_is_refused_in_words(report: ClientReport, generation: str) -> None:
    [turn] = report.get_turns("wrong_key")
    told = json.dumps(report.cases["wrong_key stream"]["told"])
    # With no agents 1.50's page breaks by itself: only its console has the words.
    assert "The key is not known here." in (told if generation == "1.50" else turn["beside"])
    assert HELLO not in json.dumps(turn)


@pytest.mark.demand("copilotkit.react_apps_jsdom_headless")
@pytest.mark.parametrize("case", ["reload", "reload_tool", "reload_failed", "thoughts"])
def test_a_reload_shows_the_thread_and_goes_on(report: ClientReport, case: str) -> None:
    *_, before, after, last = report.get_turns(case)
    assert (after["messages"], after["cards"]) == (before["messages"], before["cards"])
    assert last["messages"][: len(after["messages"])] == after["messages"]
    assert len(last["messages"]) > len(after["messages"])


@pytest.mark.demand("copilotkit.after_reload_user_sees")
@pytest.mark.parametrize("generation", ["1.10", "newest"])
def test_after_a_reload_an_answer_that_was_made_anew_stands_alone(
    reports: dict[str, ClientReport], generation: str
) -> None:
    _, first, again, reloaded, last = reports[generation].get_turns("regenerated")
    assert again["messages"] == first["messages"] == [*GREETING, *SUM_MESSAGES]
    assert (reloaded["messages"], reloaded["cards"]) == (again["messages"], again["cards"])
    assert last["messages"] == EXPECTED_MESSAGES["reload"]
    assert {turn["beside"] for turn in (again, reloaded, last)} == {""}


@pytest.mark.demand("copilotkit.copilottask_suggestions_textarea_requests", "copilotkit.react_apps_jsdom_headless")
def test_a_task_suggestions_and_a_textarea(reports: dict[str, ClientReport]) -> None:
    for seen in reports.values():
        suggested = seen.get_turns("suggestions")[0]["suggested"]
        # 1.50 sometimes asks twice.
        assert list(dict.fromkeys(suggested)) == ["Greet me", "Add up"]
        assert seen.get_turns("task")[-1]["messages"] == []
    assert reports["1.10"].get_turns("textarea")[-1]["letter"] == "Dear Sir or Madam"


@pytest.mark.demand("copilotkit.react_apps_jsdom_headless")
@pytest.mark.parametrize("case", ["leave", "leave_waiting"])
def test_stop_ends_the_model(report: ClientReport, case: str) -> None:
    running, stopped = report.get_turns(case)
    assert (running["busy"], stopped["busy"]) == (True, False)
    assert report.cases[f"{case} stream"]["closed"]


@pytest.mark.demand("copilotkit.react_apps_jsdom_headless")
@pytest.mark.parametrize("generation", GENERATIONS[1:])
def test_a_page_that_comes_back_follows_the_answer_and_can_stop_it(
    reports: dict[str, ClientReport], generation: str
) -> None:
    running, stopped, reloaded = reports[generation].get_turns("leave_rejoined")
    assert (running["busy"], stopped["busy"]) == (True, False)
    assert reports[generation].cases["leave_rejoined stream"]["closed"]
    assert reloaded["messages"] == stopped["messages"]
