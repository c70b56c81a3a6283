"""Pieces of the engine's answer as fragments: probabilities, stop words inside an envelope, counts."""

import json
from typing import Any

import pytest

from rightseat.errors import CallerError, UpstreamGarbled
from rightseat.models.llamacpp.client import CompletionChunk
from rightseat.models.llamacpp.completion import CompletionReader, build_request_body
from rightseat.models.llamacpp.formats import FormatContext, PromptPlan
from rightseat.models.llamacpp.formats.answer_grammar import ThinkingTags
from rightseat.models.llamacpp.formats.generic import GenericFormat
from rightseat.models.llamacpp.formats.hermes import HermesFormat
from rightseat.models.llamacpp.template_probe import TemplateCapabilities
from rightseat.types.chunks import FinishChunk, ModelChunk, ReasoningChunk, TextChunk, UsageChunk
from rightseat.types.events import Usage
from rightseat.types.messages import text_message
from rightseat.types.model import Prompt, SamplingSettings
from tests.contract.formats.cases import TOOLS
from tests.contract.models.cases import collect_answer

LIKELY = {"logprobs": True, "top_logprobs": 2}
USED = Usage(7, 3)
WORDS = json.dumps({"thought_about_next_step_only": "Hm, END.", "next_step": {"result": "One, two. END. More."}})


def make_plan(format: Any = GenericFormat, tools: Any = TOOLS, thinks: bool = False) -> PromptPlan:
    prompt = Prompt(messages=(text_message("user", "Hello"),), tools=tools)
    made: PromptPlan = format().make_plan(
        FormatContext(
            prompt=prompt, capabilities=TemplateCapabilities(system=True), thinking=ThinkingTags(allowed=thinks)
        )
    )
    return made


def make_chunk(text: str, **more: Any) -> CompletionChunk:
    top = [{"token": text, "logprob": -0.5, "bytes": [1]}, {"token": "x", "logprob": None, "bytes": [2]}]
    probability = {"id": 1, "token": text, "logprob": -0.5, "bytes": [1], "top_logprobs": [*top, top[0]]}
    return CompletionChunk(text, completion_probabilities=[probability], tokens_evaluated=7, tokens_predicted=3, **more)


def read_completion(
    planned: PromptPlan, settings: SamplingSettings, *texts: str, stop: str = "eos"
) -> list[ModelChunk]:
    answer = CompletionReader(planned, settings)
    out: list[ModelChunk] = []
    for part in [
        *map(make_chunk, texts),
        CompletionChunk(stop=True, stop_type=stop, tokens_evaluated=7, tokens_predicted=3),
    ]:
        out += answer.read_chunk(part)
        if answer.finished:
            break
    return out


def test_probabilities_as_openai_tells_them() -> None:
    found = read_completion(make_plan(tools=()), SamplingSettings(extra=LIKELY), "One", " two")
    first = found[0]
    assert isinstance(first, TextChunk)
    assert first.logprobs == {
        "content": [
            {
                "token": "One",
                "logprob": -0.5,
                "bytes": [1],
                "top_logprobs": [
                    {"token": "One", "logprob": -0.5, "bytes": [1]},
                    {"token": "x", "logprob": -9999.0, "bytes": [2]},
                ],
            }
        ]
    }
    assert found[-2:] == [UsageChunk(USED), FinishChunk("stop")]
    assert (
        build_request_body(make_plan(tools=()), "x", SamplingSettings(extra=LIKELY), default_max_tokens=9)["n_probs"]
        == 2
    )


def test_only_where_asked_for() -> None:
    assert read_completion(make_plan(tools=()), SamplingSettings(), "One")[0] == TextChunk("One")
    alone = read_completion(make_plan(tools=()), SamplingSettings(extra={"logprobs": True}), "One")[0]
    assert isinstance(alone, TextChunk)
    assert alone.logprobs["content"][0]["top_logprobs"] == []
    assert (
        build_request_body(make_plan(tools=()), "x", SamplingSettings(extra={"logprobs": True}), default_max_tokens=9)[
            "n_probs"
        ]
        == 1
    )
    assert "n_probs" not in build_request_body(
        make_plan(tools=()), "x", SamplingSettings(extra={"top_logprobs": 2}), default_max_tokens=9
    )


def test_those_of_a_thought_are_nobodys() -> None:
    planned = make_plan(HermesFormat, tools=(), thinks=True)
    found = read_completion(planned, SamplingSettings(extra=LIKELY), "<think>", "Hm", "</think>", "One")
    assert ReasoningChunk("Hm") in found
    texts = [fragment for fragment in found if isinstance(fragment, TextChunk)]
    tokens = [token["token"] for text in texts for token in text.logprobs["content"]]
    assert tokens[-1] == "One"
    assert "Hm" not in tokens


@pytest.mark.parametrize("top", [21, -1, "many"])
def test_too_many_probabilities(top: Any) -> None:
    with pytest.raises(CallerError, match="top_logprobs"):
        CompletionReader(make_plan(tools=()), SamplingSettings(extra={"logprobs": True, "top_logprobs": top}))


def test_an_envelope_has_no_probabilities() -> None:
    found = read_completion(make_plan(), SamplingSettings(extra=LIKELY), WORDS)
    assert all(fragment.logprobs is None for fragment in found if isinstance(fragment, TextChunk))


@pytest.mark.demand("llamacpp.generic_other_model_thought")
@pytest.mark.parametrize("size", [1, 2, 3, 7, 1000])
def test_stop_words_inside_an_envelope(size: int) -> None:
    texts = [WORDS[at : at + size] for at in range(0, len(WORDS), size)]
    for stops, text in ((("two.",), "Hm, END.\n\nOne, "), (("END",), "Hm, "), (("thought",), None)):
        found = collect_answer(read_completion(make_plan(), SamplingSettings(stop=stops), *texts))
        assert found.text == ("Hm, END.\n\nOne, two. END. More." if text is None else text)
        assert (found.finish, found.usage) == ("stop", USED)


def test_where_stop_words_go() -> None:
    settings = SamplingSettings(stop=("END",))
    assert "stop" not in build_request_body(make_plan(), "x", settings, default_max_tokens=9)
    assert build_request_body(make_plan(tools=()), "x", settings, default_max_tokens=9)["stop"] == ["END"]


def test_broken_format() -> None:
    with pytest.raises(UpstreamGarbled, match="tool format"):
        read_completion(make_plan(), SamplingSettings(), "Five.")


@pytest.mark.parametrize(
    ("settings", "sent"),
    [
        (SamplingSettings(), {"n_predict": 9, "temperature": 0.2}),
        (SamplingSettings(temperature=0, max_tokens=5, seed=0), {"n_predict": 5, "temperature": 0, "seed": 0}),
        (SamplingSettings(top_p=0.5), {"top_p": 0.5}),
        (SamplingSettings(extra={"logit_bias": {"15": -100}}), {"logit_bias": [[15, -100]]}),
        (SamplingSettings(extra={"presence_penalty": 0, "user": "x"}), {"presence_penalty": 0}),
    ],
)
def test_settings(settings: SamplingSettings, sent: dict[str, Any]) -> None:
    asked = build_request_body(make_plan(tools=()), "x", settings, default_max_tokens=9, temperature=0.2)
    assert asked.items() >= sent.items()
    assert "user" not in asked


def test_a_wrong_bias() -> None:
    with pytest.raises(CallerError, match="logit_bias"):
        build_request_body(
            make_plan(tools=()), "x", SamplingSettings(extra={"logit_bias": {"a": 1}}), default_max_tokens=9
        )
