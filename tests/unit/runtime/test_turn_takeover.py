"""Model turns of a worker that is taken for dead go on at another one. The dead worker lives on here, and what it does
afterwards must have no effect."""

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import replace as replace_fields
from typing import Any, cast

import pytest
from msgspec.structs import replace

from rightseat import Runtime, Turn, text_message
from rightseat.engine.tool_calls import LEFT_OUT, MAY_HAVE_RUN
from rightseat.errors import Restarting, StoreFailed
from rightseat.runtime.takeover import StoredCheckpoints
from rightseat.stores.memory import MemoryStore
from rightseat.tools.function import as_tool, tool
from rightseat.types.checkpoints import LoggedMessages, TurnCheckpoint
from rightseat.types.chunks import ModelChunk
from rightseat.types.events import CallEnd, CallResult, CallStart, Event, Interrupt, RunFinished, RunStarted, TextStart
from rightseat.types.model import Prompt
from rightseat.types.stores import Continuation
from rightseat.types.threads import RUN_RESTARTED, NumberedEntry, make_checkpoint_key
from rightseat.types.tools import ToolContext
from rightseat.types.turn import InterruptAnswer, TurnClient
from tests.kit.app_server import FakeModel, reply_calls, reply_text
from tests.kit.waiting import wait_until
from tests.unit.runtime.shared_workers import ME, Workers, collect, join_words, reading

pytestmark = pytest.mark.demand("scale.turns_go_on")
DONE = reply_text("All ", "done.")


class Shop:
    """The tools of both workers: an effect and a look, which wait while `gate` is closed."""

    def __init__(self) -> None:
        self.gate = asyncio.Event()
        self.calls: list[str] = []

    async def order(self) -> str:
        """Order it."""
        return await self.count("order")

    async def look(self) -> str:
        """Look at it."""
        return await self.count("look")

    def approve(self, ctx: ToolContext) -> str:
        """Order it after a yes."""
        self.calls.append("approve")
        return "ordered" if ctx.confirm("Order it?") else "left"

    async def count(self, name: str) -> str:
        self.calls.append(name)
        number = len(self.calls)
        await self.gate.wait()
        return f"{name} {number}"

    @property
    def tools(self) -> list[Any]:
        return [as_tool(self.order), tool(effect="reads")(self.look), as_tool(self.approve)]


class TwoRuntimes:
    """A Runtime for each worker, with models of their own: what each is asked is seen apart."""

    def __init__(self, workers: Workers) -> None:
        self.workers = workers
        self.shop = Shop()
        self.a, self.b = FakeModel(), FakeModel()
        self.runtimes: list[Runtime] = []
        for worker, model in ((workers.a, self.a), (workers.b, self.b)):
            runtime = Runtime(model=model, tools=self.shop.tools, store=cast(Any, worker.store))
            worker.get_runner = runtime.get_runner
            worker.poll_seconds = 0.01
            self.runtimes.append(runtime)
        self.hidden: Callable[[Event], bool] = lambda entry: False
        self.hide_entries()

    def hide_entries(self) -> None:
        """Let entries of A that `hidden` names, and all that A does after them, never reach the store: it is killed."""
        store: Any = self.workers.a.store
        append_entries, delete, update, is_cut = (
            store.append_entries,
            store.delete_checkpoint,
            store.update_checkpoint,
            False,
        )

        def append(owner: Any, thread: str, first: int, entries: Any, *more: Any) -> Any:
            nonlocal is_cut
            is_cut = is_cut or any(map(self.hidden, entries))
            if is_cut:
                return asyncio.get_running_loop().create_future()
            return append_entries(owner, thread, first, entries, *more)

        async def delete_checkpoint(owner: Any, key: str) -> None:
            if not is_cut:
                await delete(owner, key)

        async def update_checkpoint(owner: Any, key: str, change: Any, seconds: float | None = None) -> None:
            # Calls that are about to begin are noted before the log lacks anything of them.
            await update(owner, key, (lambda body: change(body) or body) if is_cut else change, seconds)

        store.append_entries = append
        store.delete_checkpoint, store.update_checkpoint = delete_checkpoint, update_checkpoint

    async def start(self, run: str = "r1", **fields: Any) -> AsyncIterator[NumberedEntry]:
        turn = Turn(messages=(text_message("user", "Order it."),), thread="t", run=run, owner=ME)
        items = await self.workers.a.start(replace(turn, **fields), self.runtimes[0].run)
        active = self.workers.a.active_runs.get((ME.name, "t"))
        if active is not None and active.recording is not None:
            await active.recording
        return items

    async def take_over(self) -> list[NumberedEntry]:
        """Let B go on, and return the whole thread when the run has ended."""
        self.workers.kill(self.workers.a)
        await self.workers.b.sweep_once()
        return await collect(self.workers.b.follow(ME, "t"))

    async def answer(self, run: str, payload: Any, interrupt: str) -> list[NumberedEntry]:
        turn = Turn(messages=(text_message("user", "Order it."),), thread="t", run=run, owner=ME)
        turn = replace(turn, answers=(InterruptAnswer(interrupt, payload=payload),))
        return await collect(await self.workers.b.start(turn, self.runtimes[1].run))


