"""The next model when one is down, and a model's own share."""

import asyncio
import logging
from collections.abc import AsyncIterator
from typing import Any

import pytest

from rightseat import Assistant, Message, Runtime, errors, text_message
from rightseat.errors import RightseatError, UpstreamBusy, UpstreamError
from rightseat.middleware.model_wrappers import FallbackMember, FallbackModel, ModelLimits, RateLimitedModel
from rightseat.middleware.quota import Quota, Quotas, UsageTracker
from rightseat.types.chunks import FinishChunk, ModelChunk, TextChunk, UsageChunk
from rightseat.types.events import RunFailed, Usage
from rightseat.types.messages import ImageMessagePart, ToolCall
from rightseat.types.model import Capabilities, Model, ModelInfo, Prompt, SamplingSettings, ToolSpec
from rightseat.types.streams import closing
from tests.kit.app_server import FakeModel, reply_text
from tests.unit.engine.turns import run_turn

HELLO = Prompt(messages=(text_message("user", "hi"),))


class FailingModel(Model):
    """Says some words and fails."""

    def __init__(self, error: RightseatError, *words: str) -> None:
        self.error = error
        self.words = words
        self.calls = 0

    async def stream(self, prompt: Prompt, /) -> AsyncIterator[ModelChunk]:
        self.calls += 1
        for word in self.words:
            yield TextChunk(word)
        raise self.error


def make_fallback(*models: Model) -> FallbackModel:
    names = "abcdef"
    return FallbackModel(
        [FallbackMember(names[n], one, ModelInfo("kit", names[n], 1e6, 1e6)) for n, one in enumerate(models)]
    )


async def collect_text(model: Model, prompt: Prompt = HELLO) -> str:
    async with closing(model.stream(prompt)) as stream:
        return "".join([fragment.text async for fragment in stream if isinstance(fragment, TextChunk)])


FALLBACK_ERRORS = (UpstreamError, UpstreamBusy, errors.UpstreamRefused, errors.UpstreamOverloaded, errors.Incomplete)


@pytest.mark.demand("models.models_name_fallbacks_next")
@pytest.mark.parametrize(
    "kind", [*FALLBACK_ERRORS, errors.UpstreamTimeout, errors.UpstreamDenied, errors.UpstreamGarbled]
)
async def test_the_next_one_answers_when_one_is_down(
    kind: type[RightseatError], caplog: pytest.LogCaptureFixture
) -> None:
    down = FailingModel(kind("No."))
    with caplog.at_level(logging.WARNING):
        assert await collect_text(make_fallback(down, down, FakeModel(reply_text("c")))) == "c"
    assert down.calls == 2
    assert [record.getMessage().split(":")[0] for record in caplog.records] == [
        f"the model a is down ({down.error.code})",
        f"the model b is down ({down.error.code})",
    ]


@pytest.mark.demand("models.models_name_fallbacks_next")
@pytest.mark.parametrize(
    "kind", [errors.UpstreamRejected, errors.ContentRefused, errors.OutputInvalid, errors.ContextTooLong]
)
async def test_what_the_request_is_to_blame_for_stays_an_error(kind: type[RightseatError]) -> None:
    second = FakeModel(reply_text("b"))
    with pytest.raises(kind):
        await collect_text(make_fallback(FailingModel(kind("No.")), second))
    assert second.prompts == []


@pytest.mark.demand("models.models_name_fallbacks_next")
async def test_once_something_was_said_there_is_no_switch() -> None:
    second = FakeModel(reply_text("b"))
    events = await run_turn(Runtime(model=make_fallback(FailingModel(errors.Incomplete("Cut."), "half"), second)))
    assert isinstance(events[-1], RunFailed)
    assert events[-1].code == "incomplete"
    assert second.prompts == []


async def test_the_last_one_s_error_is_the_answer_s() -> None:
    with pytest.raises(errors.UpstreamDenied):
        await collect_text(make_fallback(FailingModel(UpstreamBusy("No.")), FailingModel(errors.UpstreamDenied("No."))))


class TextOnlyModel(FakeModel):
    capabilities = Capabilities(images=False, tools=False)


@pytest.mark.demand("models.models_name_fallbacks_next")
async def test_one_that_cannot_take_the_prompt_is_passed_over() -> None:
    picture = Prompt(messages=(Message("user", (ImageMessagePart("https://x.test/a.png"),)),))
    calling = Prompt(messages=(), tools=(ToolSpec("add", "", {}),))
    for prompt in (picture, calling):
        assert (
            await collect_text(
                make_fallback(FailingModel(UpstreamError("No.")), TextOnlyModel(), FakeModel(reply_text("c"))), prompt
            )
            == "c"
        )
    assert await collect_text(make_fallback(FailingModel(UpstreamError("No.")), TextOnlyModel(reply_text("b")))) == "b"


