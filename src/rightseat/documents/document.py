"""What comes out of reading a document, and the bounds within which it is read."""

from __future__ import annotations

from msgspec import Struct

from rightseat.types.messages import Image

MAX_NOTE = 600
NO_MEMORY = 3
"""How the process that reads apart ends when there is too much to hold."""


class Document(Struct, frozen=True):
    """`text` is within the budget. `note` says what was left out or went wrong, in sentences; it is short."""

    text: str = ""
    note: str = ""
    cut: bool = False
    images: tuple[Image, ...] = ()
    """For a model that takes them: a `data:` URL each."""
    kind: str = ""
    """What it was read as."""
    failed: bool = False
    """Nothing could be read; the note says why."""

    @property
    def shown(self) -> str:
        """Text and note together, as a model may be given them."""
        return "\n".join(part for part in (self.text, f"[{self.note}]" if self.note else "") if part)


class Limits(Struct, frozen=True):
    bytes: int = 20 << 20
    """Of the document as it came."""
    seconds: float = 20.0
    """For reading it in a process of its own."""
    queue: float = 30.0
    """How long a document waits for others before it."""
    memory: int = 1 << 30
    """Of that process."""
    unpacked: int = 200 << 20
    """Of an archive (docx, xlsx) when it is unpacked."""
    ratio: int = 500
    """How many times larger a part of an archive may get by unpacking."""
    pages: int = 500
    cells: int = 2_000_000
    image_bytes: int = 8 << 20
    pixels: int = 64_000_000


LIMITS = Limits()


class Reading(Struct, frozen=True):
    """One document that is to be read: what it is said to be, and how much of it may come out."""

    kind: str
    budget: int
    name: str = ""
    charset: str = ""
    images: bool = False
    limits: Limits = LIMITS

    @property
    def title(self) -> str:
        return f"The file {self.name!r}" if self.name else "The document"

    def made(
        self,
        text: str,
        *notes: str,
        cut: bool = False,
        images: tuple[Image, ...] = (),
    ) -> Document:
        return Document(text, joined(notes), cut, images, self.kind)

    def failed(self, why: str) -> Document:
        return Document(note=joined([f"{self.title} {why}"]), kind=self.kind, failed=True)


class Unreadable(Exception):
    """Why a document cannot be read, as the end of a sentence that begins with its title."""


def joined(notes: tuple[str, ...] | list[str]) -> str:
    text = " ".join(note for note in notes if note)
    return text if len(text) <= MAX_NOTE else text[: MAX_NOTE - 1] + "…"
