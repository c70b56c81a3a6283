from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator
from typing import Any, cast

import pytest
from msgspec.structs import replace

from rightseat.models.llamacpp.embedded.model import EmbeddedModel
from rightseat.models.llamacpp.embedded.plain_chat import EXAMPLES
from rightseat.models.llamacpp.embedded.shortcuts import BUILTIN_SHORTCUTS, Shortcut
from rightseat.models.llamacpp.model import LlamaCppModel
from rightseat.tools.builtin.calculate import run_calculation
from rightseat.types.chunks import FinishChunk, ModelChunk, TextChunk, ToolCallArgs, ToolCallStart, UsageChunk
from rightseat.types.events import Usage
from rightseat.types.language import Language
from rightseat.types.messages import Message, ToolCall, text_message
from rightseat.types.model import Model, Prompt, RawPrompt, SamplingSettings, ToolChoice, ToolSpec
from rightseat.types.sentences import SENTENCES, get_sentence
from rightseat.types.tools import error_result

Answer = str | tuple[str, dict[str, Any]]
CLOCK = ToolSpec("clock", "Tell the time. Takes no input.", {"type": "object", "properties": {}})
BOOK = ToolSpec(
    "book", "Book a table.", {"type": "object", "properties": {"people": {"type": "integer"}}, "required": ["people"]}
)
ANSWERED = Usage(10, 5)


class FakeWeights(Model):
    """Answers in order: `adapter` where the adapter is used, `base` without it. A pair is a tool call. `short` is the
    answer after examples; these prompts are not recorded."""

    name = "weights"

    def __init__(self, adapter: list[Answer] | None = None, base: list[Answer] | None = None, short: str = "") -> None:
        self.adapter, self.base, self.short = adapter or [], base or [], short
        self.prompts: list[tuple[Prompt, bool]] = []

    def stream(self, prompt: Prompt, /) -> AsyncIterator[ModelChunk]:
        return self.stream_chat(prompt)

    async def stream_chat(self, prompt: Prompt, *, uses_adapter: bool = False) -> AsyncIterator[ModelChunk]:
        if any(message.text == EXAMPLES[0][0] for message in prompt.messages):
            yield TextChunk(self.short)
            yield FinishChunk("stop")
            return
        self.prompts.append((prompt, uses_adapter))
        answer = (self.adapter if uses_adapter else self.base).pop(0)
        await asyncio.sleep(0)
        if isinstance(answer, str):
            for word in answer.split(" "):
                yield TextChunk(word + " ")
        else:
            yield ToolCallStart(0, answer[0], enforced=True)
            yield ToolCallArgs(0, json.dumps(answer[1]))
        yield UsageChunk(ANSWERED)
        yield FinishChunk("stop" if isinstance(answer, str) else "calls")


async def ask(weights: FakeWeights, prompt: Prompt, *shortcuts: Shortcut) -> list[ModelChunk]:
    model = EmbeddedModel(cast(LlamaCppModel, weights), [*BUILTIN_SHORTCUTS, *shortcuts])
    return [chunk async for chunk in model.stream(prompt)]


def make_prompt(*texts: str, tools: tuple[ToolSpec, ...] = (), **fields: Any) -> Prompt:
    roles = ("user", "assistant")
    messages = [text_message(roles[index % 2], text) for index, text in enumerate(texts)]  # type: ignore[arg-type]
    return Prompt(messages=tuple(messages), tools=tools, **fields)


def make_result_prompt(result: str, question: str = "What about A7?", tool: str = "find") -> Prompt:
    call = ToolCall("1", tool, '{"number":"A7"}')
    messages = (
        text_message("user", question),
        Message("assistant", calls=(call,)),
        text_message("tool", result, call_id="1"),
    )
    return Prompt(messages=messages, tools=(ToolSpec(tool, "Find an order.", {"properties": {"number": {}}}),))


def join_text(chunks: list[ModelChunk]) -> str:
    return "".join(chunk.text for chunk in chunks if isinstance(chunk, TextChunk)).strip()


def list_calls(chunks: list[ModelChunk]) -> list[tuple[str, Any]]:
    names = [chunk.name for chunk in chunks if isinstance(chunk, ToolCallStart)]
    return list(
        zip(names, [json.loads(chunk.json) for chunk in chunks if isinstance(chunk, ToolCallArgs)], strict=True)
    )


