"""Personal data and secrets, found in whole and in streamed texts with equal results.

A pattern is a sequence of character classes with minimum and maximum counts. It gives two expressions: one
for a match, one for an end of the text that may become a match. All counts are bounded, so matching time and
held text are bounded too. A long text is searched in pieces: a search by `re` holds the interpreter's lock.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator
from functools import cached_property, lru_cache
from heapq import heapify, heappop, heapreplace
from typing import NamedTuple

from msgspec import Struct

from rightseat.types.workers import PIECE_CHARS

CharacterRun = tuple[str, int, int]
_RUN_SYNTAX = re.compile(r"(\[[^\]]+\]|\\?.)(?:\{(\d+)(?:,(\d+))?\})?", re.DOTALL)


def parse_runs(expression: str) -> tuple[CharacterRun, ...]:
    """Parse an expression of characters and classes, each with an optional {min,max}."""
    runs = []
    for kind, least, most in _RUN_SYNTAX.findall(expression):
        character_class = kind if len(kind) > 1 else re.escape(kind)
        runs.append((character_class, int(least or 1), int(most or least or 1)))
    return tuple(runs)


class DataPattern(Struct, frozen=True, eq=False, dict=True):
    form: str
    not_before: str = r"[0-9A-Za-z]"
    """Class of characters that must not precede a match."""
    not_after: str = ""
    """Class of characters that must not follow a match, if different."""
    is_valid: Callable[[str], bool] | None = None
    """Checks a match further, such as its checksum."""

    # Compiled on first use: a server without such a rule pays nothing.
    @cached_property
    def runs(self) -> tuple[CharacterRun, ...]:
        return parse_runs(self.form)

    @cached_property
    def regex(self) -> re.Pattern[str]:
        return re.compile(self.expression, re.ASCII)

    @cached_property
    def max_length(self) -> int:
        """The characters of the longest match."""
        return sum(most for _, _, most in self.runs)

    @cached_property
    def literal(self) -> str:
        """The first literal characters of the form: a text without them has no match."""
        characters: list[str] = []
        for kind, least, most in self.runs:
            if least == most == 1 and not kind.startswith(("[", r"\d")):
                characters.append(kind[-1])
            elif characters:
                break
        return "".join(characters)

    @property
    def expression(self) -> str:
        (kind, least, most), *others = self.runs
        # The first class precedes the look-behind, so that `re` can skip to it quickly.
        first = f"{kind}(?<!{self.not_before}{kind}){kind}{{{least - 1},{most - 1}}}"
        rest = "".join(f"{kind}{{{least},{most}}}" for kind, least, most in others)
        return f"{first}{rest}(?!{self.not_after or self.not_before})"

    @property
    def prefix_expression(self) -> str:
        """Expression for an end of the text that is a prefix of a match, or a whole match."""
        expression = ""
        for kind, least, most in reversed(self.runs):
            here = f"{kind}{{1,{most}}}\\Z"
            expression = f"(?:{here}|{kind}{{{least},{most}}}{expression})" if expression else here
        return f"(?<!{self.not_before}){expression}"

    def find(self, text: str, start: int) -> re.Match[str] | None:
        """Return the first valid match from `start` on, or None."""
        while start < len(text):
            # The piece after `limit` is read only by matches that begin before it, and by their look-ahead.
            limit = start + PIECE_CHARS
            end = limit + self.max_length + 1
            if self.literal and text.find(self.literal, start, end) < 0:
                start = limit
                continue
            match = self.regex.search(text, start, end)
            if match is None or match.start() >= limit:
                start = limit
            elif self.is_valid is None or self.is_valid(match[0]):
                return match
            else:
                start = match.start() + 1
        return None


TOKEN = r"[A-Za-z0-9_-]"
BASE64 = r"[A-Za-z0-9+/=\s]"

# A number within a longer one, an amount or a name is not a phone number.
NUMBER_BEFORE = r"[0-9A-Za-z.,+/=_-]"
NUMBER_AFTER = r"[0-9A-Za-z+/=_-]"


def parse_digits(text: str) -> list[int]:
    return [int(char) for char in text if char.isdigit()]


def is_card_number(text: str) -> bool:
    """Whether the prefix and the Luhn check digit are those of a payment card."""
    numbers = parse_digits(text)
    start = int("".join(map(str, numbers[:4])))
    if not 3000 <= start <= 6999 and not (2221 <= start <= 2720 and len(numbers) == 16):
        return False
    doubled = [n if place % 2 == 0 else n * 2 - 9 * (n > 4) for place, n in enumerate(reversed(numbers))]
    return sum(doubled) % 10 == 0


IBAN_LENGTHS = {
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


def is_iban(text: str) -> bool:
    """Whether the length fits the country and the checksum modulo 97 is 1."""
    bare = re.sub(r"\s", "", text).upper()
    if bare[:2] not in IBAN_LENGTHS.get(len(bare), "").split():
        return False
    return int("".join(str(int(char, 36)) for char in bare[4:] + bare[:4])) % 97 == 1


def is_chinese_resident_id(text: str) -> bool:
    """Whether the text has a date of birth and a valid check digit, which may be an X."""
    month, day = int(text[10:12]), int(text[12:14])
    if not (text[6:8] in ("18", "19", "20") and 1 <= month <= 12 and 1 <= day <= 31):
        return False
    total = sum(int(char) * (1 << (17 - place)) for place, char in enumerate(text[:17]))
    return "10X98765432"[total % 11] == text[17].upper()


def is_us_social_security_number(text: str) -> bool:
    """Whether area, group and serial are in the assigned ranges."""
    area, group, serial = re.split("[ -]", text)
    return area not in ("000", "666") and area < "900" and group != "00" and serial != "0000"


def is_ipv4(text: str) -> bool:
    return all(int(part) < 256 and str(int(part)) == part for part in text.split("."))


def has_phone_length(text: str) -> bool:
    """Whether the text has 8 to 15 digits."""
    return 8 <= len(parse_digits(text)) <= 15


def is_email(text: str) -> bool:
    local, _, domain = text.rpartition("@")
    labels = domain.split(".")
    return not local.startswith(".") and all(
        label and label[0] != "-" and label[-1] != "-" and len(label) < 64 for label in labels
    )


def make_grouped_iban_form(length: int) -> str:
    """Return the form of an IBAN that is written in groups of four."""
    groups, rest = divmod(length - 4, 4)
    return r"[A-Z]{2}\d{2}" + " [A-Z0-9]{4}" * groups + f" [A-Z0-9]{{{rest}}}" * bool(rest)


KEY_PREFIXES = {
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


PEM_LABELS = ("RSA PRIVATE KEY", "EC PRIVATE KEY", "OPENSSH PRIVATE KEY", "ENCRYPTED PRIVATE KEY", "PRIVATE KEY")

DATA_PATTERNS: dict[str, tuple[DataPattern, ...]] = {
    "email": (
        DataPattern(
            r"[A-Za-z0-9_.+%'-]{1,64}@[A-Za-z0-9.-]{1,190}\.[A-Za-z]{2,24}", "[A-Za-z0-9_%+-]", is_valid=is_email
        ),
    ),
    "national_id": (
        DataPattern(r"[1-9]\d{16}[0-9Xx]", is_valid=is_chinese_resident_id),
        DataPattern(r"\d{3}[ -]\d{2}[ -]\d{4}", NUMBER_BEFORE, NUMBER_AFTER, is_us_social_security_number),
    ),
    "card": (
        DataPattern(r"\d{13,19}", is_valid=is_card_number),
        DataPattern(r"\d{4}[ -]\d{4}[ -]\d{4}[ -]\d{4}", is_valid=is_card_number),
        DataPattern(r"\d{4}[ -]\d{4}[ -]\d{4}[ -]\d{4}[ -]\d{3}", is_valid=is_card_number),
        DataPattern(r"\d{4}[ -]\d{6}[ -]\d{5}", is_valid=is_card_number),
    ),
    "iban": (
        DataPattern(r"[A-Za-z]{2}\d{2}[A-Za-z0-9]{11,30}", is_valid=is_iban),
        *(DataPattern(make_grouped_iban_form(length), is_valid=is_iban) for length in IBAN_LENGTHS),
    ),
    "phone": (
        # With a country code.
        DataPattern(r"\+[1-9][0-9 ().-]{6,18}\d", is_valid=has_phone_length),
        # A Chinese mobile.
        DataPattern(r"1[3-9]\d{9}", not_before=NUMBER_BEFORE, not_after=NUMBER_AFTER),
        DataPattern(r"1[3-9]\d[ -]\d{4}[ -]\d{4}", not_before=NUMBER_BEFORE, not_after=NUMBER_AFTER),
        # North American form, and an area code in brackets.
        DataPattern(r"[2-9]\d{2}[ .-][2-9]\d{2}[ .-]\d{4}", not_before=NUMBER_BEFORE, not_after=NUMBER_AFTER),
        DataPattern(r"(\d{2,5})[ -]{0,1}\d{3,4}[ .-]\d{3,4}", not_before=NUMBER_BEFORE, not_after=NUMBER_AFTER),
        # A landline with a leading zero: 030 12345678, 010-87654321.
        DataPattern(r"0\d{2,4}[ /-]\d{5,9}", not_before=NUMBER_BEFORE, not_after=NUMBER_AFTER),
    ),
    "ip": (
        DataPattern(r"\d{1,3}\.\d{1,3}\.\d{1,3}\.\d{1,3}", "[0-9A-Za-z.-]", "[0-9A-Za-z-]", is_ipv4),
        DataPattern("[0-9A-Fa-f]{1,4}:" * 7 + "[0-9A-Fa-f]{1,4}", not_before="[0-9A-Za-z:]"),
    ),
    "secret": (
        *(DataPattern(f"{start}{TOKEN}{{{least},250}}", not_before=TOKEN) for start, least in KEY_PREFIXES.items()),
        DataPattern("AKIA[A-Z0-9]{16}", not_before=TOKEN),
        DataPattern("LTAI[A-Za-z0-9]{12,20}", not_before=TOKEN),
        DataPattern(rf"eyJ{TOKEN}{{10,1000}}\.{TOKEN}{{10,2000}}\.{TOKEN}{{10,1000}}", not_before=TOKEN),
        *(
            DataPattern(f"-----BEGIN {kind}-----{BASE64}{{1,6000}}-----END {kind}-----", not_before="-")
            for kind in PEM_LABELS
        ),
    ),
}

DATA_KINDS = tuple(DATA_PATTERNS)
SHORT_TEXT = 400


class Edit(NamedTuple):
    """A replacement of a text range."""

    start: int
    end: int
    text: str


class PersonalDataFinder:
    """Finds and redacts personal data of the given kinds."""

    def __init__(self, kinds: Collection[str]) -> None:
        # In table order: of two matches at one place, the first wins.
        self.patterns = [(kind, shape) for kind in DATA_KINDS if kind in kinds for shape in DATA_PATTERNS[kind]]
        # Patterns are case-sensitive and ASCII only.
        prefixes = "|".join(shape.prefix_expression for _, shape in self.patterns)
        self.prefix_regex = re.compile(prefixes or r"(?!)", re.ASCII)
        self.max_length = max((shape.max_length for _, shape in self.patterns), default=0)
        self.any_regex = re.compile("|".join(shape.expression for _, shape in self.patterns) or r"(?!)", re.ASCII)

    def find_edits(self, text: str, start: int = 0) -> Iterator[Edit]:
        """Yield the non-overlapping matches from `start` on, in order."""
        # In a short text, one search for all patterns is cheaper and mostly finds nothing.
        if len(text) < SHORT_TEXT and self.any_regex.search(text, start) is None:
            return
        # The next match of each pattern; of two at one place, the first pattern in order wins.
        candidates = [
            (match.start(), order, match.end())
            for order, (_, shape) in enumerate(self.patterns)
            if (match := shape.find(text, start)) is not None
        ]
        heapify(candidates)
        position = start
        while candidates:
            first, order, end = candidates[0]
            kind, shape = self.patterns[order]
            if first >= position:
                yield Edit(first, end, f"[{kind}]")
                position = end
            match = shape.find(text, position)
            if match is None:
                heappop(candidates)
            else:
                heapreplace(candidates, (match.start(), order, match.end()))

    def redact(self, text: str) -> str:
        parts, position = [], 0
        for edit in self.find_edits(text):
            parts += [text[position : edit.start], edit.text]
            position = edit.end
        return "".join([*parts, text[position:]])


class PersonalDataScan:
    """Scan of one streamed text; `edits` are final: no later text can change them."""

    def __init__(self, finder: PersonalDataFinder) -> None:
        self.finder = finder
        self.edits: list[Edit] = []
        self.text = ""
        """The text that may still become a match, after one character for the look-behind."""
        self.offset = 0
        self.position = 0

    def feed(self, text: str) -> int:
        """Take more text and its final edits; return how many characters at its end are undecided."""
        text, at = self.text + text, self.position
        limit = self.find_open_match(text, at)
        for edit in self.finder.find_edits(text, at):
            if edit.start >= limit:
                break
            self.edits.append(Edit(edit.start + self.offset, edit.end + self.offset, edit.text))
            at = edit.end
            if at > limit:
                limit = self.find_open_match(text, at)
        keep = max(limit - 1, 0)
        self.text, self.position = text[keep:], max(limit, at) - keep
        self.offset += keep
        return len(text) - limit

    def find_open_match(self, text: str, start: int) -> int:
        """Return where the text's end may become a match, from `start` on; else the text's length."""
        begun = self.finder.prefix_regex.search(text, max(start, len(text) - self.finder.max_length))
        return begun.start() if begun else len(text)

    def close(self) -> None:
        for edit in self.finder.find_edits(self.text, self.position):
            self.edits.append(Edit(edit.start + self.offset, edit.end + self.offset, edit.text))


@lru_cache(maxsize=32)
def get_personal_data_finder(kinds: tuple[str, ...]) -> PersonalDataFinder:
    return PersonalDataFinder(kinds)
