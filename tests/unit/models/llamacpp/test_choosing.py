"""Which tool is meant, by how likely each makes the question."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from rightseat.models.llamacpp import options, template, weights
from rightseat.models.llamacpp.client import CompletionChunk, TokenPiece
from rightseat.models.llamacpp.control_tokens import ControlTokens
from rightseat.models.llamacpp.model import LlamaCppChatModel, ModelDescription, PromptOptions
from rightseat.models.llamacpp.template import TemplateSources
from rightseat.models.llamacpp.template_probe import ProbeRequest, probe_template
from rightseat.models.llamacpp.tool_ranking import MAX_QUESTION_TOKENS, MAX_TOOLS, MIN_GAIN, choose_tool
from rightseat.types.messages import Message, ToolCall, text_message
from rightseat.types.model import Prompt, ToolChoice, ToolSpec
from rightseat.types.streams import closing
from tests.contract.formats.cases import FIND, RING, TOOLS
from tests.contract.models.cases import Heard, heard
from tests.unit.models.llamacpp.gbnf import Grammar
from tests.unit.models.llamacpp.standin import StandIn

USER = text_message("user", "Ring the bell!")


class Oracle(StandIn):
    """Finds the question as likely after a description as it is told; `other` else."""

    def __init__(self, other: float = -50.0, **likely: float) -> None:
        super().__init__()
        self.likely, self.other = likely, other
        self.said = ""

    async def stream_completion(self, request: dict[str, Any], /) -> AsyncIterator[CompletionChunk]:
        self.asked.append(request)
        if "n_probs" not in request:
            yield CompletionChunk(self.said, stop=True, stop_type="eos")
            return
        found = [value for name, value in self.likely.items() if f"Function: {name}\n" in request["prompt"]]
        value = found[0] if found else self.other
        yield CompletionChunk("x", completion_probabilities=[{"logprob": value - 1}])
        yield CompletionChunk("y", stop=True, completion_probabilities=[{"logprob": 1.0}])


def prompt(mode: Any = "auto", *messages: Message, tools: tuple[ToolSpec, ...] = TOOLS) -> Prompt:
    return Prompt(messages=messages or (USER,), tools=tools, tool_choice=ToolChoice(mode, "find_word"))


async def test_the_tool_that_makes_the_question_likeliest() -> None:
    for mode in ("auto", "required"):
        assert await choose_tool(Oracle(find_word=-40, ring=-30), prompt(mode)) == ToolChoice("named", "ring")
        assert await choose_tool(Oracle(find_word=-20, ring=-30), prompt(mode)) == ToolChoice("named", "find_word")


async def test_none_where_no_tool_makes_it_likelier() -> None:
    barely = -50 + MIN_GAIN - 0.1
    assert await choose_tool(Oracle(find_word=-70, ring=barely), prompt()) == ToolChoice("none")
    assert await choose_tool(Oracle(find_word=-70, ring=barely), prompt("required")) == ToolChoice("named", "ring")
    assert await choose_tool(Oracle(ring=barely + 0.2, find_word=-70), prompt()) == ToolChoice("named", "ring")


async def test_a_tool_without_a_description() -> None:
    bare = replace(FIND, description="")
    for likely, choice in ((-51.5, ToolChoice("none")), (-50.5, ToolChoice("named", "find_word"))):
        oracle = Oracle(find_word=likely)
        assert await choose_tool(oracle, prompt(tools=(bare,))) == choice
        assert "Arguments: word, language, most\n" in oracle.asked[1]["prompt"]


async def test_what_is_asked() -> None:
    oracle = Oracle(find_word=-40, ring=-30)
    await choose_tool(oracle, prompt("auto", text_message("user", " " + "Ring! " * 50)))
    assert all(f"Function: {tool.name}\nDescription: {tool.description}" in oracle.asked[number + 1]["prompt"]
               for number, tool in enumerate((FIND, RING)))  # fmt: skip
    assert oracle.asked[0]["prompt"].startswith("Function: chat\n")
    for request in oracle.asked:
        assert request["grammar"].startswith("root ::= <[32]> <[82]> <[105]>")
        assert request["grammar"].count("<[") == request["n_predict"] == MAX_QUESTION_TOKENS


@pytest.mark.parametrize("mode", ["named", "none"])
async def test_what_is_chosen_stays_so(mode: Any) -> None:
    oracle = Oracle()
    assert await choose_tool(oracle, prompt(mode)) == ToolChoice(mode, "find_word")
    assert oracle.asked == []


async def test_what_is_not_judged() -> None:
    many = tuple(ToolSpec(f"tool_{number}", "", {}) for number in range(MAX_TOOLS + 1))
    silent = (text_message("user", " "), text_message("assistant", "Well."))
    nothing = replace(prompt(), messages=())
    for asked in (nothing, prompt(tools=many), prompt(tools=()), *(prompt("auto", message) for message in silent)):
        oracle = Oracle()
        assert await choose_tool(oracle, asked) == asked.tool_choice
        assert oracle.asked == []


class Halving(Oracle):
    """Its tokens are parts of characters, as those of a small model are for Chinese."""

    async def tokenize_with_pieces(self, text: str, *, special: bool = True) -> list[TokenPiece]:
        found = await super().tokenize_with_pieces(text, special=special)
        return [one if str(one.piece).isascii() else TokenPiece(one.id, [0xE5]) for one in found]


async def test_parts_of_characters_are_not_judged() -> None:
    """The engine fails on them in a grammar."""
    oracle = Halving(ring=-30)
    assert await choose_tool(oracle, prompt("auto", text_message("user", "Ring 铃!"))) == ToolChoice("named", "ring")
    assert all(request["n_predict"] == len(" Ring ") for request in oracle.asked)
    oracle = Halving(ring=-30)
    alone = prompt("auto", text_message("user", "敲铃"))
    assert await choose_tool(oracle, alone) == alone.tool_choice
    assert oracle.asked == []


async def test_after_a_result_comes_an_answer() -> None:
    called = Message("assistant", calls=(ToolCall("c", "ring", "{}"),))
    talk = (USER, called, text_message("tool", "Dong.", call_id="c"))
    assert await choose_tool(Oracle(), prompt("auto", *talk)) == ToolChoice("none")
    assert await choose_tool(Oracle(), prompt("required", *talk)) == prompt("required").tool_choice


RINGS = '{"next_step": {"tool_calls": [{"name": "ring", "arguments": {}}]}}'


def model(server: Oracle, **manner: Any) -> LlamaCppChatModel:
    async def known(_: object) -> ModelDescription:
        return ModelDescription(TemplateSources(template.load_chatml()), ControlTokens(()))

    return LlamaCppChatModel("small", server, known, options=PromptOptions(**manner))


async def answered(asked: LlamaCppChatModel, prompt: Prompt) -> Heard:
    async with closing(asked.stream(prompt)) as stream:
        return heard([fragment async for fragment in stream])


@pytest.fixture
def judged_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """The template is our own: no child process has to try it."""
    monkeypatch.setattr(
        template, "probe_in_child", lambda source, *marks: probe_template(ProbeRequest(source, *marks)).abilities
    )


@pytest.mark.usefixtures("judged_here")
async def test_a_model_that_does_not_choose_itself() -> None:
    server = Oracle(find_word=-40, ring=-30)
    server.said = RINGS
    found = await answered(model(server, tool_choice_by="likelihood", temperature=0.2), prompt())
    assert (found.calls, found.finish) == ((("ring", "{}"),), "calls")
    assert len(server.asked) == 4
    asked = server.asked[-1]
    assert "type ring = " in asked["prompt"]
    assert "find_word" not in asked["prompt"]
    assert asked["temperature"] == 0.2
    # One call, for it would make the same one again.
    grammar = Grammar.read(asked["grammar"])
    ring = '{"name": "ring", "arguments": {}}'
    assert grammar.accepts(RINGS)
    assert not grammar.accepts(RINGS.replace(ring, f"{ring}, {ring}"))


@pytest.mark.usefixtures("judged_here")
async def test_words_are_asked_for_as_if_there_were_no_tools() -> None:
    server = Oracle(find_word=-70, ring=-70)
    server.said = "Life is."
    assert (await answered(model(server, tool_choice_by="likelihood"), prompt())).text == "Life is."
    assert "grammar" not in server.asked[-1]
    assert "ring" not in server.asked[-1]["prompt"].replace("Ring the bell!", "")


@pytest.mark.usefixtures("judged_here")
async def test_others_choose_themselves() -> None:
    for manner in ({}, {"tool_choice_by": "likelihood", "tool_format": "hermes"}):
        server = Oracle(find_word=-40, ring=-30)
        server.said = '{"thought_about_next_step_only": "Hm.", "next_step": {"result": "Well."}}'
        await answered(model(server, **manner), prompt())
        assert len(server.asked) == 1


def test_the_embedded_model_is_too_small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(weights, "require_weights", lambda: tmp_path / "small.gguf")
    assert options.make_local_model("", {})._options.tool_choice_by == "likelihood"
    assert options.make_local_model("", {})._options.temperature == 0.2
    own = options.make_local_model("", {"choice": "model", "temperature": 1})._options
    assert (own.tool_choice_by, own.temperature) == ("model", 1)
