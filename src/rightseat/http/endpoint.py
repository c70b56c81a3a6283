"""Doors: routes that parse a request into a Turn and write its events as a reply, and the format of errors.

A door knows no model and no socket; `Host` is all that it sees of the Runtime.
"""

from __future__ import annotations

import math
import re
from collections.abc import AsyncIterator, Callable, Container, Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, TypeVar
from urllib.parse import unquote

import msgspec
from msgspec import Struct

from rightseat.config.graphql_limits import DocumentLimits
from rightseat.errors import CallerError, RightseatError
from rightseat.http.reply import Head, Reply
from rightseat.tools.text_calls.builtin import understood
from rightseat.types.agents import Recalled
from rightseat.types.events import Event
from rightseat.types.model import ToolSpec
from rightseat.types.responder import Responder
from rightseat.types.schema import checker
from rightseat.types.threads import Entry, Journal, Numbered
from rightseat.types.tools import Tool
from rightseat.types.turn import Owner, Turn

T = TypeVar("T")
SSE = (
    (b"content-type", b"text/event-stream; charset=utf-8"),
    (b"cache-control", b"no-cache"),
    (b"x-accel-buffering", b"no"),
)
# The id of the current request, for the log.
REQUEST: ContextVar[str] = ContextVar("request", default="")
TRACE = ("traceparent", "tracestate")
NAME = re.compile(r"[A-Za-z0-9._:@-]{1,128}")


class Described(Protocol):
    """An assistant or agent as doors describe it to clients."""

    @property
    def title(self) -> str: ...
    @property
    def description(self) -> str: ...
    @property
    def image(self) -> str: ...
    @property
    def tools(self) -> tuple[Tool, ...]: ...
    @property
    def context(self) -> int | None: ...
    @property
    def room(self) -> int | None:
        """The context window in tokens: configured (`context`), else as the model reports it."""
        ...

    @property
    def suggestions(self) -> tuple[str, ...]:
        """Suggested questions."""
        ...

    @property
    def server(self) -> Container[str]:
        """Names of the tools that run on this server, offered or not."""
        ...

    @property
    def groups(self) -> dict[str, str]:
        """Plugins that a turn can be limited to: id → name."""
        ...

    @property
    def sees(self) -> bool:
        """Whether the model takes images."""
        ...

    @property
    def equipped(self) -> bool:
        """Whether any tools may take attached files."""
        ...


class Threads(Protocol):
    """Stored threads, and runs that outlive their client."""

    @property
    def journal(self) -> Journal: ...

    async def start(self, turn: Turn, respond: Responder, /) -> AsyncIterator[Numbered]:
        """Start a run on its thread and return its entries; Conflict while another run is active."""
        ...

    def follow(self, owner: Owner, thread: str, after: int = 0, /) -> AsyncIterator[Numbered]:
        """Return a thread's entries after a number, then those of its active run; none if unknown."""
        ...

    async def earlier(self, owner: Owner, thread: str, number: int, /) -> list[Entry]:
        """Return the entries up to a number of the run that the number belongs to."""
        ...

    async def stop(self, owner: Owner, thread: str, /) -> bool: ...

    async def delete(self, owner: Owner, thread: str, /) -> bool: ...


class Document(Struct, frozen=True):
    """A file that clients may read."""

    name: str
    description: str
    kind: str
    path: Path


class Host(Protocol):
    """The part of the Runtime that doors see."""

    @property
    def threads(self) -> Threads: ...

    @property
    def responders(self) -> Mapping[str, Responder]: ...

    def described(self, name: str, /) -> Described | None:
        """Return the description of a responder."""
        ...

    async def recall(self, name: str, owner: Owner, thread: str, /) -> Recalled | None:
        """Return what an agent itself has stored of a thread, or None."""
        ...

    @property
    def tools(self) -> Mapping[str, Tool]:
        """Tools that a client may call directly: plugins' operations, scripts and flows."""
        ...

    @property
    def documents(self) -> Mapping[str, Document]:
        """Flow files that clients may read, by URI."""
        ...

    @property
    def questions(self) -> Mapping[str, str]:
        """The suggested question of each plugin."""
        ...

    def run(self, turn: Turn, /) -> AsyncIterator[Event]: ...

    def resolve(self, name: str | None, /) -> str | None:
        """Return the responder that a client means by a model name; None means the default."""
        ...

    def picked(self, name: str | None, /) -> str | None:
        """Return MODEL of ASSISTANT/MODEL where the assistant lets clients choose, else None."""
        ...

    def offered(self, name: str | None, /) -> tuple[str, ...]:
        """Return the models that a client of this assistant may choose."""
        ...

    def bare(self, name: str | None, /) -> bool:
        """Whether the assistant is a bare model: no instructions, no tools."""
        ...

    def completes(self, name: str | None, /) -> bool:
        """Whether the model completes raw text, so that a turn may be `raw`."""
        ...

    async def embed(self, name: str | None, body: dict[str, Any], owner: Owner, /) -> dict[str, Any]: ...

    async def tokenize(
        self, name: str | None, text: str, /, *, add: bool, special: bool, pieces: bool
    ) -> list[Any]:
        """Return the model's token ids of a text, or with `pieces` objects of id and text."""
        ...

    async def detokenize(self, name: str | None, tokens: list[int], /) -> str: ...


