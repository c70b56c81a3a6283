"""A stand-in for the llama-server program: its flags, its key, a few of its endpoints.

What it does is written in the model's file: {"crash": true} ends it at once, {"mute": true} never gets ready.
"""

import argparse
import json
import os
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any


class Handler(BaseHTTPRequestHandler):
    key = ""
    mute = False

    def do_GET(self) -> None:
        if self.path == "/health":
            return self.answer(503 if self.mute else 200, {"status": "ok"})
        if self.allowed():
            self.answer(200, {"argv": sys.argv[1:], "pid": os.getpid(), "environment": dict(os.environ)})
        return None

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if not self.allowed():
            return
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        count = body.get("n_predict", 3)
        for number in range(count):
            self.event({"content": f"{number} ", "stop": False})
            time.sleep(0.01)
        self.event({"content": "", "stop": True, "stop_type": "limit"})

    def allowed(self) -> bool:
        if self.headers["Authorization"] == f"Bearer {self.key}":
            return True
        self.answer(401, {"error": {"message": "Invalid API Key"}})
        return False

    def event(self, value: dict[str, Any]) -> None:
        self.wfile.write(b"data: " + json.dumps(value).encode() + b"\n\n")
        self.wfile.flush()

    def answer(self, status: int, value: dict[str, Any]) -> None:
        body = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        print("noise on standard output", flush=True)


def main() -> None:
    flags = argparse.ArgumentParser()
    for name in ("--model", "--host", "--port", "--api-key-file", "--ctx-size", "--parallel", "--threads"):
        flags.add_argument(name, required=True)
    for name in ("--lora", "--slot-save-path", "--batch-size", "--ubatch-size"):
        flags.add_argument(name)
    for name in ("--slots", "--no-warmup", "--embeddings", "--kv-unified"):
        flags.add_argument(name, action="store_true")
    options = flags.parse_args()
    behaviour = json.loads(Path(options.model).read_text())
    if behaviour.get("crash"):
        sys.exit("cannot load the model")
    Handler.key = Path(options.api_key_file).read_text().strip()
    Handler.mute = bool(behaviour.get("mute"))
    ThreadingHTTPServer((options.host, int(options.port)), Handler).serve_forever()


if __name__ == "__main__":
    main()
