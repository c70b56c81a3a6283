"""One sentence, in the person's language, for the result of a call that a recognizer has written."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import date

import msgspec

from rightseat.tools.builtin.dates import CHINESE_WEEKDAYS, WEEKDAYS
from rightseat.tools.builtin.expression import MAX_LENGTH
from rightseat.tools.builtin.table_text import TableUnreadable, infer_columns, read_number, read_table
from rightseat.types.language import Language

MAX_LISTED = 20
_DATE = re.compile(r"(\d{4}-\d{2}-\d{2}) \((\w+)\)")
_MOMENT = re.compile(r"(\d{4}-\d{2}-\d{2}) (\d{2}:\d{2}) (\S+) \((\w+)(?:, ([\w/+-]+))?\)")
_REASONS_ZH = {
    "division by zero.": "除数为零。",
    "a negative number has no real square root.": "负数没有实数平方根。",
    "the result is too large or not a real number.": "结果过大或不是实数。",
}
_CURRENCIES = ("$", "€", "£", "¥", "￥", "₹")


def describe_result(question: str, arguments: Mapping[str, str], result_text: str, language: Language) -> str:
    """Return a sentence for the result of `calculate` or `table_query`, called with these arguments; an empty one for
    an expression that `calculate` would refuse as too long, which only a client makes up."""
    if (problem := find_error(result_text)) is not None:
        return describe_problem(problem, language)
    if "sql" in arguments:
        return describe_table(arguments, result_text, language)
    expression = arguments.get("expression", question)
    return "" if len(expression) > MAX_LENGTH else describe_calculation(expression, result_text, language)


def describe_problem(problem: str, language: Language) -> str:
    """Return the sentence for the message of a failed call, which may be a sentence on the expression already."""
    subject, is_sentence, reason = problem.partition(" cannot be computed: ")
    if language == "zh":
        known = _REASONS_ZH.get(reason, reason)
        return f"{subject} 无法计算：{known}" if is_sentence else f"无法计算：{problem}"
    return problem if is_sentence else f"That cannot be computed: {problem}"


def find_error(result_text: str) -> str | None:
    """Return the message of a failed call; None for a result."""
    if not result_text.startswith('{"error"'):
        return None
    try:
        content = msgspec.json.decode(result_text)
        return str(content["error"]["message"])
    except (msgspec.DecodeError, KeyError, TypeError):
        return None


def describe_calculation(expression: str, result: str, language: Language) -> str:
    if match := _MOMENT.fullmatch(result):
        return describe_moment(match, expression, language)
    if match := _DATE.fullmatch(result):
        return f"{format_date(match[1], language)}。" if language == "zh" else f"{format_date(match[1], language)}."
    if result.lower() in WEEKDAYS:
        return f"{translate_weekday(result)}。" if language == "zh" else f"{result}."
    for describe in (describe_days, describe_minutes_until, describe_conversion, describe_leap_year, describe_day_kind):
        if sentence := describe(expression, result, language):
            return sentence
    return describe_number(expression, result, language)


def describe_moment(match: re.Match[str], expression: str, language: Language) -> str:
    day, time, zone, _, _ = match.groups()
    named = re.fullmatch(r'now\("(.+)"\)', expression)
    place = named[1].rpartition("/")[2].replace("_", " ") if named else ""
    if language == "zh":
        return f"{place or f'{zone} '}现在是 {time}，{format_date(day, language)}。"
    where = f" in {place} ({zone})" if place else f" {zone}"
    return f"It is {time}{where}, {format_date(day, language)}."


def format_date(text: str, language: Language) -> str:
    day = date.fromisoformat(text)
    if language == "zh":
        return f"{day.year}年{day.month}月{day.day}日，星期{CHINESE_WEEKDAYS[day.weekday()]}"
    return f"{day:%A}, {day.day} {day:%B %Y}"


def translate_weekday(name: str) -> str:
    return f"星期{CHINESE_WEEKDAYS[WEEKDAYS[name.lower()]]}"


def describe_days(expression: str, result: str, language: Language) -> str | None:
    inner = re.sub(r"^round\((.*) / 7, 1\)$", r"\1", expression)
    if not re.match(r"days_(?:between|in_month|in_year)\(", inner):
        return None
    is_weeks = inner != expression
    if language == "zh":
        return f"{'还有 ' if '(today(), ' in inner else ''}{result} {'周' if is_weeks else '天'}。"
    unit = ("week" if is_weeks else "day") + ("" if result == "1" else "s")
    holiday = re.search(r'today\(\), next_holiday\("(.+)"\)', inner)
    return (
        f"{result} {unit} until {holiday[1].title().replace(chr(39) + 'S', chr(39) + 's')}."
        if holiday
        else f"{result} {unit}."
    )


def describe_minutes_until(expression: str, result: str, language: Language) -> str | None:
    match = re.fullmatch(r'minutes_until\("([\d:]+)"(?:, "(.+)")?\)', expression)
    if not match or not result.isdecimal():
        return None
    hours, minutes = divmod(int(result), 60)
    place = f" in {match[2]}" if match[2] else " UTC"
    if language == "zh":
        left = f"{hours} 小时 {minutes} 分钟" if hours else f"{minutes} 分钟"
        return f"距离{match[2] or ' UTC '}{match[1]} 还有 {left}。"
    parts = [f"{count} {unit}{'' if count == 1 else 's'}" for count, unit in ((hours, "hour"), (minutes, "minute"))]
    return f"{' and '.join(part for part in parts if not part.startswith('0 '))} until {match[1]}{place}."


def describe_conversion(expression: str, result: str, language: Language) -> str | None:
    match = re.fullmatch(r'convert\((.+), "(.+)", "(.+)"\)', expression)
    if not match:
        return None
    amount, source, target = match.groups()
    return (
        f"{amount} {source}是 {result} {target}。" if language == "zh" else f"{amount} {source} is {result} {target}."
    )


def describe_leap_year(expression: str, result: str, language: Language) -> str | None:
    if not expression.startswith("is_leap_year"):
        return None
    if language == "zh":
        return "是闰年。" if result == "true" else "不是闰年。"
    return "Yes, it is a leap year." if result == "true" else "No, it is not a leap year."


def describe_day_kind(expression: str, result: str, language: Language) -> str | None:
    name, _, kind = result.partition(", ")
    if not expression.startswith("day_kind(") or not kind:
        return None
    if language == "zh":
        return f"{translate_weekday(name)}，{'是周末' if kind == 'at the weekend' else '不是周末'}。"
    is_today = expression == "day_kind(today())"
    day = f"Today is {name}" if is_today else f"That day is a {name}"
    return f"{day}: {'it is the weekend' if kind == 'at the weekend' else 'a weekday, not the weekend'}."


_NAMED_RESULTS = {
    "avg": "average", "sum": "sum", "median": "median", "product": "product", "stdev": "standard deviation",
    "gcd": "greatest common divisor", "lcm": "least common multiple", "abs": "difference",
}  # fmt: skip


def describe_number(expression: str, result: str, language: Language) -> str:
    """Return the sentence for a number, with the expression where people write it so."""
    unit = "%" if re.search(r"/ -?[\d.]+ \* 100$|^percent_change", expression) else ""
    function = re.match(r"([a-z_0-9]+)\(", expression)
    if language == "zh":
        return f"结果是 {result}{unit}。"
    if function and function[1] in _NAMED_RESULTS:
        return f"The {_NAMED_RESULTS[function[1]]} is {result}."
    if function and function[1] in ("year", "month", "age", "max", "min"):
        return f"It is {result}."
    if unit or re.search(r"[a-z_]{3,}\(", expression.replace("factorial(", "").replace("sqrt(", "")):
        return f"The result is {result}{unit}."
    pretty = re.sub(r"factorial\((\d+)\)", r"\1!", expression).replace("√ ", "√").strip()
    if re.search(r"\b(?:of|off)\b", pretty):
        return f"{pretty} is {result}."
    pretty = re.sub(r"\s*\*\s*", " × ", re.sub(r"\s*/\s*", " ÷ ", pretty))
    return f"{pretty} = {result}."


def describe_table(arguments: Mapping[str, str], result: str, language: Language) -> str:
    """Return the sentence for rows: the label and the value of each."""
    lines = [line for line in result.split("\n") if line.startswith("|")]
    notes = [line for line in result.split("\n") if line and not line.startswith("|")]
    if len(lines) < 3:
        return "没有符合条件的行。" if language == "zh" else "No row matches."
    header, *rows = (split_row(line) for line in (lines[0], *lines[2:]))
    units = find_units(arguments.get("table", ""))
    shown = [
        [add_unit(cell, find_unit_of(name, header, units)) for name, cell in zip(header, row, strict=False)]
        for row in rows
    ]
    if len(header) == 1 and len(rows) == 1:
        value = shown[0][0]
        if header[0] in ("count", "数量"):
            return f"共 {value} 个。" if language == "zh" else f"There are {value}."
        return f"{header[0]}是 {value}。" if language == "zh" else f"The {header[0]} is {value}."
    colon, stop = ("：", "。") if language == "zh" else (": ", ".")
    separator = "，" if language == "zh" else ", "
    texts = [f"{row[0]}{colon}{separator.join(row[1:])}" if len(row) > 1 else row[0] for row in shown]
    if len(texts) == 1:
        return f"{texts[0]}{stop}"
    return "\n".join([*(f"- {text}" for text in texts[:MAX_LISTED]), *cut_note(len(texts), language), *notes])


def cut_note(count: int, language: Language) -> list[str]:
    if count <= MAX_LISTED:
        return []
    left_out = count - MAX_LISTED
    return [f"另有 {left_out} 行未列出。" if language == "zh" else f"{left_out} more rows are left out."]


def split_row(line: str) -> list[str]:
    return [cell.strip().replace("\\|", "|") for cell in re.split(r"(?<!\\)\|", line.strip().strip("|"))]


def find_units(table: str) -> dict[str, str]:
    """Return the unit of each column of numbers that has one."""
    try:
        return {
            column.name: column.unit for column in infer_columns(read_table(table)) if column.is_number and column.unit
        }
    except TableUnreadable:
        return {}


def find_unit_of(name: str, header: list[str], units: Mapping[str, str]) -> str:
    """Return the unit of a column of the result; a total or a difference has that of its column."""
    if name in units:
        return units[name]
    for column, unit in units.items():
        if name in (f"total {column}", f"average {column}", f"{column}合计", f"平均{column}"):
            return unit
    if name in ("total amount", "total cost", "总金额"):
        return next((unit for unit in units.values() if unit.endswith(_CURRENCIES)), "")
    return next(iter(units.values())) if name in ("difference", "相差") and len(units) == 1 and len(header) == 1 else ""


def add_unit(cell: str, unit: str) -> str:
    if not unit or read_number(cell) is None:
        return cell
    if unit.endswith(_CURRENCIES):
        cell = f"{cell}0" if re.fullmatch(r"-?\d+\.\d", cell) else cell
        return f"-{unit}{cell[1:]}" if cell.startswith("-") else f"{unit}{cell}"
    return f"{cell}{unit}" if unit[0] in "%‰" else f"{cell} {unit}"
