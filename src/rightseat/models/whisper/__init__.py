"""Speech on this machine: `whisper:PATH`, a ggml file of whisper.cpp, run by pywhispercpp.

model has WhisperModel and its options; recognise is what its child process runs; audio reads WAV files.
"""

from rightseat.models.whisper.model import WhisperModel, model

__all__ = ["WhisperModel", "model"]
