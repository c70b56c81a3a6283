"""Answers at several workers and after `kill -9`: one tool call for each approval, and no question is lost."""

import asyncio
import contextlib
import json
import signal
import sqlite3
import sys
from collections.abc import AsyncIterator, Callable, Collection, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from rightseat import Runtime, tool
from rightseat.engine.tool_calls import MAY_HAVE_RUN, ToolCallBatch
from rightseat.errors import UpstreamRefused
from rightseat.http.agui import attached
from rightseat.middleware import answer_once
from rightseat.stores.sqlite import SQLiteStore
from rightseat.types.chunks import ModelChunk
from rightseat.types.events import Event, RunFinished
from rightseat.types.model import Model, Prompt
from rightseat.types.stores import Continuation, parse_resume_token
from rightseat.types.turn import Owner, Turn
from tests.faults.test_crashes import BODY, CountingApi, make_server, serve_api
from tests.kit.answers import answer_text, answer_tool_calls
from tests.kit.app_server import reply_calls, reply_text, serve_runtime
from tests.kit.client import RawHttpClient
from tests.kit.server import RightseatProcess
from tests.kit.timeouts import HANG_TIMEOUT
from tests.kit.upstream import FakeUpstream
from tests.kit.waiting import wait_until

pytestmark = [pytest.mark.io, pytest.mark.skipif(sys.platform == "win32", reason="processes share no store on Windows")]
ROUNDS = 8
MakeStore = Callable[[Path, Path], SQLiteStore]


def make_shared_store(folder: Path, run_folder: Path) -> SQLiteStore:
    from rightseat.stores.sqlite.shared import SharedSQLiteStore

    return SharedSQLiteStore(folder, run_folder)


def make_unguarded_store(folder: Path, run_folder: Path) -> SQLiteStore:
    """A store whose claims bind nobody: the twin of the guard."""
    from rightseat.stores.sqlite.shared import SharedSQLiteStore

    class UnguardedStore(SharedSQLiteStore):
        async def claim_continuation(
            self, owner: Owner, resume_token: str, assistant: str, answered_ids: Collection[str]
        ) -> Continuation | None:
            return await self.get_continuation(owner, resume_token)

    return UnguardedStore(folder, run_folder)


def make_body(thread: str, run: str, answers: Sequence[str] = ()) -> dict[str, Any]:
    resume = [{"interruptId": id, "status": "resolved", "payload": {"approved": True}} for id in answers]
    messages = [{"id": "u", "role": "user", "content": "pay"}]
    return {"threadId": thread, "runId": run, "messages": messages, **BODY, **({"resume": resume} if resume else {})}


async def post_run(url: str, thread: str, run: str, answers: list[str], agent: str = "default") -> dict[str, Any]:
    """The last event of a run with these interrupts approved."""
    async with RawHttpClient(url) as client:
        await client.post_json(f"/agui/{agent}", make_body(thread, run, answers))
        await client.read_head()
        frames = [frame.json async for frame in client.iterate_frames() if frame.data]
    last: dict[str, Any] = frames[-1]
    return last


async def ask(url: str, thread: str) -> str:
    """The id of the question for an approval."""
    asked = await post_run(url, thread, "r0", [])
    (interrupt,) = asked["outcome"]["interrupts"]
    return str(interrupt["id"])


class PayingModel(Model):
    """Calls `pay`, and answers once there is a result."""

    async def stream(self, prompt: Prompt, /) -> AsyncIterator[ModelChunk]:
        has_result = prompt.messages[-1].role == "tool"
        for chunk in reply_text("Done.") if has_result else reply_calls(("pay", "{}")):
            yield chunk


@asynccontextmanager
async def serve_workers(folder: Path, make_store: MakeStore, paid: list[str]) -> AsyncIterator[list[str]]:
    """Two servers over one store, as two workers have it."""

    @tool(confirm=True)
    async def pay() -> str:
        """Pays."""
        paid.append("paid")
        return "paid"

    run_folder = folder / "run"
    run_folder.mkdir()
    async with AsyncExitStack() as stack:
        urls = []
        for _ in range(2):
            store = make_store(folder, run_folder)
            stack.push_async_callback(store.close)
            runtime = Runtime(model=PayingModel(), tools=[pay], store=store)
            urls.append((await stack.enter_async_context(serve_runtime(runtime))).url)
        yield urls


