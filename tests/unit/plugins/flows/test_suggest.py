"""next_flow: up to three questions that could come next."""

import pytest

from rightseat.errors import UpstreamBusy
from rightseat.plugins.flows.flow import Flow, NextFlow, Step
from rightseat.plugins.flows.responder import suggest_next_questions
from rightseat.types.events import Suggestions
from tests.kit.house import says
from tests.unit.plugins.flows.staged import asked, flow, kit, told

START = Step(name="start", kind="none")
FLOWS = {
    one.id: one
    for one in (
        flow(START, name="tickets", description="Opens a ticket for one host."),
        flow(START, name="hosts", description="Lists all hosts."),
        flow(START, name="costs", description="Tells what a host costs."),
        flow(START, name="more", description="More."),
        flow(START, plugin="other", name="far", description="Far away."),
    )
}


def after(*following: NextFlow) -> Flow:
    return flow(START, name="cves", next_flow=following)


@pytest.mark.demand("flows.next_flow_three_suggestions")
async def test_questions_are_rewritten_in_one_call() -> None:
    used = kit(
        says('{"question_1": "Open a ticket for web-1", "question_2": "Which\\n hosts are there?"}'), flows=FLOWS
    )
    made = await suggest_next_questions(
        after(NextFlow(flow="tickets"), NextFlow(flow="hosts")), used, "Which CVEs has web-1?", "CVE-1, CVE-2"
    )
    assert made == Suggestions(("Open a ticket for web-1", "Which hosts are there?"))
    for part in ("Which CVEs has web-1?", "CVE-1, CVE-2", "Opens a ticket for one host.", "Lists all hosts."):
        assert part in told(used)
    assert len(asked(used)) == 1


@pytest.mark.demand("flows.next_flow_three_suggestions")
async def test_a_question_of_the_file_is_shown_as_it_is() -> None:
    used = kit(flows=FLOWS)
    made = await suggest_next_questions(after(NextFlow(flow="hosts", question="List them.")), used, "q", "a")
    assert made == Suggestions(("List them.",))
    assert asked(used) == []


@pytest.mark.demand("flows.next_flow_three_suggestions")
async def test_at_most_three_and_none_that_does_not_exist() -> None:
    used = kit(says('{"question_1": "A", "question_2": "B", "question_3": "C"}'), flows=FLOWS)
    following = after(
        NextFlow(flow="lost"),
        NextFlow(flow="tickets"),
        NextFlow(flow="far", plugin="other"),
        NextFlow(flow="hosts"),
        NextFlow(flow="more"),
    )
    assert await suggest_next_questions(following, used, "q", "a") == Suggestions(("A", "B", "C"))
    assert "Far away." in told(used)
    assert await suggest_next_questions(after(NextFlow(flow="lost")), kit(flows=FLOWS), "q", "a") is None
    assert await suggest_next_questions(after(), kit(flows=FLOWS), "q", "a") is None


@pytest.mark.demand("flows.next_flow_three_suggestions")
async def test_a_model_that_cannot_costs_only_its_own() -> None:
    async def busy(prompt: object) -> object:
        raise UpstreamBusy("Busy.")
        yield

    following = after(NextFlow(flow="tickets"), NextFlow(flow="hosts", question="List them."))
    used = kit(busy, flows=FLOWS)
    assert await suggest_next_questions(following, used, "q", "a") == Suggestions(("List them.",))
    garbled = kit(says("no json"), says("no json"), flows=FLOWS)
    assert await suggest_next_questions(after(NextFlow(flow="tickets")), garbled, "q", "a") is None
