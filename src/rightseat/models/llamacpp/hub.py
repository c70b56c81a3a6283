"""The model hub: addresses of its files, its token, and what its error answers mean.

HF_ENDPOINT names a mirror and HF_TOKEN a token, as for the hub's own tools. The token is sent to that server only.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from yarl import URL

from rightseat.config.secret import Secret
from rightseat.errors import WeightsError
from rightseat.http.client import parse_base_url
from rightseat.http.retry import parse_retry_after
from rightseat.types.text import closest_match, decode_or_none

DEFAULT_ENDPOINT = "https://huggingface.co"
MAIN_REVISION = "main"
MAX_LISTED_FILES = 12

_HUB_FILE = re.compile(r"([^/@]+/[^/@]+)(?:@([^/]+))?(?:/(.+))?")
_HUB_PATH = re.compile(r"/([^/]+/[^/]+)/(?:resolve|blob)/([^/]+)/(.+)")
_SPLIT_FILE = re.compile(r"-\d{5}-of-(\d{5})\.gguf$", re.IGNORECASE)
_SHA256 = re.compile(r'"?([0-9a-f]{64})"?')


class DownloadError(WeightsError):
    """A download that failed. `retryable`: the same request may succeed in a moment."""

    def __init__(self, message: str, *, retryable: bool = False, retry_after: float | None = None) -> None:
        super().__init__(message, retry_after=retry_after)
        self.retryable = retryable


@dataclass(frozen=True, slots=True)
class DownloadSource:
    """Where a GGUF file comes from. `label` names it without credentials; `repo` is empty outside the hub."""

    label: str
    url: URL
    file: str
    repo: str = ""
    size: int = 0
    sha256: str = ""
    """Pinned checksum; empty where the hub's own counts."""


@dataclass(frozen=True, slots=True)
class LinkedFile:
    """What the hub says of a large file before it redirects to it."""

    sha256: str = ""
    size: int = 0

    @classmethod
    def from_headers(cls, headers: Mapping[str, str]) -> LinkedFile:
        match = _SHA256.fullmatch(headers.get("x-linked-etag", "").strip())
        size = headers.get("x-linked-size", "").strip()
        return cls(match[1] if match else "", int(size) if size.isdecimal() else 0)


class Hub:
    """The hub or its mirror, with the token for it."""

    def __init__(self, endpoint: URL, token: Secret | None = None) -> None:
        self.endpoint = endpoint
        self._token = token

    @classmethod
    def from_env(cls, env: Mapping[str, str] | None = None) -> Hub:
        env = os.environ if env is None else env
        endpoint = parse_base_url(env.get("HF_ENDPOINT", "").rstrip("/") or DEFAULT_ENDPOINT, "HF_ENDPOINT")
        token = env.get("HF_TOKEN", "").strip()
        return cls(endpoint.with_query(None), Secret(token) if token else None)

    def parse_source(self, text: str) -> DownloadSource:
        """Parse hf:OWNER/REPO/FILE.gguf, or the http(s) address of a .gguf file; raises DownloadError.

        A repository without a file has an empty `file`.
        """
        if text.startswith("hf:"):
            match = _HUB_FILE.fullmatch(text.removeprefix("hf:").removeprefix("//").strip("/"))
            if match is None:
                raise DownloadError(f"{text!r} is not a file of the hub. Write hf:OWNER/REPO/FILE.gguf.")
            return self._make_source(match[1], match[2] or MAIN_REVISION, match[3] or "")
        try:
            url = URL(text)
            if url.scheme not in ("http", "https") or not url.host:
                raise ValueError
        except ValueError:
            raise DownloadError(
                "An address of a model begins with http:// or https:// and ends with .gguf. Files of the hub: "
                "hf:OWNER/REPO/FILE.gguf."
            ) from None
        if self.is_hub(url) and (match := _HUB_PATH.fullmatch(self._strip_endpoint_path(url))):
            return self._make_source(match[1], match[2], match[3])
        check_file_name(url.name)
        label = str(url.with_user(None).with_query(None).with_fragment(None))
        return DownloadSource(label, url, url.name)

    def _make_source(self, repo: str, revision: str, file: str) -> DownloadSource:
        if file:
            check_file_name(file)
        version = "" if revision == MAIN_REVISION else f"@{revision}"
        url = self.endpoint / repo / "resolve" / revision / file if file else self.endpoint / repo
        return DownloadSource(f"hf:{repo}{version}/{file}", url, file, repo)

    def _strip_endpoint_path(self, url: URL) -> str:
        return url.path.removeprefix(self.endpoint.path.rstrip("/"))

    def is_hub(self, url: URL) -> bool:
        return url.origin() == self.endpoint.origin()

    def auth_headers(self, url: URL) -> dict[str, str]:
        """Return the token's header for an address of the hub, and none for any other."""
        if self._token is None or not self.is_hub(url):
            return {}
        return {"Authorization": f"Bearer {self._token.reveal()}"}

    def api_url(self, repo: str) -> URL:
        return self.endpoint / "api" / "models" / repo

    def make_denied_error(self, repo: str, error_code: str) -> DownloadError:
        """Explain 401 and 403 of a repository: gated, private, or missing (the hub does not tell the last two)."""
        settings = self.endpoint / "settings" / "tokens"
        if error_code == "GatedRepo":
            account = "" if self._token is None else " with the account of HF_TOKEN"
            return DownloadError(
                f"{repo} asks everybody to accept its licence. Open {self.endpoint / repo}, accept it{account}, "
                f"make a token at {settings} and set it: export HF_TOKEN=…; then pull again."
            )
        what = (
            f"The hub shows no repository {repo}"
            if error_code == "RepoNotFound"
            else f"The hub gives no access to {repo}"
        )
        if self._token is None:
            return DownloadError(
                f"{what}. Check the spelling. If it is private, make a token at {settings} and set it as HF_TOKEN."
            )
        return DownloadError(f"{what}. Check the spelling. If it is private, HF_TOKEN is wrong or has no right to it.")


