"""How this rightseat is installed: commands that work where they are printed, to start it and to add packages to it."""

from __future__ import annotations

import importlib.util
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from urllib.parse import unquote, urlsplit

import msgspec

PACKAGE = "rightseat"


def join_command(words: Sequence[str]) -> str:
    """Join the words of a command as this platform's shell reads them."""
    return subprocess.list2cmdline(words) if sys.platform == "win32" else shlex.join(words)


def shorten_path(path: Path) -> str:
    """Return a path relative to the working folder if it is below that. Links are not followed: the interpreter of
    an environment is one."""
    absolute = Path(os.path.abspath(path))
    folder = Path.cwd()
    return str(absolute.relative_to(folder)) if absolute.is_relative_to(folder) else str(absolute)


def shorten_program(path: Path) -> str:
    """Return a program's name if the shell finds this very file by it, else its path."""
    return path.name if shutil.which(path.name) == os.path.abspath(path) else shorten_path(path)


def format_program(arguments: Sequence[str] | None = None) -> list[str]:
    """Return the words by which this program was started, for a command to be pasted."""
    program = Path((sys.argv if arguments is None else arguments)[0])
    if program.stem == PACKAGE and program.is_file():
        return [shorten_program(program)]
    return [shorten_program(Path(sys.executable)), "-m", PACKAGE]


def find_clone() -> Path | None:
    """Return the repository that this installation is the `.venv` of; None for any other installation."""
    try:
        text = distribution(PACKAGE).read_text("direct_url.json")
        source = msgspec.json.decode(text or "{}", type=dict[str, object])
    except (PackageNotFoundError, msgspec.MsgspecError, UnicodeDecodeError):
        return None
    details = source.get("dir_info")
    if not isinstance(details, dict) or not details.get("editable"):
        return None
    folder = Path(unquote(urlsplit(str(source.get("url"))).path))
    return folder if (folder / "Makefile").is_file() and Path(sys.prefix) == folder / ".venv" else None


def format_extra_command(extra: str) -> str:
    """Return the command that adds the packages of an extra to this installation."""
    return format_install_command(f"{PACKAGE}[{extra}]")


def format_install_command(*requirements: str) -> str:
    """Return the command that adds packages to this installation."""
    clone = find_clone()
    if clone is not None:
        place = [] if Path.cwd() == clone else ["-C", str(clone)]
        return join_command(["make", *place, "install", f"ADD={' '.join(requirements)}"])
    prefix, python = Path(sys.prefix), Path(sys.executable)
    if (prefix / "pipx_metadata.json").is_file():
        return join_command(["pipx", "runpip", PACKAGE, "install", *requirements])
    if (prefix / "uv-receipt.toml").is_file() or importlib.util.find_spec("pip") is None:
        # An environment of uv has no pip.
        return join_command(["uv", "pip", "install", "--python", shorten_path(python), *requirements])
    return join_command([shorten_program(python), "-m", "pip", "install", *requirements])
