"""`make screens`: pictures of the playground's main screens into docs/img, with the embedded model."""

import asyncio
from pathlib import Path

from checks import assets
from rightseat.models.llamacpp import weights
from tests.kit.server import RightseatProcess
from tests.peers import browser
from tests.peers.browser import BrowserTab
from tests.peers.install import install
from tests.peers.playground import open_playground

IMAGE_FOLDER = Path(__file__).resolve().parents[2] / "docs" / "img"
ANSWER = ".message.assistant[aria-busy=false]"


async def main() -> None:
    assets.main()
    install("playwright")
    IMAGE_FOLDER.mkdir(exist_ok=True)
    env = {"RIGHTSEAT_CACHE": str(weights.pull_weights().parent), "RIGHTSEAT_MODEL": ""}
    async with (
        RightseatProcess(env=env, start_timeout=120) as server,
        browser.launch_chromium() as chromium,
        open_playground(chromium, server.url) as tab,
    ):
        await tab.page.set_viewport_size({"width": 1440, "height": 900})
        tab.page.set_default_timeout(60_000)
        await take_screenshots(tab)


async def take_screenshots(tab: BrowserTab) -> None:
    await take_screenshot(tab, "welcome")
    await tab.click(".eg button >> nth=1")
    await tab.wait_visible(".artifact canvas, figure canvas")
    await tab.wait_visible(ANSWER)
    # The chart moves into its place.
    await tab.page.wait_for_timeout(1200)
    await take_screenshot(tab, "chart")
    await tab.click("[data-begin]")
    await tab.click(".eg button >> nth=2")
    await tab.wait_visible("button:text-is('Allow'), button:text-is('Allow once')")
    await tab.page.wait_for_timeout(500)
    await take_screenshot(tab, "approval")
    await tab.click("button:text-is('Allow'), button:text-is('Allow once')")
    await tab.wait_visible(ANSWER)
    await tab.click("[aria-label=Inspector]")
    await tab.click("[role=tab] >> text=Wire")
    await tab.page.wait_for_timeout(1000)
    await take_screenshot(tab, "wire")
    await tab.click("[data-view=flows]")
    await tab.click("button:has-text('Run') >> visible=true")
    # The run's steps are lit one after the other.
    await tab.page.wait_for_timeout(3000)
    await take_screenshot(tab, "flow")


async def take_screenshot(tab: BrowserTab, name: str) -> None:
    await tab.page.screenshot(path=IMAGE_FOLDER / f"{name}.png")


if __name__ == "__main__":
    asyncio.run(main())
