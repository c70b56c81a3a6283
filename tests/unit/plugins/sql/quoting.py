"""Texts and names that are quoted in odd ways: the guard must read them as the database does."""

from typing import Any

import sqlglot
from hypothesis import strategies as st
from sqlglot import exp

from rightseat.plugins.sql.guard import QueryRefused, QueryRules, guard_query
from rightseat.plugins.sql.query import SqlQuery

ODD_TEXTS = st.text(st.sampled_from("ab'\"\\`;%:$-/*# \n\t[]{}?@&éU0xE"), min_size=1, max_size=12)


@st.composite
def quoted_queries(draw: st.DrawFn) -> str:
    """One or two columns, each a text or a number under a name, with anything between the quotes."""
    quote = draw(st.sampled_from(["'{}'", "'{}' AS a", '1 AS "{}"', "1 AS `{}`", "E'{}'", "$${}$$", "/*{}*/ 1"]))
    return "SELECT " + ", ".join(quote.format(draw(ODD_TEXTS)) for _ in range(draw(st.integers(1, 2))))


def guard_literals(sql: str, dialect: str) -> tuple[SqlQuery, list[Any]] | None:
    """What is sent, and what the guard takes its columns for; None when it is refused, or no plain list."""
    try:
        query = guard_query(sql, QueryRules(dialect=dialect, tables=()))
    except QueryRefused:
        return None
    tree = sqlglot.parse_one(query.text, read=dialect)
    found = [one.unalias() for one in tree.expressions]
    if not all(isinstance(one, exp.Literal) for one in found):
        return None
    return query, [one.this if one.is_string else int(one.this) for one in found]
