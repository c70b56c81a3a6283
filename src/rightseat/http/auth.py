"""Authentication: the owner of a request by its headers (a key, a JWT, a trusted proxy's user header)."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import hmac
import math
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from rightseat.config.installation import format_extra_command
from rightseat.config.settings import AuthSettings, JwtSettings
from rightseat.errors import ConfigError, Unauthorized, Unavailable
from rightseat.types.turn import Owner

LOCAL_OWNER = Owner()

# CopilotKit's clients send their `publicApiKey` in the last one.
PUBLIC_KEY_HEADER = "x-copilotcloud-public-api-key"
CREDENTIAL_HEADERS = ("authorization", "x-api-key", PUBLIC_KEY_HEADER)
MAX_PUBLIC_KEY = 256
KEY_HINT = "Send the key as `Authorization: Bearer KEY` or `X-Api-Key: KEY`."
VerifyToken = Callable[[str], Awaitable[Owner | None]]
FindUser = Callable[[Mapping[str, str]], str | Awaitable[str | None] | None]
"""Function of an application: the user's name by the request's headers (names in lower case), or None for nobody."""


class Authenticator:
    """Accepts a named key, a JWT or a trusted proxy's user header; without any, everyone is `local`."""

    def __init__(self, settings: AuthSettings | None = None, verify_token: VerifyToken | None = None) -> None:
        settings = settings or AuthSettings()
        # Digests have one length, so comparing takes constant time.
        self.keys = {hashlib.sha256(key.reveal().encode()).digest(): name for name, key in settings.keys.items()}
        self.proxy_header = settings.proxy_header.lower()
        self.proxy_addresses = frozenset(settings.proxy_addresses)
        self.admins = frozenset(name if ":" in name else f"key:{name}" for name in settings.admins)
        self.verify_token = verify_token
        self.required = bool(self.keys or self.proxy_header or verify_token)

    async def __call__(self, headers: Mapping[str, str], client: str | None) -> Owner:
        if not self.required:
            return LOCAL_OWNER
        name = headers.get(self.proxy_header, "").strip() if client in self.proxy_addresses else ""
        if self.proxy_header and name:
            return Owner(f"proxy:{name}")
        credentials = {parse_credential(headers.get(name, "")) for name in CREDENTIAL_HEADERS} - {""}
        if not credentials:
            raise Unauthorized(f"This server needs a key. {KEY_HINT}")
        # Two different credentials name two owners: refuse the request.
        owners = [await self.find_owner(value) for value in credentials]
        if len(owners) != 1 or owners[0] is None:
            raise Unauthorized(f"The key is not known here. {KEY_HINT}")
        return owners[0]

    def is_admin(self, owner: Owner) -> bool:
        """Whether [auth] admins names the owner. Where no [auth] is set, there is nobody to name."""
        return self.required and owner.name in self.admins

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

    def find_public_key(self, headers: Mapping[str, str], owner: Owner) -> str:
        """Return the page's public API key for CopilotKit's cloud, to hand on; empty where the header holds a
        credential of this server, which nobody else may see."""
        value = headers.get(PUBLIC_KEY_HEADER, "")
        is_credential = self.required and not owner.name.startswith("proxy:")
        if is_credential or self.find_key_name(parse_credential(value)) or len(value) > MAX_PUBLIC_KEY:
            return ""
        return value if value.isascii() and value.isprintable() else ""

    def list_credential_headers(self, headers: Mapping[str, str]) -> set[str]:
        """Return the headers that carry this server's own credentials; agents and tools never see them."""
        keys = {name for name in CREDENTIAL_HEADERS if self.find_key_name(parse_credential(headers.get(name, "")))}
        return keys | {self.proxy_header}


class AppAuthenticator(Authenticator):
    """Asks a function of the application that mounts rightseat who the user is: its own login decides."""

    def __init__(self, find_user: FindUser) -> None:
        super().__init__()
        self.find_user = find_user
        self.required = True

    async def __call__(self, headers: Mapping[str, str], client: str | None) -> Owner:
        found = self.find_user(headers)
        name = await found if isinstance(found, Awaitable) else found
        if not name:
            raise Unauthorized("Nobody is logged in with this request. Log in, and send the request again.")
        return Owner(name)

    def find_public_key(self, headers: Mapping[str, str], owner: Owner) -> str:
        return ""

    def list_credential_headers(self, headers: Mapping[str, str]) -> set[str]:
        """Return the headers in which the application's own credentials may be."""
        return {*CREDENTIAL_HEADERS, "cookie"}


