"""Static files of the playground: ours in `page`, fetched ones in `vendor`."""

from __future__ import annotations

from pathlib import Path

from rightseat.http.endpoint import Host, Request, whole
from rightseat.http.reply import Reply
from rightseat.http.static import KINDS, SAFE, Files, read

HERE = Path(__file__).parent


class Page:
    def __init__(self) -> None:
        self.files = Files({"": HERE / "page", "vendor/": HERE / "vendor"})

    def index(self) -> Reply:
        data = read(self.files.paths["index.html"]).data
        return whole(200, data, (b"cache-control", b"no-cache"), *SAFE, kind=KINDS[".html"])

    def file(self, request: Request, host: Host) -> Reply:
        return self.files.reply(request.params["name"], request)
