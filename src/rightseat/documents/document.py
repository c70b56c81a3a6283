"""Read requests, their results and limits; text cut to a number of estimated tokens."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from msgspec import Struct

from rightseat.types.messages import ImageMessagePart
from rightseat.types.text import estimate_tokens

MAX_NOTE = 600
NO_MEMORY_EXIT = 3
"""Exit code of the child process when it is out of memory."""


class Document(Struct, frozen=True):
    """A document as text within the budget. `note` says briefly what was left out or went wrong."""

    text: str = ""
    note: str = ""
    cut: bool = False
    images: tuple[ImageMessagePart, ...] = ()
    """For models that take images: `data:` URLs."""
    kind: str = ""
    """The kind that it was read as."""
    failed: bool = False
    """Nothing could be read; `note` says why."""
    rows: tuple[int, int] | None = None
    """Of a table that was cut: the rows shown, and all rows."""

    @property
    def text_with_note(self) -> str:
        """Text and note together, for a model."""
        return "\n".join(part for part in (self.text, f"[{self.note}]" if self.note else "") if part)


class ReadLimits(Struct, frozen=True):
    bytes: int = 20 << 20
    """Size of the document as received."""
    seconds: float = 20.0
    """Time for the child process."""
    queue: float = 30.0
    """Seconds that a document waits for a free child process."""
    memory: int = 1 << 30
    """Address space of the child process."""
    unpacked: int = 200 << 20
    """Unpacked size of an archive (docx, xlsx)."""
    ratio: int = 500
    """Highest compression ratio of an archive's entry."""
    pages: int = 500
    cells: int = 2_000_000
    image_bytes: int = 8 << 20
    pixels: int = 64_000_000


DEFAULT_LIMITS = ReadLimits()


class ReadRequest(Struct, frozen=True):
    """A document to read: declared kind, token budget and limits."""

    kind: str
    budget: int
    name: str = ""
    charset: str = ""
    images: bool = False
    limits: ReadLimits = DEFAULT_LIMITS

    @property
    def title(self) -> str:
        return f"The file {self.name!r}" if self.name else "The document"

    def make_document(
        self,
        text: str,
        *notes: str,
        cut: bool = False,
        images: tuple[ImageMessagePart, ...] = (),
        rows: tuple[int, int] | None = None,
    ) -> Document:
        return Document(text, join_notes(notes), cut, images, self.kind, rows=rows)

    def make_failure(self, why: str) -> Document:
        return Document(note=join_notes([f"{self.title} {why}"]), kind=self.kind, failed=True)


class DocumentUnreadable(Exception):
    """A document cannot be read. The message completes a sentence that begins with its title."""


def join_notes(notes: tuple[str, ...] | list[str]) -> str:
    text = " ".join(note for note in notes if note)
    return text if len(text) <= MAX_NOTE else text[: MAX_NOTE - 1] + "…"


def fits_budget(text: str, budget: int) -> bool:
    # The estimate is between a quarter and one token per character: most texts need no counting.
    if len(text) <= budget:
        return True
    return len(text) <= 4 * budget and estimate_tokens(text) <= budget


def find_longest(size: int, budget: int, part: Callable[[int], str]) -> int:
    """Return the largest length for which `part(length)` fits."""
    low, high = min(size, max(budget, 0)), min(size, 4 * max(budget, 0))
    while low < high:
        half = (low + high + 1) // 2
        if fits_budget(part(half), budget):
            low = half
        else:
            high = half - 1
    return low


def take_head(text: str, budget: int) -> str:
    return text[: find_longest(len(text), budget, lambda length: text[:length])]


def take_tail(text: str, budget: int) -> str:
    length = find_longest(len(text), budget, lambda length: text[len(text) - length :])
    return text[len(text) - length :]


def cut_middle(text: str, budget: int, *, front: float = 0.5) -> str:
    """Return the beginning and the end of a text, with a note between them."""
    if fits_budget(text, budget):
        return text
    gap = f" … {len(text)} characters, the middle left out … "
    room = budget - estimate_tokens(gap)
    if room < 8:
        # Too little for the note: keep the beginning.
        return take_head(text, max(budget - 1, 0)) + ("…" if budget > 0 else "")
    first = take_head(text, int(room * front))
    return first + gap + take_tail(text, room - estimate_tokens(first))


def share_budget(sizes: Sequence[int], room: int) -> list[int]:
    """Divide a budget: small items get what they need, large ones equal shares of the rest."""
    shares = [0] * len(sizes)
    left = len(sizes)
    for index in sorted(range(len(sizes)), key=sizes.__getitem__):
        shares[index] = max(min(sizes[index], room // left), 0)
        room -= shares[index]
        left -= 1
    return shares
