"""Chat formats: the text of a model → text, thoughts and tool calls, in every format and however the text is split.

The first line of an input names the format and its options, such as `hermes think`; the rest is the model's text.
"""

import json
import random
import zlib
from collections.abc import Iterable, Sequence

from rightseat.errors import RightseatError
from rightseat.models.llamacpp.client import CompletionChunk
from rightseat.models.llamacpp.completion import CompletionReader
from rightseat.models.llamacpp.formats import PromptPlan
from rightseat.models.openai.emulated import EnvelopeParser
from rightseat.tools.text_calls.generic import JsonCallEnvelope
from rightseat.tools.text_calls.reader import ModelTextReader, TextFormatError
from rightseat.types.chunks import FinishChunk, ModelChunk, TextChunk
from rightseat.types.messages import Message, ToolCall
from rightseat.types.model import SamplingSettings
from tests.contract.formats.cases import CASES, TOOLS
from tests.contract.formats.checking import make_context
from tests.contract.formats.members import MEMBERS, FormatMember
from tests.contract.models.cases import CollectedAnswer, collect_answer
from tests.fuzz.parsers.target import ParserTarget, iter_splits, require

AnswerOutcome = tuple[CollectedAnswer | None, bool, bool] | str
NAMES = tuple(MEMBERS)
OPTIONS = ("think", "stop", "cut")
STOP_WORD = "house"
MAX_PIECES = 20_000


def make_plan(member: FormatMember, options: Sequence[str]) -> PromptPlan:
    return member.format.make_plan(make_context(thinking=member.thinking if "think" in options else None))


def read_text(plan: PromptPlan, pieces: Iterable[str], *, cut: bool = False) -> AnswerOutcome:
    """Return the answer, whether it ended within a call and too early; or the name of the error."""
    reader = plan.make_reader()
    try:
        chunks = [chunk for piece in pieces for chunk in reader.feed(piece)]
        chunks += reader.close(length_limited=cut)
    except TextFormatError as error:
        return type(error).__name__
    return collect_answer(chunks), reader.inside_call, reader.truncated


def read_completion(plan: PromptPlan, pieces: Sequence[str], *, cut: bool) -> AnswerOutcome:
    """Return what the model class makes of the engine's chunks, with a stop word."""
    reader = CompletionReader(plan, SamplingSettings(stop=(STOP_WORD,)))
    stop_type = "limit" if cut else "eos"
    chunks: list[ModelChunk] = []
    try:
        for piece in pieces:
            if not reader.finished:
                chunks += reader.read_chunk(CompletionChunk(content=piece))
        if not reader.finished:
            chunks += reader.read_chunk(CompletionChunk(stop=True, stop_type=stop_type))
    except RightseatError as error:
        return type(error).__name__
    return collect_answer(chunks), False, False


def read_envelope(pieces: Iterable[str]) -> AnswerOutcome:
    """Return what tool emulation makes of a server's answer."""
    parser = EnvelopeParser(JsonCallEnvelope(tools=TOOLS), SamplingSettings(), enforced=False)
    chunks: list[ModelChunk] = []
    try:
        for piece in pieces:
            chunks += parser.feed(TextChunk(piece))
        chunks += parser.feed(FinishChunk("stop"))
    except RightseatError as error:
        return type(error).__name__
    return collect_answer(chunks), False, False