async def answer_at_both(folder: Path, make_store: MakeStore) -> list[list[dict[str, Any]]]:
    """The ends of answers at two workers at once, by round, after as many payments as the last round says."""
    paid: list[str] = []
    rounds = []
    async with serve_workers(folder, make_store, paid) as urls:
        for number in range(ROUNDS):
            question = await ask(urls[number % 2], f"t{number}")
            posts = [post_run(url, f"t{number}", f"r{place}", [question]) for place, url in enumerate(urls * 2, 1)]
            rounds.append([*await asyncio.gather(*posts), {"paid": len(paid)}])
            paid.clear()
    return rounds


@pytest.mark.demand("scale.claims")
async def test_an_approval_answered_at_two_workers_at_once_runs_one_call(tmp_path: Path) -> None:
    for *ends, paid in await answer_at_both(tmp_path, make_shared_store):
        assert paid == {"paid": 1}
        assert sum(end["type"] == "RUN_FINISHED" for end in ends) == 1, ends
        assert {end["code"] for end in ends if end["type"] == "RUN_ERROR"} == {"already_answered"}


@pytest.mark.demand("scale.claims")
async def test_without_the_claim_it_would_run_several(tmp_path: Path) -> None:
    assert max(paid["paid"] for *_, paid in await answer_at_both(tmp_path, make_unguarded_store)) > 1


def make_paying_server(home: Path, upstream: FakeUpstream, api: CountingApi) -> RightseatProcess:
    server = make_server(home, upstream, api)
    server._config = (server._config or "").replace('confirm = "never"', 'confirm = "writes"')
    return server


@pytest.mark.demand("scale.claims")
async def test_a_call_that_had_begun_when_its_worker_was_killed_is_told_and_not_repeated(tmp_path: Path) -> None:
    async with FakeUpstream() as upstream, serve_api("/orders") as api:
        upstream.queue_replies(answer_tool_calls(("p_order", "{}")))
        upstream.reply = answer_text(3)
        async with make_paying_server(tmp_path, upstream, api) as server:
            question = await ask(server.url, "t")
            running = asyncio.create_task(post_run(server.url, "t", "r1", [question]))
            await asyncio.wait_for(api.hangs.wait(), HANG_TIMEOUT)
            assert (await post_run(server.url, "t", "r2", [question]))["code"] == "already_answered"
            server.send_signal(signal.SIGKILL)
            await server.wait_exit()
            await asyncio.wait([running])
            running.exception()
        async with make_paying_server(tmp_path, upstream, api) as server:
            assert (await post_run(server.url, "t", "r3", [question]))["type"] == "RUN_FINISHED"
            assert (await post_run(server.url, "t", "r4", [question]))["code"] == "already_answered"
        assert api.requests == ["/orders"]
        assert "may_have_run" in json.dumps(upstream.requests[-1].json)


@pytest.mark.demand("scale.claims")
@pytest.mark.parametrize("answers", [1, 2])
async def test_a_question_whose_worker_died_before_the_call_is_answered_again(tmp_path: Path, answers: int) -> None:
    async with FakeUpstream() as upstream, serve_api() as api:
        upstream.queue_replies(answer_tool_calls(("p_order", "{}")))
        upstream.reply = answer_text(3)
        async with make_paying_server(tmp_path, upstream, api) as server:
            question = await ask(server.url, "t")
            server.send_signal(signal.SIGKILL)
            await server.wait_exit()
        await claim_and_die(tmp_path / "data", question)
        async with make_paying_server(tmp_path, upstream, api) as server:
            posts = [post_run(server.url, "t", f"r{number}", [question]) for number in range(1, answers + 1)]
            ends = await asyncio.gather(*posts)
        assert sorted(end["type"] for end in ends) == ["RUN_ERROR"] * (answers - 1) + ["RUN_FINISHED"]
        assert api.requests == ["/orders"]


async def claim_and_die(folder: Path, question: str) -> None:
    """Claim as another worker does that dies before its first call."""
    store = SQLiteStore(folder)
    token = parse_resume_token(question)
    assert token is not None
    assert await store.claim_continuation(find_owner(folder), token, "default", [question]) is not None
    await store.close()


