"""Read `auth` of plugin.json, in all its historical forms."""

from __future__ import annotations

import pathlib as files
from collections.abc import Iterator
from typing import Any

import msgspec

from rightseat.config.secret import Secret, is_reference
from rightseat.http.fetch.fetch import is_allowed_header
from rightseat.plugins.document import PluginDocument
from rightseat.plugins.fields import AuthFields
from rightseat.plugins.place import KeyPath
from rightseat.plugins.plugin import AuthKind, PluginAuth
from rightseat.plugins.problem import Gravity, Problem
from rightseat.types.nearest import did_you_mean

AUTH_KINDS: dict[str, AuthKind] = {
    "header": "header",
    "headers": "header",
    "param": "param",
    "params": "param",
    "query": "param",
    "cookie": "cookie",
    "cookies": "cookie",
    "oidc": "oidc",
}
AUTH_KIND_NAMES = "header, param, cookie, oidc"
PLAIN_KEYS = ("type", "args")
OIDC_KEYS = (*(field.name for field in msgspec.structs.fields(AuthFields)), "expires_minutes", "access_token")
SECRET_KEYS = ("client_secret", "access_token", "refresh_token", "password", "token")
OUTSIDE_FILE_HINT = "A file anywhere else is named in `auth` of [[plugins]] in rightseat.toml."
AUTH_EXAMPLE = 'Write {"type": "header", "args": {"Authorization": "env:NAME"}}.'


class AuthReader:
    def __init__(self, document: PluginDocument, folder: files.Path) -> None:
        self.document = document
        self.folder = folder
        self.problems: list[Problem] = []

    def read(self) -> tuple[PluginAuth, ...]:
        value = self.document.value.get("auth")
        if value is None:
            return ()
        entries = value if isinstance(value, list) else [value]
        paths: list[KeyPath] = [
            ("auth", n) if isinstance(value, list) else ("auth",) for n in range(len(entries))
        ]
        return tuple(
            auth for one, path in zip(entries, paths, strict=True) for auth in self.read_entry(one, path)
        )

    def read_entry(self, entry: Any, path: KeyPath) -> Iterator[PluginAuth]:
        if not isinstance(entry, dict):
            self.add_problem(path, "It is no object.", AUTH_EXAMPLE)
        elif not entry:
            return
        elif "type" in entry or not entry.keys() & AUTH_KINDS.keys():
            yield from self.read_typed(entry, path)
        else:
            for key in entry:
                yield from self.read_by_kind(key, entry[key], (*path, key))

    def read_typed(self, entry: dict[str, Any], path: KeyPath) -> Iterator[PluginAuth]:
        kind = AUTH_KINDS.get(str(entry.get("type", "")).strip().lower())
        if kind is None:
            what = f"There is no type {str(entry['type'])[:40]!r}." if "type" in entry else "It has no type."
            self.add_problem((*path, "type"), what, f"Write one of {AUTH_KIND_NAMES}.")
            return
        args = self.read_args(kind, entry.get("args"), (*path, "args"))
        self.check_unknown_keys(kind, entry, path)
        yield PluginAuth(kind=kind, args=args, options={} if kind != "oidc" else self.read_options(entry))

    def read_by_kind(self, key: str, value: Any, path: KeyPath) -> Iterator[PluginAuth]:
        """Read the later form: `{"header": [{"name": …, "value": …}], "oidc": {…}}`."""
        kind = AUTH_KINDS.get(key)
        if kind is None:
            self.add_problem(path, f"There is no kind {key[:40]!r}.", f"Write one of {AUTH_KIND_NAMES}.")
        elif kind == "oidc":
            if isinstance(value, dict):
                args = self.read_args(kind, value.get("args"), (*path, "args"))
                self.check_unknown_keys(kind, value, path)
                yield PluginAuth(kind=kind, args=args, options=self.read_options(value))
            elif value is not None:
                self.add_problem(path, "It is no object.", 'Write {"token_url": …, "client_id": …}.')
        elif value:
            yield PluginAuth(kind=kind, args=self.read_args(kind, value, path))

    def read_args(self, kind: AuthKind, value_or_list: Any, path: KeyPath) -> dict[str, Secret]:
        if isinstance(value_or_list, list):
            value_or_list = {
                str(one.get("name", "")): one.get("value", "")
                for one in value_or_list
                if isinstance(one, dict)
            }
        if value_or_list is not None and not isinstance(value_or_list, dict):
            self.add_problem(path, "It is no object of names and values.", AUTH_EXAMPLE)
        secrets: dict[str, Secret] = {}
        for name, value in value_or_list.items() if isinstance(value_or_list, dict) else ():
            if not isinstance(value, str | int | float) or not str(name).strip():
                self.add_problem((*path, name), "It is no text.", AUTH_EXAMPLE)
                continue
            if kind == "header" and not is_allowed_header(str(name).strip()):
                self.add_problem((*path, name), "No request can have a header of this name.", "Leave it out.")
                continue
            secrets[str(name).strip()] = Secret(str(value))
            self.check_value(kind, str(value), (*path, name))
        if not secrets and kind != "oidc":
            self.add_problem(path, "It names nothing to send.", AUTH_EXAMPLE, "warning")
        return secrets

    def check_value(self, kind: AuthKind, value: str, path: KeyPath) -> None:
        if not value and kind != "oidc":
            self.add_problem(path, "It has no value, and is not sent.", 'Write "env:NAME".', "warning")
        elif value and not is_reference(value):
            message = "The value stands in the file, where everybody can read it."
            self.add_problem(path, message, 'Write "env:NAME" or "file:PATH".', "style")

        elif is_outside_folder(value, self.folder):
            self.add_problem(
                path, "The file is not in the plugin's folder, and is not read.", OUTSIDE_FILE_HINT
            )

    def check_unknown_keys(self, kind: AuthKind, entry: dict[str, Any], path: KeyPath) -> None:
        known = OIDC_KEYS if kind == "oidc" else PLAIN_KEYS
        for key in entry:
            if key not in known and not key.startswith(("$", "x-", "_")):
                what = f"Nothing is called {key[:40]!r} here; it is passed over."
                self.add_problem((*path, key), what, did_you_mean(key, known), "warning")
            if kind == "oidc" and key in SECRET_KEYS and isinstance(entry[key], str):
                self.check_value(kind, entry[key], (*path, key))
        if kind == "oidc" and not (entry.get("token_url") or entry.get("access_token_url")):
            fix = 'Add "token_url".'
            self.add_problem((*path, "token_url"), "Nobody knows where to get a token.", fix)

    def read_options(self, entry: dict[str, Any]) -> dict[str, Any]:
        kept = {key: value for key, value in entry.items() if key not in ("type", "args")}
        return {
            key: Secret(value) if key in SECRET_KEYS and isinstance(value, str) else value
            for key, value in kept.items()
        }

    def add_problem(self, path: KeyPath, what: str, fix: str, gravity: Gravity = "error") -> None:
        self.problems.append(self.document.make_problem(path, what, fix, gravity))


def is_outside_folder(value: str, folder: files.Path) -> bool:
    """Whether a `file:` value lies outside the plugin's folder: untrusted plugins may send only own files."""
    if not value.startswith("file:"):
        return False
    name = value.removeprefix("file:").strip()
    return name.startswith("~") or not (folder / name).resolve().is_relative_to(folder.resolve())
