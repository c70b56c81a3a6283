"""Refusals of the current request: errors that its client is told without a failed run, for the operator's hook."""

from __future__ import annotations

from contextvars import ContextVar

from rightseat.errors import RightseatError

current_refusals: ContextVar[list[RightseatError] | None] = ContextVar("refusals", default=None)


def report_refusal(error: RightseatError) -> None:
    """Record an error that the client is told; the server reports it when the request has ended. Threads may call."""
    refusals = current_refusals.get()
    if refusals is not None:
        refusals.append(error)
