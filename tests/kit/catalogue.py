"""Every reply by the name a message can call it by: `fault-NAME`."""

from collections.abc import Callable
from functools import partial
from typing import Final

from tests.kit import answers, breaks, faults, framing
from tests.kit.answers import Reply

ANSWERS: Final[dict[str, Callable[..., Reply]]] = {
    "ok": answers.text,
    "tool": answers.tool,
    "tools": answers.tools,
    "tools-one-chunk": answers.tools_one_chunk,
    "tools-interleaved": answers.tools_interleaved,
    "tool-repeated-name": answers.tool_repeated_name,
    "tool-args-first": answers.tool_args_first,
    "tool-whole-object": answers.tool_whole_object,
    "function-call": answers.function_call,
    "bad-call": answers.bad_call,
    "cut-call": answers.cut_call,
    "reasoning-content": answers.reasoning,
    "reasoning": answers.reasoning_short,
    "refusal": answers.refusal,
    "usage": answers.with_usage,
    "length": answers.out_of_length,
    "no-done": answers.no_done,
    "huge": faults.huge,
}
"""Complete answers: a correct server delivers each of them."""

FRAMINGS: Final[dict[str, Callable[..., Reply]]] = {
    "lf": framing.lf,
    "crlf": framing.crlf,
    "crlf-split": framing.crlf_split,
    "cr": framing.cr,
    "multiline": framing.multiline,
    "comments": framing.comments,
    "bom": framing.bom,
    "no-space": framing.no_space,
    "bytewise": framing.bytewise,
    "one-write": framing.one_write,
}
"""All of them say `framing.SPOKEN`."""

STATUSES: Final[dict[str, Callable[..., Reply]]] = {
    "400": partial(faults.status, 400),
    "401": partial(faults.status, 401),
    "404": partial(faults.status, 404),
    "429": partial(faults.status, 429, 7),
    "500": partial(faults.status, 500),
    "503": partial(faults.status, 503),
}

FAULTS: Final[dict[str, Callable[..., Reply]]] = {
    "error-midway": faults.error_midway,
    "eof": faults.eof,
    "reset": breaks.reset,
    "reset-at-once": breaks.reset_at_once,
    "cut": breaks.cut,
    "cut-between": breaks.cut_between,
    "close-at-once": breaks.close_at_once,
    "bad-json": faults.bad_json,
    "bad-chunk-size": breaks.bad_chunk_size,
    "wrong-shape": faults.wrong_shape,
    "html": faults.html,
    "length-too-long": faults.length_too_long,
    "length-too-short": faults.length_too_short,
    "garbage": breaks.garbage,
    "gzip-bomb": faults.gzip_bomb,
    "redirect": faults.redirect,
}
"""Each ends by itself, and each is a failure to report."""

WAITS: Final[dict[str, Callable[..., Reply]]] = {
    "stall": breaks.stall,
    "silent": breaks.silent,
    "mute": breaks.mute,
    "pings": breaks.pings,
    "endless": faults.endless,
}
"""None ends by itself: a limit or the client's leaving must end it."""

CATALOGUE: Final = {**ANSWERS, **FRAMINGS, **STATUSES, **FAULTS, **WAITS}
