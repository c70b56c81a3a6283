"""Download a GGUF file into a partial file that survives cuts, interrupts and restarts, then verify it.

One GET goes hop by hop from the source's address to the file. A later attempt asks for the rest: with Range alone
where a checksum is known, which is verified at the end, else with If-Range and the server's validator.
"""

from __future__ import annotations

import contextlib
import hashlib
import math
import os
import re
import shutil
import ssl
from collections.abc import AsyncIterator, Callable, Mapping
from pathlib import Path

import msgspec
from msgspec import Struct
from yarl import URL

from rightseat.errors import GgufError, RightseatError
from rightseat.http.client import HttpClients, IncompleteResponse, Response, format_request_head
from rightseat.http.fetch.fetch import MAX_REDIRECTS, REDIRECT_STATUSES
from rightseat.http.idle import IdleTimer
from rightseat.http.retry import call_with_retry
from rightseat.models.llamacpp import gguf
from rightseat.models.llamacpp.hub import (
    DownloadError,
    DownloadSource,
    Hub,
    LinkedFile,
    make_connection_error,
    make_missing_file_error,
    make_status_error,
    parse_gguf_names,
)
from rightseat.types.streams import closing

CONNECT_TIMEOUT = 15.0
IDLE_TIMEOUT = 30.0
# Attempts of one round.
TRIES = 5
FIRST_DELAY = 0.5
# The longest delay, and the longest Retry-After that is waited for.
MAX_DELAY = 30.0
# Left free on the disk beside the model.
DISK_RESERVE = 64 << 20
MAX_LISTING = 4 << 20
MAGIC = b"GGUF"

_CONTENT_RANGE = re.compile(r"bytes (?:(\d+)-\d+|\*)/(\d+|\*)")
_PAGES = {"text/html": "a web page", "application/json": "JSON"}

ReportProgress = Callable[[int, int], None]
"""Receives bytes and total bytes; a total of 0 is unknown."""


class SourceRecord(Struct, frozen=True):
    """Where the bytes beside it come from: decides whether a partial file can go on."""

    source: str
    sha256: str = ""
    size: int = 0
    validator: str = ""


