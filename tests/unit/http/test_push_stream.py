"""Words of a kept run go straight to a client that takes them, and none is lost or comes twice."""

import asyncio
from collections.abc import AsyncIterator, Callable

from rightseat import Owner, Runtime, Turn, text_message
from rightseat.http.agui.replay import ThreadReplay, stream_thread
from rightseat.http.agui.write import FAILURE_FRAME
from rightseat.http.reply import Message, SendTimeouts, send_reply
from rightseat.runtime.threads import ThreadRuns
from rightseat.stores.memory import MemoryStore
from rightseat.types.events import Event, RunFinished, RunStarted, TextDelta, TextEnd, TextStart
from rightseat.types.streams import PushStream, closing
from rightseat.types.threads import NumberedEntry, ThreadEntry
from tests.kit.waiting import wait_until
from tests.unit.runtime.test_threads import GatedModel

ME = Owner("me")
TURN = Turn(messages=(text_message("user", "hi"),), thread="t", run="r", owner=ME)
WORDS = ["one", " two", " three", " four"]


class RunFollower:
    """Reads a run; of the words that it is offered it takes those that `takes` names."""

    def __init__(self, items: AsyncIterator[NumberedEntry], accepts: Callable[[str], bool]) -> None:
        assert isinstance(items, PushStream)
        self.items = items
        self.accepts = accepts
        self.pushed: list[NumberedEntry] = []
        self.iterated: list[NumberedEntry] = []
        items.on_item = self.on_item
        self.task = asyncio.create_task(self.read())

    def on_item(self, item: NumberedEntry) -> bool:
        entry = item[1]
        assert isinstance(entry, TextDelta)
        if self.accepts(entry.text):
            self.pushed.append(item)
            return True
        return False

    async def read(self) -> None:
        async with closing(self.items):
            async for item in self.items:
                self.iterated.append(item)

    def has_word(self, word: str) -> bool:
        return any(isinstance(e, TextDelta) and word in e.text for _, e in self.pushed + self.iterated)

    @property
    def numbers(self) -> list[int]:
        return sorted(number for number, _ in self.pushed + self.iterated)

    def list_words(self, items: list[NumberedEntry]) -> list[str]:
        return [entry.text for _, entry in items if isinstance(entry, TextDelta)]


async def release_words(runs: ThreadRuns, gate: GatedModel, *followers: RunFollower) -> None:
    """Each word when all have the one before, as a model that is slower than its readers."""
    (run,) = runs.active_runs.values()
    for word in WORDS:
        gate.words.put_nowait(word)

        def have_all(word: str = word) -> bool:
            # Who waits again is offered what is new.
            return all(one.has_word(word) for one in followers) and len(run.waiting) == len(followers)

        await wait_until(have_all)
    gate.words.put_nowait(None)
    for one in followers:
        await one.task


async def start_runs(gate: GatedModel, count: int = 1) -> tuple[ThreadRuns, list[AsyncIterator[NumberedEntry]]]:
    runs = ThreadRuns(MemoryStore())
    respond = Runtime(model=gate).run
    return runs, [await runs.start(TURN, respond) for _ in range(count)]


async def test_words_are_taken_and_the_rest_is_given() -> None:
    gate = GatedModel()
    runs, (items,) = await start_runs(gate)
    one = RunFollower(items, lambda word: True)
    await release_words(runs, gate, one)
    # The first word comes with the beginning of its text, for which the reader is awake.
    assert one.list_words(one.iterated) == WORDS[:1]
    assert one.list_words(one.pushed) == WORDS[1:]
    assert one.numbers == list(range(1, one.numbers[-1] + 1))
    assert [type(entry) for _, entry in one.iterated[-2:]] == [TextEnd, RunFinished]


async def test_a_word_that_is_not_taken_is_given_and_the_next_one_offered_again() -> None:
    gate = GatedModel()
    runs, (items,) = await start_runs(gate)
    one = RunFollower(items, lambda word: word != " three")
    await release_words(runs, gate, one)
    assert one.list_words(one.iterated) == ["one", " three"]
    assert one.list_words(one.pushed) == [" two", " four"]
    assert one.numbers == list(range(1, one.numbers[-1] + 1))


