"""The soak itself: a server and an upstream, each a process, a load, and what the server uses before and after."""

import sys
from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median

from evals.soak.load import Load
from evals.soak.resources import POOL_SECONDS, Usage, UsageMeter, find_growth, format_table
from tests.kit.server import RightseatProcess

ROOT = Path(__file__).resolve().parents[2]
WARM_UP_SHARE = 0.3
"""Of the time: libraries are loaded, pools filled, caches warm."""
SETTLE_SECONDS = 5.0
"""Without load: runs whose client left are stopped after `orphan_seconds`, and old runtimes closed."""
FLOW = """
name: talk
description: Talks twice.
steps:
  - {name: start, call_type: llm, params: {user_prompt: "{question}"}, next: second}
  - {name: second, call_type: llm, params: {user_prompt: "Say it again."}}
"""
CONFIG = """
[server]
metrics = "open"
[models.kit]
spec = "openai:kit"
base_url = "{upstream}/v1"
tries = 1
[assistants.default]
model = "kit"
tools = ["evals.soak.tools:add", "evals.soak.tools:add_in_thread", "evals.soak.tools:add_in_process"]
[[plugins]]
path = "{home}/plugins"
[store]
path = "{home}/data"
orphan_seconds = 2
"""


@dataclass(frozen=True, slots=True)
class SoakReport:
    start: Usage
    warm: Usage
    end: Usage
    counts: Counter[str]
    problems: list[str]

    def format(self) -> str:
        columns = [("start", self.start), ("after warm-up", self.warm), ("end", self.end)]
        counts = ", ".join(f"{name} {count}" for name, count in sorted(self.counts.items()))
        return f"{format_table(columns)}\n{counts}"


async def run_soak(home: Path, seconds: float, seed: int) -> SoakReport:
    """Load a server for `seconds` and compare what it uses after the warm-up and at the end."""
    (home / "plugins" / "soak" / "flows").mkdir(parents=True)
    (home / "plugins" / "soak" / "flows" / "talk.yaml").write_text(FLOW, "utf-8")
    line = [sys.executable, "-m", "evals.soak.upstream"]
    env = {"PYTHONPATH": str(ROOT), "OPENAI_API_KEY": "soak"}
    async with RightseatProcess(command=line, env=env) as upstream:
        config = CONFIG.format(upstream=upstream.url, home=home)
        async with RightseatProcess(config=config, env=env) as server:
            meter = UsageMeter(server, upstream.port, home / "data")
            start = await meter.measure_idle(1)
            load = Load(server, seed)
            await load.run(WARM_UP_SHARE * seconds)
            warm = await meter.measure_idle(SETTLE_SECONDS)
            async with meter.sample_rss() as samples:
                await load.run((1 - WARM_UP_SHARE) * seconds)
            end = await meter.measure_idle(SETTLE_SECONDS, pool_seconds=POOL_SECONDS)
            problems = list(load.problems)
            if "Traceback" in server.stderr:
                problems.append(f"the log has a traceback: {server.stderr[server.stderr.index('Traceback') :][:2000]}")
    # Under load in both: a quarter each, so that no peak of a moment decides.
    quarter = max(1, len(samples) // 4)
    warm = replace(warm, rss_bytes=median(samples[:quarter]))
    end = replace(end, rss_bytes=median(samples[-quarter:]))
    return SoakReport(start, warm, end, load.counts, problems + find_growth(warm, end))
