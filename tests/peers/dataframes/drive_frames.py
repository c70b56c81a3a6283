"""A server whose tools return real data frames of 100,000 rows: pandas, Polars, NumPy and PyArrow in one process with
rightseat.

The argument is the folder of these packages. The first line out has the server's address and the versions. A tool is
called by its name as the message. For each call a line out has the result that the model read. Each line in is answered
by what the event loop has done since the last `reset`.
"""

import asyncio
import datetime
import decimal
import importlib
import json
import site
import sys
import threading
from collections.abc import AsyncIterator, Callable
from importlib.metadata import version
from typing import Any

from rightseat import Prompt, Result, Runtime, tool
from rightseat.types import json_rows
from rightseat.types.chunks import ModelChunk
from rightseat.types.events import Artifact, Event
from rightseat.types.model import Model
from rightseat.types.tools import Pause
from tests.kit.app_server import reply_calls, reply_text, serve_runtime

site.addsitedir(sys.argv[1])
# Installed in this peer's environment only, so the project's type checker cannot know them.
np: Any = importlib.import_module("numpy")
pa: Any = importlib.import_module("pyarrow")
pd: Any = importlib.import_module("pandas")
pl: Any = importlib.import_module("polars")

ROWS = 100_000
DAY = datetime.date(2024, 1, 1)
TIME = datetime.datetime(2024, 1, 1, 9, 30)
NUMBERS = np.arange(ROWS)
PANDAS_COLUMNS = {
    **{f"{sign}int{bits}": ("", [1, 2]) for sign in ("", "u") for bits in (8, 16, 32, 64)},
    "Int64": ("", [7, None]),
    "UInt8": ("", [7, None]),
    "float32": ("", [0.5, np.nan]),
    "float64": ("", [-1.25, np.inf]),
    "Float64": ("", [2.5, None]),
    "complex128": ("", [1 + 2j, 2j]),
    "bool": ("", [True, False]),
    "boolean": ("", [True, None]),
    "str": ("", ["汉字", None]),
    "string": ("", ["a|b", None]),
    "object": ("", [{"k": [1]}, float("nan")]),
    "category": ("", ["x", None]),
    "datetime": ("datetime64[ns]", [TIME, None]),
    "seconds": ("datetime64[s]", [TIME, None]),
    "zoned": ("datetime64[ns, Europe/Oslo]", [TIME, None]),
    "timedelta": ("timedelta64[ns]", [datetime.timedelta(hours=1), None]),
    "period": ("period[Q]", ["2024Q1", None]),
    "interval": ("interval", [pd.Interval(0, 1), None]),
    "sparse": ("Sparse[float]", [0.0, np.nan]),
    "decimal": ("object", [decimal.Decimal("1.10"), decimal.Decimal("NaN")]),
    "date": ("object", [DAY, None]),
    "time": ("object", [TIME.time(), None]),
    "bytes": ("object", [b"\xff", None]),
    "int64[pyarrow]": ("", [3, None]),
    "bool[pyarrow]": ("", [True, None]),
    "string[pyarrow]": ("", ["b", None]),
    "arrow_time": (pd.ArrowDtype(pa.timestamp("us", "UTC")), [TIME, None]),
    "arrow_duration": (pd.ArrowDtype(pa.duration("s")), [datetime.timedelta(hours=1), None]),
    "arrow_decimal": (pd.ArrowDtype(pa.decimal128(5, 2)), [decimal.Decimal("1.10"), None]),
    "arrow_date": (pd.ArrowDtype(pa.date32()), [DAY, None]),
    "arrow_list": (pd.ArrowDtype(pa.list_(pa.int64())), [[1, None], None]),
    "arrow_struct": (pd.ArrowDtype(pa.struct({"a": pa.string()})), [{"a": "b"}, None]),
    "arrow_bytes": (pd.ArrowDtype(pa.binary()), [b"\xff", None]),
}
POLARS_COLUMNS = {
    **{str(kind): (kind, [1, 2]) for kind in (pl.Int8, pl.Int16, pl.Int32, pl.Int64, pl.Int128)},
    **{str(kind): (kind, [1, None]) for kind in (pl.UInt8, pl.UInt16, pl.UInt32, pl.UInt64)},
    "Float32": (pl.Float32, [0.5, float("nan")]),
    "Float64": (pl.Float64, [-1.25, float("inf")]),
    "Boolean": (pl.Boolean, [True, None]),
    "String": (pl.String, ["汉字", None]),
    "Binary": (pl.Binary, [b"\xff", None]),
    "Date": (pl.Date, [DAY, None]),
    "Datetime": (pl.Datetime("us"), [TIME, None]),
    "Zoned": (pl.Datetime("us", "UTC"), [TIME.replace(tzinfo=datetime.UTC), None]),
    "Duration": (pl.Duration, [datetime.timedelta(hours=1), None]),
    "Time": (pl.Time, [TIME.time(), None]),
    "Categorical": (pl.Categorical, ["x", None]),
    "Enum": (pl.Enum(["x", "y"]), ["x", "y"]),
    "Decimal": (pl.Decimal(5, 2), [decimal.Decimal("1.10"), None]),
    "List": (pl.List(pl.Int64), [[1, None], None]),
    "Array": (pl.Array(pl.Int64, 2), [[1, 2], None]),
    "Struct": (pl.Struct({"a": pl.String}), [{"a": "b"}, {"a": None}]),
    "Null": (pl.Null, [None, None]),
    "Object": (pl.Object, [decimal.Decimal(2), None]),
}
"""Two rows of each type: name → type, values. The frames repeat them."""
CYCLE = NUMBERS % 2


