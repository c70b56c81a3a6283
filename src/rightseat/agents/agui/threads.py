"""Thread ids that a peer sees, distinct for each owner, because the peer stores conversations by them.

They are UUIDs, because many peers accept nothing else. The first half is a digest of the owner, so that an
interrupt's id, which contains the thread, proves its owner even if a text-only client names no thread.
"""

from __future__ import annotations

import hashlib
import uuid

from rightseat.types.turn import Owner

_OWNER_BYTES = 8


def make_peer_thread_id(owner: Owner, thread: str) -> uuid.UUID:
    digest = _digest("owner", owner.name) + _digest("thread", owner.name, thread)
    return uuid.UUID(bytes=digest, version=5)


def is_owned_by(thread: uuid.UUID, owner: Owner) -> bool:
    return thread.bytes[:_OWNER_BYTES] == make_peer_thread_id(owner, "").bytes[:_OWNER_BYTES]


def _digest(*parts: str) -> bytes:
    text = "\n".join(f"{len(part)}:{part}" for part in parts)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()[:_OWNER_BYTES]
