"""WAV audio as samples for whisper.cpp: 16,000 a second, one channel, from -1 to 1."""

from __future__ import annotations

import array
import io
import sys
import wave

SAMPLE_RATE = 16_000
SAMPLE_BYTES = 2
MAX_SECONDS = 4 * 3600
WAV_ONLY = "The audio is no WAV file of 16-bit samples. Convert it first: ffmpeg -i FILE -ar 16000 -ac 1 out.wav"


class AudioFormatError(ValueError):
    """The audio cannot be read here; the message says what to send."""


def open_wav(data: bytes) -> wave.Wave_read:
    """Open a WAV file of 16 bits; AudioFormatError for any other."""
    try:
        file = wave.Wave_read(io.BytesIO(data))
    except (wave.Error, EOFError) as error:
        raise AudioFormatError(WAV_ONLY) from error
    if file.getsampwidth() != SAMPLE_BYTES or not file.getnchannels() or not file.getframerate():
        raise AudioFormatError(WAV_ONLY)
    if file.getnframes() > MAX_SECONDS * file.getframerate():
        raise AudioFormatError(f"The audio is longer than {MAX_SECONDS // 3600} hours. Send it in parts.")
    return file


def read_samples(data: bytes) -> array.array[float]:
    """Return the samples of a WAV file, its channels averaged, at SAMPLE_RATE."""
    with open_wav(data) as file:
        channels, rate = file.getnchannels(), file.getframerate()
        content = file.readframes(file.getnframes())
    # A file that is cut may end inside a sample.
    frames = array.array("h", content[: len(content) // (SAMPLE_BYTES * channels) * SAMPLE_BYTES * channels])
    if sys.byteorder == "big":
        frames.byteswap()
    scale = 32768.0 * channels
    mono = array.array("f", (sum(frames[i : i + channels]) / scale for i in range(0, len(frames), channels)))
    return mono if rate == SAMPLE_RATE else resample(mono, rate)


def resample(samples: array.array[float], rate: int) -> array.array[float]:
    """Return the samples at SAMPLE_RATE, by linear interpolation."""
    if not samples:
        return samples
    step, last = rate / SAMPLE_RATE, len(samples) - 1
    places = (number * step for number in range(int(len(samples) / step)))
    return array.array("f", (_interpolate(samples, place, last) for place in places))


def _interpolate(samples: array.array[float], place: float, last: int) -> float:
    left = min(int(place), last)
    right = min(left + 1, last)
    return samples[left] + (samples[right] - samples[left]) * (place - left)
