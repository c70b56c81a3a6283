"""Serve GraphiQL to browsers where introspection is on, or a small fallback page if GraphiQL's files are
missing. Both open without a key and ask for one in the page."""

from __future__ import annotations

import secrets
from pathlib import Path

from rightseat.doors.copilotkit.agui_endpoint import PATH
from rightseat.errors import MethodNotAllowed, NotFound
from rightseat.http.endpoint import Host, Request, Route, make_reply
from rightseat.http.reply import Reply
from rightseat.http.static import COMMON_HEADERS, CONTENT_TYPES, StaticFiles

FALLBACK_CSP = (
    b"default-src 'none'; connect-src 'self'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; "
    b"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)

HERE = Path(__file__).parent
FILES = StaticFiles({"": HERE / "graphiql", "vendor/": HERE / "vendor"})
REQUIRED_FILES = {f"vendor/{name}" for name in ("graphiql.css", "graphiql.js", "react.js", "react-dom.js")}

# No inline code and no other origins. Fonts and images are in the stylesheet; the nonce is for the <style> that
# GraphiQL adds while a dialog is open.
GRAPHIQL_CSP = (
    b"default-src 'none'; script-src 'self'; style-src 'self' 'nonce-%b'; font-src data:; img-src data:; "
    b"connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)


def make_missing_query_error() -> MethodNotAllowed:
    return MethodNotAllowed("Send a POST with a `query`.", allow="POST")


def get_page(request: Request, host: Host) -> Reply:
    if not request.introspection:
        raise make_missing_query_error()
    index = FILES.find_file("index.html") if FILES.paths.keys() >= REQUIRED_FILES else None
    if index is None:
        return reply_html((HERE / "graphiql" / "fallback.html").read_bytes(), FALLBACK_CSP)
    nonce = secrets.token_urlsafe(16).encode()
    return reply_html(index.data.replace(b"{nonce}", nonce), GRAPHIQL_CSP % nonce)


def reply_html(data: bytes, policy: bytes) -> Reply:
    headers = ((b"content-security-policy", policy), (b"cache-control", b"no-store"), *COMMON_HEADERS)
    return make_reply(200, data, *headers, content_type=CONTENT_TYPES[".html"])


def get_file(request: Request, host: Host) -> Reply:
    name = request.params["name"]
    # The pages need a policy of their own: only `get_page` serves them.
    if not request.introspection or name.endswith(".html"):
        raise NotFound(f"The page has no file {name[:100]!r}.")
    return FILES.make_file_reply(name, request)


BROWSER_ROUTES = (
    Route("GET", PATH, get_page, public=True, browser_only=True, summary="GraphiQL, for a browser"),
    Route("GET", f"{PATH}/graphiql/{{name:path}}", get_file, public=True, summary="GraphiQL's files"),
)
