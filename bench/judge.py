"""Rounds of all doors → rows: against the floor, and ours against every foreign peer of the same run."""

from collections.abc import Mapping, Sequence
from statistics import median
from typing import NamedTuple

from bench.peers import Peer
from bench.rows import Row
from bench.stage import Stage, label

FLOOR = "splice"
Rounds = Mapping[str, Sequence[float]]


class Limits(NamedTuple):
    floor: float | None = None
    """How many times the floor ours may cost."""
    foreign: float | None = None
    """Which part of a foreign peer's cost ours may have."""


def judge(stage: Stage, measure: str, unit: str, found: Rounds, limits: Limits) -> list[Row]:
    floor = median(found[FLOOR]) if FLOOR in found else None
    ours = {label(peer, door) for peer, door in stage.doors() if peer.ours}
    rows = [
        Row(
            measure,
            name,
            unit,
            rounds,
            ratio=median(rounds) / floor if floor else None,
            limit=limits.floor if floor and name in ours else None,
        )
        for name, rounds in found.items()
    ]
    return rows + compared(stage.peers, measure, found, limits.foreign)


def compared(peers: Sequence[Peer], measure: str, found: Rounds, limit: float | None) -> list[Row]:
    """Round by round, at the doors that both have."""
    ends = [(peer, door) for peer in peers for door in peer.doors if label(peer, door) in found]
    return [
        Row(
            measure,
            f"{label(own, door)} ÷ {foreign.name}",
            "part",
            [a / b for a, b in zip(found[label(own, door)], found[label(foreign, theirs)], strict=True)],
            limit=limit if foreign.parts is None else foreign.parts.get(measure),
        )
        for foreign, theirs in ends
        if foreign.foreign
        for own, door in ends
        if own.ours and door is theirs
    ]


def beside(peers: Sequence[Peer], measure: str, found: Rounds) -> list[Row]:
    """Ours as a part of each foreign peer's, whatever the door, where that peer sets a limit on it."""
    return [
        Row(
            measure,
            f"{own.name} ÷ {foreign.name}",
            "part",
            [a / b for a, b in zip(found[own.name], found[foreign.name], strict=True)],
            limit=foreign.parts[measure],
        )
        for foreign in peers
        if foreign.foreign and foreign.parts and measure in foreign.parts
        for own in peers
        if own.ours
    ]
