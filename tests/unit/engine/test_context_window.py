"""What is kept of a conversation that is longer than the model's context window."""

from collections.abc import AsyncIterator, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rightseat import Assistant, Message, Runtime, text_message
from rightseat.engine.context_window import (
    ESTIMATING_COUNTER,
    FittedHistory,
    HistoryFitter,
    align_to_block,
    cap_answer,
    find_answer_limit,
    fit_history,
    hash_beginning,
)
from rightseat.engine.history import estimate_message_tokens, pair_calls_with_results, split_turns
from rightseat.errors import ContextTooLong, UpstreamRefused
from rightseat.types.chunks import FinishChunk, ModelChunk, TextChunk
from rightseat.types.events import Custom, RunFailed, RunFinished
from rightseat.types.messages import ToolCall
from rightseat.types.model import BoundModel, Capabilities, Prompt, SamplingSettings, ToolSpec
from tests.kit.app_server import FakeModel, reply_text
from tests.kit.cases import each_case
from tests.unit.engine.test_history import has_whole_pairs, lines
from tests.unit.engine.turns import run_turn


async def fit(messages: list[Message], limit: int, *, tools: Sequence[ToolSpec] = (), block: int = 1) -> FittedHistory:
    return await fit_history(Prompt(messages=tuple(messages), tools=tuple(tools)), limit, block, ESTIMATING_COUNTER)


def make_turns(count: int, words: int = 10) -> list[Message]:
    return [
        message
        for n in range(count)
        for message in (text_message("user", f"q{n}"), text_message("assistant", f"a{n} " + "word " * words))
    ]


async def test_the_oldest_turns_go_and_the_leading_instructions_stay() -> None:
    rules, old, new = (text_message("system", "be brief"), text_message("user", "o" * 400), text_message("user", "new"))
    more = text_message("developer", "be kind")
    line = [rules, more, old, text_message("assistant", "a" * 400), text_message("system", "mid" * 100), new]
    fitted = await fit(line, 60)
    assert (fitted.messages, fitted.dropped) == ([rules, more, new], line[2:5])
    assert await fit(line, 10_000) == FittedHistory(line)


async def test_no_hole_in_the_middle() -> None:
    """A turn that would fit is dropped when a later one did not."""
    small, big, last = text_message("user", "s"), text_message("user", "b" * 400), text_message("user", "l")
    assert await fit([small, big, last], 50) == FittedHistory([last], [small, big])


@pytest.mark.demand("window.refuses_what_cannot_fit")
async def test_what_cannot_fit_is_refused_with_the_largest_part() -> None:
    spec = ToolSpec("f", "d" * 400, {})
    words = r"room for 100 tokens; .* about 101 .* about 6\b.* largest part is the tools, about 101 tokens"
    with pytest.raises(ContextTooLong, match=words) as caught:
        await fit([text_message("user", "words ok")], 100, tools=[spec])
    assert caught.value.code == "context_too_long"


async def test_of_the_newest_turn_the_oldest_calls_are_dropped_with_their_results() -> None:
    rounds = [
        message
        for n in range(10)
        for message in (
            Message("assistant", (), (ToolCall(f"c{n}", "look", "{}"),)),
            text_message("tool", f"result {n} " + "word " * 20, call_id=f"c{n}"),
        )
    ]
    line = [*make_turns(2), text_message("user", "look at all"), *rounds]
    fitted = await fit(line, 150)
    assert fitted.messages[0].text == "look at all"
    assert fitted.messages[-1] == line[-1]
    assert 2 < len(fitted.messages) < 12
    assert has_whole_pairs(fitted.messages)
    assert sorted(map(id, [*fitted.messages, *fitted.dropped])) == sorted(map(id, line))
    with pytest.raises(ContextTooLong, match="largest part"):
        await fit(line, 30)