def make_pandas_frame() -> Any:
    """Make a frame with a column of each pandas dtype; the last column counts the rows."""
    columns = {name: pd.Series(values, dtype=kind or name) for name, (kind, values) in PANDAS_COLUMNS.items()}
    return pd.DataFrame(columns).take(CYCLE).reset_index(drop=True).assign(n=NUMBERS)


def make_polars_frame() -> Any:
    """Make a frame with a column of each Polars dtype; the last column counts the rows."""
    columns = {name: pl.Series(values, dtype=kind) for name, (kind, values) in POLARS_COLUMNS.items()}
    return pl.DataFrame(columns)[CYCLE].with_columns(n=pl.Series(NUMBERS))


def make_indexed_frame() -> Any:
    """Make a narrow frame with levels in its rows and in its columns."""
    days = pd.date_range("2024-01-01", periods=ROWS // 2, freq="h")
    rows = pd.MultiIndex.from_product([days, ["A", "B"]], names=["day", None])
    columns = pd.MultiIndex.from_tuples([("price", "open"), ("price", 2)])
    return pd.DataFrame({0: NUMBERS, 1: NUMBERS / 4}).set_axis(rows).set_axis(columns, axis=1)


def make_series() -> Any:
    return pd.Series(NUMBERS / 4, index=pd.date_range("2024-01-01", periods=ROWS, freq="min"), name="close")


def make_same_names() -> Any:
    """Make a frame whose columns have one name, and whose rows have one label."""
    return pd.DataFrame(np.ones((ROWS, 2)), columns=["x", "x"], index=["a"] * ROWS)


MAKERS: dict[str, Callable[[], Any]] = {
    "pandas_frame": make_pandas_frame,
    "polars_frame": make_polars_frame,
    "indexed_frame": make_indexed_frame,
    "series": make_series,
    "same_names": make_same_names,
    "index": lambda: pd.date_range("2024-01-01", periods=ROWS, freq="min"),
    "arrow_table": lambda: pa.table({"n": pa.array(NUMBERS), "day": pa.array([DAY, None] * (ROWS // 2))}),
    "array": lambda: NUMBERS.reshape(-1, 2, 2).astype("M8[D]"),
    "wide_frame": lambda: pd.DataFrame(np.ones((200, 5000))),
    "long_cells": lambda: pl.DataFrame({"text": ["x" * 1_000_000] * 30}),
    "charted": lambda: pl.DataFrame({"day": [DAY] * ROWS, "price": NUMBERS / 4}),
    "nested_frame": lambda: pd.DataFrame({"inner": [pd.DataFrame({"a": [1]}), pd.Series([2.5]), pl.Series([None])]}),
    "lazy_frame": lambda: pl.LazyFrame({"a": [1]}),
}


def make_tool(name: str, value: Any) -> Any:
    async def call() -> AsyncIterator[Event | Result | Pause]:
        """Show and return a table."""
        if name == "charted":
            yield Artifact("c", "chart", name, {"data": value, "chart": {"type": "line", "x": "day", "y": ["price"]}})
        else:
            yield Artifact("t", "table", name, value)
        yield Result(value)

    call.__name__ = name
    return tool(call)


class LoopWatch:
    """Watches the event loop: the longest time that it was held, and the tables that were encoded on it."""

    def __init__(self) -> None:
        self.reset()
        self.encode: Callable[[Any], bytes] = vars(json_rows)["encode_json"]
        vars(json_rows)["encode_json"] = self.encode_and_note
        self.task = asyncio.create_task(self.run())

    def reset(self) -> None:
        self.started = self.last = asyncio.get_running_loop().time()
        self.longest = 0.0
        self.encoded_on_loop = 0

    def encode_and_note(self, value: Any) -> bytes:
        self.encoded_on_loop += threading.current_thread() is threading.main_thread()
        return self.encode(value)

    async def run(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            await asyncio.sleep(0.02)
            now = loop.time()
            self.longest, self.last = max(self.longest, now - self.last), now


class FrameModel(Model):
    """Calls the tool that the message names, and prints what it reads of the result."""

    async def stream(self, prompt: Prompt, /) -> AsyncIterator[ModelChunk]:
        last = prompt.messages[-1]
        if last.role == "tool":
            print(json.dumps({"result": last.text}), flush=True)
        for chunk in reply_text("Here.") if last.role == "tool" else reply_calls((last.text, "{}")):
            yield chunk


async def main() -> None:
    tools = [make_tool(name, make()) for name, make in MAKERS.items()]
    async with serve_runtime(Runtime(model=FrameModel(), tools=tools)) as home:
        watch = LoopWatch()
        versions = {name: version(name) for name in ("pandas", "polars", "numpy", "pyarrow")}
        print(json.dumps({"url": home.url, "versions": versions}), flush=True)
        while line := await asyncio.to_thread(sys.stdin.readline):
            if line.strip() == "reset":
                watch.reset()
            seconds = asyncio.get_running_loop().time() - watch.started
            report = {"longest": watch.longest, "seconds": seconds, "encoded_on_loop": watch.encoded_on_loop}
            print(json.dumps(report), flush=True)
        watch.task.cancel()


if __name__ == "__main__":
    asyncio.run(main())
