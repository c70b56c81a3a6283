"""What the GraphQL door gives a browser: GraphiQL, and a small page where that was not fetched. One writes a
query, and sees the answer. A tab fails its test for a request to another host and for what a policy stops."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from rightseat import Runtime
from rightseat.config.secret import Secret
from rightseat.config.settings import AuthSettings, ServerSettings
from rightseat.doors.copilotkit import browser
from rightseat.http.auth import Authenticator
from rightseat.http.static import StaticFiles
from rightseat.types.chunks import FinishChunk, ModelChunk, TextChunk
from rightseat.types.model import Prompt
from tests.kit.house import house
from tests.peers.browser import Chromium, Tab
from tests.peers.need import require_assets

pytestmark = [pytest.mark.peers, pytest.mark.timeout(600), pytest.mark.asyncio(loop_scope="module")]
KEY = "sesame-7"
KEYED = Authenticator(AuthSettings(keys={"ann": Secret(KEY)}))
SHOWN = ServerSettings(port=0, introspection=True)
RUN = ".graphiql-execute-button"
RESULT = ".result-window"
WRONG = "{ availableAgents { agents { nam } } }"
STREAMED = """
mutation ($data: GenerateCopilotResponseInput!) {
  generateCopilotResponse(data: $data) {
    messages @stream { ... on TextMessageOutput { content @stream } }
  }
}
"""
DATA = {
    "metadata": {"requestType": "Chat"},
    "frontend": {"actions": []},
    "messages": [
        {"id": "1", "createdAt": "2026-01-01T00:00:00.000Z", "textMessage": {"role": "user", "content": "Hello"}}
    ],
}
EDITORS = (".graphiql-query-editor .CodeMirror", f"{RESULT} .CodeMirror")
# Sooner than GraphiQL has read what it shows, which it does a tenth of a second later.
ASK_AT_ONCE = """async (run) => {
  [...document.querySelectorAll(".graphiql-tab button")].find((one) => one.textContent === "Ask").click();
  await new Promise((done) => setTimeout(done));
  document.querySelector(run).click();
}"""
VALUE = "document.querySelector('.result-window .CodeMirror').CodeMirror.getValue()"


class Gate:
    """Says one word, and the other when it is told to."""

    def __init__(self) -> None:
        self.told = asyncio.Event()

    async def stream(self, prompt: Prompt, /) -> AsyncIterator[ModelChunk]:
        yield TextChunk("One")
        await self.told.wait()
        yield TextChunk(" two")
        yield FinishChunk("stop")


@pytest.fixture(scope="module", autouse=True)
def fetched(driven: Callable[[str, str], None]) -> Iterator[None]:
    driven("graphiql", require_assets("graphiql"))
    with pytest.MonkeyPatch.context() as patch:
        # What is there is looked up once, and that may have been before it was fetched.
        patch.setattr(browser, "FILES", StaticFiles(browser.FILES.folders))
        yield


@pytest.fixture
def gate() -> Gate:
    return Gate()


@pytest_asyncio.fixture(loop_scope="module")
async def tab(chromium: Chromium, gate: Gate) -> AsyncIterator[Tab]:
    async with house(Runtime(model=gate), SHOWN) as server, chromium.tab() as found:
        await found.open(f"{server.url}/copilotkit")
        await drawn(found)
        yield found


@pytest_asyncio.fixture(loop_scope="module")
async def keyed(chromium: Chromium, gate: Gate) -> AsyncIterator[Tab]:
    async with house(Runtime(model=gate), SHOWN, KEYED) as server, chromium.tab() as found:
        found.expect("401")
        await found.open(f"{server.url}/copilotkit")
        await drawn(found)
        yield found


async def drawn(tab: Tab) -> None:
    """Until the editors are there: GraphiQL shows buttons before them, and loses a click on one."""
    for editor in EDITORS:
        await tab.see(editor)


async def write(tab: Tab, text: str) -> None:
    await tab.click(".graphiql-query-editor .CodeMirror-lines")
    await tab.page.keyboard.press("Control+a")
    await tab.page.keyboard.insert_text(text)


async def result(tab: Tab) -> Any:
    """All of it: the editor draws only the lines that are on the screen."""
    return json.loads(await tab.page.evaluate(VALUE))


@pytest.mark.demand("copilotkit.graphiql_browser_introspection_switchable")
async def test_a_query_is_answered(tab: Tab) -> None:
    await tab.click(RUN)
    await tab.see(RESULT, '"default"')
    assert (await result(tab))["data"]["availableAgents"]["agents"][0]["name"] == "default"
    await tab.page.wait_for_selector("#key", state="hidden")


@pytest.mark.demand("copilotkit.graphiql_browser_introspection_switchable")
async def test_a_stream_is_shown(tab: Tab, gate: Gate) -> None:
    await tab.click(".graphiql-tab >> text=Ask")
    await tab.click(RUN)
    await tab.see(RESULT, '"One"')
    told = (await result(tab))["data"]["generateCopilotResponse"]
    assert told["messages"] == [{"content": ["One"]}]
    assert "status" not in told
    gate.told.set()
    await tab.see(RESULT, '"Success"')
    told = (await result(tab))["data"]["generateCopilotResponse"]
    assert told["messages"] == [{"content": ["One", " two"]}]
    assert told["status"]["code"] == "Success"


async def test_what_is_run_at_once_is_what_is_shown(tab: Tab, gate: Gate) -> None:
    gate.told.set()
    await tab.page.evaluate(ASK_AT_ONCE, RUN)
    await tab.see(RESULT, '"Success"')


@pytest.mark.demand("copilotkit.graphiql_browser_introspection_switchable")
async def test_a_mistake_is_said(tab: Tab) -> None:
    await write(tab, WRONG)
    await tab.click(RUN)
    await tab.see(RESULT, "Cannot query field 'nam'")


@pytest.mark.demand("copilotkit.graphiql_browser_introspection_switchable")
async def test_the_schema_is_read_and_a_dialog_keeps_the_page_still(tab: Tab) -> None:
    await tab.click("[aria-label='Show Documentation Explorer']")
    await tab.see(".graphiql-doc-explorer", "GenerateCopilotResponseInput")
    still = "getComputedStyle(document.body).overflow"
    assert await tab.page.evaluate(still) == "visible"
    await tab.click("[aria-label='Open settings dialog']")
    await tab.see("[role=dialog]", "Theme")
    # By the one <style> that the policy lets in.
    assert await tab.page.evaluate(still) == "hidden"


@pytest.mark.demand("copilotkit.graphiql_browser_introspection_switchable")
async def test_with_keys_the_page_asks_for_one(keyed: Tab) -> None:
    await keyed.see(RESULT, "This server needs a key.")
    await keyed.see(RESULT, "write it into the box at the top")
    await keyed.write("#key input", "sesame-8")
    await keyed.click("#key button")
    await keyed.see("#key", "The key is not known here.")
    await keyed.write("#key input", KEY)
    await keyed.click("#key button")
    await keyed.page.wait_for_selector("#key", state="hidden")
    await keyed.click(RUN)
    await keyed.see(RESULT, '"default"')
    assert KEY not in keyed.page.url
    # For the tab alone: a reload knows it, another tab does not.
    assert KEY not in await keyed.page.evaluate("JSON.stringify(localStorage)")
    await keyed.page.reload()
    await drawn(keyed)
    await keyed.click(RUN)
    await keyed.see(RESULT, '"default"')


@pytest.mark.demand("copilotkit.graphiql_browser_introspection_switchable")
async def test_with_a_key_a_stream_is_shown(keyed: Tab, gate: Gate) -> None:
    """By GraphiQL's own headers, which count before what was written into the box."""
    gate.told.set()
    await keyed.write("#key input", "sesame-8")
    await keyed.click("#key button")
    await keyed.see("#key", "The key is not known here.")
    await keyed.click(".graphiql-tab >> text=Ask")
    await keyed.click("button:text-is('Headers')")
    await keyed.click("[aria-label=Headers] .CodeMirror-lines >> visible=true")
    await keyed.page.keyboard.insert_text(json.dumps({"Authorization": f"Bearer {KEY}"}))
    await keyed.click(RUN)
    await keyed.see(RESULT, '"Success"')


@pytest.mark.demand("copilotkit.graphiql_browser_introspection_switchable")
async def test_without_graphiql_there_is_a_small_page(
    chromium: Chromium, gate: Gate, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(browser, "FILES", StaticFiles({"": browser.HERE / "graphiql", "vendor/": tmp_path}))
    async with house(Runtime(model=gate), SHOWN, KEYED) as server, chromium.tab() as tab:
        await tab.open(f"{server.url}/copilotkit")
        await tab.see("p", "make assets")
        tab.expect("401")
        await tab.click("#run")
        await tab.see("#answer", "This server needs a key.")
        await tab.write("#key", KEY)
        await tab.click("#run")
        await tab.see("#answer", '"default"')
        await tab.write("#query", STREAMED)
        await tab.write("#variables", json.dumps({"data": DATA}))
        await tab.click("#run")
        await tab.see("#answer", '"One"')
        gate.told.set()
        await tab.see("#answer", "event: complete")
        await tab.write("#query", WRONG)
        await tab.click("#run")
        await tab.see("#answer", "Cannot query field 'nam'")
