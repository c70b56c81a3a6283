"""A real Chromium for pages of ours: the system's own, headless, driven over Playwright.

    async def test_page(chromium: Chromium) -> None:
        async with chromium.tab() as tab:
            await tab.open(url)
            await tab.click("text=Run")
            await tab.see("#answer", "done")

A tab has a profile of its own. Chromium finds no host but this machine. A request to another one, an error on
the console and an exception that the page did not catch are faults: with them the test fails in the end.
"""

import contextlib
import importlib
import re
import sys
import sysconfig
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from tests.kit.patience import STUCK
from tests.peers.install import CHROMIUM, PLACE

PATIENCE = STUCK * 1000
"""Milliseconds after which what is not seen never will be."""

LOCAL = ("127.0.0.1", "localhost")
FLAGS = (
    # As root, and tests may run as root, Chromium does not start with one.
    "--no-sandbox",
    "--host-resolver-rules=MAP * ~NOTFOUND, " + ", ".join(f"EXCLUDE {name}" for name in LOCAL),
)


class Tab:
    """One page, and what it did that it must not."""

    def __init__(self, page: Any) -> None:
        self.page = page
        self.faults: list[str] = []
        self._expected: list[re.Pattern[str]] = []
        page.set_default_timeout(PATIENCE)
        page.on("console", self._said)
        page.on("request", self._asked)
        page.on("pageerror", lambda error: self.faults.append(f"uncaught: {error}"))

    async def open(self, url: str) -> None:
        await self.page.goto(url)

    async def click(self, where: str) -> None:
        await self.page.click(where)

    async def write(self, where: str, text: str) -> None:
        """Types over what stands there."""
        await self.page.fill(where, text)

    async def see(self, where: str, text: str = "") -> None:
        """Until something at `where` with this text is on the screen."""
        await self.page.locator(where).filter(has_text=text).first.wait_for(state="visible")

    async def gone(self, where: str) -> None:
        """Until there is nothing at `where`."""
        await self.page.locator(where).first.wait_for(state="detached")

    async def texts(self, where: str) -> list[str]:
        found: list[str] = await self.page.locator(where).all_inner_texts()
        return found

    def expect(self, pattern: str) -> None:
        """From now on a fault like this is what the test wants to see."""
        self._expected.append(re.compile(pattern))

    def unexpected(self) -> list[str]:
        return [fault for fault in self.faults if not any(known.search(fault) for known in self._expected)]

    def _said(self, message: Any) -> None:
        if message.type in ("error", "warning"):
            self.faults.append(f"{message.type}: {message.text}")

    def _asked(self, request: Any) -> None:
        target = urlsplit(request.url)
        if target.scheme not in ("data", "blob") and target.hostname not in LOCAL:
            self.faults.append(f"stray: {request.url}")


class Chromium:
    def __init__(self, browser: Any) -> None:
        self._browser = browser

    @property
    def version(self) -> str:
        found: str = self._browser.version
        return found

    @contextlib.asynccontextmanager
    async def tab(self) -> AsyncIterator[Tab]:
        context = await self._browser.new_context()
        tab = Tab(await context.new_page())
        try:
            yield tab
            # Whatever the page did until now is told before it answers this.
            await tab.page.title()
            if found := tab.unexpected():
                raise AssertionError("\n".join(found))
        finally:
            # Shown only when the test fails, and then they may say why.
            print("\n".join(tab.faults))
            await context.close()


@contextlib.asynccontextmanager
async def started() -> AsyncIterator[Chromium]:
    async with playwright() as driver:
        browser = await driver.chromium.launch(executable_path=CHROMIUM.get(), args=list(FLAGS))
        try:
            yield Chromium(browser)
        finally:
            await browser.close()


def playwright() -> Any:
    """From its own locked folder: it is no dependency of the other tests."""
    home = PLACE / "playwright"
    folder = sysconfig.get_path("purelib", vars={"base": str(home), "platbase": str(home)})
    if folder not in sys.path:
        sys.path.append(folder)
    assert Path(folder).is_dir(), folder
    return importlib.import_module("playwright.async_api").async_playwright()
