"""Anthropic errors → RightseatErrors. Messages are ours; upstream text goes only to the debug log."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, ClassVar

from rightseat.errors import RightseatError, UpstreamDenied
from rightseat.http.upstream import StatusTable
from rightseat.models._vendor.errors import VendorErrors

# The API has no code for a too long prompt, only a message.
_TOO_LONG = re.compile(r"prompt is too long|exceed context limit|exceeds? the (model's )?context window", re.I)


class AnthropicErrors(VendorErrors):
    server = "Anthropic's server"
    key = "ANTHROPIC_API_KEY (api_key), and that it may use this model"
    unreachable = "check the network and base_url (ANTHROPIC_BASE_URL)"
    invalid = "check that base_url is an Anthropic API"
    unknown = "does not know this model: check the name in anthropic:NAME, and base_url"
    statuses: ClassVar[StatusTable] = {
        402: (UpstreamDenied, "takes no request: the account of our key has no credit left. See its billing.")
    }

    def from_status(self, status: int, retry_after: float | None = None) -> RightseatError:
        return self.context_too_long() if status == 413 else super().from_status(status, retry_after)

    def _recognize(self, error: Mapping[str, Any], status: int | None) -> RightseatError | None:
        message = error.get("message")
        too_long = status in (None, 400) and isinstance(message, str) and _TOO_LONG.search(message[:1000])
        return self.context_too_long(message) if too_long else None


ERRORS = AnthropicErrors()
