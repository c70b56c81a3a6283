from __future__ import annotations

import io
import re
import threading
import time

import pytest

from rightseat.server.progress import show_download, show_spinner
from tests.kit.patience import STUCK


class Terminal(io.StringIO):
    encoding = "utf-8"

    def isatty(self) -> bool:
        return True


class Ascii(Terminal):
    encoding = "ascii"


class Closed(io.StringIO):
    def __init__(self) -> None:
        super().__init__()
        self.asked = threading.Event()

    def isatty(self) -> bool:
        self.asked.set()
        raise OSError(5, "gone")


def until(out: io.StringIO, text: str) -> None:
    limit = time.monotonic() + STUCK
    while text not in out.getvalue():
        assert time.monotonic() < limit, out.getvalue()
        time.sleep(0.001)


def test_what_is_quick_says_nothing() -> None:
    out = Terminal()
    with show_spinner("Loading", out, delay=STUCK):
        pass
    assert out.getvalue() == ""


def test_a_terminal_sees_it_turn_and_gets_its_line_back() -> None:
    for out, sign in ((Terminal(), "⠙"), (Ascii(), "/")):
        with show_spinner("Loading the model", out, delay=0):
            until(out, f"\r{sign} Loading the model … ")
        assert re.search(r"… \d+ s", out.getvalue())
        assert out.getvalue().endswith("\r\x1b[K")


def test_a_file_gets_one_line() -> None:
    out = io.StringIO()
    with show_spinner("Loading", out, delay=0):
        until(out, "Loading …\n")
    assert out.getvalue() == "Loading …\n"


def test_a_terminal_that_is_gone_ends_nothing() -> None:
    out = Closed()
    with show_spinner("Loading", out, delay=0):
        assert out.asked.wait(STUCK)


@pytest.mark.demand("llamacpp.weights_come_wheel_without")
def test_a_download_in_a_terminal_is_a_bar() -> None:
    out = Terminal()
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
