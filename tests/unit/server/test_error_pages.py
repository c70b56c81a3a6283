"""What an error means, where its link leads."""

import re
from dataclasses import replace
from html.parser import HTMLParser

import pytest

from rightseat import Runtime, errors
from rightseat.config.secret import Secret
from rightseat.config.settings import AuthSettings, ServerSettings
from rightseat.errors import RightseatError
from rightseat.http.auth import Authenticator
from rightseat.http.endpoint import Route
from rightseat.http.reply import Reply
from rightseat.server import error_pages
from rightseat.server.app import App
from rightseat.wiring.lookup import load_all
from tests.kit.app_server import FakeModel, serve_app, serve_runtime
from tests.kit.cases import each_case
from tests.kit.client import RawHttpClient, ResponseHead

KEYED = Authenticator(AuthSettings(keys={"ada": Secret("ada-key")}))
KINDS = list(errors.errors_by_code().values())
HTML = "text/html; charset=utf-8"


async def get_page(url: str, path: str, accept: str = "*/*") -> tuple[ResponseHead, str]:
    async with RawHttpClient(url) as client:
        await client.get(path, {"Accept": accept})
        return await client.read_head(), (await client.read_body()).decode()


class PageReader(HTMLParser):
    """Collects the words of a page, its links and its tags."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.tags: set[str] = set()
        self.words = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.links += [value or "" for name, value in attrs if name == "href"]

    def handle_data(self, data: str) -> None:
        self.words += data


@pytest.mark.demand("models.seed_tree_copilotkiterror_lowlevel", "first_hour.error_pages")
@pytest.mark.io
async def test_a_page_per_code_without_a_key() -> None:
    async with serve_runtime(Runtime(model=FakeModel()), authenticate=KEYED) as server:
        for kind in KINDS:
            head, text = await get_page(server.url, kind.link())
            assert (head.status, head.headers["content-type"]) == (200, HTML)
            policy = head.headers["content-security-policy"]
            assert "default-src 'none'" in policy
            assert "unsafe" not in policy
            page = PageReader(text)
            assert kind.hint.replace("`", "") in page.words
            assert error_pages.get_meaning(kind) in page.words
            assert page.tags.isdisjoint({"script", "img", "copilotkit"})
            head, text = await get_page(server.url, kind.link(), "text/plain")
            assert head.headers["content-type"] == "text/plain; charset=utf-8"
            assert text == error_pages.format_error_page(kind)
        for code in ("nothing", "<script>", "..%2f..%2fetc"):
            head, text = await get_page(server.url, f"/docs/errors/{code}")
            assert (head.status, head.headers["content-type"]) == (404, "application/json")
            assert "script" not in text


@pytest.mark.demand("first_hour.error_pages")
@pytest.mark.io
async def test_the_list_leads_to_every_page() -> None:
    async with serve_runtime(Runtime(model=FakeModel()), authenticate=KEYED) as server:
        head, text = await get_page(server.url, "/docs/errors")
        assert (head.status, head.headers["content-type"]) == (200, HTML)
    assert {f"/docs/{link}" for link in PageReader(text).links} == {kind.link() for kind in KINDS}


@each_case("kind", KINDS)
def test_every_code_has_a_meaning(kind: type[errors.RightseatError]) -> None:
    assert len(error_pages.get_meaning(kind)) > 8
    assert f"# `{kind.code}`" in error_pages.format_error_page(kind)


def make_error(kind: type[RightseatError]) -> RightseatError:
    return kind("What happened.", allow="GET") if issubclass(kind, errors.MethodNotAllowed) else kind("What happened.")


def list_urls(body: str) -> list[str]:
    """Return the addresses of error pages in a body, wherever they are."""
    return re.findall(r"https?://[^\"\s>]+/docs/errors/\w+", body)


BODY_DOORS = ("openai", "openbb", "mcp", "copilotkit")
"""Doors whose clients take more fields than their own. The others link by the header alone."""


@pytest.mark.demand("first_hour.error_pages")
@pytest.mark.io
@pytest.mark.parametrize("name", [door.name for door in load_all("doors")])
async def test_every_error_of_a_door_links_to_its_page(name: str) -> None:
    """A route of the door fails with each error there is; the link of the answer is that of its page."""
    [door] = [door for door in load_all("doors") if door.name == name]
    kinds = iter(KINDS)

    def fail(request: object, host: object) -> Reply:
        raise make_error(next(kinds))

    app = App(Runtime(model=FakeModel()), ServerSettings(port=0), [replace(door, routes=(Route("GET", "/x", fail),))])
    async with serve_app(app) as base:
        for kind in KINDS:
            head, text = await get_page(base, "/x")
            # The raw client names the host without its port.
            url = f"http://127.0.0.1{kind.link()}"
            assert head.headers["link"] == f'<{url}>; rel="help"', kind
            in_body = name in BODY_DOORS and head.status != 200
            assert list_urls(text) == ([url] if in_body else []), kind
    await app.runtime.close()
