"""Read requests, their results and limits."""

from __future__ import annotations

from msgspec import Struct

from rightseat.types.messages import ImageMessagePart

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
        self, text: str, *notes: str, cut: bool = False, images: tuple[ImageMessagePart, ...] = ()
    ) -> Document:
        return Document(text, join_notes(notes), cut, images, self.kind)

    def make_failure(self, why: str) -> Document:
        return Document(note=join_notes([f"{self.title} {why}"]), kind=self.kind, failed=True)


class DocumentUnreadable(Exception):
    """A document cannot be read. The message completes a sentence that begins with its title."""


def join_notes(notes: tuple[str, ...] | list[str]) -> str:
    text = " ".join(note for note in notes if note)
    return text if len(text) <= MAX_NOTE else text[: MAX_NOTE - 1] + "…"
