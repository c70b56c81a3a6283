"""Layered layout of a flow diagram: nodes in rows, each below its predecessors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from rightseat.plugins.flows.draw import Arrow, Box, Picture

CHARACTER, WIDE, LINE = 7.2, 13.0, 18.0
PAD, LEAST = 12.0, 96.0
WRAP = 30
BESIDE, BELOW, MARGIN = 36.0, 64.0, 24.0
SWEEPS = 4


@dataclass(slots=True)
class Spot:
    """A node with coordinates, or a waypoint of a long edge. `x` is the center, `y` the top."""

    name: str
    lines: list[str] = field(default_factory=list)
    box: Box | None = None
    rank: int = 0
    x: float = 0.0
    y: float = 0.0
    width: float = 0.0
    height: float = 0.0


@dataclass(frozen=True, slots=True)
class Line:
    """An edge and the nodes it passes, from source to target."""

    arrow: Arrow
    spots: tuple[Spot, ...]
    back: bool = False


@dataclass(frozen=True, slots=True)
class Layout:
    spots: tuple[Spot, ...]
    lines: tuple[Line, ...]
    width: float
    height: float


def layout(picture: Picture) -> Layout:
    spots = {box.name: sized(box) for box in picture.boxes}
    back = backwards(picture)
    ahead = [arrow for arrow in picture.arrows if arrow not in back]
    rank(spots, ahead)
    lines = [threaded(arrow, spots) for arrow in ahead]
    rows = placed_in_rows(spots, lines)
    ordered(rows, lines)
    width, height = stand(rows)
    returning = [Line(arrow, (spots[arrow.source], spots[arrow.target]), True) for arrow in back]
    return Layout(tuple(spots.values()), (*lines, *returning), width + 16 * len(returning), height)


def sized(box: Box) -> Spot:
    lines = [*wrapped(box.title), *wrapped(box.detail)]
    width = max([LEAST, *(text_width(line) + 2 * PAD for line in lines)])
    height = LINE * len(lines) + PAD
    if box.shape == "choice":
        # A hexagon is narrower at its corners.
        width += 2 * PAD
    return Spot(box.name, lines, box, width=width, height=height)


def text_width(text: str) -> float:
    return sum(WIDE if char > "\u2e7f" else CHARACTER for char in text)


def wrapped(text: str) -> list[str]:
    """Wrap text into lines, between any two characters where there are no spaces (Chinese)."""
    lines: list[str] = []
    current = ""
    for word in text.split():
        joined = f"{current} {word}".strip()
        if text_width(joined) <= WRAP * CHARACTER:
            current = joined
            continue
        if current:
            lines.append(current)
        current = word
        while text_width(current) > WRAP * CHARACTER:
            size = next(
                size for size in range(len(current), 0, -1) if text_width(current[:size]) <= WRAP * CHARACTER
            )
            lines.append(current[:size])
            current = current[size:]
    return [*lines, current] if current else lines


def backwards(picture: Picture) -> list[Arrow]:
    """Return the edges that close a cycle."""
    leaving: dict[str, list[Arrow]] = {box.name: [] for box in picture.boxes}
    for arrow in picture.arrows:
        leaving[arrow.source].append(arrow)
    found: list[Arrow] = []
    done: set[str] = set()
    for box in picture.boxes:
        if box.name in done:
            continue
        # Depth first without recursion: a flow may have hundreds of steps.
        path, open_ = [box.name], [iter(leaving[box.name])]
        while open_:
            way = next(open_[-1], None)
            if way is None:
                done.add(path.pop())
                open_.pop()
            elif way.target in path:
                found.append(way)
            elif way.target not in done:
                path.append(way.target)
                open_.append(iter(leaving[way.target]))
    return found


def rank(spots: dict[str, Spot], ahead: Sequence[Arrow]) -> None:
    """Set each node's rank below all its predecessors."""
    for _ in spots:
        moved = False
        for arrow in ahead:
            source, target = spots[arrow.source], spots[arrow.target]
            if target.rank <= source.rank:
                target.rank = source.rank + 1
                moved = True
        if not moved:
            return


def threaded(arrow: Arrow, spots: dict[str, Spot]) -> Line:
    """Return the edge with a waypoint in each row it crosses, so that it avoids the nodes there."""
    source, target = spots[arrow.source], spots[arrow.target]
    passed = [Spot(f"{arrow.source}→{arrow.target}", rank=row) for row in range(source.rank + 1, target.rank)]
    return Line(arrow, (source, *passed, target))


def placed_in_rows(spots: dict[str, Spot], lines: Sequence[Line]) -> list[list[Spot]]:
    through = [spot for line in lines for spot in line.spots[1:-1]]
    rows: list[list[Spot]] = [[] for _ in range(max((spot.rank for spot in spots.values()), default=-1) + 1)]
    for spot in (*spots.values(), *through):
        rows[spot.rank].append(spot)
    return rows


def ordered(rows: list[list[Spot]], lines: Sequence[Line]) -> None:
    """Sort each row by the mean position of its neighbors, so that few edges cross."""
    above: dict[int, list[Spot]] = {}
    below: dict[int, list[Spot]] = {}
    for line in lines:
        for first, second in zip(line.spots, line.spots[1:], strict=False):
            above.setdefault(id(second), []).append(first)
            below.setdefault(id(first), []).append(second)
    for sweep in range(SWEEPS):
        down = sweep % 2 == 0
        for row in rows if down else reversed(rows):
            place = {
                id(spot): number / max(len(one) - 1, 1) for one in rows for number, spot in enumerate(one)
            }
            near = above if down else below

            def middle(
                spot: Spot, near: dict[int, list[Spot]] = near, place: dict[int, float] = place
            ) -> float:
                around = near.get(id(spot))
                return sum(place[id(one)] for one in around) / len(around) if around else place[id(spot)]

            row.sort(key=middle)


def stand(rows: list[list[Spot]]) -> tuple[float, float]:
    """Set coordinates: rows one below the other, centered. Return width and height."""
    widths = [sum(spot.width for spot in row) + BESIDE * (len(row) - 1) for row in rows]
    widest = max(widths, default=0.0)
    y = MARGIN
    for row, width in zip(rows, widths, strict=True):
        x = MARGIN + (widest - width) / 2
        tallest = max(spot.height for spot in row)
        for spot in row:
            spot.x = x + spot.width / 2
            spot.y = y + (tallest - spot.height) / 2
            x += spot.width + BESIDE
        y += tallest + BELOW
    return widest + 2 * MARGIN, y - BELOW + MARGIN