class PartialFile:
    """The bytes that have come so far, in `folder`, with their SourceRecord."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "partial"
        self._record_path = folder / "source.json"
        self.size = self.path.stat().st_size if self.path.exists() else 0
        self.record = read_record(folder) or SourceRecord("")

    def write(self, chunk: bytes) -> None:
        # Not buffered: what has come survives every end of this process.
        with self.path.open("ab", buffering=0) as file:
            file.write(chunk)
        self.size += len(chunk)

    def begin(self, record: SourceRecord) -> None:
        """Empty the file and remember what will be in it."""
        self.discard()
        self._record_path.write_bytes(msgspec.json.encode(record))
        self.record = record
        self.path.touch()

    def discard(self) -> None:
        self.path.unlink(missing_ok=True)
        self.size = 0

    def read_start(self) -> bytes:
        with self.path.open("rb") as file:
            return file.read(len(MAGIC))

    def compute_sha256(self) -> str:
        with self.path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()


def read_record(folder: Path) -> SourceRecord | None:
    try:
        return msgspec.json.decode((folder / "source.json").read_bytes(), type=SourceRecord)
    except (OSError, msgspec.DecodeError):
        return None


class Download:
    """Fetches `source` into `partial`."""

    def __init__(self, source: DownloadSource, partial: PartialFile, hub: Hub, progress: ReportProgress) -> None:
        self.source = source
        self.partial = partial
        self.hub = hub
        self._progress = progress
        self._pinned = self._linked = LinkedFile(source.sha256, source.size)
        self._received = 0
        self._furthest = 0
        """The most bytes that the partial file has had: a server without ranges begins anew after each cut."""
        self._clients = HttpClients(connect_timeout=CONNECT_TIMEOUT)
        if partial.record.source != source.label:
            partial.discard()

    async def run(self) -> None:
        """Fetch the whole file. A download that is cut goes on as long as each round gets further."""
        try:
            if not self.source.file:
                raise await self._make_missing_error()
            while True:
                before = self._furthest
                try:
                    await call_with_retry(
                        self._attempt,
                        is_retryable=lambda error: isinstance(error, DownloadError) and error.retryable,
                        tries=TRIES,
                        first_delay=FIRST_DELAY,
                        max_delay=MAX_DELAY,
                    )
                except DownloadError as error:
                    if not error.retryable or error.retry_after or self._furthest == before:
                        raise
                else:
                    return
        finally:
            self._clients.close()

    async def _attempt(self) -> None:
        url = self.source.url
        # The file may change from one attempt to the next.
        self._linked = self._pinned
        for _ in range(MAX_REDIRECTS + 1):
            async with self._open(url, self._range_headers()) as response:
                self._note_linked_file(response.headers)
                location = response.headers.get("location", "")
                if response.status not in REDIRECT_STATUSES or not location:
                    await self._receive(response, url)
                    return
            url = join_redirect(url, location)
        raise DownloadError(f"{self.source.url.host} redirects more than {MAX_REDIRECTS} times. Check the address.")

    @contextlib.asynccontextmanager
    async def _open(self, url: URL, headers: Mapping[str, str]) -> AsyncIterator[Response]:
        """Send a GET and yield the response with its headers; errors of the connection become DownloadErrors."""
        common = {"User-Agent": "rightseat", "Accept": "*/*", "Accept-Encoding": "identity"}
        head = format_request_head("GET", url, {**common, **self.hub.auth_headers(url), **headers})
        # Whoever has no network learns it at once; a network that goes away in the middle may come back.
        again = self._received > 0
        try:
            response = await self._clients.get(url).send(head, None, math.inf)
        except ssl.SSLError as error:
            raise DownloadError(
                f"{url.host} has no certificate that can be trusted. Check the address and this machine's clock; "
                "behind a company's proxy, install its certificate."
            ) from error
        except OSError as error:
            raise self._make_connection_error(f"There is no connection to {url.host}.", retryable=again) from error
        timer = IdleTimer(IDLE_TIMEOUT, response, response.abort)
        try:
            await response.wait_for_head()
            yield response
        except IncompleteResponse as error:
            problem = f"sent nothing for {IDLE_TIMEOUT:g} s" if timer.expired else "closed the connection"
            raise self._make_connection_error(f"{url.host} {problem}.", retryable=True) from error
        finally:
            timer.stop()
            response.close()

    def _make_connection_error(self, problem: str, *, retryable: bool) -> DownloadError:
        return make_connection_error(problem, retryable=retryable, kept=self.partial.size > 0)

    def _range_headers(self) -> dict[str, str]:
        """Return the headers that ask for the rest, or none where all must come anew."""
        record, size = self.partial.record, self.partial.size
        if not size or (self._linked.sha256 and self._linked.sha256 != record.sha256):
            return {}
        rest = {"Range": f"bytes={size}-"}
        if record.sha256:
            return rest
        return rest | {"If-Range": record.validator} if record.validator else {}

    def _note_linked_file(self, headers: Mapping[str, str]) -> None:
        """Take checksum and size that the hub states; raises DownloadError if they are not the pinned ones."""
        linked = LinkedFile.from_headers(headers)
        if not linked.sha256:
            return
        if not self._linked.sha256:
            # The first server on the way is the hub; later ones only store its files.
            self._linked = linked
        elif self._pinned.sha256 not in ("", linked.sha256):
            raise DownloadError(
                "The hub has another version of this model than the one that is pinned here; it was not fetched. "
                f"To trust the hub's own checksum: rightseat models pull {self.source.label}"
            )

    async def _receive(self, response: Response, url: URL) -> None:
        """Append the body of the last response to the partial file."""
        if response.status == 416:
            self._end_or_discard(response)
            return
        if response.status not in (200, 206):
            raise await self._make_status_error(response, url)
        check_content(response, url)
        total = self._place_body(response, url)
        self._check_disk_space(total)
        self._progress(self.partial.size, total)
        async with closing(response.iter_body()) as chunks:
            async for chunk in chunks:
                self.partial.write(chunk)
                self._received += len(chunk)
                self._furthest = max(self._furthest, self.partial.size)
                if self.partial.size - len(chunk) < len(MAGIC) <= self.partial.size:
                    check_magic(self.partial, self.source)
                self._progress(self.partial.size, total)

    def _place_body(self, response: Response, url: URL) -> int:
        """Make the partial file end where the body begins; return the size of the whole file, 0 if unknown."""
        start, total = 0, parse_number(response.headers.get("content-length"))
        if response.status == 206:
            start, total = parse_content_range(response)
        if self._linked.size and total and total != self._linked.size:
            self.partial.discard()
            raise DownloadError(
                f"{url.host} has a file of another size ({total} bytes, not {self._linked.size}); it was not fetched. "
                "Try again later, or use another mirror."
            )
        record = self.partial.record
        outdated = self._linked.sha256 and self._linked.sha256 != record.sha256
        if response.status == 206 and (start != self.partial.size or outdated):
            self.partial.discard()
            raise DownloadError(f"{url.host} sent another part of the file. Pull again.", retryable=True)
        if response.status == 200:
            self.partial.begin(
                SourceRecord(
                    self.source.label, self._linked.sha256, self._linked.size or total, find_validator(response.headers)
                )
            )
        return total or self._linked.size

    def _end_or_discard(self, response: Response) -> None:
        """Handle 416: the partial file is whole already, or not a part of this file."""
        _, total = parse_content_range(response)
        if total and total == self.partial.size:
            return
        self.partial.discard()
        raise DownloadError("The part that was here does not belong to this file. Pull again.", retryable=True)

    def _check_disk_space(self, total: int) -> None:
        free = shutil.disk_usage(self.partial.path.parent).free
        needed = total - self.partial.size + DISK_RESERVE
        if needed > free:
            if not self.partial.size:
                self.partial.discard()
            raise DownloadError(
                f"{needed / 1e9:.1f} GB are needed in {self.partial.path.parent}, and {free / 1e9:.1f} GB are free. "
                "Make room, or name another folder in RIGHTSEAT_CACHE."
            )

    async def _make_status_error(self, response: Response, url: URL) -> RightseatError:
        source = self.source
        if source.repo and self.hub.is_hub(url):
            if response.status in (401, 403):
                return self.hub.make_denied_error(source.repo, response.headers.get("x-error-code", ""))
            if response.status == 404:
                return await self._make_missing_error()
        return make_status_error(source, url, response.status, response.headers)

    async def _make_missing_error(self) -> RightseatError:
        """List the repository's files to name them in the error."""
        url = self.hub.api_url(self.source.repo)
        async with self._open(url, {}) as response:
            if response.status in (401, 403, 404):
                return self.hub.make_denied_error(self.source.repo, "RepoNotFound")
            if response.status != 200:
                return make_status_error(self.source, url, response.status, response.headers)
            return make_missing_file_error(self.source, parse_gguf_names(await response.read_body(MAX_LISTING)))


