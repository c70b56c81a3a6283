"""`run_command`: the command line in this process, in a thread, so that a server of the test can answer it."""

import asyncio
import contextlib
import io
import logging
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from rightseat import cli


@dataclass
class CommandResult:
    code: int
    out: str
    err: str

    @property
    def path(self) -> Path:
        """The only line of the output of a pull."""
        return Path(self.out.removesuffix("\n"))

    @property
    def content(self) -> bytes:
        assert self.code == 0, self.err
        return self.path.read_bytes()


async def run_command(*args: str) -> CommandResult:
    """Run `rightseat ARGS`; what it prints does not reach the terminal."""
    return await asyncio.to_thread(run_main, args)


@contextlib.contextmanager
def restore_logging() -> Iterator[None]:
    """A command configures the logging of its process, which is that of the tests."""
    root = logging.getLogger()
    loggers = [root, *(item for item in root.manager.loggerDict.values() if isinstance(item, logging.Logger))]
    before = [(logger, logger.level, logger.propagate, logger.handlers[:]) for logger in loggers]
    try:
        yield
    finally:
        for logger, level, propagate, handlers in before:
            logger.setLevel(level)
            logger.propagate, logger.handlers = propagate, handlers


def run_main(args: tuple[str, ...]) -> CommandResult:
    out, err, code = io.StringIO(), io.StringIO(), 0
    with (
        restore_logging(),
        pytest.MonkeyPatch.context() as patch,
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
    ):
        patch.setattr(sys, "argv", ["rightseat", *args])
        try:
            cli.main()
        except SystemExit as end:
            code = int(end.code or 0)
    return CommandResult(code, out.getvalue(), err.getvalue())
