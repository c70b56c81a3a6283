"""`make screens`: pictures of the playground's main screens into docs/img, with the embedded model."""

import asyncio
from pathlib import Path

from checks import assets
from rightseat.models.llamacpp import weights
from tests.kit.server import Server
from tests.peers import browser
from tests.peers.browser import Tab
from tests.peers.install import install
from tests.peers.playground import opened

PLACE = Path(__file__).resolve().parents[2] / "docs" / "img"
ANSWER = ".message.assistant[aria-busy=false]"


async def main() -> None:
    assets.main()
    install("playwright")
    PLACE.mkdir(exist_ok=True)
    env = {"RIGHTSEAT_CACHE": str(weights.pull_weights().parent), "RIGHTSEAT_MODEL": ""}
    async with (
        Server(env=env, patience=120) as server,
        browser.started() as chromium,
        opened(chromium, server.url) as tab,
    ):
        await tab.page.set_viewport_size({"width": 1200, "height": 760})
        tab.page.set_default_timeout(60_000)
        await walked(tab)


async def walked(tab: Tab) -> None:
    await shot(tab, "welcome")
    await tab.click(".chip.large >> nth=1")
    await tab.see(".artifact canvas")
    await tab.see(ANSWER)
    # The chart moves into its place.
    await tab.page.wait_for_timeout(1200)
    await shot(tab, "chart")
    await tab.click("button:text-is('New conversation')")
    await tab.page.select_option("select[aria-label=Assistant]", "default")
    await tab.click(".chip.large >> nth=2")
    await tab.click("button:text-is('Inspector')")
    await tab.see(".question")
    await tab.page.wait_for_timeout(500)
    await shot(tab, "approval")
    await tab.click(".question >> button:text-is('Allow')")
    await tab.see(ANSWER)
    await tab.click("[data-view=flows]")
    await tab.see("svg.flow")
    await tab.click("button:text-is('Run')")
    await tab.see("svg.flow [data-state=done] text", "chart")
    await tab.click("svg.flow .box >> nth=0")
    await tab.page.wait_for_timeout(500)
    await shot(tab, "flow")
    await tab.click("[role=tab] >> text=Wire")
    await tab.click("[data-view=chat]")
    await tab.click(".door summary >> nth=0")
    await tab.page.wait_for_timeout(500)
    await shot(tab, "wire")


async def shot(tab: Tab, name: str) -> None:
    await tab.page.screenshot(path=PLACE / f"{name}.png")


if __name__ == "__main__":
    asyncio.run(main())
