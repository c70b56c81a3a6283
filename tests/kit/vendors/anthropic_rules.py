"""What the Messages API refuses in a request, by its version of 2026-10-21 and by the model that is asked."""

import re
from typing import Any

from anthropic.types.message_create_params import MessageCreateParamsStreaming

from tests.kit.connection import Received

FIELDS = frozenset(MessageCreateParamsStreaming.__annotations__)
SAMPLING = {"temperature", "top_p", "top_k"}
PLAIN = re.compile(r"[a-zA-Z0-9_-]{1,128}")
PREFILLS = re.compile(r"claude-(3|[a-z]+-4-[015])")
MID_SYSTEM = re.compile(r"claude-(opus-(4-8|5)|(sonnet|haiku)-5-5|fable|mythos)")
ADAPTIVE = re.compile(r"claude-([a-z]+-(4-[678]|5)|fable|mythos)")


class Refused(Exception):
    """With the API's reason."""


def need(true: object, why: str) -> None:
    if not true:
        raise Refused(why)


def blocks(content: Any) -> list[dict[str, Any]]:
    """Words alone are one block of text."""
    return [{"type": "text", "text": content}] if isinstance(content, str) else list(content)


def check(request: Received) -> None:
    body = request.json
    old = request.headers["anthropic-version"] == "2023-06-01"
    for field in body:
        need(field in FIELDS or (old and field in SAMPLING), f"{field}: Extra inputs are not permitted")
    need(not {"temperature", "top_p"} <= body.keys(), "temperature and top_p cannot both be specified")
    need(0 <= body.get("temperature", 0) <= 1, "temperature: range")
    need(isinstance(body["max_tokens"], int) and body["max_tokens"] > 0, "max_tokens: greater than 0")
    need(all(stop.strip() for stop in body.get("stop_sequences", ())), "each stop sequence: non-whitespace")
    need(str(body).count("'cache_control'") <= 4, "A maximum of 4 blocks with cache_control")
    _thinking(body)
    _tools(body)
    for block in blocks(body.get("system", ())):
        need(block["text"].strip(), "system: text content blocks must be non-empty")
    _messages(body)


def _thinking(body: dict[str, Any]) -> None:
    thinking = body.get("thinking")
    if thinking is None:
        return
    adaptive = ADAPTIVE.match(body["model"]) is not None
    if thinking["type"] == "enabled":
        need(not adaptive, "thinking.type.enabled is not supported for this model")
        need(1024 <= thinking["budget_tokens"] < body["max_tokens"], "thinking.budget_tokens")
        forced = body.get("tool_choice", {}).get("type") in ("any", "tool")
        need(not forced, "Thinking may not be enabled when tool_choice forces tool use.")
    elif thinking["type"] == "adaptive":
        need(adaptive, "adaptive thinking is not supported on this model")
    need(not SAMPLING & body.keys(), "temperature may only be set to 1 when thinking is enabled")


def _tools(body: dict[str, Any]) -> None:
    tools = body.get("tools", [])
    names = [tool["name"] for tool in tools]
    need(all(PLAIN.fullmatch(name) for name in names), "tools.name: pattern")
    need(len(set(names)) == len(names), "tools: Tool names must be unique.")
    need(all(tool["input_schema"].get("type") == "object" for tool in tools), "input_schema.type: required")
    choice = body.get("tool_choice")
    need(choice is None or tools, "tool_choice may only be specified while providing tools")
    if choice and choice["type"] == "tool":
        need(choice["name"] in names, "Tool not found in provided tools")


def _messages(body: dict[str, Any]) -> None:
    messages = body["messages"]
    need(messages and messages[0]["role"] == "user", "messages: first message must use the user role")
    open_calls: list[str] = []
    seen: set[str] = set()
    for at, message in enumerate(messages):
        role, before = message["role"], messages[at - 1]["role"] if at else None
        need(role != before, "messages: roles must alternate")
        if role == "system":
            after = messages[at + 1]["role"] if at + 1 < len(messages) else "assistant"
            need(MID_SYSTEM.match(body["model"]), "role 'system' is not supported on this model")
            need(before == "user" and after == "assistant", "system: placement")
            continue
        content = blocks(message["content"])
        need(content, "messages: all messages must have non-empty content")
        results = [block["tool_use_id"] for block in content if block["type"] == "tool_result"]
        need(sorted(results) == sorted(open_calls), "`tool_use` ids without or with unexpected `tool_result`")
        kinds = [block["type"] == "tool_result" for block in content]
        need(kinds == sorted(kinds, reverse=True), "tool_result blocks must come first")
        open_calls = [block["id"] for block in content if block["type"] == "tool_use"]
        need(not open_calls or body.get("tools"), "Requests which include `tool_use` blocks must define tools")
        need(not seen & {*open_calls} and len({*open_calls}) == len(open_calls), "`tool_use` ids must be unique")
        seen |= {*open_calls}
        last = content[-1]["type"]
        need(last not in ("thinking", "redacted_thinking"), "The final block cannot be `thinking`")
        for block in content:
            _block(role, block)
    _last(body, messages[-1])


def _last(body: dict[str, Any], last: dict[str, Any]) -> None:
    if last["role"] != "assistant":
        return
    need(PREFILLS.match(body["model"]), "This model does not support assistant message prefill")
    final = blocks(last["content"])[-1]
    need(final["type"] == "text", "the last message may not end with a call")
    need(final["text"] == final["text"].rstrip(), "final assistant content cannot end with trailing whitespace")


def _block(role: str, block: dict[str, Any]) -> None:
    match block["type"]:
        case "text":
            need(block["text"].strip(), "text content blocks must contain non-whitespace text")
        case "tool_use":
            need(role == "assistant" and isinstance(block["input"], dict), "tool_use.input: valid dictionary")
            need(PLAIN.fullmatch(block["id"]) and PLAIN.fullmatch(block["name"]), "tool_use.id: pattern")
        case "thinking":
            need(role == "assistant" and block["signature"], "thinking: signature: Field required")
            need("cache_control" not in block, "thinking: cache_control: Extra inputs are not permitted")
        case "redacted_thinking":
            need(role == "assistant" and block["data"], "redacted_thinking.data")
        case "image":
            need(role == "user", "image blocks are not permitted in assistant messages")
            _source(block["source"], ("image/jpeg", "image/png", "image/gif", "image/webp"))
        case "document":
            need(role == "user", "document blocks are not permitted in assistant messages")
            _source(block["source"], ("application/pdf", "text/plain"))
        case "tool_result":
            for inner in blocks(block.get("content", ())):
                _block(role, inner)
        case other:
            raise Refused(f"{other}: unknown type")


def _source(source: dict[str, Any], kinds: tuple[str, ...]) -> None:
    if source["type"] in ("base64", "text"):
        need(source["media_type"] in kinds and source["data"], "source.media_type")
    elif source["type"] == "url":
        need(source["url"].startswith("https://"), "Only HTTPS URLs are supported.")
