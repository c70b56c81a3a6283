"""The bench must be able to go red: on a figure over its limit, and on a token that is not there."""

import asyncio
import json
import shutil
import sys
from pathlib import Path

import pytest
from graphql import OperationDefinitionNode, parse, print_ast

from bench import __main__ as command
from bench import against, page
from bench.comparison import compare_by_door, compare_peers
from bench.doors import AGUI, COPILOTKIT, DOORS, GRAPHQL, OPENAI, OPENBB, read_graphql_document
from bench.keep_alive import KeepAliveConnection
from bench.machine import OWN_ENV, ROOT
from bench.order import StreamOrder, WrongAnswer, find_order
from bench.peers import BenchPeer, all_peers
from bench.rows import ResultRow, format_table, quantile
from bench.scenarios import all_scenarios, disconnect, find_scenario, flows, soak
from bench.session import BenchSession
from bench.streams import ClientStream, get_report, run_orders
from bench.upstream import make_batches, make_pieces
from rightseat.doors.copilotkit.query_plan import try_compile_plan
from rightseat.plugins.load import read_plugin
from tests.kit.server import RightseatProcess
from tests.kit.timeouts import HANG_TIMEOUT
from tests.peers.install import ONLY_WHEN_NAMED, list_peers
from tests.unit.doors.copilotkit.client import DOCUMENT


@pytest.mark.demand("cost.litellm_cpu_most_1", "engine.bench_cpu_per_paced")
def test_a_row_is_judged_by_its_ratio_else_by_its_median() -> None:
    assert ResultRow("m", "p", "µs", [500, 10, 20], ratio=3.9, limit=4).is_good
    assert not ResultRow("m", "p", "µs", [1, 1, 1], ratio=4.1, limit=4).is_good
    assert ResultRow("m", "p", "MB", [70, 90, 80], limit=80).is_good
    bad = ResultRow("m", "p", "MB", [70, 90, 81], limit=80)
    assert not bad.is_good
    assert "TOO MUCH" in format_table([bad])
    assert ResultRow("m", "p", "ms", [1e9]).is_good


def test_an_order_survives_every_door() -> None:
    order = StreamOrder(17, 120, 20, "never")
    assert set(DOORS.values()) == {OPENAI, AGUI, OPENBB, GRAPHQL, COPILOTKIT}
    for door in DOORS.values():
        assert find_order(door.format_request(order.prompt)) == order


@pytest.mark.demand("cost.500_concurrent_paced_streams", "engine.bench_cpu_per_paced")
async def test_a_lost_token_is_seen() -> None:
    order = StreamOrder(0, 5, 20)
    whole = ClientStream(b"")
    for piece in make_pieces(5):
        whole.data_received(piece)
    assert whole.done.done()
    whole.verify(OPENAI, order)
    lossy = ClientStream(b"")
    for piece in make_pieces(5)[:2] + make_pieces(5)[3:]:
        lossy.data_received(piece)
    with pytest.raises(WrongAnswer, match="stream 0"):
        lossy.verify(OPENAI, order)


async def test_an_error_status_ends_the_stream() -> None:
    stream = ClientStream(b"")
    stream.data_received(b"HTTP/1.1 503 Busy\r\n\r\n")
    with pytest.raises(WrongAnswer, match="503"):
        await stream.done


@pytest.mark.demand(
    "cost.bench_peers_litellm_measures", "flows.bench_engine_overhead_per", "llamacpp.bench_schema_grammar_added"
)
def test_peers_and_scenarios_are_found() -> None:
    foreign = {"litellm", "openbb", "copilotkit", "copilotkit-gql"}
    assert {"splice", "rightseat", *foreign} <= all_peers().keys()
    assert {name for name, peer in all_peers().items() if peer.is_foreign} == foreign
    assert {all_peers()[name].lock for name in foreign} <= ONLY_WHEN_NAMED & set(list_peers())
    order = [
        "footprint",
        "paced",
        "disconnect",
        "rush",
        "brief",
        "agents",
        "crowd",
        "flows",
        "plugins",
        "adapters",
        "soak",
        "local",
        "postgres_store",
        "shared_store",
        "cluster",
        "workers",
        "cluster_load",
    ]
    assert list(all_scenarios()) == order
    assert [scenario.name for scenario in all_scenarios().values() if scenario.short] == order[:2]


@pytest.mark.demand("flows.bench_engine_overhead_per")
def test_the_flows_that_are_measured_are_whole(tmp_path: Path) -> None:
    plugin = read_plugin(flows.write_plugin(tmp_path))
    assert plugin.problems == ()
    steps = {flow.name: len(flow.steps) for flow in plugin.workflows}
    assert steps == {"short": 2, "long": flows.STEPS + 2, "waiting": 2}


