"""A local model under `--workers`: one engine for all, with tiny random weights in the real one."""

import asyncio
import contextlib
import os
import signal
from pathlib import Path

import pytest

from tests.kit import tiny_gguf
from tests.kit.client import RawHttpClient
from tests.kit.server import RightseatProcess
from tests.kit.timeouts import HANG_TIMEOUT
from tests.kit.waiting import wait_until
from tests.kit.workers import find_workers, wait_replaced

pytestmark = pytest.mark.io


def list_engines(server: RightseatProcess) -> list[int]:
    pids = []
    for pid in server.child_pids:
        with contextlib.suppress(OSError):
            if b"rightseat.models.llamacpp.child" in Path(f"/proc/{pid}/cmdline").read_bytes():
                pids.append(pid)
    return pids


async def post_completion(url: str) -> int:
    """The status of an answer on a connection of its own."""
    async with RawHttpClient(url) as client:
        await client.post_json("/v1/completions", {"prompt": "a b c", "max_tokens": 2})
        status = (await client.read_head()).status
        await client.read_body()
        return status


@pytest.mark.long
@pytest.mark.demand("scale.one_local_model_for_all")
async def test_workers_share_one_engine(tmp_path: Path) -> None:
    file = tmp_path / "tiny.gguf"
    tiny_gguf.write_text_model(file)
    config = f'[models.main]\nspec = "local:{file}"\nthreads = 1\ncontext = 256\n'
    async with RightseatProcess(config=config, args=["--workers", "2"]) as server:
        engine = list_engines(server)
        assert len(engine) == 1
        assert set(await asyncio.gather(*(post_completion(server.url) for _ in range(8)))) == {200}
        workers = find_workers(server)
        os.kill(workers[1], signal.SIGKILL)
        await wait_replaced(server, 1, workers[1])
        assert list_engines(server) == engine
        os.kill(engine[0], signal.SIGKILL)
        await wait_until(lambda: list_engines(server) not in ([], engine))
        async with asyncio.timeout(HANG_TIMEOUT):
            assert [await post_completion(server.url) for _ in range(8)] == [200] * 8
        assert len(list_engines(server)) == 1
        server.send_signal(signal.SIGTERM)
        assert await server.wait_exit() == 0
