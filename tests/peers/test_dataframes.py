"""Real data frames of 100,000 rows through every door: pandas, Polars, NumPy and PyArrow beside rightseat in one
process. The program is dataframes/drive_frames.py."""

import re
import sys
import sysconfig
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import pytest
import pytest_asyncio

from tests.contract.doors.client_result import ClientResult
from tests.contract.doors.members import MEMBERS
from tests.peers.client_runner import HERE, ClientProcess, start_client
from tests.peers.openbb_driver import start_driver
from tests.peers.prerequisites import require
from tests.unit.doors.openbb.client import OpenBBChat

pytestmark = [pytest.mark.peers, pytest.mark.timeout(600), pytest.mark.asyncio(loop_scope="module")]
over_members = pytest.mark.parametrize("member", MEMBERS)
# A door of each kind: as text, as events of AG-UI, as artifacts of OpenBB.
over_kinds = pytest.mark.parametrize("member", ["openai-whole", "agui", "openbb-today"])
ARTIFACT_MEMBERS = ("agui", "copilotkit-single", "copilotkit-routes", "openbb-today")
"""Those whose clients draw tables; the others get them as text."""
ROWS = 100_000
REPLY_TIMEOUT = 300.0
INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
PANDAS_ROW: dict[str, Any] = {
    **dict.fromkeys(INTEGERS, 1),
    "Int64": 7,
    "UInt8": 7,
    "float32": 0.5,
    "float64": -1.25,
    "Float64": 2.5,
    "complex128": "(1+2j)",
    "bool": True,
    "boolean": True,
    "str": "汉字",
    "string": "a|b",
    "object": {"k": [1]},
    "category": "x",
    "datetime": "2024-01-01T09:30:00",
    "seconds": "2024-01-01T09:30:00",
    "zoned": "2024-01-01T09:30:00+01:00",
    "timedelta": "P0DT1H0M0S",
    "period": "2024Q1",
    "interval": "(0.0, 1.0]",
    "sparse": 0.0,
    "decimal": 1.1,
    "date": "2024-01-01",
    "time": "09:30:00",
    "bytes": "/w==",
    "int64[pyarrow]": 3,
    "bool[pyarrow]": True,
    "string[pyarrow]": "b",
    "arrow_time": "2024-01-01T09:30:00+00:00",
    "arrow_duration": "P0DT1H0M0S",
    "arrow_decimal": 1.1,
    "arrow_date": "2024-01-01",
    "arrow_list": [1, None],
    "arrow_struct": {"a": "b"},
    "arrow_bytes": "/w==",
}
PANDAS_SECOND_ROW: dict[str, Any] = {
    **dict.fromkeys(PANDAS_ROW),
    **dict.fromkeys(INTEGERS, 2),
    "complex128": "2j",
    "bool": False,
}
POLARS_ROW: dict[str, Any] = {
    **dict.fromkeys(("Int8", "Int16", "Int32", "Int64", "Int128", "UInt8", "UInt16", "UInt32", "UInt64"), 1),
    "Float32": 0.5,
    "Float64": -1.25,
    "Boolean": True,
    "String": "汉字",
    "Binary": "/w==",
    "Date": "2024-01-01",
    "Datetime": "2024-01-01T09:30:00",
    "Zoned": "2024-01-01T09:30:00Z",
    "Duration": "PT3600S",
    "Time": "09:30:00",
    "Categorical": "x",
    "Enum": "x",
    "Decimal": 1.1,
    "List": [1, None],
    "Array": [1, 2],
    "Struct": {"a": "b"},
    "Null": None,
    "Object": 2,
}
POLARS_SECOND_ROW: dict[str, Any] = {
    **dict.fromkeys(POLARS_ROW),
    **dict.fromkeys(("Int8", "Int16", "Int32", "Int64", "Int128"), 2),
    "Enum": "y",
    "Struct": {"a": None},
}
ALL_TYPES = {"pandas_frame": (PANDAS_ROW, PANDAS_SECOND_ROW), "polars_frame": (POLARS_ROW, POLARS_SECOND_ROW)}
# The first and the last row of tables that a client gets whole.
WHOLE_TABLES: dict[str, tuple[Any, Any]] = {
    "indexed_frame": (
        {"day": "2024-01-01T00:00:00", "index": "A", "price open": 0, "price 2": 0.0},
        {"day": "2029-09-14T07:00:00", "index": "B", "price open": 99_999, "price 2": 24_999.75},
    ),
    "series": ({"index": "2024-01-01T00:00:00", "close": 0.0}, {"index": "2024-03-10T10:39:00", "close": 24_999.75}),
    "charted": ({"day": "2024-01-01", "price": 0.0}, {"day": "2024-01-01", "price": 24_999.75}),
}
OTHER_TABLES: dict[str, tuple[Any, Any]] = {
    "same_names": ({"index": "a", "x": 1.0, "x 2": 1.0},) * 2,
    "arrow_table": ({"n": 0, "day": "2024-01-01"}, {"n": 99_999, "day": None}),
}


