"""JSON and CSV: verbatim while they fit, else cut by their shape, and said what was cut."""

import csv
import io
import json
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rightseat.documents import read
from rightseat.documents.document import (
    Document,
    ReadRequest,
    cut_middle,
    fits_budget,
    share_budget,
    take_head,
    take_tail,
)
from rightseat.documents.reading import MAX_INLINE_BYTES, read_as
from rightseat.types.text import estimate_tokens

PRICES = [{"date": f"day {n}", "symbol": "ACME", "close": n + 0.5, "empty": None} for n in range(500)]


async def read_as_document(value: Any, budget: int) -> Document:
    return await read(json.dumps(value), kind="object", budget=budget)


async def test_what_fits_is_verbatim() -> None:
    text = '{ "a": [1, 2],\n  "b": "ü" }'
    assert await read(text, kind="json", budget=100) == Document(text, kind="json")
    pretty = json.dumps(PRICES[:20], indent=8)
    found = await read(pretty, kind="json", budget=400)
    assert json.loads(found.text) == PRICES[:20]
    assert not found.cut


async def test_a_table_loses_its_repeated_keys_before_it_loses_rows() -> None:
    rows = PRICES[:40]
    assert estimate_tokens(json.dumps(rows, separators=(",", ":"))) > 350
    found = await read_as_document(rows, 350)
    assert not found.cut
    lines = list(csv.reader(io.StringIO(found.text)))
    assert lines[0] == ["date", "symbol", "close", "empty"]
    assert len(lines) == 41


@pytest.mark.io
async def test_a_large_table_keeps_its_columns_and_its_ends() -> None:
    found = await read_as_document(PRICES, 200)
    lines = found.text.split("\n")
    assert lines[0] == "date,symbol,close"
    assert lines[1] == "day 0,ACME,0.5"
    assert lines[-1] == "day 499,ACME,499.5"
    [gap] = [line for line in lines if "left out" in line]
    shown = len(lines) - 2
    assert gap == f"… {500 - shown} rows left out …"
    first = lines.index(gap) - 1
    assert f"{shown} of 500 rows are shown: the first {first} and the last {shown - first}." in found.note
    assert "Empty columns left out: empty." in found.note
    assert first > shown - first > 0
    assert found.cut
    assert shown > 10


@pytest.mark.io
async def test_columns_go_only_when_not_even_a_few_rows_fit() -> None:
    wide = [{f"column {n}": n * row for n in range(100)} for row in range(50)]
    found = await read_as_document(wide, 150)
    header = next(csv.reader([found.text.split("\n")[0]]))
    assert header == [f"column {n}" for n in range(len(header))]
    assert 2 < len(header) < 40
    left = 100 - len(header) - 12
    assert f"{len(header)} of 100 columns are shown; left out: column {len(header)}, " in found.note
    assert f"and {left} more." in found.note
    assert found.text.split("\n")[-1].startswith("0,49,98")


async def test_rows_may_differ_and_hold_anything() -> None:
    rows = [{"a": 1}, {"b": 'x,"y"\n', "a": None}, {"c": {"d": [1]}, "a": True}, {}, {"a": ""}] * 5
    found = await read_as_document(rows, 90)
    lines = list(csv.reader(io.StringIO(found.text)))
    assert lines[:4] == [["a", "b", "c"], ["1", "", ""], ["", 'x,"y"\n', ""], ["true", "", '{"d":[1]}']]


async def test_an_object_of_lists_is_a_table_too() -> None:
    found = await read_as_document({"date": list(range(300)), "close": list(range(300, 600))}, 100)
    assert found.text.startswith("date,close\n0,300\n1,301\n")
    assert found.text.endswith("\n299,599")


@pytest.mark.io
async def test_a_nested_value_stays_json() -> None:
    value = {"status": "ok", "results": PRICES, "deep": {"a": {"b": {"c": list(range(900))}}}, "text": "x" * 9000}
    found = await read_as_document(value, 400)
    shown = json.loads(found.text)
    assert shown["status"] == "ok"
    assert shown["results"]["columns"] == ["date", "symbol", "close"]
    assert shown["results"]["rows"][0] == ["day 0", "ACME", 0.5]
    assert shown["results"]["rows"][-1] == ["day 499", "ACME", 499.5]
    assert shown["deep"]["a"]["b"]["c"][0] == 0
    assert shown["deep"]["a"]["b"]["c"][-1] == 899
    assert "9000 characters, the middle left out" in shown["text"]
    assert "of 500 rows are shown" in found.note
    assert "of 900 items of a list are shown." in found.note


@pytest.mark.io
async def test_what_has_no_room_is_named() -> None:
    value = {"meta": {"x": "y" * 500}, "results": PRICES, "n": 7}
    shown = json.loads((await read_as_document(value, 30)).text)
    assert shown == {"meta": "{… 1 keys}", "results": "[… 500 items]", "n": 7}
    many = json.loads((await read_as_document({f"key {n}": n for n in range(1000)}, 60)).text)
    assert many["key 0"] == 0
    assert many["…"] == f"{1000 - len(many) + 1} keys left out"


async def test_what_nearly_is_json_is_read() -> None:
    lines = "".join(f'{{"n":{n},"x":NaN}}\n' for n in range(300))
    found = await read(lines, kind="json", budget=50)
    assert found.text.startswith("n\n0\n1\n2\n")
    assert found.text.endswith("\n299")
    twice = json.dumps(json.dumps(PRICES[:2]))
    assert json.loads((await read(twice, kind="json", budget=999)).text) == PRICES[:2]
    assert (await read(json.dumps("a plain text"), kind="json", budget=9)).text == "a plain text"


