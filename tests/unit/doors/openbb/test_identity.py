"""The ids of widgets without one are those of OpenBB's own library. Expected values: xxhash and openbb-ai."""

import pytest

from rightseat.doors.openbb.wire import OpenBBQuery
from rightseat.doors.openbb.workspace_tools import collect_tools, derive_widget_uuid, xxh64
from tests.unit.doors.openbb.client import NEWS, PRICE, WIDGETS


@pytest.mark.parametrize(
    ("data", "total"),
    [
        (b"", 0xEF46_DB37_51D8_E999),
        (b"a", 0xD24E_C4F1_A98C_6E5B),
        (b"abcd", 0xDE03_27B0_D25D_92CC),
        (b"0123456789" * 3 + b"ab", 0xF0A1_0340_6842_5577),
        (b"0123456789" * 7, 0x4916_A0F3_F0E1_C781),
    ],
)
def test_the_hash(data: bytes, total: int) -> None:
    assert xxh64(data) == total


@pytest.mark.demand("openbb.exactly_copilotfunctioncall_last_stream")
def test_a_widget_without_an_id_has_the_librarys() -> None:
    found = collect_tools(OpenBBQuery(messages=[], widgets=WIDGETS))
    assert derive_widget_uuid("OpenBB API", "company_news") == NEWS
    assert found["news"].to_client_arguments({})["widget_uuid"] == NEWS
    assert found["price"].to_client_arguments({})["widget_uuid"] == PRICE
