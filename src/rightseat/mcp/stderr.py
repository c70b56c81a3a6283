"""Log the first lines of a child's stderr, with secrets masked."""

from __future__ import annotations

import asyncio
import logging
import os
from types import TracebackType
from typing import TextIO

from rightseat.config.secret import mask

log = logging.getLogger(__name__)
MAX_LINES, MAX_LINE_LENGTH = 100, 500


class StderrLogger:
    """A pipe for a child's stderr; its first lines are logged."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.lines_left = MAX_LINES
        self.partial_line = b""

    def __enter__(self) -> TextIO:
        self.reading, writing = os.pipe()
        os.set_blocking(self.reading, False)
        self.loop = asyncio.get_running_loop()
        self.loop.add_reader(self.reading, self.read)
        self.writing = os.fdopen(writing, "w")
        return self.writing

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.writing.close()
        self.loop.remove_reader(self.reading)
        self.read()
        os.close(self.reading)

    def read(self) -> None:
        try:
            data = os.read(self.reading, 1 << 16)
        except BlockingIOError:
            return
        if not data:
            self.loop.remove_reader(self.reading)
            return
        *lines, self.partial_line = (self.partial_line + data).split(b"\n")
        # Bounds a line that never ends.
        self.partial_line = self.partial_line[-MAX_LINE_LENGTH:]
        for line in lines:
            self.log_line(line)

    def log_line(self, line: bytes) -> None:
        text = mask(line.decode("utf-8", "replace").strip())[:MAX_LINE_LENGTH]
        if not text or self.lines_left <= 0:
            return
        self.lines_left -= 1
        log.info("mcp %s says: %s", self.name, text)
        if self.lines_left == 0:
            log.info("mcp %s says more, which is not logged.", self.name)
