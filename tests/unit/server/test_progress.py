from __future__ import annotations

import io
import re
import threading
import time

import pytest

from rightseat.server.terminal_progress import show_download, show_spinner
from tests.kit.timeouts import HANG_TIMEOUT


class FakeTerminal(io.StringIO):
    encoding = "utf-8"

    def isatty(self) -> bool:
        return True


class AsciiTerminal(FakeTerminal):
    encoding = "ascii"


class ClosedTerminal(io.StringIO):
    def __init__(self) -> None:
        super().__init__()
        self.isatty_called = threading.Event()

    def isatty(self) -> bool:
        self.isatty_called.set()
        raise OSError(5, "gone")


def wait_for_text(out: io.StringIO, text: str) -> None:
    limit = time.monotonic() + HANG_TIMEOUT
    while text not in out.getvalue():
        assert time.monotonic() < limit, out.getvalue()
        time.sleep(0.001)


def test_what_is_quick_says_nothing() -> None:
    out = FakeTerminal()
    with show_spinner("Loading", out, delay=HANG_TIMEOUT):
        pass
    assert out.getvalue() == ""


def test_a_terminal_sees_it_turn_and_gets_its_line_back() -> None:
    for out, sign in ((FakeTerminal(), "⠙"), (AsciiTerminal(), "/")):
        with show_spinner("Loading the model", out, delay=0):
            wait_for_text(out, f"\r{sign} Loading the model … ")
        # What is logged meanwhile begins at the start of the line.
        assert re.search(r"… \d+ s\r", out.getvalue())
        assert out.getvalue().endswith("\r\x1b[K")


def test_a_file_gets_one_line() -> None:
    out = io.StringIO()
    with show_spinner("Loading", out, delay=0):
        wait_for_text(out, "Loading …\n")
    assert out.getvalue() == "Loading …\n"


def test_a_terminal_that_is_gone_ends_nothing() -> None:
    out = ClosedTerminal()
    with show_spinner("Loading", out, delay=0):
        assert out.isatty_called.wait(HANG_TIMEOUT)


@pytest.mark.demand("llamacpp.weights_come_wheel_without")
def test_a_download_in_a_terminal_is_a_bar() -> None:
    out = FakeTerminal()
    with show_download("weights", out) as progress:
        progress(50_000_000, 98_000_000)
        progress(98_000_000, 98_000_000)
    assert "Fetching weights" in out.getvalue()
    assert "98.0 MB" in out.getvalue()


@pytest.mark.demand("llamacpp.weights_come_wheel_without")
def test_a_download_in_a_file_is_a_few_lines() -> None:
    out = io.StringIO()
    with show_download("weights", out) as progress:
        for part in range(101):
            progress(part * 1_000_000, 100_000_000)
    assert out.getvalue().splitlines() == ["Fetching weights …", *(f"  {part} of 100 MB" for part in (25, 50, 75, 100))]
