"""A chat as the client keeps it: runs function calls itself and posts again with the result."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from rightseat.doctor.openbb.functions import GET_WIDGET
from rightseat.doctor.openbb.requests import (
    FORGOTTEN,
    ORIGIN,
    ROWS,
    UUID,
    WIDGET,
    Json,
    human,
    table,
    then,
    today,
)

SOURCES = (GET_WIDGET, "get_extra_widget_data")
GONE = {"error_type": "not_found", "content": "There is no such widget on the dashboard."}


class Chat:
    def __init__(self, question: str, *, old: bool) -> None:
        self.old = old
        self.messages: list[Json] = [human(question)]
        self.more = (then if old else today)(widgets=True)

    def body(self) -> Json:
        return {"messages": self.messages, **self.more}

    def give(self, call: Json) -> None:
        """Run a call and add the messages that the client would post."""
        if self.old:
            rows = json.dumps(ROWS)
            # The client of 2024 posts the whole call back, not only its arguments.
            said = {"role": "ai", "content": json.dumps(call)}
            given = {"role": "tool", "function": call["function"], "content": rows, "data": {"content": rows}}
            self.messages = [*self.messages, said, given]
            return
        self.more = {name: value for name, value in self.more.items() if name not in FORGOTTEN}
        state = call.get("extra_state") or {}
        if call["function"] == GET_WIDGET and not state:
            # The client deletes the call and its result before it posts.
            return
        told = {name: call[name] for name in ("function", "input_arguments")}
        result = {"role": "tool", **told, "data": results(call), "extra_state": state}
        self.messages = [*self.messages, {"role": "ai", "content": json.dumps(told)}, result]


def results(call: Json) -> list[Any]:
    function, given = call["function"], call["input_arguments"]
    if function in SOURCES:
        return [table() if known(source) else GONE for source in given["data_sources"]]
    if function == "get_params_options":
        found = [{"param": query["param"], "options": []} for query in given["param_options_queries"]]
        return [{"items": [{"content": json.dumps({"param_options": found}), "citable": False}]}]
    if function == "execute_agent_tool":
        return [{"items": [{"content": "done", "citable": False}], "extra_citations": []}]
    return [{"status": "success", "message": "done"}]


def known(source: Json) -> bool:
    return source.get("widget_uuid") == UUID or (source["origin"], source["id"]) == (ORIGIN, WIDGET)


def strangers(call: Json, *, old: bool) -> Iterator[str]:
    """Yield the widgets of a call that are not on the dashboard."""
    given = call["input_arguments"]
    if old:
        yield from () if given["widget_uuid"] == UUID else (given["widget_uuid"],)
    elif call["function"] in SOURCES:
        yield from (source["id"] for source in given["data_sources"] if not known(source))
