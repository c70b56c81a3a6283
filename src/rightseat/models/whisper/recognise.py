"""The child process of a whisper model: loads the ggml file once and transcribes what it is given."""

from __future__ import annotations

import base64
import functools
import importlib
from typing import Any

from rightseat.models.whisper.audio import SAMPLE_RATE, read_samples

# whisper.cpp counts in hundredths of a second.
TICKS = 100


@functools.cache
def load_model(path: str, threads: int) -> Any:
    package: Any = importlib.import_module("pywhispercpp.model")
    return package.Model(path, n_threads=threads, print_progress=False, print_realtime=False)


def recognise(path: str, threads: int, audio: str, language: str, prompt: str) -> dict[str, Any]:
    """Return duration, language and segments of a WAV file, which is `audio` in base64."""
    numpy: Any = importlib.import_module("numpy")
    samples = read_samples(base64.b64decode(audio))
    options = {"language": language or "auto", "initial_prompt": prompt} if prompt else {"language": language or "auto"}
    segments = load_model(path, threads).transcribe(numpy.array(samples, dtype=numpy.float32), **options)
    return {
        "duration": len(samples) / SAMPLE_RATE,
        "segments": [[segment.t0 / TICKS, segment.t1 / TICKS, segment.text.strip()] for segment in segments],
    }
