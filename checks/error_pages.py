"""docs/errors.md and a page for each code, written from the errors themselves, by the doors' own writers."""

import asyncio
from collections import Counter
from typing import Any

from rightseat import errors
from rightseat.doors.copilotkit import failures as copilotkit
from rightseat.doors.mcp import routes as mcp
from rightseat.doors.openai import write as openai
from rightseat.doors.openbb import write as openbb
from rightseat.errors import RightseatError
from rightseat.http.agui import write as agui
from rightseat.http.reply import Reply
from rightseat.runtime.runs import to_run_failed
from rightseat.server.error_pages import format_error_page, get_meaning
from rightseat.types.events import RunFailed
from rightseat.types.json_values import encode_json
from rightseat.types.streams import closing

EXAMPLE_MESSAGE = "What happened, and what to do next."
INTRO = """# Errors

Look up an error by its code: what happened, who caused it and what to do next. Every error has a stable **code**, an
HTTP **status**, a **fault** (who erred), a **message** that says what to do next, and a page of its own. A running
server has that page at `/docs/errors/CODE`, without a key, and a list of all at `/docs/errors`. An error response links
to its page with the header `Link: <…/docs/errors/CODE>; rel="help"`; where a client takes more fields than its own,
the same address is in the body: `doc_url`, and `troubleshootingUrl` in CopilotKit's extensions. A message never repeats
the text of a model's server and contains no secret.

## How each door writes an error

After the first byte of a stream there is no HTTP status any more: the code comes inside the stream.

| door | before an answer begins | in the middle of one |
|---|---|---|
| OpenAI | the status, `{"error": {message, type, param, code, doc_url}}` | `data: {"error": …}`, no `[DONE]` |
| AG-UI, CopilotKit 1.50+ | the status, `{error, message, code}` | what is open is closed, then `RUN_ERROR` |
| CopilotKit to 1.10 | 200, `errors[].extensions` | `FailedResponseStatus` with the same in `details` |
| OpenBB | 422 for a 400, else the status, `{detail, code, doc_url}` | a sentence that ends with the code in brackets |
| MCP | the status, a JSON-RPC `error` with `data.code` and `data.doc_url` | a result with `isError` |

At the OpenAI door some codes are OpenAI's `content_filter`: 400 before an answer begins, with the code in
`innererror.code`, and the `finish_reason` in the middle of one. They are FILTERED.

## Errors of a model's server

An error of a vendor's server becomes one of these codes, the same for all vendors:

| what went wrong there | code |
|---|---|
| it does not take our key | [upstream_denied](errors/upstream_denied.md) |
| over its rate limit | [upstream_busy](errors/upstream_busy.md) |
| the conversation is too long | [context_too_long](errors/context_too_long.md) |
| it will not answer this | [content_refused](errors/content_refused.md) |
| it is down or has too much to do | [upstream_unreachable](errors/upstream_unreachable.md), \
[upstream_overloaded](errors/upstream_overloaded.md) |
| it is too slow | [upstream_timeout](errors/upstream_timeout.md) |
| it does not take the request | [upstream_rejected](errors/upstream_rejected.md) |
| it stops in the middle of an answer | [incomplete](errors/incomplete.md) |
| it sends what cannot be read, or too much | [upstream_garbled](errors/upstream_garbled.md), \
[upstream_too_large](errors/upstream_too_large.md) |
| it fails in another way | [upstream_error](errors/upstream_error.md) |
| the process of a local model ends | [local_model_died](errors/local_model_died.md) |

A failed run is one line of the log, with its code, thread, run and request id, and a call of the
[hook `on_error`](hooks.md#when-something-fails).
"""


class UndocumentedError(Exception):
    """A key, an error or a command that says nothing about itself."""


def list_errors() -> list[type[RightseatError]]:
    classes = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, RightseatError)]
    twice = [code for code, count in Counter(kind.code for kind in classes).items() if count > 1]
    missing = [f"{kind.__name__} {kind.status}" for kind in classes if not get_meaning(kind)]
    if twice:
        raise UndocumentedError(f"errors.py: a code is used twice: {', '.join(twice)}")
    if missing:
        raise UndocumentedError(f"errors.py: the tree at its head has no line for {', '.join(missing)}")
    return classes


def build_overview() -> str:
    rows = [
        f"| [`{kind.code}`](errors/{kind.code}.md) | {kind.status} | {kind.fault} | {said} |"
        for kind, said in ((kind, get_meaning(kind)) for kind in list_errors())
    ]
    table = ["## Every code", "", "| code | status | who erred | what happened |", "|---|---|---|---|", *rows]
    *others, last = (f"[{code}](errors/{code}.md)" for code in openai.FILTERED_CODES)
    filtered = f"{', '.join(others)} and {last}"
    return "\n".join([INTRO.replace("FILTERED", filtered), *table, ""])


def make_example(kind: type[RightseatError]) -> RightseatError:
    if issubclass(kind, errors.MethodNotAllowed):
        return kind(EXAMPLE_MESSAGE, allow="POST")
    return kind(EXAMPLE_MESSAGE, retry_after=7) if kind.status in (429, 503) else kind(EXAMPLE_MESSAGE)


def build_page(kind: type[RightseatError]) -> str:
    error = make_example(kind)
    failed = to_run_failed(error)
    rows = [
        ("OpenAI", format_reply(openai.refuse(error)), format_chunk_error(failed)),
        ("AG-UI, CopilotKit 1.50+", format_reply(agui.make_error_reply(error)), format_event_error(failed)),
        ("CopilotKit to 1.10", format_graphql_error(error), format_graphql_failure(failed)),
        ("OpenBB", format_reply(openbb.refuse(error)), format_code(f"{EXAMPLE_MESSAGE} ({error.code})")),
        ("MCP", format_reply(mcp.refuse(error)), format_code('"isError":true')),
    ]
    lines = [f"| {' | '.join(row)} |" for row in rows]
    table = ["| door | before an answer begins | in the middle of one |", "|---|---|---|", *lines]
    return "\n".join([format_error_page(kind), "## How each door shows it", "", *table, "", ALL_ERRORS_LINK, ""])


ALL_ERRORS_LINK = "[All errors](../errors.md)"


def format_code(text: str) -> str:
    return f"`{text}`"


def format_reply(reply: Reply) -> str:
    async def read() -> tuple[int, bytes, bool]:
        async with closing(reply):
            head: Any = await anext(reply)
        return head.status, head.body or b"", any(name == b"retry-after" for name, _ in head.headers)

    status, body, waits = asyncio.run(read())
    return f"{status}{', `Retry-After`' if waits else ''}: {format_code(body.decode())}"


def format_chunk_error(failed: RunFailed) -> str:
    if failed.code in openai.FILTERED_CODES:
        return format_code('"finish_reason":"content_filter"')
    return format_code(f"data: {openai.encode_error(failed).decode()}")


def format_event_error(failed: RunFailed) -> str:
    return format_code(encode_json(agui.AguiEncoder("", "").convert(failed)[0]).decode())


def format_graphql_error(error: RightseatError) -> str:
    extensions = copilotkit.make_extensions(error)
    shown = ", ".join(str(extensions[name]) for name in ("code", "statusCode", "visibility", "severity"))
    return f"200: `errors[0].extensions` with {format_code(shown)}"


def format_graphql_failure(failed: RunFailed) -> str:
    original = copilotkit.make_error_details(failed)["originalError"]
    return f"`details.originalError` with {format_code(original['code'])}"
