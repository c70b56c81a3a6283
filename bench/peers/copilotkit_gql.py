"""CopilotKit's last runtime with GraphQL, 1.10.6 on Node, over its OpenAI adapter; only when asked for."""

from functools import partial

from bench import node
from bench.doors import GRAPHQL
from bench.peers import Peer

LOCK = "copilotkit-runtime-gql"

PEER = Peer(
    name="copilotkit-gql",
    command=partial(node.command, LOCK, "launch_copilotkit_gql.mjs"),
    env=lambda _upstream: node.ENV,
    doors=(GRAPHQL,),
    missing=partial(node.missing, LOCK),
    lock=LOCK,
    version=partial(node.version, LOCK, "@copilotkit/runtime"),
    patience=60,
    parts={"CPU per paced token": 1 / 6, "CPU per token, full speed": 1 / 15, "start-up CPU": 1, "idle RSS": 1},
)
