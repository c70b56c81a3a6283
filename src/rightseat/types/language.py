"""Language of a person: the server's own sentences are written in English and Chinese."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Literal, get_args

from rightseat.types.messages import Message

Language = Literal["en", "zh"]
LANGUAGES: tuple[Language, ...] = get_args(Language)

_HAN = re.compile(r"[\u3400-\u4dbf\u4e00-\u9fff]")
_WORD = re.compile(r"[^\W\d_\u3400-\u4dbf\u4e00-\u9fff]+")
_KANA_OR_HANGUL = re.compile(r"[\u3040-\u30ff\uac00-\ud7af]")


def detect_language(text: str) -> Language:
    """Return "zh" for a text that begins in Chinese or is mostly Chinese, else "en"."""
    han = _HAN.search(text)
    if han is None or _KANA_OR_HANGUL.search(text):
        return "en"
    word = _WORD.search(text)
    begins_in_chinese = word is None or han.start() < word.start()
    return "zh" if begins_in_chinese or len(_HAN.findall(text)) > len(_WORD.findall(text)) else "en"


def find_language(messages: Iterable[Message], default: Language = "en") -> Language:
    """Return the language of the person's last message that has letters; `default` where there is none."""
    for message in reversed(list(messages)):
        if message.role == "user" and (_HAN.search(message.text) or _WORD.search(message.text)):
            return detect_language(message.text)
    return default
