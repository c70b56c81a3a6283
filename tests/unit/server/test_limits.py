"""What each owner may use: over a limit, every door says so in its own shape, and when to come back."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from rightseat import Assistant, Owner, Runtime, Turn, text_message
from rightseat.config.load import load_config
from rightseat.config.secret import Secret
from rightseat.config.settings import AuthSettings
from rightseat.errors import ConfigError, UpstreamRefused
from rightseat.http.auth import Authenticator
from rightseat.middleware.quota import DAY, Quota, Quotas, UsageAccount, UsageTracker
from rightseat.stores.sqlite import SQLiteStore
from rightseat.tools.delegate import make_responder_tool
from rightseat.types.chunks import FinishChunk, ModelChunk, TextChunk, UsageChunk
from rightseat.types.events import Event, RunFailed, RunFinished, TextDelta, Usage
from rightseat.types.model import Model, ModelInfo, Prompt
from rightseat.types.streams import closing
from rightseat.wiring.from_config import build_runtime
from rightseat.wiring.runtime import RuntimeParts
from tests.kit.app_server import FakeModel, reply_calls, reply_text, serve_runtime
from tests.kit.client import RawHttpClient

ALICE, BOB = Owner("key:alice"), Owner("key:bob")
KEYED = Authenticator(AuthSettings(keys={"alice": Secret("key-a"), "bob": Secret("key-b")}))
HI = (text_message("user", "hi"),)


class FakeClock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


class RepeatingModel(Model):
    """A model that never runs out of lines."""

    def __init__(self, *fragments: ModelChunk) -> None:
        self.fragments = fragments or (TextChunk("ok"), FinishChunk("stop"))

    async def stream(self, prompt: Prompt, /) -> AsyncIterator[ModelChunk]:
        for fragment in self.fragments:
            yield fragment


def get_account(runtime: Runtime, owner: Owner) -> UsageAccount:
    assert isinstance(runtime.ledger, UsageTracker)
    return runtime.ledger.get_account(owner)


async def get_last_event(runtime: Runtime, owner: Owner = ALICE) -> Event:
    return [event async for event in runtime.run(Turn(messages=HI, owner=owner))][-1]


def make_runtime(model: Any = None, *, clock: FakeClock | None = None, **quota: float) -> Runtime:
    return Runtime(
        model=model or RepeatingModel(),
        quotas=Quotas(Quota(**quota)),  # type: ignore[arg-type]
        parts=RuntimeParts(
            ledger=UsageTracker(clock or FakeClock()), model_infos={"default": ModelInfo("test", "talker", 2.0, 10.0)}
        ),
    )


@pytest.mark.demand("server.per_owner_limits_rate")
async def test_requests_a_minute_come_at_once_and_then_one_by_one() -> None:
    clock = FakeClock()
    kept = make_runtime(clock=clock, requests_per_minute=3)
    assert [type(await get_last_event(kept)) for _ in range(4)] == [RunFinished] * 3 + [RunFailed]
    refused = await get_last_event(kept)
    assert isinstance(refused, RunFailed)
    assert (refused.code, refused.status, refused.fault) == ("rate_limited", 429, "caller")
    assert refused.retry_after == pytest.approx(20)
    # Others are not held up, and coming back exactly when told to is early enough.
    assert isinstance(await get_last_event(kept, BOB), RunFinished)
    clock.now += refused.retry_after or 0
    assert [type(await get_last_event(kept)) for _ in range(2)] == [RunFinished, RunFailed]
    clock.now += 3600
    assert [type(await get_last_event(kept)) for _ in range(4)] == [RunFinished] * 3 + [RunFailed]


@pytest.mark.demand("server.per_owner_limits_rate")
async def test_runs_at_the_same_time() -> None:
    gate = asyncio.Event()

    async def waits(prompt: Prompt) -> AsyncIterator[ModelChunk]:
        yield TextChunk("so")
        await gate.wait()
        yield FinishChunk("stop")

    kept = make_runtime(FakeModel(waits, reply_text("b"), reply_text("c")), concurrent_runs=1)
    async with closing(kept.run(Turn(messages=HI, owner=ALICE))) as events:
        async for event in events:
            if isinstance(event, TextDelta):
                break
        refused = await get_last_event(kept)
        assert isinstance(refused, RunFailed)
        assert (refused.code, refused.status, refused.retry_after) == ("too_many_runs", 429, 1)
        assert isinstance(await get_last_event(kept, BOB), RunFinished)
    # She left: the place is free again.
    assert isinstance(await get_last_event(kept), RunFinished)


@pytest.mark.demand("server.per_owner_limits_rate")
async def test_money_is_spent_by_price_and_comes_back_with_the_next_day() -> None:
    clock = FakeClock()
    # 100,000 × 2 + 50,000 × 10 per million = 0.70
    kept = make_runtime(
        RepeatingModel(TextChunk("a"), UsageChunk(Usage(100_000, 50_000)), FinishChunk("stop")),
        clock=clock,
        spend_per_day=1,
    )
    assert [type(await get_last_event(kept)) for _ in range(2)] == [RunFinished] * 2
    assert get_account(kept, ALICE).spent == pytest.approx(1.4)
    clock.now += 3600
    refused = await get_last_event(kept)
    assert isinstance(refused, RunFailed)
    assert (refused.code, refused.status, refused.retry_after) == ("spend_exceeded", 429, DAY - 3600)
    assert isinstance(await get_last_event(kept, BOB), RunFinished)
    clock.now += DAY - 3600
    assert isinstance(await get_last_event(kept), RunFinished)
    assert get_account(kept, ALICE).spent == pytest.approx(0.7)


@pytest.mark.demand("server.per_owner_limits_rate")
async def test_tokens_a_day() -> None:
    kept = make_runtime(
        RepeatingModel(TextChunk("a"), UsageChunk(Usage(60, 40)), FinishChunk("stop")), tokens_per_day=150
    )
    assert [type(await get_last_event(kept)) for _ in range(3)] == [RunFinished, RunFinished, RunFailed]


@pytest.mark.demand("server.per_owner_limits_rate")
async def test_what_was_used_today_survives_a_restart(tmp_path: Path) -> None:
    steady, calendar = FakeClock(), FakeClock()

    def started(store: SQLiteStore) -> Runtime:
        # Another process has another clock, but the same calendar.
        steady.now += 5_000_000
        return Runtime(
            model=RepeatingModel(TextChunk("a"), UsageChunk(Usage(60, 40)), FinishChunk("stop")),
            quotas=Quotas(Quota(tokens_per_day=150)),
            parts=RuntimeParts(ledger=UsageTracker(steady, store=store, wall_clock=calendar)),
            store=store,
        )

    found = []
    for hours in (0, 1, 20, 4):
        calendar.now += hours * 3600
        store = SQLiteStore(tmp_path, clock=calendar)
        kept = started(store)
        found.append((type(await get_last_event(kept)), type(await get_last_event(kept, BOB))))
        if hours == 20:
            failed = await get_last_event(kept)
            assert isinstance(failed, RunFailed)
            assert failed.retry_after == pytest.approx(3 * 3600)
        await kept.close()
        await store.close()
    over, fine = (RunFailed, RunFailed), (RunFinished, RunFinished)
    assert found == [fine, fine, over, fine]


@pytest.mark.demand("server.per_owner_limits_rate")
async def test_whoever_leaves_has_paid_and_a_silent_model_is_estimated() -> None:
    async def endless(prompt: Prompt) -> AsyncIterator[ModelChunk]:
        while True:
            yield TextChunk("four")

    kept = make_runtime(FakeModel(endless, reply_text("x" * 400)), tokens_per_day=10**9)
    seen = 0
    async with closing(kept.run(Turn(messages=HI, owner=ALICE))) as events:
        async for event in events:
            seen += isinstance(event, TextDelta)
            if seen == 50:
                break
    assert get_account(kept, ALICE).tokens >= 50
    await get_last_event(kept, BOB)
    assert get_account(kept, BOB).tokens >= 100


async def test_a_model_that_cannot_be_reached_costs_nothing() -> None:
    async def down(prompt: Prompt) -> AsyncIterator[ModelChunk]:
        raise UpstreamRefused("Down.")
        yield TextChunk("")

    kept = make_runtime(FakeModel(down), tokens_per_day=100)
    assert isinstance(await get_last_event(kept), RunFailed)
    assert get_account(kept, ALICE).tokens == 0


async def test_an_assistant_called_by_another_is_the_same_request_but_costs() -> None:
    spends = (TextChunk("inner"), UsageChunk(Usage(1000, 0)), FinishChunk("stop"))
    inner = Runtime(model=RepeatingModel())
    outer: Runtime

    def helper(turn: Turn) -> AsyncIterator[Event]:
        return outer.responders["helper"](turn)

    asks = reply_calls(("ask", '{"request":"x"}'))
    outer = Runtime(
        assistants=[
            Assistant("default", FakeModel(asks, reply_text("done")), tools=(make_responder_tool("ask", "", helper),)),
            Assistant("helper", RepeatingModel(*spends)),
        ],
        quotas=Quotas(Quota(requests_per_minute=1, concurrent_runs=1, tokens_per_day=10**6)),
        parts=RuntimeParts(ledger=UsageTracker(FakeClock())),
    )
    assert isinstance(await get_last_event(outer), RunFinished)
    assert get_account(outer, ALICE).tokens > 1000
    assert get_account(outer, ALICE).running == 0
    await inner.close()


async def test_two_runs_read_by_turns_pay_each_for_itself() -> None:
    """Each asks its model twice, the second time while the other's run was read last."""

    class Twice:
        async def stream(self, prompt: Prompt, /) -> AsyncIterator[ModelChunk]:
            if prompt.messages[-1].role == "user":
                for fragment in reply_calls(("nothing", "{}")):
                    yield fragment
            else:
                yield UsageChunk(Usage(0, 1000))
                yield FinishChunk("stop")

    kept = make_runtime(Twice(), tokens_per_day=10**6)
    runs = [kept.run(Turn(messages=HI, owner=owner)) for owner in (ALICE, BOB)]
    async with closing(runs[0]) as one, closing(runs[1]) as other:
        async for _ in one:
            await anext(other, None)
        async for _ in other:
            pass
    assert [get_account(kept, owner).tokens // 1000 for owner in (ALICE, BOB)] == [1, 1]


@pytest.mark.demand("server.per_owner_limits_rate")
async def test_owners_are_forgotten_but_never_one_with_a_run() -> None:
    ledger = UsageTracker(FakeClock(), max_accounts=3)
    ledger.get_account(Owner("busy")).running = 1
    for number in range(10):
        ledger.get_account(Owner(f"o{number}"))
    assert list(ledger.accounts) == ["busy", "o8", "o9"]
    ledger.get_account(Owner("o8"))
    ledger.get_account(Owner("new"))
    assert list(ledger.accounts) == ["busy", "o8", "new"]


def test_without_limits_there_is_no_layer_and_nothing_is_kept() -> None:
    assert not Quotas()
    assert not Quotas(Quota(), {"alice": Quota()})
    assert Quotas(Quota(), {"alice": Quota(concurrent_runs=1)})


TOML = """
[auth.keys]
alice = "env:HOME"
bob = "env:HOME"
[models.main]
spec = "scripted:demo"
input_cost = 1
output_cost = 2.5
[limits]
requests_per_minute = 1
spend_per_day = 3
[limits.owners.bob]
requests_per_minute = 0
[limits.owners."jwt:carol"]
concurrent_runs = 2
"""


def load_text(tmp_path: Path, text: str) -> Any:
    (tmp_path / "rightseat.toml").write_text(text)
    return load_config(tmp_path / "rightseat.toml", env={})


@pytest.mark.demand("server.per_owner_limits_rate")
@pytest.mark.long
async def test_limits_from_the_file_and_what_was_used_survives_a_reload(tmp_path: Path) -> None:
    settings = load_text(tmp_path, TOML)
    old = build_runtime(settings)
    assert [type(await get_last_event(old)) for _ in range(2)] == [RunFinished, RunFailed]
    assert [type(await get_last_event(old, BOB)) for _ in range(3)] == [RunFinished] * 3
    new = build_runtime(settings, before=old)
    assert isinstance(await get_last_event(new), RunFailed)
    assert get_account(new, ALICE).spent == get_account(old, ALICE).spent > 0
    # Carol's own table changes one thing; the rest is everyone's.
    carol = Owner("jwt:carol")
    assert [type(await get_last_event(new, carol)) for _ in range(2)] == [RunFinished, RunFailed]


@pytest.mark.demand("server.per_owner_limits_rate")
@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("owners.bob", "owners.alcie"), "limits.owners.alcie: there is no key of that name.*mean alice"),
        (("output_cost = 2.5", ""), "the model main has no costs"),
        (("input_cost = 1", "input_cost = -1"), "input_cost"),
        (("requests_per_minute = 0", "requests_per_minit = 0"), "mean requests_per_minute"),
    ],
)
def test_a_limit_that_cannot_work_is_refused(tmp_path: Path, change: tuple[str, str], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        build_runtime(load_text(tmp_path, TOML.replace(*change)))


@pytest.mark.demand("server.per_owner_limits_rate")
@pytest.mark.io
async def test_each_door_says_it_in_its_own_shape() -> None:
    kept = make_runtime(requests_per_minute=1)
    chat = {"messages": [{"role": "user", "content": "hi"}], "stream": True}
    key = {"X-Api-Key": "key-a"}
    async with serve_runtime(kept, authenticate=KEYED) as server:
        heads, bodies = [], []
        for target, body in (("/v1/chat/completions", chat), ("/v1/chat/completions", chat), ("/agui/default", chat)):
            async with RawHttpClient(server.url) as client:
                await client.post_json(target, body, key)
                heads.append(await client.read_head())
                bodies.append((await client.read_body()).decode())
    assert [head.status for head in heads] == [200, 429, 200]
    assert heads[1].headers["retry-after"] == "60"
    assert '"code":"rate_limited"' in bodies[1]
    assert heads[1].headers["content-type"] == "application/json"
    assert '"type":"RUN_ERROR"' in bodies[2]
    assert '"code":"rate_limited"' in bodies[2]
