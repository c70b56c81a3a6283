"""The sentence of a text that answers a question about it, by the words that they share.

The weights lose the thread of a text after a few sentences; a sentence of the text itself cannot be wrong.
"""

from __future__ import annotations

import re

from rightseat.types.language import detect_language

_SENTENCE = re.compile(r"(?:[^.!?。！？\n]|[.!?](?!\s|$))+(?:[.!?]+(?=\s|$)|[。！？\n]|$)")
_ASKS = re.compile(
    r"[?？]\s*$|^(?:what|who|whom|whose|when|where|why|which|how|is|are|was|were|does|did|do|can)\b", re.IGNORECASE
)
_ENGLISH_WORD = re.compile(r"[A-Za-z']+|\d+(?:[.,:]\d+)*")
_STOP_WORDS = frozenset(
    re.findall(
        r"\w+",
        """a an the of to in on at for from by with and or is are was were be been do does did has have had it its
        he she they them his her their this that these those what who whom whose when where why which how many
        much old long please can could you i my me we our""",
    )
)
_CLAUSE_HINTS = (
    (
        re.compile(r"\b(?:which|what) (?:day|weekday)\b|星期几|周几|哪[天日]", re.IGNORECASE),
        re.compile(
            r"\b(?:mon|tues|wednes|thurs|fri|satur|sun)days?\b|周[一二三四五六日末]|"
            r"星期[一二三四五六日]",
            re.IGNORECASE,
        ),
    ),
    (
        re.compile(r"\b(?:what time|at what hour|which hour)\b|几点", re.IGNORECASE),
        re.compile(r"\d{1,2}[:.]\d\d|\b\d{1,2} ?(?:am|pm|o'?clock)\b|\b(?:noon|midnight)\b|[点时]", re.IGNORECASE),
    ),
    (
        re.compile(r"多少钱|什么价|[花付]了?多少"),
        re.compile(r"\d+(?:\.\d+)?(?:元|块)|[一二两三四五六七八九十百千万]+(?:元|块)"),
    ),
    (re.compile(r"^\W*(?:who|whose|whom)\b", re.IGNORECASE), re.compile(r"\b[A-Z][a-z]+")),
    (re.compile(r"^\W*where\b|哪里|哪儿|什么地方", re.IGNORECASE), re.compile(r"\b(?:in|at|near|to|from)\b|在|到|从")),
    (
        re.compile(r"^\W*why\b|为什么|为何|原因", re.IGNORECASE),
        re.compile(r"\bbecause|\bdue to|\bsince\b|因为|由于|为了"),
    ),
    (
        re.compile(r"\bhow (?:many|much|old|long|far|tall)\b|多少|几[个岁天位]|多大|多久", re.IGNORECASE),
        re.compile(
            r"\d|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|twelve)\b|[一二两三四五六七八九十百千万]"
        ),
    ),
    (
        re.compile(r"^\W*when\b|什么时候|何时|哪天|几点", re.IGNORECASE),
        re.compile(
            r"\d|\b(?:mon|tues|wednes|thurs|fri|satur|sun)day|january|february|march|april|\bmay\b|june|july|august|"
            r"september|october|november|december|morning|evening|周|月|日|点|上午|下午",
            re.IGNORECASE,
        ),
    ),
)
_SUMMARY = re.compile(
    r"(?:(?:please|pls|hi|hey|hello|ok|just|can you|could you|would you|will you|i need|i want|i'd like|give me|"
    r"tell me|write|make|provide|what(?:'s|s| is)|help me|quick(?:ly)?|briefly|short(?:ly)?|brief|"
    r"one[- ](?:sentence|line)|a|an|the|me|to|you),? )*"
    r"(?:summari[sz]e|summary|sum (?:(?:this|that|it|all)(?: \w+)? )?up|sum up|tl;?dr|gist|main (?:points?|idea)|"
    r"key points?|short version|in short|in brief|in a nutshell|shorten|condense|boil (?:this|that|it) down)\b|"
    r"(?:in (?:one|1|a single|a few|two) (?:short )?(?:sentences?|lines?|words)\b[^:?\n]{0,60}|"
    r"(?:so )?what(?:'s|s| is) (?:this|the) (?:(?:text|article|message|passage|email|note|"
    r"letter) )?(?:all )?about\b)|"
    r"[请你能不可以否麻烦帮我忙给把将用一两几句话简单地短要这段文字篇章下面上的内容来，]*"
    r"(?:总结|概括|归纳|摘要|简述|大意|主要内容|主要讲|讲了什么|一句话)",
    re.IGNORECASE,
)
_INSTRUCTION_END = re.compile(r"[:：?？\n。！]|[.!](?=\s)")
# A text may follow without a mark; `tldr in one sentence: …` goes on.
_TLDR = re.compile(r"(?i:tl;?dr)\s+(?=[A-Z\"“])")
# A sentence of the text is no summary in another form or language.
_OTHER_FORMS = re.compile(
    r"\b(?:bullets?|french|german|spanish|italian|chinese|english|table|poem|haiku|rhyme|translate|title)\b|"
    r"翻译|英文|英语|中文|法语|表格|诗|标题|要点",
    re.IGNORECASE,
)
_ABBREVIATION = re.compile(r"\b(?:dr|mr|mrs|ms|prof|st|no|vs|e\.g|i\.e|a\.m|p\.m|inc|jr)\.$", re.IGNORECASE)
# `The summary was bad.` and `In short, we won.` ask for nothing.
_STATEMENT = re.compile(r"(?:the|an?|in|what|main|key|short|summary|gist)\b", re.IGNORECASE)
_THIS_TEXT = re.compile(
    r"\b(?:this|that|it|these|following|below|above|please|for me|in (?:one|1|a|two) (?:\w+ )?(?:sentence|line)s?|"
    r"the (?:text|passage|article|e?mail|message|paragraph|note|story))\b",
    re.IGNORECASE,
)
_CHINESE_END = re.compile(
    r"[一下这段话文字篇章内容吧吗呢上面以的主要意思大中心它全是什么讲了出来概括总结：:，。？！?!\s]*"
)
_SHORTENING = re.compile(
    r"\b(?:summar\w+|shorten|(?:make|keep) (?:this|that|it) (?:much )?(?:shorter|short|brief)|shorter|"
    r"condense\w*|reduce|boil|"
    r"sum (?:\w+ )?up|gist|main (?:point|idea|message)|key (?:point|message|takeaway)|takeaway|essence|"
    r"nutshell|tl;?dr|"
    r"short version|in brief|(?:in|into|to|as|with) (?:just |only )?(?:one|1|a single|a|two) (?:short |simple |"
    r"single )?"
    r"(?:sentence|line)|one[- ](?:sentence|line|liner))\b",
    re.IGNORECASE,
)
_SHORTENING_ZH = re.compile(
    r"缩[成短写减]|精简|简化|浓缩|压缩|概括|总结|归纳|提炼|主要(?:是)?[说讲]|大意|中心思想|重点是|一句话|"
    r"简单[说讲]|长话短说"
)
_THIS_TEXT_ZH = re.compile(r"这[段篇条个]|以[上下]|下面|上面|一句|内容|文字|它|成")
MAX_INSTRUCTION = 120
MIN_SUMMARIZED = 2
# Requests and advice that a sentence of the text cannot answer.
_WISHES = re.compile(
    r"\b(?:can|could|would|will|should) (?:you|i|we)\b|\bhow (?:do|to)\b|\bplease\b|(?:能|可以|能不能)(?:帮|给)|"
    r"怎么办|怎么才",
    re.IGNORECASE,
)
# A row of a table is no sentence.
_TABLE_ROW = re.compile(r"\t|\||^[^\s,]+,[^\s,]+(?:,[^\s,]+)*$")
MAX_MESSAGE = 20_000
# A single sentence answers what is in it, and not how and why things are.
_EXPLANATIONS = re.compile(r"怎么|怎样|如何|为什么|为何|是不是|[吗么]$|对不对|应该|建议|意思")
_QUESTION_WORDS = re.compile(
    r"请问|什么时候|什么|多少|哪[里儿个天些]|谁|几|是|的|了|在|有|他|她|它|这|那|一|个|我|你|和|后|以后|能|会|到|去"
)
MIN_SHARED = 1.0
MIN_SHARED_WITH_CONTEXT = 2.0
# A Chinese sentence with more clauses is shortened to the one that answers.
MAX_CLAUSES = 2


