"""Models and front ends on the page, as a person connects them: a real browser, a real server, a scripted model."""

import json
import tomllib
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
import pytest_asyncio

from tests.kit.model_server import ModelServer
from tests.kit.server import RightseatProcess
from tests.peers.browser import BrowserTab, Chromium
from tests.peers.playground import wait_for_expression
from tests.peers.prerequisites import require, require_assets

pytestmark = [pytest.mark.peers, pytest.mark.timeout(600), pytest.mark.asyncio(loop_scope="module")]

CONFIG = '# Ours.\n[models.default]\nspec = "scripted:script.json"\n'
KEYS = '\n[auth]\nadmins = ["ann"]\n\n[auth.keys]\nann = "env:ANN_KEY"\nbob = "env:BOB_KEY"\n'
SIZES = {"desktop": (1440, 900), "phone": (390, 844)}
SECRET = "sk-typed-in-the-page-1"
USE = {"en": "Use qwen3:8b", "zh": "使用 qwen3:8b"}
PASSED = {"en": "all passed", "zh": "全部通过"}
ANSWERS = {"en": "answers new messages from now on", "zh": "从现在起回答新消息"}


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def upstream() -> AsyncIterator[ModelServer]:
    async with ModelServer() as server:
        yield server


def make_server(upstream: ModelServer, config: str = CONFIG, **env: str) -> RightseatProcess:
    server = RightseatProcess(config=config, env={"OLLAMA_HOST": f"127.0.0.1:{upstream.port}", **env})
    (server.folder / "script.json").write_text(json.dumps({"turns": [{"say": "The script says this."}]}))
    return server


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def server(upstream: ModelServer) -> AsyncIterator[RightseatProcess]:
    async with make_server(upstream) as server:
        yield server


@pytest_asyncio.fixture(loop_scope="module")
async def tab(chromium: Chromium) -> AsyncIterator[BrowserTab]:
    require_assets("markdown-it")
    async with chromium.open_tab() as found:
        yield found


async def open_view(tab: BrowserTab, url: str, view: str, size: str = "desktop", language: str = "en") -> None:
    width, height = SIZES[size]
    await tab.page.set_viewport_size({"width": width, "height": height})
    await tab.open_url(url)
    await tab.page.evaluate(f"localStorage.setItem('rightseat.language', '{language}')")
    await tab.open_url(f"{url}/?{size}{language}#/{view}")


async def check_fits(tab: BrowserTab, size: str) -> None:
    """Nothing is wider than the window, and on a phone what is pressed is large enough for a finger."""
    assert await tab.page.evaluate("document.documentElement.scrollWidth") <= SIZES[size][0]
    overflow = """[...document.querySelectorAll('.stage .wrap *')].filter((one) => one.checkVisibility()
        && one.getBoundingClientRect().right > innerWidth + 1 && !one.closest('pre')).length"""
    assert await tab.page.evaluate(overflow) == 0
    if size == "phone":
        small = """[...document.querySelectorAll('.stage button')].filter((one) => one.checkVisibility()
            && one.getBoundingClientRect().height < 44).map((one) => one.textContent)"""
        assert await tab.page.evaluate(small) == []


async def check_accessible(tab: BrowserTab, place: str = "html") -> None:
    source = (require("axe") / "node_modules" / "axe-core" / "axe.min.js").read_text(encoding="utf-8")
    await tab.page.evaluate(source)
    found = await tab.page.evaluate("place => axe.run(document.querySelector(place))", place)
    assert [(one["id"], one["nodes"][0]["html"][:200]) for one in found["violations"]] == []


