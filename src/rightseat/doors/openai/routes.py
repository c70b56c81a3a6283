"""OpenAI's routes."""

from __future__ import annotations

from rightseat.door import Door, Host, Request, Route, whole
from rightseat.doors.openai.read import read
from rightseat.doors.openai.write import complete, encode, refuse, stream
from rightseat.pump import Reply


def chat(request: Request, host: Host) -> Reply:
    asked = read(request, host)
    events = host.run(asked.turn)
    return stream(events, asked) if asked.stream else complete(events, asked)


def models(request: Request, host: Host) -> Reply:
    data = [
        {"id": name, "object": "model", "created": 0, "owned_by": "rightseat"} for name in host.responders
    ]
    return whole(200, encode({"object": "list", "data": data}))


door = Door(
    name="openai",
    routes=(Route("POST", "/v1/chat/completions", chat), Route("GET", "/v1/models", models)),
    refuse=refuse,
    hint=lambda base: f"export OPENAI_BASE_URL={base}/v1",
)
