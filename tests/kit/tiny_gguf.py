"""Tiny models as GGUF files with random weights, for the real engine: text, fill-in, pictures, sound, reranking.

Their answers mean nothing. What is tested with them is what travels to the engine and back.
"""

import array
import math
import random
import struct
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.unit.models.llamacpp.gguf_files import make_gguf, make_tensor_info, pack_string

WIDTH = 32
FEED_FORWARD = 64
ALIGNMENT = 32
IMAGE_SIZE, PATCH_SIZE = 32, 16
MEL_BINS = 128

# The 256 bytes in the letters of byte-level vocabularies, then control tokens.
PRINTABLE = [*range(33, 127), *range(161, 173), *range(174, 256)]
OTHERS = [byte for byte in range(256) if byte not in PRINTABLE]
BYTES = [chr(byte) if byte in PRINTABLE else chr(256 + OTHERS.index(byte)) for byte in range(256)]
CONTROL = ("<s>", "</s>", "<|user|>", "<|assistant|>", "<fake_token_around_image>", "<global-img>", "<row_1_col_1>")
FILL_IN = ("<|fim_prefix|>", "<|fim_suffix|>", "<|fim_middle|>")
TEMPLATE = (
    "{% for m in messages %}<|user|>{{ m['role'] }}: {{ m['content'] }}\n{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>{% endif %}"
)

Tensors = Mapping[str, Sequence[int]]


def pack_value(value: Any) -> bytes:
    match value:
        case bool():
            return struct.pack("<I?", 7, value)
        case int():
            return struct.pack("<II", 4, value)
        case float():
            return struct.pack("<If", 6, value)
        case str():
            return struct.pack("<I", 8) + pack_string(value)
        case [float(), *_]:
            return struct.pack(f"<IIQ{len(value)}f", 9, 6, len(value), *value)
        case [int(), *_]:
            return struct.pack(f"<IIQ{len(value)}i", 9, 5, len(value), *value)
        case _:
            return struct.pack("<IIQ", 9, 8, len(value)) + b"".join(map(pack_string, value))


def write_gguf(path: Path, values: Mapping[str, Any], tensors: Tensors) -> Path:
    """Write a file with these tensors in 32-bit floats, kernels in 16-bit ones as the engine needs them; the same
    names give the same numbers."""
    infos, data = [], bytearray()
    for name, dimensions in tensors.items():
        source = random.Random(name)
        count = math.prod(dimensions)
        norm = name.endswith(("norm.weight", "ln.weight", "ln1.weight", "ln2.weight"))
        numbers = [1.0] * count if norm else [source.uniform(-0.3, 0.3) for _ in range(count)]
        data += bytes(-len(data) % ALIGNMENT)
        is_kernel = "conv1d" in name and name.endswith("weight")
        infos.append(make_tensor_info(name, dimensions, 1 if is_kernel else 0, len(data)))
        data += struct.pack(f"<{count}e", *numbers) if is_kernel else array.array("f", numbers).tobytes()
    pairs = [pack_string(key) + pack_value(value) for key, value in values.items()]
    head = make_gguf(*pairs, tensors=infos)
    path.write_bytes(head + bytes(-len(head) % ALIGNMENT) + data)
    return path


def make_vocabulary(control: Sequence[str]) -> dict[str, Any]:
    tokens = [*BYTES, "ĊĊ", *control]
    return {
        "tokenizer.ggml.model": "gpt2",
        "tokenizer.ggml.pre": "gpt-2",
        "tokenizer.ggml.tokens": tokens,
        "tokenizer.ggml.token_type": [1] * 257 + [3] * len(control),
        "tokenizer.ggml.merges": ["Ċ Ċ"],
        "tokenizer.ggml.bos_token_id": tokens.index("<s>"),
        "tokenizer.ggml.eos_token_id": tokens.index("</s>"),
        "tokenizer.ggml.add_bos_token": False,
    }


