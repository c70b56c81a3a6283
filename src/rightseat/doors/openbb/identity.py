"""Derive the UUID of a widget without one, as OpenBB's own library does: xxHash64 of origin and widget id.

Clients that use that library match calls to widgets by this UUID.
"""

from __future__ import annotations

from struct import unpack_from
from uuid import UUID

WORD = 0xFFFF_FFFF_FFFF_FFFF
P1 = 0x9E37_79B1_85EB_CA87
P2 = 0xC2B2_AE3D_27D4_EB4F
P3 = 0x1656_67B1_9E37_79F9
P4 = 0x85EB_CA77_C2B2_AE63
P5 = 0x27D4_EB2F_1656_67C5


def derived(origin: str, widget: str) -> str:
    seed = f"origin={origin}&widget_id={widget}".encode("utf-8", "replace")
    return str(UUID(hex=f"{xxh64(seed):016x}" * 2))


def xxh64(data: bytes) -> int:
    """Compute xxHash64 with seed 0."""
    place = len(data) // 32 * 32
    total = (whole_stripes(data, place) if place else P5) + len(data)
    while place + 8 <= len(data):
        total ^= mixed(0, unpack_from("<Q", data, place)[0])
        total = turned(total, 27) * P1 + P4
        place += 8
    if place + 4 <= len(data):
        total ^= unpack_from("<I", data, place)[0] * P1 & WORD
        total = turned(total, 23) * P2 + P3
        place += 4
    for byte in data[place:]:
        total ^= byte * P5 & WORD
        total = turned(total, 11) * P1
    total &= WORD
    total = (total ^ total >> 33) * P2 & WORD
    total = (total ^ total >> 29) * P3 & WORD
    return total ^ total >> 32


def whole_stripes(data: bytes, end: int) -> int:
    lanes = [P1 + P2 & WORD, P2, 0, -P1 & WORD]
    for start in range(0, end, 32):
        lanes = [mixed(lane, word) for lane, word in zip(lanes, unpack_from("<4Q", data, start), strict=True)]
    total = sum(turned(lane, bits) for lane, bits in zip(lanes, (1, 7, 12, 18), strict=True)) & WORD
    for lane in lanes:
        total = (total ^ mixed(0, lane)) * P1 + P4 & WORD
    return total


def mixed(lane: int, word: int) -> int:
    return turned(lane + word * P2, 31) * P1 & WORD


def turned(number: int, bits: int) -> int:
    number &= WORD
    return (number << bits | number >> 64 - bits) & WORD
