"""Drives the official Python client: `client.py URL`, then a request as JSON per line of stdin.

The first line out names the client's version; then each request is answered with a line of what the client's
user has in hand. Streamed or whole, as the request says.
"""

import importlib
import json
import sys
from typing import Any

# Installed in this client's own environment only, so the project's type checker cannot know it.
openai: Any = importlib.import_module("openai")
Json = dict[str, Any]


def summarise_completion(completion: Any) -> Json:
    choice = completion.choices[0]
    calls = [[call.function.name, call.function.arguments] for call in choice.message.tool_calls or ()]
    return {"content": choice.message.content or "", "calls": calls, "finish": choice.finish_reason}


def summarise_stream(stream: Any) -> Json:
    content, finish = "", None
    calls: dict[int, list[str]] = {}
    for chunk in stream:
        for choice in chunk.choices:
            finish = choice.finish_reason or finish
            content += choice.delta.content or ""
            for call in choice.delta.tool_calls or ():
                known = calls.setdefault(call.index, ["", ""])
                known[0] += call.function.name or ""
                known[1] += call.function.arguments or ""
    return {"content": content, "calls": list(calls.values()), "finish": finish}


def main() -> None:
    client = openai.OpenAI(base_url=f"{sys.argv[1]}/v1", api_key="unused", max_retries=0, timeout=300)
    print(json.dumps({"version": openai.__version__}), flush=True)
    for line in sys.stdin:
        request = {"model": "default", **json.loads(line)}
        try:
            answer = client.chat.completions.create(**request)
            seen = summarise_stream(answer) if request.get("stream") else summarise_completion(answer)
        except openai.OpenAIError as error:
            seen = {"error": str(error)}
        print(json.dumps(seen), flush=True)


if __name__ == "__main__":
    main()
