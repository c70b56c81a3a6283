"""python -m train.encode DATA.jsonl.gz MODEL.gguf OUT.npz: text becomes tokens; only answers are learnt."""

from __future__ import annotations

import gzip
import json
import os
import sys
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import cache
from itertools import islice, repeat
from pathlib import Path

import numpy as np
from tokenizers import Tokenizer

from train.tokens import load_tokenizer

MAX_TOKENS = 1152
BATCH = 4096
Encoded = tuple[np.ndarray, list[int], list[int]]


def read_batches(path: Path) -> Iterator[list[bytes]]:
    with gzip.open(path) as file:
        while batch := list(islice(file, BATCH)):
            yield batch


@cache
def load_encoder(model: Path) -> Tokenizer:
    """One for each process."""
    return load_tokenizer(model)


def encode_lines(lines: list[bytes], model: Path) -> Encoded:
    """Tokens, and of each example where its answer starts and how long it is."""
    known = load_encoder(model)
    pairs = [json.loads(line) for line in lines]
    prompts = known.encode_batch([prompt for prompt, _ in pairs])
    answers = known.encode_batch([answer for _, answer in pairs])
    kept = [(one.ids, other.ids) for one, other in zip(prompts, answers, strict=True)]
    kept = [(one, other) for one, other in kept if len(one) + len(other) <= MAX_TOKENS]
    tokens = np.concatenate([np.array(one + other, np.uint16) for one, other in kept])
    return tokens, [len(one) for one, _ in kept], [len(one) + len(other) for one, other in kept]


def main(data: Path, model: Path, out: Path) -> None:
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    with ProcessPoolExecutor() as pool:
        parts = list(pool.map(encode_lines, read_batches(data), repeat(model)))
    starts = np.array([start for _, found, _ in parts for start in found])
    lengths = np.array([length for *_, found in parts for length in found])
    np.savez(out, ids=np.concatenate([tokens for tokens, *_ in parts]), lengths=lengths, starts=starts)
    print(f"{len(starts)} examples, {lengths.sum()} tokens")


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:4]))
