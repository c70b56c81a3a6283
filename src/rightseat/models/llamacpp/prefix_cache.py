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
from rightseat.models.llamacpp.child import LaunchOptions
from rightseat.models.llamacpp.client import LlamaServerClient

ENGINE = "xllamacpp"
# A prompt as sent: text, or token ids if it contains foreign control tokens.
PromptText = str | list[int]
_SUFFIX = ".slot"
_CHECKSUM_CHARS = 32
# Ages at which unused prefixes and leftover drafts are deleted.
_UNUSED_SECONDS, _STALE_DRAFT_SECONDS = 30 * 86_400, 3_600

log = logging.getLogger(__name__)


class CachedPrefix(Struct, frozen=True):
    """A saved prefix: its prompt, and name and size of its file in the launch's slot_save_path."""

    prompt: PromptText
    file_name: str
    size: int

    @classmethod
    def find(cls, launch: LaunchOptions, text: PromptText) -> CachedPrefix | None:
        """Return the saved prefix if its checksum matches; deletes damaged files. Blocks."""
        assert launch.slot_save_path is not None
        for path in launch.slot_save_path.glob(f"{prefix_key(launch, text)}-*{_SUFFIX}"):
            with contextlib.suppress(OSError):
                if path.name.removesuffix(_SUFFIX).endswith(f"-{_checksum(path)}"):
                    path.touch()  # marks it as used: see `prepare_folder`
                    return cls(text, path.name, path.stat().st_size)
            log.warning("%s is damaged and is made anew", path)
            remove_file(path)
        return None

    def is_intact(self, folder: Path) -> bool:
        """Return whether the file still exists with the verified size."""
        try:
            return (folder / self.file_name).stat().st_size == self.size
        except OSError:
            return False


async def save_prefix(client: LlamaServerClient, slot: int, launch: LaunchOptions, text: PromptText) -> CachedPrefix:
    """Save a slot's state to a file; raises ConfigError if it cannot be written."""
    folder = launch.slot_save_path
    assert folder is not None
    draft = f"draft-{secrets.token_hex(8)}"
    try:
        await client.run_slot_action(slot, "save", draft)
        checksum = await asyncio.to_thread(_checksum, folder / draft)
        name = make_prefix_name(launch, text, checksum)
        path = (folder / draft).replace(folder / name)
        return CachedPrefix(text, name, path.stat().st_size)
    except (OSError, RightseatError) as error:
        remove_file(folder / draft)
        raise ConfigError(
            f"precache: the prompt was not saved in {folder}. Check its free space and its permissions."
        ) from error


def make_prefix_name(launch: LaunchOptions, text: PromptText, checksum: str) -> str:
    """Return the name of a saved state; `checksum` is its sha256."""
    return f"{prefix_key(launch, text)}-{checksum[:_CHECKSUM_CHARS]}{_SUFFIX}"


def prefix_key(launch: LaunchOptions, text: PromptText) -> str:
    """Return a hash of all that a saved state depends on: weights, adapter, engine version and text."""
    files = (launch.model, launch.lora, launch.binary)
    engine = "" if launch.binary else importlib.metadata.version(ENGINE)
    parts = (*(_file_version(file) for file in files), engine, str(text))
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:32]


def prepare_folder(path: Path) -> Path | None:
    """Create the private folder for slot files and delete old ones; None if that fails."""
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        for file in path.iterdir():
            age = time.time() - file.stat().st_mtime
            # Drafts left by a killed process, and prefixes that are no longer used.
            if age > (_UNUSED_SECONDS if file.suffix == _SUFFIX else _STALE_DRAFT_SECONDS):
                remove_file(file)
    except OSError as error:
        log.warning("prompts cannot be kept in %s: %s", path, error.strerror)
        return None
    return path


def remove_file(path: Path) -> None:
    with contextlib.suppress(OSError):
        path.unlink(missing_ok=True)


def _file_version(file: Path | None) -> str:
    if file is None:
        return ""
    status = file.stat()
    return f"{file.absolute()}:{status.st_size}:{status.st_mtime_ns}"


def _checksum(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()[:_CHECKSUM_CHARS]
