"""What every Journal keeps: threads as they were said, for their owner, from any number on, within a size."""

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from rightseat.errors import Conflict
from rightseat.types.events import (
    CallArgs,
    CallResult,
    CallStart,
    Custom,
    Interrupt,
    ReasoningDelta,
    RunFailed,
    RunFinished,
    RunStarted,
    TextDelta,
    TextEnd,
    TextStart,
)
from rightseat.types.messages import Message, ToolCall, text_message
from rightseat.types.stores import CallState, Continuation
from rightseat.types.threads import (
    RUN_NUMBERS,
    RUN_RESTARTED,
    TAKE_OVER_NUMBERS,
    EntryRow,
    Lease,
    LeaseHolder,
    LeaseLost,
    NumberedEntry,
    OrphanedRun,
    RunEnded,
    ThreadBusy,
    ThreadEntry,
    UserInput,
    extract_user_input,
    make_title,
    merge_rows,
)
from rightseat.types.turn import Owner, Turn
from tests.contract.stores.members import FullStore
from tests.contract.stores.sample_runs import (
    ME,
    NUMBERED_ENTRIES,
    RUN_ENTRIES,
    YOU,
    append_run,
    join_deltas,
    read_all_entries,
)


@pytest.mark.demand("copilotkit.threads_kept_stores_memory")
@pytest.mark.parametrize("step", [1, 3, len(RUN_ENTRIES)])
async def test_what_is_appended_is_read_whole_from_any_number(store: FullStore, step: int) -> None:
    assert await append_run(store, RUN_ENTRIES, step=step) == 0
    for after in range(len(RUN_ENTRIES) + 1):
        found = await read_all_entries(store, after=after)
        assert join_deltas(found) == join_deltas(NUMBERED_ENTRIES[after:])
        assert [number for number, _ in found][-1:] == ([len(RUN_ENTRIES)] if after < len(RUN_ENTRIES) else [])


async def test_a_text_that_has_ended_is_one_entry(store: FullStore) -> None:
    """However many tokens it came in: each of them by itself would take many times its size."""
    tokens = [f"word{number} " for number in range(300)]
    thoughts: list[ThreadEntry] = [ReasoningDelta("i", token) for token in tokens]
    deltas: list[ThreadEntry] = [TextDelta("m", token) for token in tokens]
    run: list[ThreadEntry] = [*thoughts, TextStart("m"), *deltas, TextEnd("m"), RunFinished("stop")]
    await append_run(store, run, step=1)
    found = await read_all_entries(store)
    assert [number for number, _ in found] == [300, 301, 601, 602, 603]
    assert [found[0][1], found[2][1]] == [ReasoningDelta("i", "".join(tokens)), TextDelta("m", "".join(tokens))]
    assert (await read_all_entries(store, after=401))[0] == (601, TextDelta("m", "".join(tokens[100:])))
    thread = await store.get_thread(ME, "t")
    assert thread is not None
    assert thread.size < 10 * len("".join(tokens))


async def test_up_to_a_number_too(store: FullStore) -> None:
    await append_run(store, RUN_ENTRIES, step=4)
    for after in range(len(RUN_ENTRIES)):
        for until in range(after, len(RUN_ENTRIES) + 1):
            assert join_deltas(await store.read_entries(ME, "t", after, until)) == join_deltas(
                NUMBERED_ENTRIES[after:until]
            )


@given(st.data())
def test_rows_can_be_entered_at_any_number(data: st.DataObject) -> None:
    texts = data.draw(st.lists(st.text(max_size=5), min_size=1, max_size=12))
    kinds = [TextDelta, ReasoningDelta, CallArgs]
    chosen = [data.draw(st.sampled_from(kinds)) for _ in texts]
    ids = [data.draw(st.sampled_from("ab")) for _ in texts]
    numbered: list[NumberedEntry] = [
        (number, kind(id, text)) for number, (kind, id, text) in enumerate(zip(chosen, ids, texts, strict=True), 5)
    ]
    made = merge_rows(numbered)
    assert [row.first for row in made] == [5, *(row.last + 1 for row in made[:-1])]
    for after in range(4, 5 + len(texts)):
        for until in range(after, 5 + len(texts)):
            found = [part for row in made if (part := row.slice(after, until))]
            assert join_deltas(found) == join_deltas([one for one in numbered if after < one[0] <= until])


