"""What the Messages API refuses in a request, by its version of 2026-10-21 and by the model that is asked."""

import ast
import re
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from tests.kit.connection import ReceivedRequest

REQUEST_CLASSES = {"MessageCreateParamsBase", "MessageCreateParamsStreaming"}


def read_fields() -> frozenset[str]:
    """Return the fields of a request by the vendor's client. Its source is read: to import it takes 2.5 seconds of
    CPU time in every test process."""
    package = find_spec("anthropic")
    assert package is not None
    assert package.origin is not None
    source = Path(package.origin).with_name("types") / "message_create_params.py"
    classes = [node for node in ast.parse(source.read_text(encoding="utf-8")).body if isinstance(node, ast.ClassDef)]
    lines = [line for node in classes if node.name in REQUEST_CLASSES for line in node.body]
    return frozenset(ast.unparse(line.target) for line in lines if isinstance(line, ast.AnnAssign))


FIELDS = read_fields()
assert {"model", "messages", "max_tokens", "stream", "tools"} <= FIELDS
SAMPLING = {"temperature", "top_p", "top_k"}
NAME_PATTERN = re.compile(r"[a-zA-Z0-9_-]{1,128}")
PREFILL_MODELS = re.compile(r"claude-(3|[a-z]+-4-[015])")
MID_SYSTEM_MODELS = re.compile(r"claude-(opus-(4-8|5)|(sonnet|haiku)-5-5|fable|mythos)")
ADAPTIVE_MODELS = re.compile(r"claude-([a-z]+-(4-[678]|5)|fable|mythos)")


class RequestRefused(Exception):
    """With the API's reason."""


def require(condition: object, reason: str) -> None:
    if not condition:
        raise RequestRefused(reason)


def to_blocks(content: Any) -> list[dict[str, Any]]:
    """Words alone are one block of text."""
    return [{"type": "text", "text": content}] if isinstance(content, str) else list(content)


def check_request(request: ReceivedRequest) -> None:
    body = request.json
    old = request.headers["anthropic-version"] == "2023-06-01"
    for field in body:
        require(field in FIELDS or (old and field in SAMPLING), f"{field}: Extra inputs are not permitted")
    require(not {"temperature", "top_p"} <= body.keys(), "temperature and top_p cannot both be specified")
    require(0 <= body.get("temperature", 0) <= 1, "temperature: range")
    require(isinstance(body["max_tokens"], int) and body["max_tokens"] > 0, "max_tokens: greater than 0")
    require(all(stop.strip() for stop in body.get("stop_sequences", ())), "each stop sequence: non-whitespace")
    require(str(body).count("'cache_control'") <= 4, "A maximum of 4 blocks with cache_control")
    _check_thinking(body)
    _check_tools(body)
    for block in to_blocks(body.get("system", ())):
        require(block["text"].strip(), "system: text content blocks must be non-empty")
    _check_messages(body)


def _check_thinking(body: dict[str, Any]) -> None:
    thinking = body.get("thinking")
    if thinking is None:
        return
    adaptive = ADAPTIVE_MODELS.match(body["model"]) is not None
    if thinking["type"] == "enabled":
        require(not adaptive, "thinking.type.enabled is not supported for this model")
        require(1024 <= thinking["budget_tokens"] < body["max_tokens"], "thinking.budget_tokens")
        forced = body.get("tool_choice", {}).get("type") in ("any", "tool")
        require(not forced, "Thinking may not be enabled when tool_choice forces tool use.")
    elif thinking["type"] == "adaptive":
        require(adaptive, "adaptive thinking is not supported on this model")
    require(not SAMPLING & body.keys(), "temperature may only be set to 1 when thinking is enabled")


