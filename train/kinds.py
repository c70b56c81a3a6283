"""Kinds with arguments (`int 2 14`, `enum a=words/words=中文, …`) and of several values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from train.draw import Draw
from train.values import (
    NUMBERS,
    NUMBERS_ZH,
    QUOTED,
    ValueAndWords,
    date,
    draw_simple,
    email,
    make_identifier,
    person,
    place,
    quote_value,
    sku,
)

SPANS = {
    7: ("the coming week", "next week", "the next week", "the week ahead", "the next seven days", "a week"),
    14: ("the next two weeks", "the coming fortnight", "two weeks", "the next fourteen days"),
    2: ("the next two days", "the weekend", "the next 48 hours", "today and tomorrow"),
    1: ("tomorrow", "the next 24 hours", "today"),
    30: ("the next month", "the coming month", "the next 30 days"),
    3: ("the next three days", "the long weekend"),
}
SPANS_ZH = {7: ("未来一周", "下周", "接下来七天"), 14: ("未来两周", "接下来半个月"), 1: ("明天",), 2: ("这两天",)}


def draw_integer(draw: Draw, given: str, zh: bool) -> ValueAndWords:
    low, high = map(int, given.split())
    value = draw.whole(low, min(high, low + 10)) if draw.chance(0.4) else draw.whole(low, high)
    if draw.chance(0.3):
        if zh and 0 <= value <= 10:
            return value, NUMBERS_ZH[value]
        if not zh and 0 <= value <= 12:
            return value, NUMBERS[value]
    return value, str(value)


def draw_days(draw: Draw, given: str, zh: bool) -> ValueAndWords:
    """A number of days, in words that hold it or only mean it."""
    if draw.chance(0.45):
        value = draw.whole(2, 14)
        words = NUMBERS[value] if value < 11 and draw.chance(0.3) else str(value)
        said = draw.one([f"the next {words} days", f"the coming {words} days", f"{words} days"])
        return value, f"未来{value}天" if zh else said
    spans = SPANS_ZH if zh else SPANS
    value = draw.one(list(spans))
    return value, draw.one(spans[value])


def draw_number(draw: Draw, given: str, zh: bool) -> ValueAndWords:
    low, high, digits = map(int, given.split())
    value = draw.real(low, high, digits if draw.chance(0.7) else 0)
    return value, str(value)


def draw_amount(draw: Draw, given: str, zh: bool) -> ValueAndWords:
    value = draw.one([draw.real(1, 999, 2), draw.whole(5, 2000), draw.real(1, 99, 1)])
    return value, str(value)


def draw_money(draw: Draw, given: str, zh: bool) -> ValueAndWords:
    value = draw.one([draw.whole(20, 900), draw.whole(1, 90) * 100, draw.whole(1, 400) * 1000])
    return value, f"{value:,}" if value > 999 and draw.chance(0.3) else str(value)


def draw_enum(draw: Draw, given: str, zh: bool) -> ValueAndWords:
    parts = draw.one(given.split(",")).strip().split("=")
    words = parts[2] if zh and len(parts) > 2 else parts[1] if len(parts) > 1 else parts[0].replace("_", " ")
    return parts[0], draw.one(words.split("/"))


def draw_inferred(draw: Draw, given: str, zh: bool) -> ValueAndWords:
    """A required value that nobody names: the first one is the usual one."""
    return given.split(",")[0].strip(), ""


def draw_free_choice(draw: Draw, given: str, zh: bool) -> ValueAndWords:
    value = draw.one(given.split("/"))
    return value, value


def draw_list(draw: Draw, given: str, zh: bool) -> ValueAndWords:
    found = [draw_simple(draw, given, zh).replace("{", "") for _ in range(draw.whole(2, 4) if draw.chance(0.85) else 1)]
    values = list(dict.fromkeys(found))
    if zh:
        return values, "、".join(values)
    if len(values) == 1:
        return values, values[0]
    return values, ", ".join(values[:-1]) + draw.one([" and ", ", "]) + values[-1]


def draw_address(draw: Draw, given: str, zh: bool) -> ValueAndWords:
    street = f"{draw.whole(1, 299)} {draw.word('street')} {draw.word('street_tail')}"
    value = {"street": street, "city": place(draw, False)}
    if draw.chance(0.4):
        value["postcode"] = draw.digits(5)
    return value, ", ".join(value.values())


def draw_size(draw: Draw, given: str, zh: bool) -> ValueAndWords:
    value = {"width": draw.whole(2, 40) * 50, "height": draw.whole(2, 40) * 50}
    return value, str(value["width"]) + draw.one(["x", " by ", " x "]) + str(value["height"])


def draw_coordinates(draw: Draw, given: str, zh: bool) -> ValueAndWords:
    value = {"lat": draw.real(-80, 80, 3), "lng": draw.real(-179, 179, 3)}
    return value, f"{value['lat']}, {value['lng']}"


def draw_contact(draw: Draw, given: str, zh: bool) -> ValueAndWords:
    value = {"name": person(draw, zh), "email": email(draw, zh)}
    return value, draw.one(["{name} ({email})", "{name} <{email}>", "{name}, {email}"]).format(**value)


def draw_dates(draw: Draw, given: str, zh: bool) -> ValueAndWords:
    start, end = sorted([date(draw, zh), date(draw, zh)])
    said = f"{start}到{end}" if zh else f"from {start} {draw.one(['to', 'until'])} {end}"
    return {"start": start, "end": end}, said


def draw_order_lines(draw: Draw, given: str, zh: bool) -> ValueAndWords:
    """An array of objects: articles and how many of each."""
    items = [{"sku": sku(draw, zh), "quantity": draw.whole(1, 20)} for _ in range(draw.whole(1, 3))]
    said = [f"{item['quantity']}{'件' if zh else draw.one([' x ', ' of ', ' '])}{item['sku']}" for item in items]
    return items, ("和" if zh else " and ").join(said)


VALUE_MAKERS: dict[str, Callable[[Draw, str, bool], ValueAndWords]] = {
    "int": draw_integer,
    "days": draw_days,
    "num": draw_number,
    "amount": draw_amount,
    "money": draw_money,
    "enum": draw_enum,
    "infer": draw_inferred,
    "enum_free": draw_free_choice,
    "id": lambda draw, given, zh: (lambda found: (found, found))(make_identifier(draw, given)),
    "list": draw_list,
    "address": draw_address,
    "size": draw_size,
    "coords": draw_coordinates,
    "object_contact": draw_contact,
    "object_range": draw_dates,
    "lines": draw_order_lines,
}
_OBJECTS = {
    "address": ({"street": "string", "city": "string", "postcode": "string"}, ["street", "city"]),
    "size": ({"width": "integer", "height": "integer"}, ["width", "height"]),
    "coords": ({"lat": "number", "lng": "number"}, ["lat", "lng"]),
    "object_contact": ({"name": "string", "email": "string"}, ["name", "email"]),
    "object_range": ({"start": "string", "end": "string"}, ["start", "end"]),
}


def draw_value(draw: Draw, kind: str, zh: bool = False) -> ValueAndWords:
    """A value, and how a user says it."""
    name, _, given = kind.partition(" ")
    if maker := VALUE_MAKERS.get(name):
        return maker(draw, given, zh)
    value = draw_simple(draw, name, zh)
    return value, quote_value(draw, value, zh) if name in QUOTED else value


def make_schema(draw: Draw, kind: str) -> dict[str, Any]:
    name, _, given = kind.partition(" ")
    if name in ("int", "days"):
        return {"type": "integer"}
    if name in ("num", "amount", "money"):
        return {"type": "number"}
    if name == "bool":
        return {"type": "boolean"}
    if name in ("enum", "infer"):
        return {"type": "string", "enum": [part.strip().split("=")[0] for part in given.split(",")]}
    if name == "list":
        return {"type": "array", "items": {"type": "string"}}
    if name == "lines":
        inner = {"sku": {"type": "string"}, "quantity": {"type": "integer"}}
        item = {"type": "object", "properties": inner, "required": ["sku", "quantity"]}
        return {"type": "array", "items": item}
    if found := _OBJECTS.get(name):
        properties = {key: {"type": type_} for key, type_ in found[0].items()}
        return {"type": "object", "properties": properties, "required": found[1]}
    return {"type": "string"}
