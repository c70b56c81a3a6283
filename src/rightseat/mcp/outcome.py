"""Convert a CallToolResult to a Result and artifacts."""

from __future__ import annotations

import base64
import binascii
import mimetypes
from typing import Any

import mcp_types as types

from rightseat.types.events import Artifact
from rightseat.types.tools import Result, error_result


def convert_result(call: str, name: str, result: types.CallToolResult) -> tuple[list[Artifact], Result]:
    """Return artifacts and the Result: structured content as JSON, else text. Images, audio and files become
    artifacts for the user; the model gets a note about each."""
    artifacts: list[Artifact] = []
    texts: list[str] = []
    for number, block in enumerate(result.content):
        text = get_block_text(block)
        if text is not None:
            texts.append(text)
        elif (file := get_block_file(block, f"{name}-{number + 1}")) is not None:
            artifacts.append(Artifact(f"{call}-{number}", "file", file["name"], file))
            texts.append(f"[{file['name']}, {file['media_type']}: shown to the person]")
    text = "\n".join(texts)
    if result.is_error:
        return artifacts, error_result("tool_failed", text or f"{name} failed and did not say why.")
    if result.structured_content is not None and not artifacts:
        return artifacts, Result(result.structured_content)
    return artifacts, Result(text)


def get_block_text(block: Any) -> str | None:
    match block:
        case types.TextContent(text=text):
            return text
        case types.ResourceLink(uri=uri, name=name):
            return f"{name}: {uri}"
        case types.EmbeddedResource(resource=types.TextResourceContents(text=text)):
            return text
        case _:
            return None


def get_block_file(block: Any, name: str) -> dict[str, Any] | None:
    match block:
        case types.ImageContent(data=data, mime_type=kind) | types.AudioContent(data=data, mime_type=kind):
            pass
        case types.EmbeddedResource(resource=types.BlobResourceContents(blob=data, mime_type=kind)):
            kind = kind or "application/octet-stream"
        case _:
            return None
    try:
        base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError):
        return None
    return {"name": name + (mimetypes.guess_extension(kind) or ""), "media_type": kind, "data": data}
