"""Results of an operation: text within a token budget for the model, files for the user, HTTP errors. Credentials are
redacted: servers may echo what they were sent."""

from __future__ import annotations

import asyncio
import base64
import mimetypes
import secrets
from collections.abc import Iterable
from http import HTTPStatus
from typing import Any

import msgspec

from rightseat.config.secret import MIN_MASKED_CHARS, mask
from rightseat.documents import read
from rightseat.documents.document import fits_budget, take_head
from rightseat.documents.json import InvalidJson, encode_json, parse_loosely
from rightseat.documents.reading import clean_name
from rightseat.documents.text import decode_text
from rightseat.http.fetch import FetchResult
from rightseat.plugins.http.arguments import Schema, all_properties, is_file, item_schema
from rightseat.plugins.http.encoding import quote_all, quote_cookie, quote_form
from rightseat.plugins.http.files import MAX_NAME, normalize_media_type
from rightseat.plugins.plugin import Operation, OperationResponse
from rightseat.types.events import Artifact
from rightseat.types.tools import Result, error_result

NOTES_BUDGET = 150
"""Tokens reserved for notes about omissions."""
MAX_NOTES = 3
MAX_PRUNE_DEPTH = 16
# Lenient JSON parsing blocks the event loop up to the first limit; beyond the second nothing is parsed whole.
MAX_LENIENT_BYTES, MAX_PARSED_BYTES = 64 << 10, 2 << 20
SNIFF_BYTES = 1024
DEFAULT_BUDGET = 16_000
"""Tokens of a result if the model's budget is unknown."""
ERROR_BUDGET = 500
TEXT_SUBTYPES = ("json", "xml", "javascript", "ecmascript", "yaml", "x-yaml", "toml", "csv", "graphql", "x-ndjson")
REPORTED_HEADERS = ("content-type", "content-length", "last-modified", "etag", "location")


class Redactor:
    """Replaces credentials, in all usual encodings, and every secret known to the process."""

    def __init__(self, values: Iterable[str] = ()) -> None:
        spellings: set[str] = set()
        for value in values:
            # Of `Bearer x` also `x` alone.
            for part in (value, value.partition(" ")[2]):
                json = msgspec.json.encode(part).decode()[1:-1]
                spellings |= {part, json, quote_all(part), quote_form(part), quote_cookie(part)}
        self.values = sorted((text for text in spellings if len(text) >= MIN_MASKED_CHARS), key=len, reverse=True)

    def __call__(self, text: str) -> str:
        for value in self.values:
            if value in text:
                text = text.replace(value, "***")
        return mask(text)