def write_text_model(path: Path, *, fills_in: bool = False, template: str = TEMPLATE) -> Path:
    """Write a text model; with `fills_in` its vocabulary has the tokens of a gap."""
    vocabulary = make_vocabulary((*CONTROL, *(FILL_IN if fills_in else ())))
    values: dict[str, Any] = {
        "general.architecture": "llama",
        "llama.context_length": 2048,
        "llama.embedding_length": WIDTH,
        "llama.block_count": 1,
        "llama.feed_forward_length": FEED_FORWARD,
        "llama.attention.head_count": 2,
        "llama.attention.layer_norm_rms_epsilon": 1e-5,
        "llama.rope.dimension_count": WIDTH // 2,
        **vocabulary,
        "tokenizer.chat_template": template,
    }
    tensors: dict[str, Sequence[int]] = {
        "token_embd.weight": (WIDTH, len(vocabulary["tokenizer.ggml.tokens"])),
        "output_norm.weight": (WIDTH,),
        "blk.0.attn_norm.weight": (WIDTH,),
        **{f"blk.0.attn_{name}.weight": (WIDTH, WIDTH) for name in ("q", "k", "v", "output")},
        "blk.0.ffn_norm.weight": (WIDTH,),
        "blk.0.ffn_gate.weight": (WIDTH, FEED_FORWARD),
        "blk.0.ffn_up.weight": (WIDTH, FEED_FORWARD),
        "blk.0.ffn_down.weight": (FEED_FORWARD, WIDTH),
    }
    return write_gguf(path, values, tensors)


