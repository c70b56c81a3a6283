"""The wheel: built, installed into an empty environment from the lock, and served from an empty folder."""

import zipfile
from pathlib import Path

import pytest

from tests.kit.client import RawHttpClient
from tests.package.wheels import build_wheel, install_wheel, make_server

pytestmark = [pytest.mark.io, pytest.mark.timeout(600)]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_wheel(tmp_path_factory.mktemp("wheel"), with_pages=False)


@pytest.mark.demand("engine.pyproject_src_layout_py")
@pytest.mark.long
def test_the_wheel_holds_the_package_and_nothing_that_runs_by_itself(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    assert "rightseat/py.typed" in names
    assert "rightseat/models/demo.json" in names
    assert any(name.endswith("licenses/LICENSE") for name in names)
    assert [name for name in names if name.endswith((".pth", ".so", ".pyc"))] == []
    tops = {name.split("/")[0] for name in names}
    assert all(top == "rightseat" or top.endswith(".dist-info") for top in tops)


@pytest.mark.demand("engine.wheel_built_served_empty")
@pytest.mark.long
async def test_the_wheel_serves_from_an_empty_environment(wheel: Path, tmp_path: Path) -> None:
    async with make_server(install_wheel(wheel, tmp_path)) as server, RawHttpClient(server.url) as client:
        body = {"messages": [{"role": "user", "content": "Hello"}]}
        await client.post_json("/v1/chat/completions", body)
        assert (await client.read_head()).status == 200
        text = (await client.read_json())["choices"][0]["message"]["content"]
    assert text.startswith("Hello! I am rightseat's demo")
