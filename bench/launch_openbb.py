"""`python launch_openbb.py UPSTREAM`: an OpenBB agent on the stack of the official examples, and says where.

openbb-ai for the request and the events, sse-starlette for the stream, the openai package for the model: as
the official vanilla agent, with a client of its own for every query as there. Run by the Python of its own
environment, where these packages are.
"""

import importlib
import os
import socket
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

# Installed in this peer's environment only, so the project's type checker cannot know them.
fastapi: Any = importlib.import_module("fastapi")
cors: Any = importlib.import_module("fastapi.middleware.cors")
uvicorn: Any = importlib.import_module("uvicorn")
openai: Any = importlib.import_module("openai")
openbb: Any = importlib.import_module("openbb_ai")
models: Any = importlib.import_module("openbb_ai.models")
sse: Any = importlib.import_module("sse_starlette.sse")

ROLES = {"human": "user", "ai": "assistant"}
SYSTEM = "You help with finance."


def make_messages(messages: Any) -> list[dict[str, str]]:
    history = [
        {"role": ROLES[str(message.role.value)], "content": message.content}
        for message in messages
        if str(message.role.value) in ROLES and isinstance(message.content, str)
    ]
    return [{"role": "system", "content": SYSTEM}, *history]


async def stream_answer(messages: list[dict[str, str]]) -> AsyncIterator[Any]:
    client = openai.AsyncOpenAI()
    stream = await client.chat.completions.create(model="bench", messages=messages, stream=True)
    async for chunk in stream:
        if chunk.choices and (text := chunk.choices[0].delta.content):
            yield openbb.message_chunk(text).model_dump()


async def handle_query(request: Any) -> Any:
    return sse.EventSourceResponse(
        content=stream_answer(make_messages(request.messages)), media_type="text/event-stream"
    )


# What FastAPI reads the body by; the name itself is unknown to the project's type checker.
handle_query.__annotations__["request"] = models.QueryRequest


def make_app(url: str) -> Any:
    @asynccontextmanager
    async def lifespan(_app: Any) -> AsyncIterator[None]:
        # The socket listens already: whoever comes now is served in a moment.
        ready = Path(os.environ["RIGHTSEAT_READY_FILE"])
        fresh = ready.with_suffix(".new")
        fresh.write_text(url)
        fresh.rename(ready)
        yield

    app = fastapi.FastAPI(lifespan=lifespan)
    app.add_middleware(
        cors.CORSMiddleware,
        allow_origins=["https://pro.openbb.co"],
        allow_credentials=True,
        allow_methods=["*"],
        allow_headers=["*"],
    )
    app.post("/v1/query", response_model=None)(handle_query)
    return app


def main() -> None:
    os.environ["OPENAI_BASE_URL"] = f"{sys.argv[1]}/v1"
    bound = socket.create_server(("127.0.0.1", 0), backlog=2048)
    app = make_app(f"http://127.0.0.1:{bound.getsockname()[1]}")
    # As ours is run: no line in the log per request.
    uvicorn.Server(uvicorn.Config(app, log_level="warning", access_log=False)).run(sockets=[bound])


if __name__ == "__main__":
    main()
