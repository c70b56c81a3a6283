"""Which tool is meant, by how likely each makes the question."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from rightseat.models.llamacpp import options, template, weights
from rightseat.models.llamacpp.client import CompletionChunk, TokenPiece
from rightseat.models.llamacpp.control_tokens import ControlTokens
from rightseat.models.llamacpp.embedded.model import EmbeddedModel
from rightseat.models.llamacpp.model import LlamaCppModel, ModelDescription, PromptOptions
from rightseat.models.llamacpp.template import TemplateSources
from rightseat.models.llamacpp.template_probe import ProbeRequest, probe_template
from rightseat.models.llamacpp.tool_ranking import MAX_QUESTION_TOKENS, MAX_TOOLS, MIN_GAIN, choose_tool
from rightseat.types.messages import Message, ToolCall, text_message
from rightseat.types.model import Prompt, ToolChoice, ToolSpec
from rightseat.types.streams import closing
from tests.contract.formats.cases import FIND_TOOL, RING_TOOL, TOOLS
from tests.contract.models.cases import CollectedAnswer, collect_answer
from tests.unit.models.llamacpp.gbnf import Grammar
from tests.unit.models.llamacpp.in_process_server import InProcessServer

USER = text_message("user", "Ring the bell!")


class LikelihoodServer(InProcessServer):
    """Finds the question as likely after a description as it is told; `other` else."""

    def __init__(self, other: float = -50.0, **likely: float) -> None:
        super().__init__()
        self.likely, self.other = likely, other
        self.reply = ""

    async def stream_completion(self, request: dict[str, Any], /) -> AsyncIterator[CompletionChunk]:
        self.requests.append(request)
        if "n_probs" not in request:
            yield CompletionChunk(self.reply, stop=True, stop_type="eos")
            return
        found = [value for name, value in self.likely.items() if f"Function: {name}\n" in request["prompt"]]
        value = found[0] if found else self.other
        yield CompletionChunk("x", completion_probabilities=[{"logprob": value - 1}])
        yield CompletionChunk("y", stop=True, completion_probabilities=[{"logprob": 1.0}])


def make_prompt(mode: Any = "auto", *messages: Message, tools: tuple[ToolSpec, ...] = TOOLS) -> Prompt:
    return Prompt(messages=messages or (USER,), tools=tools, tool_choice=ToolChoice(mode, "find_word"))


async def test_the_tool_that_makes_the_question_likeliest() -> None:
    for mode in ("auto", "required"):
        assert await choose_tool(LikelihoodServer(find_word=-40, ring=-30), make_prompt(mode)) == ToolChoice(
            "named", "ring"
        )
        assert await choose_tool(LikelihoodServer(find_word=-20, ring=-30), make_prompt(mode)) == ToolChoice(
            "named", "find_word"
        )


async def test_none_where_no_tool_makes_it_likelier() -> None:
    barely = -50 + MIN_GAIN - 0.1
    assert await choose_tool(LikelihoodServer(find_word=-70, ring=barely), make_prompt()) == ToolChoice("none")
    assert await choose_tool(LikelihoodServer(find_word=-70, ring=barely), make_prompt("required")) == ToolChoice(
        "named", "ring"
    )
    assert await choose_tool(LikelihoodServer(ring=barely + 0.2, find_word=-70), make_prompt()) == ToolChoice(
        "named", "ring"
    )


async def test_a_tool_without_a_description() -> None:
    bare = replace(FIND_TOOL, description="")
    for likely, choice in ((-51.5, ToolChoice("none")), (-50.5, ToolChoice("named", "find_word"))):
        oracle = LikelihoodServer(find_word=likely)
        assert await choose_tool(oracle, make_prompt(tools=(bare,))) == choice
        assert "Arguments: word, language, most\n" in oracle.requests[1]["prompt"]


async def test_what_is_asked() -> None:
    oracle = LikelihoodServer(find_word=-40, ring=-30)
    await choose_tool(oracle, make_prompt("auto", text_message("user", " " + "Ring! " * 50)))
    assert all(f"Function: {tool.name}\nDescription: {tool.description}" in oracle.requests[number + 1]["prompt"]
               for number, tool in enumerate((FIND_TOOL, RING_TOOL)))  # fmt: skip
    assert oracle.requests[0]["prompt"].startswith("Function: chat\n")
    for request in oracle.requests:
        assert request["grammar"].startswith("root ::= <[32]> <[82]> <[105]>")
        assert request["grammar"].count("<[") == request["n_predict"] == MAX_QUESTION_TOKENS


@pytest.mark.parametrize("mode", ["named", "none"])
async def test_what_is_chosen_stays_so(mode: Any) -> None:
    oracle = LikelihoodServer()
    assert await choose_tool(oracle, make_prompt(mode)) == ToolChoice(mode, "find_word")
    assert oracle.requests == []


async def test_what_is_not_judged() -> None:
    many = tuple(ToolSpec(f"tool_{number}", "", {}) for number in range(MAX_TOOLS + 1))
    silent = (text_message("user", " "), text_message("assistant", "Well."))
    nothing = replace(make_prompt(), messages=())
    for asked in (
        nothing,
        make_prompt(tools=many),
        make_prompt(tools=()),
        *(make_prompt("auto", message) for message in silent),
    ):
        oracle = LikelihoodServer()
        assert await choose_tool(oracle, asked) == asked.tool_choice
        assert oracle.requests == []


class SplitTokenServer(LikelihoodServer):
    """Its tokens are parts of characters, as those of a small model are for Chinese."""

    async def tokenize_with_pieces(self, text: str, *, special: bool = True) -> list[TokenPiece]:
        found = await super().tokenize_with_pieces(text, special=special)
        return [one if str(one.piece).isascii() else TokenPiece(one.id, [0xE5]) for one in found]


async def test_parts_of_characters_are_not_judged() -> None:
    """The engine fails on them in a grammar."""
    oracle = SplitTokenServer(ring=-30)
    assert await choose_tool(oracle, make_prompt("auto", text_message("user", "Ring 铃!"))) == ToolChoice(
        "named", "ring"
    )
    assert all(request["n_predict"] == len(" Ring ") for request in oracle.requests)
    oracle = SplitTokenServer(ring=-30)
    alone = make_prompt("auto", text_message("user", "敲铃"))
    assert await choose_tool(oracle, alone) == alone.tool_choice
    assert oracle.requests == []


async def test_after_a_result_comes_an_answer() -> None:
    called = Message("assistant", calls=(ToolCall("c", "ring", "{}"),))
    talk = (USER, called, text_message("tool", "Dong.", call_id="c"))
    assert await choose_tool(LikelihoodServer(), make_prompt("auto", *talk)) == ToolChoice("none")
    assert await choose_tool(LikelihoodServer(), make_prompt("required", *talk)) == make_prompt("required").tool_choice


RING_CALL = '{"next_step": {"tool_calls": [{"name": "ring", "arguments": {}}]}}'


def make_model(server: LikelihoodServer, **manner: Any) -> LlamaCppModel:
    async def describe_model(_: object) -> ModelDescription:
        return ModelDescription(TemplateSources(template.load_chatml()), ControlTokens(()))

    return LlamaCppModel("small", server, describe_model, options=PromptOptions(**manner))


async def ask_model(asked: LlamaCppModel, prompt: Prompt) -> CollectedAnswer:
    async with closing(asked.stream(prompt)) as stream:
        return collect_answer([fragment async for fragment in stream])


@pytest.fixture
def in_process_template_probe(monkeypatch: pytest.MonkeyPatch) -> None:
    """The template is our own: no child process has to try it."""
    monkeypatch.setattr(
        template, "probe_in_child", lambda source, *marks: probe_template(ProbeRequest(source, *marks)).abilities
    )


@pytest.mark.usefixtures("in_process_template_probe")
async def test_a_model_that_does_not_choose_itself() -> None:
    server = LikelihoodServer(find_word=-40, ring=-30)
    server.reply = RING_CALL
    found = await ask_model(make_model(server, choice="likelihood", temperature=0.2), make_prompt())
    assert (found.calls, found.finish) == ((("ring", "{}"),), "calls")
    assert len(server.requests) == 4
    asked = server.requests[-1]
    assert "type ring = " in asked["prompt"]
    assert "find_word" not in asked["prompt"]
    assert asked["temperature"] == 0.2
    # One call, for it would make the same one again.
    grammar = Grammar.parse(asked["grammar"])
    ring = '{"name": "ring", "arguments": {}}'
    assert grammar.accepts(RING_CALL)
    assert not grammar.accepts(RING_CALL.replace(ring, f"{ring}, {ring}"))


@pytest.mark.usefixtures("in_process_template_probe")
async def test_words_are_asked_for_as_if_there_were_no_tools() -> None:
    server = LikelihoodServer(find_word=-70, ring=-70)
    server.reply = "Life is."
    assert (await ask_model(make_model(server, choice="likelihood"), make_prompt())).text == "Life is."
    assert "grammar" not in server.requests[-1]
    assert "ring" not in server.requests[-1]["prompt"].replace("Ring the bell!", "")


@pytest.mark.usefixtures("in_process_template_probe")
async def test_others_choose_themselves() -> None:
    for manner in ({}, {"choice": "likelihood", "tool_format": "hermes"}):
        server = LikelihoodServer(find_word=-40, ring=-30)
        server.reply = '{"thought_about_next_step_only": "Hm.", "next_step": {"result": "Well."}}'
        await ask_model(make_model(server, **manner), make_prompt())
        assert len(server.requests) == 1


def get_options(given: dict[str, Any]) -> PromptOptions:
    model = options.make_local_model("", given)
    assert isinstance(model, EmbeddedModel)
    return model.weights_model._options


def test_the_embedded_model_is_too_small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(weights, "require_weights", lambda: tmp_path / "small.gguf")
    assert get_options({}).choice == "likelihood"
    assert get_options({}).temperature == 0.2
    own = get_options({"choice": "model", "temperature": 1})
    assert (own.choice, own.temperature) == ("model", 1)
