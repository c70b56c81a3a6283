"""Errors of a model's server, and the debug log of what it sent."""

from __future__ import annotations

import logging
from collections.abc import Iterable

from rightseat.errors import (
    ContextTooLong,
    Incomplete,
    RightseatError,
    UpstreamBusy,
    UpstreamError,
    UpstreamOverloaded,
    UpstreamRefused,
    UpstreamTimeout,
)
from rightseat.http.upstream import ERROR_BODY, UpstreamErrors

LONE_SURROGATE = "A message contains half a character (a lone surrogate): send valid text."
# Transient errors; a rejected request or a wrong key is not retried.
_RETRYABLE = {UpstreamError, UpstreamRefused, UpstreamBusy, UpstreamOverloaded}


class VendorErrors(UpstreamErrors):
    """The errors of a model, in words that name the options of [models]."""

    server = "The model's server"
    address = "base_url"
    unreachable = "check the network and base_url"
    unknown = "does not know this model or path: check the model's name and base_url"
    rejected = "check the model's name, its tools and settings; outside production the debug log says why"

    def first_token_timeout(self, seconds: float) -> RightseatError:
        return UpstreamTimeout(
            f"The model did not begin to answer within {seconds:g} s: try again, or raise first_token_timeout."
        )

    def idle_timeout(self, seconds: float) -> RightseatError:
        return UpstreamTimeout(
            f"The model fell silent for {seconds:g} s within its answer: try again, or raise idle_timeout."
        )

    def incomplete_stream(self) -> RightseatError:
        return Incomplete("The model's answer ended before it was finished: try again.")

    def context_too_long(self) -> RightseatError:
        return ContextTooLong(
            "The conversation is too long for this model: shorten it, or take a model with a longer context."
        )


def is_retryable(error: RightseatError) -> bool:
    return type(error) in _RETRYABLE


def log_upstream(log: logging.Logger, model: str, context: str, body: bytes, secrets: Iterable[str]) -> None:
    """Log an upstream body at debug level; upstream text appears nowhere else."""
    if log.isEnabledFor(logging.DEBUG):
        # Mask before truncating: a truncated key would not match.
        text = body[:ERROR_BODY].decode(errors="replace")
        for secret in secrets:
            text = text.replace(secret, "***")
        log.debug("model %r, %s: %r", model, context, text[:300])
