"""What a model may answer in any format, and what must be read out of it."""

from dataclasses import dataclass
from typing import Any

from rightseat.types.model import ToolSpec

FIND = ToolSpec(
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
RING = ToolSpec("ring", "Rings a bell.", {"type": "object", "properties": {}, "additionalProperties": False})
TOOLS = (FIND, RING)
OUTPUT: dict[str, Any] = {
    "type": "object",
    "properties": {"ok": {"type": "boolean"}},
    "required": ["ok"],
    "additionalProperties": False,
}
Call = tuple[str, str]


@dataclass(frozen=True)
class Said:
    """What a model says: a thought, a text, calls as (name, JSON)."""

    name: str
    text: str = ""
    calls: tuple[Call, ...] = ()
    thought: str = ""


ONE = ("find_word", '{"word": "Haus", "language": "fr"}')
OTHER = ("find_word", '{"word": "maison", "language": "de", "most": 3}')
EMPTY = ("ring", "{}")
# Valid JSON that no schema here allows.
WRONG = (
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
    Said("text", "Good day."),
    Said("text with markup of other kinds", MARKUP),
    Said("unicode text", "Grüße, 世界 🎉 e\u0301"),
    Said("one call", calls=(ONE,)),
    Said("empty arguments", calls=(EMPTY,)),
    Said("two calls", calls=(ONE, OTHER)),
    Said("three calls", calls=(EMPTY, OTHER, EMPTY)),
    Said("unicode arguments", calls=(("find_word", '{"word": "häuser 世界 🎉", "language": "de"}'),)),
    Said("escapes", calls=(("find_word", ESCAPES),)),
    Said("text before a call", "I will look.", (ONE,)),
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
