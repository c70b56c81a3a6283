"""The scripted upstream of the soak, a process of its own.

It answers as the last user message says: `fault-NAME` of the kit's catalogue, `tool-NAME` with a call of that tool.
"""

import asyncio
import contextlib
import os
import re
import signal
from pathlib import Path

from tests.kit.answers import UpstreamReply, answer_text, answer_tool_call
from tests.kit.connection import Connection, ReceivedRequest
from tests.kit.upstream import FakeUpstream, find_named_reply

FORGET_SECONDS = 5.0
TOOL_PATTERN = re.compile(r"tool-(\w+)")


async def send_reply(connection: Connection, request: ReceivedRequest) -> None:
    text = request.last_user_text()
    tool = TOOL_PATTERN.search(text)
    reply: UpstreamReply = answer_tool_call(tool[1]) if tool else find_named_reply(text)
    if request.messages and request.messages[-1].get("role") == "tool":
        reply = answer_text()
    await reply(connection, request)


async def serve() -> None:
    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    async with FakeUpstream() as upstream:
        upstream.reply = send_reply
        ready = Path(os.environ["RIGHTSEAT_READY_FILE"])
        fresh = ready.with_suffix(".new")
        fresh.write_text(upstream.origin)
        fresh.rename(ready)
        while not stop.is_set():
            # An hour of requests would not fit into the memory.
            upstream.requests.clear()
            upstream.connections.clear()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(stop.wait(), FORGET_SECONDS)


if __name__ == "__main__":
    asyncio.run(serve())