def test_deltas_are_merged_and_others_are_not() -> None:
    made = merge_rows(enumerate([TextDelta("m", "a"), TextDelta("m", "b"), TextEnd("m")], 1))
    assert made == [EntryRow(1, 2, TextDelta("m", "ab"), (1, 2)), EntryRow(3, 3, TextEnd("m"))]


async def test_numbers_go_on_across_runs(store: FullStore) -> None:
    await append_run(store, RUN_ENTRIES)
    assert await append_run(store, RUN_ENTRIES[1:]) == len(RUN_ENTRIES)
    assert join_deltas(await read_all_entries(store)) == join_deltas(NUMBERED_ENTRIES) + join_deltas(
        NUMBERED_ENTRIES[1:]
    )
    assert await store.run_start(ME, "t", 3) == 0
    assert await store.run_start(ME, "t", len(RUN_ENTRIES)) == 0
    assert await store.run_start(ME, "t", len(RUN_ENTRIES) + 4) == len(RUN_ENTRIES)
    assert await store.run_start(ME, "t", 10**6) == len(RUN_ENTRIES)
    assert await store.run_start(ME, "nothing", 3) == 0


async def test_a_thread_has_one_run_at_a_time(store: FullStore) -> None:
    await store.begin_run(ME, "t", "r1", assistant="", name="")
    with pytest.raises(Conflict, match="already running"):
        await store.begin_run(ME, "t", "r2", assistant="", name="")
    assert (await store.begin_run(ME, "other", "r2", assistant="", name="")).before == 0
    assert (await store.begin_run(YOU, "t", "r2", assistant="", name="")).before == 0
    store.append_entries(ME, "t", 1, [RunFailed("stopped", "x")])
    assert (await store.begin_run(ME, "t", "r3", assistant="", name="")).before == 1


@pytest.mark.demand("scale.fence")
async def test_a_thread_says_who_has_it(store: FullStore) -> None:
    assert await store.get_lease_holder(ME, "t") is None
    assert await store.list_lease_workers() == set()
    first = await store.begin_run(ME, "t", "r1", assistant="", name="")
    holder = await store.get_lease_holder(ME, "t")
    assert holder == LeaseHolder("r1", store.worker, first.fence)
    with pytest.raises(ThreadBusy) as busy:
        await store.begin_run(ME, "t", "r2", assistant="", name="")
    assert busy.value.holder == holder
    assert await store.list_lease_workers() == {store.worker}
    assert await store.get_lease_holder(YOU, "t") is None
    store.append_entries(ME, "t", 1, [RunFinished("stop")], first.fence)
    assert await store.get_lease_holder(ME, "t") is None
    second = await store.begin_run(ME, "t", "r2", assistant="", name="")
    assert second.fence > first.fence
    holder = await store.get_lease_holder(ME, "t")
    assert holder is not None
    assert holder.before == second.before == 1


@pytest.mark.demand("scale.fence")
async def test_a_worker_that_was_declared_dead_writes_nothing_more(store: FullStore) -> None:
    lease = await store.begin_run(ME, "t", "r1", assistant="", name="")
    store.append_entries(ME, "t", 1, [RunStarted("t", "r1"), TextStart("m"), TextDelta("m", "a")], lease.fence)
    assert await store.end_orphaned_runs({"another"}) == []
    assert await store.end_orphaned_runs({store.worker}) == [OrphanedRun(ME, "t", "r1")]
    after = await read_all_entries(store, "t")
    assert [type(entry) for _, entry in after[-2:]] == [TextEnd, RunFailed]
    assert after[-1][1] == RUN_RESTARTED
    assert after[-1][0] > RUN_NUMBERS, "its reader may have seen more than was stored"
    lost = store.append_entries(ME, "t", 4, [TextEnd("m")], lease.fence)
    assert lost is not None
    with pytest.raises(LeaseLost):
        await lost
    assert await store.get_lease_holder(ME, "t") is None
    again = await store.begin_run(ME, "t", "r2", assistant="", name="")
    lost = store.append_entries(ME, "t", 5, [RunFinished("stop")], lease.fence)
    assert lost is not None
    with pytest.raises(LeaseLost):
        await lost
    assert await read_all_entries(store, "t") == after
    assert await store.get_lease_holder(ME, "t") == LeaseHolder("r2", store.worker, again.fence, again.before)