def check_file_name(file: str) -> None:
    """Raise DownloadError for what is not one whole GGUF file."""
    if not file.lower().endswith(".gguf"):
        raise DownloadError("Only .gguf files can be pulled. Name one: hf:OWNER/REPO/FILE.gguf, or an address of one.")
    if match := _SPLIT_FILE.search(file):
        raise DownloadError(
            f"This model is split into {int(match[1])} parts, which are not pulled one by one. Choose a file in one "
            "piece, such as a smaller quantization of the same repository."
        )


def parse_gguf_names(body: bytes) -> list[str]:
    """Return the whole .gguf files in the hub's description of a repository."""
    document: Any = decode_or_none(body)
    siblings = document.get("siblings") if isinstance(document, dict) else None
    entries = siblings if isinstance(siblings, list) else []
    names = [entry.get("rfilename") for entry in entries if isinstance(entry, dict)]
    texts = [name for name in names if isinstance(name, str) and name.isprintable()]
    return [name for name in texts if name.lower().endswith(".gguf") and not _SPLIT_FILE.search(name)]


def make_missing_file_error(source: DownloadSource, names: list[str]) -> DownloadError:
    """Name the files that a repository has instead of the one that was asked for."""
    label = source.label.removesuffix(f"/{source.file}").removesuffix("/")
    if not names:
        return DownloadError(
            f"{label} has no GGUF file in one piece. Look for a repository whose name ends with -GGUF."
        )
    listed = ", ".join(f"{label}/{name}" for name in names[:MAX_LISTED_FILES])
    more = f" and {len(names) - MAX_LISTED_FILES} more" if len(names) > MAX_LISTED_FILES else ""
    if not source.file:
        return DownloadError(f"Name one file of {label}: {listed}{more}")
    near = closest_match(source.file.lower(), [name.lower() for name in names])
    match = next((name for name in names if name.lower() == near), None)
    hint = f" Did you mean {label}/{match}?" if match else ""
    return DownloadError(f"{source.label} does not exist.{hint} There are: {listed}{more}")


def make_status_error(source: DownloadSource, url: URL, status: int, headers: Mapping[str, str]) -> DownloadError:
    """Explain any other status of a server on the way to the file."""
    host = url.host
    if status in (408, 429) or status >= 500:
        wait = parse_retry_after(headers)
        when = "Try again later" if wait is None else f"Try again in {wait:.0f} s"
        text = f"{host} is busy or broken (status {status}). {when}: what has come is kept."
        return DownloadError(text, retryable=True, retry_after=wait)
    if status in (401, 403):
        # An address that the hub signed may have expired: the next attempt gets a new one.
        text = f"{host} does not give this file out (status {status}). Open the address in a browser and look for why."
        return DownloadError(text, retryable=bool(source.repo))
    if status in (404, 410):
        return DownloadError(f"{source.label} does not exist at {host}. Check the address.")
    return DownloadError(f"{host} answered with status {status}, not with a file. Check the address, or try later.")


def make_connection_error(problem: str, *, retryable: bool, kept: bool) -> DownloadError:
    """Explain a server that cannot be reached, or that went away, and what can be done without it."""
    proxy = next((name for name in ("HTTPS_PROXY", "https_proxy", "ALL_PROXY") if os.environ.get(name)), "")
    unused = f" {proxy} is set, but no proxy is used here." if proxy else ""
    text = (
        f"{problem} Is there a network?{unused} To use a mirror of the hub, set HF_ENDPOINT=https://MIRROR. "
        "Or copy a model from another machine and name it: rightseat serve --model FILE.gguf."
    )
    return DownloadError(text + (" What has come is kept: pull again." if kept else ""), retryable=retryable)