@pytest.mark.demand("flows.bench_engine_overhead_per")
def test_a_flow_that_does_not_wait_is_no_figure() -> None:
    body = 'data: {"type":"RUN_FINISHED","threadId":"t","outcome":%s}\n\n'
    asked = body % '{"type":"interrupt","interrupts":[{"id":"ask_1"}]}'
    sent = json.loads(flows.answer_interrupt(AGUI, asked.encode()).format_request("x").partition(b"\r\n\r\n")[2])
    assert (sent["threadId"], sent["resume"][0]["interruptId"]) == ("t", "ask_1")
    with pytest.raises(WrongAnswer, match="did not ask"):
        flows.answer_interrupt(AGUI, (body % '{"type":"success"}').encode())


@pytest.mark.demand("cost.bench_peers_litellm_measures")
def test_a_foreign_peer_runs_only_when_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    installed: list[str] = []
    monkeypatch.setattr(command, "install", installed.append)
    foreign = BenchPeer("far", lambda _: [], (OPENAI,), lock="far-lock")
    home = BenchPeer("near", lambda _: [], (OPENAI,), is_ours=True)
    monkeypatch.setattr(command, "all_peers", lambda: {"far": foreign, "near": home})
    assert command.choose_peers(None, []) == [home]
    assert installed == []
    assert command.choose_peers(None, ["far"]) == [home, foreign]
    assert installed == ["far-lock"]


@pytest.mark.demand("copilotkit.bench_run_copilotkit_runtime", "cost.litellm_cpu_most_1", "openbb.bench_cpu_per_paced")
def test_ours_is_compared_round_by_round_at_the_same_door() -> None:
    ours = BenchPeer("ours", lambda _: [], (OPENAI, AGUI), is_ours=True)
    theirs = BenchPeer("far", lambda _: [], (OPENAI,), lock="far-lock")
    found = {"ours openai": [1.0, 2.0, 3.0], "ours agui": [9.0, 9.0, 9.0], "far": [10.0, 10.0, 60.0]}
    [row] = compare_by_door([ours, theirs], "CPU", found, 0.1)
    assert (row.peer, row.rounds, row.is_good) == ("ours openai ÷ far", [0.1, 0.2, 0.05], True)
    [row] = compare_by_door([ours, theirs], "CPU", found | {"far": [9.0, 9.0, 9.0]}, 0.1)
    assert not row.is_good
    assert compare_by_door([ours], "CPU", found, 0.1) == []
    own = BenchPeer("far", lambda _: [], (OPENAI,), lock="far-lock", max_cost_ratios={"CPU": 0.5})
    [row] = compare_by_door([ours, own], "CPU", found | {"far": [9.0, 9.0, 9.0]}, 0.1)
    assert (row.limit, row.is_good) == (0.5, True)
    [row] = compare_by_door([ours, own], "memory", found, 0.1)
    assert row.limit is None


@pytest.mark.demand("copilotkit.bench_run_copilotkit_runtime")
def test_the_node_runtimes_have_the_limits_that_were_asked_for() -> None:
    ours, peers = BenchPeer("ours", lambda _: [], (GRAPHQL, COPILOTKIT), is_ours=True), all_peers()
    wanted = {"copilotkit-gql": ("graphql", 1 / 6, 1 / 15), "copilotkit": ("copilotkit", 1 / 6, 1 / 40)}
    for name, (door, paced, rushed) in wanted.items():
        for measure, part in (("CPU per paced token", paced), ("CPU per token, full speed", rushed)):
            found = {"ours graphql": [part * 99], "ours copilotkit": [part * 99], name: [100.0]}
            [row] = compare_by_door([ours, peers[name]], measure, found, None)
            assert (row.peer, row.limit, row.is_good) == (f"ours {door} ÷ {name}", part, True)
            [row] = compare_by_door([ours, peers[name]], measure, found | {name: [98.0]}, None)
            assert not row.is_good
        for measure in ("start-up CPU", "idle RSS"):
            [row] = compare_peers([ours, peers[name]], measure, {"ours": [2.0], name: [2.1]})
            assert (row.peer, row.is_good) == (f"ours ÷ {name}", True)
            [row] = compare_peers([ours, peers[name]], measure, {"ours": [2.0], name: [1.9]})
            assert not row.is_good
    far = BenchPeer("far", lambda _: [], (OPENAI,), lock="far-lock")
    assert compare_peers([ours, far], "idle RSS", {"ours": [2.0], "far": [1.0]}) == []


