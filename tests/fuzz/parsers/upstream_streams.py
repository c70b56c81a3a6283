"""SSE of upstreams: the parser of events, the fast paths beside it, and the vendors' and agents' readers of `data`."""

import random
import re
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, cast

import msgspec

from rightseat.agents._peer.client import PeerErrors
from rightseat.agents.agui.event_mapper import AGUIEventMapper
from rightseat.agents.langgraph.event_mapper import GraphStateTracker, LangGraphEventMapper
from rightseat.agents.langgraph.model_outputs import ModelOutputs
from rightseat.agents.langgraph.wire import ServerSentEventParser
from rightseat.errors import RightseatError, UpstreamGarbled
from rightseat.http.client import Response
from rightseat.http.idle import IdleTimer
from rightseat.http.sse import SseParser, format_event
from rightseat.models._vendor.exchange import StreamExchange, Timeouts
from rightseat.models._vendor.parser import StreamParser
from rightseat.models.anthropic.client import AnthropicEventParser, AnthropicExchange
from rightseat.models.anthropic.stream_parser import MessageStreamParser
from rightseat.models.google.client import GoogleExchange
from rightseat.models.google.stream_parser import GeminiStreamParser
from rightseat.models.openai.client import OpenAIChatParser
from rightseat.models.openai.exchange import OpenAIExchange
from rightseat.models.openai.responses_parser import ResponsesStreamParser
from rightseat.types.chunks import ModelChunk, ReasoningChunk, TextChunk
from rightseat.types.messages import text_message
from rightseat.types.turn import Turn
from tests.fuzz.parsers.target import ParserTarget, iter_splits, mutate_json, require

SMALL_LIMIT, USUAL_LIMIT = 40, 1 << 20
LINE_END = re.compile(rb"\r\n|\n|\r")
DATA_LINE = re.compile(rb"^data: ?(\{.*\})$", re.MULTILINE)
THREAD = uuid.UUID(int=1)
QUESTION = text_message("user", "add")

StreamOutcome = tuple[list[Any], str]
ExchangeKind = Callable[..., StreamExchange[Any]]
EXCHANGES: tuple[tuple[ExchangeKind, Callable[[], StreamParser]], ...] = (
    (OpenAIExchange, OpenAIChatParser),
    (OpenAIExchange, lambda: OpenAIChatParser(inline_thoughts="auto")),
    (OpenAIExchange, ResponsesStreamParser),
    (AnthropicExchange, lambda: MessageStreamParser("model", {})),
    (GoogleExchange, GeminiStreamParser),
)


@dataclass
class FakeResponse:
    """Response whose body arrives in the given pieces."""

    pieces: list[bytes]
    headers: Mapping[str, str] = field(default_factory=lambda: {"content-type": "text/event-stream"})

    @property
    def ended(self) -> bool:
        return not self.pieces

    def take_body(self) -> bytes:
        return self.pieces.pop(0) if self.pieces else b""

    def close(self) -> None:
        self.pieces.clear()


@dataclass
class FakeTimer:
    """IdleTimer without an event loop."""

    begun: bool = False
    expired: bool = False

    def shorten(self, timeout: float) -> None:
        self.begun = True

    def stop(self) -> None:
        self.begun = True


def parse_events(parser: SseParser, pieces: Iterable[bytes]) -> StreamOutcome:
    """Return the events before the end or the error, and which of the two it was."""
    events: list[bytes] = []
    try:
        for piece in pieces:
            events += parser.feed(piece)
        events += parser.close()
    except UpstreamGarbled:
        return events, "garbled"
    return events, ""


def read_exchange(kind: ExchangeKind, parser: StreamParser, pieces: Sequence[bytes]) -> StreamOutcome:
    """Return the chunks of an exchange, with neighbouring texts joined, and the name of its error."""
    response, timer = cast(Response, FakeResponse(list(pieces))), cast(IdleTimer, FakeTimer())
    exchange = kind(response, parser, timer, Timeouts(), lambda payload: None)
    chunks: list[ModelChunk] = []
    try:
        while not exchange.done:
            chunks += exchange.read()
        chunks += exchange.finish()
    except RightseatError as error:
        return join_texts(chunks), type(error).__name__
    return join_texts(chunks), ""


def join_texts(chunks: Iterable[ModelChunk]) -> list[ModelChunk]:
    """Join neighbouring texts without logprobs, and thoughts: how many there are may depend on the split."""
    out: list[ModelChunk] = []
    for chunk in chunks:
        last = out[-1] if out else None
        if isinstance(chunk, TextChunk) and isinstance(last, TextChunk) and chunk.logprobs is last.logprobs is None:
            out[-1] = TextChunk(last.text + chunk.text)
        elif isinstance(chunk, ReasoningChunk) and isinstance(last, ReasoningChunk):
            out[-1] = ReasoningChunk(last.text + chunk.text)
        else:
            out.append(chunk)
    return out


