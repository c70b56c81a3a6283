"""CopilotKit's last runtime with GraphQL, 1.10.6 on Node, over its OpenAI adapter; only when asked for."""

from functools import partial

from bench import node
from bench.doors import GRAPHQL
from bench.peers import BenchPeer

LOCK = "copilotkit-runtime-gql"

PEER = BenchPeer(
    name="copilotkit-gql",
    command=partial(node.make_command, LOCK, "launch_copilotkit_gql.mjs"),
    env=lambda _upstream: node.ENV,
    doors=(GRAPHQL,),
    find_missing=partial(node.find_missing, LOCK),
    lock=LOCK,
    version=partial(node.read_version, LOCK, "@copilotkit/runtime"),
    start_timeout=60,
    max_cost_ratios={
        "CPU per paced token": 1 / 6,
        "CPU per token, full speed": 1 / 15,
        "start-up CPU": 1,
        "idle RSS": 1,
    },
)
