"""What the tests of the checker share."""

from collections.abc import AsyncIterator

from rightseat import Prompt
from rightseat.doctor.openbb import examine
from rightseat.doctor.result import CheckResult
from rightseat.types.chunks import ModelChunk
from tests.kit.house import calls, says


class Pricing:
    """Asks for the prices where there are any, then says one of them."""

    async def stream(self, prompt: Prompt, /) -> AsyncIterator[ModelChunk]:
        last = prompt.messages[-1]
        tools = [tool.name for tool in prompt.tools if tool.name == "share_prices"]
        if last.role == "tool":
            made = says("It was ", "41.75.")
        elif tools and "closing price" in last.text:
            made = calls((tools[0], "{}"))
        else:
            made = says("one ", "two ", "three ", "four ", "five")
        for fragment in made:
            yield fragment


async def states(url: str) -> list[CheckResult]:
    return [line async for line in examine(url, {})]
