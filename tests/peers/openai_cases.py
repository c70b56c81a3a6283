"""The cases of the two OpenAI clients: what is the same for both, as tables, and how a test looks at them."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.peers.client_runner import ClientReport

PYTHON, NODE = "openai-py", "openai-js"
ECHO = "This is a scripted model, and its script has no line for that. You said: "
HELLO = "Hello from the script: é漢😀"

EXPECTED_TEXTS: dict[str, list[str]] = {
    "text": [HELLO],
    "paced": ["Three slow words."],
    "server_tool": ["Let me see.\n\nThat makes 5."],
    "approved": ['Allow book with {"seat":"book approved MODE"}?\n\nReply yes or no.', "Booked book approved MODE."],
    "flow": ["Which city?", "Bought: Oslo."],
    "twins": ["Which city?", "Which city?", "Bought: Rome."],
    "asked_twice": ["Which city?", "Bought: Oslo.", f"{ECHO}Oslo"],
    "silent": [""],
}
"""What the assistant says turn by turn in cases that are nothing but talk."""

TOOL_ERRORS: dict[str, tuple[str, str]] = {
    "wrong_type": ("invalid_arguments", 'add: a: "two" is not of type "integer"'),
    "wrong_json": ("invalid_json", "The arguments are not valid JSON"),
    "wrong_client": ("invalid_arguments", 'locate: detail: 7 is not of type "string"'),
    "unknown_tool": ("unknown_tool", "There is no tool 'fly'."),
    "raising_tool": ("tool_failed", "ValueError: no wheels"),
}
"""What the model is told when a call goes wrong; it repeats that to the person."""

REQUEST_ERRORS: dict[str, tuple[str, int, str, str]] = {
    "dead_at_once": ("InternalServerError", 502, "upstream_unreachable", "cannot be reached"),
    "upstream_401": ("InternalServerError", 502, "upstream_denied", "refused our key"),
    "upstream_429": ("RateLimitError", 429, "upstream_busy", "over its rate limit"),
    "wrong_key": ("AuthenticationError", 401, "unauthorized", "The key is not known here."),
    "no_such_model": ("NotFoundError", 404, "not_found", "There is no model 'nobody'. Those that exist: default,"),
    "bad_request": ("BadRequestError", 400, "invalid_request", "temperature: Expected"),
    "no_such_route": ("NotFoundError", 404, "not_found", "There is nothing at '/v1/moderations'."),
    "dawdled": ("APIStatusError", 408, "request_timeout", "The body did not arrive within 0.5 s."),
    "large": ("APIStatusError", 413, "too_large", "The body is larger than 1000000 bytes."),
    "not_json": ("APIStatusError", 415, "not_json", "Send the body with `Content-Type: application/json`."),
    "broken": ("InternalServerError", 500, "internal", "The script says that the model fails here."),
    "overloaded": ("InternalServerError", 503, "upstream_overloaded", "is overloaded: try later."),
    "timed_out": ("InternalServerError", 504, "upstream_timeout", "did not begin to answer within 0.3 s"),
}
"""Failures before the first word, the same in both modes."""

STREAM_ERRORS: dict[str, tuple[str, int, str, str]] = {
    "dead_midway": ("InternalServerError", 502, "incomplete", "ended before it was finished"),
    "truncated": ("InternalServerError", 502, "incomplete", "ended before it was finished"),
    "error_midway": ("InternalServerError", 503, "upstream_overloaded", "overloaded"),
}
"""Failures after the first words: a status for who waits for the whole, an error in the stream for others."""

SENT_OPTIONS: dict[str, dict[str, Any]] = json.loads(Path(__file__).with_name("options.json").read_text("utf-8"))
"""Options of a request by the name of a case; the model answers with what reached it."""
PARSE_CASES = ("parsed", "parsed_refusal", "parsed_length", "parsed_unfit")
OPTION_CASES = (*SENT_OPTIONS, *PARSE_CASES, "parts", "several", "probable", "completion", "names", "any_name")

TEXT_CASES = (
    *EXPECTED_TEXTS,
    *TOOL_ERRORS,
    *REQUEST_ERRORS,
    *STREAM_ERRORS,
    "question",
    "denied",
    "evaded",
    "approved_twice",
    "raced",
    "stranger",
    "threaded",
)
CALL_CASES = ("client_tool", "client_tool_twice", "mixed", "two_client_calls", "half_of_two", "both")
CUT_CASES = ("length", "cut_held", "cut_shown", "second_held", "second_shown")
OTHER_CASES = ("refusal", "reasoning", *CUT_CASES, "roles", "settings", "retried", "effect_once")
CUT_RUNNER_CASES = ("runner_cut_held", "runner_cut_shown", "runner_second_held", "runner_second_shown")
RUNNER_CASES = ("runner", "runner_two", *CUT_RUNNER_CASES)
MODES = ("stream", "whole")


def list_cases(client: str) -> tuple[str, ...]:
    names = (
        *TEXT_CASES,
        *CALL_CASES,
        *OTHER_CASES,
        *OPTION_CASES,
        "leave_waiting",
        *(RUNNER_CASES if client == NODE else ()),
    )
    once = (
        "chunks",
        "models",
        "counted",
        "embeddings",
        "speech",
        "leave",
        *(("keep_alive",) if client == PYTHON else ()),
    )
    return (*(f"{name} {mode}" for name in names for mode in MODES), *(f"{name} stream" for name in once))


@dataclass(frozen=True, slots=True)
class PeerReport:
    name: str
    report: ClientReport
    mode: str = "stream"

    def get_turns(self, case: str) -> list[dict[str, Any]]:
        return self.report.get_turns(case, self.mode)

    def list_contents(self, case: str) -> list[str | None]:
        return [turn["content"] for turn in self.get_turns(case)]

    def count_bookings(self, case: str) -> int:
        return self.report.count_bookings(f"{case} {self.mode}")
