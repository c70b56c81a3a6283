"""A text that is gone on with as it is."""

from typing import Any

import pytest

from rightseat.errors import CallerError
from rightseat.models.llamacpp.client import CompletionChunk
from rightseat.models.llamacpp.model import ModelDescription
from rightseat.models.llamacpp.supervision import AttachedServer
from rightseat.models.llamacpp.template import TemplateSources
from rightseat.types.chunks import FinishChunk, ModelChunk, TextChunk, UsageChunk
from rightseat.types.events import Usage
from rightseat.types.model import Prompt, RawPrompt, SamplingSettings
from tests.kit.waiting import read_into
from tests.unit.models.llamacpp.in_process_server import InProcessServer
from tests.unit.models.llamacpp.test_model import make_model

END = CompletionChunk(stop=True, stop_type="eos", tokens_evaluated=5, tokens_predicted=2)


async def collect_raw_completion(
    server: Any, raw_prompt: RawPrompt, settings: SamplingSettings | None = None
) -> list[ModelChunk]:
    found: list[ModelChunk] = []
    # Described already: no child process has to try a template.
    model = make_model(server)
    model._description = ModelDescription(TemplateSources(""))
    prompt = Prompt(messages=(), raw=raw_prompt, settings=settings or SamplingSettings())
    await read_into(model.stream(prompt), found)
    return found


async def test_pieces_become_text_and_the_end_is_told() -> None:
    server = InProcessServer(CompletionChunk(content=" Par"), CompletionChunk(content="is"), END)
    assert await collect_raw_completion(server, RawPrompt("The capital of France is")) == [
        TextChunk(" Par"),
        TextChunk("is"),
        UsageChunk(Usage(5, 2)),
        FinishChunk("stop"),
    ]
    assert server.requests == [{"prompt": "The capital of France is", "cache_prompt": True, "n_predict": 16}]


@pytest.mark.parametrize(("kind", "reason"), [("eos", "stop"), ("word", "stop"), ("limit", "length")])
async def test_why_it_ended(kind: str, reason: str) -> None:
    found = await collect_raw_completion(InProcessServer(CompletionChunk(stop=True, stop_type=kind)), RawPrompt("x"))
    assert found[-1] == FinishChunk(reason)  # type: ignore[arg-type]


@pytest.mark.demand("llamacpp.v1_completions_raw_grammar")
async def test_only_what_is_given_travels_and_zero_is_given() -> None:
    server = InProcessServer(END)
    settings = SamplingSettings(temperature=0, seed=0, max_tokens=3, stop=("\n",), top_p=0.5)
    await collect_raw_completion(server, RawPrompt((7, 8), grammar='root ::= "a"', logprobs=0), settings)
    assert server.requests == [
        {
            "prompt": [7, 8],
            "cache_prompt": True,
            "n_predict": 3,
            "temperature": 0,
            "top_p": 0.5,
            "seed": 0,
            "stop": ["\n"],
            "grammar": 'root ::= "a"',
            "n_probs": 1,
        }
    ]


@pytest.mark.parametrize("text", ["Hi", (72, 105)])
async def test_the_prompt_comes_back_first_with_echo(text: str | tuple[int, ...]) -> None:
    found = await collect_raw_completion(InProcessServer(CompletionChunk(content="!"), END), RawPrompt(text, echo=True))
    assert found[:2] == [TextChunk("Hi"), TextChunk("!")]


async def test_probabilities_without_the_end_that_is_no_text() -> None:
    top = [{"token": t, "logprob": -1.0, "bytes": [1], "id": 3} for t in ("a", "b", "c")]
    told = {"token": "a", "logprob": -0.5, "bytes": [97], "id": 9, "top_logprobs": top}
    end = {"token": "", "logprob": -0.1, "top_logprobs": top}
    pieces = [
        CompletionChunk(content="a", completion_probabilities=[told]),
        CompletionChunk(stop=True, stop_type="eos", completion_probabilities=[end]),
    ]
    found = await collect_raw_completion(InProcessServer(*pieces), RawPrompt("x", logprobs=2))
    assert [type(one) for one in found] == [TextChunk, UsageChunk, FinishChunk]
    [first] = [one for one in found if isinstance(one, TextChunk)]
    few = [{"token": t, "logprob": -1.0, "bytes": [1]} for t in ("a", "b")]
    assert first.logprobs == {"content": [{"token": "a", "logprob": -0.5, "bytes": [97], "top_logprobs": few}]}


@pytest.mark.demand("llamacpp.v1_completions_raw_grammar")
@pytest.mark.parametrize("grammar", ["(" * 300, 'root ::= "a" ' * 100_000])
async def test_a_grammar_that_could_end_the_engine_is_not_sent(grammar: str) -> None:
    server = InProcessServer(END)
    with pytest.raises(CallerError, match="too long or too deeply nested"):
        await collect_raw_completion(server, RawPrompt("x", grammar=grammar))
    assert server.requests == []


@pytest.mark.demand("llamacpp.v1_completions_raw_grammar")
async def test_a_foreign_kind_of_grammar_is_not_sent_to_an_attached_server() -> None:
    server = AttachedServer("http://127.0.0.1:9")
    with pytest.raises(CallerError, match="Send GBNF") as caught:
        await collect_raw_completion(server, RawPrompt("x", grammar="%llguidance {}\nstart: /a/"))
    assert caught.value.param == "grammar"
    await server.close()
