"""What each real client saw, once per client and session."""

import asyncio
from collections.abc import AsyncIterator, Callable, Generator

import pytest
import pytest_asyncio

from tests.peers import browser, need, rig
from tests.peers.need import require
from tests.peers.openai_cases import MODES, NODE, PYTHON, Peer, cases


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(call: pytest.CallInfo[None]) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Counts what is skipped for the same reason in one line, wherever it stands."""
    report = yield
    if report.skipped and call.excinfo is not None and str(call.excinfo.value) in need.reasons.values():
        report.longrepr = (need.__file__, 1, str(call.excinfo.value))
    return report


Watch = Callable[[str, tuple[str, ...]], rig.Seen]


@pytest.fixture(scope="session")
def watch(driven: Callable[[str, str], None]) -> Watch:
    """Drives a client through its cases on the first call, and only then."""
    known: dict[str, rig.Seen | AssertionError] = {}

    def look(name: str, cases: tuple[str, ...]) -> rig.Seen | AssertionError:
        try:
            seen = asyncio.run(rig.see(name, cases))
        except AssertionError as error:
            return error
        driven(name, seen.version)
        return seen

    def seen(name: str, cases: tuple[str, ...]) -> rig.Seen:
        require(name)
        if name not in known:
            known[name] = look(name, cases)
        found = known[name]
        if isinstance(found, AssertionError):
            pytest.fail(f"{name}: {found}", pytrace=False)
        return found

    return seen


@pytest.fixture(params=[PYTHON, NODE])
def once(request: pytest.FixtureRequest, watch: Watch) -> Peer:
    """A client of OpenAI's, for what there is only one mode of."""
    return Peer(request.param, watch(request.param, cases(request.param)))


@pytest.fixture(params=MODES)
def peer(request: pytest.FixtureRequest, once: Peer) -> Peer:
    return Peer(once.name, once.seen, request.param)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def chromium(driven: Callable[[str, str], None]) -> AsyncIterator[browser.Chromium]:
    """A browser for a module whose tests share one loop: `pytest.mark.asyncio(loop_scope="module")`."""
    require("playwright")
    async with browser.started() as found:
        driven("chromium", found.version)
        yield found