def _check_tools(body: dict[str, Any]) -> None:
    tools = body.get("tools", [])
    names = [tool["name"] for tool in tools]
    require(all(NAME_PATTERN.fullmatch(name) for name in names), "tools.name: pattern")
    require(len(set(names)) == len(names), "tools: Tool names must be unique.")
    require(all(tool["input_schema"].get("type") == "object" for tool in tools), "input_schema.type: required")
    choice = body.get("tool_choice")
    require(choice is None or tools, "tool_choice may only be specified while providing tools")
    if choice and choice["type"] == "tool":
        require(choice["name"] in names, "Tool not found in provided tools")


def _check_messages(body: dict[str, Any]) -> None:
    messages = body["messages"]
    require(messages and messages[0]["role"] == "user", "messages: first message must use the user role")
    open_calls: list[str] = []
    seen: set[str] = set()
    for at, message in enumerate(messages):
        role, before = message["role"], messages[at - 1]["role"] if at else None
        require(role != before, "messages: roles must alternate")
        if role == "system":
            after = messages[at + 1]["role"] if at + 1 < len(messages) else "assistant"
            require(MID_SYSTEM_MODELS.match(body["model"]), "role 'system' is not supported on this model")
            require(before == "user" and after == "assistant", "system: placement")
            continue
        content = to_blocks(message["content"])
        require(content, "messages: all messages must have non-empty content")
        results = [block["tool_use_id"] for block in content if block["type"] == "tool_result"]
        require(sorted(results) == sorted(open_calls), "`tool_use` ids without or with unexpected `tool_result`")
        kinds = [block["type"] == "tool_result" for block in content]
        require(kinds == sorted(kinds, reverse=True), "tool_result blocks must come first")
        open_calls = [block["id"] for block in content if block["type"] == "tool_use"]
        require(not open_calls or body.get("tools"), "Requests which include `tool_use` blocks must define tools")
        require(not seen & {*open_calls} and len({*open_calls}) == len(open_calls), "`tool_use` ids must be unique")
        seen |= {*open_calls}
        last = content[-1]["type"]
        require(last not in ("thinking", "redacted_thinking"), "The final block cannot be `thinking`")
        for block in content:
            _check_block(role, block)
    _check_last_message(body, messages[-1])


def _check_last_message(body: dict[str, Any], last: dict[str, Any]) -> None:
    if last["role"] != "assistant":
        return
    require(PREFILL_MODELS.match(body["model"]), "This model does not support assistant message prefill")
    final = to_blocks(last["content"])[-1]
    require(final["type"] == "text", "the last message may not end with a call")
    require(final["text"] == final["text"].rstrip(), "final assistant content cannot end with trailing whitespace")


def _check_block(role: str, block: dict[str, Any]) -> None:
    match block["type"]:
        case "text":
            require(block["text"].strip(), "text content blocks must contain non-whitespace text")
        case "tool_use":
            require(role == "assistant" and isinstance(block["input"], dict), "tool_use.input: valid dictionary")
            require(
                NAME_PATTERN.fullmatch(block["id"]) and NAME_PATTERN.fullmatch(block["name"]), "tool_use.id: pattern"
            )
        case "thinking":
            require(role == "assistant" and block["signature"], "thinking: signature: Field required")
            require("cache_control" not in block, "thinking: cache_control: Extra inputs are not permitted")
        case "redacted_thinking":
            require(role == "assistant" and block["data"], "redacted_thinking.data")
        case "image":
            require(role == "user", "image blocks are not permitted in assistant messages")
            _check_source(block["source"], ("image/jpeg", "image/png", "image/gif", "image/webp"))
        case "document":
            require(role == "user", "document blocks are not permitted in assistant messages")
            _check_source(block["source"], ("application/pdf", "text/plain"))
        case "tool_result":
            for inner in to_blocks(block.get("content", ())):
                _check_block(role, inner)
        case other:
            raise RequestRefused(f"{other}: unknown type")


def _check_source(source: dict[str, Any], kinds: tuple[str, ...]) -> None:
    if source["type"] in ("base64", "text"):
        require(source["media_type"] in kinds and source["data"], "source.media_type")
    elif source["type"] == "url":
        require(source["url"].startswith("https://"), "Only HTTPS URLs are supported.")
