"""The tools of the soak: one in the loop, one in a thread, one in a process of its own."""

import asyncio
import time

from rightseat import tool


@tool
async def add(a: int, b: int) -> int:
    """Adds two numbers."""
    await asyncio.sleep(0.05)
    return a + b


@tool
def add_in_thread(a: int, b: int) -> int:
    """Adds two numbers in a thread."""
    time.sleep(0.05)
    return a + b


@tool(isolate=True)
def add_in_process(a: int, b: int) -> int:
    """Adds two numbers in a process of its own."""
    return a + b
