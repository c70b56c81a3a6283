"""A client 1.10.6 as far as a server can tell: the document it sends, how it puts increments together."""

import copy
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from rightseat.config.settings import ServerSettings
from rightseat.doors.copilotkit import door
from rightseat.http.auth import Authenticator
from rightseat.server.app import App
from rightseat.wiring.runtime import Runtime
from tests.kit.client import Client, Head
from tests.kit.house import serving

PATH = "/copilotkit"
ACCEPT = (
    "application/graphql-response+json, application/graphql+json, application/json, text/event-stream, multipart/mixed"
)
STATUS = """status {
  ... on SuccessMessageStatus { code __typename }
  ... on FailedMessageStatus { code reason __typename }
  ... on PendingMessageStatus { code __typename }
  __typename
}"""
ARGUMENTS = "$data: GenerateCopilotResponseInput!, $properties: JSONObject"
DOCUMENT = f"""mutation generateCopilotResponse({ARGUMENTS}) {{
  generateCopilotResponse(data: $data, properties: $properties) {{
    threadId
    runId
    extensions {{ openaiAssistantAPI {{ runId threadId __typename }} __typename }}
    ... on CopilotResponse @defer {{
      status {{
        ... on BaseResponseStatus {{ code __typename }}
        ... on FailedResponseStatus {{ reason details __typename }}
        __typename
      }}
      __typename
    }}
    messages @stream {{
      __typename
      ... on BaseMessageOutput {{ id createdAt __typename }}
      ... on BaseMessageOutput @defer {{ {STATUS} __typename }}
      ... on TextMessageOutput {{ content @stream role parentMessageId __typename }}
      ... on ImageMessageOutput {{ format bytes role parentMessageId __typename }}
      ... on ActionExecutionMessageOutput {{ name arguments @stream parentMessageId __typename }}
      ... on ResultMessageOutput {{ result actionExecutionId actionName __typename }}
      ... on AgentStateMessageOutput {{
        threadId state running agentName nodeName runId active role __typename
      }}
    }}
    metaEvents @stream {{
      ... on LangGraphInterruptEvent {{ type name value __typename }}
      ... on CopilotKitLangGraphInterruptEvent {{
        type
        name
        data {{
          messages {{
            __typename
            ... on BaseMessageOutput {{ id createdAt __typename }}
            ... on BaseMessageOutput @defer {{ {STATUS} __typename }}
            ... on TextMessageOutput {{ content role parentMessageId __typename }}
            ... on ActionExecutionMessageOutput {{ name arguments parentMessageId __typename }}
            ... on ResultMessageOutput {{ result actionExecutionId actionName __typename }}
          }}
          value
          __typename
        }}
        __typename
      }}
      __typename
    }}
    __typename
  }}
}}"""
# The same, but nothing that a plan knows: graphql-core executes it.
GENERIC = DOCUMENT.replace("@stream {\n      __typename", "@stream(initialCount: 0) {\n      __typename", 1)
WHOLE = DOCUMENT.replace("@stream", "").replace("@defer", "")
WHEN = "2026-11-15T00:02:24.520Z"
SCHEMA = {"type": "object", "properties": {"color": {"type": "string"}}, "required": ["color"]}


def action(name: str = "setColor", available: str | None = "enabled", schema: Any = SCHEMA) -> dict[str, Any]:
    text = schema if isinstance(schema, str) else json.dumps(schema)
    return {"name": name, "description": f"{name}.", "jsonSchema": text, "available": available}


def text(content: str, role: str = "user", id: str = "u1") -> dict[str, Any]:
    return {"id": id, "createdAt": WHEN, "textMessage": {"content": content, "role": role}}


