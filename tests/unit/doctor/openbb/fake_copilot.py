"""A small server that OpenBB's clients have nothing to complain of. A test spoils one thing of it."""

import json
from dataclasses import dataclass, field
from typing import Any

from rightseat.http.reply import Receive, Send

Json = dict[str, Any]
ORIGINS = (
    "https://pro.openbb.co",
    "https://pro.openbb.dev",
    "http://localhost",
    "http://localhost:1420",
    "http://localhost:5050",
)


def make_agents_json() -> Json:
    about = {"name": "Ada", "description": "Knows prices", "image": "/ada.png"}
    options = {"label": "Depth", "type": "select", "options": [{"label": "Deep", "value": "deep"}]}
    features = {"streaming": True, "feedback": True, "depth": options}
    endpoints = {"query": "/v1/query", "feedback": "/v1/feedback"}
    return {"ada": {**about, "features": features, "endpoints": endpoints, "models": [{"id": "m", "name": "M"}]}}


def format_sse(*events: tuple[str, Any], line_end: str = "\n") -> bytes:
    lines = [f"event: {name}{line_end}data: {json.dumps(data)}{line_end}{line_end}" for name, data in events]
    return "".join(lines).encode()


def format_text_chunks(*words: str) -> bytes:
    return format_sse(*(("copilotMessageChunk", {"delta": word}) for word in words))


def make_source_arguments(body: Json) -> Json:
    """The arguments that today's client takes for the first widget."""
    widget = body["widgets"]["primary"][0]
    source = {"widget_uuid": widget["uuid"], "origin": widget["origin"], "id": widget["widget_id"]}
    return {"data_sources": [{**source, "input_args": {}}]}


def make_widget_call(body: Json) -> Json:
    if isinstance(body["widgets"], list):
        return {
            "function": "get_widget_data",
            "input_arguments": {"widget_uuid": body["widgets"][0]["uuid"]},
            "copilot_function_call_arguments": {"kept": True},
        }
    return {
        "function": "get_widget_data",
        "input_arguments": make_source_arguments(body),
        "extra_state": {"copilot_function_call_arguments": {}},
    }


@dataclass
class FakeCopilotServer:
    agents: Any = field(default_factory=make_agents_json)
    copilots: Any = None
    cors: Json = field(default_factory=lambda: {"access-control-expose-headers": "X-Trace-Id"})
    origins: tuple[str, ...] = ORIGINS
    allowed: str = "content-type, x-trace-id, x-api-key"
    network: bool = True
    preflight: int = 200
    api_key: str = ""
    spare: dict[str, tuple[int, str, bytes]] = field(default_factory=dict)
    """Answers in the place of the right one: by path, or for `plain`, `call`, `after`, `empty`, `loose`."""
    query_bodies: list[Json] = field(default_factory=list)

    async def __call__(self, scope: Any, receive: Receive, send: Send) -> None:
        headers = {name.decode(): value.decode() for name, value in scope["headers"]}
        body = b""
        while (message := await receive())["type"] == "http.request":
            body += message.get("body", b"")
            if not message.get("more_body"):
                break
        status, kind, answer = self.make_response(scope["method"], scope["path"], headers, body)
        sent = {**self.make_cors_headers(scope["method"], headers), "content-type": kind}
        named = [(name.encode(), value.encode()) for name, value in sent.items()]
        await send({"type": "http.response.start", "status": status, "headers": named})
        await send({"type": "http.response.body", "body": answer})

    def make_cors_headers(self, method: str, headers: Json) -> Json:
        cors_headers = dict(self.cors)
        if headers.get("origin") in self.origins:
            cors_headers.setdefault("access-control-allow-origin", headers["origin"])
        if method == "OPTIONS":
            cors_headers |= {"access-control-allow-headers": self.allowed}
            cors_headers |= {"access-control-allow-private-network": "true"} if self.network else {}
        return cors_headers

    def make_response(self, method: str, path: str, headers: Json, body: bytes) -> tuple[int, str, bytes]:
        if method == "OPTIONS":
            return self.preflight, "text/plain", b""
        if self.api_key and headers.get("x-api-key") != self.api_key:
            return 401, "application/json", b"{}"
        if path in self.spare:
            return self.spare[path]
        match path:
            case "/agents.json":
                return make_listing_response(self.agents)
            case "/copilots.json":
                return make_listing_response(self.copilots)
            case "/v1/feedback":
                return 200, "application/json", b"{}"
            case _:
                return self.answer_query(json.loads(body))

    def answer_query(self, body: Json) -> tuple[int, str, bytes]:
        self.query_bodies.append(body)
        stage, right = make_valid_answer(body)
        if stage == "empty":
            return self.spare.get(stage, (422, "application/json", right))
        return self.spare.get(stage, (200, "text/event-stream; charset=utf-8", right))


def make_valid_answer(body: Json) -> tuple[str, bytes]:
    messages = body["messages"]
    if not messages:
        return "empty", b'{"detail": "messages list cannot be empty."}'
    if "something_new" in body:
        return "loose", format_text_chunks("ok")
    if messages[-1]["role"] == "tool":
        return "after", format_text_chunks("It was ", "41.75.")
    if "closing price" in messages[-1]["content"]:
        return "call", format_sse(("copilotFunctionCall", make_widget_call(body)))
    return "plain", format_text_chunks("one ", "two")


def make_listing_response(value: Any) -> tuple[int, str, bytes]:
    return (404, "text/plain", b"") if value is None else (200, "application/json", json.dumps(value).encode())