@pytest.mark.demand("playground.connect_model", "playground.model_written_to_file")
@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("size", SIZES)
async def test_a_model_is_found_tested_used_and_written(
    tab: BrowserTab, upstream: ModelServer, size: str, language: str
) -> None:
    async with make_server(upstream) as server:
        await open_view(tab, server.url, "models", size, language)
        await tab.wait_visible("[data-provider=ollama][aria-pressed=true]")
        await tab.wait_visible("button", USE[language])
        await tab.click(".model-acts button:nth-child(2)")
        await tab.wait_visible(".chip", PASSED[language])
        assert len(await tab.read_texts(".checks li.good")) == 3
        await tab.click("[role=switch]")
        await tab.wait_visible(".connect-form pre", 'spec = "ollama:qwen3:8b"')
        await check_fits(tab, size)
        await check_accessible(tab)
        await tab.click(f"button:text-is('{USE[language]}')")
        await tab.wait_visible(".told", ANSWERS[language])
        assert await tab.page.evaluate("document.activeElement.type") == "submit"
        text = (server.folder / "rightseat.toml").read_text()
        assert text.startswith("# Ours.\n")
        assert tomllib.loads(text)["models"]["default"] == {"spec": "ollama:qwen3:8b"}
        await check_fits(tab, size)
        await check_accessible(tab)


@pytest.mark.demand("playground.connect_model")
async def test_a_chosen_model_answers_the_next_message(tab: BrowserTab, upstream: ModelServer) -> None:
    async with make_server(upstream) as server:
        await open_view(tab, server.url, "models")
        await tab.click("button:text-is('Use qwen3:8b')")
        await tab.wait_visible(".told", "Until the server restarts")
        await tab.wait_visible(".chip.model", "in use: qwen3:8b")
        await tab.click(".told a")
        await tab.wait_visible("#say")
        await tab.fill_text("#say", "Hello")
        await tab.page.keyboard.press("Enter")
        await wait_for_expression(tab, "document.body.innerText.includes('Hello from the model server.')")
        assert (server.folder / "rightseat.toml").read_text() == CONFIG


@pytest.mark.demand("playground.model_written_to_file")
async def test_a_typed_key_is_kept_nowhere_in_the_browser(tab: BrowserTab, server: RightseatProcess) -> None:
    async with ModelServer(["own"], key=SECRET) as upstream:
        await open_view(tab, server.url, "models")
        await tab.click("[data-provider=compatible]")
        await tab.page.get_by_label("Address").fill(upstream.base_url)
        await tab.page.get_by_label("Key, if it needs one").fill("wrong")
        await tab.page.get_by_label("Model", exact=True).fill("own")
        await tab.click("button:text-is('Test')")
        await tab.wait_visible(".checks .why", "key")
        await tab.wait_visible(".chip", "failed")
        await tab.page.get_by_label("Key, if it needs one").fill(SECRET)
        await tab.page.keyboard.press("Tab")
        # With the right key the server tells its models.
        await tab.wait_visible(".connect-form select")
        await tab.click("[role=switch]")
        await tab.wait_visible(".connect-form pre", "api_key")
        assert SECRET not in "".join(await tab.read_texts(".connect-form pre"))
        await tab.click("button:text-is('Use own')")
        await tab.wait_visible(".told", "Written to")
        stored = "JSON.stringify([{...localStorage}, {...sessionStorage}, document.cookie, location.href])"
        assert SECRET not in await tab.page.evaluate(stored)
        assert await tab.page.get_by_label("Key, if it needs one").input_value() == ""
        assert SECRET not in (server.folder / "rightseat.toml").read_text()
        assert SECRET not in server.stderr + server.stdout


@pytest.mark.demand("playground.connect_model")
@pytest.mark.parametrize("language", ["en", "zh"])
async def test_every_provider_has_its_form(tab: BrowserTab, server: RightseatProcess, language: str) -> None:
    await open_view(tab, server.url, "models", "phone", language)
    labels = {"openai": 3, "anthropic": 2, "google": 2, "azure": 5, "gguf": 1, "compatible": 3, "lmstudio": 2}
    await tab.wait_visible("[data-provider=gguf]")
    for provider, count in labels.items():
        await tab.click(f"[data-provider={provider}]")
        await tab.wait_visible(".connect-form")
        # The choice of a fallback is there only with the embedded model.
        fields = await tab.page.locator(".connect-form label:not([for$=fails])").count()
        assert (provider, fields) == (provider, count)
        await check_fits(tab, "phone")
        await check_accessible(tab)


