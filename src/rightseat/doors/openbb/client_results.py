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

from msgspec import Struct
from msgspec.structs import replace

from rightseat import documents
from rightseat.documents.kinds import IMAGE_KINDS
from rightseat.documents.table import add_rows
from rightseat.doors.openbb.wire import as_dict, as_list, as_text, to_json
from rightseat.errors import AddressRefused, RightseatError
from rightseat.http.fetch import AddressRules, OutboundClient
from rightseat.types.messages import FileMessagePart, ImageMessagePart
from rightseat.types.text import decode_or_none, estimate_tokens
from rightseat.types.tools import error_result

TEXT_KINDS = (None, "json", "txt", "md")
FILE_KINDS = ("pdf", "jpg", "jpeg", "png", "xlsx", "xls", "docx")
PART_KEYS = {"items", "content", "url", "file_reference"}
DENSE_CHARS = re.compile(r"[!-@\[-`{-~]")
"""Digits and punctuation: one token each for a small model, where four letters are one token."""
MAX_PARTS = 32
MAX_BYTES = 10 << 20
FETCH_TIMEOUT = 15.0
MIN_PART_TOKENS = 50


class ResultPart(Struct, frozen=True):
    """One part of a result. `data` is text, JSON text or base64; or `url` is to be fetched."""

    data: str = ""
    url: str = ""
    kind: str | None = None
    name: str = ""
    citable: bool = True
    is_note: bool = False
    """A note of ours about parts that are left out."""

    @property
    def is_slow(self) -> bool:
        return bool(self.url) or self.kind in FILE_KINDS


class RenderedResult(Struct, frozen=True):
    text: str
    failed: bool = False
    citable: bool = True
    images: tuple[ImageMessagePart, ...] = ()
    files: tuple[FileMessagePart, ...] = ()
    """The files themselves, for tools."""
    citations: tuple[dict[str, Any], ...] = ()
    """Citations that came with the data."""
    cut: bool = False
    """Some of it is left out."""
    rows: tuple[int, int] | None = None
    """Of tables that were cut: the rows shown, and all rows."""
    has_content: bool = True
    """Text or images were read."""
    unread: tuple[str, ...] = ()
    """Names of the files and pages of which nothing was read, such as a scanned PDF."""


def make_failed_result(code: str, message: str) -> RenderedResult:
    return RenderedResult(error_result(code, message).text, failed=True, citable=False)


NO_DATA = make_failed_result("no_data", "The workspace sent no data.")


def parse_parts(raw: Any) -> list[ResultPart] | RenderedResult:
    """Split a result into parts, or return the rendered result of an error or a command."""
    if raw is None or raw in ("", [], {}):
        return NO_DATA
    match raw:
        case {"error_type": kind, **more}:
            reason = as_text(more.get("content")) or "It gave no reason."
            return make_failed_result(as_text(kind) or "unexpected_error", reason)
        case {"status": str(status), **more} if "items" not in more and "content" not in more:
            return render_command_result(status, more)
        case _:
            parts = list(_iter_parts(raw))
            left = len(parts) - MAX_PARTS
            return parts if left <= 0 else [*parts[:MAX_PARTS], make_left_out_part(left)]


def make_left_out_part(count: int) -> ResultPart:
    """Make the part that tells the model of parts that are not read."""
    return ResultPart(f"[{count} more parts are left out: at most {MAX_PARTS} are read.]", is_note=True)


def render_command_result(status: str, more: Mapping[Any, Any]) -> RenderedResult:
    """Render the status of a command that the client carried out."""
    if status == "error":
        return make_failed_result("client_error", as_text(more.get("message")) or "The workspace could not do it.")
    skill = as_dict(as_dict(more.get("data")).get("skill"))
    if content := as_text(skill.get("contentMarkdown")):
        return RenderedResult(content, citable=False)
    fields = {key: value for key, value in more.items() if key in ("message", "data") and value is not None}
    return RenderedResult(to_json({"status": status, **fields}), citable=False)


def _iter_parts(raw: Any) -> Iterator[ResultPart]:
    match raw:
        case str():
            yield ResultPart(raw)
        case {"items": list(items)}:
            for item in items:
                yield from _iter_parts(item)
        case {"url": str(url), **more} | {"file_reference": str(url), **more} if "content" not in more:
            # A reference that is not a URL is the id of a file that only the client has.
            part = make_part("", more, url=url if "://" in url else "")
            yield part if part.url or part.name else replace(part, name="The file")
        case {"content": content, **more}:
            yield make_part(content if isinstance(content, str) else to_json(content), more)
        case list() if raw and all(isinstance(item, dict) and PART_KEYS & {*item} for item in raw):
            for item in raw:
                yield from _iter_parts(item)
        case _:
            yield ResultPart(to_json(raw), kind="json")


def make_part(data: str, more: Mapping[Any, Any], url: str = "") -> ResultPart:
    form = as_dict(more.get("data_format"))
    kind = as_text(form.get("data_type")) or None
    if kind == "object":
        kind = None if form.get("parse_as") in ("text", "html") else "json"
    name = as_text(form.get("filename"))
    return ResultPart(data, url, kind, name, citable=more.get("citable") is not False)


