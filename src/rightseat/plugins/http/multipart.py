"""Encoder for multipart/form-data, with the quoting of browsers."""

from __future__ import annotations

import secrets
from collections.abc import Mapping

from msgspec import Struct

from rightseat.errors import CallerError

QUOTE_ESCAPES = {ord('"'): "%22", ord("\r"): "%0D", ord("\n"): "%0A"}


class FormPart(Struct, frozen=True):
    name: str
    data: bytes
    media: str = ""
    file: str | None = None
    headers: Mapping[str, str] = {}

    @property
    def header_text(self) -> str:
        disposition = f'form-data; name="{self.name.translate(QUOTE_ESCAPES)}"'
        if self.file is not None:
            disposition += f'; filename="{self.file.translate(QUOTE_ESCAPES)}"'
        lines = {"Content-Disposition": disposition, **({"Content-Type": self.media} if self.media else {})}
        ours = ("content-disposition", "content-type")
        lines |= {key: value for key, value in self.headers.items() if key.lower() not in ours}
        text = "".join(f"{key}: {value}\r\n" for key, value in lines.items())
        if text.count("\n") != len(lines) or text.count("\r") != len(lines) or "\0" in text:
            raise CallerError(f"A header of the form's part {self.name[:60]!r} has a line break in it.")
        return text


def encode_multipart(parts: list[FormPart], media: str = "multipart/form-data") -> tuple[bytes, str]:
    """Return the encoded body and its content type with the boundary."""
    boundary = f"rightseat-{secrets.token_hex(16)}"
    body = bytearray()
    for part in parts:
        body += f"--{boundary}\r\n{part.header_text}\r\n".encode("utf-8", "replace")
        body += part.data + b"\r\n"
    body += f"--{boundary}--\r\n".encode()
    return bytes(body), f"{media}; boundary={boundary}"
