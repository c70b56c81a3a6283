"""/metrics: what is counted, who may read it, and that no stranger's word becomes a label."""

import asyncio
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from rightseat import Runtime, Turn, text_message, tool
from rightseat.config.load import load_config
from rightseat.config.secret import Secret
from rightseat.config.settings import AuthSettings, ServerSettings
from rightseat.errors import UpstreamBusy
from rightseat.http.auth import Authenticator
from rightseat.runtime.metrics import BUCKETS, MAX_LABEL_SETS, MetricCounter, MetricHistogram, Metrics
from rightseat.runtime.runs import RuntimeLimits
from rightseat.types.chunks import FinishChunk, ModelChunk, TextChunk, UsageChunk
from rightseat.types.events import Usage
from rightseat.types.model import Prompt, ToolSpec
from rightseat.types.streams import closing
from rightseat.wiring.from_config import build_runtime
from tests.kit.app_server import FakeModel, reply_calls, reply_text, serve_runtime
from tests.kit.client import RawHttpClient
from tests.kit.timeouts import HANG_TIMEOUT

pytestmark = pytest.mark.io

CHAT_BODY = {"messages": [{"role": "user", "content": "hi"}]}
KEYED = Authenticator(AuthSettings(keys={"alice": Secret("key-of-alice")}))


@tool
async def double(number: int) -> int:
    return number * 2


@tool
async def broken() -> str:
    raise ValueError("no")


def parse_metrics(meters: Metrics) -> dict[str, float]:
    """What Prometheus's own reader makes of the text: `name{label,label}` → value, sorted by label."""
    families = text_string_to_metric_families(meters.to_prometheus().decode())
    return {
        f"{sample.name}{{{','.join(sample.labels.values())}}}": sample.value
        for family in families
        for sample in family.samples
    }


async def run_turn(runtime: Runtime, **turn: object) -> None:
    given = {"messages": (text_message("user", "hi"),), **turn}
    async with closing(runtime.run(Turn(**given))) as events:  # type: ignore[arg-type]
        async for _ in events:
            pass


async def stream_and_wait(prompt: Prompt) -> AsyncIterator[ModelChunk]:
    yield TextChunk("so")
    await asyncio.Event().wait()


async def raise_busy(prompt: Prompt) -> AsyncIterator[ModelChunk]:
    raise UpstreamBusy("Busy.", retry_after=1)
    yield TextChunk("")


@pytest.mark.demand("server.metrics_prometheus_runs_assistant")
async def test_a_run_is_counted_in_all_its_parts() -> None:
    first = [
        *reply_calls(("double", '{"number":2}'), ("broken", "{}"))[:-1],
        UsageChunk(Usage(10, 5)),
        FinishChunk("calls"),
    ]
    second: list[ModelChunk] = [TextChunk("four"), UsageChunk(Usage(20, 1)), FinishChunk("stop")]
    house_ = Runtime(model=FakeModel(first, second), tools=[double, broken])
    await run_turn(house_)
    found = parse_metrics(house_.meters)
    expected = {
        "rightseat_runs_total{default,stop}": 1,
        "rightseat_runs_active{}": 0,
        "rightseat_run_seconds_count{default}": 1,
        "rightseat_first_token_seconds_count{default}": 1,
        "rightseat_model_calls_total{fake,ok}": 2,
        "rightseat_model_call_seconds_count{fake}": 2,
        "rightseat_tokens_total{input,fake}": 30,
        "rightseat_tokens_total{output,fake}": 6,
        "rightseat_tool_calls_total{ok,double}": 1,
        "rightseat_tool_calls_total{failed,broken}": 1,
    }
    assert {name: found.get(name) for name in expected} == expected
    assert not [name for name in found if "failures" in name]


@pytest.mark.demand("server.metrics_prometheus_runs_assistant")
async def test_failures_are_counted_by_code_wherever_they_come_from() -> None:
    late = Runtime(model=FakeModel(raise_busy, stream_and_wait), limits=RuntimeLimits(run_seconds=0.5))
    await run_turn(late)
    await run_turn(late)
    late.stop_accepting()
    await run_turn(late)
    found = parse_metrics(late.meters)
    for code in ("upstream_busy", "deadline", "restarting"):
        assert found[f"rightseat_run_failures_total{{default,{code}}}"] == 1
    assert found["rightseat_runs_total{default,failed}"] == 3
    assert found["rightseat_model_calls_total{fake,upstream_busy}"] == 1
    # The deadline cancelled this one.
    assert found["rightseat_model_calls_total{fake,left}"] == 1


@pytest.mark.demand("server.metrics_prometheus_runs_assistant")
async def test_a_client_that_leaves_and_a_run_under_way() -> None:
    left = Runtime(model=FakeModel(stream_and_wait))
    async with closing(left.run(Turn(messages=(text_message("user", "hi"),)))) as events:
        async for event in events:
            if type(event).__name__ == "TextDelta":
                break
        assert parse_metrics(left.meters)["rightseat_runs_active{}"] == 1
    found = parse_metrics(left.meters)
    assert found["rightseat_runs_active{}"] == 0
    assert found["rightseat_runs_total{default,left}"] == 1
    assert found["rightseat_model_calls_total{fake,left}"] == 1


