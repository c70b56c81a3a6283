"""Authentication: resolve the owner of a request from its headers, before anything else is read."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Awaitable, Callable, Mapping
from typing import Protocol

from rightseat.config.secret import Secret
from rightseat.errors import Unauthorized
from rightseat.types.turn import Owner

LOCAL = Owner()
# CopilotKit's clients send their `publicApiKey` in the last one.
CARRIERS = ("authorization", "x-api-key", "x-copilotcloud-public-api-key")
HINT = "Send the key as `Authorization: Bearer KEY` or `X-Api-Key: KEY`."

Tokens = Callable[[str], Awaitable[Owner | None]]


class Policy(Protocol):
    """The [auth] table."""

    @property
    def keys(self) -> Mapping[str, Secret]: ...
    @property
    def proxy_header(self) -> str: ...
    @property
    def proxy_addresses(self) -> tuple[str, ...]: ...


class Authenticator:
    """Accepts a named key, a JWT or a trusted proxy's user header; without any, everyone is `local`."""

    def __init__(self, policy: Policy | None = None, tokens: Tokens | None = None) -> None:
        keys = policy.keys if policy else {}
        # Digests have one length, so comparing takes constant time.
        self.keys = {hashlib.sha256(key.reveal().encode()).digest(): name for name, key in keys.items()}
        self.proxy_header = policy.proxy_header.lower() if policy else ""
        self.proxies = frozenset(policy.proxy_addresses) if policy else frozenset()
        self.tokens = tokens
        self.required = bool(self.keys or self.proxy_header or tokens)

    async def __call__(self, headers: Mapping[str, str], client: str | None) -> Owner:
        if not self.required:
            return LOCAL
        if self.proxy_header and client in self.proxies:
            name = headers.get(self.proxy_header, "").strip()
            if name:
                return Owner(f"proxy:{name}")
        given = {credential(headers[carrier]) for carrier in CARRIERS if carrier in headers} - {""}
        if not given:
            raise Unauthorized(f"This server needs a key. {HINT}")
        # Two different credentials name two owners: refuse the request.
        owners = [await self.owner(value) for value in given]
        if len(owners) != 1 or owners[0] is None:
            raise Unauthorized(f"The key is not known here. {HINT}")
        return owners[0]

    async def owner(self, value: str) -> Owner | None:
        if found := self.named(value):
            return Owner(f"key:{found}")
        return await self.tokens(value) if self.tokens else None

    def named(self, value: str) -> str | None:
        """Return the name of the configured key, or None."""
        # Headers are decoded as latin-1: this restores the bytes that were sent.
        digest = hashlib.sha256(value.encode("latin-1", "replace")).digest()
        found = [name for known, name in self.keys.items() if hmac.compare_digest(known, digest)]
        return found[0] if found else None

    def own(self, headers: Mapping[str, str]) -> set[str]:
        """Return the headers that carry this server's own credentials; agents and tools never see them."""
        keys = {name for name in CARRIERS if name in headers and self.named(credential(headers[name]))}
        return keys | {self.proxy_header}


def credential(value: str) -> str:
    """Return KEY of `Bearer KEY` (scheme in any case) or of a bare KEY."""
    scheme, _, rest = value.strip().partition(" ")
    return rest.strip() if scheme.lower() == "bearer" else value.strip()