def find_owner(folder: Path) -> Owner:
    with contextlib.closing(sqlite3.connect(folder / "rightseat.db")) as file:
        (owner,) = file.execute("SELECT owner FROM kept WHERE kind = 'continuation'").fetchone()
    return Owner(owner)


@pytest.mark.demand("scale.claims")
async def test_a_reply_in_words_to_a_worker_that_died_counts_when_it_is_given_again(tmp_path: Path) -> None:
    async with FakeUpstream() as upstream, serve_api("/orders") as api:
        upstream.queue_replies(answer_tool_calls(("p_order", "{}")))
        upstream.reply = answer_text(3)
        async with make_paying_server(tmp_path, upstream, api) as server:
            messages = [{"role": "user", "content": "order"}]
            asked = await post_chat(server.url, messages)
            messages += [{"role": "assistant", "content": asked}, {"role": "user", "content": "yes"}]
            running = asyncio.create_task(post_chat(server.url, messages))
            await asyncio.wait_for(api.hangs.wait(), HANG_TIMEOUT)
            server.send_signal(signal.SIGKILL)
            await server.wait_exit()
            await asyncio.wait([running])
            running.exception()
        async with make_paying_server(tmp_path, upstream, api) as server:
            await post_chat(server.url, messages)
        assert api.requests == ["/orders"]
        assert "may_have_run" in json.dumps(upstream.requests[-1].json)


async def post_chat(url: str, messages: list[dict[str, str]]) -> str:
    async with RawHttpClient(url) as client:
        await client.post_json("/v1/chat/completions", {"model": "default", "messages": messages})
        await client.read_head()
        return str((await client.read_json())["choices"][0]["message"]["content"])


class SlowModel(Model):
    """Answers after a while, and counts its calls."""

    def __init__(self, calls: list[str], chunks: Callable[[Prompt], list[ModelChunk]]) -> None:
        self.calls = calls
        self.chunks = chunks

    async def stream(self, prompt: Prompt, /) -> AsyncIterator[ModelChunk]:
        self.calls.append("called")
        await asyncio.sleep(0.3)
        for chunk in self.chunks(prompt):
            yield chunk


@asynccontextmanager
async def serve_slow_workers(
    folder: Path, calls: list[str], chunks: Callable[[Prompt], list[ModelChunk]]
) -> AsyncIterator[list[str]]:
    run_folder = folder / "run"
    run_folder.mkdir()
    async with AsyncExitStack() as stack:
        urls = []
        for _ in range(2):
            store = make_shared_store(folder, run_folder)
            stack.push_async_callback(store.close)
            runtime = Runtime(model=SlowModel(calls, chunks), store=store)
            urls.append((await stack.enter_async_context(serve_runtime(runtime))).url)
        yield urls


@pytest.mark.demand("scale.attached_run_once")
async def test_an_attached_run_posted_at_two_workers_at_once_asks_the_model_once(tmp_path: Path) -> None:
    calls: list[str] = []
    async with serve_slow_workers(tmp_path, calls, lambda prompt: reply_text("Done.")) as urls:
        ends = await asyncio.gather(*(post_run(url, "loose", "r1", []) for url in urls * 2))
        assert [end["type"] for end in ends] == ["RUN_FINISHED"] * 4
        assert calls == ["called"]
        assert (await post_run(urls[1], "loose", "r2", []))["type"] == "RUN_FINISHED"
        assert calls == ["called"] * 2, "another run is another request"


@pytest.mark.demand("scale.attached_run_once")
async def test_without_the_claim_an_attached_run_would_ask_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(attached, "make_claim", lambda store, owner, key: None)
    calls: list[str] = []
    async with serve_slow_workers(tmp_path, calls, lambda prompt: reply_text("Done.")) as urls:
        await asyncio.gather(*(post_run(url, "loose", "r1", []) for url in urls))
    assert calls == ["called"] * 2


