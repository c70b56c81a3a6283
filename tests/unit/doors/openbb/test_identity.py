"""The ids of widgets without one are those of OpenBB's own library. Expected values: openbb-ai."""

from datetime import UTC, datetime

import pytest

from rightseat.doors.openbb.wire import OpenBBQuery
from rightseat.doors.openbb.workspace_tools import collect_tools, derive_widget_uuid
from tests.unit.doors.openbb.client import NEWS_UUID, PRICE_UUID, WIDGETS


@pytest.mark.demand("openbb.exactly_copilotfunctioncall_last_stream")
def test_a_widget_without_an_id_has_the_librarys() -> None:
    found = collect_tools(OpenBBQuery(messages=[], widgets=WIDGETS), datetime.now(UTC))
    assert derive_widget_uuid("OpenBB API", "company_news") == NEWS_UUID
    assert found["news"].to_client_arguments({})["widget_uuid"] == NEWS_UUID
    assert found["price"].to_client_arguments({})["widget_uuid"] == PRICE_UUID