async def begin_and_take_over(store: FullStore) -> tuple[Lease, Lease]:
    """Take a run over in its middle from a worker that is only said to be dead; return both leases."""
    old = await store.begin_run(ME, "t", "r1", assistant="", name="", digest="d")
    store.append_entries(ME, "t", 1, [RunStarted("t", "r1"), TextStart("m"), TextDelta("m", "a")], old.fence)
    assert await store.list_orphaned_runs({"another"}) == []
    assert await store.list_orphaned_runs({store.worker}) == [OrphanedRun(ME, "t", "r1")]
    holder = await store.get_lease_holder(ME, "t")
    assert holder is not None
    assert await store.take_over_run(ME, "t", replace(holder, fence=holder.fence + 1)) is None
    assert await store.take_over_run(YOU, "t", holder) is None
    lease = await store.take_over_run(ME, "t", holder)
    assert lease is not None
    assert await store.take_over_run(ME, "t", holder) is None, "once"
    return old, lease


@pytest.mark.demand("scale.flows_go_on")
async def test_a_run_that_is_taken_over_stays_one_run(store: FullStore) -> None:
    old, lease = await begin_and_take_over(store)
    assert lease.fence > old.fence
    assert lease.before == old.before == 0
    assert lease.last >= TAKE_OVER_NUMBERS, "its reader may have seen more than was stored"
    assert await store.get_lease_holder(ME, "t") == LeaseHolder("r1", store.worker, lease.fence)
    with pytest.raises(ThreadBusy):
        await store.begin_run(ME, "t", "r2", assistant="", name="")
    store.append_entries(ME, "t", lease.last + 1, [TextEnd("m"), RunFinished("stop")], lease.fence)
    entries = await read_all_entries(store, "t")
    assert [number for number, _ in entries] == [1, 2, 3, lease.last + 1, lease.last + 2]
    for number, _ in entries:
        assert await store.run_start(ME, "t", number) == 0, "all entries are of one run"
    assert await store.get_lease_holder(ME, "t") is None
    with pytest.raises(RunEnded) as ended:
        await store.begin_run(ME, "t", "r1", assistant="", name="", digest="d")
    assert (ended.value.before, ended.value.last) == (0, lease.last + 2)
    again = await store.begin_run(ME, "t", "r2", assistant="", name="")
    assert again.before == lease.last + 2


@pytest.mark.demand("scale.flows_go_on")
async def test_a_worker_whose_run_was_taken_over_writes_nothing_more(store: FullStore) -> None:
    """Although it is alive: a presence may lie."""
    old, lease = await begin_and_take_over(store)
    before = await read_all_entries(store, "t")
    for entry in (TextEnd("m"), RunFinished("stop")):
        lost = store.append_entries(ME, "t", 4, [entry], old.fence)
        assert lost is not None
        with pytest.raises(LeaseLost):
            await lost
    assert await read_all_entries(store, "t") == before
    assert await store.get_lease_holder(ME, "t") == LeaseHolder("r1", store.worker, lease.fence)


@pytest.mark.demand("scale.flows_go_on")
async def test_a_run_is_taken_over_again_and_ends_after_all_its_numbers(store: FullStore) -> None:
    _, lease = await begin_and_take_over(store)
    store.append_entries(ME, "t", lease.last + 1, [TextDelta("m", "b")], lease.fence)
    holder = await store.get_lease_holder(ME, "t")
    assert holder is not None
    second = await store.take_over_run(ME, "t", holder)
    assert second is not None
    assert second.fence > lease.fence
    assert second.last == lease.last + TAKE_OVER_NUMBERS
    run = OrphanedRun(ME, "t", "r1")
    assert await store.end_orphaned_runs({store.worker}, [run]) == []
    assert await store.end_orphaned_runs({store.worker}) == [run]
    number, last = (await read_all_entries(store, "t"))[-1]
    assert last == RUN_RESTARTED
    assert number > RUN_NUMBERS
    assert await store.run_start(ME, "t", number) == 0


