"""What an error means, where its link leads."""

import pytest

from rightseat import Runtime, errors
from rightseat.config.secret import Secret
from rightseat.config.settings import AuthSettings
from rightseat.http.auth import Authenticator
from rightseat.server import operations
from tests.kit.app_server import FakeModel, serve_runtime
from tests.kit.cases import each_case
from tests.kit.client import RawHttpClient

KEYED = Authenticator(AuthSettings(keys={"ada": Secret("ada-key")}))


async def get_page(url: str, path: str) -> tuple[int, str, str]:
    async with RawHttpClient(url) as client:
        await client.get(path)
        head = await client.read_head()
        return head.status, head.headers["content-type"], (await client.read_body()).decode()


@pytest.mark.demand("models.seed_tree_copilotkiterror_lowlevel")
@pytest.mark.io
async def test_a_page_per_code_without_a_key() -> None:
    async with serve_runtime(Runtime(model=FakeModel()), authenticate=KEYED) as server:
        for kind in (errors.Unauthorized, errors.UpstreamBusy, errors.FlowStopped):
            status, media, text = await get_page(server.url, kind.link())
            assert (status, media) == (200, "text/plain; charset=utf-8")
            assert text == operations.format_error_page(kind)
            assert kind.hint in text
        for code in ("nothing", "<script>", "..%2f..%2fetc"):
            status, media, text = await get_page(server.url, f"/docs/errors/{code}")
            assert (status, media) == (404, "application/json")
            assert "script" not in text


@each_case("kind", errors.errors_by_code().values())
def test_every_code_has_a_meaning(kind: type[errors.RightseatError]) -> None:
    assert len(operations.get_meaning(kind)) > 8
    assert f"# `{kind.code}`" in operations.format_error_page(kind)
