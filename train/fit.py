"""python -m train.fit TOKENS.npz MODEL.gguf OUT.npz [--seconds N]: trains the adapter on one GPU."""

from __future__ import annotations

import argparse
import math
import time
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from train import adapter_file
from train.net import Net

PADDING = 2
VALIDATION_SIZE = 600
"""Examples that are only looked at."""


class EncodedData:
    def __init__(self, path: Path, seed: int) -> None:
        held = np.load(path)
        self.ids, self.starts, self.lengths = held["ids"], held["starts"], held["lengths"]
        self.offsets = np.concatenate([[0], np.cumsum(self.lengths)])
        self.random = np.random.default_rng(seed)
        order = self.random.permutation(len(self.lengths))
        self.checked, self.learnt = order[:VALIDATION_SIZE], order[VALIDATION_SIZE:]

    def batches(self, chosen: np.ndarray, tokens: int) -> list[list[int]]:
        """Of examples of about the same length, in any order."""
        found: list[list[int]] = []
        mixed = self.random.permutation(chosen)
        for start in range(0, len(mixed), 8192):
            batch: list[int] = []
            for index in sorted(mixed[start : start + 8192], key=lambda one: self.lengths[one]):
                if batch and self.lengths[index] * (len(batch) + 1) > tokens:
                    found.append(batch)
                    batch = []
                batch.append(int(index))
            found.append(batch)
        self.random.shuffle(found)
        return found

    def tensors(self, batch: list[int], device: str) -> tuple[Tensor, Tensor]:
        width = -(-max(int(self.lengths[index]) for index in batch) // 32) * 32
        ids = np.full((len(batch), width), PADDING, np.int64)
        labels = np.full((len(batch), width), -100, np.int64)
        for row, index in enumerate(batch):
            text = self.ids[self.offsets[index] : self.offsets[index + 1]].astype(np.int64)
            ids[row, : len(text)] = text
            start = int(self.starts[index])
            labels[row, start - 1 : len(text) - 1] = text[start:]
        return torch.from_numpy(ids).to(device), torch.from_numpy(labels).to(device)


def compute_validation_loss(net: Net, data: EncodedData, device: str) -> float:
    with torch.no_grad():
        losses = [net.loss(*data.tensors(batch, device)).item() for batch in data.batches(data.checked, 32768)]
    return float(sum(losses)) / len(losses)


def train_net(net: Net, data: EncodedData, given: argparse.Namespace) -> None:
    parameters = [parameter for parameter in net.parameters() if parameter.requires_grad]
    optimizer = torch.optim.AdamW(parameters, lr=given.rate, betas=(0.9, 0.98), weight_decay=0.01)
    total = int(given.epochs * data.lengths[data.learnt].sum() / given.tokens * 1.06)
    begun, step = time.monotonic(), 0
    while step < total:
        for batch in data.batches(data.learnt, given.tokens):
            gone = time.monotonic() - begun
            share = max(step / total, gone / given.seconds)
            if share >= 1:
                break
            rate = given.rate * min(1.0, step / 50) * (0.03 + 0.97 * 0.5 * (1 + math.cos(math.pi * share)))
            for group in optimizer.param_groups:
                group["lr"] = rate
            loss = net.loss(*data.tensors(batch, given.device))
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            torch.nn.utils.clip_grad_norm_(parameters, 1.0)
            optimizer.step()
            step += 1
            if step % 100 == 0:
                print(f"{step}/{total} loss {loss.item():.4f} {gone:.0f} s", flush=True)
        else:
            continue
        break
    loss_on_validation = compute_validation_loss(net, data, given.device)
    print(f"{step} steps, {time.monotonic() - begun:.0f} s, validation loss {loss_on_validation:.4f}")


def main() -> None:
    parser = argparse.ArgumentParser()
    for name in ("tokens_file", "model", "out"):
        parser.add_argument(name, type=Path)
    parser.add_argument("--rank", type=int, default=32)
    parser.add_argument("--epochs", type=float, default=2)
    parser.add_argument("--rate", type=float, default=1.5e-3)
    parser.add_argument("--tokens", type=int, default=49152)
    parser.add_argument("--seconds", type=float, default=400)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--start", type=Path, help="go on from what was fitted before, or from an adapter")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--compile", action="store_true", help="compile the layers; pays from some minutes on")
    given = parser.parse_args()
    torch.manual_seed(given.seed)
    torch.backends.cuda.matmul.allow_tf32 = True
    net = Net(given.model, given.rank, given.device)
    if given.compile:
        for layer in net.layers:
            layer.compile(dynamic=True)
    if given.start:
        net.load(adapter_file.read_adapter(given.start))
    data = EncodedData(given.tokens_file, given.seed)
    print(f"checked before: {compute_validation_loss(net, data, given.device):.4f}", flush=True)
    train_net(net, data, given)
    np.savez(given.out, alpha=np.float32(net.alpha), **net.adapter())


if __name__ == "__main__":
    main()