@pytest.mark.demand("copilotkit.bench_run_copilotkit_runtime")
def test_parts_are_heard_token_by_token() -> None:
    def part(value: object) -> bytes:
        payload = json.dumps(value).encode()
        return b"\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%b\r\n---" % (len(payload), payload)

    message = {"__typename": "TextMessageOutput", "id": "m", "content": []}
    frames: list[object] = [
        {"data": {"generateCopilotResponse": {"messages": []}}, "hasNext": True},
        {"incremental": [{"items": [message], "path": ["messages", 0]}], "hasNext": True},
        {"incremental": [{"items": [" token0"], "path": ["content", 0]}], "hasNext": True},
        {"incremental": [{"items": [" token1"]}, {"items": [" token2"]}], "hasNext": True},
        {"incremental": [{"data": {"status": {"code": "Success"}}}], "hasNext": False},
    ]
    body = b"\r\n---" + b"".join(map(part, frames)) + b"--\r\n"
    StreamOrder(0, 3, 0).check(GRAPHQL.read_streamed_text(body))
    with pytest.raises(WrongAnswer):
        StreamOrder(0, 3, 0).check(GRAPHQL.read_streamed_text(body.replace(b" token1", b"")))


@pytest.mark.demand("copilotkit.bench_run_copilotkit_runtime")
def test_the_bench_sends_what_the_client_sends() -> None:
    """The same document as the door's tests have; it is one that is answered by its plan."""
    sent = json.loads(GRAPHQL.format_request("x").partition(b"\r\n\r\n")[2])["query"]
    assert sent == read_graphql_document()
    assert print_ast(parse(sent)) == print_ast(parse(DOCUMENT))
    [operation] = parse(sent).definitions
    assert isinstance(operation, OperationDefinitionNode)
    assert try_compile_plan(operation) is not None


def test_every_request_is_a_conversation_of_its_own() -> None:
    for door in (AGUI, COPILOTKIT, GRAPHQL):
        assert door.format_request("x") != door.format_request("x")


@pytest.mark.demand("cost.bench_itself_writes_table")
def test_the_table_goes_between_the_marks_and_nothing_else_changes(tmp_path: Path) -> None:
    file = tmp_path / "performance.md"
    file.write_text(f"before\n{page.BEGIN}\nold\n{page.END}\nafter\n")
    page.write_page([ResultRow("m", "p", "MB", [81.0], limit=80)], {"on": "a day"}, file)
    text = file.read_text()
    assert text.startswith(f"before\n{page.BEGIN}\nMeasured: on a day.\n")
    assert text.endswith(f"{page.END}\nafter\n")
    assert "| m | p | MB | 81.0 | 81.0 |  | 80 | TOO MUCH |" in text
    assert "old" not in text
    file.write_text("no marks")
    with pytest.raises(ValueError, match="lost the marks"):
        page.write_page([], {}, file)


@pytest.mark.demand("cost.bench_itself_writes_table")
def test_the_page_has_the_marks() -> None:
    assert page.PAGE.read_text(encoding="utf-8").partition(page.BEGIN)[2].count(page.END) == 1