@dataclass(frozen=True, slots=True)
class FrameServer:
    url: str
    process: ClientProcess

    async def request(self, member: str, name: str) -> tuple[ClientResult, str]:
        """Call a tool through a door; return what its client and its model got. No table is encoded on the event
        loop."""
        await self.process.send_line("reset")
        await self.process.read_reply(name)
        seen = await MEMBERS[member](self.url).send_message(name)
        result = (await self.process.read_reply(name))["result"]
        await self.process.send_line("report")
        report = await self.process.read_reply(name)
        print(f"{member} {name}: {report['seconds']:.2f} s, event loop held for {report['longest']:.3f} s")
        assert seen.error is None
        assert seen.text.endswith("Here.")
        assert report["encoded_on_loop"] == 0
        return seen, result


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def server(
    tmp_path_factory: pytest.TempPathFactory, record_driven: Callable[[str, str], None]
) -> AsyncIterator[FrameServer]:
    home = str(require("dataframes"))
    packages = sysconfig.get_path("purelib", vars={"base": home, "platbase": home})
    command = [sys.executable, str(HERE / "dataframes" / "drive_frames.py"), packages]
    console = tmp_path_factory.mktemp("dataframes") / "console"
    variables = {"PYTHONPATH": str(Path(HERE).parents[1])}
    async with start_client(command, console, variables=variables, reply_timeout=REPLY_TIMEOUT) as process:
        start = await process.read_reply("start")
        record_driven("dataframes", " ".join(f"{name} {version}" for name, version in start["versions"].items()))
        yield FrameServer(start["url"], process)


