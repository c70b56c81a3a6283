"""Pieces of the engine's answer as fragments: probabilities, stop words inside an envelope, counts."""

import json
from typing import Any

import pytest

from rightseat.errors import CallerError, UpstreamGarbled
from rightseat.models.llamacpp.abilities import Abilities
from rightseat.models.llamacpp.answer import Answer
from rightseat.models.llamacpp.formats import Ask, Plan
from rightseat.models.llamacpp.formats.generic import Generic
from rightseat.models.llamacpp.formats.hermes import Hermes
from rightseat.models.llamacpp.formats.thinking import Thinking
from rightseat.models.llamacpp.request import body
from rightseat.models.llamacpp.wire import Piece
from rightseat.types.chunks import Finish, Fragment, Reasoning, Text, Used
from rightseat.types.events import Usage
from rightseat.types.messages import said
from rightseat.types.model import Prompt, Settings
from tests.contract.formats.cases import TOOLS
from tests.contract.models.cases import heard

LIKELY = {"logprobs": True, "top_logprobs": 2}
USED = Usage(7, 3)
WORDS = json.dumps(
    {"thought_about_next_step_only": "Hm, END.", "next_step": {"result": "One, two. END. More."}}
)


def plan(format: Any = Generic, tools: Any = TOOLS, thinks: bool = False) -> Plan:
    prompt = Prompt(messages=(said("user", "Hello"),), tools=tools)
    made: Plan = format().plan(
        Ask(prompt=prompt, abilities=Abilities(system=True), thinking=Thinking(may=thinks))
    )
    return made


def piece(text: str, **more: Any) -> Piece:
    top = [{"token": text, "logprob": -0.5, "bytes": [1]}, {"token": "x", "logprob": None, "bytes": [2]}]
    told = {"id": 1, "token": text, "logprob": -0.5, "bytes": [1], "top_logprobs": [*top, top[0]]}
    return Piece(text, completion_probabilities=[told], tokens_evaluated=7, tokens_predicted=3, **more)


def read(planned: Plan, settings: Settings, *texts: str, stop: str = "eos") -> list[Fragment]:
    answer = Answer(planned, settings)
    out: list[Fragment] = []
    for part in [
        *map(piece, texts),
        Piece(stop=True, stop_type=stop, tokens_evaluated=7, tokens_predicted=3),
    ]:
        out += answer.read(part)
        if answer.over:
            break
    return out


def test_probabilities_as_openai_tells_them() -> None:
    found = read(plan(tools=()), Settings(extra=LIKELY), "One", " two")
    first = found[0]
    assert isinstance(first, Text)
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
    assert found[-2:] == [Used(USED), Finish("stop")]
    assert body(plan(tools=()), "x", Settings(extra=LIKELY), most=9)["n_probs"] == 2


def test_only_where_asked_for() -> None:
    assert read(plan(tools=()), Settings(), "One")[0] == Text("One")
    alone = read(plan(tools=()), Settings(extra={"logprobs": True}), "One")[0]
    assert isinstance(alone, Text)
    assert alone.logprobs["content"][0]["top_logprobs"] == []
    assert body(plan(tools=()), "x", Settings(extra={"logprobs": True}), most=9)["n_probs"] == 1
    assert "n_probs" not in body(plan(tools=()), "x", Settings(extra={"top_logprobs": 2}), most=9)


def test_those_of_a_thought_are_nobodys() -> None:
    planned = plan(Hermes, tools=(), thinks=True)
    found = read(planned, Settings(extra=LIKELY), "<think>", "Hm", "</think>", "One")
    assert Reasoning("Hm") in found
    texts = [fragment for fragment in found if isinstance(fragment, Text)]
    tokens = [token["token"] for text in texts for token in text.logprobs["content"]]
    assert tokens[-1] == "One"
    assert "Hm" not in tokens


@pytest.mark.parametrize("top", [21, -1, "many"])
def test_too_many_probabilities(top: Any) -> None:
    with pytest.raises(CallerError, match="top_logprobs"):
        Answer(plan(tools=()), Settings(extra={"logprobs": True, "top_logprobs": top}))


def test_an_envelope_has_no_probabilities() -> None:
    found = read(plan(), Settings(extra=LIKELY), WORDS)
    assert all(fragment.logprobs is None for fragment in found if isinstance(fragment, Text))


@pytest.mark.demand("llamacpp.generic_other_model_thought")
@pytest.mark.parametrize("size", [1, 2, 3, 7, 1000])
def test_stop_words_inside_an_envelope(size: int) -> None:
    texts = [WORDS[at : at + size] for at in range(0, len(WORDS), size)]
    for stops, text in ((("two.",), "Hm, END.\n\nOne, "), (("END",), "Hm, "), (("thought",), None)):
        found = heard(read(plan(), Settings(stop=stops), *texts))
        assert found.text == ("Hm, END.\n\nOne, two. END. More." if text is None else text)
        assert (found.finish, found.usage) == ("stop", USED)


def test_where_stop_words_go() -> None:
    settings = Settings(stop=("END",))
    assert "stop" not in body(plan(), "x", settings, most=9)
    assert body(plan(tools=()), "x", settings, most=9)["stop"] == ["END"]


def test_broken_format() -> None:
    with pytest.raises(UpstreamGarbled, match="tool format"):
        read(plan(), Settings(), "Five.")


@pytest.mark.parametrize(
    ("settings", "sent"),
    [
        (Settings(), {"n_predict": 9, "temperature": 0.2}),
        (Settings(temperature=0, max_tokens=5, seed=0), {"n_predict": 5, "temperature": 0, "seed": 0}),
        (Settings(top_p=0.5), {"top_p": 0.5}),
        (Settings(extra={"logit_bias": {"15": -100}}), {"logit_bias": [[15, -100]]}),
        (Settings(extra={"presence_penalty": 0, "user": "x"}), {"presence_penalty": 0}),
    ],
)
def test_settings(settings: Settings, sent: dict[str, Any]) -> None:
    asked = body(plan(tools=()), "x", settings, most=9, temperature=0.2)
    assert asked.items() >= sent.items()
    assert "user" not in asked


def test_a_wrong_bias() -> None:
    with pytest.raises(CallerError, match="logit_bias"):
        body(plan(tools=()), "x", Settings(extra={"logit_bias": {"a": 1}}), most=9)
