"""Forms with files: parse and write multipart/form-data (RFC 7578)."""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterable, Mapping
from email.message import Message as HeaderParser
from email.utils import collapse_rfc2231_value

from msgspec import Struct

from rightseat.errors import CallerError

FORM_TYPE = "multipart/form-data"
MAX_PARTS = 64
# As browsers do: a quotation mark or a line end would end the name.
QUOTE_ESCAPES = {ord('"'): "%22", ord("\r"): "%0D", ord("\n"): "%0A"}
_BOUNDARY = re.compile(r';\s*boundary=(?:"([^"\r\n]{1,70})"|([^\s;"]{1,70}))', re.IGNORECASE)
_NOT_A_FORM = f"Send a form: `Content-Type: {FORM_TYPE}; boundary=…`, one part for each field."


class MultipartField(Struct, frozen=True):
    name: str
    data: bytes
    filename: str | None = None
    """Name of the file; None where the part is a plain field."""
    media_type: str = ""
    headers: Mapping[str, str] = {}
    """Further headers of the part, where it is written."""

    @property
    def text(self) -> str:
        return self.data.decode("utf-8", "replace")

    @property
    def header_text(self) -> str:
        disposition = f'form-data; name="{self.name.translate(QUOTE_ESCAPES)}"'
        if self.filename is not None:
            disposition += f'; filename="{self.filename.translate(QUOTE_ESCAPES)}"'
        lines = {"Content-Disposition": disposition, **({"Content-Type": self.media_type} if self.media_type else {})}
        ours = ("content-disposition", "content-type")
        lines |= {key: value for key, value in self.headers.items() if key.lower() not in ours}
        text = "".join(f"{key}: {value}\r\n" for key, value in lines.items())
        if text.count("\n") != len(lines) or text.count("\r") != len(lines) or "\0" in text:
            raise CallerError(f"A header of the form's part {self.name[:60]!r} has a line break in it.")
        return text


def is_form(content_type: str) -> bool:
    return content_type.partition(";")[0].strip().lower() == FORM_TYPE


def parse_form(body: bytes, content_type: str) -> list[MultipartField]:
    """Return the parts of a form in their order; raises CallerError for a body that is none, or is cut."""
    match = _BOUNDARY.search(content_type)
    if not is_form(content_type) or match is None:
        raise CallerError(_NOT_A_FORM)
    delimiter = b"\r\n--" + (match[1] or match[2]).encode("utf-8", "replace")
    _, *sections = (b"\r\n" + body).split(delimiter, MAX_PARTS + 2)
    parts: list[MultipartField] = []
    for section in sections:
        if section.startswith(b"--"):
            return parts
        if len(parts) == MAX_PARTS:
            raise CallerError(f"The form has more than {MAX_PARTS} parts. Send fewer.")
        parts.append(_parse_part(section))
    raise CallerError("The form is cut: its last boundary is missing. Send it whole.")


def _parse_part(section: bytes) -> MultipartField:
    padding, line_end, rest = section.partition(b"\r\n")
    head, blank, data = (b"\r\n" + rest).partition(b"\r\n\r\n")
    if padding.strip() or not line_end or not blank:
        raise CallerError("A part of the form has no headers. Name each part in Content-Disposition.")
    headers = {}
    for line in head.decode("utf-8", "replace").split("\r\n"):
        key, _, value = line.partition(":")
        headers[key.strip().lower()] = value.strip()
    disposition = headers.get("content-disposition", "")
    parameters = _parse_parameters(disposition)
    if not disposition.lower().startswith("form-data") or "name" not in parameters:
        raise CallerError('A part of the form has no name. Write Content-Disposition: form-data; name="…".')
    return MultipartField(parameters["name"], data, parameters.get("filename"), headers.get("content-type", ""))


def _parse_parameters(disposition: str) -> dict[str, str]:
    """Return the parameters of a header: quoted, plain, or encoded as in RFC 2231, which some clients do."""
    header = HeaderParser()
    header["x"] = disposition
    pairs = header.get_params(failobj=[], header="x")
    return {key.lower(): collapse_rfc2231_value(value) for key, value in pairs[1:]}


def format_form(parts: Iterable[MultipartField], media: str = FORM_TYPE) -> tuple[bytes, str]:
    """Return the body of a form and its content type; raises CallerError for a header with a line break."""
    boundary = f"rightseat-{secrets.token_hex(16)}"
    body = bytearray()
    for part in parts:
        body += f"--{boundary}\r\n{part.header_text}\r\n".encode("utf-8", "replace")
        body += part.data + b"\r\n"
    body += f"--{boundary}--\r\n".encode()
    return bytes(body), f"{media}; boundary={boundary}"