@given(lines, st.integers(0, 200), st.integers(1, 100))
async def test_pairs_are_never_split(line: list[Message], limit: int, block: int) -> None:
    whole = pair_calls_with_results(line)
    last = next((m for m in reversed(whole) if m.role == "user"), None)
    try:
        fitted = await fit(whole, limit, block=block)
    except ContextTooLong:
        return
    assert has_whole_pairs(fitted.messages)
    assert sum(map(estimate_message_tokens, fitted.messages)) <= limit
    assert len(fitted.messages) + len(fitted.dropped) == len(whole)
    assert last is None or last in fitted.messages
    assert fitted.messages == [] or fitted.messages[-1] is whole[-1]


@pytest.mark.demand("window.prefix_stays")
async def test_a_growing_conversation_keeps_its_beginning() -> None:
    starts: list[str] = []
    for count in range(20, 100):
        fitted = await fit([*make_turns(count), text_message("user", "now")], 600, block=150)
        assert sum(map(estimate_message_tokens, fitted.messages)) > 300
        starts.append(fitted.messages[0].text)
    assert len(set(starts)) < 20, "eighty requests, and the beginning changes seldom"
    assert starts == sorted(starts, key=lambda text: int(text[1:])), "it only moves forward"


def test_a_block_that_is_larger_than_what_is_left_is_halved() -> None:
    _, turns = split_turns(make_turns(4))
    assert align_to_block(turns, 0, 100) == 0
    assert align_to_block(turns, 4, 100) == 4
    assert 2 <= align_to_block(turns, 2, 1 << 20) <= 3


@each_case(
    ("wanted", "context", "most", "capped"),
    [
        (None, 1000, 100, None),
        (100_000, None, None, 100_000),
        (100_000, None, 4096, 4096),
        (100_000, 1000, None, 994),
        (200, 1000, None, 200),
        (900, 1000, 50, 50),
    ],
)
@pytest.mark.demand("window.answers_are_capped")
def test_an_answer_is_capped_at_what_fits(
    wanted: int | None, context: int | None, most: int | None, capped: int | None
) -> None:
    settings = SamplingSettings(max_tokens=wanted)
    prompt = Prompt(messages=(text_message("user", "hi"),), settings=settings)
    assert cap_answer(settings, prompt, context, most).max_tokens == capped


@each_case(
    ("wanted", "tokens", "window", "limit"),
    [
        (None, 20, 8192, None),
        (500, 20, 8192, None),
        (100_000, 20, 8192, 8172),
        (100_000, None, None, 1024),
        (100_000, 8000, 8192, None),
        (5000, 9000, 8192, None),
    ],
)
def test_the_limit_of_an_answer_after_a_refusal(
    wanted: int | None, tokens: int | None, window: int | None, limit: int | None
) -> None:
    prompt = Prompt(messages=(), settings=SamplingSettings(max_tokens=wanted))
    assert find_answer_limit(prompt, ContextTooLong("x", tokens=tokens, window=window)) == limit


class RefusingModel(FakeModel):
    """A model that refuses prompts with more than `room` messages, and says no numbers."""

    def __init__(self, room: int, begins: bool = False) -> None:
        super().__init__()
        self.room = room
        self.begins = begins

    async def stream(self, prompt: Prompt, /) -> AsyncIterator[ModelChunk]:
        self.prompts.append(prompt)
        if self.begins:
            yield TextChunk("Well")
        if len(prompt.messages) > self.room:
            raise ContextTooLong("too long for this model")
        yield TextChunk("ok")
        yield FinishChunk("stop")


@pytest.mark.demand("window.refused_prompts_are_shortened")
async def test_a_refused_prompt_is_shortened_and_sent_again() -> None:
    model = RefusingModel(room=9)
    runtime = Runtime(model=model)
    messages = (*make_turns(30), text_message("user", "now"))
    events = await run_turn(runtime, messages=messages)
    assert isinstance(events[-1], RunFinished)
    assert len(model.prompts) <= 5
    assert model.prompts[-1].messages[-1].text == "now"
    assert [event.name for event in events if isinstance(event, Custom)] == ["history_cut"]
    # The next request of this conversation is short at once.
    model.prompts.clear()
    await run_turn(runtime, messages=messages)
    assert len(model.prompts) == 1