async def format_body(fetched: FetchResult, response: OperationResponse | None, budget: int, redact: Redactor) -> str:
    """Return the body as text within the budget, with secrets redacted."""
    charset, media = parse_charset(fetched.content_type), normalize_media_type(fetched.content_type)
    text_budget = max(budget - NOTES_BUDGET, budget // 2, 1)
    if len(fetched.data) > MAX_PARSED_BYTES:
        start, _ = decode_text(fetched.data[:SNIFF_BYTES], charset)
        return redact(
            await shorten_document(fetched.data, f"{detect_kind(start, media)}; charset={charset}", text_budget)
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
    return document.text_with_note if not document.failed else take_head(decode_text(data[: budget * 8])[0], budget)


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
            return value if inner is None else [self.prune(item, inner, level + 1) for item in value]
        if not isinstance(value, dict):
            return value
        declared = self.property_cache.get(id(schema))
        if declared is None:
            declared = self.property_cache[id(schema)] = all_properties(schema, self.root)
        pruned = {name: self.prune(value[name], inner, level + 1) for name, inner in declared.items() if name in value}
        # No declared key is present: the document describes something else.
        if not pruned:
            return value
        if len(pruned) < len(value) and len(self.notes) < MAX_NOTES:
            names = ", ".join(name for name in value if name not in declared)
            note = f"[Keys that the API's document does not name are left out: {names[:200]}]"
            if note not in self.notes:
                self.notes.append(note)
        return pruned


async def format_response(
    operation: Operation, fetched: FetchResult, *, budget: int | None, redact: Redactor, credential_names: list[str]
) -> tuple[Result, Artifact | None]:
    """Return the result for the model and, of a file, the artifact for the user."""
    response, method = find_documented_response(operation, fetched.status), operation.method.upper()
    artifact = None
    if not 200 <= fetched.status < 300:
        result = await format_http_error(operation, fetched, redact, credential_names)
    elif not fetched.data or method == "HEAD":
        text = f"{method} {operation.path} succeeded ({status_line(fetched.status)}), with no content."
        names = REPORTED_HEADERS if method == "HEAD" else ("location",)
        lines = [f"{name}: {fetched.headers[name][:300]}" for name in names if name in fetched.headers]
        result = Result(redact("\n".join([text, *lines])))
    elif is_binary(fetched, response):
        artifact = make_file_artifact(operation, fetched, redact)
        kind, size = artifact.content["media_type"], artifact.content["size"]
        result = Result(f"The answer is a file: {artifact.name} ({kind}, {size} bytes). The user has it now.")
    else:
        result = Result(await format_body(fetched, response, budget or DEFAULT_BUDGET, redact))
        if fetched.headers.get("content-disposition", "").lower().startswith("attachment"):
            artifact = make_file_artifact(operation, fetched, redact)
    return result, artifact


def find_documented_response(operation: Operation, status: int) -> OperationResponse | None:
    """Find the documented response: by exact status, by class (`2XX`), or `default`."""
    by_status = {response.status.upper(): response for response in reversed(operation.responses)}
    for pattern in (str(status), f"{status // 100}XX", "DEFAULT"):
        if pattern in by_status:
            return by_status[pattern]
    successes = (response for response in operation.responses if response.status.startswith("2"))
    return next(successes, None) if 200 <= status < 300 else None


def status_line(status: int) -> str:
    try:
        return f"{status} {HTTPStatus(status).phrase}"
    except ValueError:
        return str(status)


def is_binary(fetched: FetchResult, response: OperationResponse | None) -> bool:
    media = normalize_media_type(fetched.content_type)
    if response is not None and response.schema is not None and is_file(response.schema, response.schema):
        return not media.endswith("/json") or "json" in response.media
    if not media or media == "application/octet-stream":
        # No usable content type: go by the document, then by the bytes.
        text = not media or (response is not None and is_text(normalize_media_type(response.media)))
        start = fetched.data[: 64 << 10]
        return not text or (b"\0" in start and not start.startswith((b"\xff\xfe", b"\xfe\xff")))
    return not is_text(media)


def is_text(media: str) -> bool:
    kind, _, name = media.partition("/")
    if kind in ("image", "audio", "video", "font"):
        return False
    words = name.replace("+", ".").split(".")
    return kind == "text" or name == "x-www-form-urlencoded" or any(word in TEXT_SUBTYPES for word in words)


def make_file_artifact(operation: Operation, fetched: FetchResult, redact: Redactor) -> Artifact:
    media = normalize_media_type(fetched.content_type) or "application/octet-stream"
    name = redact(clean_name(fetched.name, MAX_NAME)) if "content-disposition" in fetched.headers else ""
    name = name or f"{operation.name}{mimetypes.guess_extension(media) or ''}"
    content = {"media_type": media, "size": len(fetched.data), "data": base64.b64encode(fetched.data).decode()}
    return Artifact(f"file-{secrets.token_hex(8)}", "file", name, content)


async def format_http_error(
    operation: Operation, fetched: FetchResult, redact: Redactor, credential_names: list[str]
) -> Result:
    """Return a failure with the status, the documented meaning and the server's own text."""
    sentences = [f"{operation.method.upper()} {operation.path} answered {status_line(fetched.status)}."]
    response = find_documented_response(operation, fetched.status)
    if response is not None and response.description:
        sentences.append(f"The API's document says: {response.description[:300]}")
    if fetched.status in (401, 403):
        names = " and ".join(credential_names)
        sentences.append(
            f"Check the plugin's credentials ({names})." if names else "The plugin has no credentials set up."
        )
    if fetched.data and not is_binary(fetched, None):
        text = await format_body(fetched, response, ERROR_BUDGET, redact)
        sentences.append(f"The server says: {text}")
    return error_result(f"http_{fetched.status}", redact(" ".join(sentences)))
