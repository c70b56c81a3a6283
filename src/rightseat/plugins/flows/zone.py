"""Current time in the user's time zone."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

from rightseat.types.turn import Turn

_ZONE = re.compile(r"time[ _-]?zone|时区", re.IGNORECASE)
MAX_ZONE_LENGTH = 64


def current_time(turn: Turn) -> datetime:
    """Return the time in the zone that the application names, else in the server's."""
    for name in iter_zone_names(turn):
        try:
            return datetime.now(ZoneInfo(name))
        except (ValueError, OSError, LookupError):
            # Not a zone known to this machine.
            continue
    return datetime.now().astimezone()


def iter_zone_names(turn: Turn) -> Iterator[str]:
    """Yield possible zone names from the application's properties, config and context."""
    pairs: list[tuple[str, Any]] = [
        *turn.forwarded.properties.items(),
        *turn.forwarded.config.items(),
        *((one.description, one.value) for one in turn.context),
    ]
    for key, value in pairs:
        if isinstance(value, str) and 0 < len(value) <= MAX_ZONE_LENGTH and _ZONE.search(key):
            yield value.strip().strip('"')
