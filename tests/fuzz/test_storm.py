"""Mutated requests over real sockets; `make eval` sends twenty times as many."""

import pytest

from tests.fuzz import campaign
from tests.fuzz.campaign import DOORS, HEADINGS, CampaignResult, count_requests, run_target, send_canary, try_mutant
from tests.fuzz.mutations import MutatedRequest, mutate_request

pytestmark = [pytest.mark.io, pytest.mark.timeout(1800)]


@pytest.mark.demand("openai.20_000_mutated_requests")
@pytest.mark.long
@pytest.mark.parametrize("door", DOORS)
async def test_no_server_error_no_hang_no_growth(door: str) -> None:
    count = count_requests()
    async with run_target() as server:
        row = await campaign.run_campaign(door, count, server)
        assert "Traceback" not in server.stderr
    assert not row.faults, "\n".join(row.faults[:10])
    assert row.count == count
    assert row.canaries == 1 + -(-count // campaign.CANARY_EVERY)
    # Some must get through and most must not, else nothing was tried.
    assert row.statuses[200] > count / 50
    assert row.statuses[400] > count / 4


def test_a_number_is_always_the_same_request() -> None:
    assert mutate_request("openai", 7) == mutate_request("openai", 7)
    assert len({repr(mutate_request("openai", number)) for number in range(50)}) > 40


@pytest.mark.demand("openai.20_000_mutated_requests")
@pytest.mark.long
async def test_what_is_wrong_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    row = CampaignResult("openai")
    async with run_target() as server:
        speech = MutatedRequest("POST", "/v1/audio/transcriptions", b"{}")
        monkeypatch.setattr(campaign, "mutate_request", lambda door, number: speech)
        await try_mutant(server.url, 0, row)
        url = server.url
    # And now nobody is there.
    await try_mutant(url, 1, row)
    await send_canary(url, row)
    assert [fault.split(":")[0] for fault in row.faults] == ["openai 0", "openai 1", "canary"]
    assert "503" in row.faults[0]
    assert len(row.format_cells()) == len(HEADINGS)
