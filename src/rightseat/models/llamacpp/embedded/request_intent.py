"""What a request asks for: an action, a text to write, an answer from context; and whether a call's arguments
stand in it."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterable
from decimal import Decimal, InvalidOperation
from typing import Any

from msgspec.structs import replace

from rightseat.types.chunks import ModelChunk, ToolCallArgs, ToolCallStart
from rightseat.types.language import detect_language
from rightseat.types.messages import CONTEXT_HEADING, DATE_LABEL, Message, TextMessagePart
from rightseat.types.model import Prompt, ToolSpec
from rightseat.types.text import decode_or_none

# Begin of the note of guardrails that fence the results of tools.
FENCE_NOTE = "Between <untrusted ID>"
_ACTION = re.compile(
    r"^\W*(?:please |kindly |hey |can you |could you |would you |will you |i want you to |i need you to |go and )*"
    r"(?:send|order|buy|call|phone|text|play|turn|switch|delete|remove|remind|schedule|cancel|open|close|download|"
    r"upload|"
    r"book|reserve|pay|transfer|post|tweet|install|start|stop|restart|deploy|set (?:an? |the )?(?:alarm|timer|"
    r"reminder)|"
    r"email (?!template|draft)|search the web|google|browse)\b|"
    r"^(?:请|帮我|麻烦|请你|请帮我|帮忙|给我)*(?:发送|发一?封|发邮件|订购|下单|购买|买|打电话|播放|打开|关闭|删除|"
    r"提醒|取消|下载|上传|预订|订(?!阅)|支付|转账|设置?(?:闹钟|提醒)|定个?闹钟)",
    re.IGNORECASE,
)
_WRITING = re.compile(
    r"^\W*(?:please |can you |could you |i need (?:you to )?|help me )*(?:to )?(?:write|compose|draft|summari[sz]e|"
    r"rewrite|rephrase|"
    r"paraphrase|give me an? (?:slogan|title|name|idea)|suggest|translate)\b|\bslogan\b|\bhaiku\b|\bpoem\b|翻译|写一",
    re.IGNORECASE,
)
_ENGLISH_WISHED = re.compile(r"(?:翻译|译)(?:成|为|到)?英|用英(?:文|语)")
_QUESTION = re.compile(
    r"^(?:what|who|whose|when|where|why|which|how|is|are|was|were|does|do|did|can|could|should)\b|什么|谁|哪|几|多少|"
    r"怎么|为何|如何|吗$",
    re.IGNORECASE,
)
_SLANG_WORDS = {
    "wat": "what",
    "wut": "what",
    "wats": "what's",
    "whats": "what's",
    "hows": "how's",
    "rn": "right now",
    "plz": "please",
    "pls": "please",
    "u": "you",
    "ur": "your",
    "r": "are",
    "ya": "you",
    "youre": "you're",
    "lemme": "let me",
}
_SLANG = re.compile(rf"\b(?:{'|'.join(_SLANG_WORDS)})\b", re.IGNORECASE)
_GENERIC = re.compile(
    r"^\W*you are (?:a |an )?(?:very )?(?:helpful|friendly|useful)?,? ?(?:ai )?assistant\W*$", re.IGNORECASE
)
_NUMBER_WORDS = dict(
    re.findall(
        r"(\S+)=(\d+)",
        """one=1 single=1 alone=1 myself=1 two=2 couple=2 both=2 twice=2 pair=2 second=2 girlfriend=2
        boyfriend=2 wife=2 husband=2 partner=2 three=3 third=3 four=4 fourth=4 five=5 fifth=5 six=6 sixth=6
        seven=7 seventh=7 eight=8 eighth=8 nine=9 ninth=9 ten=10 tenth=10 eleven=11 twelve=12 dozen=12
        thirteen=13 fourteen=14 fifteen=15 half=30 quarter=15 sixteen=16 seventeen=17 eighteen=18
        nineteen=19 twenty=20 thirty=30 forty=40 fifty=50 zero=0 零=0 二=2 两=2 俩=2 双=2 三=3 仨=3 四=4 五=5 六=6 七=7
        八=8 九=9 十=10""",
    )
)
_ONE_ZH = re.compile(r"一(?=[人位次份天小分周月年页点号台])|一个人|第一")
_COMPOSED = re.compile(r"\b(?:hundred|thousand|million|billion|sixty|seventy|eighty|ninety)\b|[十百千万亿]")
_TIME_WORDS = re.compile(
    r"\b(?:today|tomorrow|yesterday|tonight|week|month|year|hour|minute|day|noon|midnight|now|quarter|half)|"
    r"今天|明天|昨天|今晚|周|星期|月|年|点|小时|分钟|半|现在"
)
_TIME_KEY = re.compile(r"day|hour|min|sec|week|month|year|date|time|duration|period|天|时|分|秒|周|月|年|日")


def find_context(systems: Iterable[str]) -> str:
    """Return the application's context of the system messages, without its heading and the date, which answers no
    question about data."""
    found = [system.partition(CONTEXT_HEADING)[2] for system in systems if CONTEXT_HEADING in system]
    lines = "\n".join(found).strip().split("\n")
    return "\n".join(line for line in lines if not line.startswith(f"- {DATE_LABEL}:")).strip()


def has_own_voice(systems: Iterable[str]) -> bool:
    """Tell whether a system message says how the assistant is to speak: any but the usual one and the context."""
    texts = (system.partition(CONTEXT_HEADING)[0].strip() for system in systems)
    return any(text and not _GENERIC.fullmatch(text) and not text.startswith(FENCE_NOTE) for text in texts)


def with_final_mark(prompt: Prompt) -> Prompt:
    """Return the prompt with a question mark where the person left it out: the adapter knows questions by it."""
    *before, last = prompt.messages
    text = last.text.strip()
    if not text or not text[-1].isalnum() or not _QUESTION.search(text) or len(last.parts) != 1:
        return prompt
    marked = text + "？" if detect_language(text) == "zh" else text[0].upper() + text[1:] + "?"
    return replace(prompt, messages=(*before, replace(last, parts=(TextMessagePart(marked),))))


def correct_slang(question: str) -> str:
    """Return the question with the short forms of chats written out, as the rules know them."""
    return _SLANG.sub(lambda match: _SLANG_WORDS[match[0].lower()], question)


def wants_action(question: str) -> bool:
    return bool(_ACTION.search(question))


def wants_writing(question: str) -> bool:
    return bool(_WRITING.search(question))


def wants_english(question: str) -> bool:
    return bool(_ENGLISH_WISHED.search(question))


def read_calls(chunks: Iterable[ModelChunk]) -> list[tuple[str, str]]:
    """Return name and arguments of each call."""
    names: dict[int, str] = {}
    arguments: dict[int, str] = {}
    for chunk in chunks:
        if isinstance(chunk, ToolCallStart):
            names[chunk.index] = chunk.name
        elif isinstance(chunk, ToolCallArgs):
            arguments[chunk.index] = arguments.get(chunk.index, "") + chunk.json
    return [(name, arguments.get(index, "{}")) for index, name in names.items()]


def repeats_call(chunks: Iterable[ModelChunk], messages: Iterable[Message]) -> bool:
    """Tell whether a call was made before with the same arguments since the person's last message."""
    before: set[tuple[str, str]] = set()
    for message in messages:
        before = set() if message.role == "user" else before
        before |= {(call.name, _canonical(call.arguments)) for call in message.calls}
    return any((name, _canonical(arguments)) in before for name, arguments in read_calls(chunks))


