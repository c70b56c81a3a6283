"""Access tokens from an OIDC token endpoint, cached per owner until shortly before they expire."""

from __future__ import annotations

import asyncio
import base64
import hashlib
from collections import OrderedDict
from collections.abc import Callable
from time import monotonic
from typing import Any
from urllib.parse import urlencode

import msgspec
from msgspec import Struct

from rightseat.errors import (
    CallerError,
    RightseatError,
    UpstreamDenied,
    UpstreamGarbled,
    UpstreamRefused,
)
from rightseat.http.fetch import Fetched, Outbound, Rules
from rightseat.http.fetch.rules import NotPublic
from rightseat.http.retry import retrying
from rightseat.plugins.http.gate import Gate
from rightseat.plugins.http.hosts import hosts_of, not_allowed
from rightseat.plugins.plugin import Auth
from rightseat.types.turn import Turn

MAX_KEPT = 1000
MAX_BYTES = 1 << 20
HOUR = 3600.0
SKEW = 60.0
EXCHANGE = "urn:ietf:params:oauth:grant-type:token-exchange"
ACCESS_TOKEN = "urn:ietf:params:oauth:token-type:access_token"
ORIGINAL = "exchange"
GRANTS = {"token_exchange": EXCHANGE, "token-exchange": EXCHANGE}
Value = Callable[[str, Any, Turn], str]


class Token(Struct, frozen=True):
    value: str
    until: float
    refresh: str = ""

    def __repr__(self) -> str:
        return "Token(***)"

    @property
    def fresh(self) -> bool:
        return monotonic() < self.until


class Slot:
    """One owner's token, with a lock so that concurrent calls fetch it once."""

    def __init__(self) -> None:
        self.lock = asyncio.Lock()
        self.token: Token | None = None


