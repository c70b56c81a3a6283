"""Requests of both client versions, with made-up data and exactly the fields that the clients send."""

from __future__ import annotations

import json
from typing import Any

UUID = "6f1c1c52-5f0e-4d3c-9a34-1d2f7a3b9c10"
ORIGIN, WIDGET = "Doctor", "share_prices"
ROWS = [
    {"date": "2025-03-04", "symbol": "ACME", "close": 41.75},
    {"date": "2025-03-03", "symbol": "ACME", "close": 40.5},
]
PLAIN = "Count from one to five, in words."
ASK = "What was the closing price of ACME on 2025-03-04? Look it up in the widget Share prices."
FORGOTTEN = ("timezone", "urls", "selected_skills")
"""Fields that the current client sends with a question, but not with a function result."""
Json = dict[str, Any]


def human(text: str) -> Json:
    return {"role": "human", "content": text}


def widget() -> Json:
    symbol = {"name": "symbol", "type": "ticker", "description": "The share", "current_value": "ACME"}
    return {
        "uuid": UUID,
        "origin": ORIGIN,
        "widget_id": WIDGET,
        "name": "Share prices",
        "description": "Closing prices of a share by day",
        "params": [{**symbol, "multi_select": False, "get_options": False, "options_params": []}],
        "source": "Doctor",
        "metadata": {"lastUpdated": 1741132800000},
    }


def today(*, widgets: bool = False) -> Json:
    """Return the fields of a current request except `messages`."""
    return {
        "context": [],
        "widgets": {"primary": [widget()] if widgets else [], "secondary": [], "extra": []},
        "urls": [],
        "timezone": "Europe/Paris",
        "workspace_options": {},
        "workspace_state": {"action_history": [], "agents": []},
        "tools": [],
        "api_keys": {},
        "selected_skills": [],
    }


def then(*, widgets: bool = False) -> Json:
    seen = {"uuid": UUID, "name": "Share prices", "description": "Closing prices of a share by day"}
    return {"widgets": [{**seen, "metadata": {"symbol": "ACME"}}]} if widgets else {}


def loose() -> Json:
    """Return a request that the client may send although the official models forbid it."""
    odd = {**widget(), "params": [{"name": "filter", "type": "form", "description": "A form"}]}
    kept = {"role": "ai", "content": "Hello. <|start_citation_id|>c1<|end_citation_id|>"}
    return {
        **today(),
        "messages": [human("Hi"), kept, human(PLAIN)],
        "widgets": {"primary": [odd], "secondary": []},
        "workspace_options": None,
        "timezone": None,
        "model": "m1",
        "skills_catalog": [{"slug": "s", "description": "A skill", "updatedAt": "2025-01-01"}],
        "something_new": {"of": "a later client"},
    }


def vote() -> Json:
    return {
        "vote": "thumbs_up",
        "tags": [],
        "user_comment": "rightseat doctor",
        "ai_response": "one two three four five",
        "user_prompt": PLAIN,
        "trace_id": "",
    }


def table() -> Json:
    """Return the widget data as the current client sends it."""
    form = {"data_type": "object", "parse_as": "table"}
    items = [{"content": json.dumps(ROWS), "data_format": form, "citable": True}]
    return {"items": items, "extra_citations": []}
