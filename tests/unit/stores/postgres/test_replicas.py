"""Two servers on one PostgreSQL database, as on two machines: real processes, each with a port of its own."""

import asyncio
import json
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from tests.contract.stores.members import make_schema_name
from tests.kit.client import RawHttpClient
from tests.kit.postgres import get_session_server
from tests.kit.server import RightseatProcess
from tests.kit.timeouts import HANG_TIMEOUT
from tests.unit.doors.copilotkit.agui import join_text, list_event_types, make_run_input
from tests.unit.server.workers.test_shared_runs import CONNECT, RUN, WORDS, ask, open_stream, read_after, read_rest

pytestmark = pytest.mark.io


@asynccontextmanager
async def serve_replicas(folder: Path, pace_ms: int = 30) -> AsyncIterator[tuple[RightseatProcess, RightseatProcess]]:
    script = folder / "script.json"
    script.write_text(json.dumps({"turns": [{"when": {}, "say": WORDS, "pace_ms": pace_ms}]}))
    store = f'[store]\nkind = "postgres"\nurl = "env:DATABASE_URL"\nschema = "{make_schema_name()}"\n'
    config = f'[models.main]\nspec = "scripted:{script}"\n{store}[live]\nlease_seconds = 5\n'
    env = {"DATABASE_URL": get_session_server().url}
    async with RightseatProcess(config=config, env=env) as first, RightseatProcess(config=config, env=env) as second:
        yield first, second


@pytest.mark.demand("cluster.served_by_any_replica")
async def test_a_run_is_joined_and_listed_at_another_replica(tmp_path: Path) -> None:
    async with (
        serve_replicas(tmp_path) as (first, second),
        RawHttpClient(first.url) as here,
        RawHttpClient(second.url) as there,
        RawHttpClient(second.url) as cut,
        RawHttpClient(second.url) as asked,
    ):
        begun = await open_stream(here, RUN, "hi")
        _, listed = await ask(asked, "GET", "/copilotkit/threads")
        assert [thread["id"] for thread in listed["threads"]] == ["t"]
        status, _ = await ask(asked, "POST", RUN, make_run_input("other", run="r2"))
        assert status == 409
        again = asyncio.create_task(read_after(cut, begun[-1].id))
        joined = await open_stream(there, CONNECT)
        whole = begun + await read_rest(here)
        joined += await read_rest(there)
        assert join_text(whole) == join_text(joined) == "".join(WORDS)
        assert join_text(begun) + join_text(await again) == "".join(WORDS)
        assert list_event_types(whole)[-1] == list_event_types(joined)[-1] == "RUN_FINISHED"
        assert "PostgreSQL at" in first.stderr + first.stdout


@pytest.mark.demand("cluster.served_by_any_replica")
async def test_the_run_of_a_killed_replica_ends_as_restarted_and_its_thread_is_free(tmp_path: Path) -> None:
    async with (
        serve_replicas(tmp_path, pace_ms=1000) as (first, second),
        RawHttpClient(first.url) as here,
        RawHttpClient(second.url) as there,
    ):
        await open_stream(here, RUN, "hi")
        await open_stream(there, CONNECT)
        first.send_signal(signal.SIGKILL)
        async with asyncio.timeout(HANG_TIMEOUT):
            rest = await read_rest(there)
        assert rest[-1].json["type"] == "RUN_ERROR"
        assert rest[-1].json["code"] == "restarted"
        async with RawHttpClient(second.url) as next_run, RawHttpClient(second.url) as asked:
            assert await open_stream(next_run, RUN, "hi", "again")
            assert (await ask(asked, "POST", "/copilotkit/agent/default/stop/t"))[1]["stopped"]
