"""An adapter as numbers: as it was fitted (npz), or as it was exported (GGUF)."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from gguf import GGUFReader
from gguf.quants import dequantize


def read_adapter(path: Path) -> dict[str, np.ndarray]:
    if path.suffix != ".gguf":
        return dict(np.load(path))
    held = GGUFReader(path)
    found = {tensor.name: dequantize(tensor.data, tensor.tensor_type) for tensor in held.tensors}
    return found | {"alpha": np.float32(held.fields["adapter.lora.alpha"].contents())}
