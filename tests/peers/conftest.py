"""What each real client saw, once per client and session."""

import asyncio
from collections.abc import AsyncIterator, Callable, Generator

import pytest
import pytest_asyncio

from tests.peers import browser, client_runner, prerequisites
from tests.peers.openai_cases import MODES, NODE, PYTHON, PeerReport, list_cases
from tests.peers.prerequisites import require


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(call: pytest.CallInfo[None]) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Counts what is skipped for the same reason in one line, wherever it stands."""
    report = yield
    if report.skipped and call.excinfo is not None and str(call.excinfo.value) in prerequisites.skip_reasons.values():
        report.longrepr = (prerequisites.__file__, 1, str(call.excinfo.value))
    return report


DriveClient = Callable[[str, tuple[str, ...]], client_runner.ClientReport]


@pytest.fixture(scope="session")
def drive_client(record_driven: Callable[[str, str], None]) -> DriveClient:
    """Drives a client through its cases on the first call, and only then."""
    reports: dict[str, client_runner.ClientReport | AssertionError] = {}

    def run(name: str, cases: tuple[str, ...]) -> client_runner.ClientReport | AssertionError:
        try:
            seen = asyncio.run(client_runner.run_client(name, cases))
        except AssertionError as error:
            return error
        record_driven(name, seen.version)
        return seen

    def seen(name: str, cases: tuple[str, ...]) -> client_runner.ClientReport:
        require(name)
        if name not in reports:
            reports[name] = run(name, cases)
        found = reports[name]
        if isinstance(found, AssertionError):
            pytest.fail(f"{name}: {found}", pytrace=False)
        return found

    return seen


@pytest.fixture(params=[PYTHON, NODE])
def single_mode_peer(request: pytest.FixtureRequest, drive_client: DriveClient) -> PeerReport:
    """A client of OpenAI's, for what there is only one mode of."""
    return PeerReport(request.param, drive_client(request.param, list_cases(request.param)))


@pytest.fixture(params=MODES)
def peer(request: pytest.FixtureRequest, single_mode_peer: PeerReport) -> PeerReport:
    return PeerReport(single_mode_peer.name, single_mode_peer.report, request.param)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def chromium(record_driven: Callable[[str, str], None]) -> AsyncIterator[browser.Chromium]:
    """A browser for a module whose tests share one loop: `pytest.mark.asyncio(loop_scope="module")`."""
    require("playwright")
    async with browser.launch_chromium() as found:
        record_driven("chromium", found.version)
        yield found
