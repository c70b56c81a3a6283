"""python -m train.speed ADAPTER.gguf [ROUNDS]: writing with the adapter against writing without, in turns."""

from __future__ import annotations

import asyncio
import statistics
import sys
from pathlib import Path

from rightseat.models.llamacpp import weights
from rightseat.models.llamacpp.child import LaunchOptions
from rightseat.models.llamacpp.supervision import ManagedServer

TOKENS = 128


async def measure_ms_per_token(engine: ManagedServer, scale: float) -> float:
    """Milliseconds a token."""
    asked = {"prompt": "Once upon a time", "n_predict": TOKENS, "temperature": 0, "ignore_eos": True}
    timings = None
    async for piece in engine.stream_completion({**asked, "lora": [{"id": 0, "scale": scale}]}):
        timings = piece.timings or timings
    assert timings is not None
    return timings.predicted_ms / timings.predicted_n


async def main(launch: LaunchOptions, rounds: int = 8) -> None:
    engine = ManagedServer(launch)
    await engine.start()
    try:
        pairs = [
            (await measure_ms_per_token(engine, 0.0), await measure_ms_per_token(engine, 1.0))
            for _ in range(rounds + 1)
        ][1:]
    finally:
        await engine.close()
    base, adapted = (statistics.median(side) for side in zip(*pairs, strict=True))
    print(f"base {base:.2f} ms, adapter {adapted:.2f} ms a token: {100 * base / adapted:.0f} % of the speed")


if __name__ == "__main__":
    beside = LaunchOptions(weights.require_weights(), lora=Path(sys.argv[1]).absolute(), lora_on_request=True)
    asyncio.run(main(beside, *map(int, sys.argv[2:])))
