"""What the tests of the checker share."""

from collections.abc import AsyncIterator

from rightseat import Prompt
from rightseat.doctor.openbb.examine import examine
from rightseat.doctor.result import CheckResult
from rightseat.types.chunks import ModelChunk
from tests.kit.app_server import reply_calls, reply_text


class PriceModel:
    """Asks for the prices where there are any, then says one of them."""

    async def stream(self, prompt: Prompt, /) -> AsyncIterator[ModelChunk]:
        last = prompt.messages[-1]
        tools = [tool.name for tool in prompt.tools if tool.name == "share_prices"]
        if last.role == "tool":
            chunks = reply_text("It was ", "41.75.")
        elif tools and "closing price" in last.text:
            chunks = reply_calls((tools[0], "{}"))
        else:
            chunks = reply_text("one ", "two ", "three ", "four ", "five")
        for fragment in chunks:
            yield fragment


async def collect_check_results(url: str) -> list[CheckResult]:
    return [line async for line in examine(url, {})]
