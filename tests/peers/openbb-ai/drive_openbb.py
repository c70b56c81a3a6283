"""OpenBB's own models as judge and as client: one JSON line in, one out.

`frame` is held against the class of its event, `stream` goes through the official test harness, `follow`
through the steps of a test, `accepts` tells whether the official request model takes a body, and `requests`
makes queries that it accepts.
"""

import importlib
import json
import random
import sys
import uuid
from importlib.metadata import version
from typing import Any

# Installed in this client's own environment only, so the project's type checker cannot know them.
models: Any = importlib.import_module("openbb_ai.models")
testing: Any = importlib.import_module("openbb_ai.testing")
pydantic: Any = importlib.import_module("pydantic")
Json = dict[str, Any]
MISSING = object()

WORDS = (
    "",
    "price",
    "What is it?",
    "汉字 🙂",
    "a\nb\r\n",
    '{"function": "get_widget_data", "input_arguments": {"widget_uuid": "x"}}',
    '[{"a": 1}, {"a": 2}]',
    "null",
    "\\",
    "data: x",
    "JVBERi0xLjQK",
    "<|start_artifact_id|>x<|end_artifact_id|>",
)
EVENTS = {
    "copilotMessageChunk": models.MessageChunkSSE,
    "copilotStatusUpdate": models.StatusUpdateSSE,
    "copilotMessageArtifact": models.MessageArtifactSSE,
    "copilotCitationCollection": models.CitationCollectionSSE,
    "copilotPromptSuggestions": models.PromptSuggestionsSSE,
    "copilotFunctionCall": models.FunctionCallSSE,
}


def frame(event: str, data: Json) -> Json:
    if event not in EVENTS:
        return {"error": f"there is no event {event}"}
    try:
        read = EVENTS[event].model_validate({"event": event, "data": data})
        if unknown := find_unknown_field(data, read.data.model_dump(by_alias=True)):
            return {"error": f"the model has no field {unknown}"}
        given = data.get("input_arguments", {})
        for source in given.get("data_sources", ()):
            # The client takes a source without a uuid, which only an extra one has none of.
            models.DataSourceRequestPayload.model_validate({"widget_uuid": "", **source})
        for query in given.get("param_options_queries", ()):
            models.DataSourceParamOptionsRequestPayload.model_validate(query)
    except pydantic.ValidationError as error:
        return {"error": str(error)}
    return {"error": None}


def find_unknown_field(sent: Any, read: Any, path: str = "data") -> str | None:
    """Return the first field that was sent and that the model did not read."""
    if isinstance(sent, dict) and isinstance(read, dict):
        pairs = ((sent[name], read.get(name, MISSING), f"{path}.{name}") for name in sent)
    elif isinstance(sent, list) and isinstance(read, list) and len(sent) == len(read):
        pairs = ((item, copy, f"{path}[]") for item, copy in zip(sent, read, strict=True))
    else:
        return path if read is MISSING else None
    return next((found for pair in pairs if (found := find_unknown_field(*pair))), None)


def accepts(body: Any) -> Json:
    """Whether the official request model takes a body."""
    try:
        models.QueryRequest.model_validate(body)
    except (pydantic.ValidationError, TypeError):
        return {"accepted": False}
    return {"accepted": True}


def stream(text: str) -> Json:
    found = testing.CopilotResponse(text)
    return {"text": found.text, "events": [event.event_type for event in found.events]}


def follow(text: str, steps: list[list[Any]]) -> Json:
    """The steps of a test as the official harness takes them, such as `["starts", "copilotMessage"]`."""
    found = testing.CopilotResponse(text)
    for number, (name, *arguments) in enumerate(steps):
        try:
            getattr(found, name)(*arguments)
        except (AssertionError, IndexError):
            events = [f"{event.event_type}: {event.content}" for event in found.events]
            return {"failed": [number, name, *arguments], "events": events}
    return {"failed": None}


def requests(count: int) -> Json:
    """Values at random that fit the model's own JSON Schema, those of them that it accepts."""
    schema = models.QueryRequest.model_json_schema()
    made: list[Json] = []
    maker = Maker(schema["$defs"], random.Random(1))
    while len(made) < count:
        body = maker.make(schema)
        try:
            models.QueryRequest.model_validate(json.loads(json.dumps(body)))
        except (pydantic.ValidationError, TypeError):
            # The models raise their own error wrongly for a parameter that is named twice.
            continue
        made.append(body)
    return {"requests": made}


class Maker:
    """Makes a value for a schema as pydantic writes them."""

    def __init__(self, shapes: Json, dice: random.Random) -> None:
        self.shapes = shapes
        self.dice = dice

    def make(self, schema: Json) -> Any:
        if "$ref" in schema:
            return self.make(self.shapes[schema["$ref"].rsplit("/", 1)[1]])
        if "const" in schema:
            return schema["const"]
        for choice in ("enum", "anyOf", "oneOf"):
            if choice in schema:
                found = self.dice.choice(schema[choice])
                return found if choice == "enum" else self.make(found)
        return self.plain(schema)

    def plain(self, schema: Json) -> Any:
        match schema.get("type"):
            case "object":
                return self.object(schema)
            case "array":
                return [self.make(schema["items"]) for _ in range(self.dice.randint(0, 3))]
            case "string":
                return self.string(schema.get("format"))
            case "integer" | "number":
                return self.dice.choice([0, 1, -7, 2**40])
            case "boolean":
                return self.dice.random() < 0.5
            case "null":
                return None
            case _:
                return self.dice.choice([None, "x", 5, True, 1.5, ["a"], {"b": None}])

    def object(self, schema: Json) -> Json:
        wanted = set(schema.get("required", ()))
        named = schema.get("properties", {})
        made = {name: self.make(one) for name, one in named.items() if name in wanted or self.dice.random() < 0.5}
        if not named:
            made = {self.string(None): self.plain({}) for _ in range(self.dice.randint(0, 2))}
        return made

    def string(self, form: str | None) -> str:
        if form == "uuid":
            return str(uuid.UUID(int=self.dice.getrandbits(128)))
        if form == "uri":
            return "https://nowhere.invalid/file.pdf"
        return self.dice.choice(WORDS)


def main() -> None:
    print(json.dumps({"version": version("openbb-ai")}), flush=True)
    for line in sys.stdin:
        asked = json.loads(line)
        print(json.dumps(globals()[asked.pop("do")](**asked)), flush=True)


if __name__ == "__main__":
    main()
