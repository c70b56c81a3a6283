"""Conversion of units for `calculate`: length, weight, volume, area, speed, time, data and temperature."""

from __future__ import annotations

from decimal import Context, Decimal, Inexact, getcontext

from rightseat.tools.builtin.expression import CalculationError
from rightseat.types.text import closest_match

EXACT_DIGITS = 12
ROUNDED_DIGITS = 6

# Each line: how many of the quantity's base unit one unit is, and the unit's names.
_LENGTH = """
1 m meter meters metre metres 米
1000 km kilometer kilometers kilometre kilometres kms 公里 千米
0.01 cm centimeter centimeters centimetre centimetres 厘米
0.001 mm millimeter millimeters millimetre millimetres 毫米
1609.344 mi mile miles 英里
0.9144 yd yard yards 码
0.3048 ft foot feet 英尺
0.0254 in inch inches 英寸
1852 nmi nautical_mile nautical_miles 海里
500 里 华里
"""
_WEIGHT = """
1 kg kilogram kilograms kilo kilos kgs 公斤 千克
0.001 g gram grams 克
0.000001 mg milligram milligrams 毫克
1000 t tonne tonnes metric_ton metric_tons 吨
0.45359237 lb lbs pound pounds 磅
0.028349523125 oz ounce ounces 盎司
6.35029318 st stone stones
0.5 斤
"""
_VOLUME = """
1 l liter liters litre litres 升
0.001 ml milliliter milliliters millilitre millilitres 毫升
0.01 cl centiliter centilitre centilitres
3.785411784 gal gallon gallons 加仑
0.946352946 qt quart quarts
0.473176473 pt pint pints 品脱
0.2365882365 cup cups
0.0295735295625 fl_oz fluid_ounce fluid_ounces
0.01478676478125 tbsp tablespoon tablespoons
0.00492892159375 tsp teaspoon teaspoons
"""
_TIME = """
1 s sec secs second seconds 秒 秒钟
0.001 ms millisecond milliseconds 毫秒
60 min mins minute minutes 分钟
3600 h hr hrs hour hours 小时 个小时
86400 d day days 天
604800 week weeks 周 星期 个星期
"""
_AREA = """
1 m2 square_meter square_meters square_metre square_metres 平方米
1000000 km2 square_kilometer square_kilometers square_kilometre square_kilometres 平方公里
0.09290304 ft2 sqft square_foot square_feet 平方英尺
4046.8564224 acre acres 英亩
10000 ha hectare hectares 公顷
2589988.110336 square_mile square_miles 平方英里
"""
_SPEED = """
1 m/s mps
0.44704 mph
0.514444444444444444 knot knots
"""
_DATA = """
1 byte bytes 字节
1000 kb kilobyte kilobytes
1000000 mb megabyte megabytes
1000000000 gb gigabyte gigabytes
1000000000000 tb terabyte terabytes
1024 kib
1048576 mib
1073741824 gib
1099511627776 tib
"""
TEMPERATURES = {
    **dict.fromkeys(("c", "°c", "celsius", "degrees celsius", "degree celsius", "centigrade", "摄氏度", "摄氏"), "c"),
    **dict.fromkeys(("f", "°f", "fahrenheit", "degrees fahrenheit", "degree fahrenheit", "华氏度", "华氏"), "f"),
    **dict.fromkeys(("k", "kelvin", "kelvins", "开尔文"), "k"),
}


def read_units(*tables: str) -> dict[str, tuple[int, Decimal]]:
    """Return quantity and factor of each name of a unit."""
    units: dict[str, tuple[int, Decimal]] = {}
    for quantity, table in enumerate(tables):
        for line in table.strip().splitlines():
            factor, *names = line.split()
            units |= {name.replace("_", " "): (quantity, Decimal(factor)) for name in names}
    return units


UNITS = read_units(_LENGTH, _WEIGHT, _VOLUME, _TIME, _AREA, _SPEED, _DATA)
UNITS["km/h"] = UNITS["kmh"] = UNITS["kph"] = (UNITS["mph"][0], Decimal(1) / Decimal("3.6"))


def find_unit(name: str) -> str | None:
    """Return the spelling of a unit in the tables; None if it is not there."""
    key = " ".join(name.lower().replace("_", " ").split()).rstrip(".")
    return key if key in UNITS or key in TEMPERATURES else None


def convert_units(amount: Decimal, source: str, target: str) -> Decimal:
    """Return the amount in another unit; raises CalculationError for units that do not fit together."""
    keys = []
    for name in (source, target):
        key = find_unit(name)
        if key is None:
            near = closest_match(name.lower(), (*UNITS, *TEMPERATURES))
            hint = f" Did you mean {near}?" if near else " Write one such as km, miles, kg, lb, l, cups, c, f."
            raise CalculationError(f"The unit {name[:40]!r} is not known.{hint}")
        keys.append(key)
    first, second = keys
    if first in TEMPERATURES and second in TEMPERATURES:
        return round_amount(convert_temperature(amount, TEMPERATURES[first], TEMPERATURES[second]))
    if first in TEMPERATURES or second in TEMPERATURES or UNITS[first][0] != UNITS[second][0]:
        raise CalculationError(f"{source[:40]} cannot be converted to {target[:40]}.")
    return round_amount(amount * UNITS[first][1] / UNITS[second][1])


def convert_temperature(amount: Decimal, source: str, target: str) -> Decimal:
    if source == target:
        return amount
    celsius = {"c": amount, "f": (amount - 32) * 5 / 9, "k": amount - Decimal("273.15")}[source]
    return {"c": celsius, "f": celsius * 9 / 5 + 32, "k": celsius + Decimal("273.15")}[target]


def round_amount(amount: Decimal) -> Decimal:
    """Return an exact amount unchanged, another with six digits."""
    short = Context(prec=EXACT_DIGITS).plus(amount)
    if not getcontext().flags[Inexact] and short == amount:
        return amount
    # 5/9 of 90 is a whole number again.
    whole = short.to_integral_value()
    return whole if short == whole else Context(prec=ROUNDED_DIGITS).plus(amount)
