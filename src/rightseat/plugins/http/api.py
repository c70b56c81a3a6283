"""API client of a plugin: sends signed requests within the policy and retries the repeatable ones."""

from __future__ import annotations

import hashlib
import itertools
import uuid
from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec.structs import replace

from rightseat.errors import AddressRefused, CallerError, RightseatError, UpstreamBusy, UpstreamGarbled, UpstreamRefused
from rightseat.http.fetch import AddressRules, FetchResult, OutboundClient
from rightseat.http.fetch.rules import AddressNotPublic
from rightseat.http.retry import call_with_retry, parse_retry_after
from rightseat.plugins.http.credentials import Credentials, Identity, reveal_text
from rightseat.plugins.http.encoding import FilesByArgument, quote_all
from rightseat.plugins.http.policy import PluginPolicy, allowed_hosts, private_address_error
from rightseat.plugins.http.request import UnsignedRequest, build_request
from rightseat.plugins.plugin import Operation, Plugin
from rightseat.types.turn import Turn

RETRYABLE_STATUSES = (408, 429, 500, 502, 503, 504)


class RetryableResponse(UpstreamBusy):
    """A response with a retryable status; carries the response for the case that all retries fail."""

    def __init__(self, fetched: FetchResult) -> None:
        super().__init__(f"The server answered {fetched.status}.", retry_after=parse_retry_after(fetched.headers))
        self.fetched = fetched


class ApiClient:
    """HTTP client for one plugin's servers. Holds connections and tokens: close it after use."""

    def __init__(self, plugin: Plugin, policy: PluginPolicy) -> None:
        self.plugin = plugin
        self.policy = policy
        self.credentials = Credentials(plugin, policy)
        urls = {server.url for operation in plugin.operations for server in operation.servers}
        self.outbound = OutboundClient(
            AddressRules(allowed_hosts(*sorted(urls), policy.server), policy.allow),
            max_bytes=policy.max_bytes,
            seconds=policy.seconds,
        )

    def server_urls(self, operation: Operation) -> tuple[str, ...]:
        """Return the server URLs of the operation, the preferred one first."""
        own_urls = tuple(dict.fromkeys(server.url for server in operation.servers))
        return (self.policy.server,) if self.policy.server else own_urls

    def fingerprint(self, operation: Operation) -> str:
        """Return a hash of the operation, the servers that it may be sent to, and how it is signed."""
        signed = [(auth.kind, auth.args, auth.options) for auth in self.plugin.auth]
        parts = [replace(operation, line=0), self.server_urls(operation), self.policy.allow, signed]
        return hashlib.sha256(msgspec.json.encode(parts, enc_hook=reveal_text, order="sorted")).hexdigest()[:16]

    def build_request(
        self, operation: Operation, arguments: Mapping[str, Any], files: FilesByArgument, key: str = ""
    ) -> UnsignedRequest:
        """Build the request, with a random idempotency key unless the caller passes one."""
        return build_request(operation, arguments, files, limit=self.policy.max_upload, key=key or str(uuid.uuid4()))

    async def send(self, operation: Operation, request: UnsignedRequest, turn: Turn) -> tuple[FetchResult, Identity]:
        """Send the request; returns the response and the identity used. A 401 renews tokens once."""
        servers = self.server_urls(operation)
        if not servers:
            raise CallerError(
                f"Plugin {self.plugin.id} names no server to call. Add one to its openapi.yaml, "
                'or write server = "https://…" in its settings.'
            )
        identity = await self.credentials.resolve(turn)
        fetched = await self.fetch_with_retries(servers, request, identity)
        if fetched.status == 401 and identity.invalidators:
            for forget_token in identity.invalidators:
                forget_token()
            identity = await self.credentials.resolve(turn)
            fetched = await self.fetch_with_retries(servers, request, identity)
        return fetched, identity

    async def fetch_with_retries(
        self, servers: tuple[str, ...], request: UnsignedRequest, identity: Identity
    ) -> FetchResult:
        """Fetch with retries, moving on to the next server; a request that is not retryable is sent once."""
        if not request.retryable:
            return await self.fetch_once(servers[0], request, identity)
        server_cycle = itertools.cycle(servers)

        async def attempt() -> FetchResult:
            fetched = await self.fetch_once(next(server_cycle), request, identity)
            if fetched.status in RETRYABLE_STATUSES:
                raise RetryableResponse(fetched)
            return fetched

        def should_retry(error: RightseatError) -> bool:
            if isinstance(error, AddressRefused):
                return len(servers) > 1
            return isinstance(error, RetryableResponse | UpstreamRefused | UpstreamGarbled)

        tries = max(self.policy.retries + 1, len(servers))
        try:
            return await call_with_retry(
                attempt, is_retryable=should_retry, tries=tries, max_delay=self.policy.max_retry_wait
            )
        except RetryableResponse as error:
            return error.fetched

    async def fetch_once(self, server: str, request: UnsignedRequest, identity: Identity) -> FetchResult:
        # An argument never replaces a credential: parameters and headers of the same name are dropped.
        credential_params = {quote_all(name).lower() for name in identity.query}
        query = tuple(pair for pair in request.query if pair.partition("=")[0].lower() not in credential_params)
        url = replace(request, query=query).build_url(server, identity.escaped_query)
        credential_headers = {name.lower() for name in identity.headers} | ({"cookie"} if identity.cookies else set())
        headers = {name: value for name, value in request.headers.items() if name.lower() not in credential_headers}
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
                same_origin=bool(identity.secret_values),
                query=identity.escaped_query,
            )
        except AddressNotPublic as error:
            raise private_address_error(self.plugin.id, error) from None

    async def close(self) -> None:
        await self.outbound.close()
        await self.credentials.close()
