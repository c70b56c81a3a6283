"""Static files of the playground: ours in `page`, fetched ones in `vendor`."""

from __future__ import annotations

from pathlib import Path

from rightseat.http.endpoint import Host, Request, make_reply
from rightseat.http.reply import Reply
from rightseat.http.static import CONTENT_TYPES, PAGE_HEADERS, StaticFiles, read_file

PLAYGROUND_DIR = Path(__file__).parent


class PlaygroundFiles:
    def __init__(self) -> None:
        self.files = StaticFiles({"": PLAYGROUND_DIR / "page", "vendor/": PLAYGROUND_DIR / "vendor"})

    def serve_index(self) -> Reply:
        data = read_file(self.files.paths["index.html"]).data
        return make_reply(
            200, data, (b"cache-control", b"no-cache"), *PAGE_HEADERS, content_type=CONTENT_TYPES[".html"]
        )

    def serve_file(self, request: Request, host: Host) -> Reply:
        return self.files.make_file_reply(request.params["name"], request)
