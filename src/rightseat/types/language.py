"""Language of a person: the server's own sentences are written in English and Chinese."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Literal, get_args

from rightseat.types.messages import Message
from rightseat.types.text import sample_text

Language = Literal["en", "zh"]
LANGUAGES: tuple[Language, ...] = get_args(Language)

_HAN = re.compile(r"[\u3400-\u4dbf\u4e00-\u9fff]")
_WORD = re.compile(r"[^\W\d_\u3400-\u4dbf\u4e00-\u9fff]+")
_COLON = re.compile(r"：|:\s")
_KANA_OR_HANGUL = re.compile(r"[\u3040-\u30ff\uac00-\ud7af]")


def detect_language(text: str) -> Language:
    """Return "zh" for a text that is mostly Chinese or asks in Chinese, else "en". Two Chinese characters count as a
    word; what stands behind a colon is often quoted, so the text before it decides if it has words."""
    text = sample_text(text)
    if _KANA_OR_HANGUL.search(text):
        return "en"
    before_colon = _COLON.split(text, maxsplit=1)[0]
    asked = before_colon if _HAN.search(before_colon) or _WORD.search(before_colon) else text
    return "zh" if len(_HAN.findall(asked)) > 2 * len(_WORD.findall(asked)) else "en"


def find_language(messages: Iterable[Message], default: Language = "en") -> Language:
    """Return the language of the person's last message that has letters; `default` where there is none."""
    for message in reversed(list(messages)):
        if message.role == "user":
            text = sample_text(message.text)
            if _HAN.search(text) or _WORD.search(text):
                return detect_language(text)
    return default