@pytest.mark.demand("models.models_name_fallbacks_next")
async def test_each_is_counted_and_paid_for_as_itself() -> None:
    said_: list[ModelChunk] = [TextChunk("b"), UsageChunk(Usage(2, 3)), FinishChunk("stop")]
    runtime = Runtime(
        assistants=[Assistant("default", make_fallback(FailingModel(UpstreamBusy("No.")), FakeModel(said_)))],
        quotas=Quotas(Quota(spend_per_day=100)),
    )
    events = await run_turn(runtime)
    assert runtime.meters.model_calls.values == {("a", "upstream_busy"): 1, ("b", "ok"): 1}
    assert runtime.meters.cost.values == {("b",): 5.0}
    assert isinstance(runtime.ledger, UsageTracker)
    assert runtime.ledger.accounts["local"].spent == 5.0
    assert getattr(events[-1], "usage", None) == Usage(2, 3, 0, 5.0)


async def test_it_is_ready_while_one_of_them_is_and_holds_them_all() -> None:
    class Held(FakeModel):
        ready = False
        did: tuple[str, ...] = ()

        async def start(self) -> None:
            self.did += ("start",)
            raise errors.UpstreamRefused("Not yet.")

        async def close(self) -> None:
            self.did += ("close",)

    first, second = Held(), Held()
    both = make_fallback(first, second)
    assert not both.ready
    second.ready = True
    assert both.ready
    await both.start()
    await both.close()
    assert (first.did, second.did) == (("start", "close"),) * 2
    assert both.capabilities is first.capabilities


class FakeClock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def limit_model(model: Model, **share: Any) -> tuple[RateLimitedModel, FakeClock]:
    clock = FakeClock()
    return RateLimitedModel(model, ModelInfo("kit", "m"), ModelLimits(**share), UsageTracker(clock)), clock


@pytest.mark.demand("models.models_name_limits_own")
async def test_requests_a_minute_leak_away() -> None:
    model, clock = limit_model(FakeModel(*[reply_text("ok")] * 4), requests_per_minute=2)
    assert await collect_text(model) + await collect_text(model) == "okok"
    with pytest.raises(UpstreamBusy, match="2 requests a minute") as caught:
        await collect_text(model)
    assert caught.value.retry_after == 30
    clock.now += 30
    assert await collect_text(model) == "ok"


@pytest.mark.demand("models.models_name_limits_own")
async def test_answers_at_a_time_are_given_back_also_by_who_leaves() -> None:
    model, _ = limit_model(FakeModel(*[reply_text("one", "two")] * 3), concurrent=1)
    async with closing(model.stream(HELLO)) as first:
        await anext(first)
        with pytest.raises(UpstreamBusy, match="already gives 1 answers"):
            await collect_text(model)
    assert await collect_text(model) == "onetwo"


@pytest.mark.demand("models.models_name_limits_own")
@pytest.mark.parametrize(("given", "sent"), [(None, 10), (5, 5), (50, 10)])
async def test_an_answer_s_tokens_are_capped(given: int | None, sent: int) -> None:
    lines = FakeModel(reply_text("ok"))
    model, _ = limit_model(lines, answer_tokens=10)
    await collect_text(model, Prompt(messages=(), settings=SamplingSettings(max_tokens=given)))
    assert lines.prompts[0].settings.max_tokens == sent


@pytest.mark.demand("models.models_name_limits_own")
async def test_over_its_share_the_next_model_answers() -> None:
    async def hold(prompt: Prompt) -> AsyncIterator[ModelChunk]:
        yield TextChunk("…")
        await asyncio.Event().wait()

    full, _ = limit_model(FakeModel(hold), concurrent=1)
    async with closing(full.stream(HELLO)) as held:
        await anext(held)
        assert await collect_text(make_fallback(full, FakeModel(reply_text("b")))) == "b"


@pytest.mark.demand("models.models_name_fallbacks_next")
async def test_the_next_one_is_asked_in_a_form_that_it_takes() -> None:
    class Wordy(FakeModel):
        capabilities = Capabilities(tools=False)

    call = ToolCall("c1", "add", "{}")
    told = (
        text_message("user", "2+3?"),
        text_message("assistant", "", calls=(call,)),
        text_message("tool", "5", call_id="c1"),
    )
    second = Wordy(reply_text("b"))
    assert await collect_text(make_fallback(FailingModel(UpstreamBusy("No.")), second), Prompt(messages=told)) == "b"
    [asked] = second.prompts
    assert not any(message.calls or message.role == "tool" for message in asked.messages)
