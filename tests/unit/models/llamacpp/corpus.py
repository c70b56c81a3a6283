"""Schemas by name: what clients, servers and generators really send, and every keyword by itself."""

from __future__ import annotations

from typing import Any

from tests.unit.models.llamacpp.client_schemas import DOCUMENTS
from tests.unit.models.llamacpp.structures import STRUCTURES

Schema = dict[str, Any]


def make_bounded_schema(kind: str, low: Any, high: Any, above: bool = False, below: bool = False) -> Schema:
    schema: Schema = {"type": kind}
    if low is not None:
        schema["exclusiveMinimum" if above else "minimum"] = low
    if high is not None:
        schema["exclusiveMaximum" if below else "maximum"] = high
    return schema


INTEGERS = [
    (0, None),
    (1, None),
    (-1, None),
    (None, 0),
    (None, 10),
    (None, -1),
    (0, 0),
    (0, 1),
    (0, 9),
    (0, 10),
    (1, 10),
    (0, 99),
    (0, 100),
    (1, 100),
    (5, 5),
    (7, 42),
    (10, 99),
    (99, 101),
    (0, 255),
    (0, 65535),
    (1, 12),
    (1, 31),
    (-10, 10),
    (-5, -1),
    (-100, -10),
    (-273, 1000),
    (-1, 0),
    (-1, 1),
    (1900, 2100),
    (100, 1234),
    (123, 456789),
    (999, 1001),
    (-999, 1000),
    (1000000, 9999999),
    (-2147483648, 2147483647),
    (17, None),
    (None, -17),
    (250, None),
    (0, 9007199254740991),
    (1.5, 3.5),
    (-2.5, 2.5),
    (42, 43),
    (109, 911),
    (2024, 2024),
]
NUMBERS = [
    (0, None),
    (0, 1),
    (-1, 1),
    (0, 0.5),
    (0.1, 0.9),
    (0.25, 7.5),
    (1.5, 1.75),
    (-0.5, 0.5),
    (-90, 90),
    (-180, 180),
    (None, 0),
    (None, 2.5),
    (-2.5, None),
    (0.001, 0.002),
    (0.05, 0.5),
    (99.9, 100.1),
    (-10.25, -3.125),
    (3.14, 3.15),
    (0, 100),
    (1e-3, 1e3),
    (10, 10),
    (0.3, 0.3),
    (-273.15, 1000000),
    (1.25, 20),
    (0.99, 1.01),
    (5, 6),
    (None, -0.5),
    (0, 2),
    (123.456, 123.457),
    (-1.5, 100.25),
]
LENGTHS = [
    (0, 0),
    (0, 1),
    (1, 1),
    (1, None),
    (3, None),
    (0, 5),
    (2, 5),
    (10, 10),
    (1, 280),
    (0, 1500),
    (100, 120),
    (5, 5000),
    (1999, 2500),
]
PATTERNS = [
    r"^[a-z]+$",
    r"^[A-Z]{3}$",
    r"^\d{5}(-\d{4})?$",
    r"^(\+\d{1,3} )?\d{3}-\d{4}$",
    r"^#[0-9a-fA-F]{6}$",
    r"^abc$",
    r"^(foo|bar|baz)$",
    r"^foo|bar$",
    r"foo",
    r"^foo",
    r"foo$",
    r"[0-9]",
    r"^$",
    r"^a?b*c+$",
    r"^[^a-z]{2,4}$",
    r"^\w+@\w+\.com$",
    r"^\S+$",
    r"^\S+ \S+$",
    r"^[\w.-]+$",
    r"^[a-zA-Z_][a-zA-Z0-9_]*$",
    r"^/[a-z/]*$",
    r"^\"quoted\"$",
    r"^back\\slash$",
    r"^tab\tnew\nline$",
    r"^[\"\\/]{3}$",
    r"^\u4e2d[\u6587\u56fd]$",
    r"^中文?$",
    r"^.{3}$",
    r"^.*$",
    r".",
    r"^(?:a|b(?:c|d)){2}$",
    r"^(a(b(c)?)?)?$",
    r"^\x41\x42$",
    r"^[a-c-]+$",
    r"^[-+]?\d+(\.\d+)?$",
    r"^\$\d+\.\d{2}$",
    r"^[A-Z]{2}\d{2}(?:[A-Z0-9]{4}){2,7}$",
    r"^(?<year>\d{4})-(?<month>0[1-9]|1[0-2])$",
    r"^\{\d+\}$",
    r"^[\s]{1,2}$",
    r"^[^\s\"]+$",
    r"^v\d+(\.\d+){0,2}$",
    r"^(GET|POST|PUT)$",
    r"^s3://[a-z0-9.-]{3,63}/.+$",
    r"^[a-z]{2}(_[A-Z]{2})?$",
    r"^\D+$",
    r"^\W$",
    r"^[\x00-\x1f]$",
    r"^([01]\d|2[0-3]):[0-5]\d$",
    r"^arn:aws:[a-z0-9]+:[a-z0-9-]*:\d{12}:.+$",
    r"^(a+)+$",
    r"^(|x)$",
    r"^[a-z]*?$",
    r"(^a|b$)",
    r"^a.b$",
    r"^\.\*\+\?$",
    r"^[.*+?]$",
    r"^x{0}y$",
    r"^[^\"\\]*$",
]
UNSUPPORTED_PATTERNS = [r"^(?=a)a$", r"^(?!b)\w+$", r"\bword\b", r"^(a)\1$", r"^\p{L}+$", r"a^b", r"^a$b"]
FORMATS = ["date", "time", "date-time", "uuid", "email", "ipv4", "ipv6", "uri", "hostname", "duration", "unknown"]
ENUMS: list[list[Any]] = [
    ["a"],
    ["a", "b"],
    ["a", 1, None, True, 1.5],
    [{"a": 1}, [1, 2]],
    ['"', "\\", "\n", "\x00", "\u2028"],
    ["中文", "日本"],
    [f"value {n}" for n in range(200)],
    [0, 1, 2],
    [-1.5, 2e10],
    [""],
    ["a", "ab", "abc"],
    ["😀", "é"],
    [[], {}],
    [None],
    ["</tool_call>", "<|im_end|>", "]]>"],
    ["x" * 300],
]


