"""AG-UI's own models as judge and as client: one JSON line in, one out.

`frame` is held against the model of its event, and must come out of it as it went in; `request` is a whole
RunAgentInput that the models have made.
"""

import importlib
import json
import sys
from importlib.metadata import version
from typing import Any

# Installed in this client's own environment only, so the project's type checker cannot know them.
core: Any = importlib.import_module("ag_ui.core")
pydantic: Any = importlib.import_module("pydantic")
EVENT = pydantic.TypeAdapter(core.Event)
Json = dict[str, Any]


def frame(data: Json) -> Json:
    try:
        found = EVENT.validate_python(data)
    except pydantic.ValidationError as error:
        return {"error": str(error), "kind": None}
    kept = found.model_dump(mode="json", by_alias=True, exclude_unset=True)
    extra = found.model_extra or {}
    problem = None if kept == data and not extra else f"{sorted(extra)}: {kept} is not {data}"
    return {"error": problem, "kind": type(found).__name__}


def request(thread: str) -> Json:
    image = {"type": "image", "source": {"type": "data", "value": "iVBORw0KGgo=", "mimeType": "image/png"}}
    call = {"id": "c", "type": "function", "function": {"name": "locate", "arguments": "{}"}}
    given = {
        "threadId": thread,
        "runId": "r",
        "parentRunId": "p",
        "state": {"a": [1, None]},
        "messages": [
            {"id": "1", "role": "system", "content": "one"},
            {"id": "2", "role": "developer", "content": "two"},
            {"id": "3", "role": "user", "content": [{"type": "text", "text": "three"}, image], "name": "ada"},
            {"id": "4", "role": "assistant", "toolCalls": [call]},
            {"id": "5", "role": "tool", "toolCallId": "c", "content": "Oslo"},
            {"id": "6", "role": "reasoning", "content": "never said"},
            {"id": "7", "role": "activity", "activityType": "x", "content": {"y": 1}},
            {"id": "8", "role": "user", "content": "hello"},
        ],
        "tools": [{"name": "locate", "description": "Where.", "parameters": {"type": "object"}}],
        "context": [{"description": "Page", "value": "Cart"}],
        "forwardedProps": {"tenant": "x"},
        "resume": [],
    }
    made = core.RunAgentInput.model_validate(given)
    found: Json = made.model_dump(mode="json", by_alias=True)
    return found


def main() -> None:
    print(json.dumps({"version": version("ag-ui-protocol")}), flush=True)
    for line in sys.stdin:
        asked = json.loads(line)
        print(json.dumps(globals()[asked.pop("do")](**asked)), flush=True)


if __name__ == "__main__":
    main()
