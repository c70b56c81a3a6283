"""Three replicas are restarted one after the other under load, with a step of the schema in between: nobody fails."""

import sys
from pathlib import Path

import pytest

from evals.rolling.drill import RollingDrill
from tests.contract.stores.members import make_schema_name
from tests.kit.postgres import get_session_server

pytestmark = [
    pytest.mark.io,
    pytest.mark.long,
    pytest.mark.timeout(900),
    pytest.mark.skipif(sys.platform == "win32", reason="no SIGTERM on Windows"),
]


@pytest.mark.demand("cluster.rolling_restart")
async def test_a_rolling_restart_fails_no_request_and_no_flow(tmp_path: Path) -> None:
    url, schema = get_session_server().url, make_schema_name()
    report = await RollingDrill(tmp_path, url, schema, streams=6, flows=3, grace=10).run()
    assert report.problems == []
    assert report.restarts == 3
    assert report.streams
    assert report.flows
    assert report.handed_over