class Tokens:
    def __init__(self, plugin: str, auth: Auth, gate: Gate, value: Value) -> None:
        self.plugin = plugin
        self.auth = auth
        self.gate = gate
        self.value = value
        self.slots: OrderedDict[str, Slot] = OrderedDict()
        self.outbound = Outbound(
            Rules(hosts_of(self.url), gate.allow), max_bytes=MAX_BYTES, seconds=gate.seconds
        )

    @property
    def url(self) -> str:
        return self.option("token_url") or self.option("access_token_url")

    @property
    def grant(self) -> str:
        said = self.option("grant")
        if not said:
            # `access_token_url` is the key of the legacy exchange, which has no `grant`.
            return ORIGINAL if self.option("access_token_url") else "client_credentials"
        return GRANTS.get(said, said)

    @property
    def header(self) -> str:
        """Request header that carries the token."""
        otherwise = "access-token" if self.grant == ORIGINAL else "Authorization"
        return self.option("header") or next(iter(self.auth.args), otherwise)

    def shown(self, token: Token) -> str:
        return f"Bearer {token.value}" if self.header.lower() == "authorization" else token.value

    def option(self, name: str) -> str:
        found = self.auth.options.get(name)
        return found if isinstance(found, str) else ""

    async def token(self, turn: Turn) -> Token:
        subject = self.subject(turn)
        slot = self.slot(f"{turn.owner.name}\0{subject}" if subject else "")
        async with slot.lock:
            if slot.token is None or not slot.token.fresh:
                slot.token = await self.renewed(slot.token, subject, turn)
            return slot.token

    def forgetting(self, token: Token) -> Callable[[], None]:
        """Return a function that drops this token from the cache; a newer one stays."""

        def forget() -> None:
            for slot in self.slots.values():
                if slot.token is token:
                    slot.token = None

        return forget

    def slot(self, whose: str) -> Slot:
        key = hashlib.sha256(whose.encode("utf-8", "replace")).hexdigest()
        slot = self.slots.setdefault(key, Slot())
        self.slots.move_to_end(key)
        if len(self.slots) > MAX_KEPT:
            self.slots.popitem(last=False)
        return slot

    def subject(self, turn: Turn) -> str:
        """Return the caller's own token for a token exchange; empty for other grants."""
        if self.grant not in (ORIGINAL, EXCHANGE):
            return ""
        given = self.auth.args.get(self.header) or self.auth.options.get("access_token")
        name = self.header if has(self.gate.caller, self.header) else "access_token"
        subject = self.value(name, given, turn)
        if not subject:
            raise CallerError(
                f"Plugin {self.plugin} needs the caller's own token. Ask the operator to say in its "
                'settings which header brings it: user_headers = {access_token = "X-Access-Token"}.'
            )
        return subject.removeprefix("Bearer ").strip()

    async def renewed(self, old: Token | None, subject: str, turn: Turn) -> Token:
        if old is not None and old.refresh and self.grant != ORIGINAL:
            try:
                return await self.ask({"grant_type": "refresh_token", "refresh_token": old.refresh}, turn)
            except RightseatError:
                # The refresh token may be used up or revoked: request a new token.
                pass
        if self.grant == ORIGINAL:
            return await self.ask({"access_token": subject}, turn)
        wanted = {
            "grant_type": self.grant,
            "scope": self.option("scope"),
            "audience": self.option("audience"),
        }
        if self.grant == EXCHANGE:
            wanted |= {"subject_token": subject, "subject_token_type": ACCESS_TOKEN}
        return await self.ask({name: value for name, value in wanted.items() if value}, turn)

    async def ask(self, wanted: dict[str, str], turn: Turn) -> Token:
        if not self.url:
            raise CallerError(
                f"Plugin {self.plugin}: its oidc auth names no token_url. Add it to plugin.json."
            )
        headers = {"Accept": "application/json"}
        who = self.value("client_id", self.auth.options.get("client_id"), turn)
        secret = self.value("client_secret", self.auth.options.get("client_secret"), turn)
        if self.option("client_auth") == "basic":
            pair = urlencode({who: secret}).replace("=", ":", 1)
            headers["Authorization"] = f"Basic {base64.b64encode(pair.encode()).decode()}"
        else:
            named = {"client_id": who, "client_secret": "" if self.grant == ORIGINAL else secret}
            wanted = {**{name: value for name, value in named.items() if value}, **wanted}
        if self.grant == ORIGINAL:
            headers["Content-Type"], body = "application/json", msgspec.json.encode(wanted)
        else:
            headers["Content-Type"] = "application/x-www-form-urlencoded"
            body = urlencode(wanted).encode()

        async def attempt() -> Fetched:
            return await self.outbound.fetch(
                self.url, method="POST", headers=headers, body=body, same_origin=True
            )

        try:
            reply = await retrying(attempt, again=lambda error: isinstance(error, UpstreamRefused), tries=2)
        except NotPublic as error:
            raise not_allowed(self.plugin, error) from None
        return self.read(reply)

    def read(self, reply: Fetched) -> Token:
        # The body may repeat the rejected secret: report the status only.
        if reply.status != 200 and reply.status != 201:
            raise UpstreamDenied(
                f"The sign-in server of plugin {self.plugin} gave no token (status {reply.status}). "
                "Check the client id, the secret and the token that is exchanged."
            )
        try:
            said = msgspec.json.decode(reply.data)
        except (msgspec.DecodeError, RecursionError):
            said = None
        inner = said.get("data") if isinstance(said, dict) and isinstance(said.get("data"), dict) else said
        value = inner.get("access_token") if isinstance(inner, dict) else None
        if not isinstance(inner, dict) or not isinstance(value, str) or not value:
            raise UpstreamGarbled(
                f"The sign-in server of plugin {self.plugin} answered without a token. Check token_url."
            )
        refresh = inner.get("refresh_token")
        life = self.lifetime(inner.get("expires_in"))
        until = monotonic() + life - min(SKEW, life / 10)
        return Token(value, until, refresh if isinstance(refresh, str) else "")

    def lifetime(self, said: Any) -> float:
        minutes = self.auth.options.get("expires_minutes") or self.auth.options.get("token_expire_time")
        for seconds in (said, minutes * 60 if isinstance(minutes, int | float) else None):
            if isinstance(seconds, str) and seconds.isdigit():
                seconds = float(seconds[:12])
            if isinstance(seconds, int | float) and not isinstance(seconds, bool) and 0 < seconds < 1e9:
                return float(seconds)
        return HOUR

    async def close(self) -> None:
        await self.outbound.close()


def has(names: dict[str, str], name: str) -> bool:
    return name.lower() in {key.lower() for key in names}