@pytest.mark.demand("window.refused_prompts_are_shortened")
@pytest.mark.parametrize(
    ("model", "turn", "tries"),
    [
        (RefusingModel(room=0), {}, 2),
        (RefusingModel(room=2, begins=True), {}, 1),
        (RefusingModel(room=2), {"truncation": "disabled"}, 1),
    ],
)
async def test_a_refusal_that_stays(model: RefusingModel, turn: dict[str, Any], tries: int) -> None:
    runtime = Runtime(model=model, system="Be brief.")
    events = await run_turn(runtime, messages=(*make_turns(1), text_message("user", "now")), **turn)
    assert isinstance(events[-1], RunFailed)
    assert events[-1].code == "context_too_long"
    assert len(model.prompts) == tries
    assert ("The largest part is message" in events[-1].message) is not model.begins


@pytest.mark.demand("window.refuses_where_asked")
@pytest.mark.parametrize("turns", [1, 60])
async def test_a_window_that_is_only_configured_is_kept_where_nothing_may_be_dropped(turns: int) -> None:
    model = FakeModel(reply_text("ok"))
    runtime = Runtime(assistants=[Assistant("default", model, context=500)])
    messages = (*make_turns(turns), text_message("user", "now"))
    events = await run_turn(runtime, messages=messages, truncation="disabled")
    failed = isinstance(events[-1], RunFailed) and events[-1].code == "context_too_long"
    assert (failed, len(model.prompts)) == ((True, 0) if turns > 1 else (False, 1))


class UncountableModel(FakeModel):
    capabilities = Capabilities(context=200)

    async def find_context(self) -> int | None:
        raise UpstreamRefused("down")

    async def count_prompt_tokens(self, prompt: Prompt, /) -> int:
        raise UpstreamRefused("down")

    async def count_message_tokens(self, messages: Sequence[Message], /) -> list[int]:
        raise UpstreamRefused("down")


async def test_tokens_are_estimated_where_the_model_cannot_count() -> None:
    model = UncountableModel(reply_text("ok"))
    events = await run_turn(Runtime(model=model), messages=(*make_turns(30), text_message("user", "now")))
    assert isinstance(events[-1], RunFinished)
    assert 1 < len(model.prompts[0].messages) < 30
    unknown = BoundModel(UncountableModel())
    assert await HistoryFitter().find_context(unknown) is None


@pytest.mark.demand("window.told_once")
async def test_a_cut_that_grows_within_a_turn_is_told_once() -> None:
    from rightseat import tool
    from tests.kit.app_server import reply_calls

    @tool
    def look() -> str:
        """Look."""
        return "seen " * 60

    model = FakeModel(reply_calls(("look", "{}")), reply_calls(("look", "{}")), reply_text("ok"))
    assistant = Assistant("default", model, tools=(look,), context=600)
    events = await run_turn(Runtime(assistants=[assistant]), messages=(*make_turns(40), text_message("user", "now")))
    assert isinstance(events[-1], RunFinished)
    assert len([event for event in events if isinstance(event, Custom)]) == 1


async def test_a_refusal_of_one_model_says_nothing_of_another() -> None:
    small, large = BoundModel.from_model(FakeModel()), BoundModel.from_model(FakeModel())
    prompt = Prompt(messages=tuple(make_turns(20)))
    fitter = HistoryFitter()
    await fitter.learn_refusal(small, prompt, ContextTooLong("too long"), hash_beginning(prompt.messages))
    assert (await fitter.fit(small, prompt, None)).dropped
    assert not (await fitter.fit(large, prompt, None)).dropped
