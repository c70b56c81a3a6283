"""Which of a client's headers reach agents and tools: `authorization` and `x-*`, without what proxies and
platforms add on the way, and never a key that opens this server."""

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
    """A name lets one header through, `x-*` all that begin so. What a name lets through is meant, so only
    of a whole family the others' headers are left out."""

    def __init__(self, allowed: Collection[str] = ALLOWED) -> None:
        given = [name.strip().lower() for name in allowed]
        self.names = frozenset(name for name in given if name and not name.endswith("*"))
        self.families = tuple(name[:-1] for name in given if name.endswith("*"))

    def passed(self, headers: Mapping[str, str], own: Collection[str] = ()) -> dict[str, str]:
        """`headers` have names in lower case; those in `own` are for us and nobody else."""
        return {name: value for name, value in headers.items() if name not in own and self.allows(name)}

    def allows(self, name: str) -> bool:
        if name in self.names:
            return True
        return name.startswith(self.families) and name not in DENIED and not name.startswith(FAMILIES)


def over(ours: Mapping[str, str], theirs: Mapping[str, str]) -> dict[str, str]:
    """What goes to an agent: a header that the server sets wins, however either of them is spelt."""
    found = {name.lower(): value for name, value in theirs.items()}
    return found | {name.lower(): value for name, value in ours.items()}
