"""Patterns of personal data and secrets: addresses, numbers with checksums, keys."""

from __future__ import annotations

import re
from collections.abc import Iterable

from rightseat.middleware.guardrails.shapes import Shape

TOKEN = r"[A-Za-z0-9_-]"
BASE64 = r"[A-Za-z0-9+/=\s]"
# A number within a longer one, an amount or a name is not a phone number.
BEFORE = r"[0-9A-Za-z.,+/=_-]"
AFTER = r"[0-9A-Za-z+/=_-]"


def digits(text: str) -> list[int]:
    return [int(char) for char in text if char.isdigit()]


def card(text: str) -> bool:
    """Whether the prefix and the Luhn check digit are those of a payment card."""
    found = digits(text)
    start = int("".join(map(str, found[:4])))
    if not 3000 <= start <= 6999 and not (2221 <= start <= 2720 and len(found) == 16):
        return False
    doubled = [n if place % 2 == 0 else n * 2 - 9 * (n > 4) for place, n in enumerate(reversed(found))]
    return sum(doubled) % 10 == 0


LENGTHS = {
    15: "NO",
    16: "BE",
    18: "DK FI NL",
    19: "SI",
    20: "AT EE LT LU",
    21: "CH HR LI LV",
    22: "BG DE GB IE",
    23: "AE IL",
    24: "AD CZ ES RO SA SE SK",
    25: "PT",
    26: "IS TR",
    27: "FR GR IT MC",
    28: "CY HU PL",
    29: "BR UA",
    31: "MT",
}
"""Countries by the length of their IBAN."""


def iban(text: str) -> bool:
    """Whether the length fits the country and the checksum modulo 97 is 1."""
    bare = re.sub(r"\s", "", text).upper()
    if bare[:2] not in LENGTHS.get(len(bare), "").split():
        return False
    return int("".join(str(int(char, 36)) for char in bare[4:] + bare[:4])) % 97 == 1


def resident(text: str) -> bool:
    """Whether the text has a date of birth and a valid check digit, which may be an X."""
    month, day = int(text[10:12]), int(text[12:14])
    if not (text[6:8] in ("18", "19", "20") and 1 <= month <= 12 and 1 <= day <= 31):
        return False
    total = sum(int(char) * (1 << (17 - place)) for place, char in enumerate(text[:17]))
    return "10X98765432"[total % 11] == text[17].upper()


def social(text: str) -> bool:
    """Whether area, group and serial are in the assigned ranges."""
    area, group, serial = re.split("[ -]", text)
    return area not in ("000", "666") and area < "900" and group != "00" and serial != "0000"


def address(text: str) -> bool:
    return all(int(part) < 256 and str(int(part)) == part for part in text.split("."))


def dialled(text: str) -> bool:
    """Whether the text has 8 to 15 digits."""
    return 8 <= len(digits(text)) <= 15


def mailbox(text: str) -> bool:
    local, _, domain = text.rpartition("@")
    labels = domain.split(".")
    return not local.startswith(".") and all(
        label and label[0] != "-" and label[-1] != "-" and len(label) < 64 for label in labels
    )


def grouped(length: int) -> str:
    """Return the form of an IBAN that is written in groups of four."""
    groups, rest = divmod(length - 4, 4)
    return r"[A-Z]{2}\d{2}" + " [A-Z0-9]{4}" * groups + f" [A-Z0-9]{{{rest}}}" * bool(rest)


KEYS = {
    "sk-": 20,
    "sk_live_": 16,
    "rk_live_": 16,
    "ghp_": 30,
    "gho_": 30,
    "ghs_": 30,
    "github_pat_": 30,
    "glpat-": 16,
    "xoxb-": 20,
    "xoxp-": 20,
    "AIza": 35,
    "hf_": 30,
    "npm_": 30,
}
"""Prefixes of well-known services' keys, with the minimum length of the rest."""
PEM = ("RSA PRIVATE KEY", "EC PRIVATE KEY", "OPENSSH PRIVATE KEY", "ENCRYPTED PRIVATE KEY", "PRIVATE KEY")
SHAPES: dict[str, tuple[Shape, ...]] = {
    "email": (
        Shape(
            r"[A-Za-z0-9_.+%'-]{1,64}@[A-Za-z0-9.-]{1,190}\.[A-Za-z]{2,24}",
            apart="[A-Za-z0-9_%+-]",
            holds=mailbox,
        ),
    ),
    "national_id": (
        Shape(r"[1-9]\d{16}[0-9Xx]", holds=resident),
        Shape(r"\d{3}[ -]\d{2}[ -]\d{4}", apart=BEFORE, after=AFTER, holds=social),
    ),
    "card": (
        Shape(r"\d{13,19}", holds=card),
        Shape(r"\d{4}[ -]\d{4}[ -]\d{4}[ -]\d{4}", holds=card),
        Shape(r"\d{4}[ -]\d{4}[ -]\d{4}[ -]\d{4}[ -]\d{3}", holds=card),
        Shape(r"\d{4}[ -]\d{6}[ -]\d{5}", holds=card),
    ),
    "iban": (
        Shape(r"[A-Za-z]{2}\d{2}[A-Za-z0-9]{11,30}", holds=iban),
        *(Shape(grouped(length), holds=iban) for length in LENGTHS),
    ),
    "phone": (
        # With a country code.
        Shape(r"\+[1-9][0-9 ().-]{6,18}\d", holds=dialled),
        # A Chinese mobile.
        Shape(r"1[3-9]\d{9}", apart=BEFORE, after=AFTER),
        Shape(r"1[3-9]\d[ -]\d{4}[ -]\d{4}", apart=BEFORE, after=AFTER),
        # North American form, and an area code in brackets.
        Shape(r"[2-9]\d{2}[ .-][2-9]\d{2}[ .-]\d{4}", apart=BEFORE, after=AFTER),
        Shape(r"(\d{2,5})[ -]{0,1}\d{3,4}[ .-]\d{3,4}", apart=BEFORE, after=AFTER),
        # A landline with a leading zero: 030 12345678, 010-87654321.
        Shape(r"0\d{2,4}[ /-]\d{5,9}", apart=BEFORE, after=AFTER),
    ),
    "ip": (
        Shape(
            r"\d{1,3}\.\d{1,3}\.\d{1,3}\.\d{1,3}",
            apart="[0-9A-Za-z.-]",
            after="[0-9A-Za-z-]",
            holds=address,
        ),
        Shape("[0-9A-Fa-f]{1,4}:" * 7 + "[0-9A-Fa-f]{1,4}", apart="[0-9A-Za-z:]"),
    ),
    "secret": (
        *(Shape(f"{start}{TOKEN}{{{least},250}}", apart=TOKEN) for start, least in KEYS.items()),
        Shape("AKIA[A-Z0-9]{16}", apart=TOKEN),
        Shape("LTAI[A-Za-z0-9]{12,20}", apart=TOKEN),
        Shape(rf"eyJ{TOKEN}{{10,1000}}\.{TOKEN}{{10,2000}}\.{TOKEN}{{10,1000}}", apart=TOKEN),
        *(
            Shape(
                f"-----BEGIN {kind}-----{BASE64}{{1,6000}}-----END {kind}-----",
                apart="-",
            )
            for kind in PEM
        ),
    ),
}
KINDS = tuple(SHAPES)


def shapes(kinds: Iterable[str]) -> list[tuple[str, Shape]]:
    """Return the patterns of `kinds` in table order: of two matches at one place, the first wins."""
    wanted = set(kinds)
    return [(kind, shape) for kind in KINDS if kind in wanted for shape in SHAPES[kind]]
