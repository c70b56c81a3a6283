"""On-disk cache of prompt prefixes: slot states that are restored after a restart.

Loading a truncated or changed file crashes the engine's process. So a file gets its final name only when it
is complete, the name contains its checksum, and the checksum is verified before the engine loads the file.
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
# Ages at which unused prefixes and leftover drafts are deleted.
_UNUSED, _FORGOTTEN = 30 * 86_400, 3_600

log = logging.getLogger(__name__)


class Prefix(Struct, frozen=True):
    """A saved prefix: its prompt, and name and size of its file in the launch's slot_save_path."""

    held: str | list[int]
    name: str
    size: int

    @classmethod
    def found(cls, launch: Launch, text: str | list[int]) -> Prefix | None:
        """Return the saved prefix if its checksum matches; deletes damaged files. Blocks."""
        assert launch.saves is not None
        for place in launch.saves.glob(f"{key(launch, text)}-*{_SUFFIX}"):
            with contextlib.suppress(OSError):
                if place.name.removesuffix(_SUFFIX).endswith(f"-{_checksum(place)}"):
                    place.touch()  # marks it as used: see `prepare_folder`
                    return cls(text, place.name, place.stat().st_size)
            log.warning("%s is damaged and is made anew", place)
            removed(place)
        return None

    def intact(self, folder: Path) -> bool:
        """Return whether the file still exists with the verified size."""
        try:
            return (folder / self.name).stat().st_size == self.size
        except OSError:
            return False


async def saved(client: Client, slot: int, launch: Launch, text: str | list[int]) -> Prefix:
    """Save a slot's state to a file; raises ConfigError if it cannot be written."""
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
    """Return a hash of all that a saved state depends on: weights, adapter, engine version and text."""
    files = (launch.model, launch.lora, launch.binary)
    engine = "" if launch.binary else importlib.metadata.version(ENGINE)
    parts = (*(_stamp(file) for file in files), engine, str(text))
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:32]


def folder(place: Path) -> Path | None:
    """Create the private folder for slot files and delete old ones; None if that fails."""
    try:
        place.mkdir(mode=0o700, parents=True, exist_ok=True)
        for file in place.iterdir():
            age = time.time() - file.stat().st_mtime
            # Drafts left by a killed process, and prefixes that are no longer used.
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
