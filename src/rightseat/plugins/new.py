"""Write a new plugin: a commented skeleton that passes the strict check."""

from __future__ import annotations

import re
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path

from rightseat.errors import CallerError

NEW_NAME_PATTERN = re.compile(r"[a-z][a-z0-9_-]{0,39}")
MAX_TITLE_LENGTH = 14
TEMPLATE_SUFFIX = ".txt"  # keeps the templates from being taken for modules of this package


def write_skeleton(name: str, where: Path) -> Path:
    """Write the skeleton and return its folder; raise CallerError if it exists."""
    if not NEW_NAME_PATTERN.fullmatch(name):
        raise CallerError(
            f"A plugin cannot be called {name[:41]!r}. "
            "Use lower-case letters, digits, _ and -: a letter first, and at most 40."
        )
    folder = where / name
    title = re.sub(r"[_-]+", " ", name).strip().capitalize()[:MAX_TITLE_LENGTH].strip()
    words = {"@NAME@": name, "@TITLE@": title, "@VARIABLE@": re.sub(r"\W", "_", name).upper()}
    try:
        folder.mkdir(parents=True)
        copy_skeleton(files("rightseat.plugins") / "skeleton", folder, words)
    except FileExistsError:
        raise CallerError(f"{folder} is there already. Choose another name.") from None
    except OSError as error:
        raise CallerError(f"{folder} cannot be written: {error.strerror}.") from None
    return folder


def copy_skeleton(source: Traversable, folder: Path, words: dict[str, str]) -> None:
    for item in source.iterdir():
        if item.is_dir():
            (folder / item.name).mkdir()
            copy_skeleton(item, folder / item.name, words)
        elif item.name.endswith(TEMPLATE_SUFFIX):
            text = item.read_text("utf-8")
            for mark, word in words.items():
                text = text.replace(mark, word)
            (folder / item.name.removesuffix(TEMPLATE_SUFFIX)).write_text(text, "utf-8")