def verify_download(partial: PartialFile, source: DownloadSource) -> None:
    """Check size, checksum and header of a whole download; delete it and raise if one is wrong."""
    record = partial.record
    check_magic(partial, source)
    try:
        if record.size and partial.size != record.size:
            raise DownloadError(f"{partial.size} bytes came, not {record.size}.")
        if record.sha256:
            if partial.compute_sha256() != record.sha256:
                raise DownloadError(
                    "The checksum of what came is not the one that was promised: it was changed on the way."
                )
        else:
            # Without a checksum the header says whether all tensors are there.
            gguf.read_header(partial.path)
    except (DownloadError, GgufError) as error:
        partial.discard()
        raise DownloadError(
            f"{error.message} The file was deleted. Pull again; if that does not help, try another mirror or file."
        ) from error


def check_magic(partial: PartialFile, source: DownloadSource) -> None:
    """Raise DownloadError and delete the file if it does not begin as a GGUF file does."""
    if partial.read_start() != MAGIC:
        partial.discard()
        raise DownloadError(f"{source.label} is not a GGUF file; it was not kept. Check the address.")


def check_content(response: Response, url: URL) -> None:
    """Raise DownloadError for a page, an error document or a compressed body instead of a file."""
    kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind in _PAGES:
        raise DownloadError(
            f"{url.host} sent {_PAGES[kind]} instead of a file. Use the address that downloads the file itself; "
            "behind a login page of a network, log in first."
        )
    if response.headers.get("content-encoding", "identity").lower() not in ("", "identity"):
        raise DownloadError(f"{url.host} compresses the file on its way, which cannot be resumed. Use another address.")


def join_redirect(url: URL, location: str) -> URL:
    try:
        # As it is: quoting a signature anew would change it.
        target = url.join(URL(location, encoded=" " not in location))
        target.origin()
    except ValueError:
        raise DownloadError(f"{url.host} redirects to something that is not an address. Check the address.") from None
    if target.scheme != url.scheme and target.scheme != "https":
        raise DownloadError(f"{url.host} redirects to an address without encryption, which is not followed.")
    return target


def parse_content_range(response: Response) -> tuple[int, int]:
    """Return the first byte and the total of Content-Range; -1 and 0 where it does not say them."""
    match = _CONTENT_RANGE.fullmatch(response.headers.get("content-range", "").strip())
    if match is None:
        return -1, 0
    return int(match[1]) if match[1] else -1, parse_number(match[2])


def parse_number(text: str | None) -> int:
    return int(text) if text and text.isdecimal() else 0


def find_validator(headers: Mapping[str, str]) -> str:
    """Return what If-Range can name: a strong ETag, else the date of the last change."""
    etag = headers.get("etag", "")
    if etag:
        return "" if etag.startswith("W/") else etag
    return headers.get("last-modified", "")


def move_into_place(partial: PartialFile, target: Path) -> None:
    with partial.path.open("rb") as file:
        os.fsync(file.fileno())
    os.replace(partial.path, target)
