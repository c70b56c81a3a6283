"""The embedded model with two plugins, asked through OpenAI's door."""

import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from evals.plugins.desk import Api, Question, api, written
from rightseat.models.llamacpp import weights
from tests.kit.client import Client
from tests.kit.patience import STUCK
from tests.kit.server import Server


@dataclass(frozen=True)
class Seen:
    requests: tuple[str, ...]
    """What reached the API."""
    text: str

    def right(self, question: Question) -> bool:
        """The right operation, whatever was asked of it."""
        return any(self.of(request) == self.of(f"GET {question.path}") for request in self.requests)

    def exact(self, question: Question) -> bool:
        return f"GET {question.path}" in self.requests

    def answered(self, question: Question) -> bool:
        return question.answer in self.text

    @staticmethod
    def of(request: str) -> str:
        return request.partition("?")[0].split("/")[1]


@asynccontextmanager
async def desk() -> AsyncIterator[tuple[Server, Api]]:
    with tempfile.TemporaryDirectory() as folder:
        async with api() as made:
            plugins = written(Path(folder) / "plugins", made.url)
            config = f'[models.default]\nspec = "local"\n[[plugins]]\npath = "{plugins}"\nallow = ["127.0.0.1"]\n'
            env = {"RIGHTSEAT_CACHE": str(weights.cache_folder())}
            async with Server(config=config, env=env, patience=5 * STUCK) as server:
                yield server, made


async def ask(server: Server, made: Api, question: Question) -> Seen:
    made.asked.clear()
    body = {"messages": [{"role": "user", "content": question.text}], "temperature": 0, "max_tokens": 160}
    async with Client(server.url, patience=5 * STUCK) as client:
        await client.post("/v1/chat/completions", body)
        await client.head()
        found = await client.json()
    text = found["choices"][0]["message"]["content"] if "choices" in found else str(found)
    return Seen(tuple(made.asked), text or "")
