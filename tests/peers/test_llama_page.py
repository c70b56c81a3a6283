"""llama.cpp's own web page over our server, in a real browser."""

from pathlib import Path
from typing import Any

import pytest

from rightseat import Runtime
from rightseat.types.chunks import FinishChunk, ModelChunk, TextChunk, UsageChunk
from rightseat.types.events import Usage
from rightseat.types.model import Prompt
from rightseat.wiring.lookup import make_model
from tests.kit.app_server import FakeModel, reply_text
from tests.peers.browser import BrowserTab, Chromium
from tests.peers.llama_page import serve_llama_page

pytestmark = [pytest.mark.peers, pytest.mark.timeout(600), pytest.mark.asyncio(loop_scope="module")]
# The page asks the server to run its own tool for the time, and goes on without an answer.
KNOWN_PROBLEMS = (r"status of 40[45]", r"POST .*/tools", "service ?worker", "Workbox|workbox")
PROPS = {
    "default_generation_settings": {"params": {"temperature": 0.8}, "n_ctx": 2048},
    "total_slots": 1,
    "model_path": "page.gguf",
    "modalities": {"vision": False, "audio": False},
    "chat_template": "{{ messages }}",
    "build_info": "b1",
}


class PageModel(FakeModel):
    """A scripted model with an engine."""

    async def render_prompt(self, prompt: Prompt) -> str:
        return ""

    async def get_engine_props(self) -> dict[str, Any]:
        return PROPS

    async def list_engine_slots(self) -> list[dict[str, Any]]:
        return [{"id": 0, "is_processing": False}]


async def ask(tab: BrowserTab, text: str) -> None:
    await tab.fill_text("textarea", text)
    await tab.page.keyboard.press("Enter")


async def open_page(tab: BrowserTab, url: str) -> None:
    for problem in KNOWN_PROBLEMS:
        tab.expect_problem(problem)
    await tab.open_url(url)
    await tab.wait_visible("textarea")


@pytest.mark.demand("llamacpp.llama_web_page")
async def test_a_conversation_of_two_turns(chromium: Chromium, tmp_path: Path) -> None:
    first: list[ModelChunk] = [TextChunk("Roses "), TextChunk("are red."), UsageChunk(Usage(5, 2)), FinishChunk("stop")]
    model = PageModel(first, reply_text("Violets are blue."))
    async with serve_llama_page(Runtime(model=model), tmp_path) as (url, page), chromium.open_tab() as tab:
        await open_page(tab, url)
        await ask(tab, "Say a poem")
        await tab.wait_visible("p", "Roses are red.")
        await ask(tab, "Go on")
        await tab.wait_visible("p", "Violets are blue.")
        await tab.wait_visible("button", "default")
    assert [message.text for message in model.prompts[-1].messages] == ["Say a poem", "Roses are red.", "Go on"]
    served = {(method, path) for method, path, status in page.calls if status == 200}
    needed = {("GET", "/props"), ("GET", "/v1/models"), ("GET", "/tools"), ("POST", "/v1/chat/completions")}
    assert served >= needed
    assert {path for _, path, status in page.calls if status >= 400} <= {"/tools", "/v1/stream"}


@pytest.mark.demand("llamacpp.llama_web_page")
@pytest.mark.model
async def test_the_embedded_model_answers(chromium: Chromium, tmp_path: Path) -> None:
    runtime = Runtime(model=make_model("local", {"context": 1024}))
    async with serve_llama_page(runtime, tmp_path) as (url, page), chromium.open_tab() as tab:
        await open_page(tab, url)
        await ask(tab, "Good morning")
        await tab.wait_visible("p", "help")
    assert ("POST", "/v1/chat/completions", 200) in page.calls
