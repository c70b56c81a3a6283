"""Errors of an agent's server. Its address is never shown to clients."""

from __future__ import annotations

import re
from typing import ClassVar

from rightseat.errors import AgentFailed, Conflict, RightseatError, UpstreamTooLarge
from rightseat.http.upstream import StatusTable, UpstreamErrors


class PeerErrors(UpstreamErrors):
    """Factory of the errors of one peer, which is named as in rightseat.toml."""

    address = "its url"
    key = "its api_key and headers"
    unreachable = "check that it runs, and check its url"
    invalid = "check its url and kind"
    unknown = "knows no such agent or path: check its url and agents"
    rejected = "the debug log has its reason"
    statuses: ClassVar[StatusTable] = {
        409: (Conflict, "is still answering in this conversation: wait for it, or stop it.")
    }

    def __init__(self, name: str) -> None:
        self.server = f"The server of agent {name!r}"

    def response_too_large(self, limit: int) -> RightseatError:
        return UpstreamTooLarge(f"{self.server} sent more than {limit} bytes at once.")

    def run_failed(self, kind: str = "") -> RightseatError:
        """Return the error of a failed run. `kind` is its error class, shown if a plain identifier."""
        named = f" ({kind})" if re.fullmatch(r"[A-Za-z_][\w.]{0,80}", kind, re.ASCII) else ""
        return AgentFailed(f"{self.server} failed in its run{named}: its own log has the reason. Try again.")
