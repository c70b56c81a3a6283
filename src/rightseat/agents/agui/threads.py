"""Thread ids that a peer sees, distinct for each owner, because the peer stores conversations by them.

They are UUIDs, because many peers accept nothing else. The first half is a digest of the owner, so that an
interrupt's id, which contains the thread, proves its owner even if a text-only client names no thread.
"""

from __future__ import annotations

import hashlib
import uuid

from rightseat.types.turn import Owner

_HALF = 8


def peer_thread(owner: Owner, thread: str) -> uuid.UUID:
    ours = _digest("owner", owner.name) + _digest("thread", owner.name, thread)
    return uuid.UUID(bytes=ours, version=5)


def belongs(thread: uuid.UUID, owner: Owner) -> bool:
    return thread.bytes[:_HALF] == peer_thread(owner, "").bytes[:_HALF]


def _digest(*parts: str) -> bytes:
    told = "\n".join(f"{len(part)}:{part}" for part in parts)
    return hashlib.sha256(told.encode("utf-8", "surrogatepass")).digest()[:_HALF]
