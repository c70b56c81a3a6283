"""Artifacts of tools, in the form that the door can show.

A file is stored for a while under an unguessable token, because a followed link carries no API key. For a
text-only door a file becomes that link and a table becomes Markdown.
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
"""Store owner of all files: whoever knows the token may read the file."""
TICKET = re.compile(r"file_[0-9a-f]{32}")
MAX_ROWS, MAX_CELL = 20, 80
MAX_SENT = 64 << 10
"""A larger file is not sent inside its event, only as a link."""


class File(Struct, frozen=True):
    name: str
    media_type: str
    data: bytes


async def presented(event: Artifact, turn: Turn, store: Store) -> Sequence[Event]:
    """Return the artifact, or its text for a door that shows none."""
    if event.kind == "file":
        event = await linked(event, turn, store)
    if turn.shows_artifacts:
        return [event]
    text = in_words(event)
    return spoken(Ids().message(), text) if text else []


async def linked(event: Artifact, turn: Turn, store: Store) -> Artifact:
    """Store the file and return its artifact with a `url`."""
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
    """Format the first rows of a list of objects as a Markdown table."""
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
    """Escape Markdown characters in a name."""
    return re.sub(r"([\[\]()<>`*_\\])", r"\\\1", " ".join(name.split()))
