"""What a peer calls our threads. It keeps what was said by this name, so no two owners may share one.

A UUID, because many peers take nothing else. Its first half is the owner's: so a question's id, which has the
thread in it, tells whose it is, although a client that has only text does not say which thread it was.
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
