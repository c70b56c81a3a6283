"""Plain chat: answers of the weights without tools, checked sentence by sentence before they are shown.

A sentence that repeats an earlier one ends the answer. A sentence with a number is left out if the weights were
not sure of its digits: measured over 26 questions, right numbers had a probability above 0.7, invented ones below
0.45 (docs/embedded-model.md).

A question that opens a chat is asked twice: after examples, which make the answer one short sentence, and without.
The answer whose first sentence is more probable is shown. A number of a short answer is shown only if both have it,
and a short answer that shares no word with the other one only if it is probable. Measured over 117 common questions:
67 right, 22 wrong and 28 left open, with other subjects in three examples; the answer without examples alone had 60,
18 and 39, with much untrue detail.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from rightseat.types.chunks import TextChunk
from rightseat.types.messages import Message, text_message
from rightseat.types.model import Prompt, SamplingSettings, ToolChoice

MAX_TOKENS = 220
MAX_HISTORY = 6
MIN_NUMBER_PROBABILITY = 0.6
MIN_FACT_PROBABILITY = 0.3
SYSTEM = "You are a helpful assistant. Answer the question directly and briefly, in one to three sentences."
EXAMPLES = (
    ("who wrote Don Quixote", "Miguel de Cervantes wrote Don Quixote."),
    ("whats the capital of norway", "The capital of Norway is Oslo."),
    ("how many legs does an insect have?", "An insect has six legs."),
    ("why is snow white?", "Snow is white because its crystals reflect all the colors of the light."),
    ("LED is short for what?", "LED stands for light-emitting diode."),
    ("explain electricity to a kid", "Electricity is the flow of tiny charged particles through a wire."),
    ("how can i wake up earlier", "Go to bed at the same time every night, and put your alarm clock out of reach."),
    ("what does 'fragile' mean", "Fragile means easily broken or damaged."),
    ("are whales fish?", "No, whales are mammals."),
)
MAX_SHORT_TOKENS = 60
MIN_SHORT_PROBABILITY = 0.45
# A short answer of which the other answer has no word.
MIN_LONE_PROBABILITY = 0.6
WRITING_SYSTEM = "You are a helpful assistant. Write what the user asks for, and nothing else."
HAIKU_SYSTEM = "You are a poet. Write a haiku about the user's topic: three short lines, and nothing else."
_DECLINES = re.compile(r"\btools?\b|工具", re.IGNORECASE)
_MARKUP = re.compile(r"<[/a-zA-Z|!]")
_SENTENCE_END = re.compile(r"(?:[.!?。！？][\"”’)]*(?=\s)|[。！？][”’）]*|\n)")
_ABBREVIATION = re.compile(r"(?:\b(?:Mr|Mrs|Ms|Dr|St|Jr|vs|etc|e\.g|i\.e|[A-Z])|^\s*\d{1,2})\.$")
_LIST_ITEM = re.compile(r"(\s*)(\d{1,2})[.)]\s")
_CLAUSE_END = re.compile(r",? (?:which|who|but|with|and (?:it|is|has))\b|, |[;(]")
_MIN_CLAUSE = 18
_OF_ITSELF = re.compile(
    r"\bas an? (?:ai|artificial|language model|virtual|computer)\b|"
    r"\bi(?:'m| am) (?:just |only )?an? (?:ai|artificial|language model|virtual assistant|computer program)\b|"
    r"\b(?:trained|created|developed) by (?:openai|google|meta|hugging face)\b",
    re.IGNORECASE,
)
_REPEATED = re.compile(r"(\S[\s\S]{3,80}?)\1{2,}")
_NUMBER_WORDS = frozenset(
    re.findall(
        r"\w+",
        """two three four five six seven eight nine ten eleven twelve twenty thirty forty fifty hundred thousand million
        billion""",
    )
)
_COMMON_WORDS = frozenset(
    re.findall(
        r"\w+",
        """about also and answer are because been called for from has have into its known means more most not other
        people person process refers some something such than that the their there they this type used uses
        using was were what when where which with word you your""",
    )
)
_ANSWER_NUMBER = re.compile(
    r"(?<![a-z\d])\d[\d.,]*(?![a-z])|"
    r"(?<![一二两三四五六七八九十百千万亿])[一二两三四五六七八九十百千万亿]{1,12}(?=[个天年月周小岁人只条种次])"
)
_FACT_QUESTION = re.compile(
    r"^\W*(?:who|what|when|where|which|whose|how (?:many|much|old|tall|long|far|big))\b", re.IGNORECASE
)
_WRITING = re.compile(
    r"\b(?:write|compose|draft|slogan|poem|haiku|email|e-mail|letter|story|joke|greeting|name for|rewrite|rephrase|"
    r"translate|summari[sz]e|correct)\b",
    re.IGNORECASE,
)
_LINE_COUNT = re.compile(
    r"\b(one|two|three|four|five|six|[1-6])[- ]lines?\b|\b(haiku)\b|\b(couplet)\b|\b(limerick)\b|"
    r"\ban? (?:\w+ ){0,3}(slogan|tagline|motto|headline)\b",
    re.IGNORECASE,
)
_LINE_COUNTS = {"one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "haiku": 3, "couplet": 2, "limerick": 5}
_ONE_SENTENCE = re.compile(r"\b(?:one|a single|1)(?: short| simple)? sentence\b", re.IGNORECASE)


def find_line_count(question: str) -> int | None:
    """Return how many lines the text to write has; None if the question does not say it."""
    match = _LINE_COUNT.search(question)
    if not match:
        return None
    word = next(filter(None, match.groups())).lower()
    return int(word) if word.isdigit() else _LINE_COUNTS.get(word, 1)


def declines(answer: str, question: str) -> bool:
    """Tell whether the adapter declined for lack of a tool."""
    return bool(_DECLINES.search(answer)) and not _DECLINES.search(question)


def is_markup(answer: str) -> bool:
    return bool(_MARKUP.search(answer))


def states_new_number(answer: str, question: str) -> bool:
    """Tell whether the answer has a number that the question has not; H2O and A7 are none. Chinese numerals count:
    the adapter gives the number of another question there, and is sure of it."""
    known = set(_ANSWER_NUMBER.findall(question.lower()))
    return any(number not in known for number in _ANSWER_NUMBER.findall(answer.lower()))


def make_plain_prompt(prompt: Prompt, question: str) -> Prompt:
    """Return the prompt without tools, calls and results, with the last messages only."""
    own = [message for message in prompt.messages if message.role in ("system", "developer")]
    talk = [
        Message(message.role, message.parts)
        for message in prompt.messages
        if message.role in ("user", "assistant") and message.text
    ]
    system = HAIKU_SYSTEM if "haiku" in question.lower() else WRITING_SYSTEM if _WRITING.search(question) else SYSTEM
    recent = talk[-MAX_HISTORY:]
    if recent and recent[0].role == "assistant":
        del recent[0]
    messages = (*(own or [text_message("system", system)]), *recent)
    return replace(prompt, messages=messages, tools=(), tool_choice=ToolChoice())


def make_short_prompt(prompt: Prompt, question: str) -> Prompt | None:
    """Return the prompt of a short answer, after examples; None for a text to write or in the middle of a chat."""
    if len(prompt.messages) != 1 or _WRITING.search(question):
        return None
    shown = [
        message
        for asked, answer in EXAMPLES
        for message in (text_message("user", asked), text_message("assistant", answer))
    ]
    settings = replace(
        make_plain_settings(prompt.settings, again=False),
        max_tokens=MAX_SHORT_TOKENS,
        extra={"repeat_penalty": 1.05, "logprobs": True, "top_logprobs": 0},
    )
    messages = (text_message("system", SYSTEM), *shown, prompt.messages[0])
    return replace(prompt, messages=messages, tools=(), tool_choice=ToolChoice(), settings=settings)


def make_plain_settings(settings: SamplingSettings, *, again: bool) -> SamplingSettings:
    """Return the settings with a penalty for repetition and with probabilities. `again`: the first answer was
    unusable, so the second one is drawn more freely."""
    extra = {"repeat_penalty": 1.3 if again else 1.1} | settings.extra | {"logprobs": True, "top_logprobs": 0}
    temperature = settings.temperature if settings.temperature is not None else 0.7 if again else 0.0
    return replace(settings, temperature=temperature, max_tokens=settings.max_tokens or MAX_TOKENS, extra=extra)


class TokenText(Struct, frozen=True):
    text: str
    probability: float


class ShortAnswer(Struct, frozen=True):
    """The first sentence of an answer, and the mean probability of its tokens."""

    text: str
    probability: float


def find_short_answer(chunks: Iterable[TextChunk]) -> ShortAnswer | None:
    """Return the first sentence of an answer; None if there is none or the weights are not sure of it."""
    tokens = [token for chunk in chunks for token in _list_tokens(chunk)]
    text = "".join(token.text for token in tokens)
    lead = len(text) - len(text.lstrip())
    end = _find_sentence_end(text[lead:] + "\n")
    sentence = text[: lead + (end or 0)]
    probability = _mean_probability(_take_tokens(tokens, len(sentence)))
    if not sentence.strip() or probability < MIN_SHORT_PROBABILITY:
        return None
    return ShortAnswer(sentence.strip(), probability)


class SentenceChecker:
    """Splits an answer into sentences and passes those that may be shown. `ended`: the rest is not wanted. `short`: an
    answer that is shown instead if it is more probable than the first sentence. `disagrees`: it is, but the two
    answers differ, so that none is shown. `speaks_of_itself`: the answer begins with what the weights are or cannot do,
    which they invent."""

    def __init__(self, question: str, sources: Iterable[str], short: ShortAnswer | None = None) -> None:
        self._short = short
        self.disagrees = False
        self.speaks_of_itself = False
        self._question = question
        self._is_writing = bool(_WRITING.search(question))
        self._is_fact_question = bool(_FACT_QUESTION.search(question)) and not self._is_writing
        self._line_count = find_line_count(question) if self._is_writing else None
        self._wants_one_sentence = bool(_ONE_SENTENCE.search(question))
        self._sources = "\n".join([question, *sources]).lower()
        self._pending: list[TokenText] = []
        self._shown: list[str] = []
        self._items = 0
        self.ended = False

    @property
    def shown(self) -> str:
        return "".join(self._shown)

    @property
    def _pending_text(self) -> str:
        return "".join(token.text for token in self._pending)

    def push(self, chunk: TextChunk) -> Iterator[str]:
        """Yield the sentences that became complete."""
        self._pending.extend(_list_tokens(chunk))
        while not self.ended and (end := _find_sentence_end(text := self._pending_text)) is not None:
            yield from self._check(text[:end])
            self._drop(end)

    def close(self, *, complete: bool) -> Iterator[str]:
        """Yield what is left, unless the answer was cut in the middle of it after a shown sentence."""
        rest = self._pending_text
        if rest.strip() and not self.ended and (complete or not self._shown):
            yield from self._check(rest)
        self._pending = []

    def _check(self, sentence: str) -> Iterator[str]:
        tokens = _take_tokens(self._pending, len(sentence))
        if self._short is not None and sentence.strip() and not self._shown:
            short, self._short = self._short, None
            if short.probability >= _mean_probability(tokens) or self._is_doubtful(tokens):
                self.ended = True
                yield from map(self._show, self._find_agreed_text(short, sentence))
                self.disagrees = not self._shown
                return
        if not self._shown and not self._is_writing and _OF_ITSELF.search(sentence):
            self.ended = self.speaks_of_itself = True
            return
        words = sentence.strip().lower()
        in_code = self.shown.count("```") % 2 == 1
        if not in_code and len(words) > 8 and words in self.shown.lower():
            self.ended = True
        elif not in_code and (repeated := _REPEATED.search(sentence)):
            self.ended = True
            if repeated.start() > 20:
                yield self._show(sentence[: repeated.end(1)].rstrip() + "\n")
        elif self._is_doubtful(tokens):
            # What follows refers to it, unless it is one item of a list or of a text to write.
            self.ended = not self._is_writing and not _LIST_ITEM.match(sentence)
        elif words or self._shown:
            yield self._show(sentence)

    def _find_agreed_text(self, short: ShortAnswer, sentence: str) -> Iterator[str]:
        """Yield the short answer up to the first number that neither the question nor the other answer has."""
        text = short.text
        asked = _list_stems(self._question)
        new_stems, other_stems = _list_stems(text) - asked, _list_stems(sentence) - asked
        if short.probability < MIN_LONE_PROBABILITY and other_stems and not new_stems & other_stems:
            return
        known = _list_numbers(f"{self._question}\n{sentence}")
        ends = [match.start() for match in _CLAUSE_END.finditer(text) if match.start() >= _MIN_CLAUSE]
        for end in (len(text), *reversed(ends)):
            if _list_numbers(text[:end]) <= known:
                yield text if end == len(text) else f"{text[:end]}."
                return

    def _show(self, sentence: str) -> str:
        """Record a sentence. Items of a list are counted again: one before it may have been left out."""
        if item := _LIST_ITEM.match(sentence):
            self._items += 1
            sentence = f"{item[1]}{self._items}{sentence[item.end(2) :]}"
        elif sentence.strip() and self.shown.endswith("\n"):
            self._items = 0
        if self._line_count is not None:
            sentence = self._fit_lines(sentence, self._line_count)
        self._shown.append(sentence)
        if self._wants_one_sentence and sentence.strip():
            self.ended = True
        return sentence

    def _fit_lines(self, sentence: str, count: int) -> str:
        """Return the part of the text within its lines. A poem that was written as prose is broken at commas."""
        before = sum(bool(line.strip()) for line in self.shown.splitlines())
        if count > 1 and not sentence.endswith("\n"):
            sentence = sentence.strip().replace(", ", ",\n") + "\n"
        fitting: list[str] = []
        for line in sentence.splitlines(keepends=True):
            if line.strip() and before == count:
                break
            before += bool(line.strip())
            fitting.append(line)
        self.ended = before == count and (count > 1 or sentence.endswith("\n"))
        return "".join(fitting).rstrip() if self.ended else "".join(fitting)

    def _is_doubtful(self, tokens: list[TokenText]) -> bool:
        if any(probability < MIN_NUMBER_PROBABILITY for probability in self._number_probabilities(tokens)):
            return True
        if not self._is_fact_question or self._shown:
            return False
        return _mean_probability(tokens) < MIN_FACT_PROBABILITY

    def _number_probabilities(self, tokens: list[TokenText]) -> Iterator[float]:
        """Yield the probability of each number that the person did not write. Numbers of list items do not count."""
        if _LIST_ITEM.match("".join(token.text for token in tokens)):
            tokens = tokens[
                next(index for index, token in enumerate(tokens) if any(map(str.isdigit, token.text))) + 1 :
            ]
        number, probability = "", 1.0
        for token in [*tokens, TokenText("", 1.0)]:
            text = token.text.strip()
            if re.fullmatch(r"[\d.,:%]+", text) and (any(map(str.isdigit, text)) or number):
                number, probability = number + text, probability * token.probability
                continue
            if any(map(str.isdigit, number)) and number.strip(".,:%") not in self._sources:
                yield probability
            number, probability = "", 1.0
            if text.lower() in _NUMBER_WORDS and text.lower() not in self._sources:
                yield token.probability

    def _drop(self, size: int) -> None:
        """Remove the first `size` characters from what is pending."""
        while self._pending and size > 0:
            first = self._pending[0]
            if len(first.text) > size:
                self._pending[0] = replace(first, text=first.text[size:])
                return
            size -= len(first.text)
            del self._pending[0]


def _take_tokens(tokens: Iterable[TokenText], size: int) -> list[TokenText]:
    """Return the tokens of the first `size` characters."""
    taken: list[TokenText] = []
    for token in tokens:
        if size <= 0:
            break
        taken.append(token)
        size -= len(token.text)
    return taken


def _mean_probability(tokens: Iterable[TokenText]) -> float:
    """Return the geometric mean of the probabilities; 1 without tokens."""
    logs = [math.log(max(token.probability, 1e-6)) for token in tokens if token.text.strip()]
    return math.exp(sum(logs) / len(logs)) if logs else 1.0


def _list_stems(text: str) -> set[str]:
    return {word[:5] for word in re.findall(r"[a-z]{3,}", text.lower()) if word not in _COMMON_WORDS}


def _list_numbers(text: str) -> set[str]:
    words = re.findall(r"[a-z]+|\d[\d.,]*", text.lower())
    return {word.strip(".,") for word in words if word[0].isdigit() or word in _NUMBER_WORDS}


def _find_sentence_end(text: str) -> int | None:
    for match in _SENTENCE_END.finditer(text):
        if not _ABBREVIATION.search(text[: match.end()].rstrip('"”’)')):
            return match.end()
    return None


def _list_tokens(chunk: TextChunk) -> list[TokenText]:
    """Return the chunk's tokens with their probabilities; one sure token where there are none."""
    content: list[dict[str, Any]] = (chunk.logprobs or {}).get("content") or []
    if "".join(token["token"] for token in content) != chunk.text:
        lowest = min((token["logprob"] for token in content), default=0.0)
        return [TokenText(chunk.text, math.exp(lowest))]
    return [TokenText(token["token"], math.exp(token["logprob"])) for token in content]