def split_sentences(text: str) -> list[str]:
    return [sentence.strip() for sentence in _SENTENCE.findall(text) if sentence.strip()]


def find_answer_sentence(message: str) -> str | None:
    """Return the sentence of the message's text that answers the question at its end or beginning; None if the
    message is not a text with a question, or no sentence fits."""
    sentences = split_sentences(message) if len(message) <= MAX_MESSAGE else []
    if len(sentences) < 2:
        return None
    if _ASKS.search(sentences[-1]):
        question, passage = sentences[-1], sentences[:-1]
    elif _ASKS.search(sentences[0]):
        question, passage = sentences[0], sentences[1:]
    else:
        return None
    if (
        _WISHES.search(question)
        or any(map(_TABLE_ROW.search, passage))
        or any(_ASKS.search(sentence) for sentence in passage)
        or sum(map(len, passage)) < len(question)
    ):
        return None
    # Most pairs of Chinese characters cross the border of two words.
    is_zh = detect_language(question) == "zh"
    share = 9 if is_zh else 3
    best = choose_sentence(question, passage, max(MIN_SHARED, len(list_terms(question)) / share))
    return best or (find_only_sentence(question, passage) if is_zh else None)


def find_only_sentence(question: str, passage: list[str]) -> str | None:
    """Return the only sentence of a Chinese text, or its answering clause, if a character of the question is in it."""
    if len(passage) != 1 or _EXPLANATIONS.search(question):
        return None
    known = set(re.findall(r"[\u4e00-\u9fff]", _QUESTION_WORDS.sub("", question)))
    if not known & set(passage[0]):
        return None
    hints = [hint for asks, hint in _CLAUSE_HINTS if asks.search(question)]
    clauses = [clause.strip(" 。！") for clause in re.split(r"[，；]", passage[0])]
    answering = list_answering(clauses, hints)
    return f"{answering[0]}。" if len(answering) == 1 else passage[0]


