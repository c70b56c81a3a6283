"""Summaries that stand for dropped turns."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from rightseat import Assistant, Runtime, text_message
from rightseat.engine.summaries import SUMMARY_HEADING, ConversationSummaries
from rightseat.errors import UpstreamRefused
from rightseat.types.chunks import FinishChunk, ModelChunk, TextChunk, UsageChunk
from rightseat.types.events import Custom, RunFinished, Usage
from rightseat.types.messages import Message
from rightseat.types.model import Prompt
from tests.kit.app_server import FakeModel
from tests.unit.engine.test_context_window import make_turns
from tests.unit.engine.turns import run_turn


class SummarisingModel(FakeModel):
    """A model that counts its summaries, and fails to write them if `broken`."""

    def __init__(self, *, broken: bool = False, empty: bool = False) -> None:
        super().__init__()
        self.summaries: list[str] = []
        self.broken = broken
        self.empty = empty

    async def stream(self, prompt: Prompt, /) -> AsyncIterator[ModelChunk]:
        if prompt.messages[0].text.startswith("Summarise"):
            if self.broken:
                raise UpstreamRefused("down")
            await asyncio.sleep(0)
            self.summaries.append(prompt.messages[-1].text)
            yield TextChunk("" if self.empty else f" summary {len(self.summaries)} ")
            yield UsageChunk(Usage(100, 10))
        else:
            self.prompts.append(prompt)
            yield TextChunk("ok")
            yield UsageChunk(Usage(5, 1))
        yield FinishChunk("stop")


def make_runtime(model: FakeModel) -> Runtime:
    return Runtime(assistants=[Assistant("default", model, system="be brief", context=800, summarise=True)])


def make_messages(turns: int) -> tuple[Message, ...]:
    return (*make_turns(turns), text_message("user", "now"))


@pytest.mark.demand("window.summary_of_dropped_turns")
async def test_the_model_is_asked_once_and_its_summary_is_a_note() -> None:
    model = SummarisingModel()
    runtime = make_runtime(model)
    events = await run_turn(runtime, messages=make_messages(60))
    assert model.prompts[0].messages[1] == text_message("system", f"{SUMMARY_HEADING}\nsummary 1")
    assert "user: q0" in model.summaries[0]
    assert "be brief" not in model.summaries[0]
    [cut] = [event for event in events if isinstance(event, Custom)]
    assert cut.value["summarised"] is True
    assert isinstance(events[-1], RunFinished)
    assert events[-1].usage == Usage(105, 11), "the summary is counted"
    await run_turn(runtime, messages=make_messages(60))
    assert len(model.summaries) == 1
    assert model.prompts[0].messages == model.prompts[1].messages


@pytest.mark.demand("window.summary_of_dropped_turns")
async def test_a_cut_that_moves_extends_the_summary() -> None:
    model = SummarisingModel()
    runtime = make_runtime(model)
    await run_turn(runtime, messages=make_messages(60))
    await run_turn(runtime, messages=make_messages(75))
    assert len(model.summaries) == 2
    assert model.summaries[1].startswith("Earlier: summary 1\nuser: q")
    assert "user: q0\n" not in model.summaries[1]


@pytest.mark.demand("window.summary_of_dropped_turns")
@pytest.mark.parametrize("model", [SummarisingModel(broken=True), SummarisingModel(empty=True)])
async def test_without_a_summary_the_turns_are_dropped(
    model: SummarisingModel, caplog: pytest.LogCaptureFixture
) -> None:
    events = await run_turn(make_runtime(model), messages=make_messages(60))
    assert isinstance(events[-1], RunFinished)
    assert [message.role for message in model.prompts[0].messages[:2]] == ["system", "user"]
    assert "not summarised" in caplog.text
    [cut] = [event for event in events if isinstance(event, Custom)]
    assert "summarised" not in cut.value


async def test_requests_at_the_same_time_share_a_summary() -> None:
    model, summaries = SummarisingModel(), ConversationSummaries()
    dropped = make_turns(3)
    results = await asyncio.gather(*(summaries.summarise(model, dropped, None) for _ in range(3)))
    assert {summary for summary, _ in results} == {"summary 1"}
    assert len(model.summaries) == 1


async def test_a_short_conversation_needs_no_summary() -> None:
    model = SummarisingModel()
    await run_turn(make_runtime(model), messages=make_messages(2))
    assert model.summaries == []
