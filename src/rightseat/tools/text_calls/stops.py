"""Stop sequences for text inside an envelope, which the upstream cannot apply."""

from __future__ import annotations

from collections.abc import Iterable

from rightseat.types.chunks import Fragment, Text


class Stops:
    """Passes chunks up to the first stop sequence in their text; a possible beginning of one is held back."""

    def __init__(self, words: tuple[str, ...]) -> None:
        self._words = tuple(word for word in words if word)
        self._longest = max(map(len, self._words), default=1) - 1
        self._held = ""
        self.met = False

    def cut(self, fragments: Iterable[Fragment], *, last: bool = False) -> list[Fragment]:
        """Return the chunks up to a stop sequence. `last`: no more chunks follow."""
        if not self._words:
            return [*fragments]
        out: list[Fragment] = []
        for fragment in fragments:
            if self.met:
                break
            if isinstance(fragment, Text):
                out.append(Text(self._passed(fragment.text)))
            else:
                out += [Text(self._rest()), fragment]
        if last:
            out.append(Text(self._rest()))
        return [fragment for fragment in out if fragment != Text("")]

    def _passed(self, text: str) -> str:
        text = self._held + text
        found = [at for at in (text.find(word) for word in self._words) if at >= 0]
        if found:
            self.met, self._held = True, ""
            return text[: min(found)]
        keep = len(text) - self._possible(text)
        self._held = text[keep:]
        return text[:keep]

    def _rest(self) -> str:
        held, self._held = self._held, ""
        return held

    def _possible(self, text: str) -> int:
        """Return how many of the last characters may begin a stop sequence."""
        sizes = range(min(len(text), self._longest), 0, -1)
        return next((size for size in sizes if any(w.startswith(text[-size:]) for w in self._words)), 0)
