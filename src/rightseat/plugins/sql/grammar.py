"""Allowed SQL syntax and functions, by sqlglot's names. Anything else is refused.

A function is listed if it only computes: it reads no file, setting, sequence or catalogue, does not wait and
does not repeat text.
"""

from __future__ import annotations


def word_set(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Nodes other than functions. Only plain string literals: databases differ in how they parse the others.
ALLOWED_NODES = word_set("""
    Add Alias All Any AtTimeZone Between BitwiseAnd BitwiseNot BitwiseOr BitwiseXor Boolean Bracket Column
    CTE Cube DPipe DataType DataTypeParam Distinct Div Dot EQ Escape Except Fetch Filter From GT GTE Glob
    Group GroupingSets Having ILike Identifier IgnoreNulls In IntDiv Intersect Interval IntervalSpan Is
    JSONKeyValue JSONPath JSONPathKey JSONPathRoot JSONPathSubscript JSONPathWildcard Join LT LTE Lateral
    Like Limit LimitOptions Literal Mod Mul NEQ Neg Not Null NullSafeEQ NullSafeNEQ Offset Order Ordered
    Paren Qualify RespectNulls Rollup Select SimilarTo Slice Star Sub Subquery Table TableAlias Tuple
    Union Values Var Where Window WindowSpec With WithinGroup
""")

# Functions with a node class in sqlglot.
ALLOWED_FUNCTIONS = word_set("""
    Abs Acos Acosh AddMonths And AnyValue ApproxDistinct ApproxQuantile ArgMax ArgMin Array ArrayAgg
    ArrayAll ArrayAny ArrayConcat ArrayContains ArrayContainsAll ArrayDistinct ArrayOverlaps ArrayPosition
    ArraySize ArraySlice ArraySort ArraySum ArrayToString Ascii Asin Asinh Atan Atan2 Atanh Avg BitLength
    BitwiseAndAgg BitwiseCount BitwiseOrAgg BitwiseXorAgg ByteLength Case Cast Cbrt Ceil Chr Coalesce
    Collate Concat ConcatWs Contains Corr Cos Cosh Cot Count CountIf CovarPop CovarSamp CumeDist
    CurrentDate CurrentDatetime CurrentTime CurrentTimestamp Date DateAdd DateBin DateDiff DateFromParts
    DateStrToDate DateSub DateToDateStr DateToDi DateTrunc Datetime DatetimeAdd DatetimeDiff DatetimeSub
    DatetimeTrunc Day DayOfMonth DayOfWeek DayOfWeekIso DayOfYear Dayname Degrees DenseRank DiToDate Elt
    EndsWith Exists Exp Extract First FirstValue Floor Greatest GroupConcat Grouping GroupingId Hour If
    Initcap IsInf IsNan IsNullValue JSONArray JSONArrayAgg JSONArrayContains JSONBContains
    JSONBContainsTopKey JSONBExists JSONBExtract JSONBExtractScalar JSONBObjectAgg JSONBPathExists
    JSONExists JSONExtract JSONExtractArray JSONExtractScalar JSONKeys JSONObject JSONObjectAgg JSONType
    JustifyDays JustifyHours JustifyInterval Kurtosis Lag Last LastDay LastValue Lead Least Left Length
    Levenshtein List Ln Localtime Localtimestamp Log LogicalAnd LogicalOr Lower MD5 MakeInterval Max
    Median Min Minute Mode Month Monthname MonthsBetween NthValue Ntile Nullif NumberToStr Nvl2 Or
    ParseJSON PercentRank PercentileCont PercentileDisc Pi Pow Quantile Quarter Radians Rand Rank
    RegexpCount RegexpExtract RegexpExtractAll RegexpFullMatch RegexpILike RegexpInstr RegexpLike
    RegexpReplace RegexpSplit RegrAvgx RegrAvgy RegrCount RegrIntercept RegrR2 RegrSlope RegrSxx RegrSxy
    RegrSyy Replace Reverse Right Round RowNumber SafeDivide Second Sign Sin Sinh Skewness Soundex Split
    SplitPart Sqrt StartsWith Stddev StddevPop StddevSamp StrPosition StrToDate StrToTime StrToUnix
    StringToArray StructExtract Substring SubstringIndex Sum Tan Tanh Time TimeAdd TimeDiff TimeFromParts
    TimeStrToDate TimeStrToTime TimeStrToUnix TimeSub TimeToStr TimeToTimeStr TimeToUnix TimeTrunc
    Timestamp TimestampAdd TimestampDiff TimestampFromParts TimestampSub TimestampTrunc ToChar ToDays
    ToNumber Translate Trim Trunc TryCast TsOrDiToDi TsOrDsAdd TsOrDsDiff TsOrDsToDate TsOrDsToDateStr
    TsOrDsToDatetime TsOrDsToTime TsOrDsToTimestamp Typeof Unicode UnixDate UnixMicros UnixMillis
    UnixSeconds UnixToStr UnixToTime UnixToTimeStr Unnest Upper UtcDate UtcTime UtcTimestamp Variance
    VariancePop Week WeekOfYear WidthBucket Xor Year YearOfWeek YearOfWeekIso
""")

# Functions without a node class, by name.
ALLOWED_FUNCTION_NAMES = {
    "sqlite": word_set("""
        avg char count date datetime group_concat ifnull instr json_array_length json_extract json_type
        julianday likely ltrim max min nullif rtrim strftime substr substring sum time timediff total trim
        typeof unicode unixepoch unlikely
    """),
    "duckdb": word_set("""
        age array_length bool_and bool_or century date_diff date_part date_sub datediff datepart datesub
        dayofmonth dayofweek dayofyear decade epoch epoch_ms even fsum geomean ifnull isfinite isinf isnan
        isodow isoyear json_array_length json_type julian kahan_sum len list_avg list_contains list_count
        list_distinct list_max list_min list_sort list_sum ltrim mad make_date make_time make_timestamp
        millennium nfc_normalize product quantile_cont quantile_disc regexp_matches rtrim sem str_split
        strip_accents strlen to_days to_hours to_minutes to_months to_seconds to_weeks to_years trim
        try_strptime weekday yearweek
    """),
    "postgres": word_set("""
        age array_length array_position array_upper bool_and bool_or btrim cardinality char_length
        character_length clock_timestamp date_part div every factorial gcd isfinite json_agg
        json_array_length json_build_object json_extract_path json_extract_path_text json_typeof jsonb_agg
        jsonb_array_length jsonb_build_object jsonb_extract_path jsonb_extract_path_text jsonb_typeof lcm
        ltrim make_date make_time make_timestamp make_timestamptz num_nonnulls num_nulls octet_length
        regexp_match rtrim scale statement_timestamp string_to_array to_date to_json to_jsonb to_timestamp
        transaction_timestamp trim_array
    """),
    "mysql": word_set("""
        adddate addtime bit_count char_length character_length convert_tz crc32 curdate curtime datediff
        date_format dayname dayofmonth dayofweek dayofyear field find_in_set format from_days
        from_unixtime ifnull inet_aton inet_ntoa instr json_contains json_length json_search json_unquote
        last_day locate ltrim makedate maketime microsecond mid monthname now octet_length period_add
        period_diff position rtrim sec_to_time std stddev strcmp subdate subtime sysdate time_format
        time_to_sec timediff timestampdiff to_days to_seconds truncate unix_timestamp utc_date utc_time
        utc_timestamp var_pop weekday weekofyear yearweek
    """),
}

_QUERY_KEYS = word_set("with_ limit offset order")
# Allowed keys by node; the others are locks, hints, INTO, samples, pivots and the like.
ALLOWED_KEYS = {
    "Select": _QUERY_KEYS | word_set("expressions distinct from_ joins where group having qualify windows"),
    "Union": _QUERY_KEYS | word_set("this expression distinct"),
    "Except": _QUERY_KEYS | word_set("this expression distinct"),
    "Intersect": _QUERY_KEYS | word_set("this expression distinct"),
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
