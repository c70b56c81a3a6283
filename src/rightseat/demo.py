"""What `serve` shows when there is no model yet: one tool for the demo script to call."""

from __future__ import annotations

from datetime import UTC, datetime


def clock() -> str:
    """Tell the time in UTC."""
    return datetime.now(UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