@pytest.mark.demand("playground.model_only_for_admins")
async def test_who_is_no_admin_is_told_so(tab: BrowserTab, upstream: ModelServer) -> None:
    async with make_server(upstream, CONFIG + KEYS, ANN_KEY="ann-1-key", BOB_KEY="bob-2-key") as server:
        tab.expect_problem("401")
        await tab.open_url(server.url)
        await tab.page.evaluate("sessionStorage.setItem('rightseat.key', 'bob-2-key')")
        await open_view(tab, server.url, "models", "phone")
        await tab.wait_visible(".notice", "You cannot change the model here")
        assert await tab.page.locator(".prov").count() == 0
        await check_accessible(tab)
        await tab.page.evaluate("sessionStorage.setItem('rightseat.key', 'ann-1-key')")
        await tab.page.reload()
        await tab.wait_visible(".prov")


async def read_copied(tab: BrowserTab, file: str) -> str:
    """Press Copy of the step for a file; returns what the clipboard gets."""
    note = "navigator.clipboard.writeText = async (text) => { window.copied = text; }"
    await tab.page.evaluate(f"() => {{ {note} }}")
    await tab.page.locator(".code", has=tab.page.locator(f".head:has-text('{file}')")).first.locator("button").click()
    copied: str = await tab.page.evaluate("window.copied")
    return copied


@pytest.mark.demand("playground.front_ends_connected_by_lines_that_run")
@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("size", SIZES)
async def test_every_front_end_has_its_steps(
    tab: BrowserTab, server: RightseatProcess, size: str, language: str, record_property: Callable[[str, Any], None]
) -> None:
    await open_view(tab, server.url, "connect", size, language)
    await tab.wait_visible(".stepn .code")
    if size == "phone":
        await tab.click(".topbar .icon.phone")
    names = await tab.read_texts(".list .it .name > :first-child")
    assert len(names) == 10
    await tab.fill_text(".list input", "openbb")
    assert await tab.read_texts(".list .it .name > :first-child") == ["OpenBB Workspace"]
    await tab.click(".list .it")
    await tab.wait_visible("h1", "OpenBB Workspace")
    assert await read_copied(tab, "URL") == server.url
    await check_fits(tab, size)
    await check_accessible(tab)
    await tab.open_url(f"{server.url}/?{size}{language}#/connect/curl")
    await tab.wait_visible("h1", "curl")
    copied = await read_copied(tab, "Terminal")
    assert copied.startswith(f"curl {server.url}/v1/chat/completions")
    assert "RIGHTSEAT_KEY" not in copied
    await tab.click(".seg button:first-child")
    assert '"Authorization: Bearer $RIGHTSEAT_KEY"' in await read_copied(tab, "Terminal")


@pytest.mark.demand("playground.front_ends_connected_by_lines_that_run")
async def test_a_copied_line_has_the_key_of_the_page(tab: BrowserTab, upstream: ModelServer) -> None:
    key = 'a"odd$key`1'
    async with make_server(upstream, CONFIG + KEYS, ANN_KEY=key, BOB_KEY="bob-2-key") as server:
        tab.expect_problem("401")
        await tab.open_url(server.url)
        await tab.page.evaluate("key => sessionStorage.setItem('rightseat.key', key)", key)
        await open_view(tab, server.url, "connect/curl")
        await tab.wait_visible(".seg button[aria-pressed=true]", "With a key")
        assert r'"Authorization: Bearer a\"odd\$key\`1"' in await read_copied(tab, "Terminal")
        await tab.open_url(f"{server.url}/?again#/connect/mcp")
        await tab.wait_visible(".code .head", "mcp.json")
        servers = json.loads(await read_copied(tab, "mcp.json"))["mcpServers"]
        assert servers["rightseat"]["headers"] == {"Authorization": f"Bearer {key}"}
        await tab.click("button:text-is('Test')")
        await tab.wait_visible(".list .foot", "endpoints answer")
        assert await tab.read_texts(".checkbox .checks li.good")
