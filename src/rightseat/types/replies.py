"""Replies of people in English and Chinese: yes, no, a decline, and words that ask for nothing.

The only list of such words. A yes counts only if it consists of listed phrases and of words that name the action in
question: a condition, a change, a doubt or a question has another word, and then the reply is neither a yes nor a no.
What follows a plain no may be any reason.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Literal

from rightseat.types.action_words import find_action, names_action

PhraseKind = Literal["yes", "weak_yes", "no", "negation", "neutral", "doubt", "chat"]

# Plain approvals.
YES = """
yes | y | yep | yup | yeah | yea | aye | yes sir | yes ma'am | yes i do | yes i am | yes it is | yes you can
yes you may | sure | sure thing | surely | of course | certainly | absolutely | definitely | indeed | by all means
with pleasure | gladly | approve | approved | i approve | approve it | approve that | confirm | confirmed
i confirm | confirm it | confirm that | allow | allowed | allow it | allow that | i allow it | permit it | accept
accepted | i accept | accept it | agree | agreed | i agree | permission granted | granted | go ahead | go on
go for it | go on then | go ahead then | go ahead with it | go ahead with that | go ahead and do it | proceed
please proceed | continue | please continue | carry on | do it | do that | do this | do so | do go ahead | please do
please do it | just do it | perform it | make it so | that's fine | that is fine | that's ok | that is ok
that's okay | that is okay | that's good | that's right | that is right | that's correct | that is correct
it's fine | it's ok | it is ok | it's okay | it is okay | it is fine | fine by me | fine with me | ok with me
okay with me | ok by me | good to go | you can | you may | you can do it | you may do it | you can go ahead
you may go ahead | you may proceed | you can proceed | you have my approval | you have my permission | i want it
i want that | i want this | i do | i'm sure | i am sure | correct | affirmative | let's go | let's do it
let's do that | lgtm | sounds good | looks good | works for me | that works for me | 👍 | 👌 | ✅ | ✔ | 🆗
是 | 是的 | 对 | 对的 | 對 | 没错 | 正确 | 可以 | 可以的 | 可以执行 | 可以继续 | 当然 | 当然可以 | 当然了 | 同意
我同意 | 同意了 | 同意执行 | 批准执行 | 完全同意 | 确认 | 我确认 | 确认了 | 确认执行 | 確認 | 确定 | 我确定
确定执行 | 確定 | 批准 | 我批准 | 批准了 | 允许 | 我允许 | 允许执行 | 允許 | 准许 | 准了 | 许可 | 授权 | 通过 | 继续
请继续 | 继续吧 | 继续做 | 继续执行 | 繼續 | 繼續吧 | 接着做 | 进行 | 做 | 做吧 | 去做吧 | 去吧 | 来吧 | 就这么办
就这么办吧 | 就这样办 | 就这样办吧 | 就这么做 | 就这么做吧 | 就这样做 | 就这样做吧 | 照做 | 照做吧 | 照办 | 照办吧
没问题 | 没有问题 | 沒問題 | 办吧 | 去办吧 | 必须的 | 肯定的 | 要 | 要的 | 我要 | 需要 | 愿意 | 我愿意
"""
# Approvals that also ask for a run where no question is open.
COMMANDS = """
go | run | run it | run that | run this | please run it | execute | execute it | start | start it | run it again
do it again | run that again
执行 | 执行吧 | 执行它 | 请执行 | 去执行 | 执行一下 | 开始 | 开始吧 | 开始执行 | 开始执行吧 | 运行 | 运行吧 | 运行它
再执行一次 | 再做一次 | 再来一次 | 再运行一次 | 重新执行 | 重新运行 | 執行 | 執行吧 | 請執行
"""
# Words that approve by themselves, and only lead over to what follows otherwise: "ok, cancel it".
WEAK_YES = """
ok | okay | okey | okie | k | kk | alright | all right | fine | very well | ok then | okay then | all right then
alright then | fine then
好 | 好的 | 好吧 | 好嘞 | 好咧 | 好滴 | 好哒 | 行 | 行的 | 行吧 | 成 | 那好 | 那好吧 | 那行 | 那行吧 | 嗯 | 嗯嗯
恩
"""
NO = """
no | n | nope | nah | nay | no way | no go | no don't | no do not | no never | deny | denied | deny it | i deny
reject | rejected | reject it | reject that | i reject it | refuse | refused | i refuse | decline | declined
i decline | disagree | i disagree | disapprove | i disapprove | disallow | forbid | of course not | certainly not
absolutely not | definitely not | surely not | sure not | by no means | not at all | not now | not today | not yet
not this time | not ok | not okay | not fine | not good | not allowed | not approved | i don't want it
i don't want that | i do not want it | i do not want that | i don't want to | i do not want to | i'd rather not
i would rather not | rather not | better not | negative | cancel | cancel it | cancel that | cancel this | abort
abort it | abort that | stop | stop it | stop that | stop this | never mind | nevermind | forget it | forget that
forget about it | drop it | leave it | leave it alone | skip it | scrap that | no need | no need to | not needed
not necessary | 👎 | ❌ | ✖ | 🚫 | ⛔
不是 | 不是的 | 不行 | 不可以 | 不好 | 不了 | 不用了 | 不必了 | 不需要了 | 不要了 | 不同意 | 我不同意 | 不允许
不批准 | 不愿意 | 不成 | 不可 | 否 | 我拒绝 | 驳回 | 我反对 | 取消吧 | 取消它 | 取消这个 | 取消操作 | 停 | 停下
停下来 | 停止吧 | 算了 | 算了吧 | 免了 | 没必要 | 没有必要 | 不对 | 当然不 | 当然不行 | 当然不可以 | 绝不 | 绝对不行
肯定不行 | 先不了 | 暂时不了 | 没门 | 拒絕 | 不對
"""
# They refuse by themselves, and turn an approval that follows in the same clause into a refusal: "don't do it".
NEGATION = """
don't | do not | dont | never | must not | mustn't | you may not | you can't | you cannot | you can not
you must not | let's not | please don't | please do not | i don't | i do not
不 | 不要 | 别 | 勿 | 先不要 | 先别 | 先不 | 暂时不要 | 暂时别 | 暂不 | 暂时不 | 不用 | 不必 | 不需要 | 无需 | 不能
不想 | 我不想 | 不再 | 禁止 | 不得 | 我不要 | 我不 | 千万别 | 千万不要 | 不准 | 不许 | 取消 | 停止 | 终止 | 中止
拒绝 | 放弃 | 反对
"""
# Neither a yes nor a no, and without effect on the rest.
NEUTRAL = """
please | pls | plz | thanks | thank you | thx | ty | cheers | thanks a lot | thank you very much | many thanks
thanks so much | thank you so much | much appreciated | now | right now | right away | at once | immediately | just
do | so | oh | ah | hi | hello | hey | sir | dear | no problem | no worries | for me | my friend | right
and thanks | and thank you | great | perfect | excellent | wonderful | good | cool | nice | awesome | super | got it
i see | understood | 🙏 | 😊 | 🙂 | 😀 | 😄 | ❤
请 | 請 | 麻烦 | 麻烦了 | 麻烦你 | 麻烦您 | 劳驾 | 谢谢 | 谢谢你 | 谢谢您 | 谢谢了 | 謝謝 | 多谢 | 感谢 | 非常感谢
辛苦了 | 辛苦 | 啊 | 呀 | 哦 | 噢 | 哈 | 的 | 那 | 那就 | 现在 | 马上 | 立刻 | 立即 | 帮我 | 明白 | 明白了 | 知道了
收到 | 很好 | 太好了 | 挺好 | 那就好
"""
# Said of something else than the question, or not meant. They make a reply neither a yes nor a no.
DOUBT = """
yeah right | yeah sure | please confirm
不确定 | 不肯定 | 不確定 | 我不确定 | 我不肯定 | 是吧 | 对吧 | 可以吧 | 确定吧 | 对了 | 就是 | 请确认 | 请确定
请批准 | 请允许 | 请同意
"""
# With the kinds above they make up what people say when nothing is left to do.
CHAT = """
amazing | brilliant | lovely | fantastic | neat | sweet | well done | good job | great job | great work | nice work
good work | that's all | that is all | that's it | that will be all | that'll be all | nothing else | nothing more
done | all done | all good | i'm done | we're done | bye | goodbye | bye bye | see you | see you later | good night
have a nice day | have a good day | you too | same to you | i understand | noted | wow | haha | lol | that helps
that helped | very helpful | it works | it worked | works | that was great | that's great | that is great
that's perfect | that's nice | very good | very nice | so nice | 🎉 | 😁 | 🥳
我知道了 | 我明白了 | 懂了 | 了解 | 了解了 | 不错 | 真不错 | 真好 | 真棒 | 太棒了 | 棒 | 厉害 | 漂亮 | 完美 | 非常好
没事了 | 没有了 | 没了 | 就这样 | 就这样吧 | 就这些 | 先这样 | 先这样吧 | 再见 | 拜拜 | 晚安 | 回头见 | 不客气
原来如此 | 哈哈 | 哈哈哈 | 很有帮助 | 搞定 | 完成了 | 做得好 | 干得好 | 干得漂亮 | 好了 | 行了 | 可以了 | 够了
好啦 | 行啦 | 了
"""
# They ask for another run, and approve nothing by themselves.
REPEATS = "again | once more | one more time | 再来 | 再一次"
# They refuse a question that is open. Where none is, they ask to undo what was done, and a tool may do that.
CANCELS = """
cancel | cancel it | cancel that | cancel this | abort | abort it | abort that | stop | stop it | stop that | stop this
取消 | 取消吧 | 取消它 | 取消这个 | 取消操作 | 停 | 停下 | 停下来 | 停止 | 停止吧 | 终止 | 中止
"""
# After a no they take it back, or put it off.
RESERVATIONS = "wait | hold on | if | unless | or | 等等 | 等一下 | 稍等 | 如果 | 除非 | 要是 | 的话"
# They end a form. A bare "no" does not: it may be a value of the form.
DECLINES = """
cancel | cancel it | cancel that | cancel this | abort | abort it | abort that | never mind | nevermind | forget it
forget that | forget about it | drop it
取消 | 取消吧 | 取消它 | 取消这个 | 取消操作 | 算了 | 算了吧 | 不用了 | 不必了 | 不需要了 | 不要了 | 放弃
"""

MAX_REPLY_LENGTH = 120
_CLAUSE_END = re.compile(r'[,.!;:~\-—–、。\n\r\t"“”()*_`]+|(?<=[\u4e00-\u9fff])[ ]+|[ ]+(?=[\u4e00-\u9fff])')
_TOKEN = re.compile(r"[a-z]+(?:'[a-z]+)*|[^\s']")
_HAN = re.compile(r"[\u4e00-\u9fff]")
_QUESTION = re.compile(r"[?？]")
# Three dots hesitate, and two tildes strike through.
_HESITATION = re.compile(r"\.\.|。。|~~")
_STRETCHED = re.compile(r"([a-z])\1{2,}")
# An emoji may have a variation selector and a skin tone.
_EMOJI_MODIFIERS = re.compile("[\ufe0e\ufe0f\U0001f3fb-\U0001f3ff]")
Tokens = tuple[str, ...]


class Phrase:
    """A listed phrase as it stands in a reply."""

    __slots__ = ("kind", "tokens")

    def __init__(self, kind: PhraseKind, tokens: Tokens) -> None:
        self.kind = kind
        self.tokens = tokens


def split_tokens(text: str) -> Tokens:
    """Split a text into English words, Chinese characters and other signs."""
    return tuple(_TOKEN.findall(text))


def read_phrases(listing: str) -> list[Tokens]:
    return [split_tokens(phrase) for line in listing.strip().splitlines() for phrase in line.split("|")]


# A phrase that stands in two lists has the kind of the later one.
_LISTS: tuple[tuple[PhraseKind, str], ...] = (
    ("chat", CHAT),
    ("neutral", NEUTRAL),
    ("neutral", REPEATS),
    ("yes", YES),
    ("yes", COMMANDS),
    ("weak_yes", WEAK_YES),
    ("no", NO),
    ("negation", NEGATION),
    ("doubt", DOUBT),
)
PHRASES: dict[Tokens, PhraseKind] = {phrase: kind for kind, listing in _LISTS for phrase in read_phrases(listing)}
_DECLINES = frozenset(read_phrases(DECLINES))
_CANCELS = frozenset(read_phrases(CANCELS))
_COMMANDS = frozenset((*read_phrases(COMMANDS), *read_phrases(REPEATS)))
_RESERVATIONS = tuple(split_tokens(words) for words in RESERVATIONS.split("|"))
_CHINESE_LEADS = (("好", "的"), ("是", "的"))
_BARE_NOES = (("no",), ("nope",), ("nah",))
_LONGEST = max(map(len, PHRASES))
_VALUE = re.compile(r'\s*(?:\{\s*"approved"\s*:\s*(true|false)\s*\}|(true|false))\s*')
"""An approval as JSON text, which pages send that can only send text."""


def parse_consent(text: str, question: str = "") -> bool | None:
    """Return True for a plain yes, False for a plain no, else None. An approval is never guessed. After a yes, words
    may name the action of the `question`: "yes, book it"."""
    if value := _VALUE.fullmatch(text):
        return "true" in value.groups()
    clauses = split_words(text)
    if clauses is None:
        return None
    action = find_action(question)
    verdicts: list[PhraseKind | None] = []
    for tokens in clauses:
        verdicts.append(judge_words(tokens, action, verdicts))
    if None in verdicts:
        return False if is_no_with_reason(clauses, verdicts, action) else None
    return combine_verdicts(verdicts, text)


def combine_verdicts(verdicts: list[PhraseKind | None], text: str) -> bool | None:
    """Return what the clauses of a text say together."""
    if "doubt" in verdicts:
        return None
    said = [verdict for verdict in verdicts if verdict != "neutral"]
    if said and set(said) <= {"yes", "weak_yes"}:
        return None if _HESITATION.search(unicodedata.normalize("NFKC", text)) else True
    # Words such as "ok" before a no only lead over to it.
    while said and said[0] == "weak_yes":
        said.pop(0)
    return False if said and set(said) == {"no"} else None


def judge_words(tokens: Tokens, action: Tokens, before: list[PhraseKind | None]) -> PhraseKind | None:
    """Return what a clause says; None if a part of it is not listed. It may repeat the action after a yes, `before` it
    or in the same clause, and after a negation: "yes book it", "don't book it"."""
    phrases = find_phrases(tokens)
    verdict = None if phrases is None else judge_clause(phrases)
    if not action or verdict in ("yes", "weak_yes", "neutral"):
        return verdict
    lead, rest = split_lead(tokens)
    kinds = [phrase.kind for phrase in lead if phrase.kind != "neutral"]
    if kinds == ["negation"] and names_action(rest, action):
        return "no"
    # "可以就订" is a condition, and "可以订吧" a question.
    is_whole = any(map(_HAN.match, tokens)) and tokens[:2] not in _CHINESE_LEADS
    agreed = [kind for kind in (*before, *(() if is_whole else kinds)) if kind != "neutral"]
    if not agreed or not set(agreed) <= {"yes", "weak_yes"}:
        return verdict
    if not names_action(tokens if is_whole else rest, action):
        return verdict
    # "Ok, cancel it" may also be a no to a question about a cancellation.
    return "yes" if verdict is None or "yes" in agreed else "doubt"


def split_lead(tokens: Tokens) -> tuple[list[Phrase], Tokens]:
    """Split a clause after the approvals, or after the negation, that it begins with."""
    lead: list[Phrase] = []
    while tokens:
        phrase = find_first_phrase(tokens)
        kinds = {phrase.kind for phrase in lead}
        if phrase is None or phrase.kind not in ("yes", "weak_yes", "neutral", "negation") or "negation" in kinds:
            break
        lead.append(phrase)
        tokens = tokens[len(phrase.tokens) :]
    return lead, tokens


def is_no_with_reason(clauses: list[Tokens], verdicts: list[PhraseKind | None], action: Tokens) -> bool:
    """Whether the clauses are a plain no and a reason, which has no word of approval: "nope, I changed my mind"."""
    first = next((number for number, verdict in enumerate(verdicts) if verdict not in ("neutral", "weak_yes")), 0)
    lead = find_first_phrase(clauses[first])
    if lead is None or lead.tokens in _CANCELS:
        return False
    rest = clauses[first + 1 :]
    if verdicts[first] is None:
        # Without a comma, "no" may belong to the next word: "no objection".
        reason = clauses[first][len(lead.tokens) :]
        if lead.tokens not in _BARE_NOES or reason[0] not in ("i", "we", "leave"):
            return False
        rest = [reason, *rest]
    elif verdicts[first] != "no":
        return False
    allowed = {"no", "negation", "neutral", "chat"}
    return "doubt" not in verdicts and all(
        not names_action(tokens, action) and {phrase.kind for phrase in scan_phrases(tokens)} <= allowed
        for tokens in rest
    )


def scan_phrases(tokens: Tokens) -> list[Phrase]:
    """Return the listed phrases among the words, and doubts for those that take a no back."""
    found = []
    while tokens:
        reserved = any(tokens[: len(words)] == words for words in _RESERVATIONS)
        phrase = Phrase("doubt", tokens[:1]) if reserved else find_first_phrase(tokens)
        found += [phrase] if phrase else []
        tokens = tokens[len(phrase.tokens) if phrase else 1 :]
    return found


def is_decline(text: str) -> bool:
    """Whether the person declines to answer at all. A bare "no" does not: it may be an answer."""
    phrases = list_phrases(text)
    said = [phrase.tokens for phrase in phrases if phrase.kind != "neutral"]
    has_thanks = any("thank" in word or word in ("thx", "谢") for phrase in phrases for word in phrase.tokens)
    if has_thanks and said and {PHRASES[tokens] for tokens in said} <= {"no", "negation"}:
        return True
    declines = [tokens for tokens in said if tokens != ("no",)]
    return bool(declines) and all(tokens in _DECLINES for tokens in declines)


def asks_nothing(text: str) -> bool:
    """Whether the words ask for nothing: thanks, praise, a yes or a no, a goodbye."""
    phrases = list_phrases(text)
    has_command = any(phrase.tokens in _COMMANDS for phrase in phrases)
    is_refused = has_command and parse_consent(text) is False
    return bool(phrases) and (is_refused or not has_command) and all(phrase.kind != "doubt" for phrase in phrases)


def asks_to_cancel(text: str) -> bool:
    """Whether the words ask to cancel what is done or under way: "cancel it"."""
    return any(phrase.tokens in _CANCELS for phrase in list_phrases(text))


def is_only_thanks(text: str) -> bool:
    """Whether the words are thanks, praise or a goodbye, and answer no question either."""
    phrases = list_phrases(text)
    return asks_nothing(text) and all(phrase.kind in ("neutral", "chat") for phrase in phrases)


def asks_for_run(text: str) -> bool:
    """Whether the words ask for a run and do not say of what: "again", "run it"."""
    phrases = list_phrases(text)
    has_command = any(phrase.tokens in _COMMANDS for phrase in phrases)
    return has_command and all(phrase.kind in ("yes", "weak_yes", "neutral") for phrase in phrases)


def list_phrases(text: str) -> list[Phrase]:
    """Return all phrases of a text; none where a part of it is not listed."""
    return [phrase for clause in split_clauses(text) or () for phrase in clause]


def split_clauses(text: str) -> list[list[Phrase]] | None:
    """Return the phrases of each clause; None for a question, and for a text with a word that is not listed."""
    clauses = []
    for tokens in split_words(text) or ():
        phrases = find_phrases(tokens)
        if phrases is None:
            return None
        clauses.append(phrases)
    return clauses


def split_words(text: str) -> list[Tokens] | None:
    """Return the words of each clause; None for a question and for a long text."""
    if len(text) > MAX_REPLY_LENGTH:
        return None
    normalized = _EMOJI_MODIFIERS.sub(
        "", unicodedata.normalize("NFKC", text).lower().replace("’", "'").replace("‘", "'")
    )
    if _QUESTION.search(normalized):
        return None
    clauses = map(split_tokens, _CLAUSE_END.split(_STRETCHED.sub(r"\1", normalized)))
    return [tokens for tokens in clauses if tokens]


def find_phrases(tokens: Tokens) -> list[Phrase] | None:
    """Split a clause into listed phrases, the longest first; None if a part of it is not listed."""
    phrases = []
    while tokens:
        phrase = find_first_phrase(tokens)
        if phrase is None:
            return None
        phrases.append(phrase)
        tokens = tokens[len(phrase.tokens) :]
    return phrases


def find_first_phrase(tokens: Tokens) -> Phrase | None:
    """Return the longest listed phrase that the words begin with."""
    ends = range(min(_LONGEST, len(tokens)), 0, -1)
    return next((Phrase(PHRASES[tokens[:end]], tokens[:end]) for end in ends if tokens[:end] in PHRASES), None)


def judge_clause(phrases: list[Phrase]) -> PhraseKind:
    """Return what a clause says as a whole: yes, weak_yes, no, neutral, or doubt where that is not plain."""
    said = [phrase for phrase in phrases if phrase.kind != "neutral"]
    kinds = {phrase.kind for phrase in said}
    if not said:
        return "neutral"
    if kinds & {"doubt", "chat"}:
        return "doubt"
    if len({phrase.tokens for phrase in said}) == 1:
        return "no" if kinds <= {"no", "negation"} else said[0].kind
    if kinds <= {"yes", "weak_yes"}:
        # Two different approvals in one Chinese clause may be a condition: "没问题就执行".
        is_chinese = any(_HAN.match(phrase.tokens[0]) for phrase in said)
        return "doubt" if is_chinese else "yes" if "yes" in kinds else "weak_yes"
    if said[0].kind == "weak_yes" and said[0].tokens[0].isascii():
        # "ok cancel it"; in Chinese "好不好" is a question.
        return "no" if judge_clause(said[1:]) == "no" else "doubt"
    # Two refusals in one clause may cancel each other out: "don't stop".
    is_negated = said[0].kind == "negation" and {phrase.kind for phrase in said[1:]} <= {"yes", "weak_yes"}
    return "no" if is_negated else "doubt"
