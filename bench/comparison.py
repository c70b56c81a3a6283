"""Rounds of all doors → rows: against the floor, and ours against every foreign peer of the same run."""

from collections.abc import Mapping, Sequence
from statistics import median
from typing import NamedTuple

from bench.peers import BenchPeer
from bench.rows import ResultRow
from bench.session import BenchSession, format_label

FLOOR = "splice"
Rounds = Mapping[str, Sequence[float]]


class CostLimits(NamedTuple):
    floor_ratio: float | None = None
    """How many times the floor ours may cost."""
    foreign_ratio: float | None = None
    """Which part of a foreign peer's cost ours may have."""


def make_rows(stage: BenchSession, measure: str, unit: str, costs: Rounds, limits: CostLimits) -> list[ResultRow]:
    floor = median(costs[FLOOR]) if FLOOR in costs else None
    ours = {format_label(peer, door) for peer, door in stage.list_doors() if peer.is_ours}
    rows = [
        ResultRow(
            measure,
            name,
            unit,
            rounds,
            ratio=median(rounds) / floor if floor else None,
            limit=limits.floor_ratio if floor and name in ours else None,
        )
        for name, rounds in costs.items()
    ]
    return rows + compare_by_door(stage.peers, measure, costs, limits.foreign_ratio)


def compare_by_door(peers: Sequence[BenchPeer], measure: str, costs: Rounds, limit: float | None) -> list[ResultRow]:
    """Round by round, at the doors that both have."""
    ends = [(peer, door) for peer in peers for door in peer.doors if format_label(peer, door) in costs]
    return [
        ResultRow(
            measure,
            f"{format_label(own, door)} ÷ {foreign.name}",
            "part",
            [a / b for a, b in zip(costs[format_label(own, door)], costs[format_label(foreign, theirs)], strict=True)],
            limit=limit if foreign.max_cost_ratios is None else foreign.max_cost_ratios.get(measure),
        )
        for foreign, theirs in ends
        if foreign.is_foreign
        for own, door in ends
        if own.is_ours and door is theirs
    ]


def compare_peers(peers: Sequence[BenchPeer], measure: str, costs: Rounds) -> list[ResultRow]:
    """Ours as a part of each foreign peer's, whatever the door, where that peer sets a limit on it."""
    return [
        ResultRow(
            measure,
            f"{own.name} ÷ {foreign.name}",
            "part",
            [a / b for a, b in zip(costs[own.name], costs[foreign.name], strict=True)],
            limit=foreign.max_cost_ratios[measure],
        )
        for foreign in peers
        if foreign.is_foreign and foreign.max_cost_ratios and measure in foreign.max_cost_ratios
        for own in peers
        if own.is_ours
    ]
