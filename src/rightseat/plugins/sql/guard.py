"""Guard for SQL queries: one SELECT, made of allowed syntax and functions, over known tables.

The query that is sent is generated from sqlglot's tree, so nothing unchecked passes: no comment, no second
statement. Checking for SELECT alone is not enough: a SELECT can call functions that write.
"""

from __future__ import annotations

import itertools
import logging
import re
import secrets
from collections.abc import Collection, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from rightseat.plugins.sql.query import SqlQuery

if TYPE_CHECKING:
    from sqlglot import exp


def word_set(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Nodes other than functions. Only plain string literals: databases differ in how they parse the others.
ALLOWED_NODES = word_set("""
    Add Alias All Any AtTimeZone Between BitwiseAnd BitwiseNot BitwiseOr BitwiseXor Boolean Bracket Column CTE Cube
    DPipe DataType DataTypeParam Distinct Div Dot EQ Escape Except Fetch Filter From GT GTE Glob Group GroupingSets
    Having ILike Identifier IgnoreNulls In IntDiv Intersect Interval IntervalSpan Is JSONKeyValue JSONPath JSONPathKey
    JSONPathRoot JSONPathSubscript JSONPathWildcard Join LT LTE Lateral Like Limit LimitOptions Literal Mod Mul NEQ
    Neg Not Null NullSafeEQ NullSafeNEQ Offset Order Ordered Paren Qualify RespectNulls Rollup Select SimilarTo Slice
    Star Sub Subquery Table TableAlias Tuple Union Values Var Where Window WindowSpec With WithinGroup
""")

# Functions with a node class in sqlglot.
ALLOWED_FUNCTIONS = word_set("""
    Abs Acos Acosh AddMonths And AnyValue ApproxDistinct ApproxQuantile ArgMax ArgMin Array ArrayAgg ArrayAll ArrayAny
    ArrayConcat ArrayContains ArrayContainsAll ArrayDistinct ArrayOverlaps ArrayPosition ArraySize ArraySlice
    ArraySort ArraySum ArrayToString Ascii Asin Asinh Atan Atan2 Atanh Avg BitLength BitwiseAndAgg BitwiseCount
    BitwiseOrAgg BitwiseXorAgg ByteLength Case Cast Cbrt Ceil Chr Coalesce Collate Concat ConcatWs Contains Corr Cos
    Cosh Cot Count CountIf CovarPop CovarSamp CumeDist CurrentDate CurrentDatetime CurrentTime CurrentTimestamp Date
    DateAdd DateBin DateDiff DateFromParts DateStrToDate DateSub DateToDateStr DateToDi DateTrunc Datetime DatetimeAdd
    DatetimeDiff DatetimeSub DatetimeTrunc Day DayOfMonth DayOfWeek DayOfWeekIso DayOfYear Dayname Degrees DenseRank
    DiToDate Elt EndsWith Exists Exp Extract First FirstValue Floor Greatest GroupConcat Grouping GroupingId Hour If
    Initcap IsInf IsNan IsNullValue JSONArray JSONArrayAgg JSONArrayContains JSONBContains JSONBContainsTopKey
    JSONBExists JSONBExtract JSONBExtractScalar JSONBObjectAgg JSONBPathExists JSONExists JSONExtract JSONExtractArray
    JSONExtractScalar JSONKeys JSONObject JSONObjectAgg JSONType JustifyDays JustifyHours JustifyInterval Kurtosis Lag
    Last LastDay LastValue Lead Least Left Length Levenshtein List Ln Localtime Localtimestamp Log LogicalAnd
    LogicalOr Lower MD5 MakeInterval Max Median Min Minute Mode Month Monthname MonthsBetween NthValue Ntile Nullif
    NumberToStr Nvl2 Or ParseJSON PercentRank PercentileCont PercentileDisc Pi Pow Quantile Quarter Radians Rand Rank
    RegexpCount RegexpExtract RegexpExtractAll RegexpFullMatch RegexpILike RegexpInstr RegexpLike RegexpReplace
    RegexpSplit RegrAvgx RegrAvgy RegrCount RegrIntercept RegrR2 RegrSlope RegrSxx RegrSxy RegrSyy Replace Reverse
    Right Round RowNumber SafeDivide Second Sign Sin Sinh Skewness Soundex Split SplitPart Sqrt StartsWith Stddev
    StddevPop StddevSamp StrPosition StrToDate StrToTime StrToUnix StringToArray StructExtract Substring
    SubstringIndex Sum Tan Tanh Time TimeAdd TimeDiff TimeFromParts TimeStrToDate TimeStrToTime TimeStrToUnix TimeSub
    TimeToStr TimeToTimeStr TimeToUnix TimeTrunc Timestamp TimestampAdd TimestampDiff TimestampFromParts TimestampSub
    TimestampTrunc ToChar ToDays ToNumber Translate Trim Trunc TryCast TsOrDiToDi TsOrDsAdd TsOrDsDiff TsOrDsToDate
    TsOrDsToDateStr TsOrDsToDatetime TsOrDsToTime TsOrDsToTimestamp Typeof Unicode UnixDate UnixMicros UnixMillis
    UnixSeconds UnixToStr UnixToTime UnixToTimeStr Unnest Upper UtcDate UtcTime UtcTimestamp Variance VariancePop Week
    WeekOfYear WidthBucket Xor Year YearOfWeek YearOfWeekIso
""")

# Functions without a node class, by name.
ALLOWED_FUNCTION_NAMES = {
    "sqlite": word_set("""
        avg char count date datetime group_concat ifnull instr json_array_length json_extract json_type julianday
        likely ltrim max min nullif rtrim strftime substr substring sum time timediff total trim typeof unicode
        unixepoch unlikely
    """),
    "duckdb": word_set("""
        age array_length bool_and bool_or century date_diff date_part date_sub datediff datepart datesub dayofmonth
        dayofweek dayofyear decade epoch epoch_ms even fsum geomean ifnull isfinite isinf isnan isodow isoyear
        json_array_length json_type julian kahan_sum len list_avg list_contains list_count list_distinct list_max
        list_min list_sort list_sum ltrim mad make_date make_time make_timestamp millennium nfc_normalize product
        quantile_cont quantile_disc regexp_matches rtrim sem str_split strip_accents strlen to_days to_hours
        to_minutes to_months to_seconds to_weeks to_years trim try_strptime weekday yearweek
    """),
    "postgres": word_set("""
        age array_length array_position array_upper bool_and bool_or btrim cardinality char_length character_length
        clock_timestamp date_part div every factorial gcd isfinite json_agg json_array_length json_build_object
        json_extract_path json_extract_path_text json_typeof jsonb_agg jsonb_array_length jsonb_build_object
        jsonb_extract_path jsonb_extract_path_text jsonb_typeof lcm ltrim make_date make_time make_timestamp
        make_timestamptz num_nonnulls num_nulls octet_length regexp_match rtrim scale statement_timestamp
        string_to_array to_date to_json to_jsonb to_timestamp transaction_timestamp trim_array
    """),
    "mysql": word_set("""
        adddate addtime bit_count char_length character_length convert_tz crc32 curdate curtime datediff date_format
        dayname dayofmonth dayofweek dayofyear field find_in_set format from_days from_unixtime ifnull inet_aton
        inet_ntoa instr json_contains json_length json_search json_unquote last_day locate ltrim makedate maketime
        microsecond mid monthname now octet_length period_add period_diff position rtrim sec_to_time std stddev strcmp
        subdate subtime sysdate time_format time_to_sec timediff timestampdiff to_days to_seconds truncate
        unix_timestamp utc_date utc_time utc_timestamp var_pop weekday weekofyear yearweek
    """),
}

_QUERY_KEYS = word_set("with_ limit offset order")

# Allowed keys by node; the others are locks, hints, INTO, samples, pivots and the like.
ALLOWED_KEYS = {
    "Select": _QUERY_KEYS | word_set("expressions distinct from_ joins where group having qualify windows"),
    **dict.fromkeys(("Union", "Except", "Intersect"), _QUERY_KEYS | word_set("this expression distinct")),
    "Subquery": _QUERY_KEYS | word_set("this alias joins"),
    "Table": word_set("this db alias joins"),
    "With": word_set("expressions recursive"),
    "CTE": word_set("this alias materialized scalar"),
    "Join": word_set("this on using kind side method"),
    "Limit": word_set("expression"),
    "Lateral": word_set("this alias"),
    "Fetch": word_set("direction count limit_options"),
    "LimitOptions": word_set("rows"),
    "Identifier": word_set("this quoted"),
    "Values": word_set("expressions alias"),
}

MAX_QUERY_LENGTH = 20_000
MAX_NODES = 4000

# MySQL and MariaDB execute these comments.
EXECUTABLE_COMMENT = re.compile(r"^\s*M?!")
CTE_PREFIX = f"c{secrets.token_hex(6)}x"
"""Start of the names that CTEs get; no table has it."""
CASE_INSENSITIVE_DIALECTS = ("sqlite", "duckdb", "mysql")


class QueryRefused(Exception):
    """The guard rejects the query. The text says why, for the model or the flow's author."""


class QueryRules(Struct, frozen=True, kw_only=True):
    dialect: str
    tables: Collection[str]
    """Names as written in queries: `orders`, `shop.orders`."""
    functions: Collection[str] = ()
    """Additional functions that the operator allows, in lower case."""
    rows: int = 1000


def guard_query(sql: str, rules: QueryRules, values: Mapping[str, Any] | None = None) -> SqlQuery:
    """Check and rewrite a query; QueryRefused if it is not allowed. `values` fill its `:names`."""
    from sqlglot.errors import ErrorLevel, SqlglotError

    if len(sql) > MAX_QUERY_LENGTH:
        raise QueryRefused(f"The query is longer than {MAX_QUERY_LENGTH} characters.")
    try:
        marked, marks = bind_values(sql, rules.dialect, values or {})
        tree = parse_statement(marked, rules.dialect)
        check_tree(tree, rules)
        rename_ctes(tree, rules.dialect)
        limit_rows(tree, rules.rows + 1, marks)
        text: str = tree.sql(rules.dialect, comments=False, unsupported_level=ErrorLevel.RAISE)
        # Check the generated text too: the generator may not reproduce the tree.
        check_tree(parse_statement(text, rules.dialect), rules)
    except SqlglotError as error:
        # sqlglot underlines parts of the query with ANSI escape codes.
        line = re.sub(r"\x1b\[[0-9;]*m", "", str(error)).strip().splitlines()[0][:300]
        raise QueryRefused(f"The query cannot be parsed: {line}") from None
    except RecursionError:
        raise QueryRefused("The query is nested too deeply.") from None
    return SqlQuery(text, marks)


def bind_values(sql: str, dialect: str, values: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """Replace each `:name` that has a value by a random name; returns the text and the values."""
    from sqlglot import tokenize
    from sqlglot.tokenizer_core import TokenType

    nonce = f"p{secrets.token_hex(6)}"
    marks: dict[str, Any] = {}
    pieces: list[str] = []
    position = 0
    tokens = tokenize(sql, read=dialect)
    for token in tokens:
        if dialect == "mysql" and any(EXECUTABLE_COMMENT.match(comment) for comment in token.comments):
            raise QueryRefused("The query contains a comment that the database would execute. Remove it.")
    for colon, name in itertools.pairwise(tokens):
        if colon.token_type != TokenType.COLON or name.start != colon.end + 1 or name.text not in values:
            continue
        pieces.append(sql[position : colon.start])
        value = values[name.text]
        names = []
        for item in value if isinstance(value, list) else [value]:
            names.append(f"{nonce}x{len(marks)}")
            marks[names[-1]] = item
        pieces.append(", ".join(names) or "NULL")
        position = name.end + 1
    return "".join([*pieces, sql[position:]]), marks


def parse_statement(sql: str, dialect: str) -> exp.Expr:
    import sqlglot

    # sqlglot would log users' statements as warnings.
    logging.getLogger("sqlglot").setLevel(logging.CRITICAL)
    statements = [statement for statement in sqlglot.parse(sql, read=dialect) if statement is not None]
    if len(statements) != 1:
        raise QueryRefused("Write exactly one statement." if statements else "There is no statement.")
    return statements[0]


def check_tree(tree: exp.Expr, rules: QueryRules) -> None:
    """Raise QueryRefused if the tree has anything that is not allowed."""
    from sqlglot import exp

    if not isinstance(tree, exp.Select | exp.SetOperation):
        raise QueryRefused(f"Only SELECT can be run here, not {type(tree).__name__.upper()}.")
    for number, node in enumerate(tree.walk()):
        if number > MAX_NODES:
            raise QueryRefused("The query is too large.")
        if isinstance(node, exp.Func):
            check_function(node, rules)
        elif type(node).__name__ not in ALLOWED_NODES:
            raise QueryRefused(f"{type(node).__name__} is not allowed in a query here.")
        check_keys(node)
        if isinstance(node, exp.Table):
            check_table(node, rules)
        if isinstance(node, exp.Dot) and node.find(exp.Func):
            raise QueryRefused("Call functions by their names alone, without a schema.")
        if isinstance(node, exp.DataType) and node.this == exp.DType.USERDEFINED:
            raise QueryRefused("Only the database's own types can be cast to.")


def check_keys(node: exp.Expr) -> None:
    """Raise QueryRefused if the node has a key that is not allowed for its type."""
    allowed = ALLOWED_KEYS.get(type(node).__name__)
    if allowed is None:
        return
    for key, value in node.args.items():
        if value and key not in allowed:
            raise QueryRefused(f"{key.strip('_').upper()} is not allowed in a query here.")
    if type(node).__name__ == "Select" and not node.args.get("expressions"):
        raise QueryRefused("It selects nothing.")


def check_function(node: exp.Func, rules: QueryRules) -> None:
    from sqlglot import exp

    if isinstance(node, exp.Anonymous):
        name = node.name.lower()
        # A quoted name may refer to another function.
        allowed = name in ALLOWED_FUNCTION_NAMES[rules.dialect] and not isinstance(node.this, exp.Identifier)
    else:
        name = node.sql(rules.dialect, comments=False).partition("(")[0].strip().lower()[:60]
        allowed = type(node).__name__ in ALLOWED_FUNCTIONS
    if not allowed and name not in rules.functions:
        raise QueryRefused(f"The function {name} is not allowed in a query here.")


def check_table(node: exp.Table, rules: QueryRules) -> None:
    from sqlglot import exp

    if not isinstance(node.this, exp.Identifier):
        raise QueryRefused("Only tables can be read from, not functions.")
    name = fold_name(node.this, rules.dialect)
    schema = node.args.get("db")
    if schema is not None:
        name = f"{fold_name(schema, rules.dialect)}.{name}"
    elif find_cte(node, rules.dialect) is not None:
        return
    known = set(map(str.lower, rules.tables)) if rules.dialect in CASE_INSENSITIVE_DIALECTS else rules.tables
    if name not in known:
        raise QueryRefused(f"There is no table {name!r} to read from.")


def fold_name(name: exp.Expr, dialect: str) -> str:
    """Return the name in the case the database compares."""
    text: str = name.name
    return text if dialect not in CASE_INSENSITIVE_DIALECTS and name.args.get("quoted") else text.lower()


def find_cte(table: exp.Table, dialect: str) -> exp.CTE | None:
    """Return the CTE that a table without a schema refers to, the innermost one; None for a table of the database."""
    name = fold_name(table.this, dialect)
    ctes = visible_ctes(table)
    return next((cte for cte in ctes if fold_name(cte.args["alias"].this, dialect) == name), None)


def visible_ctes(node: exp.Expr) -> Iterator[exp.CTE]:
    """Yield the CTEs visible at the node. Within a WITH only earlier ones count, unless it is recursive:
    a reference to itself would be a table."""
    from sqlglot import exp

    below: exp.Expr = node
    above = node.parent
    while above is not None:
        if isinstance(above, exp.With):
            for cte in above.expressions:
                if cte is below and not above.args.get("recursive"):
                    break
                yield cte
                if cte is below:
                    break
        elif (own := above.args.get("with_")) is not None and below is not own:
            yield from own.expressions
        below, above = above, above.parent


def rename_ctes(tree: exp.Expr, dialect: str) -> None:
    """Give each CTE a name that no table has, and its references an alias. Databases differ in where a CTE hides a
    table of its name: where they do not agree with `find_cte`, the query fails and reads nothing."""
    from sqlglot import exp

    references = [
        (table, cte)
        for table in tree.find_all(exp.Table)
        if table.args.get("db") is None and (cte := find_cte(table, dialect)) is not None
    ]
    names = {id(cte): f"{CTE_PREFIX}{number}" for number, cte in enumerate(tree.find_all(exp.CTE))}
    for table, cte in references:
        if table.args.get("alias") is None:
            table.set("alias", exp.TableAlias(this=table.this.copy()))
        table.set("this", exp.to_identifier(names[id(cte)]))
    for cte in tree.find_all(exp.CTE):
        cte.args["alias"].set("this", exp.to_identifier(names[id(cte)]))


def limit_rows(tree: exp.Expr, max_rows: int, marks: dict[str, Any]) -> None:
    """Set LIMIT to at most `max_rows`."""
    from sqlglot import exp

    limit = tree.args.get("limit")
    requested = limit.expression if isinstance(limit, exp.Limit) else limit.args.get("count") if limit else None
    if isinstance(requested, exp.Column) and requested.name in marks:
        value = marks.pop(requested.name)
        if isinstance(value, bool) or not isinstance(value, int) or value < 0:
            raise QueryRefused("LIMIT takes a whole number.")
        requested = exp.Literal.number(value)
    if limit is not None and not (isinstance(requested, exp.Literal) and requested.is_int):
        raise QueryRefused("LIMIT takes a whole number.")
    rows = max_rows if requested is None else min(int(requested.name), max_rows)
    tree.set("limit", exp.Limit(expression=exp.Literal.number(rows)))
