"""What a door is: routes that read a request and write a reply, and the shape of its errors.

A door knows no model and no socket. It turns bytes into a Turn, runs it, and turns events into bytes.
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
# Of the request that is being answered, for the log.
REQUEST: ContextVar[str] = ContextVar("request", default="")
TRACE = ("traceparent", "tracestate")
NAME = re.compile(r"[A-Za-z0-9._:@-]{1,128}")


class Described(Protocol):
    """What an assistant says of itself to people, and what a door must know to serve it well."""

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
        """Tokens that its model takes: `context` where the operator said so, else as far as it is known."""
        ...

    @property
    def suggestions(self) -> tuple[str, ...]:
        """What people could ask it."""
        ...

    @property
    def server(self) -> Container[str]:
        """The names of its tools that run here, shown or not."""
        ...

    @property
    def groups(self) -> dict[str, str]:
        """The plugins that a turn can be limited to: id → name."""
        ...

    @property
    def sees(self) -> bool:
        """Whether its model takes images."""
        ...

    @property
    def equipped(self) -> bool:
        """Whether it has tools that may take the files that people attach."""
        ...


class Threads(Protocol):
    """Conversations that are kept, and runs that outlive their client."""

    @property
    def journal(self) -> Journal: ...

    async def start(self, turn: Turn, respond: Responder, /) -> AsyncIterator[Numbered]:
        """Begin a run on its thread; what comes back is that run. Conflict when another one is under way."""
        ...

    def follow(self, owner: Owner, thread: str, after: int = 0, /) -> AsyncIterator[Numbered]:
        """A thread after a number, then its live run. A thread that is not there is empty."""
        ...

    async def earlier(self, owner: Owner, thread: str, number: int, /) -> list[Entry]:
        """The run that a number belongs to, up to that number."""
        ...

    async def stop(self, owner: Owner, thread: str, /) -> bool: ...

    async def delete(self, owner: Owner, thread: str, /) -> bool: ...


class Document(Struct, frozen=True):
    """A file that a client may read."""

    name: str
    description: str
    kind: str
    path: Path


class Host(Protocol):
    """The part of a Runtime that a door may see."""

    @property
    def threads(self) -> Threads: ...

    @property
    def responders(self) -> Mapping[str, Responder]: ...

    def described(self, name: str, /) -> Described | None:
        """What one of the responders says of itself."""
        ...

    async def recall(self, name: str, owner: Owner, thread: str, /) -> Recalled | None:
        """What an agent itself remembers of a thread; None where it does not, or is no such agent."""
        ...

    @property
    def tools(self) -> Mapping[str, Tool]:
        """What a client may call by itself: plugins' operations, scripts and flows."""
        ...

    @property
    def documents(self) -> Mapping[str, Document]:
        """Files that may be read, by their URI: the flows'."""
        ...

    @property
    def questions(self) -> Mapping[str, str]:
        """What each plugin suggests to ask."""
        ...

    def run(self, turn: Turn, /) -> AsyncIterator[Event]: ...

    def resolve(self, name: str | None, /) -> str | None:
        """The responder that a client means by a model's name; None is the default."""
        ...

    def picked(self, name: str | None, /) -> str | None:
        """The model of ASSISTANT/MODEL, where that assistant lets its clients choose."""
        ...

    def offered(self, name: str | None, /) -> tuple[str, ...]:
        """The models that a client of this assistant may choose among."""
        ...

    def bare(self, name: str | None, /) -> bool:
        """Whether it is a model and nothing else: no instructions, no tools."""
        ...

    def completes(self, name: str | None, /) -> bool:
        """Whether its model goes on with a text as it is: a turn may then be `raw`."""
        ...

    async def embed(self, name: str | None, body: dict[str, Any], owner: Owner, /) -> dict[str, Any]: ...

    async def tokenize(
        self, name: str | None, text: str, /, *, add: bool, special: bool, pieces: bool
    ) -> list[Any]:
        """Its model's tokens of a text: their numbers, or with `pieces` objects of number and text."""
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
    """Where its client finds this server, without a slash at the end."""
    introspection: bool = False
    """Whether a schema may be looked at here."""
    graphql: DocumentLimits = DocumentLimits()
    forward: Callable[[Mapping[str, str]], dict[str, str]] = lambda headers: {}
    """Which headers agents and tools may see."""
    count: Callable[[int], None] = lambda status: None
    """What the log and the numbers say of a reply, where its status must not."""

    @property
    def trace(self) -> dict[str, str]:
        """The headers that go on with the turn: by whose trace it is."""
        return {name: self.headers[name] for name in TRACE if name in self.headers}

    @property
    def passed(self) -> dict[str, str]:
        """The same with those that agents and tools may see."""
        return self.forward(self.headers) | self.trace