async def render_result(
    raw: Any, budget: int, outbound: OutboundClient, *, images: bool = False, dense: bool = False
) -> RenderedResult:
    """Render a result within the budget. `dense`: each digit and punctuation mark counts as a token."""
    result_parts = parse_parts(raw)
    if isinstance(result_parts, RenderedResult):
        return result_parts
    rendered_parts: list[RenderedResult] = []
    unread: list[str] = []
    for number, result_part in enumerate(result_parts):
        share = max(budget // (len(result_parts) - number), MIN_PART_TOKENS)
        rendered = await render_part(result_part, share, outbound, images=images, dense=dense)
        budget -= estimate_result_tokens(rendered.text, dense=dense)
        rendered_parts.append(rendered)
        if result_part.is_slow and (rendered.failed or not rendered.has_content):
            unread.append(result_part.name or result_part.url)
    text = "\n\n".join(rendered.text for rendered in rendered_parts if rendered.text)
    return RenderedResult(
        text or NO_DATA.text,
        failed=all(rendered.failed for rendered in rendered_parts) or is_error_text(text),
        citable=any(rendered.citable for rendered in rendered_parts),
        images=tuple(image for rendered in rendered_parts for image in rendered.images),
        files=tuple(file for rendered in rendered_parts for file in rendered.files),
        citations=tuple(iter_citations(raw)),
        cut=any(rendered.cut for rendered in rendered_parts),
        rows=add_rows(*(rendered.rows for rendered in rendered_parts)),
        unread=tuple(unread),
    )


def iter_citations(raw: Any) -> Iterator[dict[str, Any]]:
    for result in raw if isinstance(raw, list) else [raw]:
        yield from filter(None, map(as_dict, as_list(as_dict(result).get("extra_citations"))[:MAX_PARTS]))


def estimate_result_tokens(text: str, *, dense: bool) -> int:
    marks = len(DENSE_CHARS.findall(text)) if dense else 0
    return estimate_tokens(text) + marks * 3 // 4


async def render_part(
    part: ResultPart, budget: int, outbound: OutboundClient, *, images: bool, dense: bool
) -> RenderedResult:
    """Render one part as text within the budget, fetching its URL first."""
    if part.is_note:
        return RenderedResult(part.data, citable=False, cut=True)
    data: bytes | str = part.data
    kind, name = part.kind, part.name
    if part.url:
        label = name or part.url[:200]
        try:
            fetched = await outbound.fetch(part.url)
        except RightseatError as error:
            hint = " The setting is [server] fetch_allow." if isinstance(error, AddressRefused) else ""
            return RenderedResult(f"({label} could not be fetched: {error.message}{hint})", failed=True, citable=False)
        if fetched.status >= 400:
            return RenderedResult(f"({label} could not be fetched: HTTP {fetched.status}.)", failed=True, citable=False)
        data, name = fetched.data, name or fetched.name
        kind = kind or fetched.content_type
    if not data:
        message = f"({name} is empty, or only the workspace has it.)" if name else ""
        return RenderedResult(message, failed=True, citable=False)
    rendered = await render_document(data, kind, name, budget, citable=part.citable, images=images)
    if (used := estimate_result_tokens(rendered.text, dense=dense)) > max(budget, MIN_PART_TOKENS) and dense:
        smaller_budget = max(budget * budget // used, MIN_PART_TOKENS)
        rendered = await render_document(data, kind, name, smaller_budget, citable=part.citable, images=images)
    if kind not in FILE_KINDS:
        return rendered
    packed = data if isinstance(data, str) else b64encode(data).decode()
    media_type = mimetypes.guess_type(f"x.{kind}")[0]
    return replace(rendered, files=(FileMessagePart(name or f"file.{kind}", media_type, packed, read=True),))


async def render_document(
    data: bytes | str, kind: str | None, name: str, budget: int, *, citable: bool, images: bool
) -> RenderedResult:
    """Return text that fits unchanged; parse and truncate anything else by its file type."""
    if isinstance(data, str) and kind in TEXT_KINDS:
        if estimate_tokens(data) <= budget and not looks_like_base64(data):
            return RenderedResult(data, citable=citable)
        # Declared as JSON, but not necessarily JSON.
        kind = kind if data.lstrip()[:1] in ("{", "[") else None
    text = await documents.read(data, kind=kind, name=name, budget=budget, images=images)
    # Of an image that the model does not take, the text says only the size.
    has_content = bool(text.images or (text.text and text.kind not in IMAGE_KINDS))
    citable = citable and has_content and not text.failed
    cut = text.cut and has_content
    rendered = RenderedResult(text.text_with_note, text.failed, citable, text.images, cut=cut, rows=text.rows)
    return replace(rendered, has_content=has_content)


def looks_like_base64(data: str) -> bool:
    """Whether the text may be an undeclared base64 file."""
    return len(data) >= 24 and not any(char in data[:200] for char in " {[<")


def is_error_text(content: str) -> bool:
    """Whether the text is an MCP server's error, which arrives as ordinary text."""
    if not content.startswith("{") or len(content) > 10_000:
        return False
    decoded = as_dict(decode_or_none(content))
    return "error_type" in decoded or decoded.get("isError") is True


def make_outbound(rules: AddressRules) -> OutboundClient:
    """Make the HTTP fetcher of one request; the caller closes it."""
    return OutboundClient(rules, max_bytes=MAX_BYTES, seconds=FETCH_TIMEOUT)
