"""Speaks a sentence into a WAV file by espeak-ng: `speak.py TEXT OUT.wav`, 16,000 samples a second."""

import ctypes
import importlib
import sys
import wave
from typing import Any

# Installed in this peer's own environment only, so the project's type checker cannot know it.
espeakng_loader: Any = importlib.import_module("espeakng_loader")
AUDIO_OUTPUT_SYNCHRONOUS = 2
CHARS_UTF8 = 1
RATE = 16_000
Callback = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ctypes.c_short), ctypes.c_int, ctypes.c_void_p)


def speak(text: str) -> tuple[bytes, int]:
    """Return the samples and how many there are in a second."""
    espeak = ctypes.CDLL(espeakng_loader.get_library_path())
    rate = espeak.espeak_Initialize(AUDIO_OUTPUT_SYNCHRONOUS, 0, espeakng_loader.get_data_path().encode(), 0)
    if rate <= 0:
        raise SystemExit("espeak-ng cannot be initialised")
    pieces: list[bytes] = []

    def collect(samples: Any, count: int, _events: Any) -> int:
        if count > 0:
            pieces.append(ctypes.string_at(samples, count * 2))
        return 0

    callback = Callback(collect)
    espeak.espeak_SetSynthCallback(callback)
    espeak.espeak_SetVoiceByName(b"en-us")
    espeak.espeak_SetParameter(1, 130, 0)
    data = text.encode() + b"\0"
    espeak.espeak_Synth(data, len(data), 0, 1, 0, CHARS_UTF8, None, None)
    espeak.espeak_Synchronize()
    return b"".join(pieces), rate


def resample(data: bytes, rate: int) -> bytes:
    """Return the samples at RATE, by linear interpolation."""
    samples = memoryview(data).cast("h")
    step, last = rate / RATE, len(samples) - 1
    out = bytearray()
    for number in range(int(len(samples) / step)):
        left = int(number * step)
        part = number * step - left
        value = samples[left] * (1 - part) + samples[min(left + 1, last)] * part
        out += int(value).to_bytes(2, "little", signed=True)
    return bytes(out)


def main(text: str, path: str) -> None:
    data, rate = speak(text)
    with wave.open(path, "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(RATE)
        file.writeframes(resample(data, rate))


if __name__ == "__main__":
    main(*sys.argv[1:])
