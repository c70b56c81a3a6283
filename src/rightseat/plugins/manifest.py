"""Read plugin.json: name, description, question and auth of a plugin."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from rightseat.plugins import fields
from rightseat.plugins.auths import Auths
from rightseat.plugins.document import Document, Unreadable, read
from rightseat.plugins.openapi.style import vague
from rightseat.plugins.plugin import Auth
from rightseat.plugins.problem import Gravity, Problem
from rightseat.types.nearest import meant

FILE = "plugin.json"
LONGEST_NAME = 15
MAX_TEXT = 4_000
MAX_ALIAS = 100
OWN_NAME = "Write the folder's name there, or leave `id` out."
ID = re.compile(r"[a-z0-9_.-]+")
_ALIAS = re.compile(r"[\w. -]+")


class Manifest(Struct, frozen=True, kw_only=True):
    """Content of plugin.json; missing values are empty."""

    name: str = ""
    description: str = ""
    alias: str = ""
    question: str = ""
    automatic_flow: bool = False
    auth: tuple[Auth, ...] = ()
    problems: tuple[Problem, ...] = ()
    broken: bool = False
    """The file could not be read."""


def manifest(folder: Path) -> Manifest:
    try:
        document = read(folder, FILE)
    except Unreadable as error:
        return Manifest(problems=(error.problem,), broken=True)
    if not isinstance(document.value, dict):
        fix = "`rightseat plugins new NAME` writes one to begin with."
        problem = document.problem((), "It is no JSON object.", fix)
        return Manifest(problems=(*document.problems, problem), broken=True)
    return Fields(document, folder).read()


class Fields:
    def __init__(self, document: Document, folder: Path) -> None:
        self.document, self.folder = document, folder
        self.problems = list(document.problems)

    def read(self) -> Manifest:
        self.unknown()
        auths = Auths(self.document, self.folder)
        auth = auths.read()
        made = Manifest(
            name=self.name(),
            description=self.description(),
            alias=self.alias(),
            question=self.text("predefined_question"),
            automatic_flow=self.automatic(),
            auth=auth,
        )
        return msgspec.structs.replace(made, problems=(*self.problems, *auths.problems))

    def unknown(self) -> None:
        known = [field.name for field in msgspec.structs.fields(fields.Manifest)]
        for key in self.document.value:
            if key not in known and not key.startswith(("$", "x-", "_")):
                self.note(key, f"Nothing is called {key[:40]!r} here; it is passed over.", meant(key, known))

    def text(self, key: str) -> str:
        value = self.document.value.get(key)
        if value is None:
            return ""
        if isinstance(value, str):
            return value.strip()[:MAX_TEXT]
        if isinstance(value, int | float) and not isinstance(value, bool):
            return str(value)
        self.note(key, "It is no text, and is passed over.", "Write it in double quotes.")
        return ""

    def name(self) -> str:
        name = self.text("name")
        if not name:
            self.note("name", "The plugin has no name; its folder's is shown.", 'Add "name".')
        elif len(name) >= LONGEST_NAME:
            what = f"The name has {len(name)} characters; under {LONGEST_NAME} are shown well."
            self.note("name", what, "Shorten it.", "style")
        return name

    def description(self) -> str:
        text = self.text("description")
        if not text:
            what = "The plugin has no description; that of its API is taken, if there is one."
            self.note("description", what, "Say what it does, what it takes and what it gives back.")
        elif vague(text):
            fix = "Say what it does, what it takes and what it gives back."
            self.note("description", f"The description is vague: {text!r}.", fix, "style")
        return text

    def alias(self) -> str:
        given = self.text("id")
        if given and (not _ALIAS.fullmatch(given) or len(given) > MAX_ALIAS or ".." in given):
            what = "It has other than letters, digits, _ and -; it is passed over."
            self.note("id", what, OWN_NAME)
            return ""
        if given and not ID.fullmatch(given):
            what = f"{given!r} is not in lower-case letters, digits, _ and -."
            self.note("id", what, OWN_NAME, "style")
        if given and given != self.folder.name:
            what = f"It differs from the folder's name; {given!r} is an alias."
            self.note("id", what, "Give both the same name.", "style")
        return given if given != self.folder.name else ""

    def automatic(self) -> bool:
        value: Any = self.document.value.get("automatic_flow", False)
        if isinstance(value, bool):
            return value
        self.note("automatic_flow", "It is neither true nor false.", "Write true or false, without quotes.")
        return str(value).strip().lower() == "true"

    def note(self, key: str, what: str, fix: str, gravity: Gravity = "warning") -> None:
        self.problems.append(self.document.problem((key,), what, fix, gravity))