def assert_finished(chunks: list[ModelChunk], reason: str) -> None:
    assert [chunk.reason for chunk in chunks if isinstance(chunk, FinishChunk)] == [reason]
    assert chunks[-1] == FinishChunk(reason)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("short", "base", "expected"),
    [
        ("It is Oslo. More.", "Perhaps it is Oslo. It is cold.", "It is Oslo."),
        ("A cube has 7 faces.", "A cube has 6 faces.", SENTENCES["embedded_unsure"]["en"]),
        ("A cube has 6 faces.", "The 6 faces are squares.", "A cube has 6 faces."),
        (
            "The highest mountain is Mount Everest, which is 9,000 m high.",
            "Everest is the highest.",
            "The highest mountain is Mount Everest.",
        ),
    ],
)
async def test_a_short_answer_is_shown_if_the_other_one_agrees(short: str, base: str, expected: str) -> None:
    weights = FakeWeights(["No tool."], [base], short)
    chunks = await ask(weights, make_prompt("Which one is it?", tools=(BOOK,)))
    assert join_text(chunks) == expected
    assert_finished(chunks, "stop")


async def test_what_the_weights_say_of_themselves_is_not_shown() -> None:
    answer = "As an AI language model, I have no personal abilities. I can help."
    chunks = await ask(FakeWeights(["No tool."], [answer]), make_prompt("Describe your limits", tools=(BOOK,)))
    assert "Book a table." in join_text(chunks)
    assert "language model" not in join_text(chunks)
    assert_finished(chunks, "stop")
    weights = FakeWeights(["No tool."], ["I am an AI poet."])
    assert join_text(await ask(weights, make_prompt("Write a poem", tools=(BOOK,)))) == "I am an AI poet."


async def test_a_second_question_and_a_text_to_write_have_no_short_answer() -> None:
    for prompt in (make_prompt("Hm.", "Yes.", "Which one?"), make_prompt("Write a poem")):
        chunks = await ask(FakeWeights(["No tool."], ["A long answer."], "Short."), prompt)
        assert join_text(chunks) == "A long answer."


async def test_a_call_of_the_adapter_is_passed_on() -> None:
    chunks = await ask(FakeWeights([("book", {"people": 4})]), make_prompt("Book for 4, please", tools=(BOOK,)))
    assert list_calls(chunks) == [("book", {"people": 4})]
    assert_finished(chunks, "calls")


@pytest.mark.demand("embedded.no_fitting_tool_is_no_answer")
async def test_a_decline_for_lack_of_a_tool_is_asked_again_as_plain_chat() -> None:
    weights = FakeWeights(["I don't have a tool for that."], ["Leaves fall softly. The wind is cold."])
    chunks = await ask(weights, make_prompt("Describe autumn", tools=(BOOK,)))
    assert join_text(chunks) == "Leaves fall softly. The wind is cold."
    assert [chunk.text for chunk in chunks if isinstance(chunk, TextChunk)] == [
        "Leaves fall softly.",
        " The wind is cold.",
    ]
    assert weights.prompts[1][0].tools == ()
    assert_finished(chunks, "stop")
    assert [chunk.usage for chunk in chunks if isinstance(chunk, UsageChunk)] == [ANSWERED + ANSWERED]


async def test_an_action_that_nothing_does_is_declined_in_the_persons_language() -> None:
    english = await ask(
        FakeWeights(["None of my tools is for that."]), make_prompt("Send an email to Bob", tools=(BOOK,))
    )
    chinese = await ask(
        FakeWeights(["抱歉，我没有可以完成这个请求的工具。"]), make_prompt("给我发一封邮件", tools=(BOOK,))
    )
    assert (join_text(english), join_text(chinese)) == tuple(SENTENCES["embedded_cannot_do"].values())


