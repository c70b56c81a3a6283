"""A client's choice among models, and what the engine makes of what a model can do."""

import pytest

from rightseat import Assistant, Message, Runtime, text_message, tool
from rightseat.types.events import Custom, Event, Interrupt, RunFailed, RunFinished, TextDelta
from rightseat.types.messages import ImageMessagePart
from rightseat.types.model import BoundModel, Capabilities, ToolSpec
from rightseat.types.turn import InterruptAnswer
from tests.kit.app_server import FakeModel, reply_calls, reply_text
from tests.unit.engine.turns import run_turn


def join_text(events: list[Event]) -> str:
    return "".join(event.text for event in events if isinstance(event, TextDelta))


def make_runtime(*models: FakeModel) -> Runtime:
    fast, big = models
    choice = {"fast": BoundModel.from_model(fast), "big": BoundModel.from_model(big)}
    return Runtime(assistants=[Assistant("helper", fast, models=choice)])


@pytest.mark.parametrize(("model", "answer"), [(None, "fast"), ("fast", "fast"), ("big", "big")])
async def test_the_model_that_is_named_answers(model: str | None, answer: str) -> None:
    runtime = make_runtime(FakeModel(reply_text("fast")), FakeModel(reply_text("big")))
    assert join_text(await run_turn(runtime, model=model)) == answer


async def test_one_that_is_not_allowed_is_refused_and_those_that_are_named() -> None:
    runtime = make_runtime(FakeModel(reply_text("fast")), FakeModel(reply_text("big")))
    last = (await run_turn(runtime, model="gpt-9"))[-1]
    assert isinstance(last, RunFailed)
    assert (last.code, last.param) == ("invalid_request", "model")
    assert last.message == "helper may not use the model 'gpt-9'. Choose one of: fast, big."


async def test_where_nothing_may_be_chosen_a_name_is_not_looked_at() -> None:
    assert join_text(await run_turn(Runtime(model=FakeModel(reply_text("own"))), model="gpt-9")) == "own"


async def test_inside_another_run_an_assistant_has_its_own_model() -> None:
    runtime = make_runtime(FakeModel(reply_text("fast")), FakeModel(reply_text("big")))
    assert join_text(await run_turn(runtime, model="big", depth=1)) == "fast"


@pytest.mark.demand("models.front_end_choose_among", "models.conversation_moves_between_vendors")
async def test_a_question_may_be_gone_on_with_by_another_model() -> None:
    @tool(confirm=True)
    def wipe() -> str:
        return "wiped"

    fast, big = FakeModel(reply_calls(("wipe", "{}"))), FakeModel(reply_text("done by big"))
    choice = {"fast": BoundModel.from_model(fast), "big": BoundModel.from_model(big)}
    runtime = Runtime(assistants=[Assistant("helper", fast, tools=(wipe,), models=choice)])
    asked = await run_turn(runtime)
    [question] = [event for event in asked if isinstance(event, Interrupt)]
    told = await run_turn(runtime, model="big", answers=(InterruptAnswer(question.id, payload={"approved": True}),))
    assert join_text(told) == "done by big"


async def test_an_assistant_slash_a_model_is_what_a_client_may_ask_for() -> None:
    runtime = make_runtime(FakeModel(reply_text("fast")), FakeModel(reply_text("big")))
    assert (runtime.resolve_responder("helper/big"), runtime.resolve_model("helper/big")) == ("helper", "big")
    assert [runtime.resolve_model(name) for name in ("helper", "nobody/big", "/big", None)] == [None] * 4
    assert runtime.list_models("helper") == ("fast", "big")
    assert runtime.list_models("nobody") == ()


async def test_models_that_may_be_chosen_are_started_and_closed_with_the_runtime() -> None:
    class Held(FakeModel):
        ready = False
        did: list[str]

        async def start(self) -> None:
            self.did = ["start"]
            self.ready = True

        async def close(self) -> None:
            self.did.append("close")

    big = Held()
    runtime = make_runtime(FakeModel(), big)
    assert not runtime.ready
    await runtime.start()
    assert runtime.ready
    await runtime.close()
    assert big.did == ["start", "close"]


class NoImageModel(FakeModel):
    capabilities = Capabilities(images=False)


@pytest.mark.demand("models.unknown_tuning_knobs_ignored")
async def test_a_picture_for_a_model_that_sees_none_is_an_error_that_names_others() -> None:
    picture = Message("user", (ImageMessagePart("https://x.test/a.png"),))
    assistant = Assistant("default", NoImageModel(reply_text("no")), vision_models=("vision",))
    last = (await run_turn(Runtime(assistants=[assistant]), messages=(picture,)))[-1]
    assert isinstance(last, RunFailed)
    assert (last.status, last.message) == (400, "This model does not accept images. Ask one that does: vision.")
    # A model that says nothing of itself is believed.
    events = await run_turn(Runtime(model=FakeModel(reply_text("ok"))), messages=(picture,))
    assert isinstance(events[-1], RunFinished)


class NoToolModel(FakeModel):
    capabilities = Capabilities(tools=False)


class NoParallelModel(FakeModel):
    capabilities = Capabilities(parallel=False)


@pytest.mark.demand("models.table_model_tools_parallel")
async def test_what_a_model_can_do_decides_what_it_is_sent() -> None:
    wordy, single = NoToolModel(reply_text("ok")), NoParallelModel(reply_text("ok"))
    add = ToolSpec("add", "", {"type": "object"})
    for model in (wordy, single):
        await run_turn(Runtime(model=model), tools=(add,))
    assert wordy.prompts[0].tools == ()
    assert [spec.name for spec in single.prompts[0].tools] == ["add"]
    assert single.prompts[0].settings.parallel_calls is False


class SmallContextModel(FakeModel):
    capabilities = Capabilities(context=60)


@pytest.mark.demand("models.table_model_tools_parallel")
async def test_the_table_s_context_cuts_the_history() -> None:
    model = SmallContextModel(reply_text("ok"))
    history = tuple(text_message("user", "words " * 10) for _ in range(20))
    events = await run_turn(Runtime(model=model), messages=history)
    [cut] = [event for event in events if isinstance(event, Custom)]
    assert cut.name == "history_cut"
    assert cut.value["context"] == 60
    assert len(model.prompts[0].messages) < 20