@pytest.mark.demand("cost.500_concurrent_paced_streams")
async def test_arrivals_are_those_of_the_tokens(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter([1.0, 2.0, 3.0])
    monkeypatch.setattr("bench.streams.monotonic", lambda: next(clock))
    stream = ClientStream(b"")
    made = make_pieces(5)
    for data in (made[0], made[1] + made[2], made[3] + made[4]):
        stream.data_received(data)
    assert stream.list_arrivals(StreamOrder(0, 5, 1)) == [1.0, 2.0, 2.0, 3.0, 3.0]
    clock = iter([1.0, 2.0])
    joined = ClientStream(b"")
    joined.data_received(b'HTTP/1.1 200 OK\r\n\r\n{"delta":" token0 token1"}')
    joined.data_received(b'{"delta":" token2"}')
    assert joined.list_arrivals(StreamOrder(0, 3, 1)) == [1.0, 1.0, 2.0]


@pytest.mark.demand("cost.500_concurrent_paced_streams")
def test_quantiles() -> None:
    assert quantile(range(200, 0, -1), 0.99) == 199
    assert quantile([7.0], 0.5) == 7.0


@pytest.mark.demand("security.disconnects_close_upstreams")
def test_leaving_is_judged_by_the_relay_of_the_same_round() -> None:
    waits = {"relay": [[10.0] * 200, [40.0] * 200, [10.0] * 200], "ours": [[19.0] * 200, [70.0] * 200, [90.0] * 200]}
    rows = {(row.measure, row.peer): row for row in disconnect.make_rows("late", waits)}
    judged = rows["leave, late, p99", "ours"]
    assert (judged.ratio, judged.is_good) == (1.9, True)
    assert rows["leave, late, p99", "relay"].limit is None
    waits["ours"][0] = [21.0] * 200
    assert not disconnect.make_rows("late", waits)[-1].is_good


@pytest.mark.demand("cost.litellm_cpu_most_1")
def test_full_speed_holds_the_same_bytes() -> None:
    assert b"".join(make_batches(100)) == b"".join(make_pieces(100))


@pytest.mark.demand("cost.5_000_short_streams")
async def test_a_cut_answer_that_looks_whole_is_seen() -> None:
    order, stream = StreamOrder(4, 6, 100, "cut"), ClientStream(b"")
    for piece in make_pieces(6)[:3]:
        stream.data_received(piece)
    with pytest.raises(WrongAnswer, match="a cut answer"):
        soak._check_cut(stream, order)
    stream.data_received(b'data: {"error":{}}\n\n')
    soak._check_cut(stream, order)


@pytest.mark.demand("cost.litellm_cpu_most_1")
@pytest.mark.io
async def test_the_upstream_keeps_every_order() -> None:
    line = [sys.executable, "-m", "bench.upstream"]
    async with asyncio.timeout(HANG_TIMEOUT), RightseatProcess(command=line, env=OWN_ENV) as upstream:
        await run_orders(upstream.url, OPENAI, [StreamOrder(1, 5000, 0), StreamOrder(2, 3, 100, "timed")], "")
        assert [len(moments) for moments in (await get_report(upstream.url, "/sent")).values()] == [3]
        kept = await KeepAliveConnection.connect(upstream.url)
        order = StreamOrder(3, 5, 0)
        for _ in range(2):
            order.check(OPENAI.read_streamed_text(await kept.request(OPENAI.format_request(order.prompt))))
            order.check(
                OPENAI.read_unstreamed_text(await kept.request(OPENAI.format_request(order.prompt, streamed=False)))
            )
        with pytest.raises(WrongAnswer, match="the connection ended"):
            await kept.request(OPENAI.format_request(StreamOrder(4, 6, 0, "cut").prompt))
        kept.close()
        assert await get_report(upstream.url, "/open") == 0


def test_a_driver_finds_its_scenario_by_its_module() -> None:
    for name, scenario in all_scenarios().items():
        assert find_scenario(name) is scenario


@pytest.mark.demand("scale.one_worker_pays_nothing")
def test_a_checkout_is_judged_by_the_least_of_its_rounds() -> None:
    kept = against.Comparison("RSS", "MB", before=[60.0, 90.0], now=[61.0, 200.0])
    assert kept.is_good
    assert "ratio 1.740 (least 1.017)  ok" in kept.format()
    more = against.Comparison("RSS", "MB", before=[60.0, 90.0], now=[62.0, 62.0])
    assert not more.is_good
    assert "TOO MUCH" in more.format()


@pytest.mark.demand("scale.one_worker_pays_nothing")
def test_what_is_no_checkout_is_not_measured(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="has no src/rightseat"):
        against.make_checkout_peer("before", tmp_path)


@pytest.mark.demand("scale.one_worker_pays_nothing")
@pytest.mark.io
async def test_a_checkout_is_measured_beside_this_one(tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    shutil.copytree(ROOT / "src" / "rightseat", tmp_path / "src" / "rightseat")
    # A module that only the other one imports.
    (tmp_path / "src" / "only_before.py").touch()
    with (tmp_path / "src" / "rightseat" / "errors.py").open("a") as file:
        file.write("\nimport only_before\n")
    peers = [against.make_checkout_peer(*named) for named in ((against.BEFORE, tmp_path), (against.NOW, ROOT))]
    line = [sys.executable, "-m", "bench.upstream"]
    async with RightseatProcess(command=line, env=OWN_ENV) as upstream:
        session = BenchSession(short=True, upstream=upstream.url, peers=peers, servers={}, peer_cores=None)
        before, now = [await against.list_modules(session, peer) for peer in peers]
        comparisons = await against.measure_starts(session, 1)
    assert before - now == {"only_before"}
    assert now <= before
    measures = ["start-up CPU", "RSS after one answer", "PSS after one answer"]
    assert [comparison.measure for comparison in comparisons] == measures
    assert all(figure > 0 for comparison in comparisons for figure in (*comparison.before, *comparison.now))
