"""Serve GraphiQL to browsers where introspection is on, or a small fallback page if GraphiQL's files are
missing. Both open without a key and ask for one in the page."""

from __future__ import annotations

import secrets
from pathlib import Path

from rightseat.doors.copilotkit.agui import PATH
from rightseat.doors.copilotkit.page import PAGE, POLICY
from rightseat.errors import MethodNotAllowed, NotFound
from rightseat.http.endpoint import Host, Request, Route, whole
from rightseat.http.reply import Reply
from rightseat.http.static import AROUND, KINDS, Files

HERE = Path(__file__).parent
FILES = Files({"": HERE / "graphiql", "vendor/": HERE / "vendor"})
NEEDED = {f"vendor/{name}" for name in ("graphiql.css", "graphiql.js", "react.js", "react-dom.js")}
# No inline code and no other origins. Fonts and images are in the stylesheet; the nonce is for the <style>
# that
# GraphiQL adds while a dialog is open.
STRICT = (
    b"default-src 'none'; script-src 'self'; style-src 'self' 'nonce-%b'; font-src data:; img-src data:; "
    b"connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)


def no_query() -> MethodNotAllowed:
    return MethodNotAllowed("Send a POST with a `query`.", allow="POST")


def opened(request: Request, host: Host) -> Reply:
    if not request.introspection:
        raise no_query()
    index = FILES.find("index.html") if FILES.paths.keys() >= NEEDED else None
    if index is None:
        return html(PAGE, POLICY)
    nonce = secrets.token_urlsafe(16).encode()
    return html(index.data.replace(b"{nonce}", nonce), STRICT % nonce)


def html(data: bytes, policy: bytes) -> Reply:
    headers = ((b"content-security-policy", policy), (b"cache-control", b"no-store"), *AROUND)
    return whole(200, data, *headers, kind=KINDS[".html"])


def file(request: Request, host: Host) -> Reply:
    name = request.params["name"]
    # index.html needs a nonce: only `get_page` serves it.
    if not request.introspection or name == "index.html":
        raise NotFound(f"The page has no file {name[:100]!r}.")
    return FILES.reply(name, request)


ROUTES = (
    Route("GET", PATH, opened, open=True, page=True, summary="GraphiQL, for a browser"),
    Route("GET", f"{PATH}/graphiql/{{name:path}}", file, open=True, summary="GraphiQL's files"),
)
