"""Mutated requests by number: the same number is the same request, so that a failure can be sent again."""

import json
import random
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from tests.fuzz.valid import (
    CHAT,
    EMBEDDINGS,
    RUN,
    VALID_CHAT,
    VALID_COMPLETION,
    VALID_EMBEDDING,
    VALID_RUN,
    places,
    put,
)

Json = dict[str, Any]
BASES: dict[str, tuple[tuple[str, Json], ...]] = {
    "openai": (
        (CHAT, VALID_CHAT),
        (CHAT, VALID_CHAT | {"stream": False, "n": 1}),
        ("/v1/completions", VALID_COMPLETION),
        (EMBEDDINGS, VALID_EMBEDDING),
        ("/v1/models", {}),
    ),
    "agui": ((RUN, VALID_RUN), (RUN, VALID_RUN | {"state": None, "tools": []})),
}
TEXTS: tuple[str, ...] = (
    "",
    "\0",
    "\r\n\r\n",
    "a" * 5000,
    "é漢😀",
    "\ud800",
    "^(a+)+$",
    "#/",
    "file:///etc/passwd",
    "add",
    "look",
)
NAMES: tuple[str, ...] = (
    "call_" + "0" * 32 + "_1",
    "default",
    "user",
    "tool",
    "function",
    "{user}",
    "http://127.0.0.1:9/",
)
NUMBERS: tuple[float, ...] = (0, -1, 1, 2, 9, 2**31, 2**63, -(2**63) - 1, 2**70, 0.5, -0.0, 1e308, 5e-324)
OTHERS: tuple[Any, ...] = (None, True, False, [], {}, [[]], [None], {"": None}, {"type": "text"}, {"$ref": "#"})
HEADERS: tuple[tuple[str, str], ...] = (
    ("Content-Type", "text/plain"),
    ("Content-Type", "application/json; charset=utf-16"),
    ("Content-Type", ""),
    ("Content-Encoding", "gzip"),
    ("Origin", "https://elsewhere.example"),
    ("Origin", "null"),
    ("Origin", "http://localhost:3000"),
    ("X-Thread-Id", "t" * 200),
    ("X-Thread-Id", "thread"),
    ("X-Request-Id", "\xff"),
    ("Authorization", "Bearer wrong"),
    ("Accept", "image/png"),
    ("Cookie", "a=b; " * 200),
    ("Host", "elsewhere.example"),
    ("Accept-Encoding", "gzip"),
)
METHODS = ("GET", "HEAD", "PUT", "PATCH", "DELETE", "OPTIONS", "QUERY")


@dataclass(frozen=True, slots=True)
class Mutant:
    method: str
    target: str
    body: bytes
    headers: dict[str, str] = field(default_factory=lambda: {"Content-Type": "application/json"})


def mutant(door: str, number: int) -> Mutant:
    """Between one and three changes to a valid request, at most one of them to its bytes."""
    rng = random.Random(f"{door} {number}")
    path, value = rng.choice(BASES[door])
    changed: Any = value
    for _ in range(rng.randint(1, 3)):
        changed = rng.choice(SHAPES)(rng, changed)
    # A lone surrogate has no bytes; the escape that JSON writes for it has.
    made = Mutant("POST", path, json.dumps(changed).encode())
    return rng.choice(WIRES)(rng, made)


def junk(rng: random.Random) -> Any:
    if rng.random() < 0.15:
        inner = junk(rng)
        return rng.choice(([inner] * 3, {rng.choice(TEXTS): inner}, [[[[inner]]]]))
    return rng.choice(rng.choice((TEXTS, NAMES, NUMBERS, OTHERS)))


def place(rng: random.Random, value: Any) -> tuple[Any, ...]:
    return rng.choice(list(places(value)))


def at(value: Any, where: tuple[Any, ...]) -> Any:
    for step in where:
        value = value[step]
    return value


def replaced(rng: random.Random, value: Any) -> Any:
    return put(value, place(rng, value), junk(rng))


def grown(rng: random.Random, value: Any) -> Any:
    """One more field or item."""
    where = place(rng, value)
    inner = at(value, where)
    if isinstance(inner, dict):
        return put(value, where, {**inner, rng.choice(TEXTS): junk(rng)})
    return put(value, where, [*inner, junk(rng)] if isinstance(inner, list) else [inner, junk(rng)])


def shrunk(rng: random.Random, value: Any) -> Any:
    """A field or item less."""
    where = place(rng, value)
    inner = at(value, where)
    if isinstance(inner, dict) and inner:
        gone = rng.choice(list(inner))
        return put(value, where, {name: item for name, item in inner.items() if name != gone})
    return put(value, where, inner[:-1] if isinstance(inner, list | str) else None)


def moved(rng: random.Random, value: Any) -> Any:
    """What stands at one place, at another."""
    return put(value, place(rng, value), at(value, place(rng, value)))


def repeated(rng: random.Random, value: Any) -> Any:
    where = place(rng, value)
    inner = at(value, where)
    return put(value, where, inner * rng.choice((2, 50)) if isinstance(inner, list | str) else [inner] * 2)


def as_it_is(rng: random.Random, made: Mutant) -> Mutant:
    return made


def cut(rng: random.Random, made: Mutant) -> Mutant:
    return replace(made, body=made.body[: rng.randrange(len(made.body) + 1)])


def broken(rng: random.Random, made: Mutant) -> Mutant:
    where = rng.randrange(len(made.body) + 1)
    return replace(made, body=made.body[:where] + rng.randbytes(rng.randint(1, 4)) + made.body[where + 2 :])


def deep(rng: random.Random, made: Mutant) -> Mutant:
    bracket = rng.choice((b"[", b'{"a":'))
    return replace(made, body=made.body[:-1] + b',"x":' + bracket * rng.choice((50, 5000)))


def headed(rng: random.Random, made: Mutant) -> Mutant:
    return replace(made, headers={**made.headers, **dict([rng.choice(HEADERS)])})


def methodical(rng: random.Random, made: Mutant) -> Mutant:
    return replace(made, method=rng.choice(METHODS))


def strayed(rng: random.Random, made: Mutant) -> Mutant:
    tail = rng.choice(("/", "//", "/../x", "%00", "%2e%2e", "?a=b&a", "/%ff", "/" + "a" * 3000, "x"))
    return replace(made, target=made.target + tail)


SHAPES: tuple[Callable[[random.Random, Any], Any], ...] = (replaced, replaced, grown, shrunk, moved, repeated)
WIRES: tuple[Callable[[random.Random, Mutant], Mutant], ...] = (
    *[as_it_is] * 8,
    cut,
    broken,
    deep,
    headed,
    methodical,
    strayed,
)
