"""JWTs as credentials: signature, issuer, audience and expiry are verified."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Any, Protocol

from rightseat.errors import ConfigError, Unavailable
from rightseat.types.turn import Owner

# Asymmetric only: with HS256 the issuer's public key would suffice to forge a token.
ALGORITHMS = ["RS256", "RS384", "RS512", "ES256", "ES384", "PS256", "EdDSA"]
REFRESH_SECONDS = 300.0
RETRY_SECONDS = 10.0


class JwtPolicy(Protocol):
    """The [auth.jwt] table."""

    @property
    def issuer(self) -> str: ...
    @property
    def audience(self) -> str: ...
    @property
    def jwks(self) -> str: ...
    @property
    def owner_claim(self) -> str: ...


FetchUrl = Callable[[str], Awaitable[bytes]]


class JwtVerifier:
    def __init__(self, policy: JwtPolicy, fetch: FetchUrl) -> None:
        try:
            import jwt
        except ModuleNotFoundError:
            raise ConfigError("[auth.jwt] needs one more package: pip install 'rightseat[jwt]'") from None
        self.jwt = jwt
        self.policy = policy
        self.fetch = fetch
        self.keys: dict[str | None, Any] = {}
        self.fetched_at = float("-inf")
        self.lock = asyncio.Lock()

    async def __call__(self, token: str) -> Owner | None:
        """Return the owner that a token names; None for any invalid token."""
        try:
            key_id = self.jwt.get_unverified_header(token).get("kid")
        except self.jwt.PyJWTError:
            return None
        key = await self.find_key(key_id)
        if key is None:
            return None
        try:
            claims = self.jwt.decode(
                token,
                key,
                algorithms=ALGORITHMS,
                audience=self.policy.audience,
                issuer=self.policy.issuer,
                options={"require": ["exp", self.policy.owner_claim]},
            )
        except self.jwt.PyJWTError:
            return None
        return Owner(f"jwt:{claims[self.policy.owner_claim]}")

    async def find_key(self, key_id: str | None) -> Any:
        """Return the issuer's key by id. An unknown id refreshes the keys, at most every RETRY_SECONDS."""
        age = time.monotonic() - self.fetched_at
        if age > REFRESH_SECONDS or (key_id not in self.keys and age > RETRY_SECONDS):
            async with self.lock:
                if time.monotonic() - self.fetched_at >= age:
                    await self.refresh_keys()
        return self.keys.get(key_id)

    async def refresh_keys(self) -> None:
        self.fetched_at = time.monotonic()
        try:
            key_set = self.jwt.PyJWKSet.from_json((await self.fetch(self.policy.jwks)).decode())
        except (OSError, TimeoutError, ValueError, self.jwt.PyJWTError):
            if not self.keys:
                raise Unavailable("The keys of the token issuer cannot be read now.", retry_after=5) from None
            return  # the known keys stay valid
        self.keys = {key.key_id: key for key in key_set.keys}


async def fetch_jwks(url: str) -> bytes:
    """GET a small document; raises OSError or TimeoutError."""
    import aiohttp

    timeout = aiohttp.ClientTimeout(total=5)
    try:
        async with (
            aiohttp.ClientSession(timeout=timeout) as session,
            session.get(url, allow_redirects=False) as reply,
        ):
            if reply.status != 200:
                raise OSError(f"{reply.status}")
            return await reply.content.read(1 << 20)
    except aiohttp.ClientError as error:
        raise OSError(type(error).__name__) from None
