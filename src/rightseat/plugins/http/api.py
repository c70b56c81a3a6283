"""API client of a plugin: sends signed requests within the policy and retries the repeatable ones."""

from __future__ import annotations

import email.utils
import itertools
import time
import uuid
from collections.abc import Mapping
from typing import Any

from msgspec.structs import replace

from rightseat.errors import (
    AddressRefused,
    CallerError,
    RightseatError,
    UpstreamBusy,
    UpstreamGarbled,
    UpstreamRefused,
)
from rightseat.http.fetch import Fetched, Outbound, Rules
from rightseat.http.fetch.rules import NotPublic
from rightseat.http.retry import retrying
from rightseat.plugins.http.body import Files
from rightseat.plugins.http.credentials import Credentials, Identity
from rightseat.plugins.http.gate import Gate
from rightseat.plugins.http.hosts import hosts_of, not_allowed
from rightseat.plugins.http.request import Draft, draft
from rightseat.plugins.http.style import escaped
from rightseat.plugins.operation import Operation
from rightseat.plugins.plugin import Plugin
from rightseat.types.turn import Turn

BUSY = (408, 429, 500, 502, 503, 504)


class Repeatable(UpstreamBusy):
    """A response with a retryable status; carries the response for the case that all retries fail."""

    def __init__(self, fetched: Fetched) -> None:
        super().__init__(
            f"The server answered {fetched.status}.",
            retry_after=asked_wait(fetched.headers.get("retry-after", "")),
        )
        self.fetched = fetched


class Api:
    """HTTP client for one plugin's servers. Holds connections and tokens: close it after use."""

    def __init__(self, plugin: Plugin, gate: Gate) -> None:
        self.plugin = plugin
        self.gate = gate
        self.credentials = Credentials(plugin, gate)
        urls = {server.url for operation in plugin.operations for server in operation.servers}
        self.outbound = Outbound(
            Rules(hosts_of(*sorted(urls), *([gate.server] if gate.server else [])), gate.allow),
            max_bytes=gate.max_bytes,
            seconds=gate.seconds,
        )

    def servers(self, operation: Operation) -> tuple[str, ...]:
        """Return the server URLs of the operation, the preferred one first."""
        if self.gate.server:
            return (self.gate.server,)
        return tuple(dict.fromkeys(server.url for server in operation.servers))

    async def identity(self, turn: Turn) -> Identity:
        return await self.credentials.of(turn)

    def draft(self, operation: Operation, arguments: Mapping[str, Any], files: Files, key: str = "") -> Draft:
        """Build the request, with a random idempotency key unless the caller passes one."""
        key = key or str(uuid.uuid4())
        return draft(operation, arguments, files, limit=self.gate.max_upload, key=key)

    async def send(self, operation: Operation, request: Draft, turn: Turn) -> tuple[Fetched, Identity]:
        """Send the request; returns the response and the identity used. A 401 renews tokens once."""
        servers = self.servers(operation)
        if not servers:
            raise CallerError(
                f"Plugin {self.plugin.id} names no server to call. Add one to its openapi.yaml, "
                'or write server = "https://…" in its settings.'
            )
        identity = await self.identity(turn)
        fetched = await self.repeated(servers, request, identity)
        if fetched.status == 401 and identity.renew:
            for renew in identity.renew:
                renew()
            identity = await self.identity(turn)
            fetched = await self.repeated(servers, request, identity)
        return fetched, identity

    async def repeated(self, servers: tuple[str, ...], request: Draft, identity: Identity) -> Fetched:
        """Fetch with retries, moving on to the next server; a request that is not retryable is sent once."""
        if not request.repeatable:
            return await self.once(servers[0], request, identity)
        turns = itertools.cycle(servers)

        async def attempt() -> Fetched:
            fetched = await self.once(next(turns), request, identity)
            if fetched.status in BUSY:
                raise Repeatable(fetched)
            return fetched

        def again(error: RightseatError) -> bool:
            if isinstance(error, AddressRefused):
                return len(servers) > 1
            return isinstance(error, Repeatable | UpstreamRefused | UpstreamGarbled)

        tries = max(self.gate.retries + 1, len(servers))
        try:
            return await retrying(attempt, again=again, tries=tries, ceiling=self.gate.patience)
        except Repeatable as error:
            return error.fetched

    async def once(self, server: str, request: Draft, identity: Identity) -> Fetched:
        url = mine(request, identity).url(server, identity.escaped_query)
        headers = {name: value for name, value in request.headers.items() if not named(name, identity)}
        cookies = [pair for pair in request.cookies if pair.partition("=")[0] not in identity.cookies]
        cookies += identity.escaped_cookies
        if cookies:
            headers["Cookie"] = "; ".join(cookies)
        headers |= identity.headers
        try:
            return await self.outbound.fetch(
                url,
                method=request.method,
                headers=headers,
                body=request.body,
                # Redirects to another origin must not receive the credentials.
                same_origin=bool(identity.values),
                query=identity.escaped_query,
            )
        except NotPublic as error:
            raise not_allowed(self.plugin.id, error) from None

    async def close(self) -> None:
        await self.outbound.close()
        await self.credentials.close()


def mine(request: Draft, identity: Identity) -> Draft:
    """Return the request without query parameters that have the name of a credential."""
    taken = {escaped(name).lower() for name in identity.query}
    return replace(
        request,
        query=tuple(pair for pair in request.query if pair.partition("=")[0].lower() not in taken),
    )


def named(header: str, identity: Identity) -> bool:
    """Tell whether the header is set by the credentials; then the argument's value is dropped."""
    ours = {name.lower() for name in identity.headers} | ({"cookie"} if identity.cookies else set())
    return header.lower() in ours


def asked_wait(text: str) -> float | None:
    """Parse a Retry-After header, a number or a date, into seconds; None if it is neither."""
    text = text.strip()
    if text.isascii() and text.isdigit():
        return float(text[:9])
    try:
        until = email.utils.parsedate_to_datetime(text)
    except (ValueError, IndexError, TypeError):
        return None
    return max(until.timestamp() - time.time(), 0.0)