def make_number_schemas() -> dict[str, Schema]:
    found: dict[str, Schema] = {}
    for low, high in INTEGERS:
        found[f"integer {low}..{high}"] = make_bounded_schema("integer", low, high)
        if low is None or high is None or high - low > 2:
            found[f"integer {low}..{high} open"] = make_bounded_schema("integer", low, high, True, True)
    for low, high in NUMBERS:
        found[f"number {low}..{high}"] = make_bounded_schema("number", low, high)
        if low is None or high is None or high > low:
            found[f"number {low}..{high} open"] = make_bounded_schema("number", low, high, True, True)
    for step in (1, 10, 100, 0.1, 0.01):
        found[f"multiple of {step}"] = {"type": "number", "multipleOf": step, "minimum": 0, "maximum": 100}
        found[f"free multiple of {step}"] = {"type": "number", "multipleOf": step}
    found["multiple of 15"] = {"type": "integer", "multipleOf": 15, "minimum": -45, "maximum": 60}
    return found


def make_string_schemas() -> dict[str, Schema]:
    found: dict[str, Schema] = {}
    for low, high in LENGTHS:
        found[f"length {low}..{high}"] = {"type": "string", "minLength": low} | (
            {} if high is None else {"maxLength": high}
        )
    for pattern in PATTERNS:
        found[f"pattern {pattern}"] = {"type": "string", "pattern": pattern}
    for pattern in (r"^[a-z]+$", r"^[a-z]+\d*$", r"^(a|bb|ccc)+$", r"^\d{3}$", r"^x.*$", r"^[a-z]{2,9}-[0-9]{1,9}$"):
        found[f"pattern {pattern} within"] = {"type": "string", "pattern": pattern, "minLength": 3, "maxLength": 8}
    for pattern in UNSUPPORTED_PATTERNS:
        found[f"unsayable {pattern}"] = {"type": "string", "pattern": pattern}
    for name in FORMATS:
        found[f"format {name}"] = {"type": "string", "format": name}
        found[f"format {name} in object"] = {"type": "object", "properties": {"at": {"type": "string", "format": name}}}
    for at, values in enumerate(ENUMS):
        found[f"enum {at}"] = {"enum": values}
        found[f"const {at}"] = {"const": values[-1]}
    return found


CORPUS: dict[str, Schema] = make_number_schemas() | make_string_schemas() | STRUCTURES | DOCUMENTS
