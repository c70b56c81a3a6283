"""What tools bring beside words, as the door at hand can show it.

A file is kept for a while under an unguessable name, so that a link leads to it: who follows a link
brings no key. Where a door has only text, a file is that link and a table is a table in Markdown.
"""

from __future__ import annotations

import base64
import binascii
import re
import secrets
from collections.abc import Sequence
from typing import Any
from urllib.parse import quote

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from rightseat.engine.assembler import spoken
from rightseat.types.events import Artifact, Event
from rightseat.types.stores import Ids, Store
from rightseat.types.turn import Owner, Turn

ANYONE = Owner("(files)")
"""Under whom files are kept: whoever has the name may have the file."""
TICKET = re.compile(r"file_[0-9a-f]{32}")
MAX_ROWS, MAX_CELL = 20, 80
MAX_SENT = 64 << 10
"""A larger file is not sent with the event that tells of it: whoever wants it follows the link."""


class File(Struct, frozen=True):
    name: str
    media_type: str
    data: bytes


async def presented(event: Artifact, turn: Turn, store: Store) -> Sequence[Event]:
    """The artifact for a door that shows some, or what is said instead."""
    if event.kind == "file":
        event = await linked(event, turn, store)
    if turn.shows_artifacts:
        return [event]
    text = in_words(event)
    return spoken(Ids().message(), text) if text else []


async def linked(event: Artifact, turn: Turn, store: Store) -> Artifact:
    """The file with a `url` that leads to it."""
    content = event.content if isinstance(event.content, dict) else {}
    packed = content.get("data")
    if not isinstance(packed, str):
        return event
    try:
        data = base64.b64decode(packed, validate=True)
    except (binascii.Error, ValueError):
        return event
    ticket = f"file_{secrets.token_hex(16)}"
    kept = File(event.name, str(content.get("media_type") or "application/octet-stream"), data)
    await store.remember(ANYONE, {ticket: msgspec.json.encode(kept).decode()})
    url = f"{turn.base}/files/{ticket}/{quote(event.name, safe='')}"
    told = content if len(data) <= MAX_SENT else {k: v for k, v in content.items() if k != "data"}
    return replace(event, content={**told, "url": url})


async def fetched(store: Store, ticket: str) -> File | None:
    if not TICKET.fullmatch(ticket):
        return None
    found = (await store.recall(ANYONE, [ticket])).get(ticket)
    return None if found is None else msgspec.json.decode(found, type=File)


def in_words(event: Artifact) -> str:
    content = event.content
    if isinstance(content, dict) and "url" in content:
        return f"[{escaped(event.name)}]({content['url']})"
    if event.kind == "text" and isinstance(content, str):
        return content
    return markdown(event.name, content) if event.kind == "table" else ""


def markdown(name: str, content: Any) -> str:
    """A table of objects as Markdown, its first rows."""
    rows = content if isinstance(content, list) else []
    rows = [row for row in rows if isinstance(row, dict)]
    if not rows:
        return ""
    columns = list(dict.fromkeys(key for row in rows[:MAX_ROWS] for key in row))
    lines = [[*map(cell, columns)], ["---"] * len(columns)]
    lines += [[cell(row.get(column)) for column in columns] for row in rows[:MAX_ROWS]]
    told = "\n".join("| " + " | ".join(line) + " |" for line in lines)
    more = f"\n\n({MAX_ROWS} of {len(rows)} rows)" if len(rows) > MAX_ROWS else ""
    return (f"{escaped(name)}\n\n" if name else "") + told + more


def cell(value: Any) -> str:
    if value is None:
        return ""
    text = value if isinstance(value, str) else msgspec.json.encode(value).decode()
    text = " ".join(text.replace("|", "\\|").split())
    return text if len(text) <= MAX_CELL else f"{text[: MAX_CELL - 1]}…"


def escaped(name: str) -> str:
    """A name that stays a name where Markdown is read."""
    return re.sub(r"([\[\]()<>`*_\\])", r"\\\1", " ".join(name.split()))
