"""Convert completion chunks of a llama-server to ModelChunks, without I/O."""

from __future__ import annotations

from typing import Any, Literal

from rightseat.errors import UpstreamGarbled
from rightseat.models.llamacpp.formats import Plan
from rightseat.models.llamacpp.likelihood import tokens
from rightseat.models.llamacpp.request import likely
from rightseat.models.llamacpp.wire import Piece
from rightseat.tools.text_calls.reader import Unreadable
from rightseat.tools.text_calls.stops import Stops
from rightseat.types.chunks import Finish, Fragment, Text, Used
from rightseat.types.model import Settings


class Answer:
    """Reads one completion. `finished`: no more chunks are needed, even if the engine would send more."""

    def __init__(self, plan: Plan, settings: Settings) -> None:
        self._reader = plan.reader()
        # Without an envelope the engine applies the stop words itself.
        self._stops = Stops(settings.stop if plan.enveloped else ())
        self._likely = None if plan.enveloped else likely(settings)
        self._tokens: list[dict[str, Any]] = []
        self.over = False

    def read(self, piece: Piece) -> list[Fragment]:
        out = self._stops.cut(self._fragments(piece), last=piece.stop)
        if self._likely is not None:
            self._tokens += tokens(piece, self._likely)
            out = [self._told(fragment) for fragment in out]
        self.over = piece.stop or self._stops.met
        if self.over:
            out += [Used(piece.usage), Finish(self._reason(piece))]
        return out

    def _fragments(self, piece: Piece) -> list[Fragment]:
        try:
            found = self._reader.feed(piece.content)
            if not piece.stop:
                return found
            return found + self._reader.close(limited=piece.stop_type == "limit")
        except Unreadable as error:
            raise UpstreamGarbled(f"The local model broke its tool format ({error}): try again.") from error

    def _told(self, fragment: Fragment) -> Fragment:
        """Attach the pending logprobs to a text chunk; logprobs of thoughts and calls are dropped."""
        told, self._tokens = self._tokens, []
        return Text(fragment.text, {"content": told}) if isinstance(fragment, Text) and told else fragment

    def _reason(self, piece: Piece) -> Literal["stop", "length", "calls"]:
        if self._stops.met:
            return "stop"
        if self._reader.inside or piece.stop_type == "limit":
            return "length"
        return "calls" if self._reader.calls else "stop"
