"""OpenBB's client, simulated in both versions: its requests with exactly the fields that it sends, its browser page,
and the chat as it keeps it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from rightseat.doctor.client import REACH_SECONDS, ProbeClient, ProbeReply
from rightseat.doctor.openbb.events import GET_WIDGET_DATA
from rightseat.doctor.result import Fault

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
    legacy_widget = {"uuid": WIDGET_UUID, "name": "Share prices", "description": "Closing prices of a share by day"}
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


PAGE_ORIGIN = "https://pro.openbb.co"
TRACE_ID = "rightseat-doctor"
CORS_FIX = f"allow the origin {PAGE_ORIGIN}, on errors too"


class OpenBBPage:
    """A browser page that sends its origin and the user's headers with every request."""

    def __init__(self, client: ProbeClient, headers: Mapping[str, str]) -> None:
        self.client = client
        self.headers = dict(headers)

    @property
    def requested_headers(self) -> list[str]:
        """The headers that the browser names in a preflight request."""
        return sorted({"content-type", "x-trace-id", *(name.lower() for name in self.headers)})

    async def get(self, url: str) -> ProbeReply:
        headers = {"Origin": PAGE_ORIGIN, **self.headers}
        return await self.client.send("GET", url, headers=headers, seconds=REACH_SECONDS)

    async def post(self, url: str, body: Any) -> ProbeReply:
        headers = {"Origin": PAGE_ORIGIN, "X-Trace-Id": TRACE_ID, **self.headers}
        return await self.client.send("POST", url, json.dumps(body).encode(), headers=headers)

    async def preflight(self, url: str, method: str, origin: str = PAGE_ORIGIN) -> ProbeReply:
        headers = {
            "Origin": origin,
            "Access-Control-Request-Method": method,
            "Access-Control-Request-Headers": ",".join(self.requested_headers),
            "Access-Control-Request-Private-Network": "true",
        }
        return await self.client.send("OPTIONS", url, headers=headers, anonymous=True)


def check_readable(reply: ProbeReply) -> Iterator[Fault]:
    """Yield a fault if CORS forbids the page to read the reply."""
    if not allows_origin(reply, PAGE_ORIGIN):
        yield Fault("the page may not read the answer (CORS)", CORS_FIX)


def allows_origin(reply: ProbeReply, origin: str) -> bool:
    return reply.headers.get("access-control-allow-origin") in (origin, "*")


WIDGET_FUNCTIONS = (GET_WIDGET_DATA, "get_extra_widget_data")
WIDGET_NOT_FOUND = {"error_type": "not_found", "content": "There is no such widget on the dashboard."}


class SimulatedChat:
    """A chat that runs function calls itself and posts again with the result."""

    def __init__(self, question: str, *, old: bool) -> None:
        self.old = old
        self.messages: list[Json] = [make_human_message(question)]
        self.request_fields = (make_legacy_fields if old else make_current_fields)(widgets=True)

    def build_body(self) -> Json:
        return {"messages": self.messages, **self.request_fields}

    def answer_call(self, call: Json) -> None:
        """Run a call and add the messages that the client would post."""
        if self.old:
            rows = json.dumps(WIDGET_ROWS)
            # The client of 2024 posts the whole call back, not only its arguments.
            call_message = {"role": "ai", "content": json.dumps(call)}
            tool_message = {"role": "tool", "function": call["function"], "content": rows, "data": {"content": rows}}
            self.messages = [*self.messages, call_message, tool_message]
            return
        self.request_fields = {
            name: value for name, value in self.request_fields.items() if name not in FIRST_REQUEST_FIELDS
        }
        state = call.get("extra_state") or {}
        if call["function"] == GET_WIDGET_DATA and not state:
            # The client deletes the call and its result before it posts.
            return
        call_fields = {name: call[name] for name in ("function", "input_arguments")}
        result = {"role": "tool", **call_fields, "data": simulate_results(call), "extra_state": state}
        self.messages = [*self.messages, {"role": "ai", "content": json.dumps(call_fields)}, result]


def simulate_results(call: Json) -> list[Any]:
    function, arguments = call["function"], call["input_arguments"]
    if function in WIDGET_FUNCTIONS:
        return [
            make_widget_data() if is_known_widget(source) else WIDGET_NOT_FOUND for source in arguments["data_sources"]
        ]
    if function == "get_params_options":
        param_options = [{"param": query["param"], "options": []} for query in arguments["param_options_queries"]]
        return [{"items": [{"content": json.dumps({"param_options": param_options}), "citable": False}]}]
    if function == "execute_agent_tool":
        return [{"items": [{"content": "done", "citable": False}], "extra_citations": []}]
    return [{"status": "success", "message": "done"}]


def is_known_widget(source: Json) -> bool:
    return source.get("widget_uuid") == WIDGET_UUID or (source["origin"], source["id"]) == (WIDGET_ORIGIN, WIDGET_ID)


def find_unknown_widgets(call: Json, *, old: bool) -> Iterator[str]:
    """Yield the widgets of a call that are not on the dashboard."""
    arguments = call["input_arguments"]
    if old:
        yield from () if arguments["widget_uuid"] == WIDGET_UUID else (arguments["widget_uuid"],)
    elif call["function"] in WIDGET_FUNCTIONS:
        yield from (source["id"] for source in arguments["data_sources"] if not is_known_widget(source))