def map_agent_payloads(payloads: Iterable[bytes]) -> None:
    """Map the payloads as events of both kinds of agents, as their Responders do."""
    turn = Turn(messages=(QUESTION,))
    agui = AGUIEventMapper(turn, THREAD, ["u1"], PeerErrors("x"))
    graph = LangGraphEventMapper(PeerErrors("x"), THREAD, ModelOutputs(), GraphStateTracker())
    for payload in payloads:
        feed_agent(partial(feed_agui, agui, payload))
        for name in ("events", "values", "updates", "error", "metadata"):
            feed_agent(partial(graph.feed, name, payload))
    feed_agent(agui.finish)
    feed_agent(graph.finish)


def feed_agui(mapper: AGUIEventMapper, payload: bytes) -> None:
    try:
        event = msgspec.json.decode(payload)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return
    if isinstance(event, dict):
        encode_events(mapper.feed(event))


def feed_agent(feed: Callable[[], object]) -> None:
    try:
        feed()
    except RightseatError:
        return


def encode_events(events: object) -> None:
    msgspec.json.encode(events)


class UpstreamStreams(ParserTarget):
    name = "sse"
    traced = ("http/sse.py", "models/_vendor", "models/openai", "models/anthropic", "models/google", "agents")
    words = (
        *(b"data: ", b"data:", b"data", b"\n\n", b"\r\n", b"\r\r", b"\xef\xbb\xbf", b": c\n", b"id: 7\n", b"[DONE]"),
        *(b"event: content_block_delta\ndata: ", b"event: message\n", b"retry: 1\n", b'data: {"choices":[', b"null"),
        *(b'"content":"', b'"tool_calls":[{"index":0,"function":{"name":"add","arguments":"{}"}}]', b'"finish_reason"'),
        *(b'{"type":"content_block_start","index":0,"content_block":', b'{"type":"message_delta","delta":'),
        *(
            b'{"candidates":[{"content":{"parts":[',
            b'{"functionCall":{"name":"add","args":{}}}',
            b"<think>",
            b"</think>",
        ),
        *(b'{"type":"response.output_text.delta","delta":"a"}', b'{"type":"TOOL_CALL_START","toolCallId":"c"}'),
    )
    seconds_per_byte = 100e-6
    max_bytes = 60_000

    def parse(self, data: bytes) -> None:
        events, _ = parse_events(SseParser(USUAL_LIMIT), [data])
        frames = [event + b"\n\n" for event in data.split(b"\n\n")]
        for kind, make_parser in EXCHANGES:
            read_exchange(kind, make_parser(), frames)
        map_agent_payloads(events)
        parse_frames(frames)

    def check(self, data: bytes) -> None:
        for limit in (SMALL_LIMIT, USUAL_LIMIT):
            whole = parse_events(SseParser(limit), [data])
            for pieces in iter_splits(data):
                require(parse_events(SseParser(limit), pieces) == whole, "SSE events depend on the split", whole)
                fast = parse_events(AnthropicEventParser(limit), pieces)
                require(fast == whole, "Anthropic's fast path finds other events", whole, fast)
        check_round_trip(data)
        check_event_names(data)
        for kind, make_parser in EXCHANGES:
            answer = read_exchange(kind, make_parser(), [data])
            for pieces in iter_splits(data):
                other = read_exchange(kind, make_parser(), pieces)
                require(other == answer, f"an answer depends on the split: {kind}", answer, other, pieces)

    def mutate(self, rng: random.Random, data: bytes) -> bytes | None:
        """Change the JSON of one event."""
        lines = list(DATA_LINE.finditer(data))
        if not lines:
            return None
        line = rng.choice(lines)
        changed = mutate_json(rng, line[1])
        return None if changed is None else data[: line.start(1)] + changed + data[line.end(1) :]


def check_round_trip(data: bytes) -> None:
    """An event that we format is parsed as what it was, with LF at the ends of its lines."""
    expected = ([b"\n".join(LINE_END.split(data))], "")
    parsed = parse_events(SseParser(8 * len(data) + 100), [format_event(data, "1", "message")])
    require(parsed == expected, "a formatted event is parsed as another", data, parsed)


def check_event_names(data: bytes) -> None:
    """LangGraph's frames with their names do not depend on the split."""
    whole = parse_frames([data])
    for pieces in iter_splits(data):
        require(parse_frames(pieces) == whole, "LangGraph's frames depend on the split", whole, pieces)


def parse_frames(pieces: Iterable[bytes]) -> StreamOutcome:
    parser = ServerSentEventParser(PeerErrors("x"))
    frames: list[Any] = []
    try:
        for piece in pieces:
            frames += parser.feed(piece)
    except RightseatError as error:
        return frames, type(error).__name__
    return frames, ""
