"""Logging for people (console) and for machines (one JSON object per line), always to stderr."""

from __future__ import annotations

import json
import logging
import re
import sys
from datetime import UTC, datetime

from rightseat.door import REQUEST
from rightseat.secret import mask

_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")


class Console(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        time = datetime.fromtimestamp(record.created).strftime("%H:%M:%S")
        # A client's line break must not write a log line of its own; ours, in tracebacks, stay.
        message = _CONTROL.sub(lambda found: repr(found[0])[1:-1], record.getMessage())
        request = f" [{REQUEST.get()}]" if REQUEST.get() else ""
        line = f"{time} {record.levelname.lower():<7} {record.name}{request} {message}"
        # Masked last: a secret may also stand in somebody's traceback.
        return mask(f"{line}\n{self.formatException(record.exc_info)}" if record.exc_info else line)


class JsonLines(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, object] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        if request := REQUEST.get():
            line["request_id"] = request
        line |= getattr(record, "fields", {})
        if record.exc_info:
            line["error"] = self.formatException(record.exc_info)
        return mask(json.dumps(line))


def configure(kind: str, level: str) -> None:
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines() if kind == "json" else Console())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level.upper())
    # A full disk under the log must not become an exception inside a request.
    logging.raiseExceptions = False
    quiet = logging.NOTSET if level == "debug" else logging.WARNING
    for name in ("uvicorn", "uvicorn.error", "asyncio"):
        # uvicorn's start and stop lines say what the card already says.
        logger = logging.getLogger(name)
        logger.handlers[:] = []
        logger.propagate = True
        logger.setLevel(quiet)
