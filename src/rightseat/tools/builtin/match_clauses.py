"""Clauses of a message: what frames a question, what asks, and what makes a computation the wrong answer."""

from __future__ import annotations

import re

MAX_CLAUSES = 12

# A full stop or a comma between digits belongs to a number.
_BREAK = re.compile(r"[?!;:。？！；，：]+|\.(?!\d)|,(?!\d{3}(?!\d))|\n")
# Requests that a number does not answer.
BLOCKERS = re.compile(
    r"\b(?:why|explain|prove|proof|translate|write|wrote|story|poem|essay|summar\w+|recommend\w*|suggest\w*|who|whose|"
    r"where|which|when|code|function|script|excel|spreadsheet|formula|python|javascript|sql|odds|probability|chance|"
    r"chances|usual|usually|normal|typical|typically|average person|good|bad|expensive|cheap|enough|afford|worth it|"
    r"all but|except|unless|not|never|sequence|comes next|pattern|song|called|named|mean|means|best|"
    r"mortgage|compound|interest|meet|machines?|workers?|dog years|twice as|times as|half as|respectively|remind|"
    r"book a|reserve|order number|add to (?:my )?cart|tell me about|describe|draw|chart|plot|"
    r"i think|wrong|correct|true|really|should (?:i|we|he|she|they) (?:leave|buy|cook|name|eat|wear|do))\b|"
    r"为什么|解释|证明|翻译|写|故事|作文|总结|推荐|建议|什么意思|谁|哪|代码|函数|公式|概率|几率|通常|一般|贵吗|"
    r"贵不贵|够吗|够不够|"
    r"好吗|快吗|慢吗|热吗|冷吗|值得|值不值|对吗|除了|各有|各是|分别|鸡兔|几点|什么时候|怎么|应该[^找付给]|一样|做完|"
    r"规律|下一个"
)  # fmt: skip
_YES_OR_NO = re.compile(r"(?:^|; )(?:is|are|am|was|does|do|did|has|have|can|may|will) (?!you\b)[a-z]")
_PLEASANTRIES = re.compile(
    r"(?:hi|hello|hey|hiya|yo|ok|okay|so|um+|uh+|er+|well|right|please|pls|plz|thanks|thank you|thx|cheers|there|again|"
    r"good (?:morning|afternoon|evening)|sorry|excuse me|quick question|just a quick one|quick one|got a question|"
    r"(?:i have|i've got|here's) a (?:quick |short |simple )?(?:question|problem)(?: for you)?|"
    r"(?:can|could|would) you help(?: me)?(?: out)?(?: with (?:something|some math|a sum|math|my homework|this))?|"
    r"help(?: me)?|i need (?:some )?help(?: with .{0,30})?|in a hurry|i'm in a hurry(?: -)?|let me see|you there|"
    r"math question|a sum|maths|for me|if you can|if you don't mind|in advance|are you there|anyone there|"
    r"你好|您好|在吗|请问|谢谢|麻烦(?:你|您)?(?:了)?|打扰了?|不好意思|问一下|问个问题|请教一下|哈喽|嗨|早上好|"
    r"晚上好|下午好|"
    r"帮我?(?:个忙|算个数|算一下|算算|看看)|请帮忙?(?:算一下|算算)?|帮忙(?:算一下|算算)?|算一下|拜托|多谢|辛苦了)"
)
_OPENING = re.compile(
    r"^(?:(?:hi|hello|hey|ok|okay|so|um|uh|er|well|and|please|pls|now|then|btw|just|also|like|there|a|quick question|"
    r"(?:can|could|would|will) (?:you|u|i|someone)|(?:do|would) you (?:happen to )?know|you know|any idea|tell me|"
    r"let me know|figure out|work out|calculate|compute|help me(?: to)?|i (?:want|need|would like|have) to|"
    r"i'd like to|i wanna|i want|know|find out|give me|convert|you|in a hurry|i'm|-|be so (?:kind|good|"
    r"nice) (?:as )?to|be able to|"
    r"i was wondering|i wonder|wondering|say|suppose(?: that)?|assume(?: that)?)(?![\w'])[\s,-]*)+"
)
_OPENING_HAN = re.compile(
    r"^(?:请问一下|请问|请你?|麻烦你?|你好|您好|帮我|帮忙|给我|能不能|可以|能否|我想知道|我想问|我想|告诉我|那么|那|"
    r"算一下|算算|算下|算个|"
    r"计算一下|计算|算|求|一下|看看|如果|假如|假设|比如)+"
)


def split_clauses(text: str) -> list[str]:
    """Return the clauses of a message in lower case, without those that are mere politeness."""
    clauses = [clause.strip(" -~.\t\"'") for clause in _BREAK.split(text)]
    return [clause for clause in clauses if clause and not is_pleasantry(clause)]


def is_pleasantry(clause: str) -> bool:
    """Whether a short clause has nothing but words of politeness."""
    if len(clause) > 60:
        return False
    rest = _PLEASANTRIES.sub("", clause)
    return not re.search(r"\w", rest)


def strip_opening(clause: str) -> str:
    """Return a clause without the words that only introduce a question."""
    return _OPENING_HAN.sub("", _OPENING.sub("", clause)).strip()


def is_blocked(text: str) -> bool:
    """Whether the message asks for something that no calculation answers."""
    return bool(BLOCKERS.search(text) or _YES_OR_NO.search(text))
