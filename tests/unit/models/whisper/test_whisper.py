"""`whisper:FILE`: its audio, its child process with a stand-in for pywhispercpp, and what can be wrong with it."""

import array
import io
import sys
import wave
from collections.abc import Iterator
from pathlib import Path

import pytest

from rightseat.errors import CallerError, ConfigError, NotConfigured, UpstreamError
from rightseat.models.whisper.audio import SAMPLE_RATE, AudioFormatError, read_samples
from rightseat.types.model import Prompt, find_protocol
from rightseat.types.speech import AudioFile, Transcribes, TranscriptionRequest, TranscriptSegment
from rightseat.wiring.lookup import make_model

STAND_IN = """
class Segment:
    def __init__(self, t0, t1, text):
        self.t0, self.t1, self.text = t0, t1, text

class Model:
    def __init__(self, path, **options):
        if "broken" in path:
            raise RuntimeError("no ggml file")
        self.options = options

    def transcribe(self, samples, **options):
        return [Segment(0, 150, f" {len(samples)} samples"), Segment(150, 210, f"in {options['language']} ")]
"""
NUMPY = "float32 = 'f'\ndef array(values, dtype): return values\n"


def make_wav(rate: int = SAMPLE_RATE, channels: int = 1, seconds: float = 1, width: int = 2) -> bytes:
    out = io.BytesIO()
    with wave.open(out, "wb") as file:
        file.setnchannels(channels)
        file.setsampwidth(width)
        file.setframerate(rate)
        file.writeframes(bytes(width) * int(rate * seconds) * channels)
    return out.getvalue()


def make_request(data: bytes, language: str = "") -> TranscriptionRequest:
    return TranscriptionRequest(audio=AudioFile("a.wav", "audio/wav", data), language=language)


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A stand-in for the package: its weights are nowhere to be had here."""
    (tmp_path / "pywhispercpp").mkdir()
    (tmp_path / "pywhispercpp" / "__init__.py").write_text("")
    (tmp_path / "pywhispercpp" / "model.py").write_text(STAND_IN)
    (tmp_path / "numpy.py").write_text(NUMPY)
    monkeypatch.syspath_prepend(str(tmp_path))
    yield
    for name in [name for name in sys.modules if name.partition(".")[0] == "pywhispercpp"]:
        del sys.modules[name]


def test_samples_of_every_rate_and_channel() -> None:
    for rate in (8000, 16000, 44100, 48000):
        assert abs(len(read_samples(make_wav(rate, 2))) - SAMPLE_RATE) <= 1
    out = io.BytesIO()
    with wave.open(out, "wb") as file:
        file.setnchannels(2)
        file.setsampwidth(2)
        file.setframerate(SAMPLE_RATE)
        file.writeframes(array.array("h", [32767, 0, -32768, -32768]).tobytes())
    loud, quiet = read_samples(out.getvalue())
    assert (round(loud, 3), quiet) == (0.5, -1.0)
    # Cut inside a sample.
    assert len(read_samples(make_wav()[:-3])) == SAMPLE_RATE - 2


@pytest.mark.parametrize("data", [b"", b"RIFF", b"ID3\x04", make_wav()[:20], make_wav(width=1), make_wav(width=3)])
def test_other_audio_is_refused(data: bytes) -> None:
    with pytest.raises(AudioFormatError, match="no WAV file of 16-bit samples"):
        read_samples(data)


@pytest.mark.io
@pytest.mark.demand("speech.whisper_file")
@pytest.mark.usefixtures("package")
async def test_a_file_is_transcribed_in_a_child(tmp_path: Path) -> None:
    (tmp_path / "ggml-tiny.bin").write_bytes(b"ggml")
    model = make_model(f"whisper:{tmp_path / 'ggml-tiny.bin'}", {"threads": 2})
    transcriber = find_protocol(model, Transcribes)
    assert isinstance(transcriber, Transcribes)
    try:
        transcript = await transcriber.transcribe(make_request(make_wav(8000, seconds=2), language="en"))
        assert transcript.text == "32000 samples in en"
        assert (transcript.duration, transcript.language) == (2.0, "en")
        assert transcript.segments == (TranscriptSegment(0, 1.5, "32000 samples"), TranscriptSegment(1.5, 2.1, "in en"))
        assert (await transcriber.transcribe(make_request(make_wav()))).text.endswith("in auto")
        with pytest.raises(CallerError, match="file: The audio is no WAV file"):
            await transcriber.transcribe(make_request(b"OggS"))
    finally:
        await model.close()


@pytest.mark.io
@pytest.mark.usefixtures("package")
async def test_a_broken_file_is_told_at_the_first_request(tmp_path: Path) -> None:
    (tmp_path / "broken.bin").write_bytes(b"")
    model = make_model(f"whisper:{tmp_path / 'broken.bin'}")
    transcriber = find_protocol(model, Transcribes)
    assert transcriber is not None
    try:
        with pytest.raises(UpstreamError, match="no ggml file"):
            await transcriber.transcribe(make_request(make_wav()))
        with pytest.raises(NotConfigured, match="only transcribes speech"):
            model.stream(Prompt(messages=()))
    finally:
        await model.close()


def test_what_is_missing_is_told(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="is not a file here"):
        make_model("whisper:nowhere.bin")
    (tmp_path / "ggml.bin").write_bytes(b"")
    with pytest.raises(ConfigError, match=r".*rightseat\[whisper\]"):
        make_model(f"whisper:{tmp_path / 'ggml.bin'}")
