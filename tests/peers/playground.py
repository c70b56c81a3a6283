"""A server with something of everything behind it, and a browser tab on its page."""

import asyncio
import json
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from tests.kit.server import RightseatProcess
from tests.kit.timeouts import HANG_TIMEOUT
from tests.peers.browser import BrowserTab, Chromium

HERE = Path(__file__).parent
CONFIG = """
[models.default]
spec = "scripted:stall.json"

[models.other]
spec = "scripted:other.json"

[assistants.default]
title = "Shop"
tools = ["shop_tools:TOOLS"]
models = ["default", "other"]

[assistants.boss]
title = "Boss"
description = "Hands everything over."
model = "boss"
agents = ["default"]

[models.boss]
spec = "scripted:boss.json"

[[plugins]]
path = "plugins"
appears = true
allow = ["127.0.0.1"]

{more}
"""
CALLS_BY_QUESTION = {"orders": {}, "cancel": {"id": "a-1"}, "broken": {}, "deliver": {}, "walk": {}, "papers": {}}
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
TRIP = """\
name: trip
description: Asks where to, and goes there.
steps:
  - name: start
    call_type: ask
    params: {question: Where to?}
    next: pick
  - name: pick
    call_type: choice
    params:
      choices:
        - step: sink
          when: {path: start, equals: sea}
        - step: days
  - name: days
    call_type: loop
    params:
      over: [Mon, Tue, Wed]
      steps:
        - name: day
          call_type: sales
    next: end
  - name: sink
    call_type: broken
    next: end
  - name: end
    call_type: none
    params: {say: Back home.}
"""
LIB = """\
from rightseat import tool

@tool
def sales() -> list[dict[str, object]]:
    \"\"\"The sales.\"\"\"
    return [{"month": "Jan", "sales": 1}, {"month": "Feb", "sales": 2}]

@tool
def broken() -> str:
    \"\"\"Fails.\"\"\"
    raise RuntimeError("the ship has sunk")

@tool(confirm=True)
def clear(year: int) -> str:
    \"\"\"Forget the sales of a year.\"\"\"
    return f"{year} is forgotten"
"""


def build_script() -> dict[str, Any]:
    turns: list[dict[str, Any]] = []
    for name, arguments in CALLS_BY_QUESTION.items():
        turns.append({"when": {"user": name, "tool": name}, "say": "Done: {result}"})
        turns.append({"when": {"user": name}, "calls": [{"name": name, "arguments": arguments}]})
    return {
        "turns": [
            *turns,
            {
                "when": {"user": "two things"},
                "say": "Both.",
                "calls": [{"name": "orders"}, {"name": "cancel", "arguments": {"id": "a-3"}}],
            },
            {"when": {"user": "two things", "tool": "cancel"}, "say": 'Both {done}, and "more".'},
            {"when": {"user": "prose"}, "say": PROSE},
            {"when": {"user": "hostile"}, "say": HOSTILE},
            # Long enough for whatever is done meanwhile: nobody waits for its end.
            {"when": {"user": "endless"}, "say": "word " * 40_000, "pace_ms": 25},
            {"when": {"user": "fast"}, "say": "token " * 10_000},
            {"when": {"user": "huge"}, "say": ["x" * 2_000_000]},
            {"when": {"user": "think"}, "reason": "Let me see.", "say": "Thought."},
            {"when": {"user": "fail"}, "finish": "raise:upstream_busy"},
            {"when": {}, "say": "You said: {user}"},
        ]
    }


def write_files(folder: Path) -> None:
    shutil.copy(HERE / "shop_tools.py", folder)
    (folder / "stall.json").write_text(json.dumps(build_script()), encoding="utf-8")
    (folder / "other.json").write_text('{"turns": [{"say": "The other model."}]}', encoding="utf-8")
    handoff_turns = [
        {"when": {"tool": "ask_default"}, "say": "The shop says: {result}"},
        {"when": {}, "calls": [{"name": "ask_default", "arguments": {"request": "{user}"}}]},
    ]
    (folder / "boss.json").write_text(json.dumps({"turns": handoff_turns}), encoding="utf-8")
    plugin = folder / "plugins" / "report"
    for name in ("flows", "lib"):
        (plugin / name).mkdir(parents=True)
    (plugin / "plugin.json").write_text(
        json.dumps({"id": "report", "name": "Report", "description": "Reports.", "predefined_question": ""})
    )
    (plugin / "flows" / "sales.yaml").write_text(SALES)
    (plugin / "flows" / "trip.yaml").write_text(TRIP)
    (plugin / "flows" / "wrong.yaml").write_text("name: wrong\nsteps: []\n")
    (plugin / "lib" / "sales.py").write_text(LIB)


def make_server(extra_config: str = "", **options: Any) -> RightseatProcess:
    server = RightseatProcess(config=CONFIG.replace("{more}", extra_config), **options)
    write_files(server.folder)
    return server


@asynccontextmanager
async def open_playground(chromium: Chromium, url: str) -> AsyncIterator[BrowserTab]:
    async with chromium.open_tab() as tab:
        await tab.open_url(url)
        await tab.wait_visible("#say")
        yield tab


async def send_message(tab: BrowserTab, text: str) -> None:
    await tab.fill_text("#say", text)
    await tab.page.keyboard.press("Enter")


async def wait_for_expression(tab: BrowserTab, expression: str, seconds: float = HANG_TIMEOUT) -> None:
    """Until it holds in the page. Playwright's own waiting needs what the page's policy forbids."""
    limit = asyncio.get_running_loop().time() + seconds
    while not await tab.page.evaluate(expression):
        assert asyncio.get_running_loop().time() < limit, f"not within {seconds} s: {expression}"
        await tab.page.wait_for_timeout(50)
