"""Read plugin.json: name, description, question and auth of a plugin."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct

from rightseat.config.secret import Secret, is_reference
from rightseat.http.fetch.fetch import is_allowed_header
from rightseat.plugins.openapi.lint import is_vague, known_fields
from rightseat.plugins.plugin import AuthKind, Gravity, KeyPath, PluginAuth, Problem
from rightseat.plugins.plugin_file import PluginDocument, UnreadableFile, read_document
from rightseat.types.text import did_you_mean

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
OIDC_KEYS = (*known_fields("auth"), "expires_minutes", "access_token")
SECRET_KEYS = ("client_secret", "access_token", "refresh_token", "password", "token")
OUTSIDE_FILE_HINT = "A file anywhere else is named in `auth` of [[plugins]] in rightseat.toml."
OIDC_EXAMPLE = (
    'Write {"type": "oidc", "token_url": "https://login.example.com/oauth2/token", "client_id": "env:CLIENT_ID", '
    '"client_secret": "env:CLIENT_SECRET"}; what `args` names is sent with it.'
)
AUTH_EXAMPLE = 'Write {"type": "header", "args": {"Authorization": "env:NAME"}}.'
MANIFEST_FILE = "plugin.json"
MAX_NAME_LENGTH = 15
MAX_TEXT_LENGTH = 4_000
MAX_ALIAS_LENGTH = 100
ALIAS_FIX = "Write the folder's name there, or leave `id` out."
ID_PATTERN = re.compile(r"[a-z0-9_.-]+")
_ALIAS_PATTERN = re.compile(r"[\w. -]+")


class PluginManifest(Struct, frozen=True, kw_only=True):
    """Content of plugin.json; missing values are empty."""

    name: str = ""
    description: str = ""
    alias: str = ""
    question: str = ""
    automatic_flow: bool = False
    auth: tuple[PluginAuth, ...] = ()
    problems: tuple[Problem, ...] = ()
    broken: bool = False
    """The file could not be read."""


def read_manifest(folder: Path) -> PluginManifest:
    try:
        document = read_document(folder, MANIFEST_FILE)
    except UnreadableFile as error:
        return PluginManifest(problems=(error.problem,), broken=True)
    if not isinstance(document.value, dict):
        fix = "`rightseat plugins new NAME` writes one to begin with."
        problem = document.make_problem((), "It is no JSON object.", fix)
        return PluginManifest(problems=(*document.problems, problem), broken=True)
    return ManifestReader(document, folder).read()


class ManifestReader:
    def __init__(self, document: PluginDocument, folder: Path) -> None:
        self.document, self.folder = document, folder
        self.problems = list(document.problems)

    def read(self) -> PluginManifest:
        self.check_unknown_keys(self.document.value, known_fields("plugin.json"), ())
        return PluginManifest(
            name=self.read_name(),
            description=self.read_description(),
            alias=self.read_alias(),
            question=self.read_text("predefined_question"),
            automatic_flow=self.read_automatic_flow(),
            auth=self.read_auth(),
            # Last: reading the other fields adds to the problems.
            problems=tuple(self.problems),
        )

    def check_unknown_keys(self, entry: dict[str, Any], known: Sequence[str], path: KeyPath) -> None:
        for key in entry:
            if key not in known and not key.startswith(("$", "x-", "_")):
                what = f"Nothing is called {key[:40]!r} here; it is passed over."
                self.add_problem((*path, key), what, did_you_mean(key, known), "warning")

    def read_text(self, key: str) -> str:
        value = self.document.value.get(key)
        if value is None:
            return ""
        if isinstance(value, str):
            return value.strip()[:MAX_TEXT_LENGTH]
        if isinstance(value, int | float) and not isinstance(value, bool):
            return str(value)
        self.add_remark(key, "It is no text, and is passed over.", "Write it in double quotes.")
        return ""

    def read_name(self) -> str:
        name = self.read_text("name")
        if not name:
            self.add_remark("name", "The plugin has no name; its folder's is shown.", 'Add "name".')
        elif len(name) >= MAX_NAME_LENGTH:
            what = f"The name has {len(name)} characters; under {MAX_NAME_LENGTH} are shown well."
            self.add_remark("name", what, "Shorten it.", "style")
        return name

    def read_description(self) -> str:
        text = self.read_text("description")
        fix = "Say what it does, what it takes and what it gives back."
        if not text:
            what = "The plugin has no description; that of its API is taken, if there is one."
            self.add_remark("description", what, fix)
        elif is_vague(text):
            self.add_remark("description", f"The description is vague: {text!r}.", fix, "style")
        return text

    def read_alias(self) -> str:
        alias = self.read_text("id")
        if alias and (not _ALIAS_PATTERN.fullmatch(alias) or len(alias) > MAX_ALIAS_LENGTH or ".." in alias):
            what = "It has other than letters, digits, _ and -; it is passed over."
            self.add_remark("id", what, ALIAS_FIX)
            return ""
        if alias and not ID_PATTERN.fullmatch(alias):
            what = f"{alias!r} is not in lower-case letters, digits, _ and -."
            self.add_remark("id", what, ALIAS_FIX, "style")
        if alias and alias != self.folder.name:
            what = f"It differs from the folder's name; {alias!r} is an alias."
            self.add_remark("id", what, "Give both the same name.", "style")
        return alias if alias != self.folder.name else ""

    def read_automatic_flow(self) -> bool:
        value: Any = self.document.value.get("automatic_flow", False)
        if isinstance(value, bool):
            return value
        self.add_remark("automatic_flow", "It is neither true nor false.", "Write true or false, without quotes.")
        return str(value).strip().lower() == "true"

    def add_remark(self, key: str, what: str, fix: str, gravity: Gravity = "warning") -> None:
        self.add_problem((key,), what, fix, gravity)

    def add_problem(self, path: KeyPath, what: str, fix: str, gravity: Gravity = "error") -> None:
        self.problems.append(self.document.make_problem(path, what, fix, gravity))

    # Credentials

    def read_auth(self) -> tuple[PluginAuth, ...]:
        value = self.document.value.get("auth")
        if value is None:
            return ()
        if not isinstance(value, list):
            return tuple(self.read_entry(value, ("auth",)))
        return tuple(auth for number, entry in enumerate(value) for auth in self.read_entry(entry, ("auth", number)))

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
        yield self.read_object(kind, entry, path)

    def read_object(self, kind: AuthKind, entry: dict[str, Any], path: KeyPath) -> PluginAuth:
        args = self.read_args(kind, entry.get("args"), (*path, "args"))
        if kind != "oidc":
            self.check_unknown_keys(entry, PLAIN_KEYS, path)
            return PluginAuth(kind=kind, args=args)
        self.check_unknown_keys(entry, OIDC_KEYS, path)
        self.check_oidc(entry, path)
        options = {
            key: Secret(value) if key in SECRET_KEYS and isinstance(value, str) else value
            for key, value in entry.items()
            if key not in PLAIN_KEYS
        }
        return PluginAuth(kind=kind, args=args, options=options)

    def read_by_kind(self, key: str, value: Any, path: KeyPath) -> Iterator[PluginAuth]:
        """Read the later form: `{"header": [{"name": …, "value": …}], "oidc": {…}}`."""
        kind = AUTH_KINDS.get(key)
        if kind is None:
            self.add_problem(path, f"There is no kind {key[:40]!r}.", f"Write one of {AUTH_KIND_NAMES}.")
        elif kind == "oidc":
            if isinstance(value, dict):
                yield self.read_object(kind, value, path)
            elif value is not None:
                self.add_problem(path, "It is no object.", 'Write {"token_url": …, "client_id": …}.')
        elif value:
            yield PluginAuth(kind=kind, args=self.read_args(kind, value, path))

    def read_args(self, kind: AuthKind, values: Any, path: KeyPath) -> dict[str, Secret]:
        if isinstance(values, list):
            values = {str(one.get("name", "")): one.get("value", "") for one in values if isinstance(one, dict)}
        if values is not None and not isinstance(values, dict):
            self.add_problem(path, "It is no object of names and values.", AUTH_EXAMPLE)
            values = None
        secrets: dict[str, Secret] = {}
        for name, value in (values or {}).items():
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
            self.add_problem(path, "The file is not in the plugin's folder, and is not read.", OUTSIDE_FILE_HINT)

    def check_oidc(self, entry: dict[str, Any], path: KeyPath) -> None:
        for key, value in entry.items():
            if key in SECRET_KEYS and isinstance(value, str):
                self.check_value("oidc", value, (*path, key))
        if not (entry.get("token_url") or entry.get("access_token_url")):
            problem = "It has no address of a sign-in server, so there is no token to send."
            self.add_problem((*path, "token_url"), problem, OIDC_EXAMPLE)


def is_outside_folder(value: str, folder: Path) -> bool:
    """Whether a `file:` value lies outside the plugin's folder: untrusted plugins may send only own files."""
    if not value.startswith("file:"):
        return False
    name = value.removeprefix("file:").strip()
    return name.startswith("~") or not (folder / name).resolve().is_relative_to(folder.resolve())
