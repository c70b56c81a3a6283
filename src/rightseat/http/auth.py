"""Who asks: one function, whatever carries the credential, and before anything else is looked at."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Awaitable, Callable, Mapping
from typing import Protocol

from rightseat.config.secret import Secret
from rightseat.errors import Unauthorized
from rightseat.types.turn import Owner

LOCAL = Owner()
# The last is where CopilotKit's clients put their `publicApiKey`.
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
    """A named key, a signed token, a trusted proxy's word, or `local` where nothing of that is set."""

    def __init__(self, policy: Policy | None = None, tokens: Tokens | None = None) -> None:
        keys = policy.keys if policy else {}
        # Digests, so that comparing takes the same time whatever the length.
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
        # Two different credentials in one request are two people: nobody's request.
        owners = [await self.owner(value) for value in given]
        if len(owners) != 1 or owners[0] is None:
            raise Unauthorized(f"The key is not known here. {HINT}")
        return owners[0]

    async def owner(self, value: str) -> Owner | None:
        if found := self.named(value):
            return Owner(f"key:{found}")
        return await self.tokens(value) if self.tokens else None

    def named(self, value: str) -> str | None:
        """Whose key it is."""
        # Headers are read as latin-1, so this gives back the bytes that were sent.
        digest = hashlib.sha256(value.encode("latin-1", "replace")).digest()
        found = [name for known, name in self.keys.items() if hmac.compare_digest(known, digest)]
        return found[0] if found else None

    def own(self, headers: Mapping[str, str]) -> set[str]:
        """The headers that open this server: nobody behind it may see them."""
        keys = {name for name in CARRIERS if name in headers and self.named(credential(headers[name]))}
        return keys | {self.proxy_header}


def credential(value: str) -> str:
    """`Bearer KEY` or just KEY: the scheme's spelling decides nothing."""
    scheme, _, rest = value.strip().partition(" ")
    return rest.strip() if scheme.lower() == "bearer" else value.strip()
