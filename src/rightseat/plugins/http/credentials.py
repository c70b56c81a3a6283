"""Credentials of a plugin's calls: from plugin.json, the configuration, or the caller's own headers."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from msgspec import Struct

from rightseat.config.secret import Secret, is_reference, resolve_reference
from rightseat.errors import CallerError, ConfigError
from rightseat.plugins.auths import OUTSIDE_FILE_HINT, is_outside_folder
from rightseat.plugins.http.gate import PluginPolicy
from rightseat.plugins.http.oidc import TokenClient
from rightseat.plugins.http.style import quote_all, quote_cookie
from rightseat.plugins.plugin import Plugin, PluginAuth
from rightseat.types.turn import Turn

log = logging.getLogger(__name__)
V = TypeVar("V")


class Identity(Struct, frozen=True, kw_only=True):
    """Credentials of one call. `secret_values` are redacted from its response."""

    headers: dict[str, str] = {}
    query: dict[str, str] = {}
    cookies: dict[str, str] = {}
    secret_values: tuple[str, ...] = ()
    invalidators: tuple[Callable[[], None], ...] = ()
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
        named = [f"{auth.kind} {' and '.join(auth.args)}".strip() for auth in self.plugin.auth]
        return list(dict.fromkeys(named))

    async def resolve(self, turn: Turn) -> Identity:
        headers: dict[str, str] = {}
        query: dict[str, str] = {}
        cookies: dict[str, str] = {}
        values: list[str] = []
        invalidators: list[Callable[[], None]] = []
        for index, auth in enumerate(self.plugin.auth):
            if auth.kind == "oidc":
                client = self.token_clients[index]
                token = await client.get_token(turn)
                headers[client.header] = client.header_value(token)
                values.append(token.value)
                invalidators.append(client.make_forget(token))
                continue
            target = {"header": headers, "param": query, "cookie": cookies}[auth.kind]
            for name, configured in auth.args.items():
                # An empty credential is not sent: the server's error explains it.
                if value := self.lookup(name, configured, turn):
                    target[name] = value
                    values.append(value)
        return Identity(
            headers=headers,
            query=query,
            cookies=cookies,
            secret_values=tuple(values),
            invalidators=tuple(invalidators),
        )

    def lookup(self, name: str, configured: Any, turn: Turn) -> str:
        """Return a credential's value: the caller's header, the configuration's value, or plugin.json's."""
        header = get_ignoring_case(self.policy.caller_headers, name)
        if header is not None:
            header_value = turn.headers.get(header.lower(), "")
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
        known = {name.lower() for auth in self.plugin.auth for name in credential_names(auth)}
        for name in (*self.policy.credentials, *self.policy.caller_headers):
            if name.lower() not in known:
                raise ConfigError(
                    f"Plugin {self.plugin.id} uses no credential {name!r}. "
                    f"It uses: {', '.join(sorted(known)) or 'none'}."
                )

    def warn_about_plain_text(self) -> None:
        for auth in self.plugin.auth:
            for name, given in auth.args.items():
                set_here = get_ignoring_case(self.policy.credentials, name) or get_ignoring_case(
                    self.policy.caller_headers, name
                )
                if reveal_text(given) and not is_reference(reveal_text(given)) and not set_here:
                    log.warning(
                        'plugin %s: auth.args.%s holds its secret in plain text. Write "env:NAME" there.',
                        self.plugin.id,
                        name,
                    )

    async def close(self) -> None:
        for tokens in self.token_clients.values():
            await tokens.close()


def credential_names(auth: PluginAuth) -> set[str]:
    oidc_names = {"access_token", "client_id", "client_secret"} if auth.kind == "oidc" else set()
    return {*auth.args, *oidc_names}


def get_ignoring_case(values: Mapping[str, V], name: str) -> V | None:
    return next((value for key, value in values.items() if key.lower() == name.lower()), None)


def reveal_text(value: Any) -> str:
    return value.reveal() if isinstance(value, Secret) else "" if value is None else str(value)
