"""The layer around a run: what reaches the model, and what comes out."""

import logging
from collections.abc import AsyncIterator

import pytest

from rightseat import Runtime, ToolContext, tool
from rightseat.engine.loop import Assistant
from rightseat.middleware.guardrails import (
    GuardrailPolicies,
    GuardrailPolicy,
    PatternList,
    TextRules,
    UntrustedResultRules,
    WordList,
)
from rightseat.middleware.guardrails.input_checks import REMOVED
from rightseat.middleware.guardrails.layer import guardrails
from rightseat.middleware.guardrails.rules import format_refusal
from rightseat.stores.memory import MemoryStore
from rightseat.types.chunks import FinishChunk, ModelChunk, ReasoningChunk, TextChunk, ToolCallArgs, ToolCallStart
from rightseat.types.events import (
    CallResult,
    Event,
    ReasoningDelta,
    RunFinished,
    SubRunEvent,
    Suggestions,
    TextDelta,
    TextEnd,
    TextStart,
)
from rightseat.types.messages import Message, ToolCall, text_message
from rightseat.types.model import Prompt, RawPrompt, ToolSpec
from rightseat.types.turn import ClientTopics, InterruptAnswer, Turn, TurnClient
from tests.kit.app_server import FakeModel, reply_calls, reply_text
from tests.unit.middleware.guardrails.guarded_runtime import get_failure, join_text, open_guarded_runtime, run_turn

DENY = TextRules(deny=WordList(["gun"]))
REFUSED = "guardrails_validation_failed"


def list_prompt_texts(model: FakeModel, number: int = -1) -> list[str]:
    return [message.text for message in model.prompts[number].messages]