async def test_readers_do_not_disturb_each_other() -> None:
    gate = GatedModel()
    runs, (first, second) = await start_runs(gate, 2)
    takes, reads = RunFollower(first, lambda word: True), RunFollower(second, lambda word: False)
    await release_words(runs, gate, takes, reads)
    assert takes.list_words(takes.pushed) == WORDS[1:]
    assert reads.list_words(reads.iterated) == WORDS
    assert takes.numbers == reads.numbers


async def test_one_who_left_is_offered_nothing() -> None:
    gate = GatedModel()
    runs, (first, second) = await start_runs(gate, 2)
    leaves, stays = RunFollower(first, lambda word: True), RunFollower(second, lambda word: True)
    gate.words.put_nowait("one")
    await wait_until(lambda: leaves.has_word("one") and stays.has_word("one"))
    leaves.task.cancel()
    await asyncio.wait([leaves.task])
    (run,) = runs.active_runs.values()
    await wait_until(lambda: bool(run.waiting))
    assert [reader.stream for reader in run.waiting] == [stays.items]
    gate.words.put_nowait(" two")
    await wait_until(lambda: stays.has_word(" two"))
    assert not leaves.has_word(" two")
    gate.words.put_nowait(None)
    await stays.task


# The same through the pump, as a client sees it.

EVENTS: list[Event] = [RunStarted("t", "r"), TextStart("m"), *(TextDelta("m", word) for word in WORDS)]


class PushClient:
    def __init__(self, accepts: Callable[[bytes], bool]) -> None:
        self.accepts = accepts
        self.body = b""
        self.kept: list[ThreadEntry] = []
        self.run: asyncio.Task[None] | None = None
        self.written_directly: set[bytes] = set()
        """Words that the task of the run itself has written."""

    async def receive(self) -> Message:
        await asyncio.Event().wait()
        raise AssertionError

    async def send(self, message: Message) -> None:
        self.body += message.get("body", b"")

    def write_directly(self, data: bytes) -> bool:
        if not self.accepts(data):
            return False
        self.body += data
        if asyncio.current_task() is self.run:
            self.written_directly.add(data)
        return True


async def run_paced(client: PushClient, events: list[Event], *, direct: bool = True) -> None:
    """A run each event of which comes when the client has had time for the one before."""

    async def respond(turn: Turn) -> AsyncIterator[Event]:
        client.run = asyncio.current_task()
        for event in events:
            yield event
            for _ in range(5):
                await asyncio.sleep(0)

    runs = ThreadRuns(MemoryStore())
    reply = stream_thread(lambda: runs.start(TURN, respond), ThreadReplay("t"))
    asked = client.write_directly if direct else None
    try:
        await send_reply(reply, client.receive, client.send, timeouts=SendTimeouts(), direct=asked)
    finally:
        await wait_until(lambda: not runs.active_runs)
        client.kept = [entry async for _, entry in runs.follow(ME, "t")]


async def test_a_client_sees_the_same_bytes_whichever_way_they_come() -> None:
    events = [*EVENTS, TextEnd("m"), RunFinished("stop")]
    plain, fast, halting = PushClient(bool), PushClient(bool), PushClient(lambda data: b"three" not in data)
    await run_paced(plain, events, direct=False)
    await run_paced(fast, events)
    await run_paced(halting, events)
    assert plain.body == fast.body == halting.body
    assert b" four" in plain.body
    assert (len(plain.written_directly), len(fast.written_directly), len(halting.written_directly)) == (0, 4, 3)


async def test_half_a_character_is_no_failure_of_the_run() -> None:
    events = [*EVENTS, TextDelta("m", "\ud800"), TextEnd("m"), RunFinished("stop")]
    client = PushClient(bool)
    await run_paced(client, events)
    assert b" four" in client.body
    assert b"RUN_FINISHED" in client.body
    assert FAILURE_FRAME not in client.body
    assert isinstance(client.kept[-1], RunFinished)
