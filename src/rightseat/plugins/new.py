"""Write a new plugin: a commented skeleton that passes the strict check."""

from __future__ import annotations

import re
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path

from rightseat.errors import CallerError

NAME = re.compile(r"[a-z][a-z0-9_-]{0,39}")
LONGEST_TITLE = 14
SUFFIX = ".txt"  # keeps the templates from being taken for modules of this package


def write(name: str, where: Path) -> Path:
    """Write the skeleton and return its folder; raise CallerError if it exists."""
    if not NAME.fullmatch(name):
        raise CallerError(
            f"A plugin cannot be called {name[:41]!r}. "
            "Use lower-case letters, digits, _ and -: a letter first, and at most 40."
        )
    folder = where / name
    title = re.sub(r"[_-]+", " ", name).strip().capitalize()[:LONGEST_TITLE].strip()
    words = {"@NAME@": name, "@TITLE@": title, "@VARIABLE@": re.sub(r"\W", "_", name).upper()}
    try:
        folder.mkdir(parents=True)
        copy(files("rightseat.plugins") / "skeleton", folder, words)
    except FileExistsError:
        raise CallerError(f"{folder} is there already. Choose another name.") from None
    except OSError as error:
        raise CallerError(f"{folder} cannot be written: {error.strerror}.") from None
    return folder


def copy(source: Traversable, folder: Path, words: dict[str, str]) -> None:
    for item in source.iterdir():
        if item.is_dir():
            (folder / item.name).mkdir()
            copy(item, folder / item.name, words)
        elif item.name.endswith(SUFFIX):
            text = item.read_text("utf-8")
            for mark, word in words.items():
                text = text.replace(mark, word)
            (folder / item.name.removesuffix(SUFFIX)).write_text(text, "utf-8")
