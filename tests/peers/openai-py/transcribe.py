"""Transcribes a file by the official client in every format: `transcribe.py BASE_URL FILE`; prints JSON."""

import importlib
import json
import sys
from typing import Any

openai: Any = importlib.import_module("openai")


def main(base_url: str, path: str) -> None:
    client = openai.OpenAI(base_url=base_url, api_key="any", max_retries=0)
    told: dict[str, Any] = {"version": openai.__version__}
    for name in ("json", "text", "srt", "vtt", "verbose_json"):
        with open(path, "rb") as file:
            answer = client.audio.transcriptions.create(file=file, model="whisper-1", response_format=name)
        told[name] = answer if isinstance(answer, str) else answer.to_dict()
    print(json.dumps(told))


if __name__ == "__main__":
    main(*sys.argv[1:])