def find_lead_sentence(message: str) -> str | None:
    """Return the first sentence of a text of several that is to be summarized: it says what the text is about. The
    instruction stands before the text or after it."""
    text = message.strip()
    sentences = split_sentences(strip_instruction(text) or "") if len(text) <= MAX_MESSAGE else []
    if len(sentences) < MIN_SUMMARIZED:
        return None
    lead = sentences[0]
    for sentence in sentences[1:]:
        if not _ABBREVIATION.search(lead):
            break
        lead = f"{lead} {sentence}"
    return lead.strip("“”\"' ")


def strip_instruction(text: str) -> str | None:
    """Return the text that an instruction before or after it asks to summarize; None if there is none."""
    if match := _TLDR.match(text):
        return text[match.end() :]
    end = _INSTRUCTION_END.search(text, 0, MAX_INSTRUCTION)
    if end and is_summary_instruction(text[: end.end()]):
        return text[end.end() :]
    sentences = split_sentences(text[-2 * MAX_INSTRUCTION :])
    last = sentences[-1] if len(sentences) > 1 else ""
    return text[: -len(last)] if last and is_summary_instruction(last) else None


def is_summary_instruction(sentence: str) -> bool:
    """Whether a short sentence asks for a summary of the text beside it, and not of something else."""
    bare = sentence.strip()
    if names_summary(bare):
        return True
    match = _SUMMARY.match(bare) if len(bare) <= MAX_INSTRUCTION else None
    if match is None or _OTHER_FORMS.search(bare):
        return False
    after = bare[match.end() :]
    if detect_language(bare) == "zh":
        return _CHINESE_END.fullmatch(after) is not None
    if bare[-1] in ".!" and _STATEMENT.match(bare):
        return False
    return bare[-1] == ":" or "\n" in sentence or not re.search(r"\w", after) or bool(_THIS_TEXT.search(bare))