@dataclass(frozen=True, slots=True)
class Route:
    """`answer` reads the request at once, so that a bad one is refused with a status, and returns the reply.
    `open` routes are asked for before anyone can have a key; all others need one where keys are set."""

    method: str
    path: str
    answer: Callable[[Request, Host], Reply]
    open: bool = False
    page: bool = False
    """Only for a browser that opens the bare address; whoever else asks finds the next route of that path."""
    body: type[Struct] | None = None
    """The shape of the request, for the OpenAPI document."""
    summary: str = ""
    empty: bool = False
    """It answers 204: there is nothing to say."""
    quiet: bool = False
    """It answers 202 where nothing was asked."""


@dataclass(frozen=True, slots=True)
class Probe:
    """A small real request by which `rightseat doctor` sees whether a client would be served.

    `check` takes the status, the headers (lower-case names) and the whole body, and says what is wrong.
    """

    name: str
    method: str
    path: str
    check: Callable[[int, Mapping[str, str], bytes], str | None]
    body: bytes = b""
    open: bool = False
    """Its route needs no key."""
    optional: bool = False
    """A server may be without it: then it answers 404."""


@dataclass(frozen=True, slots=True)
class Door:
    """`refuse` writes an error in the shape this door's client shows its user; `hint` is the card's line."""

    name: str
    routes: tuple[Route, ...]
    refuse: Callable[[RightseatError], Reply]
    hint: Callable[[str], str]
    probes: tuple[Probe, ...] = ()
    refuse_as: Callable[[RightseatError, dict[str, str]], Reply] | None = None
    """As `refuse`, where the shape depends on the request's headers."""
    origins: tuple[str, ...] = ()
    """The pages of its client: they may call it besides those of [server] cors."""


async def whole(
    status: int, body: bytes, *headers: tuple[bytes, bytes], kind: bytes = b"application/json"
) -> Reply:
    """A reply in one piece."""
    yield piece(status, body, *headers, kind=kind)


def piece(status: int, body: bytes, *headers: tuple[bytes, bytes], kind: bytes = b"application/json") -> Head:
    length = (b"content-length", b"%d" % len(body))
    return Head(status, ((b"content-type", kind), length, *headers), whole=body)


async def body_of(reply: Reply) -> bytes:
    """All that a reply says."""
    parts = [part async for part in reply]
    return b"".join(part if isinstance(part, bytes) else part.whole or b"" for part in parts)


def retry_header(error: RightseatError | Any) -> tuple[tuple[bytes, bytes], ...]:
    after = error.retry_after
    return () if after is None else ((b"retry-after", str(max(1, math.ceil(after))).encode()),)


# Runs of escaped halves of a UTF-16 pair; a backslash before one means that it is no escape.
_HALVES = re.compile(rb"(?<!\\)((?:\\\\)*)((?:\\u[dD][89a-fA-F][0-9a-fA-F]{2})+)")


def _halved(found: re.Match[bytes]) -> bytes:
    whole = found[2].decode("unicode_escape")
    mended = whole.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return found[1] + mended.encode()


def decode(body: bytes, kind: type[T]) -> T:
    """The body as a wire shape, or a CallerError that names the place, whatever a stranger sends."""
    try:
        return _decode(body, kind)
    except CallerError:
        # A browser writes half of an emoji as an escape of its own, where a text was cut in its middle.
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
    """A client's tool, its schema checked before any model sees it; `place` names it in the error."""
    schema = parameters or {"type": "object", "properties": {}}
    spec = understood(ToolSpec(name, description or "", schema))
    try:
        checker(spec.parameters)
    except CallerError as error:
        raise CallerError(f"{place}.parameters: {error.message}", param=f"{place}.parameters") from None
    return spec


def pinned(request: Request) -> tuple[str, ...]:
    """The plugins that a request is limited to, by its header."""
    named = unquote(request.headers.get("x-plugins", ""))
    return tuple(name.strip() for name in named.split(",") if name.strip())


def header_id(request: Request, name: str) -> str | None:
    """An id that a client gave in a header; anything that is not a plain name is refused, not cleaned."""
    value = request.headers.get(name)
    if value is not None and not NAME.fullmatch(value):
        raise CallerError(f"{name}: use letters, digits and . _ : @ - only, at most 128 of them.", param=name)
    return value
