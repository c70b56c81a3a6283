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

from tests.kit.timeouts import HANG_TIMEOUT
from tests.peers.install import CHROMIUM, PEERS_FOLDER

TIMEOUT_MS = HANG_TIMEOUT * 1000
"""Milliseconds after which what is not seen never will be."""

LOCAL_HOSTS = ("127.0.0.1", "localhost")
CHROMIUM_FLAGS = (
    # As root, and tests may run as root, Chromium does not start with one.
    "--no-sandbox",
    "--host-resolver-rules=MAP * ~NOTFOUND, " + ", ".join(f"EXCLUDE {name}" for name in LOCAL_HOSTS),
)


class BrowserTab:
    """One page, and what it did that it must not."""

    def __init__(self, page: Any) -> None:
        self.page = page
        self.problems: list[str] = []
        self._expected: list[re.Pattern[str]] = []
        page.set_default_timeout(TIMEOUT_MS)
        page.on("console", self._on_console)
        page.on("request", self._on_request)
        page.on("pageerror", lambda error: self.problems.append(f"uncaught: {error}"))

    async def open_url(self, url: str) -> None:
        await self.page.goto(url)

    async def click(self, selector: str) -> None:
        await self.page.click(selector)

    async def fill_text(self, selector: str, text: str) -> None:
        """Types over what stands there."""
        await self.page.fill(selector, text)

    async def wait_visible(self, selector: str, text: str = "") -> None:
        """Until something at `where` with this text is on the screen."""
        await self.page.locator(selector).filter(has_text=text).first.wait_for(state="visible")

    async def wait_gone(self, selector: str) -> None:
        """Until there is nothing at `where`."""
        await self.page.locator(selector).first.wait_for(state="detached")

    async def read_texts(self, selector: str) -> list[str]:
        texts: list[str] = await self.page.locator(selector).all_inner_texts()
        return texts

    def expect_problem(self, pattern: str) -> None:
        """From now on a fault like this is what the test wants to see."""
        self._expected.append(re.compile(pattern))

    def list_unexpected(self) -> list[str]:
        return [fault for fault in self.problems if not any(known.search(fault) for known in self._expected)]

    def _on_console(self, message: Any) -> None:
        if message.type in ("error", "warning"):
            self.problems.append(f"{message.type}: {message.text}")

    def _on_request(self, request: Any) -> None:
        target = urlsplit(request.url)
        if target.scheme not in ("data", "blob") and target.hostname not in LOCAL_HOSTS:
            self.problems.append(f"stray: {request.url}")


class Chromium:
    def __init__(self, browser: Any) -> None:
        self._browser = browser

    @property
    def version(self) -> str:
        version: str = self._browser.version
        return version

    @contextlib.asynccontextmanager
    async def open_tab(self) -> AsyncIterator[BrowserTab]:
        context = await self._browser.new_context()
        tab = BrowserTab(await context.new_page())
        try:
            yield tab
            # Whatever the page did until now is told before it answers this.
            await tab.page.title()
            if problems := tab.list_unexpected():
                raise AssertionError("\n".join(problems))
        finally:
            # Shown only when the test fails, and then they may say why.
            print("\n".join(tab.problems))
            await context.close()


@contextlib.asynccontextmanager
async def launch_chromium(*flags: str) -> AsyncIterator[Chromium]:
    async with load_playwright() as driver:
        args = [*CHROMIUM_FLAGS, *flags]
        browser = await driver.chromium.launch(executable_path=CHROMIUM.find_or_install(), args=args)
        try:
            yield Chromium(browser)
        finally:
            await browser.close()


def load_playwright() -> Any:
    """From its own locked folder: it is no dependency of the other tests."""
    home = PEERS_FOLDER / "playwright"
    folder = sysconfig.get_path("purelib", vars={"base": str(home), "platbase": str(home)})
    if folder not in sys.path:
        sys.path.append(folder)
    assert Path(folder).is_dir(), folder
    return importlib.import_module("playwright.async_api").async_playwright()
