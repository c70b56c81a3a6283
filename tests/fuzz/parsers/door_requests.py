"""Requests at every door: heads, and bodies in JSON or multipart, in this process without sockets.

An input is an HTTP request without its version: `POST /path`, header lines, an empty line, the body.
"""

import random
from collections.abc import Iterator

from rightseat.http.endpoint import Route
from rightseat.wiring.lookup import load_all
from tests.fuzz.parsers.door_app import DoorApp
from tests.fuzz.parsers.target import ParserTarget, mutate_json, require
from tests.fuzz.valid_requests import CHAT_PATH

# What is not set up here, or what this model cannot do: the answer says so with these statuses, as it should.
DECLARED = {501: b'"not_supported_error"', 503: b"not_configured"}
CANARY = b'{"messages":[{"role":"user","content":"add"}]}'
CANARY_EVERY = 100
METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")


class DoorRequests(ParserTarget):
    name = "doors"
    traced = ("doors", "http", "server/app.py", "types", "engine", "runtime")
    words = (
        *(b"content-type: application/json\n", b"content-type: multipart/form-data; boundary=x\n"),
        *(b"accept: text/event-stream\n",),
        *(b"--x\r\n", b"--x--\r\n", b'Content-Disposition: form-data; name="file"; filename="a"\r\n\r\n'),
        *(b"origin: null\n",),
        *(b'"role":"user"', b'"role":"tool"', b'"content":', b'"tool_calls":['),
        *(b'"type":"function"', b'"parameters":{'),
        *(b'"$ref":"#"', b'"stream":true', b'"messages":[', b'"tools":['),
        *(b'"query":"{hello}"', b'"method":"agent/run"'),
        *(b'"jsonrpc":"2.0"', b'"id":1', b'"params":{', b'"image_url"'),
        *(b'"url":"data:image/png;base64,AA=="', b'"file_id"'),
        *(b"/v1/chat/completions", b"/agui/default", b"/copilotkit", b"/mcp"),
        *(b"/v1/query", b"x-thread-id: t\n", b"?a=%ff"),
        *(b'"widgets":{"primary":[', b'"context":[', b'"resume":['),
        *(b'"response_format":{"type":"json_schema"', b"\\ud800"),
    )
    base_seconds = 2.0
    seconds_per_byte = 200e-6
    max_bytes = 200_000

    def __init__(self) -> None:
        self._doors = DoorApp()
        self._count = 0

    def close(self) -> None:
        self._doors.close()

    def parse(self, data: bytes) -> None:
        method, target, headers, body = split_request(data)
        answer = self._doors.send(method, target, headers, body)
        declared = answer.status in DECLARED and DECLARED[answer.status] in answer.body
        require(answer.status < 500 or declared, "a request is answered with a server error", answer)
        require(b'"code":"internal"' not in answer.body, "a run failed inside", answer)

    def check(self, data: bytes) -> None:
        self.parse(data)
        self._count += 1
        if self._count % CANARY_EVERY == 0:
            answer = self._doors.send("POST", CHAT_PATH, (), CANARY)
            require(b"The sum is 3" in answer.body, "an ordinary request fails afterwards", answer)
            require(self._doors.app.runtime.active_runs == 0, "a run goes on without its request")

    def mutate(self, rng: random.Random, data: bytes) -> bytes | None:
        """Change a value of the body, or send the body to another route."""
        head, separator, body = data.partition(b"\n\n")
        if rng.random() < 0.1:
            route = rng.choice(list(self._iter_routes()))
            path = route.path.replace("{agent}", "default").replace("{thread}", "t").replace(":path", "")
            return f"{route.method} {path}".encode() + head[head.find(b"\n") :] + separator + body
        changed = mutate_json(rng, body)
        return None if changed is None else head + separator + changed

    def _iter_routes(self) -> Iterator[Route]:
        for door in load_all("doors"):
            yield from door.routes


def split_request(data: bytes) -> tuple[str, str, list[tuple[str, str]], bytes]:
    """Return method, target, headers and body as an HTTP server would hand them over."""
    head, _, body = data.partition(b"\n\n")
    first, *lines = head.decode("latin-1").split("\n")
    method, _, target = first.partition(" ")
    # A server refuses control characters in a head itself.
    target = "".join(letter for letter in target.split(" ")[0] if letter > " ")
    headers = []
    for line in lines:
        name, _, value = line.partition(":")
        name = "".join(letter for letter in name if letter.isascii() and (letter.isalnum() or letter in "-_")).lower()
        if name and name not in ("host", "content-length"):
            headers.append((name, "".join(letter for letter in value.strip() if letter >= " ")))
    return method if method in METHODS else "POST", "/" + target.lstrip("/"), headers, body
