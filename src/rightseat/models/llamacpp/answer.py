"""Convert completion chunks of a llama-server to ModelChunks, without I/O."""

from __future__ import annotations

from typing import Any, Literal

from rightseat.errors import UpstreamGarbled
from rightseat.models.llamacpp.formats import PromptPlan
from rightseat.models.llamacpp.likelihood import format_logprobs
from rightseat.models.llamacpp.request import get_top_logprobs
from rightseat.models.llamacpp.wire import CompletionChunk
from rightseat.tools.text_calls.reader import TextFormatError
from rightseat.tools.text_calls.stops import StopSequenceFilter
from rightseat.types.chunks import FinishChunk, ModelChunk, TextChunk, UsageChunk
from rightseat.types.model import SamplingSettings


class CompletionReader:
    """Reads one completion. `finished`: no more chunks are needed, even if the engine would send more."""

    def __init__(self, plan: PromptPlan, settings: SamplingSettings) -> None:
        self._reader = plan.make_reader()
        # Without an envelope the engine applies the stop words itself.
        self._stops = StopSequenceFilter(settings.stop if plan.filters_stop_words else ())
        self._top_logprobs = None if plan.filters_stop_words else get_top_logprobs(settings)
        self._pending_logprobs: list[dict[str, Any]] = []
        self.finished = False

    def read_chunk(self, chunk: CompletionChunk) -> list[ModelChunk]:
        out = self._stops.filter(self._parse_chunk(chunk), last=chunk.stop)
        if self._top_logprobs is not None:
            self._pending_logprobs += format_logprobs(chunk, self._top_logprobs)
            out = [self._attach_logprobs(fragment) for fragment in out]
        self.finished = chunk.stop or self._stops.stopped
        if self.finished:
            out += [UsageChunk(chunk.usage), FinishChunk(self._finish_reason(chunk))]
        return out

    def _parse_chunk(self, chunk: CompletionChunk) -> list[ModelChunk]:
        try:
            model_chunks = self._reader.feed(chunk.content)
            if not chunk.stop:
                return model_chunks
            return model_chunks + self._reader.close(length_limited=chunk.stop_type == "limit")
        except TextFormatError as error:
            raise UpstreamGarbled(f"The local model broke its tool format ({error}): try again.") from error

    def _attach_logprobs(self, model_chunk: ModelChunk) -> ModelChunk:
        """Attach the pending logprobs to a text chunk; logprobs of thoughts and calls are dropped."""
        logprobs, self._pending_logprobs = self._pending_logprobs, []
        return (
            TextChunk(model_chunk.text, {"content": logprobs})
            if isinstance(model_chunk, TextChunk) and logprobs
            else model_chunk
        )

    def _finish_reason(self, chunk: CompletionChunk) -> Literal["stop", "length", "calls"]:
        if self._stops.stopped:
            return "stop"
        if self._reader.inside_call or chunk.stop_type == "limit":
            return "length"
        return "calls" if self._reader.calls else "stop"