def names_summary(instruction: str) -> bool:
    """Whether an instruction that ends before a text, or after it, names a summary and the text, in any words."""
    if not instruction or len(instruction) > MAX_INSTRUCTION or _OTHER_FORMS.search(instruction):
        return False
    if detect_language(instruction) == "zh":
        return bool(_SHORTENING_ZH.search(instruction)) and bool(
            _THIS_TEXT_ZH.search(instruction) or instruction[-1] in ":："
        )
    asks = instruction[-1] in ":?" or (
        instruction[-1] not in ".!" and not re.match(r"(?:the|an?|i|we)\b", instruction, re.I)
    )
    return (
        asks
        and bool(_SHORTENING.search(instruction))
        and bool(_THIS_TEXT.search(instruction) or instruction[-1] == ":")
    )


def find_context_sentence(question: str, context: str) -> str | None:
    """Return the line of an application's context that answers the question."""
    lines = [line.strip().removeprefix("- ") for line in context.splitlines() if line.strip()]
    if not lines or len(context) + len(question) > MAX_MESSAGE or _WISHES.search(question):
        return None
    if not _ASKS.search(question) or len(split_sentences(question)) > 1:
        return None
    return choose_sentence(question, lines, MIN_SHARED_WITH_CONTEXT)


def split_keeping_space(text: str) -> list[str]:
    """Return the sentences of a text, each with the space after it."""
    return re.findall(r"[\s\S]*?(?:[.!?](?=\s)\s+|[。！？]+|\n+|$)", text)[:-1] or [text]


def choose_sentence(question: str, passage: list[str], min_shared: float) -> str | None:
    """Return the sentence that shares most with the question, or the clause of it that answers; None if the best one
    shares fewer than `min_shared` terms."""
    hints = [hint for asks, hint in _CLAUSE_HINTS if asks.search(question)]
    terms = list_terms(question)
    scored = [
        (score_sentence(part, terms) + 1.5 * sum(bool(hint.search(part)) for hint in hints), -index, part)
        for index, part in enumerate(passage)
    ]
    _, _, best = max(scored, default=(0.0, 0, ""))
    if score_sentence(best, terms) < min_shared:
        return None
    clauses = [clause.strip() for clause in re.split(r"[，；]", best)]
    answering = list_answering(clauses, hints)
    if len(clauses) > MAX_CLAUSES and len(answering) == 1 and score_sentence(answering[0], terms) >= MIN_SHARED:
        best = answering[0]
    return best.strip("“”\"' ")


def list_answering(clauses: list[str], hints: list[re.Pattern[str]]) -> list[str]:
    """Return the clauses with the most of the words that the question hints at; none if no clause has one."""
    counts = [sum(bool(hint.search(clause)) for hint in hints) for clause in clauses]
    most = max(counts, default=0)
    return [clause for clause, count in zip(clauses, counts, strict=True) if count == most > 0]


def list_terms(text: str) -> set[str]:
    """Return stems of English words and pairs of Chinese characters."""
    words = {stem_word(word.lower()) for word in _ENGLISH_WORD.findall(text) if word.lower() not in _STOP_WORDS}
    han = re.findall(r"[\u4e00-\u9fff]+", text)
    return words | {run[index : index + 2] for run in han for index in range(len(run) - 1)}


def stem_word(word: str) -> str:
    for ending in ("ing", "ies", "ed", "es", "s", "e"):
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            return word.removesuffix(ending)
    return word


def score_sentence(sentence: str, terms: set[str]) -> float:
    return float(len(terms & list_terms(sentence)))
