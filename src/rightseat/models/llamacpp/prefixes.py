"""Beginnings of prompts on file: read once by the model, and there again after a restart.

A file that was cut or changed ends the engine's process when it is loaded. So a file gets its name only when
it is whole, its name holds its checksum, and it is compared before the engine may see it.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import importlib.metadata
import logging
import secrets
import time
from pathlib import Path

from msgspec import Struct

from rightseat.errors import ConfigError, RightseatError
from rightseat.models.llamacpp.client import Client
from rightseat.models.llamacpp.process import Launch

ENGINE = "xllamacpp"
_SUFFIX = ".slot"
# Seconds after which a file is taken away.
_UNUSED, _FORGOTTEN = 30 * 86_400, 3_600

log = logging.getLogger(__name__)


class Prefix(Struct, frozen=True):
    """`held` is its text; `name` and `size` are its file's in the launch's folder."""

    held: str | list[int]
    name: str
    size: int

    @classmethod
    def found(cls, launch: Launch, text: str | list[int]) -> Prefix | None:
        """The one on file, if it is whole. Blocks."""
        assert launch.saves is not None
        for place in launch.saves.glob(f"{key(launch, text)}-*{_SUFFIX}"):
            with contextlib.suppress(OSError):
                if place.name.removesuffix(_SUFFIX).endswith(f"-{_checksum(place)}"):
                    place.touch()  # it is in use: see `folder`
                    return cls(text, place.name, place.stat().st_size)
            log.warning("%s is damaged and is made anew", place)
            removed(place)
        return None

    def intact(self, folder: Path) -> bool:
        """Whether it is still there as it was compared."""
        try:
            return (folder / self.name).stat().st_size == self.size
        except OSError:
            return False


async def saved(client: Client, slot: int, launch: Launch, text: str | list[int]) -> Prefix:
    """Writes what a slot holds. Raises a ConfigError where nothing can be written."""
    folder = launch.saves
    assert folder is not None
    draft = f"draft-{secrets.token_hex(8)}"
    try:
        await client.slot(slot, "save", draft)
        checksum = await asyncio.to_thread(_checksum, folder / draft)
        name = f"{key(launch, text)}-{checksum}{_SUFFIX}"
        place = (folder / draft).replace(folder / name)
        return Prefix(text, name, place.stat().st_size)
    except (OSError, RightseatError) as error:
        removed(folder / draft)
        raise ConfigError(
            f"precache: the prompt was not saved in {folder}. Check that there is room, and that it is ours."
        ) from error


def key(launch: Launch, text: str | list[int]) -> str:
    """Of everything that the saved state depends on: weights, adapter, engine, and the text itself."""
    files = (launch.model, launch.lora, launch.binary)
    engine = "" if launch.binary else importlib.metadata.version(ENGINE)
    parts = (*(_stamp(file) for file in files), engine, str(text))
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:32]


def folder(place: Path) -> Path | None:
    """The folder for what slots hold, made and tidied; None where it cannot be. Only we may read it."""
    try:
        place.mkdir(mode=0o700, parents=True, exist_ok=True)
        for file in place.iterdir():
            age = time.time() - file.stat().st_mtime
            # What a process that was killed left behind, and what nobody wants any more.
            if age > (_UNUSED if file.suffix == _SUFFIX else _FORGOTTEN):
                removed(file)
    except OSError as error:
        log.warning("prompts cannot be kept in %s: %s", place, error.strerror)
        return None
    return place


def removed(place: Path) -> None:
    with contextlib.suppress(OSError):
        place.unlink(missing_ok=True)


def _stamp(file: Path | None) -> str:
    if file is None:
        return ""
    found = file.stat()
    return f"{file.absolute()}:{found.st_size}:{found.st_mtime_ns}"


def _checksum(place: Path) -> str:
    with place.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()[:32]