def parse_cut_table(result: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the first and the last row that the model read of a table."""
    text, _, notes = result.partition("\n\n[")
    table = msgspec.json.decode(text)
    first, last = (dict(zip(table["columns"], row, strict=True)) for row in (table["rows"][0], table["rows"][-1]))
    match = re.search(r"(\d+) of 100000 rows are shown: the first (\d+) and the last (\d+)\.", notes)
    assert match is not None
    assert len(table["rows"]) - 1 == int(match[1]) == int(match[2]) + int(match[3])
    assert f"… {ROWS - int(match[1])} rows left out …" in table["rows"]
    return first, last


@pytest.mark.demand("openbb.values_json_lacks", "openbb.large_tables")
@pytest.mark.parametrize("name", ALL_TYPES)
@over_members
async def test_every_type_of_column(server: FrameServer, member: str, name: str) -> None:
    seen, result = await server.request(member, name)
    first_row, second_row = ALL_TYPES[name]
    first, last = parse_cut_table(result)
    # Empty columns are left out of what the model reads.
    assert first == {column: value for column, value in first_row.items() if column != "Null"} | {"n": 0}
    assert last == {column: value for column, value in second_row.items() if column != "Null"} | {"n": ROWS - 1}
    if member not in ARTIFACT_MEMBERS:
        assert f"(20 of {ROWS} rows)" in seen.text
        assert "| 2024-01-01T09:30:00 |" in seen.text
        return
    [artifact] = seen.artifacts
    assert artifact["content"][:2] == [first_row | {"n": 0}, second_row | {"n": 1}]
    shown = len(artifact["content"])
    assert artifact["content"][-1]["n"] == shown - 1
    assert f"({name}: the first {shown:,} of {ROWS:,} rows are shown.)" in seen.text
    assert f"Of {name} only the first {shown:,} of {ROWS:,} rows were shown." in result


@pytest.mark.demand("openbb.values_json_lacks", "openbb.large_tables")
@pytest.mark.parametrize("name", WHOLE_TABLES)
@over_members
async def test_a_narrow_table_arrives_whole(server: FrameServer, member: str, name: str) -> None:
    await check_whole_table(server, member, name, WHOLE_TABLES[name])


@pytest.mark.demand("openbb.values_json_lacks", "openbb.large_tables")
@pytest.mark.parametrize("name", OTHER_TABLES)
@over_kinds
async def test_other_narrow_tables_arrive_whole(server: FrameServer, member: str, name: str) -> None:
    await check_whole_table(server, member, name, OTHER_TABLES[name])


async def check_whole_table(server: FrameServer, member: str, name: str, ends: tuple[Any, Any]) -> None:
    seen, result = await server.request(member, name)
    assert parse_cut_table(result) == ends
    if member in ARTIFACT_MEMBERS:
        [artifact] = seen.artifacts
        content = artifact["content"]
        rows = content["data"] if isinstance(content, dict) else content
        assert len(rows) == ROWS
        assert (rows[0], rows[-1]) == ends
    elif name != "charted":
        assert f"(20 of {ROWS} rows)" in seen.text


@pytest.mark.demand("openbb.values_json_lacks", "openbb.large_tables")
@over_kinds
async def test_shapes_that_are_no_plain_table(server: FrameServer, member: str) -> None:
    draws = member in ARTIFACT_MEMBERS
    seen, result = await server.request(member, "index")
    assert result.startswith('["2024-01-01T00:00:00","2024-01-01T00:01:00",')
    assert '"2024-03-10T10:39:00"]' in result
    assert re.search(r"\d+ of 100000 items of a list are shown", result)
    seen, result = await server.request(member, "array")
    assert result.startswith('[[["1970-01-01","1970-01-02"],["1970-01-03","1970-01-04"]],')
    assert re.search(r"\d+ of 25000 items of a list are shown", result)
    seen, result = await server.request(member, "wide_frame")
    assert "of 200 rows are shown.)" in seen.text if draws else "(20 of 200 rows) (50 of 5000 columns)" in seen.text
    seen, result = await server.request(member, "long_cells")
    assert "of 30 rows are shown.)" in seen.text if draws else "(20 of 30 rows)" in seen.text
    assert "Long cells are shortened." in result
    _, result = await server.request(member, "nested_frame")
    assert result == '[{"inner":[{"a":1}]},{"inner":[2.5]},{"inner":[null]}]'
    seen, result = await server.request(member, "lazy_frame")
    assert "(lazy_frame could not be shown.)" in seen.text.replace("\\", "")
    assert "a LazyFrame has no rows yet: return frame.collect()" in result


@pytest.mark.demand("openbb.json_we_send_validates")
async def test_the_official_models_read_frames_with_real_data(
    server: FrameServer, record_driven: Callable[[str, str], None]
) -> None:
    with start_driver(record_driven) as validate:
        for name in ("pandas_frame", "polars_frame", "charted", "nested_frame", "lazy_frame"):
            answer = await OpenBBChat(server.url, timezone="UTC").send_text(name)
            await server.process.read_reply(name)
            for event, data in answer.frames:
                assert validate("frame", event=event, data=data) == {"error": None}