async def begin(store: FullStore, run: str, digest: str, thread: str = "t") -> int:
    return (await store.begin_run(ME, thread, run, assistant="", name="", digest=digest)).before


@pytest.mark.demand("crashes.same_run_id_replays")
async def test_a_run_that_has_ended_says_where_it_is(store: FullStore) -> None:
    await append_run(store, RUN_ENTRIES)
    before = await begin(store, "r1", "d")
    ends: list[ThreadEntry] = [RunStarted("t", "r1"), TextStart("m"), TextDelta("m", "a"), RunFinished("stop")]
    store.append_entries(ME, "t", before + 1, ends)
    with pytest.raises(RunEnded) as ended:
        await begin(store, "r1", "d")
    assert (ended.value.before, ended.value.last) == (before, before + len(ends))
    # Another input, another thread and another owner are other runs.
    assert await begin(store, "r1", "d", "other") == 0
    assert (await store.begin_run(YOU, "t", "r1", assistant="", name="", digest="d")).before == 0
    assert await begin(store, "r1", "e") == before + len(ends)
    with pytest.raises(Conflict):
        await begin(store, "r1", "d")
    store.append_entries(ME, "t", before + len(ends) + 1, ends)
    for digest, first in (("d", before), ("e", before + len(ends))):
        with pytest.raises(RunEnded) as ended:
            await begin(store, "r1", digest)
        assert ended.value.before == first


@pytest.mark.demand("crashes.same_run_id_replays")
async def test_a_run_that_failed_before_it_did_anything_may_begin_again(store: FullStore) -> None:
    await begin(store, "r1", "d")
    failed: list[ThreadEntry] = [RunStarted("t", "r1"), RunFailed("overloaded", "x")]
    store.append_entries(ME, "t", 1, failed)
    assert await begin(store, "r1", "d") == 2
    store.append_entries(ME, "t", 3, [RunStarted("t", "r1"), RUN_RESTARTED])
    with pytest.raises(RunEnded):
        await begin(store, "r1", "d")


async def test_a_deleted_thread_knows_no_run(store: FullStore) -> None:
    await begin(store, "r1", "d")
    store.append_entries(ME, "t", 1, [TextDelta("m", "a"), RunFinished("stop")])
    await store.delete_thread(ME, "t")
    assert await begin(store, "r1", "d") == 0


async def test_who_leaves_while_it_begins_has_no_thread(store: FullStore) -> None:
    for steps in range(4):
        task = asyncio.create_task(store.begin_run(ME, "t", f"left{steps}", assistant="", name=""))
        for _ in range(steps):
            await asyncio.sleep(0)
        task.cancel()
        await asyncio.wait([task])
        if not task.cancelled():
            store.append_entries(ME, "t", task.result().before + 1, [RunFinished("stop")])
    await store.begin_run(ME, "t", "r", assistant="", name="")
    with pytest.raises(Conflict):
        await store.begin_run(ME, "t", "other", assistant="", name="")


async def test_of_many_who_begin_one_does(store: FullStore) -> None:
    tries = [store.begin_run(ME, "t", f"r{n}", assistant="", name="") for n in range(20)]
    found = await asyncio.gather(*tries, return_exceptions=True)
    assert sum(isinstance(one, Lease) for one in found) == 1
    assert sum(isinstance(one, Conflict) for one in found) == 19


async def test_many_threads_at_once_do_not_mix(store: FullStore) -> None:
    async def talk(thread: str) -> None:
        before = (await store.begin_run(ME, thread, "r", assistant="", name="")).before
        for number in range(1, 40):
            store.append_entries(ME, thread, before + number, [TextDelta("m", f"{thread}.{number} ")])
            await asyncio.sleep(0)
        store.append_entries(ME, thread, before + 40, [RunFinished("stop")])

    await asyncio.gather(*(talk(f"t{n}") for n in range(12)))
    for n in range(12):
        (whole,) = [one for one in join_deltas(await read_all_entries(store, f"t{n}")) if isinstance(one, list)]
        assert whole[1] == "".join(f"t{n}.{number} " for number in range(1, 40))


