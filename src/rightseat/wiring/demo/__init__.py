"""Demo for an unconfigured `serve`: two tools, and a plugin with a flow that draws a chart."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from rightseat.tools.function import tool

PLUGINS = Path(__file__).parent / "plugins"


@tool(name="demo_clock")
def clock() -> str:
    """Tell the time in UTC."""
    return datetime.now(UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


@tool(name="demo_book", confirm=True)
def book(people: int) -> str:
    """Book a table in a restaurant."""
    return f"A table for {people} is booked."


TOOLS = (clock, book)
