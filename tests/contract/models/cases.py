"""What any model can be made to say, in the words of each member, and what must come out."""

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
from tests.kit.answers import Answer, Reply


@dataclass(frozen=True)
class Heard:
    """An answer as a whole: the same however it was cut into fragments."""

    text: str = ""
    reasoning: str = ""
    refusal: str = ""
    calls: tuple[tuple[str, str], ...] = ()
    usage: Usage | None = None
    finish: str | None = None


def heard(fragments: list[ModelChunk]) -> Heard:
    calls: dict[int, tuple[str, str]] = {}
    out = Heard()
    for fragment in fragments:
        match fragment:
            case TextChunk():
                out = replace(out, text=out.text + fragment.text)
            case ReasoningChunk():
                out = replace(out, reasoning=out.reasoning + fragment.text)
            case RefusalChunk():
                out = replace(out, refusal=out.refusal + fragment.text)
            case ToolCallStart():
                assert fragment.index not in calls, "a name is given once"
                calls[fragment.index] = (fragment.name, "")
            case ToolCallArgs():
                assert fragment.index in calls, "the name comes before the arguments"
                name, json = calls[fragment.index]
                calls[fragment.index] = (name, json + fragment.json)
            case UsageChunk():
                out = replace(out, usage=fragment.usage)
            case FinishChunk():
                assert fragment is fragments[-1], "Finish is the last fragment"
                out = replace(out, finish=fragment.reason)
            case ProviderDataChunk():
                # Only its own vendor can read it.
                assert fragment.provider
            case _:
                raise AssertionError(fragment)
    assert list(calls) == list(range(len(calls))), "calls are numbered in order"
    return replace(out, calls=tuple(calls.values()))


@dataclass(frozen=True)
class Case:
    name: str
    upstream: Reply
    turn: dict[str, Any]
    heard: Heard
    fails: type[RightseatError] | None = None
    usage: dict[str, int] = field(default_factory=lambda: {"input": 7, "output": 3})


SUM = '{"a": 2, "b": 3}'
KIT_USAGE = Usage(7, 3)
WORDS = ["w0", " w1", " w2"]


def done(finish: str = "stop", **more: Any) -> Heard:
    return Heard(usage=KIT_USAGE, finish=finish, **more)


CASES = [
    Case("text", answers.text(), {"say": WORDS}, done(text="w0 w1 w2")),
    Case("unicode", answers.say(["héllo 世", "界 🙂", "\n\n\u2028"]), {"say": "héllo 世界 🙂\n\n\u2028"},
         done(text="héllo 世界 🙂\n\n\u2028")),
    Case("reasoning", answers.reasoning(), {"reason": "first think", "say": WORDS},
         done(reasoning="first think", text="w0 w1 w2")),
    Case("refusal", answers.refusal(), {"refuse": "I will not."}, done(refusal="I will not.")),
    Case("a call", answers.tool(), {"calls": [{"name": "add", "arguments": SUM}]},
         done("calls", calls=(("add", SUM),))),
    Case("text and a call", answers.tool(preface="Let me see."),
         {"say": "Let me see.", "calls": [{"name": "add", "arguments": SUM}]},
         done("calls", text="Let me see.", calls=(("add", SUM),))),
    Case("two calls", answers.tools(), {"calls": [{"name": n, "arguments": a} for n, a in answers.TWO]},
         done("calls", calls=answers.TWO)),
    Case("a call that is not JSON", answers.bad_call(),
         {"calls": [{"name": "add", "arguments": '{"a": 2, "b": '}]},
         done("calls", calls=(("add", '{"a": 2, "b": '),))),
    Case("length", answers.out_of_length(), {"say": WORDS, "finish": "length"},
         done("length", text="w0 w1 w2")),
    Case("length within a call", answers.cut_call(),
         {"calls": [{"name": "add", "arguments": '{"a": 2, "b'}], "finish": "length"},
         done("length", calls=(("add", '{"a": 2, "b'),))),
    Case("content filter", Answer([], {"content": ""}, "content_filter"), {"finish": "content_filter"},
         done("content_filter")),
    Case("empty", Answer([], {"content": ""}), {}, done()),
    Case("cut", faults.eof(), {"say": WORDS, "finish": "cut"}, Heard(text="w0 w1 w2"), Incomplete),
    Case("busy", faults.status(429, 7), {"finish": "raise:upstream_busy"}, Heard(), UpstreamBusy),
]  # fmt: skip

# Takes longer than a stuck program: whoever only waits for its end is seen.
LONG = Case("long", answers.text(1000, rate=10), {"say": ["w"] * 1000, "pace_ms": 100}, Heard())
