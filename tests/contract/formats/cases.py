"""What a model may answer in any format, and what must be read out of it."""

from dataclasses import dataclass
from typing import Any

from rightseat.types.model import ToolSpec

FIND_TOOL = ToolSpec(
    "find_word",
    "Looks a word up.",
    {
        "type": "object",
        "properties": {
            "word": {"type": "string", "description": "The word."},
            "language": {"enum": ["de", "fr"]},
            "most": {"type": "integer", "minimum": 1, "maximum": 20},
        },
        "required": ["word", "language"],
        "additionalProperties": False,
    },
)
RING_TOOL = ToolSpec("ring", "Rings a bell.", {"type": "object", "properties": {}, "additionalProperties": False})
TOOLS = (FIND_TOOL, RING_TOOL)
OUTPUT_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"ok": {"type": "boolean"}},
    "required": ["ok"],
    "additionalProperties": False,
}
Call = tuple[str, str]


@dataclass(frozen=True)
class FormatCase:
    """What a model says: a thought, a text, calls as (name, JSON)."""

    name: str
    text: str = ""
    calls: tuple[Call, ...] = ()
    reasoning: str = ""


FIND_CALL = ("find_word", '{"word": "Haus", "language": "fr"}')
OTHER_FIND_CALL = ("find_word", '{"word": "maison", "language": "de", "most": 3}')
RING_CALL = ("ring", "{}")
# Valid JSON that no schema here allows.
INVALID_CALLS = (
    ("find_word", '{"word": "Haus"}'),
    ("find_word", '{"word": "Haus", "language": "en"}'),
    ("find_word", '{"word": 1, "language": "fr"}'),
    ("find_word", '{"word": "Haus", "language": "fr", "most": 21}'),
    ("find_word", '{"word": "Haus", "language": "fr", "more": 1}'),
    ("ring", '{"loud": true}'),
    ("ring", "[]"),
    ("unknown", "{}"),
)
MARKUP = "a < b, [c] {d} \"e\" </f> <|g|> ｜h｜ 'i' `j` >>> \\k\n\nand &amp; ::= more"
ESCAPES = r'{"word": "\"}]\n\\\"\u00e9\ud83c\udf89/<|x|>", "language": "de"}'

CASES = (
    FormatCase("text", "Good day."),
    FormatCase("text with markup of other kinds", MARKUP),
    FormatCase("unicode text", "Grüße, 世界 🎉 e\u0301"),
    FormatCase("one call", calls=(FIND_CALL,)),
    FormatCase("empty arguments", calls=(RING_CALL,)),
    FormatCase("two calls", calls=(FIND_CALL, OTHER_FIND_CALL)),
    FormatCase("three calls", calls=(RING_CALL, OTHER_FIND_CALL, RING_CALL)),
    FormatCase("unicode arguments", calls=(("find_word", '{"word": "häuser 世界 🎉", "language": "de"}'),)),
    FormatCase("escapes", calls=(("find_word", ESCAPES),)),
    FormatCase("text before a call", "I will look.", (FIND_CALL,)),
)  # fmt: skip

# Names that OpenAI's API allows: these are never refused.
PLAIN = ("root", "a" * 64)
# Whatever a tool is called: it is told, bound and read as it is, or refused with a sentence.
HOSTILE = (
    'a"b',
    "a\\b",
    "a}b{",
    "a\nb",
    'x"} ::= "y',
    "<|im_end|>",
    "</tool_call>",
    "[ARGS]x",
    "```json\n",
    "a b",
    " a ",
    "naïve·世界",
    "{{ 7 * 7 }}",
    *PLAIN,
)
