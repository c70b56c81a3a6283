"""A chat as the client keeps it: runs function calls itself and posts again with the result."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from rightseat.doctor.openbb.functions import GET_WIDGET_DATA
from rightseat.doctor.openbb.requests import (
    FIRST_REQUEST_FIELDS,
    WIDGET_ID,
    WIDGET_ORIGIN,
    WIDGET_ROWS,
    WIDGET_UUID,
    Json,
    make_current_fields,
    make_human_message,
    make_legacy_fields,
    make_widget_data,
)

WIDGET_FUNCTIONS = (GET_WIDGET_DATA, "get_extra_widget_data")
WIDGET_NOT_FOUND = {"error_type": "not_found", "content": "There is no such widget on the dashboard."}


class SimulatedChat:
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
            tool_message = {
                "role": "tool",
                "function": call["function"],
                "content": rows,
                "data": {"content": rows},
            }
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
            make_widget_data() if is_known_widget(source) else WIDGET_NOT_FOUND
            for source in arguments["data_sources"]
        ]
    if function == "get_params_options":
        param_options = [
            {"param": query["param"], "options": []} for query in arguments["param_options_queries"]
        ]
        return [{"items": [{"content": json.dumps({"param_options": param_options}), "citable": False}]}]
    if function == "execute_agent_tool":
        return [{"items": [{"content": "done", "citable": False}], "extra_citations": []}]
    return [{"status": "success", "message": "done"}]


def is_known_widget(source: Json) -> bool:
    return source.get("widget_uuid") == WIDGET_UUID or (source["origin"], source["id"]) == (
        WIDGET_ORIGIN,
        WIDGET_ID,
    )


def find_unknown_widgets(call: Json, *, old: bool) -> Iterator[str]:
    """Yield the widgets of a call that are not on the dashboard."""
    arguments = call["input_arguments"]
    if old:
        yield from () if arguments["widget_uuid"] == WIDGET_UUID else (arguments["widget_uuid"],)
    elif call["function"] in WIDGET_FUNCTIONS:
        yield from (source["id"] for source in arguments["data_sources"] if not is_known_widget(source))
