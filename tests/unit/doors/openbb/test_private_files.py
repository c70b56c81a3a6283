"""Files and pages of a private network: refused, unless `[server] fetch_allow` names their host or network."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from rightseat import Runtime
from rightseat.config.settings import ServerSettings
from rightseat.doors.openbb import client_results, write
from rightseat.errors import ConfigError
from tests.kit.app_server import FakeModel, reply_calls, reply_text, serve_app, serve_runtime
from tests.unit.doors.openbb.client import WIDGETS, OpenBBChat

pytestmark = pytest.mark.io


@pytest.fixture
async def file_url(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[str]:
    """The URL of a file on this machine, with the door's own rules for addresses."""

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"text/plain")]})
        await send({"type": "http.response.body", "body": b"The rate is 7 %."})

    monkeypatch.setattr(write, "make_outbound", client_results.make_outbound)
    async with serve_app(app) as url:
        yield f"{url}/rate.txt"


@pytest.mark.demand("openbb.private_files_by_setting")
@pytest.mark.parametrize(("allow", "read"), [((), False), (("127.0.0.0/8",), True), (("files.example",), False)])
async def test_a_file_of_a_private_network_is_read_if_the_operator_allows_it(
    file_url: str, allow: tuple[str, ...], read: bool
) -> None:
    model = FakeModel(reply_calls(("price", '{"symbol": "A"}')), reply_text("Done."))
    async with serve_runtime(Runtime(model=model), ServerSettings(port=0, fetch_allow=allow)) as server:
        chat = OpenBBChat(server.url, widgets=WIDGETS)
        call = (await chat.send_text("What is the rate?")).call
        assert call is not None
        form = {"data_type": "txt", "filename": "rate.txt"}
        answer = await chat.send_result(call, {"items": [{"url": file_url, "data_format": form}]})
    assert answer.text == "Done."
    result = model.prompts[1].messages[-1].text
    assert ("The rate is 7 %." in result) is read
    assert ("fetch_allow" in result) is not read


@pytest.mark.demand("openbb.private_files_by_setting")
async def test_a_page_of_a_private_network_is_read_if_the_operator_allows_it(file_url: str) -> None:
    model = FakeModel(reply_text("Done."))
    url = file_url.replace("127.0.0.1", "localhost")
    async with serve_runtime(Runtime(model=model), ServerSettings(port=0, fetch_allow=("localhost",))) as server:
        answer = await OpenBBChat(server.url, widgets=WIDGETS, urls=[url]).send_text("What is the rate?")
    assert answer.text == "Done."
    assert any("The rate is 7 %." in message.text for message in model.prompts[0].messages)


@pytest.mark.demand("openbb.private_files_by_setting")
async def test_an_invalid_network_is_refused_at_the_start() -> None:
    with pytest.raises(ConfigError, match=r"fetch_allow.*10\.0\.0\.0/99"):
        async with serve_runtime(Runtime(model=FakeModel()), ServerSettings(port=0, fetch_allow=("10.0.0.0/99",))):
            pass
