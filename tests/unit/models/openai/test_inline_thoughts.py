"""Thoughts that a compatible server leaves in the text, between tags."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rightseat.models.openai import OpenAIModel
from rightseat.models.openai import model as make_model
from rightseat.tools.text_calls.thinking import THINKING_TAGS, ThoughtSplitter
from rightseat.types.chunks import FinishChunk, ModelChunk, ReasoningChunk, TextChunk, ToolCallStart, UsageChunk
from rightseat.types.events import Usage
from tests.contract.models.cases import CollectedAnswer, collect_answer
from tests.kit.answers import ChatReply, answer_at_length_limit, answer_tokens, answer_tool_call
from tests.kit.chunks import make_text_chunks
from tests.kit.upstream import FakeUpstream
from tests.unit.models.model_calls import collect_chunks
from tests.unit.tools.text_calls.test_reader import split_at


async def ask(reply: Any, **options: Any) -> CollectedAnswer:
    async with FakeUpstream() as upstream:
        upstream.reply = reply
        model = make_model("my-model", {"base_url": upstream.base_url, **options})
        assert isinstance(model, OpenAIModel)
        chunks, error = await collect_chunks(model)
        await model.close()
        assert error is None
        return collect_answer(chunks)


def cut(text: str, size: int) -> list[str]:
    return [text[at : at + size] for at in range(0, len(text), size)]


@pytest.mark.io
@pytest.mark.demand("models.inline_thoughts_split")
@pytest.mark.parametrize("size", [1, 3, 1000])
@pytest.mark.parametrize(("open_tag", "close_tag"), THINKING_TAGS)
async def test_a_thought_is_split_off(open_tag: str, close_tag: str, size: int) -> None:
    text = f"\n{open_tag}\nHm, a < b.\n{close_tag}\n\nYes. {open_tag} is a tag." + " More." * 40
    answer = await ask(answer_tokens(cut(text, size)))
    assert answer.reasoning == "Hm, a < b."
    assert answer.text == f"Yes. {open_tag} is a tag." + " More." * 40


@pytest.mark.io
@pytest.mark.parametrize(
    ("text", "options", "expected"),
    [
        ("<b>Yes</b>", {}, CollectedAnswer(text="<b>Yes</b>")),
        (" <thin", {}, CollectedAnswer(text=" <thin")),
        ("<think>Hm", {}, CollectedAnswer(reasoning="Hm")),
        ("Hm.</think>Yes", {"inline_thoughts": "opened"}, CollectedAnswer(reasoning="Hm.", text="Yes")),
        ("<think>Hm</think>Yes", {"inline_thoughts": "off"}, CollectedAnswer(text="<think>Hm</think>Yes")),
    ],
)
async def test_texts_and_options(text: str, options: dict[str, Any], expected: CollectedAnswer) -> None:
    answer = await ask(answer_tokens(cut(text, 2)), **options)
    assert (answer.text, answer.reasoning) == (expected.text, expected.reasoning)


@pytest.mark.io
async def test_an_answer_that_is_cut_inside_a_thought() -> None:
    reply = ChatReply(make_text_chunks(["<think>", "Hm"]), {}, answer_at_length_limit().finish_reason)
    answer = await ask(reply)
    assert (answer.text, answer.reasoning, answer.finish) == ("", "Hm", "length")


@pytest.mark.io
async def test_a_call_after_a_thought() -> None:
    answer = await ask(answer_tool_call(preface="<think>Hm.</think>"))
    assert (answer.reasoning, answer.text, len(answer.calls)) == ("Hm.", "", 1)


@pytest.mark.io
async def test_an_answer_in_one_piece() -> None:
    async def reply(connection: Any, request: Any) -> None:
        from tests.kit.answers import write_json
        from tests.kit.chunks import make_completion

        await write_json(connection, 200, make_completion({"content": "<think>Hm.</think>Yes."}))

    answer = await ask(reply)
    assert (answer.reasoning, answer.text) == ("Hm.", "Yes.")


@given(st.lists(st.integers(0, 40), max_size=8))
def test_the_pieces_do_not_matter(places: list[int]) -> None:
    thoughts: list[str] = []
    splitter = ThoughtSplitter(thoughts.append)
    chunks = [TextChunk(part) for part in split_at("<think>a</b></think> c <think>", places) if part]
    answer = collect_answer([*splitter.feed(chunks), *splitter.close()])
    assert (answer.reasoning, answer.text) == ("a</b>", "c <think>")
    assert "".join(thoughts) == "a</b>"


def test_other_chunks_end_the_search() -> None:
    held = TextChunk("<", logprobs={"content": []})
    call = ToolCallStart(0, "add")
    splitter = ThoughtSplitter(lambda text: None)
    assert splitter.feed([held, UsageChunk(Usage(1, 1)), call]) == [UsageChunk(Usage(1, 1)), held, call]
    assert splitter.done
    splitter = ThoughtSplitter(lambda text: None)
    own: list[ModelChunk] = [ReasoningChunk("Hm."), TextChunk("<think>"), FinishChunk("stop")]
    assert splitter.feed(own) == own
