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


def make_fields(*, widgets: bool = False, old: bool) -> Json:
    return (make_legacy_fields if old else make_current_fields)(widgets=widgets)


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


PAGE_ORIGIN = "https://pro.openbb.co"
TRACE_ID = "rightseat-doctor"


class OpenBBPage:
    """A browser page that sends its origin and the user's headers with every request."""

    def __init__(self, client: ProbeClient, headers: Mapping[str, str], origin: str = PAGE_ORIGIN) -> None:
        self.client = client
        self.headers = dict(headers)
        self.origin = origin

    @property
    def requested_headers(self) -> list[str]:
        """The headers that the browser names in a preflight request."""
        return sorted({"content-type", "x-trace-id", *(name.lower() for name in self.headers)})

    async def get(self, url: str) -> ProbeReply:
        headers = {"Origin": self.origin, **self.headers}
        return await self.client.send("GET", url, headers=headers, seconds=REACH_SECONDS)

    async def post(self, url: str, body: Any, *, old: bool = False) -> ProbeReply:
        """Post a request. The client of 2024 names no chat."""
        headers = {"Origin": self.origin, **({} if old else {"X-Trace-Id": TRACE_ID}), **self.headers}
        return await self.client.send("POST", url, json.dumps(body).encode(), headers=headers)

    async def preflight(self, url: str, method: str, origin: str = "") -> ProbeReply:
        headers = {
            "Origin": origin or self.origin,
            "Access-Control-Request-Method": method,
            "Access-Control-Request-Headers": ",".join(self.requested_headers),
            "Access-Control-Request-Private-Network": "true",
        }
        return await self.client.send("OPTIONS", url, headers=headers, anonymous=True)


def check_readable(reply: ProbeReply, origin: str) -> Iterator[Fault]:
    """Yield a fault if CORS forbids the page to read the reply."""
    if not allows_origin(reply, origin):
        yield Fault("the page may not read the answer (CORS)", explain_cors(origin))


def explain_cors(origin: str) -> str:
    return f'allow the origin {origin}, on errors too (rightseat: [server] cors = ["{origin}"])'


def allows_origin(reply: ProbeReply, origin: str) -> bool:
    return reply.headers.get("access-control-allow-origin") in (origin, "*")


WIDGET_FUNCTIONS = (GET_WIDGET_DATA, "get_extra_widget_data")
WIDGET_NOT_FOUND = {"error_type": "not_found", "content": "There is no such widget on the dashboard."}


def make_table_item(rows: list[Json]) -> Json:
    return {"content": json.dumps(rows), "data_format": {"data_type": "object", "parse_as": "table"}, "citable": True}


def list_objects(value: Any) -> list[Json]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


class SimulatedDashboard:
    """Widgets, tools and skills of a request. `items` has their data, by id, name or slug; other widgets have made-up
    rows."""

    def __init__(self, request_fields: Json, items: Mapping[str, Json]) -> None:
        widgets = request_fields.get("widgets") or []
        groups = widgets.values() if isinstance(widgets, dict) else [widgets]
        self.widgets = [widget for group in groups for widget in list_objects(group)]
        self.skills = list_objects(request_fields.get("skills_catalog"))
        self.items = items

    def find_widget(self, source: Json) -> Json | None:
        """Return the widget by its UUID, or by its origin and id."""
        for widget in self.widgets:
            has_id = "id" in source and (widget.get("origin"), widget.get("widget_id")) == (
                source["origin"],
                source["id"],
            )
            if has_id or widget.get("uuid", "") == source.get("widget_uuid"):
                return widget
        return None

    def find_unknown_widgets(self, call: Json) -> Iterator[str]:
        """Yield the widgets of a call that are not on the dashboard."""
        arguments = call["input_arguments"]
        if call["function"] in WIDGET_FUNCTIONS:
            sources = arguments.get("data_sources", [arguments])
            yield from (source.get("id") or source["widget_uuid"] for source in sources if not self.find_widget(source))

    def get_item(self, *names: Any) -> Json | None:
        return next((self.items[name] for name in names if isinstance(name, str) and name in self.items), None)

    def read_widget(self, source: Json) -> Json:
        """Return the result of a widget as the current client sends it."""
        widget = self.find_widget(source)
        if widget is None:
            return WIDGET_NOT_FOUND
        item = self.get_item(widget.get("widget_id"), widget.get("name"), widget.get("uuid"))
        return {"items": [item or make_table_item(WIDGET_ROWS)], "extra_citations": []}

    def run_call(self, call: Json) -> list[Any]:
        """Return the results of a function call, in the form of the current client."""
        function, arguments = call["function"], call["input_arguments"]
        if function in WIDGET_FUNCTIONS:
            return [self.read_widget(source) for source in arguments["data_sources"]]
        if function == "get_params_options":
            param_options = [{"param": query["param"], "options": []} for query in arguments["param_options_queries"]]
            return [{"items": [{"content": json.dumps({"param_options": param_options}), "citable": False}]}]
        if function == "execute_agent_tool":
            item = self.get_item(arguments["tool_name"]) or {"content": "done", "citable": False}
            return [{"items": [item], "extra_citations": []}]
        if function == "get_skill_content":
            return [self.read_skill(arguments["slug"])]
        return [{"status": "success", "message": "done"}]

    def read_skill(self, slug: str) -> Json:
        known = next((skill for skill in self.skills if skill.get("slug") == slug), None)
        if known is None:
            return {"status": "error", "message": "There is no such skill."}
        content = (self.get_item(slug) or {"content": "Answer in one sentence."})["content"]
        skill = {"slug": slug, "description": known.get("description", ""), "contentMarkdown": content}
        return {"status": "success", "data": {"skill": {**skill, "source": "model_selected"}}}


class SimulatedChat:
    """A chat that runs function calls itself and posts again with the result."""

    def __init__(
        self, messages: list[Json], request_fields: Json, *, old: bool, items: Mapping[str, Json] | None = None
    ) -> None:
        self.old = old
        self.messages = messages
        self.request_fields = request_fields
        self.dashboard = SimulatedDashboard(request_fields, items or {})

    def build_body(self) -> Json:
        return {"messages": self.messages, **self.request_fields}

    def answer_call(self, call: Json) -> None:
        """Run a call and add the messages that the client would post."""
        if self.old:
            result = self.dashboard.read_widget(call["input_arguments"])
            content = result.get("content") or result["items"][0]["content"]
            # The client of 2024 posts the whole call back, not only its arguments.
            call_message = {"role": "ai", "content": json.dumps(call)}
            tool_message = {"role": "tool", "function": call["function"], "content": content}
            self.messages = [*self.messages, call_message, {**tool_message, "data": {"content": content}}]
            return
        self.request_fields = {
            name: value for name, value in self.request_fields.items() if name not in FIRST_REQUEST_FIELDS
        }
        state = call.get("extra_state") or {}
        if call["function"] == GET_WIDGET_DATA and not state:
            # The client deletes the call and its result before it posts.
            return
        call_fields = {name: call[name] for name in ("function", "input_arguments")}
        result = {"role": "tool", **call_fields, "data": self.dashboard.run_call(call), "extra_state": state}
        self.messages = [*self.messages, {"role": "ai", "content": json.dumps(call_fields)}, result]
