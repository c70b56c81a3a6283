"""Static files of our own pages, read once, gzipped, with an ETag. Names are looked up in a listing and never
joined to a path."""

from __future__ import annotations

import gzip
import hashlib
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path

from msgspec import Struct

from rightseat.errors import NotFound
from rightseat.http.endpoint import Request, whole
from rightseat.http.reply import Head, Headers, Reply

KINDS = {
    ".html": b"text/html; charset=utf-8",
    ".js": b"text/javascript; charset=utf-8",
    ".css": b"text/css; charset=utf-8",
    ".svg": b"image/svg+xml",
    ".txt": b"text/plain; charset=utf-8",
}
AROUND = (
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
)
SAFE = (
    (
        b"content-security-policy",
        # Nothing foreign, nothing inline: text of an answer cannot run, load or send anything.
        b"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
        b"connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    ),
    *AROUND,
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


class Files:
    """Static files of several folders, by URL prefix. A missing folder counts as empty; a file is read on its
    first request."""

    def __init__(self, folders: Mapping[str, Path]) -> None:
        self.folders = folders
        self.read: dict[str, File] = {}

    @cached_property
    def paths(self) -> dict[str, Path]:
        there = ((before, folder) for before, folder in self.folders.items() if folder.is_dir())
        found = ((before, path) for before, folder in there for path in folder.iterdir())
        return {before + path.name: path for before, path in found if path.suffix in KINDS}

    def find(self, name: str) -> File | None:
        if name not in self.read and name in self.paths:
            self.read[name] = read(self.paths[name])
        return self.read.get(name)

    def reply(self, name: str, request: Request) -> Reply:
        found = self.find(name)
        if found is None:
            raise NotFound(f"The page has no file {name[:100]!r}.")
        # Revalidated each time: files of two versions must not mix.
        headers = ((b"etag", found.tag.encode()), (b"cache-control", b"no-cache"), *SAFE)
        if request.headers.get("if-none-match") == found.tag:
            return unchanged(headers)
        if "gzip" in request.headers.get("accept-encoding", ""):
            packed = ((b"content-encoding", b"gzip"), (b"vary", b"accept-encoding"))
            return whole(200, found.packed, *headers, *packed, kind=found.kind)
        return whole(200, found.data, *headers, kind=found.kind)


async def unchanged(headers: Headers) -> Reply:
    yield Head(304, headers)
