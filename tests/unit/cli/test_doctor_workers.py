"""`rightseat doctor` says how many workers there are."""

import pytest

from rightseat.cli.doctor import check_workers
from rightseat.config.settings import Config, ModelSettings, ServerSettings, StoreSettings
from rightseat.doctor.client import ProbeClient
from rightseat.doctor.running_server import identify_server
from tests.kit.server import RightseatProcess


@pytest.mark.demand("scale.number_of_workers")
def test_the_configured_number_is_said() -> None:
    config = Config(server=ServerSettings(workers=3), models={"main": ModelSettings(spec="openai:x")})
    assert "3 processes" in check_workers(config).format_text()
    broken = Config(server=ServerSettings(workers=3), store=StoreSettings(kind="memory"))
    assert check_workers(broken).state == "broken"


@pytest.mark.io
@pytest.mark.long
@pytest.mark.demand("scale.number_of_workers")
async def test_a_running_server_tells_its_number() -> None:
    async with RightseatProcess(args=["--workers", "2"]) as server:
        client = ProbeClient(server.url, None)
        try:
            assert (await identify_server(client)).workers == 2
        finally:
            client.close()
