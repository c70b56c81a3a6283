"""A model turn whose process is killed -9 goes on at another one, under the same run and without an effect twice."""

import signal
import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from rightseat.types.threads import MAX_TAKE_OVERS
from tests.faults.turn_shop import (
    CONNECT_PATH,
    RUN_PATH,
    STOP_PATH,
    WORDS,
    SharedServers,
    check_one_run,
    follow,
    join_deltas,
    join_text,
    list_positions,
    list_types,
    make_input,
    serve_shop,
)
from tests.kit.client import RawHttpClient, SseFrame
from tests.kit.waiting import wait_until

pytestmark = [
    pytest.mark.io,
    pytest.mark.timeout(600),
    pytest.mark.skipif(sys.platform == "win32", reason="one worker on Windows"),
]
ALL_WORDS = "".join(WORDS)
KINDS = ["sqlite", "postgres"]


@pytest.fixture
async def stack() -> AsyncIterator[AsyncExitStack]:
    async with AsyncExitStack() as stack:
        yield stack


async def read_to_end(servers: SharedServers, seen: list[SseFrame], text: str) -> list[SseFrame]:
    """What a reader of the killed process sees in all: it reads on elsewhere where it was. A reader from the beginning
    sees the same, and so does who posts the run again."""
    # The killed process's last frames may still be on their way.
    seen = list(seen)
    last = seen[-1].id if seen else ""
    rest = await servers.post(CONNECT_PATH, make_input("c", text), last or "")
    whole = [*seen, *rest]
    again = await servers.post(RUN_PATH, make_input("r1", text))
    assert join_deltas(again) == join_deltas(whole)
    assert list_positions(again) == list_positions(whole)
    await servers.wait_free()
    return whole


def is_restarted(frames: list[SseFrame]) -> bool:
    return bool(frames[-1].json["type"] == "RUN_ERROR" and frames[-1].json["code"] == "restarted")


def list_results(frames: list[SseFrame]) -> list[str]:
    return [frame.json["content"] for frame in frames if frame.json["type"] == "TOOL_CALL_RESULT"]


@pytest.mark.demand("scale.turns_go_on")
@pytest.mark.parametrize("kind", KINDS)
async def test_a_turn_that_has_said_nothing_is_asked_again(kind: str, tmp_path: Path, stack: AsyncExitStack) -> None:
    async with serve_shop(tmp_path, kind, hanging=["model 0"]) as servers:
        seen = await servers.start(stack, "tell")
        await servers.shop.wait_requests("model 0")
        reader = await stack.enter_async_context(RawHttpClient(servers.url))
        await servers.kill_owner()
        servers.shop.hanging.clear()
        whole = await read_to_end(servers, seen, "tell")
        check_one_run(whole)
        assert join_text(whole) == ALL_WORDS
        assert servers.shop.requests["model 0"] == 2
        del reader


@pytest.mark.demand("scale.turns_go_on")
async def test_a_reader_at_another_worker_only_waits(tmp_path: Path, stack: AsyncExitStack) -> None:
    async with serve_shop(tmp_path, "postgres", hanging=["model 0"]) as servers:
        await servers.start(stack, "tell")
        await servers.shop.wait_requests("model 0")
        client = await stack.enter_async_context(RawHttpClient(servers.url))
        await client.post_json(CONNECT_PATH, make_input("c", "tell"))
        assert (await client.read_head()).status == 200
        frames = follow(stack, client)
        await wait_until(lambda: bool(list_types(frames, "RUN_STARTED")))
        await servers.kill_owner()
        servers.shop.hanging.clear()
        await wait_until(lambda: bool(list_types(frames, "RUN_FINISHED", "RUN_ERROR")))
        check_one_run(frames)
        assert join_text(frames) == ALL_WORDS


@pytest.mark.demand("scale.turns_go_on")
@pytest.mark.parametrize("kind", KINDS)
async def test_a_reading_call_runs_again_and_a_finished_batch_does_not(
    kind: str, tmp_path: Path, stack: AsyncExitStack
) -> None:
    text = "order look mail tell"
    async with serve_shop(tmp_path, kind, hanging=["look"]) as servers:
        seen = await servers.start(stack, text)
        await servers.shop.wait_requests("look")
        await servers.kill_owner()
        servers.shop.hanging.clear()
        whole = await read_to_end(servers, seen, text)
        check_one_run(whole)
        assert join_text(whole) == ALL_WORDS
        assert [servers.shop.requests[name] for name in ("order", "look", "mail")] == [1, 2, 1]
        assert [servers.shop.requests[f"model {number}"] for number in range(4)] == [1, 1, 1, 1]
        assert len(list_results(whole)) == 3


