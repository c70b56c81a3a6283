"""A model whose second call the token limit cuts: the first is kept by whole answers and by streams, at every model."""

import json

import pytest

from rightseat import Runtime
from tests.contract.doors.members import OpenAIClient
from tests.contract.models.cases import CASES
from tests.contract.models.members import MEMBERS, UNSUPPORTED
from tests.kit import answers
from tests.kit.app_server import serve_runtime

pytestmark = [pytest.mark.io, pytest.mark.demand("openai.cut_calls")]

[CASE] = [case for case in CASES if case.name == "length within the second call"]
# Emulated tools have calls of another form: tests/unit/models/openai/test_emulated.py has them.
MODELS = [name for name in MEMBERS if CASE.name not in UNSUPPORTED.get(name, ()) and "by schema" not in name]
MODELS.remove("openai by prompt")


class AddingClient(OpenAIClient):
    """A client with the tool that the models of the suite call."""

    def build_request(self) -> tuple[str, dict[str, object]]:
        path, body = super().build_request()
        return path, body | {"tools": [{"type": "function", "function": {"name": "add"}}]}


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("name", MODELS)
async def test_the_first_call_is_kept(name: str, stream: bool) -> None:
    async with MEMBERS[name](CASE) as model, serve_runtime(Runtime(model=model)) as server:
        seen = await AddingClient(server.url, stream=stream).send_message("2 and 3?")
    tool, arguments = answers.TWO_CALLS[0]
    assert (seen.error, seen.finish_reason) == (None, "length")
    assert list(seen.calls.values()) == [(tool, json.loads(arguments))]
