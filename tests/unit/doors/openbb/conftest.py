"""No test here looks for anything outside: what a request names is refused unless a test allows it."""

import pytest

from rightseat.doors.openbb import write
from rightseat.http.fetch import AddressRules, OutboundClient


@pytest.fixture(autouse=True)
def no_outbound_requests(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(write, "make_outbound", lambda rules: OutboundClient(AddressRules(hosts=())))
