"""The cases of the AG-UI client, as tables."""

from typing import Any

HELLO = "Hello from the script: é漢😀"
HIGH, LOW, UTC = '{"detail":"high"}', '{"detail":"low"}', '{"zone":"UTC"}'
Message = list[Any]

MESSAGES: dict[str, list[Message]] = {
    "text": [["user", "hello"], ["assistant", HELLO]],
    "paced": [["user", "slowly"], ["assistant", "Three slow words."]],
    "server_tool": [
        ["user", "sum"],
        ["assistant", "Let me see.", [["add", '{"a":2,"b":3}']]],
        ["tool", "5"],
        ["assistant", "That makes 5."],
    ],
    "client_tool": [
        ["user", "where am i"],
        ["assistant", None, [["locate", HIGH]]],
        ["tool", "Oslo"],
        ["assistant", "You are in Oslo."],
    ],
    "client_tool_twice": [
        ["user", "where"],
        ["assistant", None, [["locate", HIGH]]],
        ["tool", "Oslo"],
        ["assistant", "You are in Oslo."],
    ],
    "two_client_calls": [
        ["user", "pair"],
        ["assistant", None, [["locate", LOW], ["clock", UTC]]],
        ["tool", "Oslo"],
        ["tool", "noon"],
        ["assistant", "It is noon."],
    ],
    "both": [
        ["user", "both both"],
        ["assistant", None, [["locate", LOW], ["book", '{"seat":"both both"}']]],
        ["tool", "Oslo"],
        ["tool", "Booked both both."],
        ["assistant", "Booked both both."],
    ],
    "question": [
        ["user", "question"],
        ["assistant", "One moment.", [["greet", "{}"]]],
        ["tool", "Hello Ada."],
        ["assistant", "Hello Ada."],
        ["user", "hello"],
        ["assistant", HELLO],
    ],
    "approved": [
        ["user", "book approved"],
        ["assistant", None, [["book", '{"seat":"book approved"}']]],
        ["tool", "Booked book approved."],
        ["assistant", "Booked book approved."],
    ],
    "flow": [
        ["user", "trip flow"],
        ["assistant", None, [["trip", '{"name":"trip flow"}']]],
        ["tool", "Bought: Oslo."],
        ["assistant", "Bought: Oslo."],
    ],
    "twins": [
        ["user", "twins twins"],
        ["assistant", None, [["trip", '{"name":"twins twins 1"}'], ["trip", '{"name":"twins twins 2"}']]],
        ["tool", "Bought: Oslo."],
        ["tool", "Bought: Rome."],
        ["assistant", "Bought: Rome."],
    ],
    "open_step": [
        ["user", "stroll"],
        ["assistant", None, [["stroll", "{}"]]],
        ["tool", "Went left."],
        ["assistant", "Went left."],
    ],
    "handed": [
        ["user", "guide me"],
        ["assistant", None, [["guide", '{"request":"guide me"}']]],
        ["tool", "Go left."],
        ["assistant", "Go left."],
    ],
    "refusal": [["user", "refuse"], ["assistant", "I will not."]],
    "reasoning": [
        ["user", "think"],
        ["reasoning", "First think."],
        ["assistant", "Done."],
        ["user", "hello"],
        ["assistant", HELLO],
    ],
    "silent": [["user", "silent"]],
    "length": [["user", "long"], ["assistant", "This is cut"]],
    "second_held": [
        ["user", "second held"],
        ["assistant", None, [["locate", '{"detail":"low"}'], ["clock", '{"zone": "U']]],
        ["tool", "Oslo"],
        ["assistant", "You are in Oslo."],
    ],
}
"""The conversation as the client holds it at the end of a case that ends well."""

TOOL_ERRORS: dict[str, tuple[str, str]] = {
    "wrong_type": ("invalid_arguments", 'add: a: "two" is not of type "integer"'),
    "wrong_json": ("invalid_json", "The arguments are not valid JSON"),
    "wrong_client": ("invalid_arguments", 'locate: detail: 7 is not of type "string"'),
    "unknown_tool": ("unknown_tool", "There is no tool 'fly'."),
    "raising_tool": ("tool_failed", "ValueError: no wheels"),
    "handed_badly": ("tool_failed", "ValueError: no map"),
    "denied": ("denied", "The person did not allow this call."),
    "cancelled": ("cancelled", "The person did not want to answer."),
}
"""What model and client are told in place of a result."""

RUN_ERRORS: dict[str, tuple[str, str, str]] = {
    "dead_at_once": ("upstream_unreachable", "cannot be reached", ""),
    "upstream_401": ("upstream_denied", "refused our key", ""),
    "upstream_429": ("upstream_busy", "over its rate limit", ""),
    "dead_midway": ("incomplete", "ended before it was finished", "w0 w1 w2"),
    "truncated": ("incomplete", "ended before it was finished", "w0 w1 w2"),
    "error_midway": ("upstream_overloaded", "overloaded", "w0 w1 w2"),
    "cut_held": ("length", "cut off in the middle of a tool call", "Let me look."),
    "cut_shown": ("length", "cut off in the middle of a tool call", "Let me look."),
    "second_shown": ("length", "cut off in the middle of a tool call", ""),
}
"""Code and message of RUN_ERROR, and what was said before it."""

REQUEST_ERRORS: dict[str, tuple[int, str, str]] = {
    "wrong_key": (401, "unauthorized", "The key is not known here."),
    "no_key": (401, "unauthorized", "This server needs a key."),
    "no_such_agent": (404, "agent_not_found", "There is no agent 'nobody'. Those that exist: default,"),
    "nothing": (400, "invalid_request", "messages: there is nothing to answer."),
}

QUESTION_CASES = ("unfit", "approved_twice", "asked_twice", "raced", "stranger", "unanswered")
OTHER_CASES = ("mixed", "half_of_two", "roles", "half_call", "leave", "leave_waiting")
SIDE_EFFECT_CASES = ("both", "approved", "flow", "twins")
"""What happens at the server must happen once, so these run in one mode only."""
THREAD_CASES = ("reload", "reload_failed", "reload_asked", "older", "older_twins", "stop")
MODES = ("kept", "single")
PURE_CASES = tuple(name for name in MESSAGES if name not in SIDE_EFFECT_CASES)
CASES = (
    *(
        f"{name} stream"
        for name in (*MESSAGES, *TOOL_ERRORS, *RUN_ERRORS, *REQUEST_ERRORS, *QUESTION_CASES, *OTHER_CASES)
    ),
    *(f"{name} {mode}" for mode in MODES for name in (*PURE_CASES, *TOOL_ERRORS, *RUN_ERRORS, *THREAD_CASES)),
)
CASES_WITH_WARNINGS = {*REQUEST_ERRORS, "unanswered"}
"""Cases in which a promise is rejected, and ought to be."""