@pytest.mark.demand("scale.attached_run_once")
@pytest.mark.parametrize("has_effect", [True, False])
async def test_an_attached_run_of_a_dead_worker_runs_again_only_where_nothing_had_begun(
    tmp_path: Path, has_effect: bool
) -> None:
    calls: list[str] = []
    async with serve_slow_workers(tmp_path, calls, lambda prompt: reply_text("Done.")) as urls:
        async with RawHttpClient(urls[0]) as client:
            await client.post_json("/agui/default", make_body("loose", "r1"))
            await wait_until(lambda: calls == ["called"])
            keys = read_claims(tmp_path)
        assert len(keys) == 1
        await wait_until(lambda: read_claims(tmp_path) == [])
        owner, key = keys[0]
        heir = make_shared_store(tmp_path, tmp_path / "run")
        await heir.save_checkpoint(Owner(owner), key, json.dumps({"worker": "4711", "has_effect": has_effect}).encode())
        await heir.close()
        for url in reversed(urls):
            end = await post_run(url, "loose", "r1", [])
            assert end["type"] == ("RUN_ERROR" if has_effect else "RUN_FINISHED")
            assert end.get("code") == ("restarted" if has_effect else None)
        assert len(calls) == (1 if has_effect else 3)


def read_claims(folder: Path) -> list[tuple[str, str]]:
    """The owners and keys of stored claims of runs."""
    with contextlib.closing(sqlite3.connect(f"file:{folder}/rightseat.db?mode=ro", uri=True)) as file:
        return list(file.execute("SELECT owner, key FROM kept WHERE key LIKE 'claim_%'"))


@pytest.mark.demand("scale.remote_answers_once")
@pytest.mark.parametrize("is_guarded", [True, False])
async def test_the_answer_to_a_remote_agent_is_passed_on_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_guarded: bool
) -> None:
    received: list[str] = []
    fails = asyncio.Event()
    fails.set()

    async def agent(turn: Turn) -> AsyncIterator[Event]:
        received.append(turn.answers[0].interrupt)
        await asyncio.sleep(0.1)
        if fails.is_set():
            raise UpstreamRefused("The agent is down.")
        yield RunFinished("stop")

    if not is_guarded:
        monkeypatch.setattr(answer_once, "list_remote_interrupts", lambda turn: [])
    (tmp_path / "run").mkdir()
    async with AsyncExitStack() as stack:
        urls = []
        for _ in range(2):
            store = make_shared_store(tmp_path, tmp_path / "run")
            stack.push_async_callback(store.close)
            runtime = Runtime(model=PayingModel(), agents={"remote": agent}, store=store)
            urls.append((await stack.enter_async_context(serve_runtime(runtime))).url)
        assert (await post_run(urls[0], "t", "r0", ["peer-1"], "remote"))["code"] == UpstreamRefused.code
        fails.clear()
        posts = [post_run(url, "t", f"r{place}", ["peer-1"], "remote") for place, url in enumerate(urls * 2, 1)]
        ends = await asyncio.gather(*posts)
        await post_run(urls[0], "t", "r9", ["peer-1"], "remote")
    assert (len(received) == 2) is is_guarded, "one that failed, and one that reached it"
    assert (sum(end["type"] == "RUN_FINISHED" for end in ends) == 1) is is_guarded


@pytest.mark.demand("scale.claims")
@pytest.mark.parametrize("is_guarded", [True, False])
async def test_a_call_that_is_noted_as_begun_does_not_begin_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_guarded: bool
) -> None:
    async def accept_nothing(batch: ToolCallBatch) -> None:
        return

    if not is_guarded:
        monkeypatch.setattr(ToolCallBatch, "accept_stored_results", accept_nothing)
    paid: list[str] = []
    async with serve_workers(tmp_path, make_shared_store, paid) as urls:
        question = await ask(urls[0], "t")
        owner, token = find_owner(tmp_path), parse_resume_token(question)
        assert token is not None
        store = make_shared_store(tmp_path, tmp_path / "run")
        continuation = await store.claim_continuation(owner, token, "default", [question])
        assert continuation is not None
        await store.save_results(owner, dict.fromkeys(continuation.calls, MAY_HAVE_RUN))
        assert (await post_run(urls[1], "t", "r1", [question]))["code"] == "already_answered"
        await store.close()
        assert (await post_run(urls[1], "t", "r2", [question]))["type"] == "RUN_FINISHED"
    assert paid == ([] if is_guarded else ["paid"])
