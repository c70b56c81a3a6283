"""Render the client's results, legacy and current, as text for a model.

A result is a list of parts: JSON, text or a file, inline, in base64 or as a URL. A part that fails is
replaced by an error text; the turn continues.
"""

from __future__ import annotations

import mimetypes
import re
from base64 import b64encode
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec
from msgspec import Struct

from rightseat import documents
from rightseat.doors.openbb.wire import listed, table, text, written
from rightseat.errors import RightseatError
from rightseat.http.fetch import Outbound
from rightseat.types.messages import File, Image
from rightseat.types.tokens import estimate
from rightseat.types.tools import failure

PLAIN = (None, "json", "txt", "md")
FILES = ("pdf", "jpg", "jpeg", "png", "xlsx", "xls", "docx")
WRAPPED = {"items", "content", "url", "file_reference"}
MARKS = re.compile(r"[!-@\[-`{-~]")
"""Digits and punctuation: one token each for a small model, where four letters are one token."""
MAX_PIECES = 32
MAX_BYTES = 10 << 20
SECONDS = 15.0
LEAST = 50


class Piece(Struct, frozen=True):
    """One part of a result. `data` is text, JSON text or base64; or `url` is to be fetched."""

    data: str = ""
    url: str = ""
    kind: str | None = None
    name: str = ""
    citable: bool = True

    @property
    def slow(self) -> bool:
        return bool(self.url) or self.kind in FILES


class Told(Struct, frozen=True):
    text: str
    failed: bool = False
    citable: bool = True
    images: tuple[Image, ...] = ()
    files: tuple[File, ...] = ()
    """The files themselves, for tools."""
    sources: tuple[dict[str, Any], ...] = ()
    """Citations that came with the data."""


def pieces(raw: Any) -> list[Piece] | Told:
    """Split a result into parts, or return the rendered result of an error or a command."""
    if raw is None or raw in ("", [], {}):
        return failed("no_data", "The workspace sent no data.")
    match raw:
        case {"error_type": kind, **more}:
            return failed(text(kind) or "unexpected_error", text(more.get("content")) or "It gave no reason.")
        case {"status": str(status), **more} if "items" not in more and "content" not in more:
            return command(status, more)
        case _:
            return list(_pieces(raw))[:MAX_PIECES]


def failed(code: str, message: str) -> Told:
    return Told(failure(code, message).text, failed=True, citable=False)


def command(status: str, more: Mapping[Any, Any]) -> Told:
    """Render the status of a command that the client carried out."""
    if status == "error":
        return failed("client_error", text(more.get("message")) or "The workspace could not do it.")
    skill = table(table(more.get("data")).get("skill"))
    if content := text(skill.get("contentMarkdown")):
        return Told(content, citable=False)
    said = {key: value for key, value in more.items() if key in ("message", "data") and value is not None}
    return Told(written({"status": status, **said}), citable=False)


def _pieces(raw: Any) -> Iterator[Piece]:
    match raw:
        case str():
            yield Piece(raw)
        case {"items": list(items)}:
            for item in items:
                yield from _pieces(item)
        case {"url": str(url), **more} | {"file_reference": str(url), **more} if "content" not in more:
            # A reference that is not a URL is the id of a file that only the client has.
            found = piece("", more, url=url if "://" in url else "")
            yield found if found.url or found.name else msgspec.structs.replace(found, name="The file")
        case {"content": content, **more}:
            yield piece(content if isinstance(content, str) else written(content), more)
        case list() if raw and all(isinstance(item, dict) and WRAPPED & {*item} for item in raw):
            for item in raw:
                yield from _pieces(item)
        case _:
            yield Piece(written(raw), kind="json")


def piece(data: str, more: Mapping[Any, Any], url: str = "") -> Piece:
    form = table(more.get("data_format"))
    kind = text(form.get("data_type")) or None
    if kind == "object":
        kind = None if form.get("parse_as") in ("text", "html") else "json"
    name = text(form.get("filename"))
    return Piece(data, url, kind, name, citable=more.get("citable") is not False)


