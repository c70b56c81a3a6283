"""Selects the client headers that reach agents and tools: `authorization` and `x-*`, without those that
proxies and platforms add, and never this server's own credentials."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from rightseat.config.settings import ALLOWED

DENIED = frozenset(
    ("x-cache", "x-client-ip", "x-cloud-trace-context", "x-real-ip", "x-request-id", "x-served-by")
)
FAMILIES = (
    "x-amz-",
    "x-amzn-",
    "x-azure-",
    "x-copilotcloud-",
    "x-envoy-",
    "x-fastly-",
    "x-forwarded-",
    "x-middleware-",
    "x-original-",
    "x-vercel-",
)


class Forwarding:
    """Allowed names; `x-*` allows a prefix. DENIED_HEADERS and DENIED_PREFIXES restrict prefixes only: a
    header that is allowed by its full name always passes."""

    def __init__(self, allowed: Collection[str] = ALLOWED) -> None:
        given = [name.strip().lower() for name in allowed]
        self.names = frozenset(name for name in given if name and not name.endswith("*"))
        self.families = tuple(name[:-1] for name in given if name.endswith("*"))

    def passed(self, headers: Mapping[str, str], own: Collection[str] = ()) -> dict[str, str]:
        """Return the allowed headers (lower-case names) that are not in `excluded`."""
        return {name: value for name, value in headers.items() if name not in own and self.allows(name)}

    def allows(self, name: str) -> bool:
        if name in self.names:
            return True
        return name.startswith(self.families) and name not in DENIED and not name.startswith(FAMILIES)


def over(ours: Mapping[str, str], theirs: Mapping[str, str]) -> dict[str, str]:
    """Merge headers for an agent by lower-case name; `ours` win."""
    found = {name.lower(): value for name, value in theirs.items()}
    return found | {name.lower(): value for name, value in ours.items()}
