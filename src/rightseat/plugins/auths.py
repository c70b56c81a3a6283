"""Read `auth` of plugin.json, in all its historical forms."""

from __future__ import annotations

import pathlib as files
from collections.abc import Iterator
from typing import Any

import msgspec

from rightseat.config.secret import Secret, is_reference
from rightseat.http.fetch.fetch import may_be_sent
from rightseat.plugins.document import Document
from rightseat.plugins.fields import AuthFields
from rightseat.plugins.place import Path
from rightseat.plugins.plugin import Auth, AuthKind
from rightseat.plugins.problem import Gravity, Problem
from rightseat.types.nearest import meant

KINDS: dict[str, AuthKind] = {
    "header": "header",
    "headers": "header",
    "param": "param",
    "params": "param",
    "query": "param",
    "cookie": "cookie",
    "cookies": "cookie",
    "oidc": "oidc",
}
KNOWN = "header, param, cookie, oidc"
PLAIN = ("type", "args")
OIDC = (*(field.name for field in msgspec.structs.fields(AuthFields)), "expires_minutes", "access_token")
SECRETS = ("client_secret", "access_token", "refresh_token", "password", "token")
ELSEWHERE = "A file anywhere else is named in `auth` of [[plugins]] in rightseat.toml."
SHAPE = 'Write {"type": "header", "args": {"Authorization": "env:NAME"}}.'


class Auths:
    def __init__(self, document: Document, folder: files.Path) -> None:
        self.document = document
        self.folder = folder
        self.problems: list[Problem] = []

    def read(self) -> tuple[Auth, ...]:
        given = self.document.value.get("auth")
        if given is None:
            return ()
        many = given if isinstance(given, list) else [given]
        paths: list[Path] = [("auth", n) if isinstance(given, list) else ("auth",) for n in range(len(many))]
        return tuple(auth for one, path in zip(many, paths, strict=True) for auth in self.one(one, path))

    def one(self, given: Any, path: Path) -> Iterator[Auth]:
        if not isinstance(given, dict):
            self.note(path, "It is no object.", SHAPE)
        elif not given:
            return
        elif "type" in given or not given.keys() & KINDS.keys():
            yield from self.typed(given, path)
        else:
            for key in given:
                yield from self.later(key, given[key], (*path, key))

    def typed(self, given: dict[str, Any], path: Path) -> Iterator[Auth]:
        kind = KINDS.get(str(given.get("type", "")).strip().lower())
        if kind is None:
            what = f"There is no type {str(given['type'])[:40]!r}." if "type" in given else "It has no type."
            self.note((*path, "type"), what, f"Write one of {KNOWN}.")
            return
        args = self.args(kind, given.get("args"), (*path, "args"))
        self.unknown(kind, given, path)
        yield Auth(kind=kind, args=args, options={} if kind != "oidc" else self.options(given))

    def later(self, key: str, given: Any, path: Path) -> Iterator[Auth]:
        """Read the later form: `{"header": [{"name": …, "value": …}], "oidc": {…}}`."""
        kind = KINDS.get(key)
        if kind is None:
            self.note(path, f"There is no kind {key[:40]!r}.", f"Write one of {KNOWN}.")
        elif kind == "oidc":
            if isinstance(given, dict):
                args = self.args(kind, given.get("args"), (*path, "args"))
                self.unknown(kind, given, path)
                yield Auth(kind=kind, args=args, options=self.options(given))
            elif given is not None:
                self.note(path, "It is no object.", 'Write {"token_url": …, "client_id": …}.')
        elif given:
            yield Auth(kind=kind, args=self.args(kind, given, path))

    def args(self, kind: AuthKind, given: Any, path: Path) -> dict[str, Secret]:
        if isinstance(given, list):
            given = {str(one.get("name", "")): one.get("value", "") for one in given if isinstance(one, dict)}
        if given is not None and not isinstance(given, dict):
            self.note(path, "It is no object of names and values.", SHAPE)
        found: dict[str, Secret] = {}
        for name, value in given.items() if isinstance(given, dict) else ():
            if not isinstance(value, str | int | float) or not str(name).strip():
                self.note((*path, name), "It is no text.", SHAPE)
                continue
            if kind == "header" and not may_be_sent(str(name).strip()):
                self.note((*path, name), "No request can have a header of this name.", "Leave it out.")
                continue
            found[str(name).strip()] = Secret(str(value))
            self.look(kind, str(value), (*path, name))
        if not found and kind != "oidc":
            self.note(path, "It names nothing to send.", SHAPE, "warning")
        return found

    def look(self, kind: AuthKind, value: str, path: Path) -> None:
        if not value and kind != "oidc":
            self.note(path, "It has no value, and is not sent.", 'Write "env:NAME".', "warning")
        elif value and not is_reference(value):
            said = "The value stands in the file, where everybody can read it."
            self.note(path, said, 'Write "env:NAME" or "file:PATH".', "style")

        elif leads_out(value, self.folder):
            self.note(path, "The file is not in the plugin's folder, and is not read.", ELSEWHERE)

    def unknown(self, kind: AuthKind, given: dict[str, Any], path: Path) -> None:
        known = OIDC if kind == "oidc" else PLAIN
        for key in given:
            if key not in known and not key.startswith(("$", "x-", "_")):
                what = f"Nothing is called {key[:40]!r} here; it is passed over."
                self.note((*path, key), what, meant(key, known), "warning")
            if kind == "oidc" and key in SECRETS and isinstance(given[key], str):
                self.look(kind, given[key], (*path, key))
        if kind == "oidc" and not (given.get("token_url") or given.get("access_token_url")):
            fix = 'Add "token_url".'
            self.note((*path, "token_url"), "Nobody knows where to get a token.", fix)

    def options(self, given: dict[str, Any]) -> dict[str, Any]:
        kept = {key: value for key, value in given.items() if key not in ("type", "args")}
        return {
            key: Secret(value) if key in SECRETS and isinstance(value, str) else value
            for key, value in kept.items()
        }

    def note(self, path: Path, what: str, fix: str, gravity: Gravity = "error") -> None:
        self.problems.append(self.document.problem(path, what, fix, gravity))


def leads_out(value: str, folder: files.Path) -> bool:
    """Whether a `file:` value lies outside the plugin's folder: untrusted plugins may send only own files."""
    if not value.startswith("file:"):
        return False
    name = value.removeprefix("file:").strip()
    return name.startswith("~") or not (folder / name).resolve().is_relative_to(folder.resolve())
