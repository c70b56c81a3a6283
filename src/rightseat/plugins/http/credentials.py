"""Credentials of a plugin's calls: from plugin.json, the configuration, the caller's own headers, or an OIDC token
endpoint, whose access tokens are cached per owner until shortly before they expire."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import logging
from collections import OrderedDict
from collections.abc import Callable, Mapping
from functools import partial
from time import monotonic
from typing import Any, TypeVar
from urllib.parse import urlencode

import msgspec
from msgspec import Struct

from rightseat.config.secret import Secret, is_reference, resolve_reference
from rightseat.errors import CallerError, ConfigError, RightseatError, UpstreamDenied, UpstreamGarbled, UpstreamRefused
from rightseat.http.fetch import AddressRules, FetchResult, OutboundClient
from rightseat.http.fetch.rules import AddressNotPublic
from rightseat.http.retry import call_with_retry
from rightseat.plugins.http.encoding import quote_all, quote_cookie
from rightseat.plugins.http.oidc import (
    CALLER_TOKEN,
    CALLER_TOKEN_FIX,
    EXCHANGE_GRANTS,
    LEGACY_EXCHANGE,
    TOKEN_EXCHANGE_GRANT,
    get_text_option,
    resolve_grant,
    resolve_header,
)
from rightseat.plugins.http.policy import PluginPolicy, allowed_hosts, private_address_error
from rightseat.plugins.manifest import OUTSIDE_FILE_HINT, is_outside_folder
from rightseat.plugins.plugin import Plugin, PluginAuth
from rightseat.types.turn import Turn

log = logging.getLogger(__name__)
V = TypeVar("V")
MAX_TOKENS = 1000
MAX_TOKEN_BYTES = 1 << 20
DEFAULT_LIFETIME = 3600.0
CLOCK_SKEW = 60.0
ACCESS_TOKEN_TYPE = "urn:ietf:params:oauth:token-type:access_token"
CredentialLookup = Callable[[str, Any, Turn], str]


class AccessToken(Struct, frozen=True):
    value: str
    expires_at: float
    refresh: str = ""

    def __repr__(self) -> str:
        return "Token(***)"


class TokenSlot:
    """One owner's token, with a lock so that concurrent calls fetch it once."""

    def __init__(self) -> None:
        self.lock = asyncio.Lock()
        self.token: AccessToken | None = None


