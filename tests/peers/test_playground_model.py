"""What a newcomer sees: the page, the embedded model, and three examples that surely succeed."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from rightseat.models.llamacpp import weights
from rightseat.models.llamacpp.curated import suggest_model
from rightseat.models.llamacpp.machine import get_machine
from tests.kit.server import RightseatProcess
from tests.peers.browser import BrowserTab, Chromium
from tests.peers.playground import open_playground, send_message
from tests.peers.prerequisites import require_assets

pytestmark = [pytest.mark.model, pytest.mark.peers, pytest.mark.timeout(600), pytest.mark.asyncio(loop_scope="module")]
ANSWER = ".message.assistant"


def make_environment() -> dict[str, str]:
    return {"RIGHTSEAT_CACHE": str(weights.cache_folder()), "RIGHTSEAT_MODEL": ""}


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def server() -> AsyncIterator[RightseatProcess]:
    require_assets("echarts")
    async with RightseatProcess(env=make_environment(), start_timeout=120) as found:
        yield found


@pytest_asyncio.fixture(loop_scope="module")
async def tab(chromium: Chromium, server: RightseatProcess) -> AsyncIterator[BrowserTab]:
    async with open_playground(chromium, server.url) as found:
        found.page.set_default_timeout(60_000)
        yield found


@pytest.mark.demand("playground.opens_three_example_chips", "playground.welcome_model_card")
async def test_the_page_says_that_the_model_is_built_in_and_leads_to_another(tab: BrowserTab) -> None:
    await tab.wait_visible(".now .chip", "built in")
    await tab.wait_visible(".now .chip", "Knows little")
    await tab.click(".now >> text=Connect a model")
    await tab.wait_visible(".topbar h1", "Models")


@pytest.mark.demand("playground.page_says_what_model_is_for")
async def test_the_page_says_what_the_model_is_for(tab: BrowserTab) -> None:
    await tab.wait_visible(".now b", "SmolLM2-135M-Instruct")
    await tab.wait_visible(".now", "Not for: reasoning, long texts")
    if suggest_model(get_machine().memory, cores=get_machine().cores):
        await tab.wait_visible(".now code", "rightseat models pull qwen3-")
    await tab.click(".rail [aria-label=中文]")
    await tab.wait_visible(".now", "不适合：推理、长文本")


@pytest.mark.demand("playground.opens_three_example_chips", "playground.playwright_real_server_embedded")
@pytest.mark.parametrize("language", ["English", "中文"])
async def test_a_tool_call(tab: BrowserTab, language: str) -> None:
    if language != "English":
        await tab.click(f".rail [aria-label={language}]")
    await tab.click(".eg button >> nth=0")
    await tab.wait_visible(".call[data-state=done] code", "demo_clock")
    await tab.wait_visible(f"{ANSWER}[aria-busy=false] .prose", ":")


@pytest.mark.demand("playground.opens_three_example_chips")
async def test_a_flow_with_a_chart(tab: BrowserTab) -> None:
    await tab.click(".eg button >> nth=1")
    await tab.wait_visible(".artifact canvas")
    await tab.wait_visible(ANSWER, "The best month was June.")


@pytest.mark.demand("playground.opens_three_example_chips")
async def test_an_approval(tab: BrowserTab) -> None:
    await tab.click(".eg button >> nth=2")
    await tab.wait_visible(".call[data-state=asking]", "demo_book")
    await tab.click(".call[data-state=asking] >> button >> text=Allow once")
    await tab.click(".call[data-state=done] .head")
    await tab.wait_visible(".call[data-state=done] .result", "A table for 2 is booked.")
    await tab.wait_visible(f"{ANSWER}[aria-busy=false]")


TOOL = """
from rightseat import tool


@tool
def track(parcel: str) -> str:
    \"\"\"Track a parcel by its number.\"\"\"
    return f"{parcel} is on its way"
"""


@pytest.mark.demand("playground.inspector_exact_prompt_grammar")
async def test_the_exact_prompt_and_grammar_are_shown(chromium: Chromium, tmp_path: Path) -> None:
    # Rules answer the demo; a tool of one's own is for the weights.
    (tmp_path / "parcels.py").write_text(TOOL, "utf-8")
    config = tmp_path / "rightseat.toml"
    config.write_text('[assistants.default]\ntools = ["parcels:track"]\n', "utf-8")
    async with (
        RightseatProcess(env=make_environment(), args=["--config", str(config)], start_timeout=120) as server,
        open_playground(chromium, server.url) as tab,
    ):
        tab.page.set_default_timeout(60_000)
        await send_message(tab, "Track parcel A7, please")
        await tab.wait_visible(f"{ANSWER}[aria-busy=false]")
        await tab.click("[aria-label=Inspector]")
        await tab.click("[role=tab] >> text=Prompt")
        await tab.wait_visible(".inspected pre", "<|im_start|>user")
        await tab.wait_visible(".inspected pre", "root ::=")
