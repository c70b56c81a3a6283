"""Serve GraphiQL to browsers where introspection is on, or a small fallback page if GraphiQL's files are
missing. Both open without a key and ask for one in the page.

Fallback page for trying queries if GraphiQL's files are missing.
"""

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

FALLBACK_PAGE = b"""<!doctype html>
<html lang="en"><meta charset="utf-8"><title>rightseat: GraphQL</title>
<style>
body{font:14px system-ui;margin:1rem;display:grid;grid-template-columns:1fr 1fr;gap:1rem}
h1{grid-column:1/3;font-size:1.1rem;margin:0}
textarea,pre{box-sizing:border-box;width:100%;font:13px ui-monospace,monospace;margin:0 0 .5rem}
textarea{height:60vh}#variables{height:15vh}#key{width:16rem}
pre{border:1px solid #999;padding:.5rem;overflow:auto;max-height:80vh;white-space:pre-wrap}
</style>
<h1>CopilotKit's GraphQL, at this address</h1>
<div>
<textarea id="query" aria-label="query" spellcheck="false">
{ availableAgents { agents { name description } } }</textarea>
<textarea id="variables" aria-label="variables" spellcheck="false">{}</textarea>
<input id="key" type="password" placeholder="key, if one is needed" autocomplete="off">
<button id="run">Run</button>
<p>For GraphiQL in its place: <code>make assets</code>, which needs npm, and start the server again.</p>
</div>
<pre id="answer" aria-live="polite"></pre>
<script>
const $ = (id) => document.getElementById(id);
$("run").onclick = async () => {
  const headers = {"content-type": "application/json", accept: "application/json, text/event-stream"};
  if ($("key").value) headers.authorization = "Bearer " + $("key").value;
  try {
    const variables = JSON.parse($("variables").value || "{}");
    const body = JSON.stringify({query: $("query").value, variables});
    const answer = await fetch(location.pathname, {method: "POST", headers, body});
    $("answer").textContent = "";
    const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
    for (;;) {
      const {done, value} = await reader.read();
      if (done) break;
      $("answer").textContent += value;
    }
    try { $("answer").textContent = JSON.stringify(JSON.parse($("answer").textContent), null, 2); } catch {}
  } catch (error) { $("answer").textContent = String(error); }
};
</script>
"""

HERE = Path(__file__).parent
FILES = StaticFiles({"": HERE / "graphiql", "vendor/": HERE / "vendor"})
REQUIRED_FILES = {f"vendor/{name}" for name in ("graphiql.css", "graphiql.js", "react.js", "react-dom.js")}

# No inline code and no other origins. Fonts and images are in the stylesheet; the nonce is for the <style>
# that
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
        return reply_html(FALLBACK_PAGE, FALLBACK_CSP)
    nonce = secrets.token_urlsafe(16).encode()
    return reply_html(index.data.replace(b"{nonce}", nonce), GRAPHIQL_CSP % nonce)


def reply_html(data: bytes, policy: bytes) -> Reply:
    headers = ((b"content-security-policy", policy), (b"cache-control", b"no-store"), *COMMON_HEADERS)
    return make_reply(200, data, *headers, content_type=CONTENT_TYPES[".html"])


def get_file(request: Request, host: Host) -> Reply:
    name = request.params["name"]
    # index.html needs a nonce: only `get_page` serves it.
    if not request.introspection or name == "index.html":
        raise NotFound(f"The page has no file {name[:100]!r}.")
    return FILES.make_file_reply(name, request)


BROWSER_ROUTES = (
    Route("GET", PATH, get_page, public=True, browser_only=True, summary="GraphiQL, for a browser"),
    Route("GET", f"{PATH}/graphiql/{{name:path}}", get_file, public=True, summary="GraphiQL's files"),
)
