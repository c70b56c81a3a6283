"""SmolLM2 as a small Llama in PyTorch, its weights frozen, with a low-rank adapter beside every linear layer.

RoPE turns neighbouring pairs, as llama.cpp does it for GGUF weights: no weight has to be permuted.
"""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from gguf import GGUFReader
from gguf.quants import dequantize
from torch import Tensor, nn

LAYERS, WIDTH, HEADS, KV_HEADS, HEAD = 30, 576, 9, 3, 64
EPSILON, THETA, LONGEST = 1e-5, 100_000.0, 1280
LINEARS = ("attn_q", "attn_k", "attn_v", "attn_output", "ffn_gate", "ffn_up", "ffn_down")
ADAPTED = tuple(name for name in LINEARS if name != "ffn_gate")
"""Each one costs time with every token: without the gate an answer is written 8 % faster."""


def load_weights(path: Path, device: str) -> dict[str, Tensor]:
    found = {}
    for tensor in GGUFReader(path).tensors:
        raw = tensor.data if tensor.tensor_type == 0 else dequantize(tensor.data, tensor.tensor_type)
        value = torch.from_numpy(np.ascontiguousarray(raw, dtype=np.float32)).to(device)
        found[tensor.name] = value if tensor.name.endswith("norm.weight") else value.bfloat16()
    return found


def rms_norm(x: Tensor, weight: Tensor) -> Tensor:
    y = x.float()
    return (y * torch.rsqrt(y.pow(2).mean(-1, keepdim=True) + EPSILON) * weight).bfloat16()


def apply_rotary(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    pairs = x.float().reshape(*x.shape[:3], HEAD // 2, 2)
    a, b = pairs[..., 0], pairs[..., 1]
    return torch.stack([a * cos - b * sin, a * sin + b * cos], -1).flatten(-2).bfloat16()


class Layer(nn.Module):
    def __init__(self, base: dict[str, Tensor], index: int, rank: int, scale: float) -> None:
        super().__init__()
        self.scale = scale
        self.down, self.up = nn.ParameterDict(), nn.ParameterDict()
        for name in LINEARS:
            weight = base[f"blk.{index}.{name}.weight"]
            rows, columns = weight.shape
            self.register_buffer(name, weight)
            if name not in ADAPTED:
                continue
            self.down[name] = nn.Parameter(torch.randn(rank, columns, device=weight.device) / math.sqrt(columns))
            self.up[name] = nn.Parameter(torch.zeros(rows, rank, device=weight.device))
        self.register_buffer("attn_norm", base[f"blk.{index}.attn_norm.weight"])
        self.register_buffer("ffn_norm", base[f"blk.{index}.ffn_norm.weight"])

    def linear(self, x: Tensor, name: str) -> Tensor:
        if name not in ADAPTED:
            return F.linear(x, getattr(self, name))
        low = F.linear(x, self.down[name].bfloat16())
        return F.linear(x, getattr(self, name)) + self.scale * F.linear(low, self.up[name].bfloat16())

    def forward(self, x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
        batch, length, _ = x.shape
        h = rms_norm(x, self.attn_norm)
        q, k, v = (
            self.linear(h, name).view(batch, length, heads, HEAD).transpose(1, 2)
            for name, heads in (("attn_q", HEADS), ("attn_k", KV_HEADS), ("attn_v", KV_HEADS))
        )
        q, k = apply_rotary(q, cos, sin), apply_rotary(k, cos, sin)
        k, v = (one.repeat_interleave(HEADS // KV_HEADS, 1) for one in (k, v))
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.linear(mixed.transpose(1, 2).reshape(batch, length, WIDTH), "attn_output")
        h = rms_norm(x, self.ffn_norm)
        return x + self.linear(F.silu(self.linear(h, "ffn_gate")) * self.linear(h, "ffn_up"), "ffn_down")


class Net(nn.Module):
    def __init__(self, path: Path, rank: int, device: str) -> None:
        super().__init__()
        base = load_weights(path, device)
        self.alpha = 2.0 * rank
        self.layers = nn.ModuleList(Layer(base, index, rank, self.alpha / rank) for index in range(LAYERS))
        self.register_buffer("embedding", base["token_embd.weight"])
        self.register_buffer("last_norm", base["output_norm.weight"])
        steps = 1.0 / THETA ** (torch.arange(0, HEAD, 2, device=device).float() / HEAD)
        angles = torch.outer(torch.arange(LONGEST, device=device).float(), steps)
        self.register_buffer("cos", angles.cos())
        self.register_buffer("sin", angles.sin())

    def loss(self, ids: Tensor, labels: Tensor) -> Tensor:
        """Over the labels that are not -100."""
        x = F.embedding(ids, self.embedding)
        length = ids.shape[1]
        for layer in self.layers:
            x = layer(x, self.cos[:length], self.sin[:length])
        learnt = labels != -100
        logits = F.linear(rms_norm(x, self.last_norm)[learnt], self.embedding)
        return F.cross_entropy(logits.float(), labels[learnt])

    def load(self, found: dict[str, np.ndarray]) -> None:
        """What `adapter` gave."""
        with torch.no_grad():
            for index, layer in enumerate(self.layers):
                for name in ADAPTED:
                    for side, held in (("a", layer.down), ("b", layer.up)):
                        held[name].copy_(torch.from_numpy(found[f"blk.{index}.{name}.weight.lora_{side}"]))

    def adapter(self) -> dict[str, np.ndarray]:
        found = {}
        for index, layer in enumerate(self.layers):
            for name in ADAPTED:
                found[f"blk.{index}.{name}.weight.lora_a"] = layer.down[name].detach().half().cpu().numpy()
                found[f"blk.{index}.{name}.weight.lora_b"] = layer.up[name].detach().half().cpu().numpy()
        return found