@pytest.mark.demand("server.thread_run_owner_request")
async def test_no_label_is_what_a_client_or_a_model_makes_up() -> None:
    model = FakeModel(reply_calls(("canary_tool", "{}"), ("canary_unknown", "{}")), reply_text("ok"))
    kept = Runtime(model=model, tools=[double])
    spec = ToolSpec("canary_tool", "", {"type": "object"})
    await run_turn(kept, tools=(spec,), thread="canary_thread", run="canary_run", conversation="canary_talk")
    await run_turn(kept, assistant="canary_assistant")
    async with serve_runtime(kept) as server:
        for target in ("/canary_path", "/agui/canary_agent"):
            async with RawHttpClient(server.url) as client:
                await client.post_json(target, CHAT_BODY, {"X-Request-Id": "canary_request"})
                assert (await client.read_head()).status == 404
    text = kept.meters.to_prometheus().decode()
    assert "canary" not in text
    found = parse_metrics(kept.meters)
    assert found["rightseat_tool_calls_total{client,(client)}"] == 1
    assert found["rightseat_tool_calls_total{failed,(unknown)}"] == 1
    assert found["rightseat_run_failures_total{(unknown),not_found}"] == 1
    assert found["rightseat_requests_total{(none),404}"] == 1
    assert found["rightseat_requests_total{/agui/{agent},404}"] == 1


@pytest.mark.demand("server.thread_run_owner_request")
def test_labels_cannot_explode() -> None:
    counter, histogram = MetricCounter("c", "", "name"), MetricHistogram("h", "", "name")
    for number in range(MAX_LABEL_SETS + 50):
        counter.add(str(number))
        histogram.observe(1.0, str(number))
    assert len(counter.values) == len(histogram.counts) == MAX_LABEL_SETS + 1
    assert counter.values[("(other)",)] == sum(histogram.counts[("(other)",)]) == 50
    counter.add("0")
    assert counter.values[("0",)] == 2


@pytest.mark.demand("server.metrics_prometheus_runs_assistant")
def test_a_histogram_counts_each_value_in_its_bucket_and_all_above() -> None:
    meters = Metrics()
    for seconds in (0.0, BUCKETS[0], BUCKETS[0] + 0.01, 10_000.0):
        meters.run_seconds.observe(seconds, "a")
    found = parse_metrics(meters)
    buckets = {name: value for name, value in found.items() if "run_seconds_bucket" in name}
    assert buckets[f"rightseat_run_seconds_bucket{{a,{BUCKETS[0]}}}"] == 2
    assert buckets[f"rightseat_run_seconds_bucket{{a,{BUCKETS[1]}}}"] == 3
    assert buckets["rightseat_run_seconds_bucket{a,600.0}"] == 3
    assert buckets["rightseat_run_seconds_bucket{a,+Inf}"] == found["rightseat_run_seconds_count{a}"] == 4


async def get_metrics(url: str, headers: dict[str, str]) -> tuple[int, str, bytes]:
    async with RawHttpClient(url) as client:
        await client.get("/metrics", headers)
        head = await client.read_head()
        return head.status, head.headers.get("content-type", ""), await client.read_body()


@pytest.mark.demand("server.metrics_needs_key_like")
@pytest.mark.parametrize(("mode", "without", "with_key"), [("key", 401, 200), ("open", 200, 200), ("off", 404, 404)])
async def test_who_may_read_it(mode: str, without: int, with_key: int) -> None:
    settings = ServerSettings(port=0, metrics=mode)  # type: ignore[arg-type]
    async with serve_runtime(Runtime(model=FakeModel()), settings, KEYED) as server:
        assert (await get_metrics(server.url, {}))[0] == without
        status, kind, body = await get_metrics(server.url, {"X-Api-Key": "key-of-alice"})
    assert status == with_key
    if with_key == 200:
        assert kind.startswith("text/plain; version=")
        assert f'rightseat_requests_total{{route="/metrics",status="{without}"}} 1.0' in body.decode()


@pytest.mark.demand("server.metrics_prometheus_runs_assistant")
async def test_refused_requests_are_counted_by_status() -> None:
    kept = Runtime(model=FakeModel())
    async with serve_runtime(kept, ServerSettings(port=0, max_body_mb=0.0001), KEYED) as server:
        for headers, body in (({}, CHAT_BODY), ({"X-Api-Key": "key-of-alice"}, {"messages": ["x" * 1000]})):
            async with RawHttpClient(server.url) as client:
                await client.post_json("/v1/chat/completions", body, headers)
                await client.read_head()
                await client.read_body()
    found = parse_metrics(kept.meters)
    assert found["rightseat_requests_total{/v1/chat/completions,401}"] == 1
    assert found["rightseat_requests_total{/v1/chat/completions,413}"] == 1


@pytest.mark.demand("server.metrics_prometheus_runs_assistant")
@pytest.mark.long
async def test_what_was_counted_stays_counted_through_a_reload(tmp_path: Path) -> None:
    (tmp_path / "rightseat.toml").write_text('[models.main]\nspec = "scripted:demo"\n')
    config = load_config(tmp_path / "rightseat.toml", env={})
    old = build_runtime(config)
    await run_turn(old)
    new = build_runtime(config, before=old)
    await run_turn(new)
    assert parse_metrics(new.meters)["rightseat_runs_total{default,stop}"] == 2
    # A script is named by its file, not by where that stands.
    assert parse_metrics(new.meters)["rightseat_model_calls_total{demo,ok}"] == 2


@pytest.mark.demand("server.without_sdk_nothing_made")
def test_starting_loads_neither_prometheus_nor_opentelemetry() -> None:
    code = (
        "import sys, rightseat.server.app, rightseat.wiring.from_config\n"
        "print([name for name in sys.modules if name.startswith(('prometheus', 'opentelemetry'))])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=HANG_TIMEOUT, check=True
    )
    assert done.stdout.strip() == "[]"
