"""Logging to stderr, for people (console) or machines (one JSON object per line).

Every line of a request has the ids of request, thread and run. In production the messages of foreign
exceptions and servers are left out: they may contain what a user asked.
"""

from __future__ import annotations

import json
import logging
import re
import sys
import traceback
from datetime import UTC, datetime
from typing import Any

from rightseat.config.secret import mask, mask_values
from rightseat.http.endpoint import REQUEST_ID
from rightseat.runtime.incidents import current_thread_and_run

_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")
MAX_ID = 64
# Loggers whose debug lines end with the text of a foreign server, as the last argument.
FOREIGN_LOGGERS = ("rightseat.models.", "rightseat.agents.", "rightseat.mcp.")


class RedactingFormatter(logging.Formatter):
    def __init__(self, *, foreign_text: bool = True, worker: int | None = None) -> None:
        super().__init__()
        self.foreign_text = foreign_text
        self.worker = worker

    def formatException(self, ei: Any) -> str:
        return super().formatException(ei) if self.foreign_text else format_without_messages(ei[1])

    def get_message(self, record: logging.LogRecord) -> str:
        args = record.args
        if self.foreign_text or record.levelno > logging.DEBUG or not record.name.startswith(FOREIGN_LOGGERS):
            return record.getMessage()
        if not isinstance(args, tuple) or not args or not isinstance(args[-1], str | bytes | BaseException):
            return record.getMessage()
        return record.msg % (*args[:-1], f"{len(str(args[-1]))} characters, not logged in production")


def format_without_messages(error: BaseException | None) -> str:
    """Format a traceback with types but without messages, causes included."""
    lines: list[str] = []
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        frames = traceback.format_list(traceback.extract_tb(error.__traceback__))
        summary = f"{type(error).__module__}.{type(error).__qualname__} (message not logged in production)"
        lines = ["Traceback (most recent call last):\n", *frames, summary, *(["\n\n"] if lines else []), *lines]
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    return "".join(lines)


def escape_control(text: str) -> str:
    """Escape control characters: a client's line break must not forge a log line."""
    return _CONTROL.sub(lambda match: repr(match[0])[1:-1], text)


class ConsoleFormatter(RedactingFormatter):
    def format(self, record: logging.LogRecord) -> str:
        time = datetime.fromtimestamp(record.created).strftime("%H:%M:%S")
        # The message only: line breaks of tracebacks stay.
        message = escape_control(mask(self.get_message(record)))
        # A run may have the same id as its request.
        worker = "" if self.worker is None else f"w{self.worker}"
        known = dict.fromkeys((worker, REQUEST_ID.get(), *current_thread_and_run()))
        ids = " ".join(escape_control(id[:MAX_ID]) for id in known if id)
        request = f" [{ids}]" if ids else ""
        line = f"{time} {record.levelname.lower():<7} {record.name}{request} {message}"
        # Masked last: a traceback may contain a secret too.
        return mask(f"{line}\n{self.formatException(record.exc_info)}" if record.exc_info else line)


class JsonFormatter(RedactingFormatter):
    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, object] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": self.get_message(record),
        }
        if self.worker is not None:
            line["worker"] = self.worker
        if request := REQUEST_ID.get():
            line["request_id"] = request
        thread, run = current_thread_and_run()
        if run:
            line |= {"thread": thread[:MAX_ID], "run": run[:MAX_ID]}
        line |= getattr(record, "fields", {})
        if record.exc_info:
            line["error"] = self.formatException(record.exc_info)
        return json.dumps(mask_values(line), default=str)


def configure_logging(kind: str, level: str, *, foreign_text: bool = True, worker: int | None = None) -> None:
    """Set up the root logger. `foreign_text`: whether messages of foreign exceptions are logged; `worker`: the number
    of this process among several."""
    handler = logging.StreamHandler(sys.stderr)
    formatter = JsonFormatter if kind == "json" else ConsoleFormatter
    handler.setFormatter(formatter(foreign_text=foreign_text, worker=worker))
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level.upper())
    # A full disk must not raise inside a request.
    logging.raiseExceptions = False
    quiet = logging.NOTSET if level == "debug" else logging.WARNING
    for name in ("uvicorn", "uvicorn.error", "asyncio"):
        # uvicorn's start and stop lines repeat the start-up summary.
        logger = logging.getLogger(name)
        logger.handlers[:] = []
        logger.propagate = True
        logger.setLevel(quiet)
