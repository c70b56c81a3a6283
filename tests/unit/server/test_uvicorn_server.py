from __future__ import annotations

import asyncio
import json
import logging
import os
import signal
import time
from pathlib import Path

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from rightseat.config.stamps import read_stamps
from rightseat.server.uvicorn_server import FileWatcher
from tests.kit.timeouts import HANG_TIMEOUT
from tests.unit.server.conftest import RunningServer, ServeConfig, write_script

pytestmark = pytest.mark.io

LONG = "one two three four five six seven eight nine ten"


async def wait_for(condition: object, within: float = HANG_TIMEOUT) -> None:
    """Wait until a callable says yes."""
    assert callable(condition)
    limit = time.monotonic() + within
    while not condition():
        assert time.monotonic() < limit, "it did not happen"
        await asyncio.sleep(0.01)


async def open_stream(serving: RunningServer) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """A stream whose first words have arrived."""
    reader, writer = await serving.connect()
    writer.write(serving.format_say_request("go"))
    await asyncio.wait_for(reader.readuntil(b"one"), HANG_TIMEOUT)
    return reader, writer


async def read_rest(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bytes:
    text = await asyncio.wait_for(reader.read(), HANG_TIMEOUT)
    writer.close()
    return text


async def test_sigterm_lets_answers_finish_and_takes_no_new_ones(
    serve: ServeConfig, tmp_path: Path, release_stream: asyncio.Event
) -> None:
    async with serve(write_script(tmp_path, LONG, pace_ms=1)) as serving:
        streams = [await open_stream(serving) for _ in range(3)]
        os.kill(os.getpid(), signal.SIGTERM)
        await wait_for(lambda: not serving.service.app.runtime.ready)
        assert b"503" in (await serving.get("/ready")).split(b"\r\n")[0]
        assert b"!restarting" in await serving.send_raw(serving.format_say_request("late"))
        release_stream.set()
        for stream in streams:
            text = await read_rest(*stream)
            assert b"ten" in text
            assert text.endswith(b"0\r\n\r\n"), "the answer was cut"
        await asyncio.wait_for(serving.task, HANG_TIMEOUT)


async def test_what_is_not_done_within_the_grace_fails_properly(
    serve: ServeConfig, tmp_path: Path, release_stream: asyncio.Event
) -> None:
    """Here nothing is: the answer is never let go."""
    async with serve("[server]\ngrace = 0.2\n" + write_script(tmp_path, LONG, pace_ms=1)) as serving:
        stream = await open_stream(serving)
        os.kill(os.getpid(), signal.SIGTERM)
        text = await read_rest(*stream)
        assert b"!restarting" in text
        assert text.endswith(b"0\r\n\r\n"), "the answer was cut"
        await asyncio.wait_for(serving.task, HANG_TIMEOUT)
        assert not release_stream.is_set()


async def test_a_stop_closes_models_and_restores_signals(serve: ServeConfig) -> None:
    before = signal.getsignal(signal.SIGTERM)
    closed: list[str] = []

    async def close() -> None:
        closed.append("closed")

    async with serve() as serving:
        serving.service.app.runtime._closers = (close,)
        os.kill(os.getpid(), signal.SIGINT)
        await asyncio.wait_for(serving.task, HANG_TIMEOUT)
    assert closed == ["closed"]
    assert signal.getsignal(signal.SIGTERM) is before


async def test_the_second_ctrl_c_leaves_at_once(serve: ServeConfig, monkeypatch: pytest.MonkeyPatch) -> None:
    left: list[int] = []
    monkeypatch.setattr(os, "_exit", left.append)
    async with serve() as serving:
        assert serving.service.app.runtime.ready
        serving.server.handle_exit(signal.SIGINT, None)
        assert not serving.service.app.runtime.ready, "not ready at once"
        assert left == []
        serving.server.handle_exit(signal.SIGTERM, None)
        assert left == []
        serving.server.handle_exit(signal.SIGINT, None)
        assert left == [130]


@pytest.mark.demand("engine.reload_sighup_file_change")
async def test_sighup_swaps_for_new_requests_only(
    serve: ServeConfig, tmp_path: Path, release_stream: asyncio.Event
) -> None:
    async with serve(write_script(tmp_path, LONG, pace_ms=1)) as serving:
        old = serving.service.app.runtime
        stream = await open_stream(serving)
        serving.config.write_text(write_script(tmp_path, "new"))
        os.kill(os.getpid(), signal.SIGHUP)
        await wait_for(lambda: serving.service.app.runtime is not old)
        assert b"new" in await serving.send_raw(serving.format_say_request("go"))
        release_stream.set()
        assert b"ten" in await read_rest(*stream)
        assert serving.service.app.runtime.store is old.store


@pytest.mark.demand("engine.reload_sighup_file_change")
@pytest.mark.long
async def test_a_changed_file_is_noticed(serve: ServeConfig, tmp_path: Path) -> None:
    async with serve() as serving:
        old = serving.service.app.runtime
        serving.config.write_text(write_script(tmp_path, "changed"))
        await wait_for(lambda: serving.service.app.runtime is not old)
        assert b"changed" in await serving.send_raw(serving.format_say_request("go"))


@pytest.mark.demand("engine.reload_sighup_file_change", "server.after_sighup_setting_running")
@pytest.mark.parametrize(
    "bad",
    [
        "[server]\nprot = 1\n",
        "not toml",
        '[models.a]\nspec = "nope:x"\n',
        "[server]\nhost = '0.0.0.0'\n",
        '[models.a]\nspec = "scripted:demo"\n[server]\ntrusted_proxies = ["999.1.1.1"]\n',
    ],
)
async def test_a_bad_file_keeps_the_old_one(serve: ServeConfig, caplog: pytest.LogCaptureFixture, bad: str) -> None:
    async with serve() as serving:
        old = serving.service.app.runtime
        serving.config.write_text(bad)
        os.kill(os.getpid(), signal.SIGHUP)
        with caplog.at_level(logging.ERROR):
            await wait_for(lambda: "the old one stays" in caplog.text)
        assert serving.service.app.runtime is old
        assert b"hello" in await serving.send_raw(serving.format_say_request("go"))


@pytest.mark.demand("engine.reload_sighup_file_change")
async def test_a_hundred_reloads_fail_nothing_and_leave_nothing(serve: ServeConfig, tmp_path: Path) -> None:
    async with serve("[server]\nbody_timeout = 0.1\n" + write_script(tmp_path, "a b c d", pace_ms=5)) as serving:
        service = serving.service
        answers = []
        for _ in range(100):
            answers.append(asyncio.create_task(serving.send_raw(serving.format_say_request("go"))))
            await service.reload()
        for answer in answers:
            assert (await answer).endswith(b"0\r\n\r\n")
        assert b"!" not in b"".join(answer.result() for answer in answers)
        service.retired = [(0, runtime) for _, runtime in service.retired]
        await service.close_retired()
        assert service.retired == []


async def test_an_old_runtime_is_closed_after_its_last_answer_only(
    serve: ServeConfig, tmp_path: Path, release_stream: asyncio.Event
) -> None:
    async with serve(write_script(tmp_path, LONG, pace_ms=1)) as serving:
        service = serving.service
        stream = await open_stream(serving)
        await service.reload()
        service.retired = [(0, runtime) for _, runtime in service.retired]
        await service.close_retired()
        assert len(service.retired) == 1, "closed under a running answer"
        release_stream.set()
        assert b"ten" in await read_rest(*stream)
        await wait_for(lambda: service.retired == [])


async def test_a_reload_takes_keys_away(serve: ServeConfig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALICE", "a-key")
    monkeypatch.setenv("BOB", "b-key")
    model = write_script(tmp_path, "hello")
    async with serve(model + '[auth.keys]\nalice = "env:ALICE"\nbob = "env:BOB"\n') as serving:
        ask = serving.format_say_request("go").replace(b"Host:", b"X-Api-Key: a-key\r\nHost:")
        assert b"hello" in await serving.send_raw(ask)
        serving.config.write_text(model + '[auth.keys]\nbob = "env:BOB"\n')
        await serving.service.reload()
        assert b" 401 " in await serving.send_raw(ask)


async def test_a_configured_jwt_is_asked_for(
    serve: ServeConfig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    private = Ed25519PrivateKey.generate()
    public = json.loads(jwt.algorithms.OKPAlgorithm.to_jwk(private.public_key()))

    async def fetch(url: str) -> bytes:
        return json.dumps({"keys": [public | {"kid": "k", "alg": "EdDSA"}]}).encode()

    monkeypatch.setattr("rightseat.server.service.fetch_jwks", fetch)
    table = '[auth.jwt]\nissuer = "i"\naudience = "a"\njwks = "https://id.invalid/jwks"\n'
    claims = {"iss": "i", "aud": "a", "sub": "ada", "exp": time.time() + 3600}
    async with serve(write_script(tmp_path, "hello") + table) as serving:
        ask = serving.format_say_request("go")
        assert b" 401 " in await serving.send_raw(ask)
        for audience, status in (("a", b" 200 "), ("other", b" 401 ")):
            token = jwt.encode(claims | {"aud": audience}, private, "EdDSA", headers={"kid": "k"})
            carried = f"Authorization: Bearer {token}\r\nHost:".encode()
            assert status in await serving.send_raw(ask.replace(b"Host:", carried))


async def test_an_idle_server_sleeps(serve: ServeConfig, monkeypatch: pytest.MonkeyPatch) -> None:
    """It looks twice a second, and a signal does not wait for that."""
    async with serve() as serving:
        looks: list[int] = []
        seen = asyncio.Event()
        before = serving.server.on_tick

        async def on_tick(counter: int) -> bool:
            looks.append(counter)
            seen.set()
            return await before(counter)

        monkeypatch.setattr(serving.server, "on_tick", on_tick)
        monkeypatch.setattr("rightseat.server.uvicorn_server.POLL_SECONDS", 3600)
        await asyncio.wait_for(seen.wait(), HANG_TIMEOUT)
        signal.raise_signal(signal.SIGTERM)
        await asyncio.wait_for(serving.task, HANG_TIMEOUT)
        assert len(looks) == 2


@pytest.mark.demand("scale.one_worker_pays_nothing")
async def test_one_worker_counts_its_tasks_only_for_a_scrape(
    serve: ServeConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With thousands of streams a count takes milliseconds of the event loop."""
    async with serve() as serving:
        counts: list[None] = []
        monkeypatch.setattr(serving.service.app.runtime.meters, "count_tasks", lambda: counts.append(None))
        for counter in range(3):
            await serving.server.on_tick(counter)
        assert not counts
        await serving.get("/metrics")
        assert len(counts) == 1


def test_a_watch_waits_until_a_file_is_still(tmp_path: Path) -> None:
    file = tmp_path / "a"
    file.write_text("1")
    watch = FileWatcher(read_stamps([file]))
    assert not watch.poll_changed()
    file.write_text("12")
    assert not watch.poll_changed()
    file.write_text("123")
    assert not watch.poll_changed()
    assert watch.poll_changed()
    assert not watch.poll_changed()
    file.unlink()
    assert not watch.poll_changed()
    assert watch.poll_changed()


@pytest.mark.demand("plugins.mended_files_come_back")
def test_a_change_while_files_are_read_is_reported_after_it(tmp_path: Path) -> None:
    first, second = tmp_path / "a", tmp_path / "b"
    first.write_text("1")
    stamps = read_stamps([first, second])
    first.write_text("12")
    watch = FileWatcher(stamps)
    assert not watch.poll_changed(), "it may still be written to"
    assert watch.poll_changed()
    stamps = read_stamps([first, second])
    second.write_text("1")
    watch.watch(stamps)
    assert not watch.poll_changed()
    assert watch.poll_changed()
    watch.watch({})
    first.unlink()
    assert not watch.poll_changed()
    assert not watch.poll_changed()
