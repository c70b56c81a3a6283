"""`ModelServer`: a server with OpenAI's API and Ollama's list of models, which answer, call tools and take images."""

from collections.abc import Collection

from tests.kit.answers import answer_tokens, answer_tool_call, write_json
from tests.kit.connection import Connection, ReceivedRequest
from tests.kit.upstream import FakeUpstream

TOOL_ARGUMENTS = '{"city": "Paris"}'


class ModelServer(FakeUpstream):
    """Answers as its models would. `key`: the only one that it takes; `abilities`: any of `tools` and `images`."""

    def __init__(
        self,
        models: Collection[str] = ("qwen3:8b", "llama3.2:3b"),
        *,
        key: str = "",
        abilities: Collection[str] = ("tools",),
        says: str = "Hello from the model server.",
    ) -> None:
        super().__init__()
        self.models = models
        self.key = key
        self.abilities = abilities
        self.says = says
        self.reply = self.answer

    async def answer(self, connection: Connection, request: ReceivedRequest) -> None:
        if self.key and request.headers.get("authorization") != f"Bearer {self.key}":
            await write_json(connection, 401, {"error": {"message": "wrong key", "code": "invalid_api_key"}})
        elif request.target == "/api/tags":
            models = [{"name": name, "size": 5_200_000_000} for name in self.models]
            await write_json(connection, 200, {"models": models})
        elif request.target == "/v1/models":
            await write_json(connection, 200, {"data": [{"id": name, "object": "model"} for name in self.models]})
        elif request.target == "/v1/chat/completions":
            await self.answer_chat(connection, request)
        else:
            await write_json(connection, 404, {"error": {"message": "no such path"}})

    async def answer_chat(self, connection: Connection, request: ReceivedRequest) -> None:
        if request.json["model"] not in self.models:
            await write_json(connection, 404, {"error": {"message": "no such model", "code": "model_not_found"}})
        elif b"image_url" in request.body and "images" not in self.abilities:
            await write_json(connection, 400, {"error": {"message": "image input is not supported"}})
        elif request.last_user_text().startswith("What time") and "tools" in self.abilities:
            await answer_tool_call("get_time", TOOL_ARGUMENTS)(connection, request)
        else:
            words = self.says.split(" ")
            await answer_tokens([f"{word} " for word in words])(connection, request)
