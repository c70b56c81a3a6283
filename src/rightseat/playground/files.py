"""The page's files, each read once: ours are in the package, what others made lies in `vendor` where it was
fetched. A name is looked up and never joined to a path."""

from __future__ import annotations

import gzip
import hashlib
from functools import cached_property
from pathlib import Path

from msgspec import Struct

from rightseat.door import Host, Request, whole
from rightseat.errors import NotFound
from rightseat.pump import Head, Reply

HERE = Path(__file__).parent
KINDS = {
    ".html": b"text/html; charset=utf-8",
    ".js": b"text/javascript; charset=utf-8",
    ".css": b"text/css; charset=utf-8",
    ".svg": b"image/svg+xml",
    ".txt": b"text/plain; charset=utf-8",
}
SAFE = (
    (
        b"content-security-policy",
        # Nothing from elsewhere, nothing inline: what an answer says cannot run, load or send anything.
        b"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
        b"connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    ),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
)


class File(Struct, frozen=True):
    kind: bytes
    data: bytes
    packed: bytes
    tag: str


def read(path: Path) -> File:
    data = path.read_bytes()
    tag = f'"{hashlib.sha256(data).hexdigest()[:20]}"'
    return File(KINDS[path.suffix], data, gzip.compress(data, 6, mtime=0), tag)


class Page:
    """Each file is read when a browser first asks for it: the largest is seldom needed."""

    def __init__(self) -> None:
        self.read: dict[str, File] = {}

    @cached_property
    def paths(self) -> dict[str, Path]:
        own = {path.name: path for path in (HERE / "page").iterdir() if path.suffix in KINDS}
        vendor = HERE / "vendor"
        given = vendor.iterdir() if vendor.is_dir() else ()
        return own | {f"vendor/{path.name}": path for path in given if path.suffix in KINDS}

    def find(self, name: str) -> File | None:
        if name not in self.read and name in self.paths:
            self.read[name] = read(self.paths[name])
        return self.read.get(name)

    def index(self) -> Reply:
        data = read(self.paths["index.html"]).data
        return whole(200, data, (b"cache-control", b"no-cache"), *SAFE, kind=KINDS[".html"])

    def file(self, request: Request, host: Host) -> Reply:
        found = self.find(request.params["name"])
        if found is None:
            raise NotFound(f"The playground has no file {request.params['name'][:100]!r}.")
        # Checked anew each time: a new version's files must not meet an old one's.
        headers = ((b"etag", found.tag.encode()), (b"cache-control", b"no-cache"), *SAFE)
        if request.headers.get("if-none-match") == found.tag:
            return unchanged(headers)
        if "gzip" in request.headers.get("accept-encoding", ""):
            packed = ((b"content-encoding", b"gzip"), (b"vary", b"accept-encoding"))
            return whole(200, found.packed, *headers, *packed, kind=found.kind)
        return whole(200, found.data, *headers, kind=found.kind)


async def unchanged(headers: tuple[tuple[bytes, bytes], ...]) -> Reply:
    yield Head(304, headers)
