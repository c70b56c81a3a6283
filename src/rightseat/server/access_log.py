"""A request as the log and the numbers tell of it: no query, no body, and of its owner only the kind."""

from __future__ import annotations

import logging
import time

from rightseat.errors import RightseatError
from rightseat.runtime.metrics import Meters

log = logging.getLogger("rightseat.access")
# Nothing was answered: the client had left.
LEFT = 499


class Visit:
    """`path` is the route's, not the client's: what stands in its place may be anyone's secret."""

    def __init__(self, method: str, path: str) -> None:
        self.method = method
        self.path = path
        self.status = LEFT
        self.counted: int | None = None
        self.code = ""
        """Of the error that it was refused with."""
        self.client = "-"
        self.owner = "-"
        self.began = time.perf_counter()

    def begin(self, status: int) -> None:
        self.status = status

    def count(self, status: int) -> None:
        """What it is, where the status must say something else: a GraphQL client reads nothing but a 200."""
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
        """By name; the console shows them in this order."""
        return {
            "method": self.method,
            "path": self.path,
            "status": self.status,
            "ms": round((time.perf_counter() - self.began) * 1000, 1),
            "owner": self.owner,
            "client": self.client,
            **({"code": self.code} if self.code else {}),
        }
