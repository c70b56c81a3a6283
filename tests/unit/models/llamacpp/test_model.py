"""What only a local model can do: raw texts, tokens, vectors; and when it is ready."""

from typing import Any

import pytest

from rightseat.errors import CallerError, NotConfigured, UpstreamError, UpstreamRefused
from rightseat.http.fetch.fetch import OutboundClient
from rightseat.models.llamacpp import weights
from rightseat.models.llamacpp.child import LaunchOptions
from rightseat.models.llamacpp.client import CompletionChunk
from rightseat.models.llamacpp.control_tokens import ControlTokens
from rightseat.models.llamacpp.embedder import Embedder
from rightseat.models.llamacpp.model import LlamaCppModel, ModelDescription, PromptOptions
from rightseat.models.llamacpp.options import make_attached_model, make_unchecked_model
from rightseat.models.llamacpp.supervision import ManagedServer
from rightseat.models.llamacpp.template import TemplateSources, load_chatml
from rightseat.types.chunks import FinishChunk, ModelChunk, TextChunk
from rightseat.types.messages import ImageMessagePart, Message, TextMessagePart, text_message
from rightseat.types.model import MEDIA_MARKER, Prompt, RawPrompt, SamplingSettings
from tests.kit.waiting import read_into
from tests.unit.models.llamacpp.in_process_server import InProcessServer

FEW = SamplingSettings(max_tokens=8, temperature=0)
END = CompletionChunk(stop=True, stop_type="eos", tokens_evaluated=5, tokens_predicted=2)


def make_model(server: Any, **more: Any) -> LlamaCppModel:
    async def describe_model(server: Any) -> ModelDescription:
        return ModelDescription(TemplateSources(load_chatml()))

    return LlamaCppModel("tiny", server, describe_model, options=PromptOptions(), **more)


@pytest.mark.io
async def test_a_raw_text_starts_it_and_is_answered() -> None:
    server = InProcessServer(CompletionChunk(content="is"), END)
    model = make_model(server)
    server.ready = False
    assert model.ready, "nobody has wanted it yet"
    found: list[ModelChunk] = []
    await read_into(model.stream(Prompt(messages=(), raw=RawPrompt("Paris"))), found)
    assert found[0] == TextChunk("is")
    assert found[-1] == FinishChunk("stop")
    assert server.requests[0]["prompt"] == "Paris"
    assert server.started == 1
    assert not model.ready, "now it is wanted, and down"
    await model.close()
    assert server.closed == 1


@pytest.mark.io
@pytest.mark.parametrize("server_adds_bos", [True, False])
async def test_the_first_token_is_not_doubled(server_adds_bos: bool) -> None:
    class Server(InProcessServer):
        async def tokenize(self, text: str, *, special: bool = True, add: bool = False) -> list[int]:
            return [1] if server_adds_bos else []

    async def describe_model(_server: Any) -> ModelDescription:
        sources = TemplateSources("{{ bos_token }}" + load_chatml(), bos="<s>")
        return ModelDescription(sources, ControlTokens(()))

    server = Server(END)
    model = LlamaCppModel("tiny", server, describe_model, options=PromptOptions())
    await read_into(model.stream(Prompt(messages=(text_message("user", "Hi"),))), [])
    assert server.requests[0]["prompt"].startswith("<s>") is not server_adds_bos


@pytest.mark.io
@pytest.mark.parametrize(("thinking", "ending"), [(None, ":"), (True, ":"), (False, ":<think></think>")])
async def test_thinking_is_switched_in_the_words_of_the_template(thinking: bool | None, ending: str) -> None:
    template = "{% for m in messages %}{{ m.content }}{% endfor %}:"
    template += "{% if enable_thinking is defined and not enable_thinking %}<think></think>{% endif %}"

    async def describe_model(_server: Any) -> ModelDescription:
        return ModelDescription(TemplateSources(template), ControlTokens(()))

    server = InProcessServer(END)
    model = LlamaCppModel("tiny", server, describe_model, options=PromptOptions(thinking=thinking))
    await read_into(model.stream(Prompt(messages=(text_message("user", "Hi"),))), [])
    assert server.requests[0]["prompt"].endswith(f"Hi{ending}")


@pytest.mark.demand("llamacpp.tokenize_detokenize")
@pytest.mark.io
async def test_tokens_as_numbers_and_with_their_texts() -> None:
    model = make_model(InProcessServer())
    assert await model.tokenize("ab") == [97, 98]
    assert await model.tokenize("a", add=True) == [1, 97]
    assert await model.tokenize("a", add=True, pieces=True) == [{"id": 1, "piece": "\x01"}, {"id": 97, "piece": "a"}]
    assert await model.detokenize([97, 98]) == "ab"


@pytest.mark.io
@pytest.mark.parametrize(
    ("fails", "raised"), [(UpstreamError("x"), CallerError), (UpstreamRefused("x"), UpstreamRefused)]
)
async def test_numbers_that_are_no_tokens(fails: Exception, raised: type[Exception]) -> None:
    class Failing(InProcessServer):
        async def detokenize(self, tokens: list[int]) -> str:
            raise fails

    with pytest.raises(raised):
        await make_model(Failing()).detokenize([1 << 30])


