"""docs/errors.md and a page for each code, written from the errors themselves, by the doors' own writers."""

import asyncio
from collections import Counter
from typing import Any

from rightseat import errors
from rightseat.doors.copilotkit import failures as copilotkit
from rightseat.doors.openai import write as openai
from rightseat.doors.openbb import write as openbb
from rightseat.errors import RightseatError
from rightseat.http.agui import write as agui
from rightseat.http.reply import Reply
from rightseat.runtime.runs import to_run_failed
from rightseat.server import operations
from rightseat.types.events import RunFailed
from rightseat.types.streams import closing

SAID = "What happened, and what to do next."
INTRO = """# Errors

Look up an error by its code: what happened, who caused it and what to do next. Every error has a stable **code**, an
HTTP **status**, a **fault** (who erred), a **message** that says what to do next, and a page of its own. A running
server has that page at `/docs/errors/CODE`, without a key. A message never repeats the text of a model's server and
contains no secret.

## How each door writes an error

After the first byte of a stream there is no HTTP status any more: the code comes inside the stream.

| door | before an answer begins | in the middle of one |
|---|---|---|
| OpenAI | the status, `{"error": {message, type, param, code}}` | `data: {"error": …}`, no `[DONE]` |
| AG-UI, CopilotKit 1.50+ | the status, `{error, message, code}` | what is open is closed, then `RUN_ERROR` |
| CopilotKit to 1.10 | 200, `errors[].extensions` | `FailedResponseStatus` with the same in `details` |
| OpenBB | 422 or the status, `{detail, code}` | a sentence that ends with the code in brackets |

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

A failed run is one line of the log, with its code, thread, run and request id, and a call of the
[hook `on_error`](hooks.md#when-a-run-fails).
"""


class Undocumented(Exception):
    """A key, an error or a command that says nothing about itself."""


def kinds() -> list[type[RightseatError]]:
    found = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, RightseatError)]
    twice = [code for code, count in Counter(kind.code for kind in found).items() if count > 1]
    missing = [f"{kind.__name__} {kind.status}" for kind in found if not operations.get_meaning(kind)]
    if twice:
        raise Undocumented(f"errors.py: a code is used twice: {', '.join(twice)}")
    if missing:
        raise Undocumented(f"errors.py: the tree at its head has no line for {', '.join(missing)}")
    return found


def overview() -> str:
    rows = [
        f"| [`{kind.code}`](errors/{kind.code}.md) | {kind.status} | {kind.fault} | {said} |"
        for kind, said in ((kind, operations.get_meaning(kind)) for kind in kinds())
    ]
    table = ["## Every code", "", "| code | status | who erred | what happened |", "|---|---|---|---|", *rows]
    return "\n".join([INTRO, *table, ""])


def example(kind: type[RightseatError]) -> RightseatError:
    if issubclass(kind, errors.MethodNotAllowed):
        return kind(SAID, allow="POST")
    return kind(SAID, retry_after=7 if kind.status in (429, 503) else None)


def page(kind: type[RightseatError]) -> str:
    error = example(kind)
    failed = to_run_failed(error)
    rows = [
        ("OpenAI", before(openai.refuse(error)), in_chunks(failed)),
        ("AG-UI, CopilotKit 1.50+", before(agui.make_error_reply(error)), in_events(failed)),
        ("CopilotKit to 1.10", graphql(error), in_graphql(failed)),
        ("OpenBB", before(openbb.refuse(error)), code(f"{SAID} ({error.code})")),
    ]
    lines = [f"| {' | '.join(row)} |" for row in rows]
    table = ["| door | before an answer begins | in the middle of one |", "|---|---|---|", *lines]
    return "\n".join([operations.format_error_page(kind), "## How each door shows it", "", *table, "", ALL, ""])


ALL = "[All errors](../errors.md)"


def code(text: str) -> str:
    return f"`{text}`"


def before(reply: Reply) -> str:
    async def read() -> tuple[int, bytes, bool]:
        async with closing(reply):
            head: Any = await anext(reply)
        return head.status, head.body or b"", any(name == b"retry-after" for name, _ in head.headers)

    status, body, waits = asyncio.run(read())
    return f"{status}{', `Retry-After`' if waits else ''}: {code(body.decode())}"


def in_chunks(failed: RunFailed) -> str:
    if failed.code in openai.FILTERED_CODES:
        return code('"finish_reason":"content_filter"')
    return code(f"data: {openai.encode_error(failed).decode()}")


def in_events(failed: RunFailed) -> str:
    return code(agui.encode_json(agui.AguiEncoder("", "").convert(failed)[0]).decode())


def graphql(error: RightseatError) -> str:
    told = copilotkit.make_extensions(error)
    shown = ", ".join(str(told[name]) for name in ("code", "statusCode", "visibility", "severity"))
    return f"200: `errors[0].extensions` with {code(shown)}"


def in_graphql(failed: RunFailed) -> str:
    told = copilotkit.make_error_details(failed)["originalError"]
    return f"`details.originalError` with {code(told['code'])}"