def write_projector(path: Path, *, width: int = WIDTH) -> Path:
    """Write an image encoder for a text model of this width."""
    values: dict[str, Any] = {
        "general.architecture": "clip",
        "clip.projector_type": "idefics3",
        "clip.has_vision_encoder": True,
        "clip.use_gelu": True,
        "clip.vision.image_size": IMAGE_SIZE,
        "clip.vision.patch_size": PATCH_SIZE,
        "clip.vision.embedding_length": WIDTH,
        "clip.vision.feed_forward_length": FEED_FORWARD,
        "clip.vision.block_count": 1,
        "clip.vision.projection_dim": width,
        "clip.vision.attention.head_count": 2,
        "clip.vision.attention.layer_norm_epsilon": 1e-6,
        "clip.vision.image_mean": [0.5, 0.5, 0.5],
        "clip.vision.image_std": [0.5, 0.5, 0.5],
        "clip.vision.projector.scale_factor": 2,
        "clip.vision.preproc_image_size": IMAGE_SIZE,
    }
    patches = (IMAGE_SIZE // PATCH_SIZE) ** 2
    block: dict[str, Sequence[int]] = {f"v.blk.0.attn_{name}.weight": (WIDTH, WIDTH) for name in ("q", "k", "v", "out")}
    block |= {f"v.blk.0.attn_{name}.bias": (WIDTH,) for name in ("q", "k", "v", "out")}
    tensors: dict[str, Sequence[int]] = {
        "v.patch_embd.weight": (PATCH_SIZE, PATCH_SIZE, 3, WIDTH),
        "v.patch_embd.bias": (WIDTH,),
        "v.position_embd.weight": (WIDTH, patches),
        **block,
        **{
            f"v.{name}.{kind}": (WIDTH,)
            for name in ("blk.0.ln1", "blk.0.ln2", "post_ln")
            for kind in ("weight", "bias")
        },
        "v.blk.0.ffn_up.weight": (WIDTH, FEED_FORWARD),
        "v.blk.0.ffn_up.bias": (FEED_FORWARD,),
        "v.blk.0.ffn_down.weight": (FEED_FORWARD, WIDTH),
        "v.blk.0.ffn_down.bias": (WIDTH,),
        "mm.model.fc.weight": (WIDTH * 4, width),
    }
    return write_gguf(path, values, tensors)


def write_audio_projector(path: Path) -> Path:
    """Write an audio encoder for a text model: Whisper's, with one block."""
    values: dict[str, Any] = {
        "general.architecture": "clip",
        "clip.projector_type": "qwen2a",
        "clip.has_audio_encoder": True,
        "clip.use_gelu": True,
        "clip.audio.num_mel_bins": MEL_BINS,
        "clip.audio.embedding_length": WIDTH,
        "clip.audio.feed_forward_length": FEED_FORWARD,
        "clip.audio.block_count": 1,
        "clip.audio.projection_dim": WIDTH,
        "clip.audio.attention.head_count": 2,
        "clip.audio.attention.layer_norm_epsilon": 1e-5,
    }
    tensors: dict[str, Sequence[int]] = {
        "a.conv1d.1.weight": (3, MEL_BINS, WIDTH),
        "a.conv1d.1.bias": (1, WIDTH),
        "a.conv1d.2.weight": (3, WIDTH, WIDTH),
        "a.conv1d.2.bias": (1, WIDTH),
        "a.position_embd.weight": (WIDTH, 1500),
        **{f"a.blk.0.attn_{name}.weight": (WIDTH, WIDTH) for name in ("q", "k", "v", "out")},
        **{f"a.blk.0.attn_{name}.bias": (WIDTH,) for name in ("q", "v", "out")},
        **{
            f"a.{name}.{kind}": (WIDTH,)
            for name in ("blk.0.ln1", "blk.0.ln2", "post_ln")
            for kind in ("weight", "bias")
        },
        "a.blk.0.ffn_up.weight": (WIDTH, FEED_FORWARD),
        "a.blk.0.ffn_up.bias": (FEED_FORWARD,),
        "a.blk.0.ffn_down.weight": (FEED_FORWARD, WIDTH),
        "a.blk.0.ffn_down.bias": (WIDTH,),
        "mm.a.fc.weight": (WIDTH, WIDTH),
        "mm.a.fc.bias": (WIDTH,),
    }
    return write_gguf(path, values, tensors)


def write_reranker(path: Path) -> Path:
    vocabulary = make_vocabulary(CONTROL)
    values: dict[str, Any] = {
        "general.architecture": "bert",
        "bert.context_length": 512,
        "bert.embedding_length": WIDTH,
        "bert.block_count": 1,
        "bert.feed_forward_length": FEED_FORWARD,
        "bert.attention.head_count": 2,
        "bert.attention.layer_norm_epsilon": 1e-5,
        "bert.attention.causal": False,
        "bert.pooling_type": 4,
        **vocabulary,
        "tokenizer.ggml.seperator_token_id": vocabulary["tokenizer.ggml.eos_token_id"],
        "tokenizer.ggml.token_type_count": 1,
    }
    names = ("q", "k", "v", "output")
    tensors: dict[str, Sequence[int]] = {
        "token_embd.weight": (WIDTH, len(vocabulary["tokenizer.ggml.tokens"])),
        "position_embd.weight": (WIDTH, 512),
        "token_types.weight": (WIDTH,),
        **{
            f"{name}.{kind}": (WIDTH,)
            for name in ("token_embd_norm", "blk.0.attn_output_norm", "blk.0.layer_output_norm")
            for kind in ("weight", "bias")
        },
        **{f"blk.0.attn_{name}.weight": (WIDTH, WIDTH) for name in names},
        **{f"blk.0.attn_{name}.bias": (WIDTH,) for name in names},
        "blk.0.ffn_up.weight": (WIDTH, FEED_FORWARD),
        "blk.0.ffn_up.bias": (FEED_FORWARD,),
        "blk.0.ffn_down.weight": (FEED_FORWARD, WIDTH),
        "blk.0.ffn_down.bias": (WIDTH,),
        "cls.weight": (WIDTH, WIDTH),
        "cls.bias": (WIDTH,),
        "cls.output.weight": (WIDTH, 1),
        "cls.output.bias": (1,),
    }
    return write_gguf(path, values, tensors)
