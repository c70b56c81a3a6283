"""The pages of the wheel with what others made for them: all of it is inside, and no other host is asked."""

import shutil
import zipfile
from pathlib import Path

import pytest

from checks import assets
from tests.package.wheels import ROOT, build_wheel, install_wheel, make_server
from tests.peers import browser
from tests.peers.prerequisites import require, require_assets

ANSWER = ".message.assistant"
pytestmark = [pytest.mark.peers, pytest.mark.timeout(600)]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    require_assets("echarts")
    return build_wheel(tmp_path_factory.mktemp("wheel"))


@pytest.mark.demand("copilotkit.graphiql_browser_introspection_switchable", "playground.readable_es_modules_without")
def test_the_wheel_holds_the_playground_and_what_others_made_with_their_licences(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    page = (ROOT / "src" / "rightseat" / "server" / "playground" / "page").iterdir()
    assert {f"rightseat/server/playground/page/{path.name}" for path in page} <= names
    assert {f"rightseat/{name}" for name in assets.FILES} <= names
    own = (ROOT / "src" / "rightseat" / "doors" / "copilotkit" / "graphiql").iterdir()
    assert {f"rightseat/doors/copilotkit/graphiql/{path.name}" for path in own} <= names


def remove_page_assets(home: Path) -> None:
    [vendor] = home.glob("lib/*/site-packages/rightseat/server/playground/vendor")
    shutil.rmtree(vendor)


@pytest.mark.demand("playground.wheel_release_need_npm", "playground.first_load_most_300")
async def test_the_page_of_the_wheel_needs_no_other_host_and_no_npm(wheel: Path, tmp_path: Path) -> None:
    """The browser finds no host but this machine, and a tab fails the test for asking one. First with the
    charts of the wheel, then as in a clone where npm is not there."""
    require("playwright")
    home = install_wheel(wheel, tmp_path)
    async with make_server(home) as server, browser.launch_chromium() as chromium, chromium.open_tab() as tab:
        await tab.open_url(server.url)
        await tab.click(".eg button >> nth=1")
        await tab.wait_visible(".artifact canvas")
        await tab.page.locator(".artifact").get_by_role("button", name="Table", exact=True).click()
        await tab.wait_visible(".artifact td", "Jan")
        await tab.wait_visible(ANSWER, "The best month was June.")
        await tab.click("[data-view=connect]")
        await tab.click(".health summary")
        await tab.wait_visible(".health", "ECharts is here")
    remove_page_assets(home)
    async with make_server(home) as server, browser.launch_chromium() as chromium, chromium.open_tab() as tab:
        tab.expect_problem("404|echarts")
        await tab.open_url(server.url)
        await tab.click(".eg button >> nth=1")
        await tab.wait_visible(".artifact", "Run “make assets” to download it")
        await tab.wait_visible(".artifact td", "Jan")
        await tab.wait_visible(ANSWER, "The best month was June.")
        await tab.click("[data-view=connect]")
        await tab.click(".health summary")
        await tab.wait_visible(".health", "make assets")
