"""next_flow: up to three questions that could come next."""

import pytest

from rightseat.errors import UpstreamBusy
from rightseat.plugins.flows.responder import suggest_next_questions
from rightseat.plugins.plugin import Flow, NextFlow, Step
from rightseat.types.events import Suggestions
from tests.kit.app_server import reply_text
from tests.unit.plugins.flows.step_runs import get_prompt_text, list_prompts, make_flow, make_services

START = Step(name="start", kind="none")
FLOWS = {
    one.id: one
    for one in (
        make_flow(START, name="tickets", description="Opens a ticket for one host."),
        make_flow(START, name="hosts", description="Lists all hosts."),
        make_flow(START, name="costs", description="Tells what a host costs."),
        make_flow(START, name="more", description="More."),
        make_flow(START, plugin="other", name="far", description="Far away."),
    )
}


def make_flow_with_next(*following: NextFlow) -> Flow:
    return make_flow(START, name="cves", next_flow=following)


@pytest.mark.demand("flows.next_flow_three_suggestions")
async def test_questions_are_rewritten_in_one_call() -> None:
    used = make_services(
        reply_text('{"question_1": "Open a ticket for web-1", "question_2": "Which\\n hosts are there?"}'), flows=FLOWS
    )
    made = await suggest_next_questions(
        make_flow_with_next(NextFlow(flow="tickets"), NextFlow(flow="hosts")),
        used,
        "Which CVEs has web-1?",
        "CVE-1, CVE-2",
    )
    assert made == Suggestions(("Open a ticket for web-1", "Which hosts are there?"))
    for part in ("Which CVEs has web-1?", "CVE-1, CVE-2", "Opens a ticket for one host.", "Lists all hosts."):
        assert part in get_prompt_text(used)
    assert len(list_prompts(used)) == 1


@pytest.mark.demand("flows.next_flow_three_suggestions")
async def test_a_question_of_the_file_is_shown_as_it_is() -> None:
    used = make_services(flows=FLOWS)
    made = await suggest_next_questions(
        make_flow_with_next(NextFlow(flow="hosts", question="List them.")), used, "q", "a"
    )
    assert made == Suggestions(("List them.",))
    assert list_prompts(used) == []


@pytest.mark.demand("flows.next_flow_three_suggestions")
async def test_at_most_three_and_none_that_does_not_exist() -> None:
    used = make_services(reply_text('{"question_1": "A", "question_2": "B", "question_3": "C"}'), flows=FLOWS)
    following = make_flow_with_next(
        NextFlow(flow="lost"),
        NextFlow(flow="tickets"),
        NextFlow(flow="far", plugin="other"),
        NextFlow(flow="hosts"),
        NextFlow(flow="more"),
    )
    assert await suggest_next_questions(following, used, "q", "a") == Suggestions(("A", "B", "C"))
    assert "Far away." in get_prompt_text(used)
    assert (
        await suggest_next_questions(make_flow_with_next(NextFlow(flow="lost")), make_services(flows=FLOWS), "q", "a")
        is None
    )
    assert await suggest_next_questions(make_flow_with_next(), make_services(flows=FLOWS), "q", "a") is None


@pytest.mark.demand("flows.next_flow_three_suggestions")
async def test_a_model_that_cannot_costs_only_its_own() -> None:
    async def busy(prompt: object) -> object:
        raise UpstreamBusy("Busy.")
        yield

    following = make_flow_with_next(NextFlow(flow="tickets"), NextFlow(flow="hosts", question="List them."))
    used = make_services(busy, flows=FLOWS)
    assert await suggest_next_questions(following, used, "q", "a") == Suggestions(("List them.",))
    garbled = make_services(reply_text("no json"), reply_text("no json"), flows=FLOWS)
    assert await suggest_next_questions(make_flow_with_next(NextFlow(flow="tickets")), garbled, "q", "a") is None
