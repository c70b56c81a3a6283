"""What any model can be made to say, in the words of each member, and what must come out."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from rightseat.errors import Incomplete, RightseatError, UpstreamBusy
from rightseat.types.chunks import (
    FinishChunk,
    ModelChunk,
    ProviderDataChunk,
    ReasoningChunk,
    RefusalChunk,
    TextChunk,
    ToolCallArgs,
    ToolCallStart,
    UsageChunk,
)
from rightseat.types.events import Usage
from tests.kit import answers, faults
from tests.kit.answers import ChatReply, UpstreamReply


@dataclass(frozen=True)
class CollectedAnswer:
    """An answer as a whole: the same however it was cut into fragments."""

    text: str = ""
    reasoning: str = ""
    refusal: str = ""
    calls: tuple[tuple[str, str], ...] = ()
    usage: Usage | None = None
    finish: str | None = None


def collect_answer(chunks: Sequence[ModelChunk]) -> CollectedAnswer:
    calls: dict[int, tuple[str, str]] = {}
    answer = CollectedAnswer()
    for chunk in chunks:
        match chunk:
            case TextChunk():
                answer = replace(answer, text=answer.text + chunk.text)
            case ReasoningChunk():
                answer = replace(answer, reasoning=answer.reasoning + chunk.text)
            case RefusalChunk():
                answer = replace(answer, refusal=answer.refusal + chunk.text)
            case ToolCallStart():
                assert chunk.index not in calls, "a name is given once"
                calls[chunk.index] = (chunk.name, "")
            case ToolCallArgs():
                assert chunk.index in calls, "the name comes before the arguments"
                name, json = calls[chunk.index]
                calls[chunk.index] = (name, json + chunk.json)
            case UsageChunk():
                answer = replace(answer, usage=chunk.usage)
            case FinishChunk():
                assert chunk is chunks[-1], "Finish is the last fragment"
                answer = replace(answer, finish=chunk.reason)
            case ProviderDataChunk():
                # Only its own vendor can read it.
                assert chunk.provider
            case _:
                raise AssertionError(chunk)
    assert list(calls) == list(range(len(calls))), "calls are numbered in order"
    return replace(answer, calls=tuple(calls.values()))


@dataclass(frozen=True)
class ModelCase:
    name: str
    reply: UpstreamReply
    turn: dict[str, Any]
    expected: CollectedAnswer
    error: type[RightseatError] | None = None
    usage: dict[str, int] = field(default_factory=lambda: {"input": 7, "output": 3})


SUM_ARGUMENTS = '{"a": 2, "b": 3}'
EXPECTED_USAGE = Usage(7, 3)
WORDS = ["w0", " w1", " w2"]


def make_expected(finish: str = "stop", **more: Any) -> CollectedAnswer:
    return CollectedAnswer(usage=EXPECTED_USAGE, finish=finish, **more)


CASES = [
    ModelCase("text", answers.answer_text(), {"say": WORDS}, make_expected(text="w0 w1 w2")),
    ModelCase("unicode", answers.answer_tokens(["héllo 世", "界 🙂", "\n\n\u2028"]), {"say": "héllo 世界 🙂\n\n\u2028"},
         make_expected(text="héllo 世界 🙂\n\n\u2028")),
    ModelCase("reasoning", answers.answer_reasoning(), {"reason": "first think", "say": WORDS},
         make_expected(reasoning="first think", text="w0 w1 w2")),
    ModelCase("refusal", answers.answer_refusal(), {"refuse": "I will not."}, make_expected(refusal="I will not.")),
    ModelCase("a call", answers.answer_tool_call(), {"calls": [{"name": "add", "arguments": SUM_ARGUMENTS}]},
         make_expected("calls", calls=(("add", SUM_ARGUMENTS),))),
    ModelCase("text and a call", answers.answer_tool_call(preface="Let me see."),
         {"say": "Let me see.", "calls": [{"name": "add", "arguments": SUM_ARGUMENTS}]},
         make_expected("calls", text="Let me see.", calls=(("add", SUM_ARGUMENTS),))),
    ModelCase("two calls", answers.answer_tool_calls(),
         {"calls": [{"name": n, "arguments": a} for n, a in answers.TWO_CALLS]},
         make_expected("calls", calls=answers.TWO_CALLS)),
    ModelCase("a call that is not JSON", answers.answer_invalid_call(),
         {"calls": [{"name": "add", "arguments": '{"a": 2, "b": '}]},
         make_expected("calls", calls=(("add", '{"a": 2, "b": '),))),
    ModelCase("length", answers.answer_at_length_limit(), {"say": WORDS, "finish": "length"},
         make_expected("length", text="w0 w1 w2")),
    ModelCase("length within a call", answers.answer_truncated_call(),
         {"calls": [{"name": n, "arguments": a} for n, a in (answers.CUT_CALL,)], "finish": "length"},
         make_expected("length", calls=(answers.CUT_CALL,))),
    ModelCase("length within the second call", answers.answer_truncated_call(answers.TWO_CALLS[0]),
         {"calls": [{"name": n, "arguments": a} for n, a in (answers.TWO_CALLS[0], answers.CUT_CALL)],
          "finish": "length"},
         make_expected("length", calls=(answers.TWO_CALLS[0], answers.CUT_CALL))),
    ModelCase("content filter", ChatReply([], {"content": ""}, "content_filter"), {"finish": "content_filter"},
         make_expected("content_filter")),
    ModelCase("empty", ChatReply([], {"content": ""}), {}, make_expected()),
    ModelCase("cut", faults.end_without_finish(), {"say": WORDS, "finish": "cut"},
         CollectedAnswer(text="w0 w1 w2"), Incomplete),
    ModelCase("busy", faults.fail_with_status(429, 7), {"finish": "raise:upstream_busy"},
         CollectedAnswer(), UpstreamBusy),
]  # fmt: skip

# Takes longer than a stuck program: whoever only waits for its end is seen.
LONG_CASE = ModelCase(
    "long", answers.answer_text(1000, rate=10), {"say": ["w"] * 1000, "pace_ms": 100}, CollectedAnswer()
)
