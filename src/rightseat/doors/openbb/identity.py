"""Derive the UUID of a widget without one, as OpenBB's own library does: xxHash64 of origin and widget id.

Clients that use that library match calls to widgets by this UUID.
"""

from __future__ import annotations

from struct import unpack_from
from uuid import UUID

MASK64 = 0xFFFF_FFFF_FFFF_FFFF
PRIME1 = 0x9E37_79B1_85EB_CA87
PRIME2 = 0xC2B2_AE3D_27D4_EB4F
PRIME3 = 0x1656_67B1_9E37_79F9
PRIME4 = 0x85EB_CA77_C2B2_AE63
PRIME5 = 0x27D4_EB2F_1656_67C5


def derive_widget_uuid(origin: str, widget: str) -> str:
    seed = f"origin={origin}&widget_id={widget}".encode("utf-8", "replace")
    return str(UUID(hex=f"{xxh64(seed):016x}" * 2))


def xxh64(data: bytes) -> int:
    """Compute xxHash64 with seed 0."""
    place = len(data) // 32 * 32
    total = (hash_stripes(data, place) if place else PRIME5) + len(data)
    while place + 8 <= len(data):
        total ^= mix_lane(0, unpack_from("<Q", data, place)[0])
        total = rotate_left(total, 27) * PRIME1 + PRIME4
        place += 8
    if place + 4 <= len(data):
        total ^= unpack_from("<I", data, place)[0] * PRIME1 & MASK64
        total = rotate_left(total, 23) * PRIME2 + PRIME3
        place += 4
    for byte in data[place:]:
        total ^= byte * PRIME5 & MASK64
        total = rotate_left(total, 11) * PRIME1
    total &= MASK64
    total = (total ^ total >> 33) * PRIME2 & MASK64
    total = (total ^ total >> 29) * PRIME3 & MASK64
    return total ^ total >> 32


def hash_stripes(data: bytes, end: int) -> int:
    lanes = [PRIME1 + PRIME2 & MASK64, PRIME2, 0, -PRIME1 & MASK64]
    for start in range(0, end, 32):
        lanes = [
            mix_lane(lane, word) for lane, word in zip(lanes, unpack_from("<4Q", data, start), strict=True)
        ]
    total = sum(rotate_left(lane, bits) for lane, bits in zip(lanes, (1, 7, 12, 18), strict=True)) & MASK64
    for lane in lanes:
        total = (total ^ mix_lane(0, lane)) * PRIME1 + PRIME4 & MASK64
    return total


def mix_lane(lane: int, word: int) -> int:
    return rotate_left(lane + word * PRIME2, 31) * PRIME1 & MASK64


def rotate_left(number: int, bits: int) -> int:
    number &= MASK64
    return (number << bits | number >> 64 - bits) & MASK64
