"""The page that a browser finds at this door: for whom, under which policy, and who needs a key for what."""

import json
from pathlib import Path
from urllib.parse import quote

import pytest

from rightseat import Runtime
from rightseat.config.secret import Secret
from rightseat.config.settings import AuthSettings
from rightseat.doors.copilotkit import graphiql_page
from rightseat.http.auth import Authenticator
from rightseat.http.static import StaticFiles
from tests.kit.app_server import FakeModel
from tests.kit.client import RawHttpClient, ResponseHead
from tests.unit.doors.copilotkit.client import PATH, serve_copilotkit

pytestmark = pytest.mark.io

HTML = {"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"}
KEYED = Authenticator(AuthSettings(keys={"ann": Secret("sesame-7")}))
AGENTS = quote("{ availableAgents { agents { name } } }")


@pytest.fixture(autouse=True)
def vendor_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """As if it had been fetched, whether it was or not."""
    for name in graphiql_page.REQUIRED_FILES:
        (tmp_path / name.removeprefix("vendor/")).write_text(f"// {name}")
    monkeypatch.setattr(graphiql_page, "FILES", StaticFiles({"": graphiql_page.HERE / "graphiql", "vendor/": tmp_path}))
    return tmp_path


async def get_page(url: str, target: str, headers: dict[str, str] = HTML) -> tuple[ResponseHead, str]:
    async with RawHttpClient(url) as client:
        await client.get(target, headers)
        return await client.read_head(), (await client.read_body()).decode()


@pytest.mark.demand("copilotkit.graphiql_browser_introspection_switchable")
async def test_a_browser_needs_no_key_for_the_page_and_its_files() -> None:
    async with serve_copilotkit(Runtime(model=FakeModel()), introspection=True, authenticate=KEYED) as url:
        head, html = await get_page(url, PATH)
        assert (head.status, head.headers["content-type"]) == (200, "text/html; charset=utf-8")
        assert "sesame" not in html
        names = ["main.js", "style.css", *graphiql_page.REQUIRED_FILES]
        assert sum(f"copilotkit/graphiql/{name}" in html for name in names) == len(names)
        for name in names:
            head, _ = await get_page(url, f"{PATH}/graphiql/{name}", {})
            assert head.status == 200
            assert "unsafe" not in head.headers["content-security-policy"]


@pytest.mark.demand("copilotkit.graphiql_browser_introspection_switchable")
@pytest.mark.parametrize(
    ("target", "headers"),
    [(PATH, {}), (PATH, {"Accept": "application/json"}), (f"{PATH}?query={AGENTS}", HTML), (f"{PATH}?a=1", HTML)],
)
async def test_everything_else_there_needs_one(target: str, headers: dict[str, str]) -> None:
    async with serve_copilotkit(Runtime(model=FakeModel()), introspection=True, authenticate=KEYED) as url:
        head, body = await get_page(url, target, headers)
    assert head.status == 401
    assert json.loads(body)["errors"][0]["extensions"]["code"] == "AUTHENTICATION_ERROR"


async def test_a_query_in_a_browsers_address_is_answered() -> None:
    async with serve_copilotkit(Runtime(model=FakeModel()), introspection=True) as url:
        _, body = await get_page(url, f"{PATH}?query={AGENTS}")
    assert json.loads(body)["data"]["availableAgents"]["agents"]


@pytest.mark.demand("copilotkit.graphiql_browser_introspection_switchable")
async def test_the_policy_lets_nothing_in_but_one_style_of_this_answer() -> None:
    async with serve_copilotkit(Runtime(model=FakeModel()), introspection=True) as url:
        answers = [await get_page(url, PATH) for _ in range(2)]
    nonces = set()
    for head, html in answers:
        policy = head.headers["content-security-policy"]
        assert "default-src 'none'; script-src 'self'; style-src 'self' 'nonce-" in policy
        nonce = policy.partition("'nonce-")[2].partition("'")[0]
        rest = "font-src data:; img-src data:; connect-src 'self'; base-uri 'none'; form-action 'none'; "
        assert policy.partition(f"'nonce-{nonce}'; ")[2] == rest + "frame-ancestors 'none'"
        assert f'nonce="{nonce}"' in html
        nonces.add(nonce)
    assert len(nonces) == 2


@pytest.mark.demand("copilotkit.graphiql_browser_introspection_switchable")
@pytest.mark.parametrize("authenticate", [None, KEYED])
async def test_where_nobody_may_look_around_there_is_no_page(authenticate: Authenticator | None) -> None:
    async with serve_copilotkit(Runtime(model=FakeModel()), authenticate=authenticate) as url:
        head, body = await get_page(url, PATH)
        assert (head.status, head.headers["allow"]) == (405, "POST")
        assert json.loads(body)["message"] == "Send a POST with a `query`."
        for name in ("main.js", *graphiql_page.REQUIRED_FILES):
            head, _ = await get_page(url, f"{PATH}/graphiql/{name}")
            assert head.status == 404


@pytest.mark.parametrize("name", ["nothing.js", "index.html", "../page.py", "%2e%2e/page.py", "vendor/../main.js"])
async def test_no_other_file_is_reached(name: str) -> None:
    async with serve_copilotkit(Runtime(model=FakeModel()), introspection=True) as url:
        head, _ = await get_page(url, f"{PATH}/graphiql/{name}")
    assert head.status == 404


async def test_without_all_that_others_made_a_small_page_says_how_to_get_it(vendor_files: Path) -> None:
    (vendor_files / "react-dom.js").unlink()
    async with serve_copilotkit(Runtime(model=FakeModel()), introspection=True) as url:
        head, html = await get_page(url, PATH)
    assert head.status == 200
    assert "make assets" in html
    assert "copilotkit/graphiql" not in html