@pytest.fixture
def both(workers: Workers) -> TwoRuntimes:
    return TwoRuntimes(workers)


def find(items: list[NumberedEntry], kind: Any) -> list[Any]:
    return [entry for _, entry in items if isinstance(entry, kind)]


def check_one_run(items: list[NumberedEntry], runs: int = 1) -> None:
    numbers = [number for number, _ in items]
    assert numbers == sorted(set(numbers))
    assert len(find(items, RunStarted)) == runs
    for kind in (CallStart, CallEnd, CallResult, Interrupt):
        ids = [event.id for event in find(items, kind)]
        assert len(ids) == len(set(ids)), kind


async def wait_here(prompt: Prompt) -> AsyncIterator[ModelChunk]:
    await asyncio.Event().wait()
    yield DONE[0]


async def test_a_worker_that_was_taken_for_dead_begins_no_call(both: TwoRuntimes) -> None:
    gate = asyncio.Event()

    async def answer_late(prompt: Prompt) -> AsyncIterator[ModelChunk]:
        await gate.wait()
        for chunk in reply_calls(("order", "{}")):
            yield chunk

    both.a.replies = [answer_late, DONE]
    both.b.replies = [reply_calls(("order", "{}")), DONE]
    both.shop.gate.set()
    await both.start()
    await wait_until(lambda: len(both.a.prompts) == 1)
    items = await both.take_over()
    gate.set()
    await wait_until(lambda: not both.workers.a.active_runs)
    assert both.shop.calls == ["order"]
    check_one_run(items)
    assert join_words(items) == "All done."
    assert both.a.prompts[0].messages == both.b.prompts[0].messages


async def test_a_call_with_an_effect_is_asked_about_and_one_that_reads_runs_again(both: TwoRuntimes) -> None:
    both.a.replies = [reply_calls(("order", "{}"), ("look", "{}"), text="I order.")]
    both.b.replies = [DONE]
    await both.start()
    await wait_until(lambda: sorted(both.shop.calls) == ["look", "order"])
    both.workers.kill(both.workers.a)
    await both.workers.b.sweep_once()
    await wait_until(lambda: len(both.shop.calls) == 3)
    both.shop.gate.set()
    items = await collect(both.workers.b.follow(ME, "t"))
    check_one_run(items)
    assert both.shop.calls[2] == "look"
    (question,) = find(items, Interrupt)
    assert "may have run" in question.message
    assert [result.content for result in find(items, CallResult)] == ["look 3"]
    rest = await both.answer("r2", {"then": "skip"}, question.id)
    assert both.shop.calls.count("order") == 1
    assert [result.content for result in find(rest, CallResult)] == [LEFT_OUT.text]
    assert join_words(rest) == "All done."


async def test_a_call_that_shall_run_again_runs_once_more(both: TwoRuntimes) -> None:
    both.a.replies = [reply_calls(("order", "{}"))]
    both.b.replies = [DONE]
    await both.start()
    await wait_until(lambda: both.shop.calls == ["order"])
    (question,) = find(await both.take_over(), Interrupt)
    # A result that the old worker still gets would be used.
    await both.workers.a.close()
    both.shop.gate.set()
    rest = await both.answer("r2", {"then": "retry"}, question.id)
    assert both.shop.calls == ["order", "order"]
    assert [result.content for result in find(rest, CallResult)] == ["order 2"]
    again = await both.answer("r2", {"then": "retry"}, question.id)
    assert again[-1] == rest[-1], "the same run is replayed"
    assert len(both.shop.calls) == 2


async def test_where_the_client_shows_no_questions_the_model_is_told(both: TwoRuntimes) -> None:
    both.a.replies = [reply_calls(("order", "{}"))]
    both.b.replies = [DONE]
    await both.start(client=TurnClient(shows_interrupts=False))
    await wait_until(lambda: both.shop.calls == ["order"])
    items = await both.take_over()
    check_one_run(items)
    assert [result.content for result in find(items, CallResult)] == [MAY_HAVE_RUN]
    assert both.b.prompts[0].messages[-1].text == MAY_HAVE_RUN
    assert both.shop.calls == ["order"]


async def test_what_the_log_lacks_of_an_answer_comes_with_the_next_worker(both: TwoRuntimes) -> None:
    both.hidden = lambda entry: isinstance(entry, CallStart)
    both.a.replies = [reply_calls(("look", "{}"), text="I look.")]
    both.b.replies = [DONE]
    await both.start()
    await wait_until(lambda: both.shop.calls == ["look"])
    both.shop.gate.set()
    items = await both.take_over()
    check_one_run(items)
    assert len(find(items, CallStart)) == len(find(items, CallEnd)) == len(find(items, CallResult)) == 1
    assert join_words(items) == "I look.All done."


