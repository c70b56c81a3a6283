"""Action words in English and Chinese: whether a few words name the very action that a question asks about.

"Book it" names the action of "Allow book_table with …?", and "cancel it" does not. The action of a question is what its
words begin with; one with a negation, with two actions or with a choice has none.
"""

from __future__ import annotations

import re
import unicodedata

# Each line is one action. A word may stand in two of them.
ACTIONS = """
book reserve 订 预订 预定 訂 預訂
order buy purchase 订 订购 下单 买 购买 訂
send mail email 发 发送 发出 寄 寄出
cancel 取消
delete remove erase 删 删除 删掉 移除
pay 付 付款 支付
create add make 创建 新建 添加 增加
change update edit modify 改 修改 更改 更新 编辑
move transfer 转 移动 转账
start restart launch 启动 重启
stop end close 停止 结束 关闭
post publish share 发布 分享
save store 保存 存
return refund 退 退货 退款
archive 归档
ship deliver 发货 送
install 安装
reset 重置
"""
# Words that also name things, as "order" and "book" do in "cancel_order".
THINGS = ("mail", "email", "post", "store", "share")
# What a question may begin with before its action. The tools of the demo begin with "demo".
QUESTION_LEADS = """
allow the step demo a an shall should may can could i we do you want would like me us to really please now
请 问 是 否 允 许 执 行 要 确 定 认 需 可 以 现 在 我 您 你 帮 为
"""
# A question with one of these is not about one plain action.
NOT_PLAIN = "not no nor never without don't and or then instead 不 别 没 勿 和 或 并 再 然"
# Tools may have such names; in a reply these words put it off.
DELAYS = "wait hold check think maybe ask is if only first later pause 等"
# What may stand beside the action in a reply.
FILL_WORDS = "it this that them the a an my please pls now just for me us let's go ahead and"
CHINESE_LEADS = ("那就", "那", "请", "帮我", "给我", "马上", "现在", "麻烦")
CHINESE_ENDS = ("吧", "啊", "呀", "它", "这个", "一下")

_QUESTION_LEADS, _NOT_PLAIN, _DELAYS, _FILL_WORDS = (
    frozenset(words.split()) for words in (QUESTION_LEADS, NOT_PLAIN, DELAYS, FILL_WORDS)
)
# What comes before in a tool's name says where it is from.
_TOOL_SOURCE = re.compile(r"^(Allow|是否允许执行) [^\s，]*(?:__|[.:/])(?=\w+(?: with|，参数为) ?$)")
_HUMP = re.compile(r"(?<=[a-z])(?=[A-Z])")
_WORD = re.compile(r"[a-z]+(?:'[a-z]+)*|[\u4e00-\u9fff]")
_HAN = re.compile(r"[\u4e00-\u9fff]")
Words = tuple[str, ...]


def read_actions() -> dict[str, frozenset[int]]:
    numbers: dict[str, frozenset[int]] = {}
    for number, line in enumerate(ACTIONS.strip().splitlines()):
        for word in line.split():
            numbers[word] = numbers.get(word, frozenset()) | {number}
    return numbers


_ACTIONS = read_actions()
_THING_ACTIONS = _ACTIONS["book"] | _ACTIONS["order"]


def find_action(question: str) -> Words:
    """Return the words of a question from its action on; none where it does not ask about one action. Arguments do not
    count."""
    head = _TOOL_SOURCE.sub(r"\1 ", question.split("{", 1)[0])
    words = _WORD.findall(unicodedata.normalize("NFKC", _HUMP.sub(" ", head)).lower())
    names_tool = words[:1] == ["allow"] or words[:4] == ["是", "否", "允", "许"]
    if _NOT_PLAIN.intersection(words):
        return ()
    while words and words[0] in _QUESTION_LEADS:
        words.pop(0)
    text = "".join(words)
    if words and _HAN.match(words[0]):
        verb = max((word for word in _ACTIONS if _HAN.match(word) and text.startswith(word)), key=len, default="")
        words = [verb, *words[len(verb) :]] if verb else []
    is_action = bool(words) and words[0] not in _DELAYS and (names_tool or words[0] in _ACTIONS)
    return tuple(words) if is_action and not _has_other_action(words) else ()


def _has_other_action(words: list[str]) -> bool:
    rest = words[1:]
    said = (word for word in _ACTIONS if (word in "".join(rest) if _HAN.match(word) else word in rest))
    return any(
        word not in THINGS and not _ACTIONS[word] & _THING_ACTIONS and not _names_same(word, words[0]) for word in said
    )


def _names_same(word: str, other: str) -> bool:
    return word == other or bool(_ACTIONS.get(word, frozenset()) & _ACTIONS.get(other, frozenset()))


def names_action(tokens: Words, action: Words) -> bool:
    """Whether the words consist of the action alone: "book it", "book the table", "订吧"."""
    if not action:
        return False
    if any(_HAN.match(token) for token in tokens):
        said: tuple[str, ...] = (_strip_chinese("".join(tokens)),)
    else:
        said = tuple(token for token in tokens if token not in _FILL_WORDS)
    if not said or len(said) > len(action) or not said[0]:
        return False
    if said[0] == "".join(action):
        return True
    return all(_names_same(word, other) for word, other in zip(said, action, strict=False))


def _strip_chinese(text: str) -> str:
    for lead in CHINESE_LEADS:
        text = text.removeprefix(lead)
    for end in CHINESE_ENDS:
        text = text.removesuffix(end)
    return text
