"""schemathesis reads our OpenAPI document and calls every route with what fits it and what does not."""

import asyncio
import json
import re
from asyncio.subprocess import PIPE, STDOUT
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.kit.client import Client
from tests.kit.patience import STUCK
from tests.kit.rounds import rounds
from tests.kit.server import Server
from tests.peers.need import require
from tests.peers.rig import HERE

pytestmark = [pytest.mark.peers, pytest.mark.timeout(600)]

CHECKS = (
    "not_a_server_error",
    "status_code_conformance",
    "content_type_conformance",
    "response_schema_conformance",
    "negative_data_rejection",
    "unsupported_method",
)
PLAIN = ("--no-color", "--seed=1", "--generation-database=none", f"--checks={','.join(CHECKS)}")
# A request that takes longer hangs, and that is a failure.
# Forty for each route in `make eval`; what each route's document allows is covered either way.
EXAMPLES = rounds(40)
BOUNDS = ("--request-timeout=60", f"--max-examples={EXAMPLES}", "--phases=examples,coverage,fuzzing")


@pytest.fixture
def schemathesis(driven: Callable[[str, str], None]) -> str:
    home = require("schemathesis")
    (found,) = home.glob("lib/python*/site-packages/schemathesis-*.dist-info")
    driven("schemathesis", found.name.split("-")[1].removesuffix(".dist"))
    return str(home / "bin" / "st")


async def run(folder: Path, *line: str) -> tuple[int, str]:
    process = await asyncio.create_subprocess_exec(*line, cwd=folder, stdout=PIPE, stderr=STDOUT)
    try:
        said, _ = await asyncio.wait_for(process.communicate(), 8 * STUCK)
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    assert process.returncode is not None
    return process.returncode, said.decode(errors="replace")


@pytest.mark.demand("openai.schemathesis_our_openapi_document")
async def test_every_route_keeps_to_the_document(schemathesis: str, tmp_path: Path) -> None:
    config = f"--config-file={HERE / 'schemathesis' / 'schemathesis.toml'}"
    async with Server(model=f"scripted:{HERE / 'script.json'}") as server:
        address = f"{server.url}/openapi.json"
        code, said = await run(tmp_path, schemathesis, config, "run", address, *PLAIN, *BOUNDS)
        assert code == 0, said[-4000:]
        async with Client(server.url) as client:
            await client.get("/openapi.json")
            await client.head()
            document = await client.json()
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
    async with Server(model=f"scripted:{HERE / 'script.json'}") as server:
        only = ("--include-path=/v1/embeddings", "--max-examples=1")
        code, said = await run(tmp_path, schemathesis, "run", f"{server.url}/openapi.json", *PLAIN, *only)
    assert code == 1, json.dumps(said[-2000:])
    assert "Server error" in said
