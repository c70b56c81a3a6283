"""Response text within a token budget: documented keys are kept longest, omissions are noted."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec

from rightseat.documents import read
from rightseat.documents.cut import fits_budget, take_head
from rightseat.documents.json import InvalidJson, parse_loosely
from rightseat.documents.shape import encode_json
from rightseat.documents.text import decode_text
from rightseat.http.fetch import FetchResult
from rightseat.plugins.http.files import normalize_media_type
from rightseat.plugins.http.hidden import Redactor
from rightseat.plugins.http.schemas import Schema, all_properties, item_schema
from rightseat.plugins.operation import OperationResponse

NOTES_BUDGET = 150
"""Tokens reserved for notes about omissions."""
MAX_NOTES = 3
MAX_PRUNE_DEPTH = 16
# Lenient JSON parsing blocks the event loop up to the first limit; beyond the second nothing is parsed whole.
MAX_LENIENT_BYTES, MAX_PARSED_BYTES = 64 << 10, 2 << 20
SNIFF_BYTES = 1024


async def format_body(
    fetched: FetchResult, response: OperationResponse | None, budget: int, redact: Redactor
) -> str:
    """Return the body as text within the budget, with secrets redacted."""
    charset, media = parse_charset(fetched.content_type), normalize_media_type(fetched.content_type)
    text_budget = max(budget - NOTES_BUDGET, budget // 2, 1)
    if len(fetched.data) > MAX_PARSED_BYTES:
        start, _ = decode_text(fetched.data[:SNIFF_BYTES], charset)
        return redact(
            await shorten_document(
                fetched.data, f"{detect_kind(start, media)}; charset={charset}", text_budget
            )
        )
    text = redact(decode_text(fetched.data, charset)[0].strip())
    kind = detect_kind(text, media)
    if kind != "html" and fits_budget(text, budget):
        return text
    notes: list[str] = []
    if kind == "json" and response is not None and response.schema:
        text = await asyncio.to_thread(prune_json, text, response.schema, notes)
        if fits_budget(text, text_budget):
            return "\n".join([text, *notes])
    return "\n".join([await shorten_document(text.encode("utf-8", "replace"), kind, text_budget), *notes])


async def shorten_document(data: bytes, kind: str, budget: int) -> str:
    document = await read(data, kind=kind, budget=budget)
    return (
        document.text_with_note
        if not document.failed
        else take_head(decode_text(data[: budget * 8])[0], budget)
    )


def decode_body(fetched: FetchResult, redact: Redactor) -> Any:
    """Return the whole body as data: parsed JSON, else its text."""
    text = redact(decode_text(fetched.data, parse_charset(fetched.content_type))[0].strip())
    try:
        return (
            parse_json(text)
            if detect_kind(text, normalize_media_type(fetched.content_type)) == "json"
            else text
        )
    except (InvalidJson, RecursionError):
        return text


def parse_json(text: str) -> Any:
    """Parse JSON: leniently if it is small, strictly if it is large (lenient parsing is slow)."""
    if len(text) <= MAX_LENIENT_BYTES:
        return parse_loosely(text)
    try:
        return msgspec.json.decode(text)
    except msgspec.DecodeError:
        raise InvalidJson from None


def detect_kind(text: str, media: str) -> str:
    """Detect html, json, csv or text from the content first: servers often send a wrong media type."""
    start = text[:SNIFF_BYTES].lstrip().lower()
    if start.startswith(("<!doctype html", "<html")) or media in ("text/html", "application/xhtml+xml"):
        return "html"
    if start.startswith(("{", "[")) or (media.endswith("json") and not start.startswith("<")):
        return "json"
    return "csv" if media == "text/csv" else "text"


def parse_charset(content_type: str) -> str:
    charset = content_type.lower().partition("charset=")[2].partition(";")[0].strip().strip("\"'")
    # GB18030 is a superset of GBK and GB2312, and the usual encoding of undeclared Chinese text.
    return "gb18030" if not charset or charset.startswith(("gb", "x-gbk")) else charset


def prune_json(text: str, schema: Schema, notes: list[str]) -> str:
    """Keep only documented keys of the JSON; returns the text unchanged if it is not valid JSON."""
    try:
        return encode_json(ResponsePruner(schema, notes).prune(parse_json(text), schema))
    except (InvalidJson, RecursionError, UnicodeEncodeError):
        return text


class ResponsePruner:
    """Removes undocumented keys from a JSON value; caches the properties of each schema."""

    def __init__(self, root: Schema, notes: list[str]) -> None:
        self.root = root
        self.notes = notes
        self.property_cache: dict[int, dict[str, Any]] = {}

    def prune(self, value: Any, schema: Any, level: int = 0) -> Any:
        """Return the value with only the keys its schema declares."""
        if level > MAX_PRUNE_DEPTH:
            return value
        if isinstance(value, list):
            inner = item_schema(schema, self.root)
            return value if inner is None else [self.prune(one, inner, level + 1) for one in value]
        if not isinstance(value, dict):
            return value
        declared = self.property_cache.get(id(schema))
        if declared is None:
            declared = self.property_cache[id(schema)] = all_properties(schema, self.root)
        pruned = {
            name: self.prune(value[name], inner, level + 1)
            for name, inner in declared.items()
            if name in value
        }
        # No declared key is present: the document describes something else.
        if not pruned:
            return value
        if len(pruned) < len(value) and len(self.notes) < MAX_NOTES:
            self.add_note(", ".join(name for name in value if name not in declared))
        return pruned

    def add_note(self, names: str) -> None:
        note = f"[Keys that the API's document does not name are left out: {names[:200]}]"
        if note not in self.notes:
            self.notes.append(note)
