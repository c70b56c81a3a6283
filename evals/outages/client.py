"""The client of the outage drill: it asks at one server, may follow at the other, and compares all with the log."""

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass, field

from evals.crashes.checker import LogCopy, check_runs, parse_id
from tests.kit.client import RawHttpClient, SseFrame

RUN_PATH = "/copilotkit/agent/default/run"
CONNECT_PATH = "/copilotkit/agent/default/connect"
WORDS = [f"{number} " for number in range(100)]
READ_SECONDS = 300.0


@dataclass
class StreamCopy:
    """Frames of one reply; `end` says how it ended."""

    server: str
    frames: list[SseFrame] = field(default_factory=list)
    end: str = ""

    @property
    def text(self) -> str:
        return "".join(frame.json.get("delta", "") for frame in self.frames)


@dataclass
class RunClient:
    thread: str
    urls: tuple[str, str]
    follows: bool
    streams: list[StreamCopy] = field(default_factory=list)
    lost_deltas: int = 0
    """Frames of text that clients saw and a crash of the database has lost: the log may lack them, and not differ."""
    refused: str = ""
    """What the follower was told, if it came while the store was away."""

    async def run(self) -> None:
        """Ask, and follow at the other server from the first frame on."""
        has_frame = asyncio.Event()
        own = StreamCopy("own")
        self.streams.append(own)
        reading = asyncio.create_task(self.read(own, self.urls[0], RUN_PATH, has_frame))
        waiting = asyncio.create_task(has_frame.wait())
        await asyncio.wait([reading, waiting], return_when=asyncio.FIRST_COMPLETED)
        waiting.cancel()
        if self.follows and has_frame.is_set():
            other = StreamCopy("other")
            self.streams.append(other)
            await self.read(other, self.urls[1], CONNECT_PATH, asyncio.Event())
        await reading

    async def read(self, stream: StreamCopy, url: str, path: str, has_frame: asyncio.Event) -> None:
        message = {"id": "u", "role": "user", "content": "Count."}
        body = {"threadId": self.thread, "runId": f"{self.thread}-r", "messages": [message], "state": {}, "tools": []}
        body |= {"context": [], "forwardedProps": {}, "protocolVersion": "1.0"}
        try:
            async with RawHttpClient(url, timeout=READ_SECONDS) as client:
                await client.post_json(path, body)
                head = await client.read_head()
                if head.status != 200:
                    stream.end = f"HTTP {head.status}"
                    return
                async for frame in client.iterate_frames():
                    if frame.data:
                        stream.frames.append(frame)
                        has_frame.set()
            stream.end = stream.frames[-1].json["type"] if stream.frames else "nothing"
        except (OSError, TimeoutError, asyncio.IncompleteReadError) as error:
            stream.end = type(error).__name__

    def check(self, log: LogCopy | None) -> Iterator[str]:
        """Compare what was seen with what the model said and with the log; None: the run was not kept."""
        for stream in self.streams:
            is_other = stream.server == "other"
            if is_other and stream.end == "HTTP 503":
                self.refused = stream.end
                continue
            if is_other and log is None:
                # A run that is not kept cannot be followed elsewhere.
                continue
            words = [f"{word} " for word in stream.text.split()]
            # A follower reads the log, which may lack what a crash of the database has lost.
            is_lossy = is_other and words == sorted(set(words), key=WORDS.index)
            self.lost_deltas += is_lossy and words != WORDS
            if stream.end != "RUN_FINISHED" or (words != WORDS and not is_lossy):
                yield f"the {stream.server} stream ended with {stream.end} after {len(stream.text)} characters"
            if log is not None:
                yield from self.check_stream(stream, log)
        if log is not None:
            yield from check_runs(log)
            logged = [log.pieces[number] for number in sorted(log.pieces)]
            if logged != sorted(set(logged), key=WORDS.index):
                yield f"the log has words twice or in another order: {logged}"

    def check_stream(self, stream: StreamCopy, log: LogCopy) -> Iterator[str]:
        """Numbers grow, and each text is that of the log between the number before and its own, or lost there."""
        before = (0, 0)
        for frame in stream.frames:
            if frame.id is None:
                yield f"a frame without an id: {frame.data}"
                continue
            position = parse_id(frame.id)
            if position <= before:
                yield f"frame {frame.id} comes after {before}"
            if frame.json["type"] == "TEXT_MESSAGE_CONTENT":
                stored = [log.pieces.get(number, "") for number in range(before[0] + 1, position[0] + 1)]
                self.lost_deltas += "" in stored
                if ("" not in stored and "".join(stored) != frame.json["delta"]) or not set(
                    "".join(stored).split()
                ) <= set(frame.json["delta"].split()):
                    yield f"frame {frame.id} shows {frame.json['delta']!r}, the log {stored!r}"
            elif frame.id not in log.frames:
                self.lost_deltas += 1
            elif frame.json not in log.frames[frame.id]:
                yield f"frame {frame.id} shows {frame.data}, which the log does not"
            before = position
