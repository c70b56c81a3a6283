"""Errors of an agent's server as RightseatErrors. The messages are our own: the peer's text goes to the debug
log only, and its address is never shown to clients."""

from __future__ import annotations

import re
from collections.abc import Mapping

from rightseat import errors
from rightseat.errors import RightseatError

_MAX_RETRY_AFTER = 3600.0


class PeerErrors:
    """Factory of the errors of one peer, which is named as in rightseat.toml."""

    def __init__(self, name: str) -> None:
        self.peer = f"The server of agent {name!r}"

    def connection_refused(self) -> RightseatError:
        return errors.UpstreamRefused(f"{self.peer} cannot be reached: check that it runs, and check its url.")

    def connect_timeout(self, seconds: float) -> RightseatError:
        return errors.UpstreamTimeout(
            f"{self.peer} could not be connected within {seconds:g} s: check its url and the network."
        )

    def idle_timeout(self, seconds: float) -> RightseatError:
        return errors.UpstreamTimeout(f"{self.peer} said nothing for {seconds:g} s: try again, or raise timeout.")

    def incomplete_stream(self) -> RightseatError:
        return errors.Incomplete(f"{self.peer} broke off in the middle of its answer: try again.")

    def invalid_response(self, why: str) -> RightseatError:
        return errors.UpstreamGarbled(f"{self.peer} sent what cannot be read ({why}): check its url and kind.")

    def response_too_large(self, limit: int) -> RightseatError:
        return errors.UpstreamTooLarge(f"{self.peer} sent more than {limit} bytes at once.")

    def run_failed(self, kind: str = "") -> RightseatError:
        """Return the error of a failed run. `kind` is its error class, shown if a plain identifier."""
        named = f" ({kind})" if re.fullmatch(r"[A-Za-z_][\w.]{0,80}", kind, re.ASCII) else ""
        return errors.AgentFailed(f"{self.peer} failed in its run{named}: its own log has the reason. Try again.")

    def from_status(self, status: int, headers: Mapping[str, str]) -> RightseatError:
        """Return the error for a response status that is not 2xx."""
        wait = _parse_retry_after(headers)
        if status in (401, 403):
            return errors.UpstreamDenied(f"{self.peer} refused our key: check its api_key and headers.")
        if status == 409:
            return errors.Conflict(f"{self.peer} is still answering in this conversation: wait for it, or stop it.")
        if status == 429:
            return errors.UpstreamBusy(f"{self.peer} is over its rate limit: try later.", retry_after=wait)
        if status in (503, 529):
            return errors.UpstreamOverloaded(f"{self.peer} is overloaded: try later.", retry_after=wait)
        if status in (408, 504):
            return errors.UpstreamTimeout(f"{self.peer} timed out: try again.")
        if 300 <= status < 400:
            return errors.UpstreamRejected(
                f"{self.peer} redirects, which is not followed: set its url to the final address."
            )
        if status == 404:
            return errors.UpstreamRejected(f"{self.peer} knows no such agent or path: check its url and agents.")
        if status < 500:
            return errors.UpstreamRejected(
                f"{self.peer} does not take this request (HTTP {status}): the debug log has its reason."
            )
        return errors.UpstreamError(f"{self.peer} failed (HTTP {status}): try again.", retry_after=wait)


def _parse_retry_after(headers: Mapping[str, str]) -> float | None:
    value = headers.get("retry-after", "").strip()
    return min(float(value), _MAX_RETRY_AFTER) if re.fullmatch(r"\d{1,9}(\.\d+)?", value) else None