@pytest.mark.io
@pytest.mark.parametrize(
    "text",
    ["{", '{"a":', "[1,2", "[" * 200_000, "1" * 100_000, '"\\ud800"', '{"a": "\\ud800"}', "{'a': 1}", "nope", "["],
    ids=lambda text: text[:10],
)
async def test_what_is_not_json_is_text(text: str) -> None:
    found = await read(text, kind="json", budget=50)
    assert found.text.startswith(text[:1])
    assert "JSON" in found.note or text[0] == "1"
    assert fits_budget(found.text, 50)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=25,
)


@given(value=json_values, budget=st.integers(1, 300))
def test_any_value_fits_any_budget(value: Any, budget: int) -> None:
    data = json.dumps(value).encode()
    found = read_as(data, ReadRequest("json", budget))
    assert fits_budget(found.text, budget)
    assert not found.failed
    whole = estimate_tokens(json.dumps(value, separators=(",", ":"), ensure_ascii=False))
    assert found.cut or whole <= budget or found.text
    if not found.cut and isinstance(value, dict | list) and found.text[:1] in ("{", "["):
        assert json.loads(found.text) == value


@given(
    rows=st.lists(st.dictionaries(st.sampled_from("abcdefgh"), st.text(max_size=80), min_size=1), min_size=2),
    budget=st.integers(20, 400),
)
def test_any_table_fits_and_its_rows_are_true(rows: list[dict[str, str]], budget: int) -> None:
    found = read_as(json.dumps({"rows": rows}).encode(), ReadRequest("json", budget))
    assert fits_budget(found.text, budget)
    assert found.cut or json.loads(found.text) == {"rows": rows}


SLOW = {
    "numbers": json.dumps(list(range(6000))),
    "holes": "[" + "{}," * 9000 + json.dumps({f"k{n}": n for n in range(400)}) + "]",
    "ragged": json.dumps([{f"k{n}": n} for n in range(2300)]),
    "keys": json.dumps({f"k{n}": n for n in range(2200)}),
    "nests": "[" + ",".join(["[" * 900 + "]" * 900] * 18) + "]",
    "chain": '{"a":' * 500 + json.dumps("x" * 25_000) + "}" * 500,
    "escapes": json.dumps({"a": '\\"ü' * 3000}),
    "rows": json.dumps([{"a": n, "b": "x", "c": None} for n in range(900)]),
    "tall": "1\n" * 16_000,
    "wide": "," * 16_000 + "\n" + "1\n" * 100,
    "quotes": '"' * 32_000,
}


@pytest.mark.parametrize("budget", [10, 500, 8000])
@pytest.mark.parametrize("name", SLOW)
def test_what_is_read_in_the_loop_does_not_hold_it_up(name: str, budget: int) -> None:
    kind = "csv" if name in ("tall", "wide", "quotes") else "json"
    data = SLOW[name].encode()[: MAX_INLINE_BYTES if kind == "csv" else None]
    assert len(data) < MAX_INLINE_BYTES * 1.2
    began = time.process_time()
    found = read_as(data, ReadRequest(kind, budget))
    assert time.process_time() - began < 1
    assert fits_budget(found.text, budget)


@pytest.mark.parametrize("mark", [",", ";", "\t", "|"])
async def test_csv_of_any_separator(mark: str) -> None:
    text = "\n".join(mark.join([f"n{n}", "1.5", "a b"]) for n in range(300))
    found = await read(text, kind="csv", budget=100)
    lines = found.text.split("\n")
    assert lines[0] == "n0,1.5,a b"
    assert lines[-1] == "n299,1.5,a b"
    assert "of 299 rows are shown" in found.note
    assert await read(text, name="x.tsv", budget=9999) == Document(text, kind="csv")


@pytest.mark.io
async def test_csv_that_is_uneven_quoted_or_broken() -> None:
    uneven = await read("a,b\n1\n2,3,4\n" * 99, kind="csv", budget=50)
    assert uneven.text.startswith("a,b,\n1,,\n2,3,4\n")
    broken = await read('a,b\n"' + "x" * 140_000, kind="csv", budget=50)
    assert "not a well-formed table" in broken.note
    assert broken.text.startswith("a,b")


@pytest.mark.io
async def test_a_large_csv_is_read_apart() -> None:
    text = "n,text\n" + "".join(f"{n},{'x' * 50}\n" for n in range(20_000))
    found = await read(text, kind="text/csv", budget=200)
    assert "of 20000 rows are shown" in found.note
    assert found.text.startswith("n,text\n0,xxx")


@given(text=st.text(), budget=st.integers(0, 60))
def test_cuts_fit(text: str, budget: int) -> None:
    assert fits_budget(take_head(text, budget), budget)
    assert fits_budget(take_tail(text, budget), budget)
    assert fits_budget(cut_middle(text, budget), budget)
    assert text.startswith(take_head(text, budget))
    assert text.endswith(take_tail(text, budget))
    assert (cut_middle(text, budget) == text) == (estimate_tokens(text) <= budget)


@given(sizes=st.lists(st.integers(0, 100)), room=st.integers(0, 500))
def test_shares_are_fair(sizes: list[int], room: int) -> None:
    given_out = share_budget(sizes, room)
    assert sum(given_out) <= room
    assert all(part <= size for part, size in zip(given_out, sizes, strict=True))
    if sum(sizes) <= room:
        assert given_out == sizes
