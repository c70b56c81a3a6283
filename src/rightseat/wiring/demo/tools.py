"""Tools of the demo: a clock, and a booking that a person approves."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

from rightseat.tools.function import tool
from rightseat.wiring.demo import BOOKING_TOOL, CLOCK_TOOL
from rightseat.wiring.demo.offer import is_plain_turn


@tool(name=CLOCK_TOOL)
def clock() -> str:
    """Tell the time in UTC."""
    return datetime.now(UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


@tool(name=BOOKING_TOOL, confirm=True)
def book(people: int) -> str:
    """Book a table in a restaurant."""
    return f"A table for {people} is booked."


TOOLS = tuple(replace(tool, is_offered=is_plain_turn) for tool in (clock, book))
