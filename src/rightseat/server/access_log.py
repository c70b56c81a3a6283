"""The access log: no query, no body, and of the owner only the kind."""

from __future__ import annotations

import logging
import time

from rightseat.errors import RightseatError
from rightseat.runtime.metrics import Meters

log = logging.getLogger("rightseat.access")
# The client left before a response (nginx's code).
LEFT = 499


class Visit:
    """One request in log and metrics. `path` is the route's template: a concrete path may hold a secret."""

    def __init__(self, method: str, path: str) -> None:
        self.method = method
        self.path = path
        self.status = LEFT
        self.counted: int | None = None
        self.code = ""
        """The code of the error that refused the request."""
        self.client = "-"
        self.owner = "-"
        self.began = time.perf_counter()

    def begin(self, status: int) -> None:
        self.status = status

    def count(self, status: int) -> None:
        """Set the status to log where the response must be 200, as GraphQL clients require."""
        self.counted = status

    def refuse(self, error: RightseatError) -> None:
        self.count(error.status)
        self.code = error.code

    def end(self, meters: Meters, *, logged: bool) -> None:
        if self.counted is not None and self.status < 400:
            self.status = self.counted
        meters.requests.add(self.path, str(self.status))
        if logged and log.isEnabledFor(logging.INFO):
            fields = self.fields()
            log.info("%s", " ".join(map(str, fields.values())), extra={"fields": fields})

    def fields(self) -> dict[str, str | int | float]:
        """Return the log fields by name, in the order of the console."""
        return {
            "method": self.method,
            "path": self.path,
            "status": self.status,
            "ms": round((time.perf_counter() - self.began) * 1000, 1),
            "owner": self.owner,
            "client": self.client,
            **({"code": self.code} if self.code else {}),
        }
