"""Session file: the slots of an engine in one file, written when the model closes and read at its next start.

The first line has the checksum of the second; the second is JSON with the prompts, sizes and checksums of the slots;
their states follow. A file that is damaged, or of other weights or another engine, is not loaded: a wrong state would
end the engine's process. It holds what people wrote, so only the user of the server may read it.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import os
import secrets
from collections.abc import Sequence
from pathlib import Path
from typing import BinaryIO

import msgspec
from msgspec import Struct

from rightseat.errors import RightseatError
from rightseat.models.llamacpp.brokered import find_engines_socket
from rightseat.models.llamacpp.child import LaunchOptions
from rightseat.models.llamacpp.client import LlamaServer
from rightseat.models.llamacpp.prefix_cache import CachedPrefix, PromptText, make_prefix_name, prefix_key, remove_file
from rightseat.models.llamacpp.slot_scheduler import add_prefixes, get_scheduler

MAGIC = b"rightseat session 1 "
MAX_HEADER = 64 << 20
_CHUNK = 1 << 20
log = logging.getLogger(__name__)


class SessionSlot(Struct, frozen=True):
    """Entry of one slot: the prompt that it has read, and its state in the file."""

    prompt: PromptText
    size: int
    checksum: str


class SessionHeader(Struct, frozen=True):
    key: str
    """Hash of weights, adapter and engine."""
    slots: list[SessionSlot]


class SessionDamaged(Exception):
    """The file is not as it was written."""


async def load_session(server: LlamaServer, path: Path) -> int:
    """Offer the states of the file to the engine; returns how many there are. A file that cannot be used is logged."""
    launch = server.launch
    if launch is None or launch.slot_save_path is None or find_engines_socket() is not None:
        return 0
    try:
        prefixes = await asyncio.to_thread(unpack_session, path, launch)
    except FileNotFoundError:
        return 0
    except (OSError, SessionDamaged) as error:
        log.warning("the session file %s is not loaded: %s", path, error)
        return 0
    add_prefixes(launch, prefixes)
    log.info("the session file %s has %d conversations", path, len(prefixes))
    return len(prefixes)


async def save_session(server: LlamaServer, path: Path) -> int:
    """Write the states of all idle slots to the file; returns how many. Without any, the file stays as it is."""
    launch = server.launch
    if launch is None or launch.slot_save_path is None or find_engines_socket() is not None:
        return 0
    saved: list[tuple[PromptText, Path]] = []
    try:
        client = await server.client()
        for slot in get_scheduler(launch, client).slots:
            if slot.prompt and not slot.busy:
                draft = f"draft-{secrets.token_hex(8)}"
                saved.append((slot.prompt, launch.slot_save_path / draft))
                await client.run_slot_action(slot.number, "save", draft)
        if saved:
            await asyncio.to_thread(pack_session, path, launch, saved)
        return len(saved)
    except (OSError, RightseatError) as error:
        log.warning("the session file %s was not written: %s", path, error)
        return 0
    finally:
        for _, draft_path in saved:
            remove_file(draft_path)


def pack_session(path: Path, launch: LaunchOptions, saved: Sequence[tuple[PromptText, Path]]) -> None:
    """Write the file beside its place first, so that a cut leaves the one before. Blocks."""
    slots = [SessionSlot(prompt, file.stat().st_size, _hash_file(file)) for prompt, file in saved]
    header = msgspec.json.encode(SessionHeader(prefix_key(launch, ""), slots))
    draft = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "wb") as out:
            out.write(MAGIC + hashlib.sha256(header).hexdigest().encode() + b"\n" + header + b"\n")
            for _, file in saved:
                with file.open("rb") as state:
                    while data := state.read(_CHUNK):
                        out.write(data)
            out.flush()
            os.fsync(out.fileno())
        draft.replace(path)
    except BaseException:
        remove_file(draft)
        raise


def unpack_session(path: Path, launch: LaunchOptions) -> list[CachedPrefix]:
    """Copy the states of the file into the folder of the engine. Raises SessionDamaged. Blocks."""
    folder = launch.slot_save_path
    assert folder is not None
    with path.open("rb") as file:
        header = _read_header(file)
        if header.key != prefix_key(launch, ""):
            raise SessionDamaged("it is of another model, adapter or engine")
        return [_unpack_slot(file, slot, folder, launch) for slot in header.slots]


def _read_header(file: BinaryIO) -> SessionHeader:
    first, second = file.readline(200), file.readline(MAX_HEADER)
    if first != MAGIC + hashlib.sha256(second.removesuffix(b"\n")).hexdigest().encode() + b"\n":
        raise SessionDamaged("it is no session file, or damaged")
    try:
        return msgspec.json.decode(second, type=SessionHeader)
    except msgspec.MsgspecError:
        raise SessionDamaged("it is of another version") from None


def _unpack_slot(file: BinaryIO, slot: SessionSlot, folder: Path, launch: LaunchOptions) -> CachedPrefix:
    draft = folder / f"draft-{secrets.token_hex(8)}"
    digest, left = hashlib.sha256(), slot.size
    try:
        with draft.open("wb") as out:
            while left and (data := file.read(min(_CHUNK, left))):
                digest.update(data)
                out.write(data)
                left -= len(data)
        if left or digest.hexdigest() != slot.checksum:
            raise SessionDamaged("it is cut or damaged")
        # Named as a cached prompt, so that it is found and removed as one.
        name = make_prefix_name(launch, slot.prompt, slot.checksum)
        draft.replace(folder / name)
    except BaseException:
        remove_file(draft)
        raise
    return CachedPrefix(slot.prompt, name, slot.size)


def _hash_file(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