async def test_the_list_is_the_owners_and_newest_first(store: FullStore) -> None:
    for thread in ("one", "two", "three"):
        await append_run(store, RUN_ENTRIES, thread, name=f"about {thread}")
    await append_run(store, RUN_ENTRIES, "hers", YOU)
    await append_run(store, RUN_ENTRIES[1:], "one")
    await store.begin_run(ME, "live", "r7", assistant="b", name="")
    found = await store.list_threads(ME)
    assert [thread.id for thread in found] == ["live", "one", "three", "two"]
    assert [thread.run for thread in found] == ["r7", "", "", ""]
    assert found[1].name == "about one"
    assert (found[1].last, found[1].assistant) == (2 * len(RUN_ENTRIES) - 1, "a")
    assert found[1].updated > found[2].updated >= found[2].created
    assert [thread.id for thread in await store.list_threads(ME, limit=2, offset=1)] == ["one", "three"]
    assert [thread.id for thread in await store.list_threads(ME, assistant="b")] == ["live"]
    assert await store.get_thread(ME, "hers") is None


async def test_renamed_and_archived(store: FullStore) -> None:
    await append_run(store, RUN_ENTRIES)
    changed = await store.update_thread(ME, "t", name="Köln")
    assert changed is not None
    assert (changed.name, changed.archived) == ("Köln", False)
    changed = await store.update_thread(ME, "t", archived=True)
    assert changed is not None
    assert (changed.name, changed.archived) == ("Köln", True)
    assert await store.list_threads(ME) == []
    assert [thread.id for thread in await store.list_threads(ME, archived=True)] == ["t"]
    assert await store.update_thread(YOU, "t", name="mine") is None
    assert await store.update_thread(ME, "nothing", name="x") is None


async def test_another_owner_sees_and_breaks_nothing(store: FullStore) -> None:
    await append_run(store, RUN_ENTRIES)
    assert await read_all_entries(store, owner=YOU) == []
    assert not await store.has_thread(YOU, "t")
    assert await store.get_thread(YOU, "t") is None
    assert not await store.delete_thread(YOU, "t")
    store.append_entries(YOU, "t", 1, [TextDelta("m", "x")])
    assert join_deltas(await read_all_entries(store)) == join_deltas(NUMBERED_ENTRIES)
    assert await read_all_entries(store, owner=YOU) == []


@pytest.mark.demand("copilotkit.threads_kept_stores_memory")
async def test_a_deleted_thread_is_gone_with_all_that_was_its_own(store: FullStore) -> None:
    ticket = "a" * 24
    call, ask = f"call_{ticket}_1", f"ask_{ticket}_2"
    entries: list[ThreadEntry] = [CallStart(call, "f", "m"), Interrupt(ask, "ask", "?", {}), RunFinished("interrupt")]
    await append_run(store, entries)
    await append_run(store, RUN_ENTRIES, "other")
    await store.save_results(ME, {call: "secret", "call_other": "stays"})
    await store.save_continuation(make_continuation(ticket))
    await store.save_continuation(make_continuation("b" * 24))
    assert await store.has_thread(ME, "t")
    assert await store.delete_thread(ME, "t")
    assert not await store.delete_thread(ME, "t")
    assert not await store.has_thread(ME, "t")
    assert await read_all_entries(store) == []
    assert await store.get_thread(ME, "t") is None
    assert await store.get_results(ME, [call, "call_other"]) == {"call_other": "stays"}
    assert await store.claim_continuation(ME, ticket, "a", ["c"]) is None
    assert await store.claim_continuation(ME, "b" * 24, "a", ["c"]) is not None
    assert join_deltas(await read_all_entries(store, "other")) == join_deltas(NUMBERED_ENTRIES)
    # What a run of it still says is kept no more.
    store.append_entries(ME, "t", 4, [TextDelta("m", "late")])
    assert await read_all_entries(store) == []
    assert (await store.begin_run(ME, "t", "r", assistant="", name="")).before == 0


def make_continuation(ticket: str) -> Continuation:
    return Continuation(
        ticket=ticket,
        owner=ME,
        assistant="a",
        added=(Message("assistant", calls=(ToolCall("c", "f", "{}"),)),),
        calls={"c": CallState(client=True)},
        rounds=1,
        number=1,
        digest="",
        expires=9e9,
    )