class TokenClient:
    def __init__(self, plugin: str, auth: PluginAuth, policy: PluginPolicy, lookup: CredentialLookup) -> None:
        self.plugin = plugin
        self.auth = auth
        self.policy = policy
        self.lookup = lookup
        self.slots: OrderedDict[str, TokenSlot] = OrderedDict()
        self.url = self.option("token_url") or self.option("access_token_url")
        self.grant = resolve_grant(auth)
        self.header = resolve_header(auth)
        self.outbound = OutboundClient(
            AddressRules(allowed_hosts(self.url), policy.allow), max_bytes=MAX_TOKEN_BYTES, seconds=policy.seconds
        )

    def option(self, name: str) -> str:
        return get_text_option(self.auth, name)

    async def get_token(self, turn: Turn) -> AccessToken:
        subject = self.subject_token(turn)
        slot = self.slot_for(f"{turn.owner.name}\0{subject}" if subject else "")
        async with slot.lock:
            if slot.token is None or monotonic() >= slot.token.expires_at:
                slot.token = await self.fetch_token(slot.token, subject, turn)
            return slot.token

    def forget(self, token: AccessToken) -> None:
        """Drop this token from the cache; a newer one stays."""
        for slot in self.slots.values():
            if slot.token is token:
                slot.token = None

    def slot_for(self, owner_key: str) -> TokenSlot:
        key = hashlib.sha256(owner_key.encode("utf-8", "replace")).hexdigest()
        slot = self.slots.setdefault(key, TokenSlot())
        self.slots.move_to_end(key)
        if len(self.slots) > MAX_TOKENS:
            self.slots.popitem(last=False)
        return slot

    def subject_token(self, turn: Turn) -> str:
        """Return the caller's own token for a token exchange; empty for other grants."""
        if self.grant not in EXCHANGE_GRANTS:
            return ""
        configured = self.auth.args.get(self.header) or self.auth.options.get(CALLER_TOKEN)
        from_caller = get_ignoring_case(self.policy.caller_headers, self.header) is not None
        subject = self.lookup(self.header if from_caller else CALLER_TOKEN, configured, turn)
        if not subject:
            raise CallerError(
                f"Plugin {self.plugin} needs the caller's own token, and its settings do not say which header brings "
                f"it. Ask the operator. {CALLER_TOKEN_FIX}"
            )
        return subject.removeprefix("Bearer ").strip()

    async def fetch_token(self, old: AccessToken | None, subject: str, turn: Turn) -> AccessToken:
        if old is not None and old.refresh and self.grant != LEGACY_EXCHANGE:
            try:
                return await self.request_token({"grant_type": "refresh_token", "refresh_token": old.refresh}, turn)
            except RightseatError:
                # The refresh token may be used up or revoked: request a new token.
                pass
        if self.grant == LEGACY_EXCHANGE:
            return await self.request_token({"access_token": subject}, turn)
        form = {"grant_type": self.grant, "scope": self.option("scope"), "audience": self.option("audience")}
        if self.grant == TOKEN_EXCHANGE_GRANT:
            form |= {"subject_token": subject, "subject_token_type": ACCESS_TOKEN_TYPE}
        return await self.request_token({name: value for name, value in form.items() if value}, turn)

    async def request_token(self, form: dict[str, str], turn: Turn) -> AccessToken:
        if not self.url:
            raise CallerError(f"Plugin {self.plugin}: its oidc auth names no token_url. Add it to plugin.json.")
        headers = {"Accept": "application/json"}
        client_id = self.lookup("client_id", self.auth.options.get("client_id"), turn)
        secret = self.lookup("client_secret", self.auth.options.get("client_secret"), turn)
        if self.option("client_auth") == "basic":
            pair = urlencode({client_id: secret}).replace("=", ":", 1)
            headers["Authorization"] = f"Basic {base64.b64encode(pair.encode()).decode()}"
        else:
            client = {"client_id": client_id, "client_secret": "" if self.grant == LEGACY_EXCHANGE else secret}
            form = {**{name: value for name, value in client.items() if value}, **form}
        if self.grant == LEGACY_EXCHANGE:
            headers["Content-Type"], body = "application/json", msgspec.json.encode(form)
        else:
            headers["Content-Type"] = "application/x-www-form-urlencoded"
            body = urlencode(form).encode()

        async def attempt() -> FetchResult:
            return await self.outbound.fetch(self.url, method="POST", headers=headers, body=body, same_origin=True)

        try:
            reply = await call_with_retry(
                attempt, is_retryable=lambda error: isinstance(error, UpstreamRefused), tries=2
            )
        except AddressNotPublic as error:
            raise private_address_error(self.plugin, error) from None
        return self.parse_token_response(reply)

    def parse_token_response(self, reply: FetchResult) -> AccessToken:
        # The body may repeat the rejected secret: report the status only.
        if reply.status not in (200, 201):
            raise UpstreamDenied(
                f"The sign-in server of plugin {self.plugin} gave no token (status {reply.status}). "
                "Check the client id, the secret and the token that is exchanged."
            )
        try:
            payload = msgspec.json.decode(reply.data)
        except (msgspec.DecodeError, RecursionError):
            payload = None
        fields = payload if isinstance(payload, dict) else {}
        fields = fields["data"] if isinstance(fields.get("data"), dict) else fields
        value, refresh = fields.get("access_token"), fields.get("refresh_token")
        if not isinstance(value, str) or not value:
            raise UpstreamGarbled(
                f"The sign-in server of plugin {self.plugin} answered without a token. Check token_url."
            )
        life = self.parse_lifetime(fields.get("expires_in"))
        until = monotonic() + life - min(CLOCK_SKEW, life / 10)
        return AccessToken(value, until, refresh if isinstance(refresh, str) else "")

    def parse_lifetime(self, expires_in: Any) -> float:
        minutes = self.auth.options.get("expires_minutes") or self.auth.options.get("token_expire_time")
        for seconds in (expires_in, minutes * 60 if isinstance(minutes, int | float) else None):
            if isinstance(seconds, str) and seconds.isdigit():
                seconds = float(seconds[:12])
            if isinstance(seconds, int | float) and not isinstance(seconds, bool) and 0 < seconds < 1e9:
                return float(seconds)
        return DEFAULT_LIFETIME