async def told(
    raw: Any, budget: int, outbound: Outbound, *, images: bool = False, dense: bool = False
) -> Told:
    """Render a result within the budget. `dense`: each digit and punctuation mark counts as a token."""
    found = pieces(raw)
    if isinstance(found, Told):
        return found
    parts: list[Told] = []
    for number, one in enumerate(found):
        share = max(budget // (len(found) - number), LEAST)
        part = await read(one, share, outbound, images=images, dense=dense)
        budget -= weight(part.text, dense=dense)
        parts.append(part)
    whole = "\n\n".join(part.text for part in parts if part.text)
    return Told(
        whole or failed("no_data", "The workspace sent no data.").text,
        failed=all(part.failed for part in parts) or refused(whole),
        citable=any(part.citable for part in parts),
        images=tuple(image for part in parts for image in part.images),
        files=tuple(file for part in parts for file in part.files),
        sources=tuple(own_sources(raw)),
    )


def own_sources(raw: Any) -> Iterator[dict[str, Any]]:
    for result in raw if isinstance(raw, list) else [raw]:
        yield from filter(None, map(table, listed(table(result).get("extra_citations"))[:MAX_PIECES]))


def weight(text: str, *, dense: bool) -> int:
    marks = len(MARKS.findall(text)) if dense else 0
    return estimate(text) + marks * 3 // 4


async def read(one: Piece, budget: int, outbound: Outbound, *, images: bool, dense: bool) -> Told:
    """Render one part as text within the budget, fetching its URL first."""
    data: bytes | str = one.data
    kind, name = one.kind, one.name
    if one.url:
        shown = name or one.url[:200]
        try:
            fetched = await outbound.fetch(one.url)
        except RightseatError as error:
            return Told(f"({shown} could not be fetched: {error.message})", failed=True, citable=False)
        if fetched.status >= 400:
            return Told(f"({shown} could not be fetched: HTTP {fetched.status}.)", failed=True, citable=False)
        data, name = fetched.data, name or fetched.name
        kind = kind or fetched.content_type
    if not data:
        said = f"({name} is empty, or only the workspace has it.)" if name else ""
        return Told(said, failed=True, citable=False)
    told = await document(data, kind, name, budget, citable=one.citable, images=images)
    if (taken := weight(told.text, dense=dense)) > max(budget, LEAST) and dense:
        less = max(budget * budget // taken, LEAST)
        told = await document(data, kind, name, less, citable=one.citable, images=images)
    return msgspec.structs.replace(told, files=(attachment(data, kind, name),)) if kind in FILES else told


def attachment(data: bytes | str, kind: str, name: str) -> File:
    packed = data if isinstance(data, str) else b64encode(data).decode()
    name = name or f"file.{kind}"
    return File(name, mimetypes.guess_type(f"x.{kind}")[0], packed, read=True)


async def document(
    data: bytes | str, kind: str | None, name: str, budget: int, *, citable: bool, images: bool
) -> Told:
    """Return text that fits unchanged; parse and truncate anything else by its file type."""
    if isinstance(data, str) and kind in PLAIN:
        if estimate(data) <= budget and not packed(data):
            return Told(data, citable=citable)
        # Declared as JSON, but not necessarily JSON.
        kind = kind if data.lstrip()[:1] in ("{", "[") else None
    found = await documents.read(data, kind=kind, name=name, budget=budget, images=images)
    return Told(found.shown, found.failed, citable and not found.failed, found.images)


def packed(data: str) -> bool:
    """Whether the text may be an undeclared base64 file."""
    return len(data) >= 24 and not any(char in data[:200] for char in " {[<")


def refused(said: str) -> bool:
    """Whether the text is an MCP server's error, which arrives as ordinary text."""
    if not said.startswith("{") or len(said) > 10_000:
        return False
    try:
        found = msgspec.json.decode(said)
    except (msgspec.DecodeError, RecursionError, UnicodeEncodeError):
        return False
    return isinstance(found, dict) and ("error_type" in found or found.get("isError") is True)


def web() -> Outbound:
    """Make the HTTP fetcher of one request; the caller closes it."""
    return Outbound(max_bytes=MAX_BYTES, seconds=SECONDS)
