"""Models that have to be loaded: before the first request, ended by a signal, shared over a reload."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator

import pytest

from rightseat import Runtime
from rightseat.config.settings import Config
from rightseat.errors import ConfigError, UpstreamRefused
from rightseat.models.llamacpp import weights
from rightseat.server.app import App
from rightseat.server.service import Service, open_listener
from rightseat.server.uvicorn_server import UvicornServer
from rightseat.types.chunks import FinishChunk, ModelChunk, TextChunk
from rightseat.types.model import Prompt
from rightseat.wiring.registry import load_all
from tests.kit.client import Client
from tests.kit.patience import STUCK
from tests.kit.process import alive, rss_bytes
from tests.kit.server import Server as Command
from tests.kit.server import executable
from tests.unit.server.test_uvicorn_server import until

pytestmark = pytest.mark.io


class Loaded:
    """A model that takes its time; `error` is why it does not come."""

    def __init__(self, error: Exception | None = None) -> None:
        self.error = error
        self.may = asyncio.Event()
        self.steps: list[str] = []

    async def start(self) -> None:
        self.steps.append("start")
        await self.may.wait()
        if self.error is not None:
            raise self.error

    async def close(self) -> None:
        self.steps.append("close")

    async def stream(self, prompt: Prompt, /) -> AsyncIterator[ModelChunk]:
        yield TextChunk("hello")
        yield FinishChunk("stop")


def serving(model: Loaded) -> tuple[UvicornServer, list[str]]:
    config = Config()
    app = App(Runtime(model=model), config.server, load_all("doors"))
    said: list[str] = []
    server = UvicornServer(Service(app, config, Config), config.server, lambda: said.append("ready"))
    return server, said


async def test_it_is_loaded_before_it_is_ready() -> None:
    model = Loaded()
    server, said = serving(model)
    with open_listener("127.0.0.1", 0) as listener:
        task = asyncio.create_task(server.serve(sockets=[listener]))
        await until(lambda: model.steps)
        assert said == []
        model.may.set()
        await until(lambda: said)
        server.should_exit = True
        server.exiting.set()
        await task
    assert model.steps == ["start", "close"]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
async def test_a_signal_while_it_loads_ends_it(number: signal.Signals) -> None:
    model = Loaded()
    server, said = serving(model)
    with open_listener("127.0.0.1", 0) as listener:
        task = asyncio.create_task(server.serve(sockets=[listener]))
        await until(lambda: model.steps)
        os.kill(os.getpid(), number)
        await asyncio.wait_for(task, STUCK)
    assert said == []
    assert model.steps == ["start", "close"]


async def test_one_that_cannot_be_loaded_is_an_error() -> None:
    model = Loaded(ConfigError("It cannot be loaded."))
    model.may.set()
    server, said = serving(model)
    with open_listener("127.0.0.1", 0) as listener, pytest.raises(ConfigError, match="cannot be loaded"):
        await server.serve(sockets=[listener])
    assert said == []
    assert model.steps == ["start", "close"]


async def test_anothers_server_may_come_later(caplog: pytest.LogCaptureFixture) -> None:
    model = Loaded(UpstreamRefused("Nobody is there."))
    model.may.set()
    await Runtime(model=model).start()
    assert "a model is not there yet: Nobody is there." in caplog.text


async def test_a_reload_that_cannot_load_keeps_the_old(monkeypatch: pytest.MonkeyPatch) -> None:
    old, new = Loaded(), Loaded(ConfigError("It cannot be loaded."))
    new.may.set()
    app = App(Runtime(model=old), Config().server, load_all("doors"))
    service = Service(app, Config(), Config)
    before = app.runtime
    monkeypatch.setattr("rightseat.server.service.build_runtime", lambda config, before: Runtime(model=new))
    with pytest.raises(ConfigError):
        await service.reload()
    assert app.runtime is before
    assert (old.steps, new.steps) == ([], ["start", "close"])


@pytest.mark.demand("llamacpp.local_default_serve_embedded", "llamacpp.engine_child_process_loopback")
@pytest.mark.model
async def test_the_default_is_the_embedded_model_and_a_reload_keeps_its_process() -> None:
    env = {"RIGHTSEAT_CACHE": str(weights.cache_folder())}
    line = [executable(), "serve", "--port", "0"]
    async with Command(command=line, env=env) as server:
        assert "local (SmolLM2-135M-Instruct, embedded)" in server.stdout
        [child] = server.children
        assert server.rss - rss_bytes(child) < 80e6, "the weights are the child's"
        async with Client(server.url) as client:
            await client.post("/v1/completions", {"prompt": "The capital of France is", "temperature": 0})
            assert (await client.head()).status == 200
            assert "Paris" in (await client.json())["choices"][0]["text"]
        (server.folder / "rightseat.toml").write_text("[server]\nkeep_alive = 9\n")
        server.signal(signal.SIGHUP)
        await until(lambda: "reloaded" in server.stderr)
        assert server.children == [child]
        os.kill(child, signal.SIGKILL)
        # Not ready while it is down, and ready again with the next one.
        await becomes(server.url, 503)
        await becomes(server.url, 200)
        assert child not in server.children
        last = server.children
        server.signal(signal.SIGTERM)
        assert await server.exited() == 0
    assert not any(alive(pid) for pid in last)


async def becomes(url: str, status: int) -> None:
    async with asyncio.timeout(STUCK):
        while True:
            async with Client(url) as client:
                await client.get("/ready")
                if (await client.head()).status == status:
                    return