@pytest.mark.demand("llamacpp.v1_embeddings_served_second")
@pytest.mark.io
async def test_vectors_come_from_the_second_engine_started_with_the_first_text() -> None:
    second = InProcessServer()
    model = make_model(InProcessServer(), embedder=Embedder(second))
    await model.start()
    assert second.started == 0
    found = await model.embed({"input": ["a"], "user": "u", "encoding_format": "base64"})
    assert found["usage"] == {"prompt_tokens": 2}
    assert second.requests == [{"input": ["a"], "encoding_format": "base64"}]
    assert second.started == 1
    await model.close()
    assert second.closed == 1


async def test_an_attached_server_is_not_closed_by_its_vectors() -> None:
    server = InProcessServer()
    embedder = Embedder(server, owns_server=False)
    await embedder.embed({"input": "a"})
    await embedder.close()
    assert (server.started, server.closed) == (0, 0)


async def test_without_one_it_says_how_to_get_one() -> None:
    with pytest.raises(NotConfigured, match=r"embedding = PATH\.gguf"):
        await make_model(InProcessServer()).embed({"input": "a"})


@pytest.mark.parametrize(
    ("body", "param"),
    [
        ({"input": "a", "dimensions": 3}, "dimensions"),
        ({"input": ""}, "input"),
        ({"input": []}, "input"),
        ({"input": ["a", ""]}, "input"),
        ({"input": ["a", 3]}, "input"),
        ({"input": [[1], []]}, "input"),
    ],
)
async def test_what_has_no_vector(body: dict[str, Any], param: str) -> None:
    with pytest.raises(CallerError) as caught:
        await Embedder(InProcessServer()).embed(body)
    assert caught.value.param == param


@pytest.mark.long
@pytest.mark.model
async def test_a_llama_server_that_runs_already_is_spoken_to_the_same_way() -> None:
    engine = ManagedServer(LaunchOptions(weights.require_weights(), context=1024, slots=1))
    await engine.start()
    try:
        theirs = await engine.client()
        key = theirs._headers["Authorization"].removeprefix("Bearer ")
        model = make_attached_model(str(theirs._base), {"api_key": key})
        assert model.ready
        await model.start()
        assert model.ready
        told: list[ModelChunk] = []
        await read_into(model.stream(Prompt(messages=(text_message("user", "Say hello."),), settings=FEW)), told)
        assert any(isinstance(one, TextChunk) and one.text for one in told)
        raw: list[ModelChunk] = []
        await read_into(model.stream(Prompt(messages=(), raw=RawPrompt("The capital of France is"), settings=FEW)), raw)
        assert "Paris" in "".join(one.text for one in raw if isinstance(one, TextChunk))
        assert await model.detokenize(await model.tokenize("Hello <|im_end|>")) == "Hello <|im_end|>"
        with pytest.raises(CallerError, match="Send GBNF"):
            await read_into(model.stream(Prompt(messages=(), raw=RawPrompt("x", "%llguidance {}"))), raw)
        # One that does not give vectors says so, and stays.
        with pytest.raises(UpstreamError):
            await model.embed({"input": "a"})
        await model.close()
        assert engine.ready, "it is not ours to end"
    finally:
        await engine.close()


@pytest.mark.demand("llamacpp.v1_embeddings_served_second")
@pytest.mark.long
@pytest.mark.model
async def test_the_embedded_weights_give_vectors_in_openais_shape() -> None:
    model = make_unchecked_model(str(weights.require_weights()), {"pooling": "mean", "context": 512, "slots": 1})
    try:
        texts = await model.embed({"input": ["A cat sat.", "A dog sat.", "Stocks fell."]})
        tokens = await model.embed({"input": await model.tokenize("A cat sat.")})
        packed = await model.embed({"input": "A cat sat.", "encoding_format": "base64"})
    finally:
        await model.close()
    assert texts["object"] == "list"
    cat, dog, stocks = [one["embedding"] for one in texts["data"]]
    assert len(cat) == len(dog) == 576
    assert texts["usage"]["prompt_tokens"] == texts["usage"]["total_tokens"] > 6

    def near(one: list[float], other: list[float]) -> float:
        return sum(a * b for a, b in zip(one, other, strict=True))

    assert near(cat, dog) > near(cat, stocks)
    assert near(tokens["data"][0]["embedding"], cat) > 0.999
    assert isinstance(packed["data"][0]["embedding"], str)


@pytest.mark.io
async def test_a_rendered_prompt_fetches_no_image(monkeypatch: pytest.MonkeyPatch) -> None:
    async def fetch(_client: OutboundClient, url: str, **_: Any) -> None:
        raise AssertionError(f"{url} is fetched")

    monkeypatch.setattr(OutboundClient, "fetch", fetch)
    image = Message("user", (TextMessagePart("See "), ImageMessagePart("https://example.org/a.png")))
    rendered = await make_model(InProcessServer()).render_prompt(Prompt(messages=(image,)))
    assert f"See {MEDIA_MARKER}" in rendered
