"""Artifacts of tools, in the form that the door can show.

A file is stored for a while under an unguessable token, because a followed link carries no API key. For a
text-only door a file becomes that link and a table becomes Markdown.
"""

from __future__ import annotations

import asyncio
import base64
import re
import secrets
from collections.abc import Sequence
from typing import Any
from urllib.parse import quote

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from rightseat.types.events import Artifact, Citations, Custom, Event, StateDelta, StateSnapshot, text_events
from rightseat.types.json_values import to_json_value, to_table_value
from rightseat.types.language import Language
from rightseat.types.sentences import get_sentence
from rightseat.types.stores import IdGenerator, Store
from rightseat.types.turn import Owner, Turn

FILE_OWNER = Owner("(files)")
"""Store owner of all files: whoever knows the token may read the file."""
FILE_TOKEN = re.compile(r"file_[0-9a-f]{32}")
MAX_ROWS, MAX_CELL = 20, 80
MAX_INLINE_BYTES = 64 << 10
"""A larger file is not sent inside its event, only as a link."""


class StoredFile(Struct, frozen=True):
    name: str
    media_type: str
    data: bytes


async def with_json_values(event: Event) -> Event:
    """Return the event with plain JSON values instead of what a Python tool put in: data frames, dates, models.
    Raise NotJsonError where that is impossible."""
    match event:
        case Artifact(kind=kind, content=content) if kind != "file":
            # A table may be large: it is converted beside the event loop.
            return replace(event, content=await asyncio.to_thread(CONVERTERS.get(kind, to_json_value), content))
        case StateSnapshot(state):
            return replace(event, state=to_json_value(state))
        case StateDelta(patch):
            return replace(event, patch=to_json_value(patch))
        case Custom(value=value):
            return replace(event, value=to_json_value(value))
        case Citations(items):
            return replace(event, items=to_json_value(items))
        case _:
            return event


CONVERTERS = {"table": to_table_value, "chart": to_table_value}


async def present_artifact(event: Artifact, turn: Turn, store: Store) -> Sequence[Event]:
    """Return the artifact, or its text for a door that shows none; no text where the answer must fit a schema."""
    if turn.output_schema is not None and not turn.client.shows_artifacts:
        return []
    # In a terminal nobody can follow a link: there is no server.
    if event.kind == "file" and (turn.client.shows_artifacts or turn.client.base_url):
        event = await store_and_link_file(event, turn, store)
    if turn.client.shows_artifacts:
        return [event]
    text = artifact_as_text(event, turn.get_language())
    return text_events(IdGenerator().new_message_id(), text) if text else []


async def store_and_link_file(event: Artifact, turn: Turn, store: Store) -> Artifact:
    """Store the file and return its artifact with a `url`. Its `data` is base64, or the bytes themselves."""
    content = event.content if isinstance(event.content, dict) else {}
    if isinstance(content.get("data"), bytes):
        content = {**content, "data": base64.b64encode(content["data"]).decode()}
    try:
        data = base64.b64decode(content["data"], validate=True)
    except (KeyError, TypeError, ValueError):
        return event
    token = f"file_{secrets.token_hex(16)}"
    file = StoredFile(event.name, str(content.get("media_type") or "application/octet-stream"), data)
    await store.save_results(FILE_OWNER, {token: msgspec.json.encode(file).decode()})
    url = f"{turn.client.base_url}/files/{token}/{quote(event.name, safe='')}"
    is_large = len(data) > MAX_INLINE_BYTES
    inline = {key: value for key, value in content.items() if key != "data" or not is_large}
    return replace(event, content={**inline, "url": url})


async def load_file(store: Store, token: str) -> StoredFile | None:
    if not FILE_TOKEN.fullmatch(token):
        return None
    encoded = (await store.get_results(FILE_OWNER, [token])).get(token)
    return None if encoded is None else msgspec.json.decode(encoded, type=StoredFile)


def artifact_as_text(event: Artifact, language: Language = "en") -> str:
    content = event.content
    if isinstance(content, dict) and "url" in content:
        return f"[{escape_markdown(event.name)}]({content['url']})"
    if event.kind == "text" and isinstance(content, str):
        return content
    return markdown_table(event.name, content, language) if event.kind == "table" else ""


def markdown_table(name: str, content: Any, language: Language = "en") -> str:
    """Format the first rows of a list of objects as a Markdown table."""
    rows = [row for row in content if isinstance(row, dict)] if isinstance(content, list) else []
    if not rows:
        return ""
    columns = list(dict.fromkeys(key for row in rows[:MAX_ROWS] for key in row))
    lines = [[*map(format_cell, columns)], ["---"] * len(columns)]
    lines += [[format_cell(row.get(column)) for column in columns] for row in rows[:MAX_ROWS]]
    table = "\n".join("| " + " | ".join(line) + " |" for line in lines)
    is_cut = len(rows) > MAX_ROWS
    more = "\n\n" + get_sentence("more_rows", language, shown=MAX_ROWS, total=len(rows)) if is_cut else ""
    return (f"{escape_markdown(name)}\n\n" if name else "") + table + more


def format_cell(value: Any) -> str:
    if value is None:
        return ""
    text = value if isinstance(value, str) else msgspec.json.encode(value).decode()
    text = " ".join(text.replace("|", "\\|").split())
    return text if len(text) <= MAX_CELL else f"{text[: MAX_CELL - 1]}…"


def escape_markdown(name: str) -> str:
    return re.sub(r"([\[\]()<>`*_\\])", r"\\\1", " ".join(name.split()))
