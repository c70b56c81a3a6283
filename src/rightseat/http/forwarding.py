"""Selects the client headers that reach agents and tools: `authorization` and `x-*`, without those that
proxies and platforms add, and never this server's own credentials."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from rightseat.config.settings import DEFAULT_FORWARD_HEADERS

DENIED_HEADERS = frozenset(
    ("x-cache", "x-client-ip", "x-cloud-trace-context", "x-real-ip", "x-request-id", "x-served-by")
)
DENIED_PREFIXES = (
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


class HeaderForwarding:
    """Allowed names; `x-*` allows a prefix. DENIED_HEADERS and DENIED_PREFIXES restrict prefixes only: a
    header that is allowed by its full name always passes."""

    def __init__(self, allowed: Collection[str] = DEFAULT_FORWARD_HEADERS) -> None:
        names = [name.strip().lower() for name in allowed]
        self.names = frozenset(name for name in names if name and not name.endswith("*"))
        self.prefixes = tuple(name[:-1] for name in names if name.endswith("*"))

    def select_headers(self, headers: Mapping[str, str], excluded: Collection[str] = ()) -> dict[str, str]:
        """Return the allowed headers (lower-case names) that are not in `excluded`."""
        return {name: value for name, value in headers.items() if name not in excluded and self.allows(name)}

    def allows(self, name: str) -> bool:
        if name in self.names:
            return True
        return (
            name.startswith(self.prefixes)
            and name not in DENIED_HEADERS
            and not name.startswith(DENIED_PREFIXES)
        )


def merge_headers(ours: Mapping[str, str], theirs: Mapping[str, str]) -> dict[str, str]:
    """Merge headers for an agent by lower-case name; `ours` win."""
    merged = {name.lower(): value for name, value in theirs.items()}
    return merged | {name.lower(): value for name, value in ours.items()}
