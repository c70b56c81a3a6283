"""The browser rig itself: what a page must not do is seen, and fails the test."""

import re

import pytest

from tests.peers.browser import Chromium, Tab

pytestmark = [pytest.mark.peers, pytest.mark.timeout(600), pytest.mark.asyncio(loop_scope="module")]

PAGE = "data:text/html,<h1>open</h1><button onclick='{script}'>go</button><p></p>"
DONE = "document.querySelector(`p`).textContent = `done`"
FAULTS = {
    f"console.error(`lost`); {DONE}": "error: lost",
    f"console.warn(`odd`); {DONE}": "warning: odd",
    f"{DONE}; throw new Error(`fell`)": "uncaught: fell",
    f"fetch(`http://example.com/x`).catch(() => {{ {DONE} }})": "stray: http://example.com/x",
    f"const i = new Image(); i.onerror = () => {{ {DONE} }}; i.src = `https://example.org/a.png`": (
        "stray: https://example.org/a.png"
    ),
}


async def pressed(chromium: Chromium, script: str) -> Tab:
    async with chromium.tab() as tab:
        await tab.open(PAGE.format(script=script))
        assert await tab.texts("h1") == ["open"]
        await tab.click("text=go")
        await tab.see("p", "done")
    return tab


@pytest.mark.parametrize(("script", "fault"), FAULTS.items(), ids=FAULTS.values())
async def test_a_fault_fails_the_test(chromium: Chromium, script: str, fault: str) -> None:
    with pytest.raises(AssertionError, match=re.escape(fault)):
        await pressed(chromium, script)


async def test_a_page_without_faults(chromium: Chromium) -> None:
    assert (await pressed(chromium, DONE)).faults == []


async def test_an_expected_fault(chromium: Chromium) -> None:
    async with chromium.tab() as tab:
        await tab.open("data:text/html,<script>console.error(`lost`)</script>")
        tab.expect("^error: lost$")
    assert tab.faults == ["error: lost"]
