"""DoorApp: all doors over one Runtime, called in this process without sockets."""

import asyncio
import json
from collections.abc import AsyncIterator, Iterable

import msgspec

from rightseat import Runtime, tool
from rightseat.config.settings import ServerSettings
from rightseat.models.openai.request import Dialect, build_chat_body
from rightseat.models.scripted import ScriptFileModel, load_script
from rightseat.server.app import App
from rightseat.types.chunks import ModelChunk
from rightseat.types.model import Prompt
from rightseat.wiring.lookup import load_all
from tests.fuzz.valid_requests import SCRIPT
from tests.kit.timeouts import HANG_TIMEOUT
from tests.security import asgi_client


@tool
def add(a: int, b: int) -> int:
    """Adds."""
    return a + b


class RequestBuildingModel:
    """The scripted model, behind the code that writes a request to a real server."""

    def __init__(self) -> None:
        self.inner = ScriptFileModel(load_script(json.dumps(SCRIPT), "here"))

    def stream(self, prompt: Prompt, /) -> AsyncIterator[ModelChunk]:
        for on in (False, True):
            dialect = Dialect(developer_role=on, max_completion_tokens=on, strict_tools=on, usage=on)
            msgspec.json.encode(build_chat_body("m", prompt, dialect))
        return self.inner.stream(prompt)


class DoorApp:
    """One loop and one app for all requests."""

    def __init__(self) -> None:
        self.runner = asyncio.Runner()
        self.app = self.runner.run(self._make_app())

    async def _make_app(self) -> App:
        return App(Runtime(model=RequestBuildingModel(), tools=[add]), ServerSettings(), load_all("doors"))

    def send(
        self, method: str, target: str, headers: Iterable[tuple[str, str]] = (), body: bytes = b""
    ) -> asgi_client.AsgiResponse:
        """Send one request and return the response; an exception is what a server makes a 500 of."""

        async def send_limited() -> asgi_client.AsgiResponse:
            async with asyncio.timeout(HANG_TIMEOUT):
                return await asgi_client.send_request(self.app, method, target, headers, body)

        return self.runner.get_loop().run_until_complete(send_limited())

    def close(self) -> None:
        self.runner.close()
