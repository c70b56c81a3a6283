"""CopilotKit's runtime of today on Node: AG-UI, its own agent, threads in memory; only when asked for."""

from functools import partial

from bench import node
from bench.doors import COPILOTKIT
from bench.peers import Peer

LOCK = "copilotkit-runtime"

PEER = Peer(
    name="copilotkit",
    command=partial(node.command, LOCK, "launch_copilotkit.mjs"),
    env=lambda _upstream: node.ENV,
    doors=(COPILOTKIT,),
    missing=partial(node.missing, LOCK),
    lock=LOCK,
    version=partial(node.version, LOCK, "@copilotkit/runtime"),
    patience=60,
    parts={"CPU per paced token": 1 / 6, "CPU per token, full speed": 1 / 40, "start-up CPU": 1, "idle RSS": 1},
)
