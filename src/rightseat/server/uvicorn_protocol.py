"""uvicorn's HTTP/1.1 protocol with limits on what arrives before the application sees it.

A request head must be complete within a time and a size; bytes between two body chunks (trailers, chunk
extensions) are held to the same size; a refusal is answered once and logged at debug only.
"""

from __future__ import annotations

import asyncio
import http
import json
from typing import NamedTuple, cast

import httptools
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from rightseat.http.reply import DIRECT_EXTENSION, WriteDirect

MAX_HEADERS = 100
MAX_PIPELINED = 8
# A refused connection closes after so long without bytes of the client, and at the latest after the limit.
HALF_CLOSE_SECONDS = 5.0
HALF_CLOSE_LIMIT = 10.0


class HttpRefusal(NamedTuple):
    status: int
    code: str
    message: str


MALFORMED = HttpRefusal(400, "bad_http", "This is not a valid HTTP request.")
TWO_HOSTS = HttpRefusal(400, "bad_host", "Send exactly one Host header.")
TOO_LARGE = HttpRefusal(431, "headers_too_large", "The headers are too large. Send fewer or shorter ones.")
TOO_MANY = HttpRefusal(400, "bad_http", "Too many requests wait on this connection. Read an answer first.")
TOO_SLOW = HttpRefusal(408, "request_timeout", "The request's headers took too long to arrive.")


class RequestRefused(Exception):
    """Raised in a parser callback to stop the parser."""

    def __init__(self, refusal: HttpRefusal) -> None:
        super().__init__(refusal.message)
        self.refusal = refusal


class DeferredCloseTransport:
    """The transport of one response. A response that ends before its request is read must not close at once:
    unread bytes would turn the close into a reset, and the client would lose the response."""

    def __init__(self, protocol: LimitedHttpProtocol) -> None:
        self.protocol = protocol
        self.transport = protocol.transport
        # Bound here because uvicorn calls them for every token.
        self.write = self.transport.write
        self.is_closing = self.transport.is_closing

    def close(self) -> None:
        # Otherwise `on_response_complete` follows and half-closes.
        if not self.protocol.has_unread_body:
            self.transport.close()


