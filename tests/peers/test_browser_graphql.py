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
from rightseat.doors.copilotkit import graphiql_page
from rightseat.http.auth import Authenticator
from rightseat.http.static import StaticFiles
from rightseat.types.chunks import FinishChunk, ModelChunk, TextChunk
from rightseat.types.model import Prompt
from tests.kit.app_server import serve_runtime
from tests.peers.browser import BrowserTab, Chromium
from tests.peers.prerequisites import require_assets

pytestmark = [pytest.mark.peers, pytest.mark.timeout(600), pytest.mark.asyncio(loop_scope="module")]
KEY = "sesame-7"
KEY_AUTHENTICATOR = Authenticator(AuthSettings(keys={"ann": Secret(KEY)}))
INTROSPECTION_SETTINGS = ServerSettings(port=0, introspection=True)
RUN_BUTTON = ".graphiql-execute-button"
RESULT_PANE = ".result-window"
INVALID_QUERY = "{ availableAgents { agents { nam } } }"
STREAM_MUTATION = """
mutation ($data: GenerateCopilotResponseInput!) {
  generateCopilotResponse(data: $data) {
    messages @stream { ... on TextMessageOutput { content @stream } }
  }
}
"""
MUTATION_DATA = {
    "metadata": {"requestType": "Chat"},
    "frontend": {"actions": []},
    "messages": [
        {"id": "1", "createdAt": "2026-01-01T00:00:00.000Z", "textMessage": {"role": "user", "content": "Hello"}}
    ],
}
EDITORS = (".graphiql-query-editor .CodeMirror", f"{RESULT_PANE} .CodeMirror")
# Sooner than GraphiQL has read what it shows, which it does a tenth of a second later.
ASK_AT_ONCE = """async (run) => {
  [...document.querySelectorAll(".graphiql-tab button")].find((one) => one.textContent === "Ask").click();
  await new Promise((done) => setTimeout(done));
  document.querySelector(run).click();
}"""
RESULT_EXPRESSION = "document.querySelector('.result-window .CodeMirror').CodeMirror.getValue()"


class PausingModel:
    """Says one word, and the other when it is told to."""

    def __init__(self) -> None:
        self.released = asyncio.Event()

    async def stream(self, prompt: Prompt, /) -> AsyncIterator[ModelChunk]:
        yield TextChunk("One")
        await self.released.wait()
        yield TextChunk(" two")
        yield FinishChunk("stop")


@pytest.fixture(scope="module", autouse=True)
def page_assets(record_driven: Callable[[str, str], None]) -> Iterator[None]:
    record_driven("graphiql", require_assets("graphiql"))
    with pytest.MonkeyPatch.context() as patch:
        # What is there is looked up once, and that may have been before it was fetched.
        patch.setattr(graphiql_page, "FILES", StaticFiles(graphiql_page.FILES.folders))
        yield


@pytest.fixture
def pausing_model() -> PausingModel:
    return PausingModel()


@pytest_asyncio.fixture(loop_scope="module")
async def tab(chromium: Chromium, pausing_model: PausingModel) -> AsyncIterator[BrowserTab]:
    async with (
        serve_runtime(Runtime(model=pausing_model), INTROSPECTION_SETTINGS) as server,
        chromium.open_tab() as found,
    ):
        await found.open_url(f"{server.url}/copilotkit")
        await wait_for_editors(found)
        yield found


@pytest_asyncio.fixture(loop_scope="module")
async def tab_with_key(chromium: Chromium, pausing_model: PausingModel) -> AsyncIterator[BrowserTab]:
    async with (
        serve_runtime(Runtime(model=pausing_model), INTROSPECTION_SETTINGS, KEY_AUTHENTICATOR) as server,
        chromium.open_tab() as found,
    ):
        found.expect_problem("401")
        await found.open_url(f"{server.url}/copilotkit")
        await wait_for_editors(found)
        yield found


