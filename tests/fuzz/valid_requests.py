"""Valid requests of both doors, and the ways to change one at any place."""

from collections.abc import Iterator
from typing import Any

CHAT_PATH, EMBEDDINGS_PATH, RUN_PATH = "/v1/chat/completions", "/v1/embeddings", "/agui/default"
SCRIPT = {
    "turns": [
        {"when": {"user": "add"}, "calls": [{"name": "add", "arguments": {"a": 1, "b": 2}}]},
        {"when": {"tool": "add"}, "say": "The sum is {result}"},
        {"when": {"user": "look"}, "calls": [{"name": "look", "arguments": {}}]},
        {"when": {}, "say": "You said {user}"},
    ]
}
TOOL_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"a": {"type": "integer", "minimum": 0}},
    "required": ["a"],
}
VALID_CHAT: dict[str, Any] = {
    "model": "default",
    "stream": True,
    "stream_options": {"include_usage": True},
    "temperature": 0.5,
    "max_tokens": 10,
    "stop": ["x"],
    "seed": 0,
    "logit_bias": {"1": 1},
    "tools": [{"type": "function", "function": {"name": "look", "description": "d", "parameters": TOOL_SCHEMA}}],
    "tool_choice": "auto",
    "messages": [
        {"role": "system", "content": "s"},
        {"role": "user", "content": [{"type": "text", "text": "add"}]},
        {"role": "assistant", "content": None, "tool_calls": [
            {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}]},
        {"role": "tool", "tool_call_id": "c1", "content": "seen"},
        {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "data:image/png,AA"}}]},
    ],
}  # fmt: skip
# Shapes of the same by other clients; with functions of 2023 instead of tools.
VALID_OTHER_CHAT: dict[str, Any] = {
    "stream": True,
    "tools": [
        {"type": "custom", "custom": {"name": "run", "format": {
            "type": "grammar", "grammar": {"syntax": "regex", "definition": "[a-z]+"}}}},
        {"type": "function", "function": {"name": "look", "parameters": TOOL_SCHEMA}},
    ],
    "tool_choice": {"type": "allowed_tools", "allowed_tools": {
        "mode": "auto", "tools": [{"type": "custom", "custom": {"name": "run"}}]}},
    "messages": [
        {"role": "user", "content": ["add", {"type": "image_url", "image_url": "data:image/png,AA"}]},
        {"role": "assistant", "reasoning_content": "r", "content": [
            {"type": "thinking", "thinking": "t"}, {"type": "reasoning", "text": "r"},
            {"type": "output_text", "text": "o"}],
         "tool_calls": [{"type": "custom", "custom": {"name": "run", "input": "i"}},
                        {"id": "c2", "function": {"name": "look", "arguments": {"a": 1}}}]},
        {"role": "tool", "name": "run", "content": "ran"},
        {"role": "tool", "content": "seen"},
        {"role": "user", "content": None},
    ],
}  # fmt: skip
VALID_LEGACY_CHAT: dict[str, Any] = {
    "functions": [{"name": "look", "parameters": TOOL_SCHEMA}],
    "function_call": {"name": "look"},
    "messages": [
        {"role": "user", "content": "look"},
        {"role": "assistant", "content": None, "function_call": {"name": "look", "arguments": "{}"}},
        {"role": "function", "name": "look", "content": "seen"},
    ],
}
VALID_RUN: dict[str, Any] = {
    "threadId": "t",
    "runId": "r",
    "state": {"a": [1]},
    "context": [{"description": "d", "value": "v"}],
    "tools": [{"name": "look", "description": "d", "parameters": TOOL_SCHEMA}],
    "forwardedProps": {},
    "resume": None,
    "messages": [
        {"id": "1", "role": "user", "content": "look"},
        {"id": "2", "role": "assistant", "toolCalls": [
            {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}]},
        {"id": "3", "role": "tool", "toolCallId": "c1", "content": "seen"},
        {"id": "4", "role": "user", "content": [{"type": "image", "source": {"type": "url", "value": "http://x"}}]},
    ],
}  # fmt: skip
VALID_COMPLETION: dict[str, Any] = {
    "model": "default",
    "prompt": ["add", "look"],
    "stream": True,
    "stream_options": {"include_usage": True},
    "temperature": 1,
    "top_p": 0.5,
    "max_tokens": 10,
    "stop": "x",
    "seed": 1,
    "n": 1,
    "echo": False,
    "suffix": None,
}
VALID_EMBEDDING: dict[str, Any] = {
    "model": "vectors",
    "input": ["a", [1, 2]],
    "dimensions": 3,
    "encoding_format": "float",
    "user": "u",
}


def list_paths(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Every place in a JSON value, as the steps that lead there."""
    yield path
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in pairs:
        yield from list_paths(inner, (*path, key))


def set_at(value: Any, path: tuple[Any, ...], new: Any) -> Any:
    if not path:
        return new
    first, *rest = path
    if isinstance(value, dict):
        return {**value, first: set_at(value[first], tuple(rest), new)}
    return [set_at(item, tuple(rest), new) if number == first else item for number, item in enumerate(value)]
