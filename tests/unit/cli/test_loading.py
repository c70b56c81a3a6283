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
from rightseat.wiring.lookup import load_all
from tests.kit.client import RawHttpClient
from tests.kit.process import is_alive, measure_rss_bytes
from tests.kit.server import RightseatProcess as Command
from tests.kit.server import find_executable
from tests.kit.timeouts import HANG_TIMEOUT
from tests.unit.server.test_uvicorn_server import wait_for

pytestmark = pytest.mark.io


class SlowLoadingModel:
    """A model that takes its time; `error` is why it does not come."""

    def __init__(self, error: Exception | None = None) -> None:
        self.error = error
        self.may_load = asyncio.Event()
        self.steps: list[str] = []

    async def start(self) -> None:
        self.steps.append("start")
        await self.may_load.wait()
        if self.error is not None:
            raise self.error

    async def close(self) -> None:
        self.steps.append("close")

    async def stream(self, prompt: Prompt, /) -> AsyncIterator[ModelChunk]:
        yield TextChunk("hello")
        yield FinishChunk("stop")


def make_server(model: SlowLoadingModel) -> tuple[UvicornServer, list[str]]:
    config = Config()
    app = App(Runtime(model=model), config.server, load_all("doors"))
    signals: list[str] = []
    server = UvicornServer(Service(app, config, Config), config.server, lambda: signals.append("ready"))
    return server, signals


async def test_it_is_loaded_before_it_is_ready() -> None:
    model = SlowLoadingModel()
    server, said = make_server(model)
    with open_listener("127.0.0.1", 0) as listener:
        task = asyncio.create_task(server.serve(sockets=[listener]))
        await wait_for(lambda: model.steps)
        assert said == []
        model.may_load.set()
        await wait_for(lambda: said)
        server.should_exit = True
        server.exiting.set()
        await task
    assert model.steps == ["start", "close"]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
async def test_a_signal_while_it_loads_ends_it(number: signal.Signals) -> None:
    model = SlowLoadingModel()
    server, said = make_server(model)
    with open_listener("127.0.0.1", 0) as listener:
        task = asyncio.create_task(server.serve(sockets=[listener]))
        await wait_for(lambda: model.steps)
        os.kill(os.getpid(), number)
        await asyncio.wait_for(task, HANG_TIMEOUT)
    assert said == []
    assert model.steps == ["start", "close"]


async def test_one_that_cannot_be_loaded_is_an_error() -> None:
    model = SlowLoadingModel(ConfigError("It cannot be loaded."))
    model.may_load.set()
    server, said = make_server(model)
    with open_listener("127.0.0.1", 0) as listener, pytest.raises(ConfigError, match="cannot be loaded"):
        await server.serve(sockets=[listener])
    assert said == []
    assert model.steps == ["start", "close"]


async def test_anothers_server_may_come_later(caplog: pytest.LogCaptureFixture) -> None:
    model = SlowLoadingModel(UpstreamRefused("Nobody is there."))
    model.may_load.set()
    await Runtime(model=model).start()
    assert "a model is not there yet: Nobody is there." in caplog.text


async def test_a_reload_that_cannot_load_keeps_the_old(monkeypatch: pytest.MonkeyPatch) -> None:
    old, new = SlowLoadingModel(), SlowLoadingModel(ConfigError("It cannot be loaded."))
    new.may_load.set()
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
    line = [find_executable(), "serve", "--port", "0"]
    async with Command(command=line, env=env) as server:
        assert "local (SmolLM2-135M-Instruct, embedded)" in server.stdout
        [child] = server.child_pids
        assert server.rss_bytes - measure_rss_bytes(child) < 80e6, "the weights are the child's"
        async with RawHttpClient(server.url) as client:
            await client.post_json("/v1/completions", {"prompt": "The capital of France is", "temperature": 0})
            assert (await client.read_head()).status == 200
            assert "Paris" in (await client.read_json())["choices"][0]["text"]
        (server.folder / "rightseat.toml").write_text("[server]\nkeep_alive = 9\n")
        server.send_signal(signal.SIGHUP)
        await wait_for(lambda: "reloaded" in server.stderr)
        assert server.child_pids == [child]
        os.kill(child, signal.SIGKILL)
        # Not ready while it is down, and ready again with the next one.
        await wait_for_ready_status(server.url, 503)
        await wait_for_ready_status(server.url, 200)
        assert child not in server.child_pids
        last = server.child_pids
        server.send_signal(signal.SIGTERM)
        assert await server.wait_exit() == 0
    assert not any(is_alive(pid) for pid in last)


async def wait_for_ready_status(url: str, status: int) -> None:
    async with asyncio.timeout(HANG_TIMEOUT):
        while True:
            async with RawHttpClient(url) as client:
                await client.get("/ready")
                if (await client.read_head()).status == status:
                    return