HOSTILE = [
    "' OR 1=1--",
    '"; DROP TABLE threads; --',
    "../../etc/passwd",
    "%2e%2e%2f",
    "a\x00b",
    "a\nb\r\n\r\nid: 7",
    "\u2028\u202e",
    "😀" * 50,
    "x" * 100_000,
    " ",
    "%_",
    "NULL",
]


@pytest.mark.demand("copilotkit.threads_kept_stores_memory")
@pytest.mark.parametrize("id", HOSTILE, ids=range(len(HOSTILE)))
async def test_an_id_is_only_an_id(store: FullStore, id: str) -> None:
    await append_run(store, RUN_ENTRIES)
    await append_run(store, RUN_ENTRIES, id, name=id)
    await append_run(store, RUN_ENTRIES, "t", Owner(id))
    assert join_deltas(await read_all_entries(store, id)) == join_deltas(NUMBERED_ENTRIES)
    found = await store.get_thread(ME, id)
    assert found is not None
    assert (found.id, found.name) == (id, id)
    assert {thread.id for thread in await store.list_threads(ME)} == {"t", id}
    assert await store.list_threads(ME, assistant=id) == []
    assert await store.delete_thread(ME, id)
    assert join_deltas(await read_all_entries(store)) == join_deltas(NUMBERED_ENTRIES)
    assert join_deltas(await read_all_entries(store, "t", Owner(id))) == join_deltas(NUMBERED_ENTRIES)


async def test_a_big_thread_is_read_in_pages(store: FullStore) -> None:
    text = "x" * 10_000
    entries: list[ThreadEntry] = [RunStarted("t", "r"), *(CallResult(f"c{n}", text) for n in range(400))]
    await append_run(store, [*entries, RunFinished("stop")], step=50)
    first = await store.read_entries(ME, "t")
    assert 50 < len(first) < 200
    whole = await read_all_entries(store)
    assert [entry for _, entry in whole] == [*entries, RunFinished("stop")]


async def test_what_cannot_be_said_in_json_does_not_take_the_rest_with_it(store: FullStore) -> None:
    entries: list[ThreadEntry] = [RunStarted("t", "r"), Custom("x", {1, 2}), TextDelta("m", "a"), RunFinished("stop")]
    await append_run(store, entries)
    kinds = [type(entry).__name__ for _, entry in await read_all_entries(store)]
    assert kinds[0] == "RunStarted"
    assert kinds[-2:] == ["TextDelta", "RunFinished"]


def test_what_is_new_in_a_posted_history() -> None:
    user, answer, more = (
        text_message("user", "a", id="1"),
        text_message("assistant", "b", id="2"),
        text_message("user", "c", id="3"),
    )
    ours = text_message("tool", "7", id="result-c1", call_id="c1")
    theirs = text_message("tool", "8", id="t2", call_id="c2")
    assert extract_user_input(make_turn(user, answer, more), new=True) == UserInput((user, answer, more))
    assert extract_user_input(make_turn(user, answer, more), new=False) == UserInput((more,), after=("2",))
    after = ("2", "result-c1")
    assert extract_user_input(make_turn(user, answer, ours, theirs, more), new=False) == UserInput(
        (theirs, more), after=after
    )
    assert extract_user_input(make_turn(user, answer, ours, more), new=False, results=True) == UserInput(
        (ours, more), after=("2",)
    )
    assert extract_user_input(make_turn(user), new=False) == UserInput((user,))
    assert extract_user_input(make_turn(user, answer), new=False) == UserInput((), after=("2",))
    called = Message("assistant", calls=(ToolCall("c1", "f", "{}"),), id="2")
    assert extract_user_input(make_turn(user, called, theirs), new=False) == UserInput((theirs,), after=("2", "c1"))
    asked = Turn(messages=(user,), state={"n": 1}, assistant="a")
    assert extract_user_input(asked, new=True) == UserInput((user,), {"n": 1}, "a")


def make_turn(*messages: Message) -> Turn:
    return Turn(messages=messages)


@pytest.mark.parametrize(("text", "name"), [("  Hello\n world ", "Hello world"), ("x" * 200, "x" * 79 + "…"), ("", "")])
def test_a_threads_first_name(text: str, name: str) -> None:
    assert make_title((text_message("system", "s"), text_message("user", text))) == name
    assert make_title(()) == ""
