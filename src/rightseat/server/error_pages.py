"""Error pages: what each code means and what to do, as HTML at /docs/errors/CODE and as Markdown for docs/errors."""

from __future__ import annotations

import base64
import hashlib
import re
from functools import cache
from html import escape

from rightseat import __version__, errors
from rightseat.errors import NotFound, RightseatError
from rightseat.http.endpoint import Request, Route, make_reply
from rightseat.http.reply import Reply
from rightseat.http.static import COMMON_HEADERS, CONTENT_TYPES

TREE_LINE = re.compile(r"^[ │├└─]*(\w+) +(\d{3})(?: +(?:ours|caller|upstream)(?= |$))? +(\S.*)$", re.MULTILINE)
PATH = "/docs/errors"
FAULTS = {
    "ours": "this server, or its set-up",
    "caller": "the request",
    "upstream": "a server behind this one: a model's, an agent's",
}
STYLE = """
:root { color-scheme: light dark; font: 1rem/1.6 system-ui, sans-serif; }
body { max-width: 44rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.6rem; overflow-wrap: anywhere; }
code { font: 0.95em ui-monospace, monospace; }
table { border-collapse: collapse; width: 100%; }
th, td { padding: 0.4rem 0.8rem 0.4rem 0; text-align: left; vertical-align: top; border-bottom: 1px solid #8885; }
.action { padding: 0.8rem 1rem; border-left: 4px solid #1a7f5a; background: #8881; }
footer { margin-top: 2rem; font-size: 0.85rem; }
"""
STYLE_HASH = base64.b64encode(hashlib.sha256(STYLE.encode()).digest()).decode()
# Nothing but this style sheet: no script, no image, no other address.
PAGE_HEADERS = (
    (
        b"content-security-policy",
        f"default-src 'none'; style-src 'sha256-{STYLE_HASH}'; base-uri 'none'; form-action 'none'; "
        "frame-ancestors 'none'".encode(),
    ),
    (b"vary", b"accept"),
    *COMMON_HEADERS,
)


def get_meaning(kind: type[RightseatError]) -> str:
    """Return what an error means, from the tree in the docstring of errors.py."""
    tree = {(name, int(status)): meaning for name, status, meaning in TREE_LINE.findall(errors.__doc__ or "")}
    text = tree.get((kind.__name__, kind.status), "")
    return f"{text[:1].upper()}{text[1:]}"


def list_rows(kind: type[RightseatError]) -> list[tuple[str, str]]:
    """Return the facts of an error as (label, Markdown)."""
    family = " < ".join(f"`{base.__name__}`" for base in kind.__mro__ if issubclass(base, RightseatError))
    return [
        ("HTTP status", str(kind.status)),
        ("Who erred", f"{FAULTS[kind.fault]} (`{kind.fault}`)"),
        ("Shown as", f"{kind.visibility}, {kind.severity}"),
        ("Class", family),
    ]


def format_error_page(kind: type[RightseatError]) -> str:
    """Format the page of an error as Markdown."""
    rows = "\n".join(f"| {label} | {text} |" for label, text in list_rows(kind))
    return f"# `{kind.code}`\n\n{get_meaning(kind)}.\n\n**What to do:** {kind.hint}\n\n| | |\n|---|---|\n{rows}\n"


def format_inline(text: str) -> str:
    """Format a line of Markdown, of which only `code` is used here, as HTML."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(text))


def format_error_html(kind: type[RightseatError]) -> bytes:
    """Format the page of an error as HTML."""
    rows = "".join(
        f'<tr><th scope="row">{escape(label)}</th><td>{format_inline(text)}</td></tr>'
        for label, text in list_rows(kind)
    )
    return format_document(
        f"{kind.code}: {get_meaning(kind)}",
        f"<h1><code>{escape(kind.code)}</code></h1><p>{escape(get_meaning(kind))}.</p>"
        f'<p class="action"><strong>What to do:</strong> {format_inline(kind.hint)}</p>'
        f'<table>{rows}</table><p><a href="../errors">All errors</a></p>',
    )


@cache
def format_list_html() -> bytes:
    """Format the list of all errors as HTML."""
    rows = "".join(
        f'<tr><td><a href="errors/{kind.code}"><code>{kind.code}</code></a></td><td>{kind.status}</td>'
        f"<td>{escape(get_meaning(kind))}</td></tr>"
        for kind in sorted(errors.errors_by_code().values(), key=lambda kind: kind.code)
    )
    head = '<tr><th scope="col">Code</th><th scope="col">Status</th><th scope="col">What happened</th></tr>'
    return format_document("Errors", f"<h1>Errors</h1><table>{head}{rows}</table>")


def format_document(title: str, body: str) -> bytes:
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)} · rightseat</title><style>{STYLE}</style></head>"
        f"<body><main>{body}</main><footer>rightseat {__version__}</footer></body></html>\n"
    ).encode()


def wants_text(request: Request) -> bool:
    """Tell whether the client asks for text and not for HTML; a client that takes all gets HTML."""
    accept = request.headers.get("accept", "")
    return "text/html" not in accept and ("text/plain" in accept or "text/markdown" in accept)


def serve_error_page(request: Request, host: object) -> Reply:
    kind = errors.errors_by_code().get(request.params["code"])
    if kind is None:
        raise NotFound("There is no error of that code.")
    if wants_text(request):
        content_type = CONTENT_TYPES[".txt"]
        return make_reply(200, format_error_page(kind).encode(), *PAGE_HEADERS, content_type=content_type)
    return make_reply(200, format_error_html(kind), *PAGE_HEADERS, content_type=CONTENT_TYPES[".html"])


def serve_error_list(request: Request, host: object) -> Reply:
    return make_reply(200, format_list_html(), *PAGE_HEADERS, content_type=CONTENT_TYPES[".html"])


# Public: the error for a missing key links to its page too.
ERROR_ROUTES = (
    Route("GET", PATH, serve_error_list, public=True, summary="All errors"),
    Route("GET", f"{PATH}/{{code}}", serve_error_page, public=True, summary="What an error means"),
)
