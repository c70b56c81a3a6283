"""Static files of our own pages, read once, gzipped, with an ETag. Names are looked up and never joined to a path."""

from __future__ import annotations

import gzip
import hashlib
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from msgspec import Struct

from rightseat.errors import NotFound
from rightseat.http.endpoint import Request, make_reply
from rightseat.http.reply import Reply, make_empty_reply

CONTENT_TYPES = {
    ".html": b"text/html; charset=utf-8",
    ".js": b"text/javascript; charset=utf-8",
    ".css": b"text/css; charset=utf-8",
    ".json": b"application/json",
    ".svg": b"image/svg+xml",
    ".txt": b"text/plain; charset=utf-8",
}
COMMON_HEADERS = (
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
)
PAGE_HEADERS = (
    (
        b"content-security-policy",
        # Nothing foreign, nothing inline: text of an answer cannot run, load or send anything.
        b"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
        b"connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    ),
    *COMMON_HEADERS,
)


class StaticFile(Struct, frozen=True):
    content_type: bytes
    data: bytes
    gzipped: bytes
    etag: str


@cache
def read_file(path: Path) -> StaticFile:
    data = path.read_bytes()
    tag = f'"{hashlib.sha256(data).hexdigest()[:20]}"'
    return StaticFile(CONTENT_TYPES[path.suffix], data, gzip.compress(data, 6, mtime=0), tag)


class StaticFiles:
    """Static files of several folders, by URL prefix. A missing folder counts as empty; a file is read on its
    first request."""

    def __init__(self, folders: Mapping[str, Path]) -> None:
        self.folders = folders
        self.complete_paths: dict[str, Path] | None = None

    @property
    def paths(self) -> dict[str, Path]:
        """The files by name. A folder that is missing is looked for again: `make assets` may be fetching it."""
        if self.complete_paths is not None:
            return self.complete_paths
        existing = {before: folder for before, folder in self.folders.items() if folder.is_dir()}
        files = ((before, path) for before, folder in existing.items() for path in folder.iterdir())
        paths = {before + path.name: path for before, path in files if path.suffix in CONTENT_TYPES}
        if len(existing) == len(self.folders):
            self.complete_paths = paths
        return paths

    def find_file(self, name: str) -> StaticFile | None:
        return read_file(self.paths[name]) if name in self.paths else None

    def make_file_reply(self, name: str, request: Request) -> Reply:
        file = self.find_file(name)
        if file is None:
            raise NotFound(f"The page has no file {name[:100]!r}.")
        # Revalidated each time: files of two versions must not mix.
        headers = ((b"etag", file.etag.encode()), (b"cache-control", b"no-cache"), *PAGE_HEADERS)
        if request.headers.get("if-none-match") == file.etag:
            return make_empty_reply(304, headers)
        if "gzip" in request.headers.get("accept-encoding", ""):
            encoding = ((b"content-encoding", b"gzip"), (b"vary", b"accept-encoding"))
            return make_reply(200, file.gzipped, *headers, *encoding, content_type=file.content_type)
        return make_reply(200, file.data, *headers, content_type=file.content_type)
