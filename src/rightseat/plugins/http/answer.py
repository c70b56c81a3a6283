"""Results of an operation: text within a token budget for the model, files for the user, HTTP errors."""

from __future__ import annotations

import base64
import mimetypes
import secrets
from http import HTTPStatus
from typing import Any

from msgspec import Struct

from rightseat.http.fetch import Fetched
from rightseat.plugins.http.files import plain_media, plain_name
from rightseat.plugins.http.hidden import Hiding
from rightseat.plugins.http.schemas import is_file
from rightseat.plugins.http.telling import told, value_of
from rightseat.plugins.operation import Operation, Response
from rightseat.types.events import Artifact
from rightseat.types.tools import Result, failure

BUDGET = 16_000
"""Tokens of a result if the model's budget is unknown."""
ERROR_TOKENS = 500
TEXTUAL = ("json", "xml", "javascript", "ecmascript", "yaml", "x-yaml", "toml", "csv", "graphql", "x-ndjson")
TOLD = ("content-type", "content-length", "last-modified", "etag", "location")


class Answer(Struct, frozen=True, kw_only=True):
    """Outcome of a call: `result` for the model, `artifact` for the user."""

    fetched: Fetched
    hide: Hiding
    result: Result
    artifact: Artifact | None = None
    is_file: bool = False

    @property
    def value(self) -> Any:
        """Full response as data: parsed JSON, else text; of a file its description and content."""
        return self.artifact.content if self.is_file and self.artifact else value_of(self.fetched, self.hide)


async def answered(
    operation: Operation, fetched: Fetched, *, budget: int | None, hide: Hiding, accounts: list[str]
) -> Answer:
    response = described(operation, fetched.status)
    artifact, binary = None, False
    if not 200 <= fetched.status < 300:
        result = await refused(operation, fetched, hide, accounts)
    elif not fetched.data or operation.method.upper() == "HEAD":
        result = Result(hide(empty(operation, fetched)))
    elif is_binary(fetched, response):
        artifact, binary = as_file(operation, fetched, hide), True
        kind, size = artifact.content["media_type"], artifact.content["size"]
        result = Result(f"The answer is a file: {artifact.name} ({kind}, {size} bytes). The user has it now.")
    else:
        result = Result(await told(fetched, response, budget or BUDGET, hide))
        artifact = as_file(operation, fetched, hide) if is_download(fetched) else None
    return Answer(fetched=fetched, hide=hide, result=result, artifact=artifact, is_file=binary)


def described(operation: Operation, status: int) -> Response | None:
    """Find the documented response: by exact status, by class (`2XX`), or `default`."""
    wanted = (str(status), f"{status // 100}XX", "default")
    for one in wanted:
        for response in operation.responses:
            if response.status.upper() == one.upper():
                return response
    good = [response for response in operation.responses if response.status.startswith("2")]
    return good[0] if good and 200 <= status < 300 else None


def empty(operation: Operation, fetched: Fetched) -> str:
    method = operation.method.upper()
    said = f"{method} {operation.path} succeeded ({phrase(fetched.status)}), with no content."
    names = TOLD if method == "HEAD" else ("location",)
    lines = [f"{name}: {fetched.headers[name][:300]}" for name in names if name in fetched.headers]
    return "\n".join([said, *lines])


def phrase(status: int) -> str:
    try:
        return f"{status} {HTTPStatus(status).phrase}"
    except ValueError:
        return str(status)


def is_binary(fetched: Fetched, response: Response | None) -> bool:
    media = plain_media(fetched.content_type)
    if response is not None and response.schema is not None and is_file(response.schema, response.schema):
        return not media.endswith("/json") or "json" in response.media
    if not media or media == "application/octet-stream":
        # No usable content type: go by the document, then by the bytes.
        text = not media or (response is not None and is_text(plain_media(response.media)))
        return not text or looks_binary(fetched.data)
    return not is_text(media)


def is_text(media: str) -> bool:
    kind, _, name = media.partition("/")
    if kind in ("image", "audio", "video", "font"):
        return False
    words = name.replace("+", ".").split(".")
    return kind == "text" or name == "x-www-form-urlencoded" or any(word in TEXTUAL for word in words)


def looks_binary(data: bytes) -> bool:
    start = data[: 64 << 10]
    return b"\0" in start and not start.startswith((b"\xff\xfe", b"\xfe\xff"))


def is_download(fetched: Fetched) -> bool:
    return fetched.headers.get("content-disposition", "").lower().startswith("attachment")


def as_file(operation: Operation, fetched: Fetched, hide: Hiding) -> Artifact:
    media = plain_media(fetched.content_type) or "application/octet-stream"
    name = hide(plain_name(fetched.name)) if "content-disposition" in fetched.headers else ""
    name = name or f"{operation.name}{mimetypes.guess_extension(media) or ''}"
    content = {
        "media_type": media,
        "size": len(fetched.data),
        "data": base64.b64encode(fetched.data).decode(),
    }
    return Artifact(f"file-{secrets.token_hex(8)}", "file", name, content)


async def refused(operation: Operation, fetched: Fetched, hide: Hiding, accounts: list[str]) -> Result:
    """Return a failure with the status, the documented meaning and the server's own text."""
    said = [f"{operation.method.upper()} {operation.path} answered {phrase(fetched.status)}."]
    response = described(operation, fetched.status)
    if response is not None and response.description:
        said.append(f"The API's document says: {response.description[:300]}")
    if fetched.status in (401, 403):
        used = " and ".join(accounts)
        said.append(
            f"Check the plugin's credentials ({used})." if used else "The plugin has no credentials set up."
        )
    if fetched.data and not is_binary(fetched, None):
        text = await told(fetched, response, ERROR_TOKENS, hide)
        said.append(f"The server says: {text}")
    return failure(f"http_{fetched.status}", hide(" ".join(said)))