async def wait_for_editors(tab: BrowserTab) -> None:
    """Until the editors are there: GraphiQL shows buttons before them, and loses a click on one."""
    for editor in EDITORS:
        await tab.wait_visible(editor)


async def write_query(tab: BrowserTab, text: str) -> None:
    await tab.click(".graphiql-query-editor .CodeMirror-lines")
    await tab.page.keyboard.press("Control+a")
    await tab.page.keyboard.insert_text(text)


async def read_result(tab: BrowserTab) -> Any:
    """All of it: the editor draws only the lines that are on the screen."""
    return json.loads(await tab.page.evaluate(RESULT_EXPRESSION))


@pytest.mark.demand("copilotkit.graphiql_browser_introspection_switchable")
async def test_a_query_is_answered(tab: BrowserTab) -> None:
    await tab.click(RUN_BUTTON)
    await tab.wait_visible(RESULT_PANE, '"default"')
    assert (await read_result(tab))["data"]["availableAgents"]["agents"][0]["name"] == "default"
    await tab.page.wait_for_selector("#key", state="hidden")


@pytest.mark.demand("copilotkit.graphiql_browser_introspection_switchable")
async def test_a_stream_is_shown(tab: BrowserTab, pausing_model: PausingModel) -> None:
    await tab.click(".graphiql-tab >> text=Ask")
    await tab.click(RUN_BUTTON)
    await tab.wait_visible(RESULT_PANE, '"One"')
    told = (await read_result(tab))["data"]["generateCopilotResponse"]
    assert told["messages"] == [{"content": ["One"]}]
    assert "status" not in told
    pausing_model.released.set()
    await tab.wait_visible(RESULT_PANE, '"Success"')
    told = (await read_result(tab))["data"]["generateCopilotResponse"]
    assert told["messages"] == [{"content": ["One", " two"]}]
    assert told["status"]["code"] == "Success"


@pytest.mark.demand("copilotkit.subscriptions")
async def test_a_subscription_says_hello(tab: BrowserTab) -> None:
    await write_query(tab, "subscription { hello }")
    await tab.click(RUN_BUTTON)
    await tab.wait_visible(RESULT_PANE, "Hello World")
    assert await read_result(tab) == {"data": {"hello": "Hello World"}}


@pytest.mark.demand("copilotkit.subscriptions")
async def test_a_subscription_shows_events(tab: BrowserTab, pausing_model: PausingModel) -> None:
    await tab.click(".graphiql-tab >> text=Events")
    await tab.click(RUN_BUTTON)
    await tab.wait_visible(RESULT_PANE, '"One"')
    event = {"type": "TextMessageContent", "content": "One"}
    assert await read_result(tab) == {"data": {"generateCopilotResponse": event}}
    pausing_model.released.set()
    await tab.wait_visible(RESULT_PANE, "CopilotResponseFinished")
    told = (await read_result(tab))["data"]["generateCopilotResponse"]
    assert told["response"]["messages"] == [{"content": ["One", " two"]}]


async def test_what_is_run_at_once_is_what_is_shown(tab: BrowserTab, pausing_model: PausingModel) -> None:
    pausing_model.released.set()
    await tab.page.evaluate(ASK_AT_ONCE, RUN_BUTTON)
    await tab.wait_visible(RESULT_PANE, '"Success"')


@pytest.mark.demand("copilotkit.graphiql_browser_introspection_switchable")
async def test_a_mistake_is_said(tab: BrowserTab) -> None:
    await write_query(tab, INVALID_QUERY)
    await tab.click(RUN_BUTTON)
    await tab.wait_visible(RESULT_PANE, "Cannot query field 'nam'")


@pytest.mark.demand("copilotkit.graphiql_browser_introspection_switchable")
async def test_the_schema_is_read_and_a_dialog_keeps_the_page_still(tab: BrowserTab) -> None:
    await tab.click("[aria-label='Show Documentation Explorer']")
    await tab.wait_visible(".graphiql-doc-explorer", "GenerateCopilotResponseInput")
    still = "getComputedStyle(document.body).overflow"
    assert await tab.page.evaluate(still) == "visible"
    await tab.click("[aria-label='Open settings dialog']")
    await tab.wait_visible("[role=dialog]", "Theme")
    # By the one <style> that the policy lets in.
    assert await tab.page.evaluate(still) == "hidden"


