"""Credentials of a plugin's calls: from plugin.json, the configuration, or the caller's own headers."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from msgspec import Struct

from rightseat.config.secret import Secret, is_reference, resolve
from rightseat.errors import CallerError, ConfigError
from rightseat.plugins.auths import ELSEWHERE, leads_out
from rightseat.plugins.http.gate import Gate
from rightseat.plugins.http.oidc import Tokens
from rightseat.plugins.http.style import cookie_safe, escaped
from rightseat.plugins.plugin import Auth, Plugin
from rightseat.types.turn import Turn

log = logging.getLogger(__name__)
V = TypeVar("V")


class Identity(Struct, frozen=True, kw_only=True):
    """Credentials of one call. `secret_values` are redacted from its response."""

    headers: dict[str, str] = {}
    query: dict[str, str] = {}
    cookies: dict[str, str] = {}
    values: tuple[str, ...] = ()
    renew: tuple[Callable[[], None], ...] = ()
    """Called after a 401: drop cached tokens so that new ones are fetched."""

    def __repr__(self) -> str:
        return "Identity(***)"

    @property
    def escaped_query(self) -> tuple[str, ...]:
        return tuple(f"{escaped(name)}={escaped(value)}" for name, value in self.query.items())

    @property
    def escaped_cookies(self) -> tuple[str, ...]:
        return tuple(f"{name}={cookie_safe(value)}" for name, value in self.cookies.items())


class Credentials:
    def __init__(self, plugin: Plugin, gate: Gate) -> None:
        self.plugin = plugin
        self.gate = gate
        self.tokens = {
            place: Tokens(plugin.id, auth, gate, self.value)
            for place, auth in enumerate(plugin.auth)
            if auth.kind == "oidc"
        }
        self.check_names()
        self.warn_of_plain_text()

    @property
    def names(self) -> list[str]:
        """Kinds and names of the credentials for error messages, never the values."""
        named = [f"{auth.kind} {' and '.join(auth.args)}".strip() for auth in self.plugin.auth]
        return list(dict.fromkeys(named))

    async def of(self, turn: Turn) -> Identity:
        headers: dict[str, str] = {}
        query: dict[str, str] = {}
        cookies: dict[str, str] = {}
        values: list[str] = []
        renew: list[Callable[[], None]] = []
        for place, auth in enumerate(self.plugin.auth):
            if auth.kind == "oidc":
                tokens = self.tokens[place]
                token = await tokens.token(turn)
                headers[tokens.header] = tokens.shown(token)
                values.append(token.value)
                renew.append(tokens.forgetting(token))
                continue
            into = {"header": headers, "param": query, "cookie": cookies}[auth.kind]
            for name, given in auth.args.items():
                # An empty credential is not sent: the server's error explains it.
                if value := self.value(name, given, turn):
                    into[name] = value
                    values.append(value)
        return Identity(
            headers=headers, query=query, cookies=cookies, values=tuple(values), renew=tuple(renew)
        )

    def value(self, name: str, given: Any, turn: Turn) -> str:
        """Return a credential's value: the caller's header, the configuration's value, or plugin.json's."""
        header = by_name(self.gate.caller, name)
        if header is not None:
            own = turn.headers.get(header.lower(), "")
            if not own:
                raise CallerError(
                    f"Plugin {self.plugin.id} is called with the caller's own credential. "
                    f"Send it with the request, as the header {header}."
                )
            return own
        override = by_name(self.gate.credentials, name)
        text = revealed(given if override is None else override)
        if not is_reference(text):
            return text
        key = f"plugin {self.plugin.id}: {name}"
        try:
            if override is None and leads_out(text, self.plugin.folder):
                raise ConfigError(f"{key}: {text} is not in the plugin's folder. {ELSEWHERE}")
            return resolve(text, key, folder=self.plugin.folder).reveal()
        except ConfigError as error:
            # The variable or file name is for the operator's log only.
            log.warning("%s", error.message)
            raise CallerError(
                f"The credential {name!r} of plugin {self.plugin.id} is not set up here. "
                "Ask the operator: the server's log says what is missing."
            ) from None

    def check_names(self) -> None:
        """Raise ConfigError for a configured credential that the plugin does not use."""
        known = {name.lower() for auth in self.plugin.auth for name in known_names(auth)}
        for name in (*self.gate.credentials, *self.gate.caller):
            if name.lower() not in known:
                raise ConfigError(
                    f"Plugin {self.plugin.id} uses no credential {name!r}. "
                    f"It uses: {', '.join(sorted(known)) or 'none'}."
                )

    def warn_of_plain_text(self) -> None:
        for auth in self.plugin.auth:
            for name, given in auth.args.items():
                set_here = by_name(self.gate.credentials, name) or by_name(self.gate.caller, name)
                if revealed(given) and not is_reference(revealed(given)) and not set_here:
                    log.warning(
                        'plugin %s: auth.args.%s holds its secret in plain text. Write "env:NAME" there.',
                        self.plugin.id,
                        name,
                    )

    async def close(self) -> None:
        for tokens in self.tokens.values():
            await tokens.close()


def known_names(auth: Auth) -> set[str]:
    more = {"access_token", "client_id", "client_secret"} if auth.kind == "oidc" else set()
    return {*auth.args, *more}


def by_name(values: Mapping[str, V], name: str) -> V | None:
    return next((value for key, value in values.items() if key.lower() == name.lower()), None)


def revealed(value: Any) -> str:
    return value.reveal() if isinstance(value, Secret) else "" if value is None else str(value)
