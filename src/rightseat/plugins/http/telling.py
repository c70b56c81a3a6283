"""Response text within a token budget: documented keys are kept longest, omissions are noted."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec

from rightseat.documents import read
from rightseat.documents.cut import fits, head
from rightseat.documents.json import NotJson, loose
from rightseat.documents.shape import written
from rightseat.documents.text import decoded
from rightseat.http.fetch import Fetched
from rightseat.plugins.http.files import plain_media
from rightseat.plugins.http.hidden import Hiding
from rightseat.plugins.http.schemas import Schema, items, properties
from rightseat.plugins.operation import Response

NOTES = 150
"""Tokens reserved for notes about omissions."""
MAX_NOTES = 3
DEEPEST = 16
# Lenient JSON parsing blocks the event loop up to the first limit; beyond the second nothing is parsed whole.
SMALL, LARGE = 64 << 10, 2 << 20
HEAD = 1024


async def told(fetched: Fetched, response: Response | None, budget: int, hide: Hiding) -> str:
    """Return the body as text within the budget, with secrets redacted."""
    charset, media = charset_of(fetched.content_type), plain_media(fetched.content_type)
    room = max(budget - NOTES, budget // 2, 1)
    if len(fetched.data) > LARGE:
        start, _ = decoded(fetched.data[:HEAD], charset)
        return hide(await shortened(fetched.data, f"{kind_of(start, media)}; charset={charset}", room))
    text = hide(decoded(fetched.data, charset)[0].strip())
    kind = kind_of(text, media)
    if kind != "html" and fits(text, budget):
        return text
    notes: list[str] = []
    if kind == "json" and response is not None and response.schema:
        text = await asyncio.to_thread(essential, text, response.schema, notes)
        if fits(text, room):
            return "\n".join([text, *notes])
    return "\n".join([await shortened(text.encode("utf-8", "replace"), kind, room), *notes])


async def shortened(data: bytes, kind: str, room: int) -> str:
    document = await read(data, kind=kind, budget=room)
    return document.shown if not document.failed else head(decoded(data[: room * 8])[0], room)


def value_of(fetched: Fetched, hide: Hiding) -> Any:
    """Return the whole body as data: parsed JSON, else its text."""
    text = hide(decoded(fetched.data, charset_of(fetched.content_type))[0].strip())
    try:
        return parsed(text) if kind_of(text, plain_media(fetched.content_type)) == "json" else text
    except (NotJson, RecursionError):
        return text


def parsed(text: str) -> Any:
    """Parse JSON: leniently if it is small, strictly if it is large (lenient parsing is slow)."""
    if len(text) <= SMALL:
        return loose(text)
    try:
        return msgspec.json.decode(text)
    except msgspec.DecodeError:
        raise NotJson from None


def kind_of(text: str, media: str) -> str:
    """Detect html, json, csv or text from the content first: servers often send a wrong media type."""
    start = text[:HEAD].lstrip().lower()
    if start.startswith(("<!doctype html", "<html")) or media in ("text/html", "application/xhtml+xml"):
        return "html"
    if start.startswith(("{", "[")) or (media.endswith("json") and not start.startswith("<")):
        return "json"
    return "csv" if media == "text/csv" else "text"


def charset_of(content_type: str) -> str:
    said = content_type.lower().partition("charset=")[2].partition(";")[0].strip().strip("\"'")
    # GB18030 is a superset of GBK and GB2312, and the usual encoding of undeclared Chinese text.
    return "gb18030" if not said or said.startswith(("gb", "x-gbk")) else said


def essential(text: str, schema: Schema, notes: list[str]) -> str:
    """Keep only documented keys of the JSON; returns the text unchanged if it is not valid JSON."""
    try:
        return written(Pruning(schema, notes).kept(parsed(text), schema))
    except (NotJson, RecursionError, UnicodeEncodeError):
        return text


class Pruning:
    """Removes undocumented keys from a JSON value; caches the properties of each schema."""

    def __init__(self, root: Schema, notes: list[str]) -> None:
        self.root = root
        self.notes = notes
        self.named: dict[int, dict[str, Any]] = {}

    def kept(self, value: Any, schema: Any, level: int = 0) -> Any:
        """Return the value with only the keys its schema declares."""
        if level > DEEPEST:
            return value
        if isinstance(value, list):
            inner = items(schema, self.root)
            return value if inner is None else [self.kept(one, inner, level + 1) for one in value]
        if not isinstance(value, dict):
            return value
        named = self.named.get(id(schema))
        if named is None:
            named = self.named[id(schema)] = properties(schema, self.root)
        made = {
            name: self.kept(value[name], inner, level + 1) for name, inner in named.items() if name in value
        }
        # No declared key is present: the document describes something else.
        if not made:
            return value
        if len(made) < len(value) and len(self.notes) < MAX_NOTES:
            self.say(", ".join(name for name in value if name not in named))
        return made

    def say(self, names: str) -> None:
        note = f"[Keys that the API's document does not name are left out: {names[:200]}]"
        if note not in self.notes:
            self.notes.append(note)