@pytest.mark.demand("copilotkit.graphiql_browser_introspection_switchable")
async def test_with_keys_the_page_asks_for_one(tab_with_key: BrowserTab) -> None:
    await tab_with_key.wait_visible(RESULT_PANE, "This server needs a key.")
    await tab_with_key.wait_visible(RESULT_PANE, "write it into the box at the top")
    await tab_with_key.fill_text("#key input", "sesame-8")
    await tab_with_key.click("#key button")
    await tab_with_key.wait_visible("#key", "The key is not known here.")
    await tab_with_key.fill_text("#key input", KEY)
    await tab_with_key.click("#key button")
    await tab_with_key.page.wait_for_selector("#key", state="hidden")
    await tab_with_key.click(RUN_BUTTON)
    await tab_with_key.wait_visible(RESULT_PANE, '"default"')
    assert KEY not in tab_with_key.page.url
    # For the tab alone: a reload knows it, another tab does not.
    assert KEY not in await tab_with_key.page.evaluate("JSON.stringify(localStorage)")
    await tab_with_key.page.reload()
    await wait_for_editors(tab_with_key)
    await tab_with_key.click(RUN_BUTTON)
    await tab_with_key.wait_visible(RESULT_PANE, '"default"')


@pytest.mark.demand("copilotkit.graphiql_browser_introspection_switchable")
async def test_with_a_key_a_stream_is_shown(tab_with_key: BrowserTab, pausing_model: PausingModel) -> None:
    """By GraphiQL's own headers, which count before what was written into the box."""
    pausing_model.released.set()
    await tab_with_key.fill_text("#key input", "sesame-8")
    await tab_with_key.click("#key button")
    await tab_with_key.wait_visible("#key", "The key is not known here.")
    await tab_with_key.click(".graphiql-tab >> text=Ask")
    await tab_with_key.click("button:text-is('Headers')")
    await tab_with_key.click("[aria-label=Headers] .CodeMirror-lines >> visible=true")
    await tab_with_key.page.keyboard.insert_text(json.dumps({"Authorization": f"Bearer {KEY}"}))
    await tab_with_key.click(RUN_BUTTON)
    await tab_with_key.wait_visible(RESULT_PANE, '"Success"')


@pytest.mark.demand("copilotkit.graphiql_browser_introspection_switchable")
async def test_without_graphiql_there_is_a_small_page(
    chromium: Chromium, pausing_model: PausingModel, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(graphiql_page, "FILES", StaticFiles({"": graphiql_page.HERE / "graphiql", "vendor/": tmp_path}))
    async with (
        serve_runtime(Runtime(model=pausing_model), INTROSPECTION_SETTINGS, KEY_AUTHENTICATOR) as server,
        chromium.open_tab() as tab,
    ):
        await tab.open_url(f"{server.url}/copilotkit")
        await tab.wait_visible("p", "make assets")
        tab.expect_problem("401")
        await tab.click("#run")
        await tab.wait_visible("#answer", "This server needs a key.")
        await tab.fill_text("#key", KEY)
        await tab.click("#run")
        await tab.wait_visible("#answer", '"default"')
        await tab.fill_text("#query", STREAM_MUTATION)
        await tab.fill_text("#variables", json.dumps({"data": MUTATION_DATA}))
        await tab.click("#run")
        await tab.wait_visible("#answer", '"One"')
        pausing_model.released.set()
        await tab.wait_visible("#answer", "event: complete")
        await tab.fill_text("#query", INVALID_QUERY)
        await tab.click("#run")
        await tab.wait_visible("#answer", "Cannot query field 'nam'")
