"""The access log: no query, no body, and of the owner only the kind."""

from __future__ import annotations

import logging
import time

from rightseat.errors import RightseatError
from rightseat.runtime.metrics import Metrics

log = logging.getLogger("rightseat.access")
# The client left before a response (nginx's code).
CLIENT_CLOSED = 499


class AccessLogEntry:
    """One request in log and metrics. `path` is the route's template: a concrete path may hold a secret."""

    def __init__(self, method: str, path: str) -> None:
        self.method = method
        self.path = path
        self.status = CLIENT_CLOSED
        self.status_override: int | None = None
        self.code = ""
        """The code of the error that refused the request."""
        self.client = "-"
        self.owner = "-"
        self.started_at = time.perf_counter()

    def set_status(self, status: int) -> None:
        self.status = status

    def override_status(self, status: int) -> None:
        """Set the status to log where the response must be 200, as GraphQL clients require."""
        self.status_override = status

    def set_error(self, error: RightseatError) -> None:
        self.override_status(error.status)
        self.code = error.code

    def finish(self, meters: Metrics, *, write_log: bool) -> None:
        if self.status_override is not None and self.status < 400:
            self.status = self.status_override
        meters.requests.add(self.path, str(self.status))
        if write_log and log.isEnabledFor(logging.INFO):
            fields = self.to_fields()
            log.info("%s", " ".join(map(str, fields.values())), extra={"fields": fields})

    def to_fields(self) -> dict[str, str | int | float]:
        """Return the log fields by name, in the order of the console."""
        return {
            "method": self.method,
            "path": self.path,
            "status": self.status,
            "ms": round((time.perf_counter() - self.started_at) * 1000, 1),
            "owner": self.owner,
            "client": self.client,
            **({"code": self.code} if self.code else {}),
        }
