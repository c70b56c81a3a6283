"""Clauses of a short message, and the vocabularies that cover them, for rules in English and Chinese. No I/O.

A rule looks for the words that its intent needs, in any order. A vocabulary guards it: where a clause has words that
have nothing to do with the intent ("what can you do with old jeans?"), the message is about something else.
"""

from __future__ import annotations

import functools
import re
import unicodedata

MAX_LENGTH = 200
"""Characters; a longer message has a text of its own."""
_PASTED = re.compile(r"[\"“”„«»「」『』《》`<>{}\[\]|\n]|(?<!\w)'|'(?!\w)")
_HAN = re.compile(r"[\u3400-\u9fff]")
_HAN_SPACE = re.compile(r"(?<=[\u3400-\u9fff]) | (?=[\u3400-\u9fff])")
_SMILEY = re.compile(r"[:;]-?[)(dp](?!\w)|\^\^")
_LONG_LETTERS = re.compile(r"([a-z])\1{2,}")
_LONG_GREETING = re.compile(r"\b(?:(h)e+(y+)|(h)(i)i+|(hell)(o)o+|(y)(o)o+|(su)(p)p+)\b")
_HALF_DAY = re.compile(r"(?<=[\d ])([ap])\.m\b\.?")
_END = re.compile(r"[,;!?~…、。()]+|\.+(?!\d)|:(?!\d)|(?<!\d):| [-–—]+ ")
_QUESTION = re.compile(
    r"^(?:(?:and|but|so|then|or|also) )*(?:who|whose|what|when|where|why|which|how|is|are|am|was|were|do|does|"
    r"did|can|"
    r"could|should|would|will|may|has|have)\b|什么|啥|谁|哪|几|多少|怎|为何|如何|吗|呢|是否|不是|能不能|"
    r"可不可以|是不是"
)
_REQUEST = re.compile(
    r"\b(?:need|want|wanna|like|love|please|let|help|tell|give|gimme|show|draw|make|find|get|write|draft|compose|"
    r"translate|summari[sz]e|explain|describe|list|suggest|recommend|create|send|remind|compare|said|says|asked|"
    r"story|"
    r"poem|film|movie|homework)\b|要|想|请|帮|给|写|译|总结|概括|解释|推荐|说|画|做|讲|算|查|找|告诉"
)
# Words that no question is about.
_COMMON = """
a an the and or but so if as at by for from in into of on to with about than then that this these those there here
it its i me my mine we us our you your yours he do does is are am be been was will would can could may might should
shall must have has had not no yes yeah ok okay well now right just also only even still again already really
actually exactly quickly quick maybe perhaps possible possibly somehow some any all more most much many few bit lot
kind kinds sort sorts type types please pls plz thanks thank thx ty cheers sorry excuse hi hello hey hiya oh um hmm
btw what which who how where when whats hows im id don dont doesn doesnt isn ive youre tell let show give gimme get
got want wanna need like love know see say telling share provide remind inform information gotta going wish wanting
needing wondering wonder curious mind happen happy kindly sir madam mate dude buddy friend very too one other else
out up question t s re m ve d ll u ur r
请问 请您 请你 请 麻烦 劳驾 您好 你好 你 您 我们 我 他 它 这个 这里 这边 这 那个 那么 那 是不是 是否 是 的 地 得 了
啦 啊 呀 呢 吗 嘛 吧 呗 哦 喔 诶 哎 哟 吖 都 也 还 就 再 又 很 想 要 想要 能不能 可不可以 能否 可以 能 会 该 应该
需要 有没有 有 没 一下 下 一个 个 一些 些 点 一点 一 几个 几 给 帮忙 帮 替 为 让 把 将 被 跟 和 与 或 在 到 从 用
对 谢谢 多谢 感谢 拜托 好 好的 行 问 告诉 说 讲 知道 什么 啥 哪些 哪个 哪 怎么样 怎么办 怎么 怎样 咋 如何 多少 才能
才 现在 目前 其实 到底 究竟 具体 大概 所有 各种 其他 别的 自己 自己的
"""


def split_clauses(message: str) -> list[str]:
    """Return the clauses of a message in lower case, without marks; none if it is long or shows a pasted text."""
    text = message.strip()
    if len(text) > MAX_LENGTH:
        return []
    text = unicodedata.normalize("NFKC", text).replace("’", "'").lower()
    text = _LONG_LETTERS.sub(r"\1", _SMILEY.sub(",", text))
    text = _LONG_GREETING.sub(_shorten_greeting, text)
    if len(text) > MAX_LENGTH or _PASTED.search(text):
        return []
    text = _HALF_DAY.sub(r"\1m", _HAN_SPACE.sub("", " ".join(text.split())))
    return [clause for part in _END.split(text) if (clause := part.strip(" '-:."))]


def _shorten_greeting(match: re.Match[str]) -> str:
    """Return `hey` for `heyy`: a doubled letter alone may be right in other words."""
    return "hey" if match[1] else "".join(filter(None, match.groups()))


def is_chinese(text: str) -> bool:
    return _HAN.search(text) is not None


def is_question(clause: str) -> bool:
    return _QUESTION.search(clause) is not None


def is_statement(clause: str) -> bool:
    """Tell whether a clause only says how things are: it asks nothing and wants nothing."""
    return not is_question(clause) and not _REQUEST.search(clause)


class Vocabulary:
    """The words of one intent, English words and Chinese parts, on top of the common ones."""

    def __init__(self, words: str, *, with_common: bool = True) -> None:
        self.words = (*words.split(), *(_COMMON.split() if with_common else ()))

    @functools.cached_property
    def pattern(self) -> re.Pattern[str]:
        """Compiled with the first question: start-up does not pay for it."""
        parts = sorted(set(self.words), key=len, reverse=True)
        latin = "|".join(re.escape(part) for part in parts if not is_chinese(part))
        han = "|".join(part for part in parts if is_chinese(part)) or "(?!)"
        # ASCII: a Chinese character ends an English word.
        return re.compile(rf"\b(?:{latin})\b|{han}", re.ASCII)

    def find_unknown(self, clause: str) -> list[str]:
        """Return the English words and the Chinese characters that the vocabulary does not cover."""
        return re.findall(r"[\u3400-\u9fff]|[^\W\u3400-\u9fff]+", self.pattern.sub(" ", clause))

    def covers(self, clause: str) -> bool:
        return not self.find_unknown(clause)
