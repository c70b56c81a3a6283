"""Mutated requests over real sockets; `make eval` sends twenty times as many."""

import pytest

from tests.fuzz import storm
from tests.fuzz.mutations import Mutant, mutant
from tests.fuzz.storm import DOORS, HEADINGS, Row, attempt, canary, count_requests, target

pytestmark = [pytest.mark.io, pytest.mark.timeout(1800)]


@pytest.mark.demand("openai.20_000_mutated_requests")
@pytest.mark.long
@pytest.mark.parametrize("door", DOORS)
async def test_no_server_error_no_hang_no_growth(door: str) -> None:
    count = count_requests()
    async with target() as server:
        row = await storm.storm(door, count, server)
        assert "Traceback" not in server.stderr
    assert not row.faults, "\n".join(row.faults[:10])
    assert row.count == count
    assert row.canaries == 1 + -(-count // storm.CANARY_EVERY)
    # Some must get through and most must not, else nothing was tried.
    assert row.statuses[200] > count / 50
    assert row.statuses[400] > count / 4


def test_a_number_is_always_the_same_request() -> None:
    assert mutant("openai", 7) == mutant("openai", 7)
    assert len({repr(mutant("openai", number)) for number in range(50)}) > 40


@pytest.mark.demand("openai.20_000_mutated_requests")
@pytest.mark.long
async def test_what_is_wrong_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    row = Row("openai")
    async with target() as server:
        speech = Mutant("POST", "/v1/audio/transcriptions", b"{}")
        monkeypatch.setattr(storm, "mutant", lambda door, number: speech)
        await attempt(server.url, 0, row)
        url = server.url
    # And now nobody is there.
    await attempt(url, 1, row)
    await canary(url, row)
    assert [fault.split(":")[0] for fault in row.faults] == ["openai 0", "openai 1", "canary"]
    assert "503" in row.faults[0]
    assert len(row.cells()) == len(HEADINGS)
