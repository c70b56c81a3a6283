from __future__ import annotations

import tomllib
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from rightseat.config.problems import find_key_lines, find_line

TEXT = '''# a comment = 1
top = 1
[server]  # the server
port = 3
"quoted key" = 1
a.b = 2
text = """
port = 4
[ghost]
"""
other = \'\'\'one line\'\'\'
list = [
  "x = 1",
]
[ models . "big one" ]
spec = "x"
[[many]]
name = 1
'''


def test_every_key_has_its_line() -> None:
    assert find_key_lines(TEXT) == {
        ("top",): 2,
        ("server",): 3,
        ("server", "port"): 4,
        ("server", "quoted key"): 5,
        ("server", "a", "b"): 6,
        ("server", "text"): 7,
        ("server", "other"): 11,
        ("server", "list"): 12,
        ("models", "big one"): 15,
        ("models", "big one", "spec"): 16,
        ("many",): 17,
        ("many", "name"): 18,
    }
    tomllib.loads(TEXT)


def test_a_key_of_an_inline_table_stands_where_the_table_stands() -> None:
    lines = find_key_lines("[auth]\njwt = {a = 1}\n")
    assert find_line(lines, ("auth", "jwt", "a")) == 2
    assert find_line(lines, ("nowhere", "x")) is None


NAMES = st.text("abcdefgh_-", min_size=1, max_size=6)


@given(st.dictionaries(NAMES, st.dictionaries(NAMES, st.integers(), max_size=4), max_size=4))
def test_lines_point_at_their_keys(tables: dict[str, dict[str, Any]]) -> None:
    text = "".join(
        f"[{table}]\n" + "".join(f"{key} = {value}\n" for key, value in keys.items()) for table, keys in tables.items()
    )
    lines = find_key_lines(text)
    for table, keys in tables.items():
        for key in keys:
            assert text.split("\n")[lines[table, key] - 1].startswith(f"{key} =")
