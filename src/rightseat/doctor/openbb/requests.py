"""Requests of both client versions, with made-up data and exactly the fields that the clients send."""

from __future__ import annotations

import json
from typing import Any

WIDGET_UUID = "6f1c1c52-5f0e-4d3c-9a34-1d2f7a3b9c10"
WIDGET_ORIGIN, WIDGET_ID = "Doctor", "share_prices"
WIDGET_ROWS = [
    {"date": "2025-03-04", "symbol": "ACME", "close": 41.75},
    {"date": "2025-03-03", "symbol": "ACME", "close": 40.5},
]
PLAIN_QUESTION = "Count from one to five, in words."
WIDGET_QUESTION = "What was the closing price of ACME on 2025-03-04? Look it up in the widget Share prices."
FIRST_REQUEST_FIELDS = ("timezone", "urls", "selected_skills")
"""Fields that the current client sends with a question, but not with a function result."""
Json = dict[str, Any]


def make_human_message(text: str) -> Json:
    return {"role": "human", "content": text}


def make_widget() -> Json:
    symbol = {"name": "symbol", "type": "ticker", "description": "The share", "current_value": "ACME"}
    return {
        "uuid": WIDGET_UUID,
        "origin": WIDGET_ORIGIN,
        "widget_id": WIDGET_ID,
        "name": "Share prices",
        "description": "Closing prices of a share by day",
        "params": [{**symbol, "multi_select": False, "get_options": False, "options_params": []}],
        "source": "Doctor",
        "metadata": {"lastUpdated": 1741132800000},
    }


def make_current_fields(*, widgets: bool = False) -> Json:
    """Return the fields of a current request except `messages`."""
    return {
        "context": [],
        "widgets": {"primary": [make_widget()] if widgets else [], "secondary": [], "extra": []},
        "urls": [],
        "timezone": "Europe/Paris",
        "workspace_options": {},
        "workspace_state": {"action_history": [], "agents": []},
        "tools": [],
        "api_keys": {},
        "selected_skills": [],
    }


def make_legacy_fields(*, widgets: bool = False) -> Json:
    legacy_widget = {
        "uuid": WIDGET_UUID,
        "name": "Share prices",
        "description": "Closing prices of a share by day",
    }
    return {"widgets": [{**legacy_widget, "metadata": {"symbol": "ACME"}}]} if widgets else {}


def make_loose_request() -> Json:
    """Return a request that the client may send although the official models forbid it."""
    form_widget = {**make_widget(), "params": [{"name": "filter", "type": "form", "description": "A form"}]}
    ai_message = {"role": "ai", "content": "Hello. <|start_citation_id|>c1<|end_citation_id|>"}
    return {
        **make_current_fields(),
        "messages": [make_human_message("Hi"), ai_message, make_human_message(PLAIN_QUESTION)],
        "widgets": {"primary": [form_widget], "secondary": []},
        "workspace_options": None,
        "timezone": None,
        "model": "m1",
        "skills_catalog": [{"slug": "s", "description": "A skill", "updatedAt": "2025-01-01"}],
        "something_new": {"of": "a later client"},
    }


def make_vote() -> Json:
    return {
        "vote": "thumbs_up",
        "tags": [],
        "user_comment": "rightseat doctor",
        "ai_response": "one two three four five",
        "user_prompt": PLAIN_QUESTION,
        "trace_id": "",
    }


def make_widget_data() -> Json:
    """Return the widget data as the current client sends it."""
    form = {"data_type": "object", "parse_as": "table"}
    items = [{"content": json.dumps(WIDGET_ROWS), "data_format": form, "citable": True}]
    return {"items": items, "extra_citations": []}
