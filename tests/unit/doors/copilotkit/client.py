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
from tests.kit.app_server import serve_app
from tests.kit.client import RawHttpClient, ResponseHead

PATH = "/copilotkit"
ACCEPT = (
    "application/graphql-response+json, application/graphql+json, application/json, text/event-stream, multipart/mixed"
)
STATUS_FIELDS = """status {
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
      ... on BaseMessageOutput @defer {{ {STATUS_FIELDS} __typename }}
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
            ... on BaseMessageOutput @defer {{ {STATUS_FIELDS} __typename }}
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
GENERIC_DOCUMENT = DOCUMENT.replace("@stream {\n      __typename", "@stream(initialCount: 0) {\n      __typename", 1)
UNSTREAMED_DOCUMENT = DOCUMENT.replace("@stream", "").replace("@defer", "")
CREATED_AT = "2026-11-15T00:02:24.520Z"
SCHEMA = {"type": "object", "properties": {"color": {"type": "string"}}, "required": ["color"]}


def make_action(name: str = "setColor", available: str | None = "enabled", schema: Any = SCHEMA) -> dict[str, Any]:
    text = schema if isinstance(schema, str) else json.dumps(schema)
    return {"name": name, "description": f"{name}.", "jsonSchema": text, "available": available}


def make_text_message(content: str, role: str = "user", id: str = "u1") -> dict[str, Any]:
    return {"id": id, "createdAt": CREATED_AT, "textMessage": {"content": content, "role": role}}


def make_input(*messages: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {
        "agentStates": [],
        "context": [],
        "extensions": {},
        "forwardedParameters": {},
        "frontend": {"actions": [make_action()], "url": "http://localhost:3000/"},
        "messages": list(messages) or [make_text_message("hi")],
        "metaEvents": [],
        "metadata": {"requestType": "Chat"},
        "runId": None,
        "threadId": "t1",
        **more,
    }


def make_request_body(data: dict[str, Any], document: str = DOCUMENT) -> dict[str, Any]:
    variables = {"data": data, "properties": {}}
    return {"operationName": "generateCopilotResponse", "query": document, "variables": variables}


@dataclass
class GraphQLAnswer:
    head: ResponseHead
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
    def message_types(self) -> list[str]:
        return [message["__typename"].removesuffix("MessageOutput") for message in self.messages]


def merge_increments(frames: list[Any]) -> Any:
    """As urql does it: the path leads to the place, and the last key of a list's increment is its index."""
    result, *frames = copy.deepcopy([frames[0]["data"], *frames[1:]])
    for frame in frames:
        for entry in frame.get("incremental", []):
            target = result
            *parents, last = entry["path"]
            for key in parents:
                target = target[key]
            if "items" in entry:
                assert isinstance(target, list)
                assert last == len(target), f"{entry['path']} is no next place of {len(target)}"
                target.extend(entry["items"])
            else:
                target[last].update(entry["data"])
    return result


def parse_multipart(raw: bytes) -> list[Any]:
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


def parse_event_stream(raw: bytes) -> list[Any]:
    first, *blocks, last, nothing = raw.decode().split("\n\n")
    assert (first, last, nothing) == (":", "event: complete\ndata:", "")
    assert all(block.startswith("event: next\ndata: ") for block in blocks)
    return [json.loads(block.removeprefix("event: next\ndata: ")) for block in blocks]


def parse_answer(head: ResponseHead, raw: bytes) -> GraphQLAnswer:
    kind = head.headers["content-type"]
    if not kind.startswith(("multipart/", "text/event-stream")):
        value = json.loads(raw)
        return GraphQLAnswer(head, raw, [value], value.get("data"), value.get("errors", []))
    frames = parse_multipart(raw) if kind.startswith("multipart/") else parse_event_stream(raw)
    assert all(set(frame) <= {"data", "incremental", "extensions", "hasNext"} for frame in frames)
    assert [frame["hasNext"] for frame in frames] == [True] * (len(frames) - 1) + [False]
    return GraphQLAnswer(head, raw, frames, merge_increments(frames))


async def post_graphql(
    url: str, value: Any, accept: str | None = ACCEPT, headers: Mapping[str, str] | None = None
) -> GraphQLAnswer:
    fields = {**({"Accept": accept} if accept else {}), **(headers or {})}
    async with RawHttpClient(url) as client:
        await client.post_json(PATH, value, fields)
        return parse_answer(await client.read_head(), await client.read_body())


@asynccontextmanager
async def serve_copilotkit(
    runtime: Runtime, *, authenticate: Authenticator | None = None, **settings: Any
) -> AsyncIterator[str]:
    """This door alone, over real sockets."""
    served = ServerSettings(port=0, **settings)
    app = App(runtime, served, [door], authenticate=authenticate)
    try:
        async with serve_app(app) as url:
            yield url
    finally:
        await runtime.close()
