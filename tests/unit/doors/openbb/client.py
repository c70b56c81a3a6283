"""OpenBB's two clients as far as a server can tell: what they send, what they accept, what they forget."""

import json
import re
import uuid
from dataclasses import dataclass, field
from typing import Any

from msgspec.structs import replace

from rightseat.types.messages import CONTEXT_HEADING, Message, text_message
from rightseat.types.model import Prompt
from tests.kit.client import RawHttpClient, ResponseHead

LINE_END = re.compile(r"\r\n|\n|\r")
EVENTS = {
    "copilotMessageChunk": {"delta"},
    "copilotStatusUpdate": {"eventType", "message", "group", "details", "artifacts", "hidden"},
    "copilotMessageArtifact": {"type", "name", "description", "uuid", "content", "chart_params"},
    "copilotCitationCollection": {"citations"},
    "copilotPromptSuggestions": {"suggestions"},
    "copilotFunctionCall": {"function", "input_arguments", "extra_state"},
}
LEGACY_STATE_FIELD = "copilot_function_call_arguments"


@dataclass
class QueryAnswer:
    head: ResponseHead
    body: str
    frames: list[tuple[str, Any]] = field(default_factory=list)

    @property
    def text(self) -> str:
        return "".join(data["delta"] for name, data in self.frames if name == "copilotMessageChunk")

    @property
    def call(self) -> dict[str, Any] | None:
        found: dict[str, Any] | None = self.frames[-1][1]
        return found if self.frames[-1][0] == "copilotFunctionCall" else None

    @property
    def sources(self) -> list[dict[str, Any]]:
        assert self.call is not None
        found: list[dict[str, Any]] = self.call["input_arguments"]["data_sources"]
        return found

    @property
    def statuses(self) -> list[tuple[str, str]]:
        return [(data["eventType"], data["message"]) for data in self.list_events("copilotStatusUpdate")]

    def list_events(self, event: str) -> list[dict[str, Any]]:
        return [data for name, data in self.frames if name == event]


def parse_answer(head: ResponseHead, body: str, *, legacy: bool) -> QueryAnswer:
    """Strictly as the client: one thing that is no JSON, or a call that is not last, ends its turn."""
    answer = QueryAnswer(head, body)
    if head.status != 200:
        return answer
    assert head.headers["content-type"].startswith("text/event-stream")
    # A comment comes first where the data takes long to read.
    assert re.match(r"(?:: keep-alive\n\n)*event: ", body), f"begins with {body[:40]!r}"
    blocks = re.split(r"\n\n|\r\n\r\n", body)
    assert blocks.pop() == ""
    for block in blocks:
        lines = [line for line in LINE_END.split(block) if not line.startswith(":")]
        if not lines:
            continue
        assert [line.split(": ")[0] for line in lines] == ["event", "data"], block
        name, data = lines[0][7:], json.loads(lines[1][6:])
        assert name in EVENTS, name
        assert answer.frames == [] or answer.frames[-1][0] != "copilotFunctionCall", "a call is last"
        allowed = EVENTS[name] | ({LEGACY_STATE_FIELD} if legacy else set())
        assert set(data) <= allowed, set(data) - allowed
        assert not legacy or name in ("copilotMessageChunk", "copilotFunctionCall"), name
        check_event(name, data, legacy=legacy)
        answer.frames.append((name, data))
    return answer


def check_event(name: str, data: dict[str, Any], *, legacy: bool) -> None:
    match name:
        case "copilotMessageChunk":
            assert isinstance(data["delta"], str)
        case "copilotStatusUpdate":
            assert data["eventType"] in ("INFO", "WARNING", "ERROR")
            assert data["group"] == "reasoning"
            assert all(isinstance(detail, str | dict) for detail in data.get("details") or [])
        case "copilotMessageArtifact":
            uuid.UUID(data["uuid"])
            assert '"' not in data["name"]
            assert ("chart_params" in data) == (data["type"] == "chart")
        case "copilotCitationCollection":
            for citation in data["citations"]:
                uuid.UUID(citation["id"])
        case "copilotFunctionCall":
            check_call(data, legacy=legacy)
        case _:
            assert all(isinstance(one, str) for one in data["suggestions"])


def check_call(data: dict[str, Any], *, legacy: bool) -> None:
    arguments = data["input_arguments"]
    if legacy:
        assert data["function"] == "get_widget_data"
        assert list(arguments) == ["widget_uuid"]
        return
    assert data["extra_state"], "the client deletes a pair without extra_state, and asks the same again"
    match data["function"]:
        case "get_widget_data" | "get_extra_widget_data":
            assert list(arguments) == ["data_sources"]
            for source in arguments["data_sources"]:
                assert {"origin", "id", "input_args"} <= set(source)
                assert set(source) <= {"widget_uuid", "origin", "id", "input_args", "ssm_request"}
        case "execute_agent_tool":
            assert set(arguments) == {"server_id", "tool_name", "parameters"}
        case "get_params_options":
            assert list(arguments) == ["param_options_queries"]
        case "get_skill_content":
            assert set(arguments) <= {"slug", "reason"}
        case other:
            raise AssertionError(f"the client does not know {other}")


