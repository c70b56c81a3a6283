"""python -m train.generate OUT.jsonl.gz [COUNT] [SEED]: the training data, a prompt and its answer a line."""

from __future__ import annotations

import gzip
import json
import sys
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from itertools import repeat
from pathlib import Path

from train.mix import ExampleMix
from train.render import Renderer

SHARDS = 16
"""Made at the same time, each with a seed of its own: a seed gives the same data on any number of cores."""


def render_shard(number: int, count: int, seed: int) -> tuple[bytes, Counter[str]]:
    renderer = Renderer.from_base_model()
    counts: Counter[str] = Counter()
    lines = []
    for example in ExampleMix(seed * 1000 + number).examples(count):
        lines.append(json.dumps([renderer.render_prompt(example), renderer.render_answer(example)], ensure_ascii=False))
        counts[example.skill + (" zh" if example.zh else "")] += 1
    return gzip.compress(("\n".join(lines) + "\n").encode(), compresslevel=1, mtime=0), counts


def main(out: Path, count: int = 520_000, seed: int = 31) -> None:
    counts: Counter[str] = Counter()
    with out.open("wb") as file, ProcessPoolExecutor() as pool:
        sizes = [count // SHARDS + (number < count % SHARDS) for number in range(SHARDS)]
        for packed, made in pool.map(render_shard, range(SHARDS), sizes, repeat(seed)):
            file.write(packed)
            counts += made
    print(dict(sorted(counts.items())))


if __name__ == "__main__":
    main(Path(sys.argv[1]), *map(int, sys.argv[2:]))
