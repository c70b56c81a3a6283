"""Read plugin.json: name, description, question and auth of a plugin."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from rightseat.plugins import fields
from rightseat.plugins.auths import AuthReader
from rightseat.plugins.document import PluginDocument, UnreadableFile, read_document
from rightseat.plugins.openapi.style import is_vague
from rightseat.plugins.plugin import PluginAuth
from rightseat.plugins.problem import Gravity, Problem
from rightseat.types.nearest import did_you_mean

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
        self.check_unknown_keys()
        auths = AuthReader(self.document, self.folder)
        auth = auths.read()
        manifest = PluginManifest(
            name=self.read_name(),
            description=self.read_description(),
            alias=self.read_alias(),
            question=self.read_text("predefined_question"),
            automatic_flow=self.read_automatic_flow(),
            auth=auth,
        )
        return msgspec.structs.replace(manifest, problems=(*self.problems, *auths.problems))

    def check_unknown_keys(self) -> None:
        known = [field.name for field in msgspec.structs.fields(fields.ManifestFields)]
        for key in self.document.value:
            if key not in known and not key.startswith(("$", "x-", "_")):
                self.add_problem(
                    key, f"Nothing is called {key[:40]!r} here; it is passed over.", did_you_mean(key, known)
                )

    def read_text(self, key: str) -> str:
        value = self.document.value.get(key)
        if value is None:
            return ""
        if isinstance(value, str):
            return value.strip()[:MAX_TEXT_LENGTH]
        if isinstance(value, int | float) and not isinstance(value, bool):
            return str(value)
        self.add_problem(key, "It is no text, and is passed over.", "Write it in double quotes.")
        return ""

    def read_name(self) -> str:
        name = self.read_text("name")
        if not name:
            self.add_problem("name", "The plugin has no name; its folder's is shown.", 'Add "name".')
        elif len(name) >= MAX_NAME_LENGTH:
            what = f"The name has {len(name)} characters; under {MAX_NAME_LENGTH} are shown well."
            self.add_problem("name", what, "Shorten it.", "style")
        return name

    def read_description(self) -> str:
        text = self.read_text("description")
        if not text:
            what = "The plugin has no description; that of its API is taken, if there is one."
            self.add_problem("description", what, "Say what it does, what it takes and what it gives back.")
        elif is_vague(text):
            fix = "Say what it does, what it takes and what it gives back."
            self.add_problem("description", f"The description is vague: {text!r}.", fix, "style")
        return text

    def read_alias(self) -> str:
        alias = self.read_text("id")
        if alias and (not _ALIAS_PATTERN.fullmatch(alias) or len(alias) > MAX_ALIAS_LENGTH or ".." in alias):
            what = "It has other than letters, digits, _ and -; it is passed over."
            self.add_problem("id", what, ALIAS_FIX)
            return ""
        if alias and not ID_PATTERN.fullmatch(alias):
            what = f"{alias!r} is not in lower-case letters, digits, _ and -."
            self.add_problem("id", what, ALIAS_FIX, "style")
        if alias and alias != self.folder.name:
            what = f"It differs from the folder's name; {alias!r} is an alias."
            self.add_problem("id", what, "Give both the same name.", "style")
        return alias if alias != self.folder.name else ""

    def read_automatic_flow(self) -> bool:
        value: Any = self.document.value.get("automatic_flow", False)
        if isinstance(value, bool):
            return value
        self.add_problem(
            "automatic_flow", "It is neither true nor false.", "Write true or false, without quotes."
        )
        return str(value).strip().lower() == "true"

    def add_problem(self, key: str, what: str, fix: str, gravity: Gravity = "warning") -> None:
        self.problems.append(self.document.make_problem((key,), what, fix, gravity))