class Identity(Struct):
    """Credentials of one call. `secret_values` are redacted from its response."""

    headers: dict[str, str] = {}
    query: dict[str, str] = {}
    cookies: dict[str, str] = {}
    secret_values: list[str] = []
    invalidators: list[Callable[[], None]] = []
    """Called after a 401: drop cached tokens so that new ones are fetched."""

    def __repr__(self) -> str:
        return "Identity(***)"

    @property
    def escaped_query(self) -> tuple[str, ...]:
        return tuple(f"{quote_all(name)}={quote_all(value)}" for name, value in self.query.items())

    @property
    def escaped_cookies(self) -> tuple[str, ...]:
        return tuple(f"{name}={quote_cookie(value)}" for name, value in self.cookies.items())


class Credentials:
    def __init__(self, plugin: Plugin, policy: PluginPolicy) -> None:
        self.plugin = plugin
        self.policy = policy
        self.token_clients = {
            place: TokenClient(plugin.id, auth, policy, self.lookup)
            for place, auth in enumerate(plugin.auth)
            if auth.kind == "oidc"
        }
        self.check_names()
        self.warn_about_plain_text()

    @property
    def display_names(self) -> list[str]:
        """Kinds and names of the credentials for error messages, never the values."""
        return list(dict.fromkeys(f"{auth.kind} {' and '.join(auth.args)}".strip() for auth in self.plugin.auth))

    async def resolve(self, turn: Turn) -> Identity:
        identity = Identity()
        for index, auth in enumerate(self.plugin.auth):
            if auth.kind == "oidc":
                client = self.token_clients[index]
                token = await client.get_token(turn)
                prefix = "Bearer " if client.header.lower() == "authorization" else ""
                identity.headers[client.header] = prefix + token.value
                identity.secret_values.append(token.value)
                identity.invalidators.append(partial(client.forget, token))
                continue
            target = {"header": identity.headers, "param": identity.query, "cookie": identity.cookies}[auth.kind]
            for name, configured in auth.args.items():
                # An empty credential is not sent: the server's error explains it.
                if value := self.lookup(name, configured, turn):
                    target[name] = value
                    identity.secret_values.append(value)
        return identity

    def lookup(self, name: str, configured: Any, turn: Turn) -> str:
        """Return a credential's value: the caller's header, the configuration's value, or plugin.json's."""
        header = get_ignoring_case(self.policy.caller_headers, name)
        if header is not None:
            header_value = turn.client.headers.get(header.lower(), "")
            if not header_value:
                raise CallerError(
                    f"Plugin {self.plugin.id} is called with the caller's own credential. "
                    f"Send it with the request, as the header {header}."
                )
            return header_value
        override = get_ignoring_case(self.policy.credentials, name)
        text = reveal_text(configured if override is None else override)
        if not is_reference(text):
            return text
        key = f"plugin {self.plugin.id}: {name}"
        try:
            if override is None and is_outside_folder(text, self.plugin.folder):
                raise ConfigError(f"{key}: {text} is not in the plugin's folder. {OUTSIDE_FILE_HINT}")
            return resolve_reference(text, key, folder=self.plugin.folder).reveal()
        except ConfigError as error:
            # The variable or file name is for the operator's log only.
            log.warning("%s", error.message)
            raise CallerError(
                f"The credential {name!r} of plugin {self.plugin.id} is not set up here. "
                "Ask the operator: the server's log says what is missing."
            ) from None

    def check_names(self) -> None:
        """Raise ConfigError for a configured credential that the plugin does not use."""
        known = {name.lower() for auth in self.plugin.auth for name in auth.args}
        if self.token_clients:
            known |= {CALLER_TOKEN, "client_id", "client_secret"}
        for name in (*self.policy.credentials, *self.policy.caller_headers):
            if name.lower() not in known:
                raise ConfigError(
                    f"Plugin {self.plugin.id} uses no credential {name!r}. "
                    f"It uses: {', '.join(sorted(known)) or 'none'}."
                )

    def warn_about_plain_text(self) -> None:
        for auth in self.plugin.auth:
            for name, secret in auth.args.items():
                text = reveal_text(secret)
                is_overridden = any(
                    get_ignoring_case(values, name) for values in (self.policy.credentials, self.policy.caller_headers)
                )
                if text and not is_reference(text) and not is_overridden:
                    message = 'plugin %s: auth.args.%s holds its secret in plain text. Write "env:NAME" there.'
                    log.warning(message, self.plugin.id, name)

    async def close(self) -> None:
        for client in self.token_clients.values():
            await client.outbound.close()


def get_ignoring_case(values: Mapping[str, V], name: str) -> V | None:
    return next((value for key, value in values.items() if key.lower() == name.lower()), None)


def reveal_text(value: Any) -> str:
    return value.reveal() if isinstance(value, Secret) else "" if value is None else str(value)