class LimitedHttpProtocol(HttpToolsProtocol):
    max_head = 64 * 1024
    head_timeout = 10.0
    timer: asyncio.TimerHandle | None = None
    refused = False
    close_by: float | None = None
    in_head = True
    in_message = False
    # Whether the client asked to keep the connection of the request that is arriving.
    keep_alive = True
    # The request being answered; `cycle` is the newest, which may be pipelined behind it.
    current_cycle: RequestResponseCycle | None = None
    # Bytes received since the last complete head or body chunk.
    unparsed_bytes = 0
    # When the connection was made or its last response ended.
    idle_since = 0.0
    # Whether the server ends, by class: a connection takes no request after the one that comes next.
    is_draining = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(cast(asyncio.Transport, transport))
        self.idle_since = self.loop.time()
        self.start_head_timer()

    def connection_lost(self, exc: Exception | None) -> None:
        self.cancel_timer()
        if self.current_cycle is not None and not self.current_cycle.response_complete:
            # uvicorn notifies only the newest cycle.
            self.current_cycle.disconnected = True
            self.current_cycle.message_event.set()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self.refused:
            self.defer_close()
            return
        self._unset_keepalive_if_required()
        if self.is_idle:
            self.start_head_timer()
        self.unparsed_bytes += len(data)
        try:
            self.parser.feed_data(data)
        except httptools.HttpParserUpgrade:
            # Upgrades are not supported: answer it as a plain request.
            self.cycle.keep_alive = False
        except httptools.HttpParserError as error:
            # The parser wraps what a callback raised.
            cause = error.__context__
            self.refuse(cause.refusal if isinstance(cause, RequestRefused) else MALFORMED)
        else:
            if self.unparsed_bytes > self.max_head:
                self.refuse(TOO_LARGE)

    @property
    def has_unread_body(self) -> bool:
        """Whether the request being answered is still arriving."""
        return self.in_message and not self.in_head and not self.pipeline

    @property
    def is_idle(self) -> bool:
        return self.current_cycle is None or self.current_cycle.response_complete

    def awaits_response(self, seconds: float) -> bool:
        """Whether a request has no response yet, or the first one is on its way: for at most so many seconds."""
        if self.current_cycle is None:
            return self.loop.time() - self.idle_since < seconds
        return not self.current_cycle.response_started

    def drain(self) -> None:
        """Let the connection end with the request that is being answered."""
        for cycle in filter(None, (self.current_cycle, self.cycle)):
            cycle.keep_alive = False

    # Parser callbacks

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self.in_head = self.in_message = True

    def on_header(self, name: bytes, value: bytes) -> None:
        # Trailers come by the same callback; they must not become headers after the checks.
        if self.in_head:
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        self.cancel_timer()
        self.in_head = False
        self.unparsed_bytes = 0
        size = len(self.url) + sum(len(name) + len(value) + 4 for name, value in self.headers)
        if size > self.max_head or len(self.headers) > MAX_HEADERS:
            raise RequestRefused(TOO_LARGE)
        if sum(name == b"host" for name, _ in self.headers) > 1:
            raise RequestRefused(TWO_HOSTS)
        if len(self.pipeline) >= MAX_PIPELINED:
            raise RequestRefused(TOO_MANY)
        super().on_headers_complete()
        self.cycle.transport = cast(asyncio.Transport, DeferredCloseTransport(self))
        # A response that starts before the request is complete says `connection: close`: the connection ends with it,
        # and a client must not send its next request there.
        self.keep_alive = self.cycle.keep_alive
        self.cycle.keep_alive = False
        self.cycle.scope["extensions"] = {DIRECT_EXTENSION: {"write": make_direct_write(self.cycle)}}
        if self.pipeline:
            # uvicorn pauses reading here and would miss a disconnect.
            self.flow.resume_reading()
        else:
            self.current_cycle = self.cycle

    def on_body(self, body: bytes) -> None:
        self.unparsed_bytes = 0
        super().on_body(body)

    def on_message_complete(self) -> None:
        self.in_message = False
        self.unparsed_bytes = 0
        if not self.cycle.response_started:
            self.cycle.keep_alive = self.keep_alive and not self.is_draining
        super().on_message_complete()

    def on_response_complete(self) -> None:
        self.idle_since = self.loop.time()
        if self.has_unread_body:
            # Answered before the body was read (413, 401): uvicorn would let the client send for ever.
            self.server_state.total_requests += 1
            self.half_close()
        else:
            if self.pipeline:
                self.current_cycle = self.pipeline[-1][0]
            super().on_response_complete()

    # Time and refusal

    def start_head_timer(self) -> None:
        if self.timer is None:
            self.timer = self.loop.call_later(self.head_timeout, self.on_head_timeout)

    def cancel_timer(self) -> None:
        if self.timer is not None:
            self.timer.cancel()
            self.timer = None

    def on_head_timeout(self) -> None:
        self.timer = None
        if self.in_message:
            self.refuse(TOO_SLOW)
        else:
            # No request was begun: close without a response.
            self.transport.close()

    def refuse(self, refusal: HttpRefusal) -> None:
        self.logger.debug("refused: %s", refusal.message)
        # A response that has started must not be corrupted.
        if self.current_cycle is None or self.is_idle or not self.current_cycle.response_started:
            self.transport.write(_format_refusal(refusal))
        if self.is_idle:
            self.half_close()
        else:
            self.refused = True
            self.transport.close()

    def half_close(self) -> None:
        """Close our side, and the connection later, so that the client can read the response."""
        self.refused = True
        self.cancel_timer()
        if self.transport.can_write_eof() and not self.transport.is_closing():
            self.flow.resume_reading()
            self.transport.write_eof()
            self.close_by = self.loop.time() + HALF_CLOSE_LIMIT
            self.defer_close()
        else:
            self.transport.close()

    def defer_close(self) -> None:
        """Close once the client sends nothing more: bytes that arrive after a close reset the connection, and the
        client would lose the response."""
        if self.close_by is not None:
            self.cancel_timer()
            when = min(self.loop.time() + HALF_CLOSE_SECONDS, self.close_by)
            self.timer = self.loop.call_at(when, self.transport.close)


def make_direct_write(cycle: RequestResponseCycle) -> WriteDirect:
    """Return a function that writes a body chunk at once, as `cycle.send` would; false where it cannot."""
    flow, write = cycle.flow, cycle.transport.write

    def write_chunk(data: bytes) -> bool:
        ended = cycle.disconnected or cycle.response_complete
        if ended or flow.write_paused or not cycle.chunked_encoding or not data:
            return False
        write(b"%x\r\n%b\r\n" % (len(data), data))
        return True

    return write_chunk


def _format_refusal(refusal: HttpRefusal) -> bytes:
    error = {"message": refusal.message, "type": "invalid_request_error", "code": refusal.code}
    body = json.dumps({"error": error}).encode()
    phrase = http.HTTPStatus(refusal.status).phrase
    head = (
        f"HTTP/1.1 {refusal.status} {phrase}\r\ncontent-type: application/json\r\n"
        f"content-length: {len(body)}\r\nconnection: close\r\n\r\n"
    )
    return head.encode() + body


def make_protocol(max_head: int, head_timeout: float) -> type[LimitedHttpProtocol]:
    """Return a protocol class with these limits: uvicorn makes the instances itself."""
    return type("LimitedHttpProtocol", (LimitedHttpProtocol,), {"max_head": max_head, "head_timeout": head_timeout})
