"""Authentication: resolve the owner of a request from its headers, before anything else is read."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Awaitable, Callable, Mapping
from typing import Protocol

from rightseat.config.secret import Secret
from rightseat.errors import Unauthorized
from rightseat.types.turn import Owner

LOCAL_OWNER = Owner()
# CopilotKit's clients send their `publicApiKey` in the last one.
CREDENTIAL_HEADERS = ("authorization", "x-api-key", "x-copilotcloud-public-api-key")
KEY_HINT = "Send the key as `Authorization: Bearer KEY` or `X-Api-Key: KEY`."

VerifyToken = Callable[[str], Awaitable[Owner | None]]


class AuthPolicy(Protocol):
    """The [auth] table."""

    @property
    def keys(self) -> Mapping[str, Secret]: ...
    @property
    def proxy_header(self) -> str: ...
    @property
    def proxy_addresses(self) -> tuple[str, ...]: ...


class Authenticator:
    """Accepts a named key, a JWT or a trusted proxy's user header; without any, everyone is `local`."""

    def __init__(self, policy: AuthPolicy | None = None, verify_token: VerifyToken | None = None) -> None:
        keys = policy.keys if policy else {}
        # Digests have one length, so comparing takes constant time.
        self.keys = {hashlib.sha256(key.reveal().encode()).digest(): name for name, key in keys.items()}
        self.proxy_header = policy.proxy_header.lower() if policy else ""
        self.proxy_addresses = frozenset(policy.proxy_addresses) if policy else frozenset()
        self.verify_token = verify_token
        self.required = bool(self.keys or self.proxy_header or verify_token)

    async def __call__(self, headers: Mapping[str, str], client: str | None) -> Owner:
        if not self.required:
            return LOCAL_OWNER
        if self.proxy_header and client in self.proxy_addresses:
            name = headers.get(self.proxy_header, "").strip()
            if name:
                return Owner(f"proxy:{name}")
        credentials = {
            parse_credential(headers[carrier]) for carrier in CREDENTIAL_HEADERS if carrier in headers
        } - {""}
        if not credentials:
            raise Unauthorized(f"This server needs a key. {KEY_HINT}")
        # Two different credentials name two owners: refuse the request.
        owners = [await self.find_owner(value) for value in credentials]
        if len(owners) != 1 or owners[0] is None:
            raise Unauthorized(f"The key is not known here. {KEY_HINT}")
        return owners[0]

    async def find_owner(self, value: str) -> Owner | None:
        if key_name := self.find_key_name(value):
            return Owner(f"key:{key_name}")
        return await self.verify_token(value) if self.verify_token else None

    def find_key_name(self, value: str) -> str | None:
        """Return the name of the configured key, or None."""
        # Headers are decoded as latin-1: this restores the bytes that were sent.
        digest = hashlib.sha256(value.encode("latin-1", "replace")).digest()
        key_names = [name for known, name in self.keys.items() if hmac.compare_digest(known, digest)]
        return key_names[0] if key_names else None

    def list_credential_headers(self, headers: Mapping[str, str]) -> set[str]:
        """Return the headers that carry this server's own credentials; agents and tools never see them."""
        keys = {
            name
            for name in CREDENTIAL_HEADERS
            if name in headers and self.find_key_name(parse_credential(headers[name]))
        }
        return keys | {self.proxy_header}


def parse_credential(value: str) -> str:
    """Return KEY of `Bearer KEY` (scheme in any case) or of a bare KEY."""
    scheme, _, rest = value.strip().partition(" ")
    return rest.strip() if scheme.lower() == "bearer" else value.strip()
