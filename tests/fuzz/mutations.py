"""Mutated requests by number: the same number is the same request, so that a failure can be sent again."""

import json
import random
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from tests.fuzz.valid_requests import (
    CHAT_PATH,
    EMBEDDINGS_PATH,
    RUN_PATH,
    VALID_CHAT,
    VALID_COMPLETION,
    VALID_EMBEDDING,
    VALID_LEGACY_CHAT,
    VALID_OTHER_CHAT,
    VALID_RUN,
    list_paths,
    set_at,
)

Json = dict[str, Any]
VALID_REQUESTS: dict[str, tuple[tuple[str, Json], ...]] = {
    "openai": (
        (CHAT_PATH, VALID_CHAT),
        (CHAT_PATH, VALID_CHAT | {"stream": False, "n": 1}),
        (CHAT_PATH, VALID_OTHER_CHAT),
        (CHAT_PATH, VALID_LEGACY_CHAT),
        ("/v1/completions", VALID_COMPLETION),
        (EMBEDDINGS_PATH, VALID_EMBEDDING),
        ("/v1/models", {}),
    ),
    "agui": ((RUN_PATH, VALID_RUN), (RUN_PATH, VALID_RUN | {"state": None, "tools": []})),
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
OTHER_VALUES: tuple[Any, ...] = (None, True, False, [], {}, [[]], [None], {"": None}, {"type": "text"}, {"$ref": "#"})
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
class MutatedRequest:
    method: str
    target: str
    body: bytes
    headers: dict[str, str] = field(default_factory=lambda: {"Content-Type": "application/json"})


def mutate_request(door: str, number: int) -> MutatedRequest:
    """Between one and three changes to a valid request, at most one of them to its bytes."""
    rng = random.Random(f"{door} {number}")
    path, value = rng.choice(VALID_REQUESTS[door])
    body: Any = value
    for _ in range(rng.randint(1, 3)):
        body = rng.choice(VALUE_MUTATIONS)(rng, body)
    # A lone surrogate has no bytes; the escape that JSON writes for it has.
    request = MutatedRequest("POST", path, json.dumps(body).encode())
    return rng.choice(REQUEST_MUTATIONS)(rng, request)


def make_junk(rng: random.Random) -> Any:
    if rng.random() < 0.15:
        inner = make_junk(rng)
        return rng.choice(([inner] * 3, {rng.choice(TEXTS): inner}, [[[[inner]]]]))
    return rng.choice(rng.choice((TEXTS, NAMES, NUMBERS, OTHER_VALUES)))


def choose_path(rng: random.Random, value: Any) -> tuple[Any, ...]:
    return rng.choice(list(list_paths(value)))


def get_at(value: Any, path: tuple[Any, ...]) -> Any:
    for step in path:
        value = value[step]
    return value


def replace_value(rng: random.Random, value: Any) -> Any:
    return set_at(value, choose_path(rng, value), make_junk(rng))


def add_item(rng: random.Random, value: Any) -> Any:
    """One more field or item."""
    path = choose_path(rng, value)
    inner = get_at(value, path)
    if isinstance(inner, dict):
        return set_at(value, path, {**inner, rng.choice(TEXTS): make_junk(rng)})
    return set_at(value, path, [*inner, make_junk(rng)] if isinstance(inner, list) else [inner, make_junk(rng)])


def remove_item(rng: random.Random, value: Any) -> Any:
    """A field or item less."""
    path = choose_path(rng, value)
    inner = get_at(value, path)
    if isinstance(inner, dict) and inner:
        removed = rng.choice(list(inner))
        return set_at(value, path, {name: item for name, item in inner.items() if name != removed})
    return set_at(value, path, inner[:-1] if isinstance(inner, list | str) else None)


def copy_value(rng: random.Random, value: Any) -> Any:
    """What stands at one place, at another."""
    return set_at(value, choose_path(rng, value), get_at(value, choose_path(rng, value)))


def repeat_value(rng: random.Random, value: Any) -> Any:
    path = choose_path(rng, value)
    inner = get_at(value, path)
    return set_at(value, path, inner * rng.choice((2, 50)) if isinstance(inner, list | str) else [inner] * 2)


def keep_request(rng: random.Random, request: MutatedRequest) -> MutatedRequest:
    return request


def truncate_body(rng: random.Random, request: MutatedRequest) -> MutatedRequest:
    return replace(request, body=request.body[: rng.randrange(len(request.body) + 1)])


def corrupt_body(rng: random.Random, request: MutatedRequest) -> MutatedRequest:
    offset = rng.randrange(len(request.body) + 1)
    return replace(request, body=request.body[:offset] + rng.randbytes(rng.randint(1, 4)) + request.body[offset + 2 :])


def nest_body(rng: random.Random, request: MutatedRequest) -> MutatedRequest:
    bracket = rng.choice((b"[", b'{"a":'))
    return replace(request, body=request.body[:-1] + b',"x":' + bracket * rng.choice((50, 5000)))


def change_header(rng: random.Random, request: MutatedRequest) -> MutatedRequest:
    return replace(request, headers={**request.headers, **dict([rng.choice(HEADERS)])})


def change_method(rng: random.Random, request: MutatedRequest) -> MutatedRequest:
    return replace(request, method=rng.choice(METHODS))


def change_target(rng: random.Random, request: MutatedRequest) -> MutatedRequest:
    tail = rng.choice(("/", "//", "/../x", "%00", "%2e%2e", "?a=b&a", "/%ff", "/" + "a" * 3000, "x"))
    return replace(request, target=request.target + tail)


VALUE_MUTATIONS: tuple[Callable[[random.Random, Any], Any], ...] = (
    replace_value,
    replace_value,
    add_item,
    remove_item,
    copy_value,
    repeat_value,
)
REQUEST_MUTATIONS: tuple[Callable[[random.Random, MutatedRequest], MutatedRequest], ...] = (
    *[keep_request] * 8,
    truncate_body,
    corrupt_body,
    nest_body,
    change_header,
    change_method,
    change_target,
)
