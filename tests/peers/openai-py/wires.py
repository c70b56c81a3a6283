"""Reads one stream of `/responses` with the official client and prints what it understood, as JSON."""

import importlib
import json
import sys
from typing import Any

openai: Any = importlib.import_module("openai")
ADD = {"type": "function", "name": "add", "parameters": {"type": "object"}, "strict": False}

client = openai.OpenAI(base_url=sys.argv[1], api_key="k", max_retries=0)
seen: dict[str, Any] = {
    "text": "",
    "refusal": "",
    "thought": "",
    "arguments": {},
    "names": [],
    "kept": [],
    "unknown": [],
}
stream = client.responses.create(
    model="gpt-5",
    store=False,
    stream=True,
    tools=[ADD],
    input=[{"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Hello"}]}],
)
for event in stream:
    match event.type:
        case "response.output_text.delta":
            seen["text"] += event.delta
        case "response.refusal.delta":
            seen["refusal"] += event.delta
        case "response.reasoning_summary_text.delta":
            seen["thought"] += event.delta
        case "response.function_call_arguments.done":
            seen["arguments"][event.output_index] = event.arguments
        case "response.output_item.done" if event.item.type == "function_call":
            seen["names"].append(event.item.name)
        case "response.output_item.done" if event.item.type == "reasoning":
            seen["kept"].append(event.item.encrypted_content)
        case "response.completed" | "response.incomplete":
            usage, cut = event.response.usage, event.response.incomplete_details
            seen["usage"] = [usage.input_tokens, usage.output_tokens]
            seen["end"] = cut.reason if cut else event.response.status
    # Types of its own, not the fallback for what it does not know.
    if type(event).__name__ == "BaseModel":
        seen["unknown"].append(event.type)
print(json.dumps(seen))