class OpenBBChat:
    """One chat. `more` are the request's other fields; today's client sends some of them only once."""

    FIRST_REQUEST_ONLY = ("timezone", "urls", "selected_skills", "workspace_state")

    def __init__(
        self,
        url: str,
        *,
        legacy: bool = False,
        path: str = "/v1/query",
        headers: dict[str, str] | None = None,
        **fields: Any,
    ) -> None:
        self.url = url
        self.legacy = legacy
        self.path = path
        self.headers = headers or {}
        self.fields = fields
        self.messages: list[dict[str, Any]] = []
        self.calls = 0

    async def send_text(self, text: str) -> QueryAnswer:
        self.messages.append({"role": "human", "content": text})
        return await self.post_messages(self.fields)

    async def send_result(self, call: dict[str, Any], *data: Any, **more: Any) -> QueryAnswer:
        """The result of a function call, as this client posts it."""
        echoed_call = call if self.legacy else {name: call[name] for name in ("function", "input_arguments")}
        tool: dict[str, Any] = {"role": "tool", "function": call["function"]}
        if self.legacy:
            tool |= {"content": "", "data": {"content": data[0]}}
        else:
            tool |= {"input_arguments": call["input_arguments"], "data": list(data)}
            tool |= {"extra_state": call.get("extra_state") or {}}
        self.messages += [{"role": "ai", "content": json.dumps(echoed_call)}, tool | more]
        repeated_fields = {name: value for name, value in self.fields.items() if name not in self.FIRST_REQUEST_ONLY}
        return await self.post_messages(repeated_fields)

    async def post_messages(self, fields: dict[str, Any]) -> QueryAnswer:
        answer = await post_query(
            self.url, {"messages": self.messages, **fields}, self.path, self.headers, legacy=self.legacy
        )
        if answer.frames and answer.text:
            self.messages.append({"role": "ai", "content": answer.text})
        return answer


async def post_query(
    url: str, body: Any, path: str = "/v1/query", headers: dict[str, str] | None = None, *, legacy: bool = False
) -> QueryAnswer:
    async with RawHttpClient(url) as client:
        await client.post_json(path, body, headers)
        head = await client.read_head()
        return parse_answer(head, (await client.read_body()).decode(), legacy=legacy)


FACTS = ("- Today's date:", "- The widgets that the user has chosen")
"""Lines that begin so stand in the prompt of most questions."""


def without_facts(prompt: Prompt) -> Prompt:
    """Return the prompt without today's date and the chosen widgets, and without a system message of these alone."""
    messages: list[Message] = []
    for message in prompt.messages:
        if message.role == "system" and CONTEXT_HEADING in message.text:
            lines = [line for line in message.text.split("\n") if not line.startswith(FACTS)]
            if lines == [CONTEXT_HEADING]:
                continue
            message = text_message("system", "\n".join(lines))
        messages.append(message)
    return replace(prompt, messages=tuple(messages))


def make_result_item(content: Any, **data_format: Any) -> dict[str, Any]:
    """A result of one piece, as today's client wraps it."""
    text = content if isinstance(content, str) else json.dumps(content)
    return {
        "items": [{"content": text, **({"data_format": data_format} if data_format else {})}],
        "extra_citations": [],
    }


PRICE_ROWS = [{"date": "2024-10-15", "close": 233.85}, {"date": "2024-10-14", "close": 231.3}]
PRICE_UUID = "38181a68-9650-4940-84fb-a3f29c8869f3"
RATIOS_UUID = "9f8e7d6c-5b4a-4c2e-8d0f-9e8d7c6b5a4b"
NEWS_UUID = "7bccd626-33db-4a2a-7bcc-d62633db4a2a"
"""Which OpenBB's own library derives: the widget has none."""
LEGACY_WIDGETS = [
    {
        "uuid": PRICE_UUID,
        "name": "Historical Stock Price",
        "description": "Historical Stock Price",
        "metadata": {"symbol": "AAPL", "source": "FMP", "lastUpdated": 1728994470324},
    },
    {"uuid": RATIOS_UUID, "name": "Ratios", "description": "Key ratios", "metadata": None},
]
SYMBOL_PARAM = {"name": "symbol", "type": "ticker", "description": "Ticker", "current_value": "AAPL"}
INTERVAL_PARAM = {
    "name": "interval",
    "type": "text",
    "description": "Bars",
    "default_value": "1d",
    "options": ["1d", "1w"],
}
PERIOD_PARAM = {
    "name": "period",
    "type": "endpoint",
    "description": "Period",
    "current_value": "TTM",
    "get_options": True,
    "options_params": [{"name": "ticker", "inherit_value_from": "symbol"}],
}
WIDGETS: dict[str, list[dict[str, Any]]] = {
    "primary": [
        {
            "uuid": PRICE_UUID,
            "origin": "OpenBB API",
            "widget_id": "historical_price",
            "name": "Price",
            "description": "Prices of a share",
            "params": [SYMBOL_PARAM, INTERVAL_PARAM],
            "columns": ["date", "close"],
            "metadata": {"source": "FMP", "lastUpdated": 1763160000000},
        }
    ],
    "secondary": [
        {
            "uuid": RATIOS_UUID,
            "origin": "OpenBB API",
            "widget_id": "ratios",
            "name": "Ratios",
            "description": "Key ratios",
            "params": [SYMBOL_PARAM, PERIOD_PARAM],
            "metadata": {},
        }
    ],
    "extra": [
        {
            "origin": "OpenBB API",
            "widget_id": "company_news",
            "name": "News",
            "description": "News of a company",
            "params": [{"name": "symbol", "type": "ticker", "description": "Ticker"}],
            "metadata": {},
        }
    ],
}
MCP_TOOL = {
    "server_id": "srv-1",
    "name": "Docs_search",
    "url": "https://mcp.example/mcp",
    "description": "Search the docs",
    "input_schema": {"type": "object", "properties": {"query": {"type": "string"}}, "required": ["query"]},
}
