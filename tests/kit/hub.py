"""`FakeHub`: a model hub and, at another port, the file server that it redirects to, as on the real wire.

`/OWNER/REPO/resolve/REVISION/FILE` answers 302 with X-Repo-Commit, X-Linked-ETag, X-Linked-Size and a signed address;
the file server answers it with ranges and refuses a token, as object stores do. Queue other replies for either one:
`hub.site.queue_replies(send_status(429))`, `hub.store.queue_replies(hub.cut(1000))`.
"""

import asyncio
import hashlib
import json
import re
from collections.abc import Mapping
from types import TracebackType
from typing import Self
from urllib.parse import unquote

from tests.kit.answers import UpstreamReply
from tests.kit.connection import Connection, ReceivedRequest
from tests.kit.upstream import FakeUpstream

RESOLVE_PATH = re.compile(r"/([^/]+/[^/]+)/resolve/([^/]+)/(.+)")
API_PATH = re.compile(r"/api/models/([^/]+/[^/]+)")
# What a signature looks like: a client that quotes it anew sends another one.
SIGNATURE = "Expires=1&Signature=a%2Bb~c%2F%3D__&Key-Pair-Id=K"
SLOW_BYTES = 16


def send_status(status: int, headers: Mapping[str, str] = {}, body: bytes = b"") -> UpstreamReply:
    async def reply(connection: Connection, request: ReceivedRequest) -> None:
        await connection.write_head(status, {**headers, "Content-Length": str(len(body))})
        await connection.write(b"" if request.method == "HEAD" else body)

    return reply


def parse_range(request: ReceivedRequest, etag: str) -> int | None:
    """The first byte that is asked for; None without a range, or where If-Range names another file."""
    match = re.fullmatch(r"bytes=(\d+)-", request.headers.get("range", ""))
    return int(match[1]) if match and request.headers.get("if-range", etag) == etag else None


def send_file(
    content: bytes, *, etag: str = '"e1"', cut_after: int | None = None, slowly: bool = False, ranges: bool = True
) -> UpstreamReply:
    """A file server's answer: 200, 206 or 416. `cut_after`: the connection is reset after so many bytes."""

    async def reply(connection: Connection, request: ReceivedRequest) -> None:
        start = parse_range(request, etag) if ranges else None
        size = len(content)
        headers = {"ETag": etag, "Content-Type": "binary/octet-stream"} if etag else {}
        if start is not None and start >= size:
            await send_status(416, {"Content-Range": f"bytes */{size}"})(connection, request)
            return
        if start is not None:
            headers["Content-Range"] = f"bytes {start}-{size - 1}/{size}"
        body = content[start or 0 :]
        await connection.write_head(200 if start is None else 206, {**headers, "Content-Length": str(len(body))})
        sent = body if cut_after is None else body[:cut_after]
        step = SLOW_BYTES if slowly else max(1, len(sent))
        for begin in range(0, len(sent), step):
            await connection.write(sent[begin : begin + step])
            await asyncio.sleep(0)
        if cut_after is not None:
            await connection.reset()

    return reply


class FakeHub:
    """`async with FakeHub() as hub:` serves `hub.files`, by OWNER/REPO/FILE."""

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}
        self.renamed: dict[str, str] = {}
        """New names of repositories, by the old ones."""
        self.gated: dict[str, str] = {}
        """Tokens of repositories that need one."""
        self.stated_sha256: str | None = None
        """What X-Linked-ETag says instead of the truth."""
        self.site = FakeUpstream()
        self.store = FakeUpstream()

    async def __aenter__(self) -> Self:
        await self.site.__aenter__()
        await self.store.__aenter__()
        self.site.reply = self._reply_site
        self.store.reply = self._reply_store
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.store.__aexit__(kind, error, trace)
        await self.site.__aexit__(kind, error, trace)

    @property
    def endpoint(self) -> str:
        """What belongs into HF_ENDPOINT."""
        return self.site.origin

    def cut(self, after: int) -> UpstreamReply:
        """The only file, cut after so many bytes of its answer."""
        [content] = self.files.values()
        return send_file(content, cut_after=after)

    async def _reply_site(self, connection: Connection, request: ReceivedRequest) -> None:
        await self._choose_site_reply(request)(connection, request)

    def _choose_site_reply(self, request: ReceivedRequest) -> UpstreamReply:
        path = request.target.partition("?")[0]
        if match := API_PATH.fullmatch(path):
            return self._list_repo(match[1])
        match = RESOLVE_PATH.fullmatch(path)
        if match is None:
            return send_status(200, {"Content-Type": "text/html"}, b"<!doctype html><html>")
        repo, revision, file = match[1], match[2], unquote(match[3])
        if repo in self.renamed:
            return send_status(307, {"Location": f"/{self.renamed[repo]}/resolve/{revision}/{file}"})
        if (token := self.gated.get(repo)) and request.headers.get("authorization") != f"Bearer {token}":
            refused = 403 if "authorization" in request.headers else 401
            return send_status(refused, {"X-Error-Code": "GatedRepo"}, b"Access to this model is restricted.")
        content = self.files.get(f"{repo}/{file}")
        if content is None:
            known = any(name.startswith(f"{repo}/") for name in self.files)
            return send_status(404, {"X-Error-Code": "EntryNotFound"}) if known else make_unknown_reply()
        digest = hashlib.sha256(content).hexdigest()
        headers = {
            "X-Repo-Commit": "0" * 40,
            "X-Linked-Size": str(len(content)),
            "X-Linked-ETag": f'"{self.stated_sha256 or digest}"',
            "Location": f"{self.store.origin}/blobs/{digest}?{SIGNATURE}",
        }
        return send_status(302, headers, b"Found. Redirecting")

    def _list_repo(self, repo: str) -> UpstreamReply:
        names = [name.removeprefix(f"{repo}/") for name in self.files if name.startswith(f"{repo}/")]
        if not names:
            return make_unknown_reply()
        body = json.dumps({"id": repo, "siblings": [{"rfilename": name} for name in ["README.md", *names]]})
        return send_status(200, {"Content-Type": "application/json; charset=utf-8"}, body.encode())

    async def _reply_store(self, connection: Connection, request: ReceivedRequest) -> None:
        blobs = {
            f"/blobs/{hashlib.sha256(content).hexdigest()}?{SIGNATURE}": content for content in self.files.values()
        }
        content = blobs.get(request.target)
        if "authorization" in request.headers or content is None:
            # One way to prove who asks is enough: a token beside a signature is refused.
            await send_status(400 if content else 403)(connection, request)
            return
        await send_file(content)(connection, request)


def make_unknown_reply() -> UpstreamReply:
    """A repository that does not exist is not told apart from a private one."""
    return send_status(401, {"X-Error-Code": "RepoNotFound"}, b"Invalid username or password.")
