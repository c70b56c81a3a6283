"""python -m train.generate OUT.jsonl.gz [COUNT] [SEED]: the training data, a prompt and its answer a line."""

from __future__ import annotations

import gzip
import json
import sys
from collections import Counter
from pathlib import Path

from train.mix import Mix
from train.render import Renderer


def main(out: Path, count: int = 175_000, seed: int = 12) -> None:
    renderer = Renderer.of_base()
    counts: Counter[str] = Counter()
    with gzip.open(out, "wt", encoding="utf-8", compresslevel=6) as file:
        for example in Mix(seed).examples(count):
            pair = [renderer.prompt(example), renderer.answer(example)]
            file.write(json.dumps(pair, ensure_ascii=False) + "\n")
            counts[example.skill + (" zh" if example.zh else "")] += 1
    print(dict(sorted(counts.items())))


if __name__ == "__main__":
    main(Path(sys.argv[1]), *map(int, sys.argv[2:]))
