"""FastMCP's client against the door at the given address, in both eras; what it saw is one line of JSON."""

import asyncio
import importlib
import json
import sys
from importlib.metadata import version
from typing import Any

# Installed in this client's own environment only, so the project's type checker cannot know it.
fastmcp: Any = importlib.import_module("fastmcp")


async def seen(url: str, mode: str) -> dict[str, Any]:
    asked: list[str] = []
    told: list[str | None] = []

    async def answer(message: str, kind: Any, params: Any, ctx: Any) -> dict[str, Any]:
        asked.append(message)
        return {"approved": True}

    async def note(progress: float, total: float | None, message: str | None) -> None:
        told.append(message)

    client = fastmcp.Client(url, mode=mode, elicitation_handler=answer, progress_handler=note)
    async with client:
        tools = [tool.name for tool in await client.list_tools()]
        resources = [str(resource.uri) for resource in await client.list_resources()]
        prompts = [prompt.name for prompt in await client.list_prompts()]
        result = await client.call_tool("net_get_hosts", {"q": "web"})
        wrong = await client.call_tool("net_get_hosts", {"q": 7}, raise_on_error=False)
    return {
        "tools": tools,
        "resources": resources,
        "prompts": prompts,
        "asked": asked,
        "told": told,
        "result": result.structured_content,
        "wrong": wrong.is_error,
    }


async def main(url: str) -> None:
    found = {mode: await seen(url, mode) for mode in ("auto", "legacy")}
    print(json.dumps({"version": version("fastmcp"), "seen": found}))


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