def data(*messages: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {
        "agentStates": [],
        "context": [],
        "extensions": {},
        "forwardedParameters": {},
        "frontend": {"actions": [action()], "url": "http://localhost:3000/"},
        "messages": list(messages) or [text("hi")],
        "metaEvents": [],
        "metadata": {"requestType": "Chat"},
        "runId": None,
        "threadId": "t1",
        **more,
    }


def body(given: dict[str, Any], document: str = DOCUMENT) -> dict[str, Any]:
    variables = {"data": given, "properties": {}}
    return {"operationName": "generateCopilotResponse", "query": document, "variables": variables}


@dataclass
class Answer:
    head: Head
    raw: bytes
    frames: list[Any] = field(default_factory=list)
    data: Any = None
    errors: list[Any] = field(default_factory=list)

    @property
    def response(self) -> Any:
        return self.data["generateCopilotResponse"]

    @property
    def messages(self) -> list[Any]:
        found: list[Any] = self.response["messages"]
        return found

    @property
    def text(self) -> str:
        return "".join("".join(message.get("content", [])) for message in self.messages)

    @property
    def kinds(self) -> list[str]:
        return [message["__typename"].removesuffix("MessageOutput") for message in self.messages]


def merged(frames: list[Any]) -> Any:
    """As urql does it: the path leads to the place, and the last key of a list's increment is its index."""
    result, *frames = copy.deepcopy([frames[0]["data"], *frames[1:]])
    for frame in frames:
        for entry in frame.get("incremental", []):
            place = result
            *way, last = entry["path"]
            for key in way:
                place = place[key]
            if "items" in entry:
                assert isinstance(place, list)
                assert last == len(place), f"{entry['path']} is no next place of {len(place)}"
                place.extend(entry["items"])
            else:
                place[last].update(entry["data"])
    return result


def parts(raw: bytes) -> list[Any]:
    """The parts, strictly: each with its length, and nothing between or after them."""
    assert raw.startswith(b"\r\n---\r\n")
    assert raw.endswith(b"\r\n-----\r\n")
    found = []
    left = raw[len(b"\r\n---") : -len(b"--\r\n")]
    while left:
        head, _, left = left.partition(b"\r\n\r\n")
        kind, length = head.split(b"\r\n")[1:]
        assert kind == b"Content-Type: application/json; charset=utf-8"
        size = int(length.removeprefix(b"Content-Length: "))
        found.append(json.loads(left[:size]))
        assert left[size : size + 5] == b"\r\n---"
        left = left[size + 5 :]
    return found


def events(raw: bytes) -> list[Any]:
    first, *blocks, last, nothing = raw.decode().split("\n\n")
    assert (first, last, nothing) == (":", "event: complete\ndata:", "")
    assert all(block.startswith("event: next\ndata: ") for block in blocks)
    return [json.loads(block.removeprefix("event: next\ndata: ")) for block in blocks]


def read(head: Head, raw: bytes) -> Answer:
    kind = head.headers["content-type"]
    if not kind.startswith(("multipart/", "text/event-stream")):
        value = json.loads(raw)
        return Answer(head, raw, [value], value.get("data"), value.get("errors", []))
    frames = parts(raw) if kind.startswith("multipart/") else events(raw)
    assert all(set(frame) <= {"data", "incremental", "hasNext"} for frame in frames)
    assert [frame["hasNext"] for frame in frames] == [True] * (len(frames) - 1) + [False]
    return Answer(head, raw, frames, merged(frames))


async def ask(url: str, value: Any, accept: str | None = ACCEPT, headers: Mapping[str, str] | None = None) -> Answer:
    fields = {**({"Accept": accept} if accept else {}), **(headers or {})}
    async with Client(url) as client:
        await client.post(PATH, value, fields)
        return read(await client.head(), await client.body())


@asynccontextmanager
async def home(runtime: Runtime, *, authenticate: Authenticator | None = None, **settings: Any) -> AsyncIterator[str]:
    """This door alone, over real sockets."""
    served = ServerSettings(port=0, **settings)
    app = App(runtime, served, [door], authenticate=authenticate)
    try:
        async with serving(app) as url:
            yield url
    finally:
        await runtime.close()