def _canonical(arguments: str) -> str:
    return json.dumps(decode_or_none(arguments), sort_keys=True)


def find_ungrounded_argument(chunks: Iterable[ModelChunk], prompt: Prompt, tools: tuple[ToolSpec, ...]) -> str | None:
    """Return a required number of a call that the conversation does not hold, by its description or name."""
    text = unicodedata.normalize("NFKC", "\n".join(message.text for message in prompt.messages)).lower()
    specs = {tool.name: tool.parameters for tool in tools}
    for name, arguments in read_calls(chunks):
        schema = specs.get(name, {})
        properties: dict[str, Any] = schema.get("properties") or {}
        values = decode_or_none(arguments)
        required = schema.get("required")
        for key in required if isinstance(required, list) else ():
            value = values.get(key) if isinstance(values, dict) else None
            if isinstance(value, int | float) and not isinstance(value, bool) and not _holds_number(text, value, key):
                described = properties.get(key)
                title = described.get("title") if isinstance(described, dict) else None
                return str(title or key).replace("_", " ").lower()
    return None


def _holds_number(text: str, value: float, key: str) -> bool:
    """Tell whether the text has the number, in digits or words. A word of time holds any number of a time."""
    try:
        number = abs(Decimal(str(value)))
        known = {Decimal(digits.replace(",", "")) for digits in re.findall(r"\d[\d,]{0,30}(?:\.\d{1,20})?", text)}
    except InvalidOperation:
        return True
    words = [*re.findall(r"[a-z]+", text), *(char for char in text if char > "\u2e7f")]
    return (
        number in known
        or ("%" in text and number * 100 in known)
        or any(_NUMBER_WORDS.get(word) == str(value) for word in words)
        or (value == 1 and _ONE_ZH.search(text) is not None)
        or (number > 10 and _COMPOSED.search(text) is not None)
        or (_TIME_KEY.search(key.lower()) is not None and _TIME_WORDS.search(text) is not None)
    )