def parse_credential(value: str) -> str:
    """Return KEY of `Bearer KEY` (scheme in any case) or of a bare KEY."""
    scheme, _, rest = value.strip().partition(" ")
    return rest.strip() if scheme.lower() == "bearer" else value.strip()


# Asymmetric only: with HS256 the issuer's public key would suffice to forge a token.
ALGORITHMS = ["RS256", "RS384", "RS512", "ES256", "ES384", "PS256", "EdDSA"]
REFRESH_SECONDS = 300.0
RETRY_SECONDS = 10.0
EXPIRE_SECONDS = 24 * 3600.0
"""How long known keys stay valid while the issuer cannot be reached."""
JWKS_SECONDS = 5.0
MAX_JWKS = 1 << 20
FetchUrl = Callable[[str], Awaitable[bytes]]


class JwtVerifier:
    def __init__(self, settings: JwtSettings, fetch: FetchUrl) -> None:
        try:
            import jwt
        except ModuleNotFoundError:
            raise ConfigError(f"[auth.jwt] needs one more package: {format_extra_command('jwt')}") from None
        self.jwt = jwt
        self.settings = settings
        self.fetch = fetch
        self.keys: dict[str | None, Any] = {}
        self.tried_at = self.fetched_at = float("-inf")
        self.lock = asyncio.Lock()
        self.refreshing: asyncio.Task[None] | None = None

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
                audience=self.settings.audience,
                issuer=self.settings.issuer,
                options={"require": ["exp", self.settings.owner_claim]},
            )
        except self.jwt.PyJWTError:
            return None
        name = claims[self.settings.owner_claim]
        is_name = isinstance(name, str | int) and not isinstance(name, bool) and bool(str(name).strip())
        return Owner(f"jwt:{name}") if is_name else None

    async def find_key(self, key_id: str | None) -> Any:
        """Return the issuer's key by id. Known keys are refreshed in the background, so that nobody waits for it."""
        now = time.monotonic()
        if now - self.fetched_at > EXPIRE_SECONDS:
            self.keys = {}
        if key_id not in self.keys and now - self.tried_at > RETRY_SECONDS:
            async with self.lock:
                if self.tried_at <= now:
                    await self.refresh_keys()
        elif now - self.tried_at > REFRESH_SECONDS and (self.refreshing is None or self.refreshing.done()):
            self.refreshing = asyncio.create_task(self.refresh_in_background())
        return self.keys.get(key_id)

    async def refresh_in_background(self) -> None:
        # The known keys may expire meanwhile. Nobody waits for the error here: the next request tries again.
        with contextlib.suppress(Unavailable):
            await self.refresh_keys()

    async def refresh_keys(self) -> None:
        self.tried_at = time.monotonic()
        try:
            key_set = self.jwt.PyJWKSet.from_json((await self.fetch(self.settings.jwks)).decode())
        except (OSError, TimeoutError, ValueError, self.jwt.PyJWTError):
            if not self.keys:
                raise Unavailable(
                    "The public keys of the token issuer cannot be fetched now. Try again later.", retry_after=5
                ) from None
            return  # the known keys stay valid
        self.keys = {key.key_id: key for key in key_set.keys}
        self.fetched_at = time.monotonic()


async def fetch_jwks(url: str) -> bytes:
    """GET a small document; raises OSError, TimeoutError among them, or ValueError for an invalid URL."""
    # Lazy: a server without [auth.jwt] may need no HTTP client.
    from yarl import URL

    from rightseat.http.client import HttpClient, format_request_head

    client = HttpClient(URL(url), connect_timeout=JWKS_SECONDS)
    try:
        async with asyncio.timeout(JWKS_SECONDS):
            head = format_request_head("GET", URL(url), {"Accept": "application/json"})
            response = await client.send(head, None, math.inf)
            await response.wait_for_head()
            if response.status != 200:
                raise OSError(f"{response.status}")
            body = await response.read_body(MAX_JWKS)
            if len(body) >= MAX_JWKS:
                raise OSError(f"more than {MAX_JWKS} bytes")
            return body
    finally:
        client.close()
