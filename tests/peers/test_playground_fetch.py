"""A better local model from the page, as a person gets it: a real browser, a real server, a hub of our own."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import pytest_asyncio

from tests.kit import tiny_gguf
from tests.kit.answers import UpstreamReply
from tests.kit.hub import FakeHub, send_file, send_status
from tests.kit.server import RightseatProcess
from tests.peers.browser import BrowserTab, Chromium
from tests.peers.playground import wait_for_expression
from tests.peers.prerequisites import require_assets
from tests.peers.test_playground_models import CONFIG, SIZES, check_accessible, check_fits, open_view
from tests.unit.server.playground.test_model_fetch import HeldFile

pytestmark = [pytest.mark.peers, pytest.mark.timeout(600), pytest.mark.asyncio(loop_scope="module")]

FILE = "acme/Tiny-GGUF/Tiny-Q4.gguf"
SOURCE = f"hf:{FILE}"
ROW = f'.get-rows [data-source="{SOURCE}"]'
WORDS = {
    "en": {
        "get": "Get",
        "stop": "Cancel",
        "stopped": "stopped. What has come is kept.",
        "here": "is here.",
        "go": "Go on",
    },
    "zh": {"get": "获取", "stop": "取消", "stopped": "已下载的部分会保留", "here": "已就绪", "go": "继续"},
}


@pytest_asyncio.fixture(loop_scope="module")
async def tab(chromium: Chromium) -> AsyncIterator[BrowserTab]:
    require_assets("markdown-it")
    async with chromium.open_tab() as found:
        yield found


@asynccontextmanager
async def serve(folder: Path) -> AsyncIterator[tuple[FakeHub, RightseatProcess]]:
    async with FakeHub() as hub:
        hub.files[FILE] = tiny_gguf.write_text_model(folder / "tiny.gguf").read_bytes()
        server = RightseatProcess(config=CONFIG, env={"HF_ENDPOINT": hub.endpoint})
        (server.folder / "script.json").write_text('{"turns": [{"say": "The script says this."}]}')
        async with server:
            yield hub, server


async def get_from_address(tab: BrowserTab, address: str) -> None:
    await tab.fill_text("#get-address", address)
    await tab.click(".get-address button")


@pytest.mark.demand("playground.fetch_local_model", "playground.fetch_goes_on")
@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("size", SIZES)
async def test_a_model_is_fetched_cancelled_continued_and_used(
    tab: BrowserTab, tmp_path: Path, size: str, language: str
) -> None:
    words = WORDS[language]
    async with serve(tmp_path) as (hub, server):
        whole = len(hub.files[FILE])
        held, rest = HeldFile(hub.files[FILE], whole // 2), HeldFile(hub.files[FILE], whole // 2)
        hub.store.queue_replies(held, rest)
        await open_view(tab, server.url, "models", size, language)
        await tab.wait_visible('.get-rows [data-model="qwen3-4b"] .chip')
        assert await tab.page.locator(".get-rows li").count() == 4
        await check_fits(tab, size)
        await get_from_address(tab, SOURCE)
        await wait_for_expression(tab, f"document.querySelector('{ROW} progress')?.value === {whole // 2}")
        await tab.wait_visible(f"{ROW} .act", "50")
        await check_fits(tab, size)
        await check_accessible(tab)
        await tab.click(f"{ROW} button:text-is('{words['stop']}')")
        await tab.wait_visible(".get-models .told", words["stopped"])
        assert await tab.page.evaluate("document.activeElement.tagName") != "BODY"
        # It goes on after a reload, and a second reload sees it.
        await tab.page.reload()
        await tab.click(f"{ROW} button:has-text('{words['go']}')")
        await tab.wait_visible(f"{ROW} progress")
        await tab.page.reload()
        await tab.wait_visible(f"{ROW} progress")
        rest.go_on.set()
        await tab.wait_visible(".get-models .told.ok", words["here"])
        assert hub.store.requests[-1].headers["range"] == f"bytes={whole // 2}-"
        await check_accessible(tab)
        await tab.click(".get-models .told button")
        await tab.wait_visible("[data-provider=gguf][aria-pressed=true]")
        await tab.wait_visible(".connect-form select")
        await tab.wait_visible(".checks li[data-check=reached]")
        assert await tab.page.evaluate("document.activeElement.type") == "submit"
        await tab.wait_gone(".checks .spin")


@pytest.mark.model
@pytest.mark.demand("playground.fetch_local_model")
async def test_the_fetched_model_is_loaded_and_written(tab: BrowserTab, tmp_path: Path) -> None:
    pytest.importorskip("xllamacpp")
    async with serve(tmp_path) as (_, server):
        await open_view(tab, server.url, "models")
        await get_from_address(tab, SOURCE)
        await tab.click(".get-models .told button")
        await tab.wait_visible(".checks li[data-check=reached].good")
        await tab.click("[role=switch]")
        await tab.wait_visible(".connect-form pre", "Tiny-Q4.gguf")
        await tab.click(".model-acts button[type=submit]")
        await tab.wait_visible(".told", "answers new messages from now on")
        assert "Tiny-Q4.gguf" in (server.folder / "rightseat.toml").read_text()


REPLIES: dict[str, tuple[UpstreamReply, str, str]] = {
    "no gguf": (send_file(b"MZ" + bytes(1000)), "is not a GGUF file; it was not kept.", "不是 GGUF 文件，没有保留"),
    "page": (send_status(200, {"Content-Type": "text/html"}, b"<html>"), "sent a web page", "发送的是网页，而不是文件"),
    "missing": (send_status(404), "does not exist at", "上没有 http"),
}


@pytest.mark.demand("playground.fetch_errors_in_words", "playground.server_sentences_in_chinese")
@pytest.mark.parametrize("language", ["en", "zh"])
async def test_what_goes_wrong_is_said_in_words(tab: BrowserTab, tmp_path: Path, language: str) -> None:
    async with serve(tmp_path) as (hub, server):
        await open_view(tab, server.url, "models", "phone", language)
        for reply, english, chinese in REPLIES.values():
            hub.store.reply = reply
            await get_from_address(tab, f"{hub.store.origin}/own/file.gguf")
            await tab.wait_visible(".get-models .told.bad", english if language == "en" else chinese)
        await check_fits(tab, "phone")
        await check_accessible(tab)
        tab.expect_problem("400")
        await get_from_address(tab, "model.bin")
        said = {"en": "Name a file of the hub", "zh": "请指定模型中心的文件"}[language]
        await tab.wait_visible(".get-models .told.bad", said)
        assert await tab.page.evaluate("document.querySelector('#get-address').value") == "model.bin"


@pytest.mark.demand("playground.fetch_goes_on")
async def test_a_cut_connection_is_no_end(tab: BrowserTab, tmp_path: Path) -> None:
    async with serve(tmp_path) as (hub, server):
        hub.store.queue_replies(hub.cut(1000))
        await open_view(tab, server.url, "models")
        await get_from_address(tab, SOURCE)
        await tab.wait_visible(".get-models .told.ok", "is here.")


@pytest.mark.demand("playground.fetch_goes_on")
async def test_a_server_that_ends_is_said(tab: BrowserTab, tmp_path: Path) -> None:
    async with serve(tmp_path) as (hub, server):
        hub.store.queue_replies(HeldFile(hub.files[FILE], 1000))
        await open_view(tab, server.url, "models")
        await get_from_address(tab, SOURCE)
        await tab.wait_visible(f"{ROW} progress")
        tab.expect_problem("ERR_|Failed to load")
        await asyncio.wait_for(server.stop(), 60)
        await tab.wait_visible(".get-models .told.bad")