@pytest.mark.demand("models.allow_deny_lists_topics")
@pytest.mark.parametrize(
    ("rules", "asked", "kind"),
    [
        (DENY, "a gun", "words"),
        (TextRules(topics=WordList(["roulette"])), "play Roulette", "topic"),
        (TextRules(allow=WordList(["invoice"])), "tell a joke", "off_topic"),
        (TextRules(patterns=PatternList([r"(?i)ticket-\d+"])), "see TICKET-12", "pattern"),
        (TextRules(max_chars=5), "longer", "length"),
        (TextRules(refused=("email",)), "a@b.cn", "personal"),
    ],
)
async def test_each_kind_of_rule_refuses_and_says_which_it_was(
    rules: TextRules, asked: str, kind: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    async with open_guarded_runtime(guard=GuardrailPolicy(input=rules)) as (runtime, model):
        events = await run_turn(runtime, asked)
    assert get_failure(events) == (REFUSED, format_refusal("input", kind))
    assert model.prompts == []
    # Neither the person nor the log gets the words again.
    assert asked not in caplog.text


@pytest.mark.demand("models.allow_deny_lists_topics")
@pytest.mark.parametrize("kept", ["an invoice please", "INVOICE"])
async def test_what_is_allowed_is_answered(kept: str) -> None:
    async with open_guarded_runtime(
        reply_text("Yes."), guard=GuardrailPolicy(input=TextRules(allow=WordList(["invoice"])))
    ) as (runtime, _):
        assert join_text(await run_turn(runtime, kept)) == "Yes."


async def test_the_refusal_may_be_the_operators_own() -> None:
    async with open_guarded_runtime(guard=GuardrailPolicy(input=DENY, refusal="Ask the desk.")) as (runtime, _):
        assert get_failure(await run_turn(runtime, "gun")) == (REFUSED, "Ask the desk.")


async def test_what_was_refused_before_is_not_shown_and_refuses_nothing() -> None:
    async with open_guarded_runtime(reply_text("Yes."), guard=GuardrailPolicy(input=DENY)) as (runtime, model):
        events = await run_turn(runtime, "a gun", text_message("assistant", "No."), "another gun", "hello")
    assert join_text(events) == "Yes."
    assert list_prompt_texts(model) == [REMOVED, "No.", REMOVED, "hello"]


async def test_a_result_of_the_page_is_no_new_question() -> None:
    made = Message("assistant", calls=(ToolCall("c1", "show", "{}"),))
    async with open_guarded_runtime(
        reply_text("Yes."), guard=GuardrailPolicy(input=TextRules(allow=WordList(["invoice"])))
    ) as (runtime, _):
        events = await run_turn(runtime, "my invoice", made, text_message("tool", "shown", call_id="c1"))
    assert get_failure(events) is None


async def test_an_answer_in_words_is_checked_too() -> None:
    async with open_guarded_runtime(guard=GuardrailPolicy(input=DENY)) as (runtime, _):
        events = await run_turn(runtime, answers=(InterruptAnswer("i", text="a gun"),))
    assert get_failure(events) == (REFUSED, format_refusal("input", "words"))


async def test_a_raw_text_is_checked_and_redacted_and_tokens_are_refused() -> None:
    guard = GuardrailPolicy(input=TextRules(deny=WordList(["gun"]), redacted=("email",)))
    async with open_guarded_runtime(reply_text("Yes."), guard=guard) as (runtime, model):
        assert get_failure(await run_turn(runtime, raw=RawPrompt("a gun"))) is not None
        assert get_failure(await run_turn(runtime, raw=RawPrompt((1, 2)))) == (
            REFUSED,
            format_refusal("input", "unchecked"),
        )
        await run_turn(runtime, raw=RawPrompt("to a@b.cn"))
    assert [prompt.raw and prompt.raw.text for prompt in model.prompts] == ["to [email]"]


@pytest.mark.demand("models.allow_deny_lists_topics")
async def test_a_client_only_makes_rules_stricter() -> None:
    async with open_guarded_runtime(reply_text("Yes."), guard=GuardrailPolicy(input=DENY)) as (runtime, model):
        for topics in (ClientTopics(deny=("poker",)), ClientTopics(allow=("cooking",))):
            assert get_failure(await run_turn(runtime, "poker tonight?", client=TurnClient(topics=topics))) is not None
        # It allows what the operator denies: that changes nothing.
        assert (
            get_failure(await run_turn(runtime, "a gun", client=TurnClient(topics=ClientTopics(allow=("gun",)))))
            is not None
        )
        both = ClientTopics(("cooking",), ("poker",))
        assert join_text(await run_turn(runtime, "Poker", "Cooking eggs", client=TurnClient(topics=both))) == "Yes."
    assert list_prompt_texts(model) == [REMOVED, "Cooking eggs"]


@pytest.mark.demand("models.length_token_limits_pii")
async def test_tokens_are_counted_by_the_model_where_it_tells() -> None:
    class Counting(FakeModel):
        async def tokenize(self, text: str, *, add: bool, special: bool, pieces: bool) -> list[int]:
            return [0] * len(text.split())

        async def detokenize(self, tokens: list[int]) -> str:
            return ""

    guards = GuardrailPolicies(GuardrailPolicy(input=TextRules(max_tokens=3)))
    runtime = Runtime(model=Counting(reply_text("Yes.")), guards=guards)
    assert get_failure(await run_turn(runtime, "one two three four")) == (REFUSED, format_refusal("input", "tokens"))
    assert join_text(await run_turn(runtime, "incomprehensibilities notwithstanding")) == "Yes."
    estimated = Runtime(model=FakeModel(reply_text("Yes.")), guards=guards)
    assert get_failure(await run_turn(estimated, "incomprehensibilities notwithstanding")) is not None
    assert join_text(await run_turn(estimated, "a short one")) == "Yes."
    await runtime.close()
    await estimated.close()


async def test_thoughts_and_every_message_are_read_from_their_beginning() -> None:
    thinking: list[ModelChunk] = [ReasoningChunk("a g"), ReasoningChunk("un"), TextChunk("Hello"), FinishChunk("stop")]
    async with open_guarded_runtime(thinking, reply_text("a g", "un"), guard=GuardrailPolicy(output=DENY)) as (
        runtime,
        _,
    ):
        thought = await run_turn(runtime, "hi")
        spoken = await run_turn(runtime, "hi")
    assert get_failure(thought) == get_failure(spoken) == ("output_guarded", format_refusal("output", "words"))
    assert "".join(one.text for one in thought if isinstance(one, ReasoningDelta)) == ""
    assert join_text(spoken) == "a "


async def test_what_is_open_is_closed_when_an_answer_is_stopped() -> None:
    for replacement in ("", "Sorry."):
        guard = GuardrailPolicy(output=DENY, replacement=replacement)
        async with open_guarded_runtime(reply_text("my gun"), guard=guard) as (runtime, _):
            events = await run_turn(runtime, "hi")
        kinds = [type(event) for event in events[1:-1]]
        assert kinds == [TextStart, *[TextDelta] * (2 if replacement else 1), TextEnd]
        assert isinstance(events[-1], RunFinished) is bool(replacement)


async def test_the_upstream_is_not_read_on_when_an_answer_is_stopped() -> None:
    read: list[str] = []

    async def line(prompt: Prompt) -> AsyncIterator[ModelChunk]:
        try:
            for word in ("a ", "gun ", "and ", "more "):
                read.append(word)
                yield TextChunk(word)
        finally:
            read.append("closed")

    async with open_guarded_runtime(line, guard=GuardrailPolicy(output=DENY)) as (runtime, _):
        await run_turn(runtime, "hi")
    assert read == ["a ", "gun ", "closed"]


async def test_a_call_that_is_cut_is_still_seen_to_be_cut() -> None:
    cut: list[ModelChunk] = [ToolCallStart(0, "show", True), ToolCallArgs(0, '{"title": "a'), FinishChunk("length")]
    offered = ToolSpec("show", "Shows.", {"type": "object"})
    async with open_guarded_runtime(cut, guard=GuardrailPolicy(output=DENY)) as (runtime, _):
        events = await run_turn(runtime, "hi", tools=(offered,))
    assert [type(event).__name__ for event in events] == ["RunStarted", "CallStart", "RunFinished"]


@pytest.mark.demand("models.length_token_limits_pii")
async def test_a_form_for_answers_where_the_client_asks_none() -> None:
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    lines = reply_text("no"), reply_text('{"n": 1}'), reply_text('"mine"')
    async with open_guarded_runtime(*lines, guard=GuardrailPolicy(schema=schema)) as (runtime, _):
        assert join_text(await run_turn(runtime, "hi")) == '{"n": 1}'
        assert join_text(await run_turn(runtime, "hi", output_schema={"type": "string"})) == '"mine"'


async def test_rules_belong_to_assistants() -> None:
    guards = GuardrailPolicies(GuardrailPolicy(input=DENY), {"free": GuardrailPolicy()})
    assistants = [Assistant("strict", FakeModel()), Assistant("free", FakeModel(reply_text("Yes.")))]
    runtime = Runtime(assistants=assistants, guards=guards)
    assert get_failure(await run_turn(runtime, "gun", assistant="strict")) is not None
    assert get_failure(await run_turn(runtime, "gun")) is not None
    assert join_text(await run_turn(runtime, "gun", assistant="free")) == "Yes."
    await runtime.close()


@pytest.mark.demand("models.length_token_limits_pii")
async def test_results_of_tools_without_personal_data() -> None:
    @tool
    def look(ctx: ToolContext) -> str:
        """Look."""
        return "write to joe@example.com"

    guard = GuardrailPolicy(untrusted=UntrustedResultRules(redacted=("email",)))
    model_calls = reply_calls(("show", "{}"))
    made = Message("assistant", calls=(ToolCall("c1", "show", "{}"),))
    async with open_guarded_runtime(
        reply_calls(("look", "{}")), reply_text("Ok."), model_calls, guard=guard, tools=[look]
    ) as (runtime, model):
        events = await run_turn(runtime, "hi")
        shown = [event.content for event in events if isinstance(event, CallResult)]
        assert shown == ["write to [email]"]
        await run_turn(runtime, "hi", made, text_message("tool", "a@b.cn", call_id="c1"))
    # The operator's own tool is trusted: its model sees what it said.
    assert list_prompt_texts(model, 1)[-1] == "write to joe@example.com"
    assert list_prompt_texts(model, 2)[-1] == "[email]"


async def test_runs_inside_a_run_are_read_too() -> None:
    async def inner(turn: Turn) -> AsyncIterator[Event]:
        for event in (TextStart("m"), TextDelta("m", "a g"), TextDelta("m", "un!")):
            yield SubRunEvent("r2", "other", "c1", event)
        yield RunFinished("stop")

    runtime = Runtime(agents={"default": inner}, guards=GuardrailPolicies(GuardrailPolicy(output=DENY)))
    events = await run_turn(runtime, "hi")
    assert get_failure(events) is not None
    nested = [event.event for event in events if isinstance(event, SubRunEvent)]
    assert join_text(nested) == ""
    await runtime.close()


@pytest.mark.demand("models.input_before_model_output")
async def test_what_could_be_asked_next_is_read_too() -> None:
    async def inner(turn: Turn) -> AsyncIterator[Event]:
        yield Suggestions(("Where is a gun?", "Where is the sun?"))
        yield Suggestions(("A GUN?",))
        yield RunFinished("stop")

    runtime = Runtime(agents={"default": inner}, guards=GuardrailPolicies(GuardrailPolicy(output=DENY)))
    events = await run_turn(runtime, "hi")
    assert [one for one in events if isinstance(one, Suggestions)] == [Suggestions(("Where is the sun?",))]
    await runtime.close()


async def test_an_agent_that_leaves_its_text_open_or_never_begins_it_loses_nothing() -> None:
    async def careless(turn: Turn) -> AsyncIterator[Event]:
        yield TextDelta("n", "no gu")
        yield TextStart("m")
        yield TextDelta("m", "a g")
        yield RunFinished("stop")

    runtime = Runtime(agents={"default": careless}, guards=GuardrailPolicies(GuardrailPolicy(output=DENY)))
    events = await run_turn(runtime, "hi")
    assert "".join(one.text for one in events if isinstance(one, TextDelta) and one.id == "m") == "a g"
    assert isinstance(events[-1], RunFinished)
    await runtime.close()


@pytest.mark.demand("models.input_before_model_output")
async def test_without_a_rule_nothing_stands_in_the_way() -> None:
    async def inner(turn: Turn) -> AsyncIterator[Event]:
        yield RunFinished("stop")

    streams: list[AsyncIterator[Event]] = []

    def responder(turn: Turn) -> AsyncIterator[Event]:
        streams.append(inner(turn))
        return streams[-1]

    turn = Turn(messages=(text_message("user", "hi"),))
    for guard in (GuardrailPolicy(), GuardrailPolicy(input=DENY)):
        found = guardrails(GuardrailPolicies(guard), lambda name: None)(responder)(turn)
        assert found is streams[-1]
        assert [event async for event in found] == [RunFinished("stop")]
    found = guardrails(GuardrailPolicies(GuardrailPolicy(output=DENY)), lambda name: None)(responder)(turn)
    assert found is not streams[-1]
    assert [event async for event in found] == [RunFinished("stop")]


async def test_a_question_in_words_is_found_again_after_redaction() -> None:
    """The words that were asked are known by what the client saw, not by what the tool said."""

    @tool
    def send(ctx: ToolContext) -> str:
        """Send."""
        return "sent" if ctx.confirm("Really?") else "not sent"

    lines = reply_calls(("send", "{}"), text="To joe@example.com."), reply_text("Done.")
    guard = GuardrailPolicy(output=TextRules(redacted=("email",)))
    async with open_guarded_runtime(*lines, guard=guard, tools=[send], store=MemoryStore()) as (runtime, _):
        asked: list[Event] = await run_turn(runtime, "send", client=TurnClient(shows_interrupts=False))
        assert join_text(asked).startswith("To [email].")
        history = (
            text_message("user", "send"),
            text_message("assistant", join_text(asked)),
            text_message("user", "yes"),
        )
        assert join_text(await run_turn(runtime, *history, client=TurnClient(shows_interrupts=False))) == "Done."


@pytest.mark.demand("language.sentences_in_persons_language")
async def test_a_refusal_is_in_the_person_s_language() -> None:
    async with open_guarded_runtime(guard=GuardrailPolicy(input=TextRules(max_chars=5))) as (runtime, _):
        events = await run_turn(runtime, "这条消息太长了")
    assert get_failure(events) == (REFUSED, "这条消息不予回答：它超过了此处允许的长度。")
