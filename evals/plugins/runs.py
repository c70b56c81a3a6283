"""The embedded model with two plugins, asked through OpenAI's door."""

import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from evals.plugins.sample_api import Question, SampleApi, serve_api, write_plugins
from rightseat.models.llamacpp import weights
from tests.kit.client import RawHttpClient
from tests.kit.server import RightseatProcess
from tests.kit.timeouts import HANG_TIMEOUT


@dataclass(frozen=True)
class PluginAnswer:
    requests: tuple[str, ...]
    """What reached the API."""
    text: str

    def has_right_operation(self, question: Question) -> bool:
        """The right operation, whatever was asked of it."""
        return any(self.get_resource(request) == self.get_resource(f"GET {question.path}") for request in self.requests)

    def has_exact_request(self, question: Question) -> bool:
        return f"GET {question.path}" in self.requests

    def has_expected_text(self, question: Question) -> bool:
        return question.answer in self.text

    @staticmethod
    def get_resource(request: str) -> str:
        return request.partition("?")[0].split("/")[1]


@asynccontextmanager
async def serve_plugins() -> AsyncIterator[tuple[RightseatProcess, SampleApi]]:
    with tempfile.TemporaryDirectory() as folder:
        async with serve_api() as made:
            plugins = write_plugins(Path(folder) / "plugins", made.url)
            config = f'[models.default]\nspec = "local"\n[[plugins]]\npath = "{plugins}"\nallow = ["127.0.0.1"]\n'
            env = {"RIGHTSEAT_CACHE": str(weights.cache_folder())}
            async with RightseatProcess(config=config, env=env, start_timeout=5 * HANG_TIMEOUT) as server:
                yield server, made


async def ask_question(server: RightseatProcess, sample_api: SampleApi, question: Question) -> PluginAnswer:
    sample_api.requests.clear()
    body = {"messages": [{"role": "user", "content": question.text}], "temperature": 0, "max_tokens": 160}
    async with RawHttpClient(server.url, timeout=5 * HANG_TIMEOUT) as client:
        await client.post_json("/v1/chat/completions", body)
        await client.read_head()
        found = await client.read_json()
    text = found["choices"][0]["message"]["content"] if "choices" in found else str(found)
    return PluginAnswer(tuple(sample_api.requests), text or "")