async def test_a_result_that_the_log_lacks_comes_with_the_next_worker(both: TwoRuntimes) -> None:
    both.hidden = lambda entry: isinstance(entry, CallResult)
    both.shop.gate.set()
    both.a.replies = [reply_calls(("order", "{}"), ("nothing", "{}")), wait_here]
    both.b.replies = [DONE]
    await both.start()
    await wait_until(lambda: len(both.a.prompts) == 2)
    items = await both.take_over()
    check_one_run(items)
    results = find(items, CallResult)
    assert [result.failed for result in results] == [False, True]
    assert both.a.prompts[1].messages == both.b.prompts[0].messages
    assert both.shop.calls == ["order"]


async def test_a_part_of_an_answer_after_the_calls_ends_the_run_as_restarted(both: TwoRuntimes) -> None:
    async def say_a_word(prompt: Prompt) -> AsyncIterator[ModelChunk]:
        yield DONE[0]
        await asyncio.Event().wait()

    both.shop.gate.set()
    both.a.replies = [reply_calls(("order", "{}")), say_a_word]
    async with reading(await both.start()) as seen:
        await wait_until(lambda: join_words(seen) == "All ")
        whole = await both.take_over()
    check_one_run(whole)
    assert whole[-1][1] == RUN_RESTARTED
    assert len(find(whole, TextStart)) == 1
    assert both.b.prompts == []


@pytest.mark.parametrize("hidden", [RunFinished, Interrupt], ids=["logged", "not logged"])
async def test_a_question_is_asked_once(both: TwoRuntimes, hidden: type) -> None:
    both.hidden = lambda entry: isinstance(entry, hidden)
    both.a.replies = [reply_calls(("approve", "{}"))]
    both.b.replies = [DONE]
    await both.start()
    await wait_until(lambda: not both.workers.a.active_runs)
    items = await both.take_over()
    check_one_run(items)
    (question,) = find(items, Interrupt)
    assert items[-1][1] == RunFinished("interrupt")
    rest = await both.answer("r2", {"approved": True}, question.id)
    assert [result.content for result in find(rest, CallResult)] == ["ordered"]
    assert both.shop.calls == ["approve", "approve"], "asked, and with the answer"


async def test_an_answer_in_words_is_used_once(both: TwoRuntimes) -> None:
    tools = [replace_fields(each, confirm=each.name == "order") for each in both.shop.tools]
    for number, worker in enumerate((both.workers.a, both.workers.b)):
        model = (both.a, both.b)[number]
        both.runtimes[number] = Runtime(model=model, tools=tools, store=cast(Any, worker.store))
        worker.get_runner = both.runtimes[number].get_runner
    both.a.replies = [reply_calls(("order", "{}"))]
    both.b.replies = [DONE]
    await collect(await both.start("r0"))
    messages = (text_message("user", "Order it."), text_message("user", "yes"))
    await both.start("r1", messages=messages)
    await wait_until(lambda: both.shop.calls == ["order"])
    items = await both.take_over()
    check_one_run(items, runs=2)
    question = find(items, Interrupt)[-1]
    assert "may have run" in question.message
    rest = await both.answer("r2", {"then": "skip"}, question.id)
    assert join_words(rest) == "All done."
    assert both.shop.calls == ["order"]


async def test_a_call_with_an_effect_does_not_run_if_its_checkpoint_is_not_kept(both: TwoRuntimes) -> None:
    store: Any = both.workers.a.store
    update_checkpoint = store.update_checkpoint

    async def fail(owner: Any, key: str, *more: Any) -> None:
        if key == make_checkpoint_key("t", "r1"):
            raise StoreFailed("The disk is full.")
        await update_checkpoint(owner, key, *more)

    store.update_checkpoint = fail
    both.shop.gate.set()
    both.a.replies = [reply_calls(("order", "{}"), ("look", "{}")), DONE]
    items = await collect(await both.start())
    assert both.shop.calls == ["look"]
    assert [result.failed for result in find(items, CallResult)] == [True, False]
    assert join_words(items) == "All done."


async def test_nothing_is_kept_after_the_end(both: TwoRuntimes) -> None:
    both.shop.gate.set()
    both.a.replies = [reply_calls(("order", "{}")), DONE]
    await collect(await both.start())
    await wait_until(lambda: not both.workers.a.active_runs)
    store: Any = both.workers.a.store
    for _ in range(100):
        if await store.get_checkpoint(ME, make_checkpoint_key("t", "r1")) is None:
            break
        await asyncio.sleep(0.01)
    assert await store.get_checkpoint(ME, make_checkpoint_key("t", "r1")) is None


async def test_only_the_worker_that_has_the_run_replaces_its_checkpoint() -> None:
    store = MemoryStore()
    turn = Turn(messages=(), thread="t", run="r", owner=ME)
    first, second = StoredCheckpoints(store, turn), StoredCheckpoints(store, turn)
    continuation = Continuation(
        ticket="x", owner=ME, assistant="", added=(), calls={}, rounds=1, number=1, digest="", expires=0.0
    )
    checkpoint = TurnCheckpoint(continuation=continuation, begun=("c1",))
    await first.save(checkpoint)
    await second.take_over(1, LoggedMessages())
    assert second.saved == checkpoint
    with pytest.raises(Restarting):
        await first.save(checkpoint)
    await second.save(checkpoint)
