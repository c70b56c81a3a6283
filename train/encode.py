"""python -m train.encode DATA.jsonl.gz MODEL.gguf OUT.npz: text becomes tokens; only answers are learnt."""

from __future__ import annotations

import gzip
import json
import sys
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import numpy as np

from train.tokens import tokenizer

LONGEST = 1152
BATCH = 4096


def pairs(path: Path) -> Iterator[list[str]]:
    with gzip.open(path, "rt", encoding="utf-8") as file:
        yield from map(json.loads, file)


def main(data: Path, model: Path, out: Path) -> None:
    encoder = tokenizer(model)
    tokens: list[np.ndarray] = []
    starts: list[int] = []
    lengths: list[int] = []
    skipped = 0
    source = pairs(data)
    while batch := list(islice(source, BATCH)):
        prompts = encoder.encode_batch([prompt for prompt, _ in batch])
        answers = encoder.encode_batch([answer for _, answer in batch])
        for prompt, answer in zip(prompts, answers, strict=True):
            ids = prompt.ids + answer.ids
            if len(ids) > LONGEST:
                skipped += 1
                continue
            tokens.append(np.array(ids, np.uint16))
            starts.append(len(prompt.ids))
            lengths.append(len(ids))
    np.savez(out, ids=np.concatenate(tokens), lengths=np.array(lengths), starts=np.array(starts))
    print(f"{len(starts)} examples, {sum(lengths)} tokens, {skipped} too long")


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:4]))
