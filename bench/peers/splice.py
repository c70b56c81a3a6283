"""The floor: bytes copied between two sockets, nothing read, nothing written anew."""

import sys

from bench.doors import OPENAI
from bench.machine import OWN_ENV
from bench.peers import BenchPeer

PEER = BenchPeer(
    name="splice",
    command=lambda upstream: [sys.executable, "-m", "bench.splice", upstream],
    env=lambda _upstream: OWN_ENV,
    doors=(OPENAI,),
)
