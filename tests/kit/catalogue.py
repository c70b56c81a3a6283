"""Every reply by the name a message can call it by: `fault-NAME`."""

from collections.abc import Callable
from functools import partial
from typing import Final

from tests.kit import answers, connection_faults, faults, framing
from tests.kit.answers import UpstreamReply

ANSWERS: Final[dict[str, Callable[..., UpstreamReply]]] = {
    "ok": answers.answer_text,
    "tool": answers.answer_tool_call,
    "tools": answers.answer_tool_calls,
    "tools-one-chunk": answers.answer_calls_in_one_chunk,
    "tools-interleaved": answers.answer_interleaved_calls,
    "tool-repeated-name": answers.answer_call_repeating_name,
    "tool-args-first": answers.answer_call_arguments_first,
    "tool-whole-object": answers.answer_call_without_id,
    "function-call": answers.answer_function_call,
    "bad-call": answers.answer_invalid_call,
    "cut-call": answers.answer_truncated_call,
    "reasoning-content": answers.answer_reasoning,
    "reasoning": answers.answer_short_reasoning,
    "refusal": answers.answer_refusal,
    "usage": answers.answer_with_usage,
    "length": answers.answer_at_length_limit,
    "no-done": answers.answer_without_done,
    "huge": faults.send_huge_token,
}
"""Complete answers: a correct server delivers each of them."""

FRAMINGS: Final[dict[str, Callable[..., UpstreamReply]]] = {
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

STATUSES: Final[dict[str, Callable[..., UpstreamReply]]] = {
    "400": partial(faults.fail_with_status, 400),
    "401": partial(faults.fail_with_status, 401),
    "404": partial(faults.fail_with_status, 404),
    "429": partial(faults.fail_with_status, 429, 7),
    "500": partial(faults.fail_with_status, 500),
    "503": partial(faults.fail_with_status, 503),
}

FAULTS: Final[dict[str, Callable[..., UpstreamReply]]] = {
    "error-midway": faults.fail_midway,
    "eof": faults.end_without_finish,
    "reset": connection_faults.reset_connection,
    "reset-at-once": connection_faults.reset_at_once,
    "cut": connection_faults.cut_inside_frame,
    "cut-between": connection_faults.cut_between_frames,
    "close-at-once": connection_faults.close_at_once,
    "bad-json": faults.send_bad_json,
    "bad-chunk-size": connection_faults.send_bad_chunk_size,
    "wrong-shape": faults.send_wrong_shape,
    "html": faults.send_html,
    "length-too-long": faults.overstate_length,
    "length-too-short": faults.understate_length,
    "garbage": connection_faults.send_garbage,
    "gzip-bomb": faults.send_gzip_bomb,
    "redirect": faults.send_redirect,
}
"""Each ends by itself, and each is a failure to report."""

ENDLESS: Final[dict[str, Callable[..., UpstreamReply]]] = {
    "stall": connection_faults.stall_stream,
    "silent": connection_faults.send_head_only,
    "mute": connection_faults.send_nothing,
    "pings": connection_faults.send_pings,
    "endless": faults.send_endlessly,
}
"""None ends by itself: a limit or the client's leaving must end it."""

REPLIES: Final = {**ANSWERS, **FRAMINGS, **STATUSES, **FAULTS, **ENDLESS}
