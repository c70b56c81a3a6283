"""Time zones of users: their names, and the present time in them."""

from __future__ import annotations

import zoneinfo
from datetime import UTC, datetime, tzinfo


def utc_now() -> datetime:
    return datetime.now(UTC)


def find_zone(name: str) -> tzinfo | None:
    """Return the time zone of an IANA name; None if there is none."""
    try:
        return zoneinfo.ZoneInfo(name)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):
        return None


def find_now(zone: str) -> datetime:
    """Return the present time in a time zone; in the server's if there is no such zone."""
    return utc_now().astimezone(find_zone(zone))