class ChatFormats(ParserTarget):
    name = "formats"
    traced = (
        "models/llamacpp/formats",
        "models/llamacpp/completion.py",
        "tools/text_calls",
        "models/openai/emulated.py",
    )
    words = (
        *(b"<tool_call>", b"</tool_call>", b"[TOOL_CALLS]", b"[ARGS]", b"<think>"),
        *(b"</think>", b"[THINK]", b"[/THINK]"),
        *(b"<|START_ACTION|>", b"<|END_ACTION|>", b"<|START_RESPONSE|>", b"<|END_RESPONSE|>", b"<|START_THINKING|>"),
        *(mark.encode() for mark in ("<｜tool▁calls▁begin｜>", "<｜tool▁call▁begin｜>", "<｜tool▁sep｜>")),
        *(mark.encode() for mark in ("<｜tool▁call▁end｜>", "<｜tool▁calls▁end｜>")),
        *(b"<function=find_word>", b"<function=", b"</function>", b"<|python_tag|>", b"functools[", b">>>", b"all\n"),
        *(b"<|recipient|>", b"<|content|>", b"<|from|>assistant\n", b"```json\n", b"\n```"),
        *(b"; ", b"house", b"\\u", b"\\ud83d"),
        *(b'{"name": "ring", "arguments": {}}', b'"parameters": ', b'{"word": "Haus", "language": "fr"}'),
        *(b"ring", b"ring.call("),
        *(b'"next_step": {"result": "', b'"tool_calls": [', b'"thought_about_next_step_only": "x", '),
        *(b"\n", b"  \n\n "),
    )  # fmt: skip
    base_seconds = 0.2
    seconds_per_byte = 10e-6
    max_bytes = 40_000

    def __init__(self) -> None:
        self._plans = {
            (name, options): make_plan(member, options)
            for name, member in MEMBERS.items()
            for options in ((), ("think",))
        }

    def parse(self, data: bytes) -> None:
        name, options, text = split_input(data)
        read_text(self._get_plan(name, options), [text], cut="cut" in options)
        read_envelope([text])

    def check(self, data: bytes) -> None:
        name, options, text = split_input(data)
        plan, cut = self._get_plan(name, options), "cut" in options
        whole = read_text(plan, [text], cut=cut)
        envelope = read_envelope([text])
        stopped = read_completion(plan, [text], cut=cut) if "stop" in options else ""
        for pieces in iter_splits(text, MAX_PIECES):
            other = read_text(plan, pieces, cut=cut)
            require(other == whole, f"{name}: the answer depends on the split", whole, other, pieces)
            other = read_envelope(pieces)
            require(other == envelope, "the emulated answer depends on the split", envelope, other, pieces)
            # A stop word before an error hides the error, unless both come in one piece.
            if not isinstance(stopped, str) and not isinstance(other := read_completion(plan, pieces, cut=cut), str):
                require(other == stopped, f"{name}: the stopped answer depends on the split", stopped, other, pieces)
        if not isinstance(whole, str) and whole[0] is not None and not whole[1]:
            check_round_trip(MEMBERS[name], plan, whole[0])

    def _get_plan(self, name: str, options: Sequence[str]) -> PromptPlan:
        return self._plans[name, ("think",) if "think" in options else ()]

    def mutate(self, rng: random.Random, data: bytes) -> bytes | None:
        """Write a case of the contract in some format, or read the same text as another format."""
        text = data.partition(b"\n")[2]
        name = rng.choice(NAMES)
        options = " ".join(option for option in OPTIONS if rng.random() < 0.2)
        if rng.random() < 0.7:
            return f"{name} {options}\n".encode() + text
        case = rng.choice(CASES)
        return f"{name} {options}\n{MEMBERS[name].write(case)}".encode() + (text if rng.random() < 0.3 else b"")


def split_input(data: bytes) -> tuple[str, list[str], str]:
    """Return the format's name, the options and the text."""
    head, _, text = data.partition(b"\n")
    name, *options = head.decode("utf-8", "replace").split() or [""]
    return name if name in MEMBERS else NAMES[zlib.crc32(head) % len(NAMES)], options, text.decode("utf-8", "replace")


def check_round_trip(member: FormatMember, plan: PromptPlan, answer: CollectedAnswer) -> None:
    """Calls that a format has read are read again from what it writes of them for the history."""
    try:
        calls = [(name, json.loads(arguments)) for name, arguments in answer.calls]
    except (ValueError, RecursionError):
        return
    known = {tool.name for tool in TOOLS}
    if not calls or any(name not in known or not isinstance(arguments, dict) for name, arguments in calls):
        return
    message = Message("assistant", calls=tuple(ToolCall(f"c{n}", *call) for n, call in enumerate(answer.calls)))
    written = member.format.format_calls(message, make_context())
    again = read_text_of(plan.make_reader(), written)
    parsed = [(name, json.loads(arguments)) for name, arguments in again.calls]
    require(
        repr(parsed) == repr(calls), f"{member.format.name}: calls written are not read again", calls, written, parsed
    )


def read_text_of(reader: ModelTextReader, text: str) -> CollectedAnswer:
    return collect_answer([*reader.feed(text), *reader.close()])
