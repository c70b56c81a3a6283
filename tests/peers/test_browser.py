"""The browser rig itself: what a page must not do is seen, and fails the test."""

import re

import pytest

from tests.peers.browser import BrowserTab, Chromium

pytestmark = [pytest.mark.peers, pytest.mark.timeout(600), pytest.mark.asyncio(loop_scope="module")]

PAGE = "data:text/html,<h1>open</h1><button onclick='{script}'>go</button><p></p>"
MARK_DONE = "document.querySelector(`p`).textContent = `done`"
FAULTS = {
    f"console.error(`lost`); {MARK_DONE}": "error: lost",
    f"console.warn(`odd`); {MARK_DONE}": "warning: odd",
    f"{MARK_DONE}; throw new Error(`fell`)": "uncaught: fell",
    f"fetch(`http://example.com/x`).catch(() => {{ {MARK_DONE} }})": "stray: http://example.com/x",
    f"const i = new Image(); i.onerror = () => {{ {MARK_DONE} }}; i.src = `https://example.org/a.png`": (
        "stray: https://example.org/a.png"
    ),
}


async def press_button(chromium: Chromium, script: str) -> BrowserTab:
    async with chromium.open_tab() as tab:
        await tab.open_url(PAGE.format(script=script))
        assert await tab.read_texts("h1") == ["open"]
        await tab.click("text=go")
        await tab.wait_visible("p", "done")
    return tab


@pytest.mark.parametrize(("script", "fault"), FAULTS.items(), ids=FAULTS.values())
async def test_a_fault_fails_the_test(chromium: Chromium, script: str, fault: str) -> None:
    with pytest.raises(AssertionError, match=re.escape(fault)):
        await press_button(chromium, script)


async def test_a_page_without_faults(chromium: Chromium) -> None:
    assert (await press_button(chromium, MARK_DONE)).problems == []


async def test_an_expected_fault(chromium: Chromium) -> None:
    async with chromium.open_tab() as tab:
        await tab.open_url("data:text/html,<script>console.error(`lost`)</script>")
        tab.expect_problem("^error: lost$")
    assert tab.problems == ["error: lost"]