@pytest.mark.demand("embedded.no_fitting_tool_is_no_answer")
async def test_a_loop_is_cut_and_asked_once_more() -> None:
    weights = FakeWeights(
        ["I have no tool for this."], ["on and on and on and on and on and on and on", "A tide is a rise of the sea."]
    )
    chunks = await ask(weights, make_prompt("What is a tide?"))
    assert join_text(chunks) == "A tide is a rise of the sea."
    penalties = [prompt.settings.extra["repeat_penalty"] for prompt, _ in weights.prompts[1:]]
    assert penalties[0] < penalties[1]


async def test_two_unusable_answers_are_told() -> None:
    loop = "on and on and on and on and on and on and on"
    chunks = await ask(FakeWeights(["I have no tool for this."], [loop, loop]), make_prompt("What is a tide?"))
    assert join_text(chunks) == SENTENCES["embedded_unsure"]["en"]


async def test_the_base_model_is_not_asked_in_chinese() -> None:
    weights = FakeWeights(["对不起，现有的工具无法做到这一点。"])
    assert join_text(await ask(weights, make_prompt("日本的首都是哪里？"))) == SENTENCES["embedded_unsure"]["zh"]


@pytest.mark.parametrize("answer", ['<img src="x">', "A week has 12 days.", "一周有十二天。", ""])
async def test_an_unusable_answer_of_the_adapter_is_not_shown(answer: str) -> None:
    weights = FakeWeights([answer], ["Seven."])
    assert join_text(await ask(weights, make_prompt("How long is a week?"))) == "Seven."


@pytest.mark.demand("embedded.success_is_never_told_as_error")
async def test_a_success_told_as_an_error_is_replaced_by_the_result() -> None:
    wrong = "The tool reported an error: cancellation."
    weights = FakeWeights([wrong, wrong])
    chunks = await ask(weights, make_result_prompt("A7 cancelled"))
    assert join_text(chunks) == "A7 cancelled"
    assert len(weights.prompts) == 2
    assert_finished(chunks, "stop")


@pytest.mark.demand("embedded.numbers_stand_in_what_was_shown")
async def test_a_number_that_stands_nowhere_is_tried_once_more() -> None:
    weights = FakeWeights(["A7 has 13 items.", "A7 has 12 items."])
    assert join_text(await ask(weights, make_result_prompt('{"number":"A7","items":12}'))) == "A7 has 12 items."
    weights = FakeWeights(["A7 has 13 items.", "A7 has 14 items."])
    assert join_text(await ask(weights, make_result_prompt('{"number":"A7","items":12}'))) == "number: A7\nitems: 12"


@pytest.mark.demand("approvals.a_no_is_no_failure")
@pytest.mark.parametrize("key", ["call_denied", "call_cancelled"])
@pytest.mark.parametrize(
    ("question", "language", "told"),
    [
        ("Book a table for 2", "en", "All right, nothing was done."),
        ("订两个人的桌子", "zh", "好的，没有执行。"),
        # The person asked in English and said no in Chinese.
        ("Book a table for 2", "zh", "好的，没有执行。"),
    ],
)
async def test_a_no_is_told_as_no_failure(key: str, question: str, language: Language, told: str) -> None:
    weights = FakeWeights(["That did not work: The person did not allow this call."])
    result = error_result(key.removeprefix("call_"), get_sentence(key, language)).text
    chunks = await ask(weights, make_result_prompt(result, question))
    assert join_text(chunks) == told
    assert_finished(chunks, "stop")
    assert weights.prompts == []


async def test_the_same_call_is_not_made_twice() -> None:
    weights = FakeWeights([("find", {"number": "A7"}), ("find", {"number": "A7"})])
    chunks = await ask(weights, make_result_prompt("A7 is on its way"))
    assert list_calls(chunks) == []
    assert join_text(chunks) == "A7 is on its way"


async def test_another_call_after_a_result_is_passed_on() -> None:
    chunks = await ask(FakeWeights([("find", {"number": "B8"})]), make_result_prompt("A7 is on its way"))
    assert list_calls(chunks) == [("find", {"number": "B8"})]


async def test_a_number_that_nobody_wrote_is_asked_for() -> None:
    english = await ask(FakeWeights([("book", {"people": 3})]), make_prompt("Book something nice", tools=(BOOK,)))
    chinese = await ask(FakeWeights([("book", {"people": 3})]), make_prompt("订餐", tools=(BOOK,)))
    assert (join_text(english), join_text(chinese)) == ("Please tell me the people.", "请告诉我people。")
    for text in ("Book for three", "Book for 3", "三位"):
        assert list_calls(await ask(FakeWeights([("book", {"people": 3})]), make_prompt(text, tools=(BOOK,))))