@pytest.mark.demand("scale.turns_go_on")
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("choice", ["skip", "retry"])
async def test_a_call_with_an_effect_that_had_begun_is_asked_about(
    kind: str, choice: str, tmp_path: Path, stack: AsyncExitStack
) -> None:
    text = "look+order tell"
    async with serve_shop(tmp_path, kind, hanging=["order"]) as servers:
        seen = await servers.start(stack, text)
        await servers.shop.wait_requests("order")
        await servers.kill_owner()
        servers.shop.hanging.clear()
        whole = await read_to_end(servers, seen, text)
        check_one_run(whole)
        (interrupt,) = whole[-1].json["outcome"]["interrupts"]
        assert "may have run" in interrupt["message"]
        assert servers.shop.requests["order"] == 1
        answer = {"interruptId": interrupt["id"], "status": "resolved", "payload": {"then": choice}}
        end = await servers.post(RUN_PATH, make_input("r2", text, [answer]))
        assert join_text(end) == ALL_WORDS
        assert end[-1].json["type"] == "RUN_FINISHED"
        assert servers.shop.requests["order"] == (1 if choice == "skip" else 2)
        (result,) = [m["content"] for m in servers.shop.prompts[-1] if "order" in str(m) or "may have" in str(m)][-1:]
        assert ("may_have_run" in result) is (choice == "skip")


@pytest.mark.demand("scale.turns_go_on")
async def test_a_call_whose_answer_was_given_is_not_run_again(tmp_path: Path, stack: AsyncExitStack) -> None:
    """The process that ran an approved call dies: the same answer is not used twice, the person is asked."""
    text = "order tell"
    async with serve_shop(tmp_path, "sqlite", hanging=["order"], confirm="writes") as servers:
        asked = await servers.post(RUN_PATH, make_input("r0", text))
        (interrupt,) = asked[-1].json["outcome"]["interrupts"]
        answer = {"interruptId": interrupt["id"], "status": "resolved", "payload": {"approved": True}}
        client = await stack.enter_async_context(RawHttpClient(servers.url))
        await client.post_json(RUN_PATH, make_input("r1", text, [answer]))
        assert (await client.read_head()).status == 200
        await servers.shop.wait_requests("order")
        await servers.kill_owner()
        servers.shop.hanging.clear()
        whole = await servers.post(RUN_PATH, make_input("r1", text, [answer]))
        (interrupt,) = whole[-1].json["outcome"]["interrupts"]
        assert "may have run" in interrupt["message"]
        answer = {"interruptId": interrupt["id"], "status": "resolved", "payload": {"then": "skip"}}
        end = await servers.post(RUN_PATH, make_input("r2", text, [answer]))
        assert join_text(end) == ALL_WORDS
        assert servers.shop.requests["order"] == 1


@pytest.mark.demand("scale.turns_go_on")
@pytest.mark.parametrize("kind", KINDS)
async def test_after_a_result_the_model_is_asked_again(kind: str, tmp_path: Path, stack: AsyncExitStack) -> None:
    text = "look+order tell"
    async with serve_shop(tmp_path, kind, hanging=["model 1"]) as servers:
        seen = await servers.start(stack, text)
        await servers.shop.wait_requests("model 1")
        await servers.kill_owner()
        servers.shop.hanging.clear()
        whole = await read_to_end(servers, seen, text)
        check_one_run(whole)
        assert join_text(whole) == ALL_WORDS
        assert [servers.shop.requests[name] for name in ("look", "order", "model 0", "model 1")] == [1, 1, 1, 2]
        assert len(list_results(whole)) == 2
        assert servers.shop.prompts[-1] == servers.shop.prompts[-2], "the same prompt"


@pytest.mark.demand("scale.turns_go_on")
@pytest.mark.parametrize("kind", KINDS)
async def test_in_the_middle_of_a_text_it_ends_as_restarted(kind: str, tmp_path: Path, stack: AsyncExitStack) -> None:
    text = "order tell"
    async with serve_shop(tmp_path, kind, hanging=["text"]) as servers:
        seen = await servers.start(stack, text)
        await servers.shop.wait_requests("text")
        await wait_until(lambda: join_text(seen) == "".join(WORDS[:3]))
        await servers.kill_owner()
        servers.shop.hanging.clear()
        whole = await read_to_end(servers, seen, text)
        check_one_run(whole, end="RUN_ERROR")
        assert is_restarted(whole)
        assert join_text(whole) == "".join(WORDS[:3])
        assert servers.shop.requests["order"] == 1


