"""The stock of a shop, as an API: what is there, and orders of more. The standard library is enough for it."""

import json
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

PORT = 8088
LOW = 10
ITEMS = {"lamp": 3, "shelf": 25, "chair": 40}


class StockHandler(BaseHTTPRequestHandler):
    """Answers GET /items?low=true and POST /orders with an item and an amount."""

    def do_GET(self) -> None:
        only_low = "low=true" in self.path
        items = [{"name": name, "amount": n} for name, n in ITEMS.items() if n < LOW or not only_low]
        self.reply(200, items)

    def do_POST(self) -> None:
        order = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        ITEMS[order["item"]] += order["amount"]
        self.reply(201, {**order, "amount_then": ITEMS[order["item"]]})

    def reply(self, status: int, value: Any) -> None:
        body = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


if __name__ == "__main__":
    print(f"The stock's API is on http://127.0.0.1:{PORT}", flush=True)
    ThreadingHTTPServer(("127.0.0.1", PORT), StockHandler).serve_forever()
