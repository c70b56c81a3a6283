"""`FakeLlamaServer`: a llama-server with a small context window, whose tokens are words and single signs."""

import json
import re
from typing import Any

from rightseat.models.llamacpp.template import load_chatml
from tests.kit.app_server import serve_app

TOKEN_PATTERN = re.compile(r"<\|[a-z_]+\|>|\w+|[^\w ]")


def split_tokens(text: str) -> list[str]:
    return TOKEN_PATTERN.findall(text)


class FakeLlamaServer:
    """An ASGI app: `prompts` are those that it answered, `refused` those that did not fit, `tokenized` the texts that
    it counted. Enter `serve()` for its URL."""

    def __init__(self, context: int = 512, answer: str = "ok") -> None:
        self.context = context
        self.answer = answer
        self.prompts: list[str] = []
        self.requests: list[dict[str, Any]] = []
        self.refused: list[str] = []
        self.tokenized: list[str] = []

    def serve(self) -> Any:
        return serve_app(self)

    async def __call__(self, scope: dict[str, Any], receive: Any, send: Any) -> None:
        body = b""
        more = True
        while more:
            message = await receive()
            body += message.get("body", b"")
            more = message.get("more_body", False)
        request = json.loads(body) if body else {}
        match scope["path"]:
            case "/health":
                await reply_json(send, {"status": "ok"})
            case "/props":
                settings = {"n_ctx": self.context}
                await reply_json(send, {"chat_template": load_chatml(), "default_generation_settings": settings})
            case "/tokenize":
                self.tokenized.append(request["content"])
                tokens = list(range(len(split_tokens(request["content"]))))
                await reply_json(send, {"tokens": tokens})
            case "/completion":
                await self.complete(request, send)
            case _:
                await reply_json(send, {"error": {"code": 404, "message": "no such path"}}, 404)

    async def complete(self, request: dict[str, Any], send: Any) -> None:
        prompt = request["prompt"]
        tokens = len(split_tokens(prompt)) if isinstance(prompt, str) else len(prompt)
        if tokens >= self.context:
            self.refused.append(prompt)
            error = {"code": 400, "type": "exceed_context_size_error", "message": "too long"}
            await reply_json(send, {"error": error | {"n_prompt_tokens": tokens, "n_ctx": self.context}}, 400)
            return
        self.prompts.append(prompt)
        self.requests.append(request)
        chunks = [
            {"content": self.answer, "stop": False},
            {"content": "", "stop": True, "stop_type": "eos", "tokens_evaluated": tokens, "tokens_predicted": 1},
        ]
        data = "".join(f"data: {json.dumps(chunk)}\n\n" for chunk in chunks).encode()
        await reply(send, data, b"text/event-stream", 200)


async def reply_json(send: Any, value: Any, status: int = 200) -> None:
    await reply(send, json.dumps(value).encode(), b"application/json", status)


async def reply(send: Any, body: bytes, kind: bytes, status: int) -> None:
    await send({"type": "http.response.start", "status": status, "headers": [(b"content-type", kind)]})
    await send({"type": "http.response.body", "body": body})
