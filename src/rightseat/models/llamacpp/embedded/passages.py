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
            r"\b(?:mon|tues|wednes|thurs|fri|satur|sun)days?\b|周[一二三四五六日末]|星期[一二三四五六日]", re.IGNORECASE
        ),
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
    r"(?:(?:please|can you|could you|would you) )*(?:summari[sz]e|sum up|tl;?dr|give me (?:a |the )?(?:short |"
    r"brief )?summary of|"
    r"(?:give|tell) me (?:the )?(?:gist|main points?|short version|key points?) of|"
    r"what(?:'s| is) the (?:gist|main (?:idea|point)|short version) of|in short|shorten)\b[^:?\n]{0,60}[:?\n]|"
    r"(?:请|帮我|请帮我|用一句话)*(?:总结|概括|归纳|摘要)[^：:\n]{0,20}[：:\n]",
    re.IGNORECASE,
)
MIN_SUMMARIZED = 2
# Requests and advice that a sentence of the text cannot answer.
_WISHES = re.compile(
    r"\b(?:can|could|would|will|should) (?:you|i|we)\b|\bhow (?:do|to)\b|\bplease\b|(?:能|可以|能不能)(?:帮|给)|"
    r"怎么办|怎么才",
    re.IGNORECASE,
)
MAX_MESSAGE = 20_000
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
        or any(_ASKS.search(sentence) for sentence in passage)
        or sum(map(len, passage)) < len(question)
    ):
        return None
    # Most pairs of Chinese characters cross the border of two words.
    share = 9 if detect_language(question) == "zh" else 3
    return choose_sentence(question, passage, max(MIN_SHARED, len(list_terms(question)) / share))


def find_lead_sentence(message: str) -> str | None:
    """Return the first sentence of a text of several that is to be summarized: it says what the text is about."""
    match = _SUMMARY.match(message.strip()) if len(message) <= MAX_MESSAGE else None
    sentences = split_sentences(message.strip()[match.end() :]) if match else []
    return sentences[0].strip("“”\"' ") if len(sentences) >= MIN_SUMMARIZED else None


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
    answering = [clause for clause in clauses if any(hint.search(clause) for hint in hints)]
    if len(clauses) > MAX_CLAUSES and len(answering) == 1 and score_sentence(answering[0], terms) >= MIN_SHARED:
        best = answering[0]
    return best.strip("“”\"' ")


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
