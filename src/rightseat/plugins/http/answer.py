"""Results of an operation: text within a token budget for the model, files for the user, HTTP errors."""

from __future__ import annotations

import base64
import mimetypes
import secrets
from http import HTTPStatus
from typing import Any

from msgspec import Struct

from rightseat.http.fetch import FetchResult
from rightseat.plugins.http.files import normalize_media_type, sanitize_filename
from rightseat.plugins.http.hidden import Redactor
from rightseat.plugins.http.schemas import is_file
from rightseat.plugins.http.telling import decode_body, format_body
from rightseat.plugins.operation import Operation, OperationResponse
from rightseat.types.events import Artifact
from rightseat.types.tools import Result, error_result

DEFAULT_BUDGET = 16_000
"""Tokens of a result if the model's budget is unknown."""
ERROR_BUDGET = 500
TEXT_SUBTYPES = (
    "json",
    "xml",
    "javascript",
    "ecmascript",
    "yaml",
    "x-yaml",
    "toml",
    "csv",
    "graphql",
    "x-ndjson",
)
REPORTED_HEADERS = ("content-type", "content-length", "last-modified", "etag", "location")


class OperationResult(Struct, frozen=True, kw_only=True):
    """Outcome of a call: `result` for the model, `artifact` for the user."""

    fetched: FetchResult
    redact: Redactor
    result: Result
    artifact: Artifact | None = None
    is_file: bool = False

    @property
    def value(self) -> Any:
        """Full response as data: parsed JSON, else text; of a file its description and content."""
        return (
            self.artifact.content
            if self.is_file and self.artifact
            else decode_body(self.fetched, self.redact)
        )


async def format_response(
    operation: Operation,
    fetched: FetchResult,
    *,
    budget: int | None,
    redact: Redactor,
    credential_names: list[str],
) -> OperationResult:
    response = find_documented_response(operation, fetched.status)
    artifact, binary = None, False
    if not 200 <= fetched.status < 300:
        result = await format_http_error(operation, fetched, redact, credential_names)
    elif not fetched.data or operation.method.upper() == "HEAD":
        result = Result(redact(format_empty(operation, fetched)))
    elif is_binary(fetched, response):
        artifact, binary = make_file_artifact(operation, fetched, redact), True
        kind, size = artifact.content["media_type"], artifact.content["size"]
        result = Result(f"The answer is a file: {artifact.name} ({kind}, {size} bytes). The user has it now.")
    else:
        result = Result(await format_body(fetched, response, budget or DEFAULT_BUDGET, redact))
        artifact = make_file_artifact(operation, fetched, redact) if is_download(fetched) else None
    return OperationResult(fetched=fetched, redact=redact, result=result, artifact=artifact, is_file=binary)


def find_documented_response(operation: Operation, status: int) -> OperationResponse | None:
    """Find the documented response: by exact status, by class (`2XX`), or `default`."""
    patterns = (str(status), f"{status // 100}XX", "default")
    for pattern in patterns:
        for response in operation.responses:
            if response.status.upper() == pattern.upper():
                return response
    successes = [response for response in operation.responses if response.status.startswith("2")]
    return successes[0] if successes and 200 <= status < 300 else None


def format_empty(operation: Operation, fetched: FetchResult) -> str:
    method = operation.method.upper()
    text = f"{method} {operation.path} succeeded ({status_line(fetched.status)}), with no content."
    names = REPORTED_HEADERS if method == "HEAD" else ("location",)
    lines = [f"{name}: {fetched.headers[name][:300]}" for name in names if name in fetched.headers]
    return "\n".join([text, *lines])


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
        return not text or looks_binary(fetched.data)
    return not is_text(media)


def is_text(media: str) -> bool:
    kind, _, name = media.partition("/")
    if kind in ("image", "audio", "video", "font"):
        return False
    words = name.replace("+", ".").split(".")
    return kind == "text" or name == "x-www-form-urlencoded" or any(word in TEXT_SUBTYPES for word in words)


def looks_binary(data: bytes) -> bool:
    start = data[: 64 << 10]
    return b"\0" in start and not start.startswith((b"\xff\xfe", b"\xfe\xff"))


def is_download(fetched: FetchResult) -> bool:
    return fetched.headers.get("content-disposition", "").lower().startswith("attachment")


def make_file_artifact(operation: Operation, fetched: FetchResult, redact: Redactor) -> Artifact:
    media = normalize_media_type(fetched.content_type) or "application/octet-stream"
    name = redact(sanitize_filename(fetched.name)) if "content-disposition" in fetched.headers else ""
    name = name or f"{operation.name}{mimetypes.guess_extension(media) or ''}"
    content = {
        "media_type": media,
        "size": len(fetched.data),
        "data": base64.b64encode(fetched.data).decode(),
    }
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
