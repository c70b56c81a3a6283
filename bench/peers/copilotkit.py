"""CopilotKit's runtime of today on Node: AG-UI, its own agent, threads in memory; only when asked for."""

from functools import partial

from bench import node
from bench.doors import COPILOTKIT
from bench.peers import BenchPeer

LOCK = "copilotkit-runtime"

PEER = BenchPeer(
    name="copilotkit",
    command=partial(node.make_command, LOCK, "launch_copilotkit.mjs"),
    env=lambda _upstream: node.ENV,
    doors=(COPILOTKIT,),
    find_missing=partial(node.find_missing, LOCK),
    lock=LOCK,
    version=partial(node.read_version, LOCK, "@copilotkit/runtime"),
    start_timeout=60,
    max_cost_ratios={
        "CPU per paced token": 1 / 6,
        "CPU per token, full speed": 1 / 40,
        "start-up CPU": 1,
        "idle RSS": 1,
    },
)
