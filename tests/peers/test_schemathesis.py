"""schemathesis reads our OpenAPI document and calls every route with what fits it and what does not."""

import asyncio
import json
import re
from asyncio.subprocess import PIPE, STDOUT
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.kit.client import RawHttpClient
from tests.kit.rounds import limit_rounds
from tests.kit.server import RightseatProcess
from tests.kit.timeouts import HANG_TIMEOUT
from tests.peers.client_runner import HERE
from tests.peers.prerequisites import require

pytestmark = [pytest.mark.peers, pytest.mark.timeout(600)]

CHECKS = (
    "not_a_server_error",
    "status_code_conformance",
    "content_type_conformance",
    "response_schema_conformance",
    "negative_data_rejection",
    "unsupported_method",
)
COMMON_OPTIONS = ("--no-color", "--seed=1", "--generation-database=none", f"--checks={','.join(CHECKS)}")
# A request that takes longer hangs, and that is a failure.
# Forty for each route in `make eval`; what each route's document allows is covered either way.
EXAMPLES = limit_rounds(40)
LIMIT_OPTIONS = ("--request-timeout=60", f"--max-examples={EXAMPLES}", "--phases=examples,coverage,fuzzing")


@pytest.fixture
def schemathesis(record_driven: Callable[[str, str], None]) -> str:
    home = require("schemathesis")
    (found,) = home.glob("lib/python*/site-packages/schemathesis-*.dist-info")
    record_driven("schemathesis", found.name.split("-")[1].removesuffix(".dist"))
    return str(home / "bin" / "st")


async def run_command(folder: Path, *line: str) -> tuple[int, str]:
    process = await asyncio.create_subprocess_exec(*line, cwd=folder, stdout=PIPE, stderr=STDOUT)
    try:
        output, _ = await asyncio.wait_for(process.communicate(), 8 * HANG_TIMEOUT)
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    assert process.returncode is not None
    return process.returncode, output.decode(errors="replace")


@pytest.mark.demand("openai.schemathesis_our_openapi_document")
async def test_every_route_keeps_to_the_document(schemathesis: str, tmp_path: Path) -> None:
    config = f"--config-file={HERE / 'schemathesis' / 'schemathesis.toml'}"
    async with RightseatProcess(model=f"scripted:{HERE / 'script.json'}") as server:
        address = f"{server.url}/openapi.json"
        code, said = await run_command(tmp_path, schemathesis, config, "run", address, *COMMON_OPTIONS, *LIMIT_OPTIONS)
        assert code == 0, said[said.find("= FAILURES =") :][:8000]
        async with RawHttpClient(server.url) as client:
            await client.get("/openapi.json")
            await client.read_head()
            document = await client.read_json()
        assert "Traceback" not in server.stderr
    # The document itself is read, not tested.
    routes = sum(len(found) for path, found in document["paths"].items() if path != "/openapi.json")
    assert f"Tested: {routes}" in said
    made = re.search(r"(\d+) generated", said)
    assert made is not None
    assert int(made[1]) > 500, said[-1000:]


@pytest.mark.demand("openai.schemathesis_our_openapi_document")
async def test_a_server_error_is_seen(schemathesis: str, tmp_path: Path) -> None:
    """Without our word that 503 is meant there, it is reported."""
    async with RightseatProcess(model=f"scripted:{HERE / 'script.json'}") as server:
        only = ("--include-path=/v1/embeddings", "--max-examples=1")
        code, said = await run_command(
            tmp_path, schemathesis, "run", f"{server.url}/openapi.json", *COMMON_OPTIONS, *only
        )
    assert code == 1, json.dumps(said[-2000:])
    assert "Server error" in said