@pytest.mark.parametrize(
    ("text", "people"), [("今天晚上订个餐厅位子", 1), ("book a nice restaurant this week", 7), ("推荐一家餐厅", 1)]
)
async def test_words_that_are_no_number_ground_none(text: str, people: int) -> None:
    assert not list_calls(await ask(FakeWeights([("book", {"people": people})]), make_prompt(text, tools=(BOOK,))))


async def test_negative_numbers_and_words_of_time() -> None:
    schema = {"type": "object", "properties": {"level": {"type": "number"}, "days": {"type": "integer"}}}
    tool = ToolSpec("cut", "", {**schema, "required": ["level", "days"]})
    call = ("cut", {"level": -38.5, "days": 1})
    assert list_calls(await ask(FakeWeights([call]), make_prompt("threshold -38.5, until tomorrow", tools=(tool,))))


async def test_short_forms_of_chats_are_known() -> None:
    spec = ToolSpec("calculate", "", {"properties": {"expression": {}}})
    calls = list_calls(await ask(FakeWeights(), make_prompt("wats 15% of 240?", tools=(spec,))))
    assert [name for name, _ in calls] == ["calculate"]


async def test_a_calculation_without_a_result_is_answered_with_the_reason() -> None:
    spec = ToolSpec("calculate", "", {"properties": {"expression": {}}})
    call = ToolCall("1", "calculate", '{"expression": "5/0"}')
    messages = (
        text_message("user", "What is 5/0?"),
        Message("assistant", (), calls=(call,)),
        text_message("tool", run_calculation("5/0").text, call_id="1"),
    )
    chunks = await ask(FakeWeights(), replace(make_prompt("", tools=(spec,)), messages=messages))
    assert join_text(chunks) == "5/0 cannot be computed: division by zero."


async def test_a_value_that_a_related_question_lacks_is_asked_for() -> None:
    shortcut = Shortcut(
        "book",
        match_hour,
        frozenset(["people"]),
        related=re.compile("book"),
        missing={"en": "For how many?", "zh": "几位？"},
    )
    chunks = await ask(FakeWeights(["What is the people?"]), make_prompt("book a table", tools=(BOOK,)), shortcut)
    assert join_text(chunks) == "For how many?"


@pytest.mark.demand("embedded.what_can_you_do_from_the_tools")
@pytest.mark.parametrize(
    ("question", "head"),
    [("What can you do?", "I can"), ("what can you do for me", "I can"), ("你能做什么？", "我可以")],
)
async def test_what_can_you_do_is_answered_from_the_tools(question: str, head: str) -> None:
    text = join_text(await ask(FakeWeights(), make_prompt(question, tools=(CLOCK, BOOK))))
    assert text.startswith(head)
    assert "Tell the time. (clock)" in text
    assert "Book a table. (book)" in text


def match_hour(question: str) -> dict[str, Any] | None:
    return {} if question == "hour?" else None


def describe_hour(question: str, arguments: dict[str, Any], result: str, language: Language) -> str:
    return f"{question} {arguments} {result} {language}"


async def test_a_shortcut_calls_its_tool_and_describes_the_result() -> None:
    shortcut = Shortcut("find", match_hour, frozenset(["number"]), describe_hour)
    weights = FakeWeights()
    prompt = Prompt(
        messages=(text_message("user", "hour?"),), tools=(ToolSpec("find", "", {"properties": {"number": {}}}),)
    )
    assert list_calls(await ask(weights, prompt, shortcut)) == [("find", {})]
    text = join_text(await ask(weights, make_result_prompt("12", "hour?"), shortcut))
    assert text == "hour? {'number': 'A7'} 12 en"
    assert weights.prompts == []


