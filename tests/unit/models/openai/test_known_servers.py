"""`ollama:NAME`, `lmstudio:NAME` and `vllm:NAME`: OpenAI's API at a known address, or at another one."""

import pytest

from rightseat.config.load import load_config
from rightseat.errors import UpstreamRefused
from rightseat.models.openai.known_servers import KNOWN_SERVERS
from rightseat.types.messages import text_message
from rightseat.types.model import Prompt
from rightseat.wiring.from_config import build_runtime
from rightseat.wiring.lookup import make_model
from tests.kit.model_server import ModelServer

PROMPT = Prompt(messages=(text_message("user", "Hello"),))
ADDRESSES = {
    "ollama": "http://127.0.0.1:11434/v1",
    "lmstudio": "http://127.0.0.1:1234/v1",
    "vllm": "http://127.0.0.1:8000/v1",
}


@pytest.mark.demand("models.known_addresses")
@pytest.mark.parametrize("kind", ADDRESSES)
def test_a_spec_names_a_known_address(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OLLAMA_HOST", raising=False)
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    assert make_model(f"{kind}:qwen3:8b").address == ADDRESSES[kind]
    assert make_model(f"{kind}:qwen3", {"base_url": "http://10.0.0.1:80/v1"}).address == "http://10.0.0.1/v1"


@pytest.mark.parametrize(
    ("host", "address"),
    [
        ("", "http://127.0.0.1:11434/v1"),
        ("0.0.0.0", "http://127.0.0.1:11434/v1"),
        ("box.lan:80", "http://box.lan:80/v1"),
        (":9", "http://127.0.0.1:9/v1"),
        ("https://[::1]:9/", "https://[::1]:9/v1"),
        ("not a host", "http://127.0.0.1:11434/v1"),
    ],
)
def test_ollama_is_found_where_its_own_variable_says(host: str, address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OLLAMA_HOST", host)
    assert KNOWN_SERVERS["ollama"].find_base_url() == address


@pytest.mark.io
@pytest.mark.demand("models.known_addresses")
@pytest.mark.parametrize("kind", ADDRESSES)
async def test_a_known_server_answers_and_gets_no_key_of_another(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-openai")
    async with ModelServer() as upstream:
        model = make_model(f"{kind}:qwen3:8b", {"base_url": upstream.base_url})
        chunks = [chunk async for chunk in model.stream(PROMPT)]
        await model.close()
        [request] = upstream.requests
    assert chunks
    assert request.json["model"] == "qwen3:8b"
    assert "authorization" not in request.headers


@pytest.mark.io
async def test_a_server_that_does_not_run_is_named_with_its_start() -> None:
    model = make_model("ollama:x", {"base_url": "http://127.0.0.1:1/v1", "tries": 1})
    with pytest.raises(UpstreamRefused, match="Ollama cannot be reached: start it with `ollama serve`"):
        [chunk async for chunk in model.stream(PROMPT)]
    await model.close()


def test_a_runtime_takes_such_a_spec_by_the_command_line() -> None:
    runtime = build_runtime(load_config(model="lmstudio:qwen3-8b", env={}))
    assistant = runtime.get_assistant(None)
    assert assistant is not None
    assert (assistant.model.info.provider, assistant.model.info.model) == ("lmstudio", "qwen3-8b")