@pytest.mark.demand("scale.turns_go_on")
async def test_a_turn_with_a_forwarded_credential_ends_as_restarted(tmp_path: Path, stack: AsyncExitStack) -> None:
    async with serve_shop(tmp_path, "sqlite", hanging=["look"]) as servers:
        await servers.start(stack, "look tell", {"Authorization": "Bearer of-anna"}, is_recorded=False)
        await servers.shop.wait_requests("look")
        files = [path for path in (tmp_path / "data").iterdir() if path.is_file()]
        assert not [path.name for path in files if b"of-anna" in path.read_bytes()]
        await servers.kill_owner()
        assert is_restarted(await servers.post(CONNECT_PATH, make_input("c", "")))
        assert servers.shop.requests["look"] == 1


@pytest.mark.demand("scale.turns_go_on")
async def test_a_turn_that_has_lost_three_workers_ends_as_restarted(tmp_path: Path, stack: AsyncExitStack) -> None:
    async with serve_shop(tmp_path, "sqlite", hanging=["model 0"]) as servers:
        await servers.start(stack, "tell")
        for number in range(1, MAX_TAKE_OVERS + 2):
            await servers.shop.wait_requests("model 0", number)
            await servers.kill_owner()
        frames = await servers.post(CONNECT_PATH, make_input("c", "tell"))
        assert is_restarted(frames)
        assert list_types(frames, "RUN_STARTED") == ["RUN_STARTED"]
        await servers.wait_free()
        assert servers.shop.requests["model 0"] == MAX_TAKE_OVERS + 1


@pytest.mark.demand("scale.turns_go_on")
async def test_runs_end_as_restarted_where_the_operator_says_so(tmp_path: Path, stack: AsyncExitStack) -> None:
    config = '[live]\nafter_crash = "end"\n'
    async with serve_shop(tmp_path, "sqlite", hanging=["model 0"], config=config) as servers:
        await servers.start(stack, "tell", is_recorded=False)
        await servers.shop.wait_requests("model 0")
        await servers.kill_owner()
        assert is_restarted(await servers.post(CONNECT_PATH, make_input("c", "tell")))
        assert servers.shop.requests["model 0"] == 1


@pytest.mark.demand("scale.turns_go_on")
async def test_a_turn_that_goes_on_is_stopped_like_any_other(tmp_path: Path, stack: AsyncExitStack) -> None:
    async with serve_shop(tmp_path, "sqlite", hanging=["model 0"]) as servers:
        await servers.start(stack, "tell")
        await servers.shop.wait_requests("model 0")
        await servers.kill_owner()
        await servers.shop.wait_requests("model 0", 2)
        async with RawHttpClient(servers.url) as client:
            await client.post_json(f"{STOP_PATH}/t", {})
            assert (await client.read_head()).status == 200
        frames = await servers.post(CONNECT_PATH, make_input("c", "tell"))
        assert frames[-1].json["type"] in ("RUN_ERROR", "RUN_FINISHED")
        await servers.wait_free()


@pytest.mark.demand("scale.turns_go_on")
async def test_a_frozen_process_that_wakes_begins_no_call(tmp_path: Path, stack: AsyncExitStack) -> None:
    """Its model answers with a call after another process has taken the run over: the call does not begin."""
    text, config = "order tell", "[live]\nlease_seconds = 6\n"
    async with serve_shop(tmp_path, "postgres", hanging=["model 0"], config=config) as servers:
        old = servers.servers[0]
        seen = await servers.start(stack, text)
        await servers.shop.wait_requests("model 0")
        servers.freeze_owner()
        try:
            await servers.shop.wait_requests("model 0", 2)
            servers.shop.hanging.clear()
            whole = await servers.post(CONNECT_PATH, make_input("c", text))
        finally:
            old.send_signal(signal.SIGCONT)
        await servers.shop.wait_requests("answered 0", 2)
        await wait_until(lambda: bool(list_types(seen, "RUN_FINISHED")))
        servers.servers.append(old)
        again = await servers.post(RUN_PATH, make_input("r1", text))
        assert join_deltas(again) == join_deltas(seen) == join_deltas(whole)
        check_one_run(whole)
        assert join_text(whole) == ALL_WORDS
        assert servers.shop.requests["order"] == 1