async def test_the_weights_see_a_shortcuts_tool_only_for_related_questions() -> None:
    weights = FakeWeights(["It is noon."])
    shortcut = Shortcut("clock", match_hour, frozenset(), related=re.compile("time"))
    await ask(weights, make_prompt("Is it summer time?", tools=(CLOCK,)), shortcut)
    assert [tool.name for tool in weights.prompts[0][0].tools] == ["clock"]
    weights = FakeWeights(["I have no tool."], ["Cats purr."])
    await ask(weights, make_prompt("Tell me about cats", tools=(CLOCK,)), shortcut)
    assert [prompt.tools for prompt, _ in weights.prompts] == [(), ()]


async def test_under_a_schema_a_shortcuts_tool_is_called_by_its_rule_only() -> None:
    shortcut = Shortcut("clock", match_hour, frozenset(), related=re.compile("clock"))
    schema: dict[str, Any] = {"type": "object"}
    weights = FakeWeights(base=["{}"])
    prompt = make_prompt("A clock is on the wall.", tools=(CLOCK, BOOK), output_schema=schema)
    assert join_text(await ask(weights, prompt, shortcut)) == "{}"
    assert weights.prompts == [(make_prompt("A clock is on the wall.", tools=(BOOK,), output_schema=schema), False)]
    chunks = await ask(FakeWeights(), make_prompt("hour?", tools=(CLOCK, BOOK), output_schema=schema), shortcut)
    assert list_calls(chunks) == [("clock", {})]
    assert_finished(chunks, "calls")


async def test_under_a_schema_a_result_is_not_asked_for_again() -> None:
    shortcut = Shortcut("find", lambda _: {"number": "A7"}, frozenset(["number"]), related=re.compile("A7"))
    prompt = replace(make_result_prompt("sent"), output_schema={"type": "object"})
    weights = FakeWeights(base=["{}"])
    assert join_text(await ask(weights, prompt, shortcut)) == "{}"
    assert weights.prompts == [(replace(prompt, tools=()), False)]


async def test_a_table_in_the_context_is_computed_by_table_query() -> None:
    table = "| fruit | price |\n|---|---|\n| apple | 3 |\n| pear | 5 |"
    system = text_message("system", f"Context from the application:\n- Prices: \n{table}")
    spec = ToolSpec("table_query", "", {"properties": {"table": {}, "sql": {}}})
    prompt = Prompt(messages=(system, text_message("user", "Which fruit has the highest price?")), tools=(spec,))
    ((name, arguments),) = list_calls(await ask(FakeWeights(), prompt))
    assert name == "table_query"
    assert "pear" in arguments["table"]


@pytest.mark.parametrize(
    "prompt",
    [
        make_prompt("hi", output_schema={"type": "string"}),
        make_prompt("hi", tools=(BOOK,), tool_choice=ToolChoice("required")),
        make_prompt("hi", settings=SamplingSettings(max_tokens=5)),
        make_prompt("hi", settings=SamplingSettings(stop=("x",))),
        make_prompt("hi", settings=SamplingSettings(extra={"logprobs": True})),
        make_prompt("hi", "hello"),
        Prompt(messages=(), raw=RawPrompt("hi")),
    ],
)
async def test_a_prompt_without_a_choice_goes_to_the_weights_unchanged(prompt: Prompt) -> None:
    weights = FakeWeights(base=["as it is"])
    assert join_text(await ask(weights, prompt)) == "as it is"
    assert weights.prompts == [(prompt, False)]


async def test_a_limit_of_the_client_is_told() -> None:
    class Limited(FakeWeights):
        async def stream_chat(self, prompt: Prompt, *, uses_adapter: bool = False) -> AsyncIterator[ModelChunk]:
            if any(message.text == EXAMPLES[0][0] for message in prompt.messages):
                yield FinishChunk("stop")
                return
            self.prompts.append((prompt, uses_adapter))
            yield TextChunk("I have no tool." if uses_adapter else "One sentence. Half a")
            yield UsageChunk(ANSWERED)
            yield FinishChunk("stop" if uses_adapter else "length")

    chunks = await ask(Limited(), make_prompt("Tell me more", settings=SamplingSettings(max_tokens=90)))
    assert join_text(chunks) == "One sentence. Half a"
    assert_finished(chunks, "length")
    chunks = await ask(Limited(), make_prompt("Tell me more"))
    assert join_text(chunks) == "One sentence."
    assert_finished(chunks, "stop")