class Request(Struct, frozen=True, kw_only=True):
    method: str
    path: str
    params: dict[str, str]
    query: dict[str, str]
    headers: dict[str, str]
    body: bytes
    owner: Owner
    id: str
    base: str = ""
    """This server's URL as the client sees it, without a trailing slash."""
    introspection: bool = False
    """Whether GraphQL introspection is allowed."""
    graphql: DocumentLimits = DocumentLimits()
    forward: Callable[[Mapping[str, str]], dict[str, str]] = lambda headers: {}
    """Selects the headers that agents and tools may see."""
    count: Callable[[int], None] = lambda status: None
    """Sets the status for access log and metrics where the reply's own status must be 200."""

    @property
    def trace(self) -> dict[str, str]:
        """The W3C trace context headers."""
        return {name: self.headers[name] for name in TRACE if name in self.headers}

    @property
    def passed(self) -> dict[str, str]:
        """The headers for agents and tools, trace context included."""
        return self.forward(self.headers) | self.trace


@dataclass(frozen=True, slots=True)
class Route:
    """`handler` parses the request before it returns the reply, so that a bad request gets an error status.
    `public` routes need no key."""

    method: str
    path: str
    answer: Callable[[Request, Host], Reply]
    open: bool = False
    page: bool = False
    """Only for browser navigation; other clients get the next route of the same path."""
    body: type[Struct] | None = None
    """The request body, for the OpenAPI document."""
    summary: str = ""
    empty: bool = False
    """Answers 204."""
    quiet: bool = False
    """May answer 202, where the request needs no response."""


@dataclass(frozen=True, slots=True)
class Probe:
    """A small real request by which `rightseat doctor` tests a door.

    `check` takes the status, the headers (lower-case names) and the whole body; it returns a problem or None.
    """

    name: str
    method: str
    path: str
    check: Callable[[int, Mapping[str, str], bytes], str | None]
    body: bytes = b""
    open: bool = False
    """The route needs no key."""
    optional: bool = False
    """404 is no failure: a server may lack this route."""


@dataclass(frozen=True, slots=True)
class Door:
    """`format_error` writes an error as this door's clients expect it; `hint` is shown at start-up."""

    name: str
    routes: tuple[Route, ...]
    refuse: Callable[[RightseatError], Reply]
    hint: Callable[[str], str]
    probes: tuple[Probe, ...] = ()
    refuse_as: Callable[[RightseatError, dict[str, str]], Reply] | None = None
    """As `format_error`, where the format depends on the request's headers."""
    origins: tuple[str, ...] = ()
    """Origins of the door's own clients, allowed besides [server] cors."""


async def whole(
    status: int, body: bytes, *headers: tuple[bytes, bytes], kind: bytes = b"application/json"
) -> Reply:
    """Make a reply of one part."""
    yield piece(status, body, *headers, kind=kind)


def piece(status: int, body: bytes, *headers: tuple[bytes, bytes], kind: bytes = b"application/json") -> Head:
    length = (b"content-length", b"%d" % len(body))
    return Head(status, ((b"content-type", kind), length, *headers), whole=body)


async def body_of(reply: Reply) -> bytes:
    """Return the whole body of a reply."""
    parts = [part async for part in reply]
    return b"".join(part if isinstance(part, bytes) else part.whole or b"" for part in parts)


def retry_header(error: RightseatError | Any) -> tuple[tuple[bytes, bytes], ...]:
    after = error.retry_after
    return () if after is None else ((b"retry-after", str(max(1, math.ceil(after))).encode()),)


# Runs of escaped UTF-16 surrogates; preceded by an odd backslash it is no escape.
_HALVES = re.compile(rb"(?<!\\)((?:\\\\)*)((?:\\u[dD][89a-fA-F][0-9a-fA-F]{2})+)")


def _halved(found: re.Match[bytes]) -> bytes:
    whole = found[2].decode("unicode_escape")
    mended = whole.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return found[1] + mended.encode()


def decode(body: bytes, kind: type[T]) -> T:
    """Decode a JSON body into a type; raises CallerError that names the place."""
    try:
        return _decode(body, kind)
    except CallerError:
        # Browsers escape a lone surrogate where a text was cut inside an emoji.
        if (mended := _HALVES.sub(_halved, body)) == body:
            raise
    return _decode(mended, kind)


def _decode(body: bytes, kind: type[T]) -> T:
    try:
        return msgspec.json.decode(body, type=kind)
    except msgspec.ValidationError as error:
        problem, _, place = str(error).partition(" - at ")
        param = place.strip("`").removeprefix("$").lstrip(".") or None
        raise CallerError(f"{param}: {problem}" if param else problem, param=param) from None
    except msgspec.DecodeError as error:
        raise CallerError(f"The body is not valid JSON: {error}") from None
    except (RecursionError, UnicodeDecodeError):
        raise CallerError("The body is not JSON that can be read: nested too deeply or not UTF-8.") from None


def client_spec(
    name: str, description: str | None, parameters: dict[str, Any] | None, place: str
) -> ToolSpec:
    """Make the spec of a client's tool; a bad schema raises CallerError that names `place`."""
    schema = parameters or {"type": "object", "properties": {}}
    spec = understood(ToolSpec(name, description or "", schema))
    try:
        checker(spec.parameters)
    except CallerError as error:
        raise CallerError(f"{place}.parameters: {error.message}", param=f"{place}.parameters") from None
    return spec


def pinned(request: Request) -> tuple[str, ...]:
    """Return the plugins that the X-Plugins header limits a request to."""
    named = unquote(request.headers.get("x-plugins", ""))
    return tuple(name.strip() for name in named.split(",") if name.strip())


def header_id(request: Request, name: str) -> str | None:
    """Return an id from a header, or None; raises CallerError for other than a plain name."""
    value = request.headers.get(name)
    if value is not None and not NAME.fullmatch(value):
        raise CallerError(f"{name}: use letters, digits and . _ : @ - only, at most 128 of them.", param=name)
    return value
