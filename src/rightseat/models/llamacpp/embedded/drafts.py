"""Drafts of short messages and emails from the person's own words, by templates. No I/O.

The weights lose what a message is about; a template keeps the person's words. It is used where the request says what
is to be written: an occasion (a birthday, thanks), or what the recipient is to be told or asked.
"""

from __future__ import annotations

import re

from msgspec import Struct

from rightseat.models.llamacpp.embedded.clauses import is_chinese

MAX_REQUEST = 300
_KIND = (
    r"(?P<kind>e-?mails?|mail|messages?|msg|text(?: message)?|sms|notes?|letters?|cards?|wish|wishes|"
    r"greetings?|lines?|"
    r"congrats|congratulations?|apology|invitation|invite|whatsapp|post-?it|something)"
)
_REQUEST = re.compile(
    rf"^(?P<before>.*?)\b(?:write|draft|compose|need|want|like|make|give me|get me|prepare|send|come up with|help me "
    rf"(?:with|to)|word|create|type up|put together|looking for)\b(?: \w+){{0,2}}? (?:an?|the|some|my|one|"
    rf"two)? ?(?P<style>(?:[\w-]+ ){{0,6}}?)"
    rf"{_KIND}\b(?P<rest>.*)$",
    re.IGNORECASE | re.DOTALL,
)
_OTHER_WRITING = re.compile(
    r"\b(?:summari[sz]e|translate|rewrite|rephrase|correct|reply to this|in (?:french|german|spanish|chinese|italian|"
    r"japanese)|how (?:do|can|to))\b|\n|[\"“”]",
    re.IGNORECASE,
)
# Kinds of texts that may stand before the word: `a poem for a card`, `an error message`.
_OTHER_KIND = re.compile(
    r"\b(?:poem|haiku|story|essay|code|script|function|song|lyrics|joke|slogan|error|commit|cover|blog|article|"
    r"speech|"
    r"program|limerick|tweet|subject|headline|title|list|recipe|template|credit|sim|graphics|out of|bass|sticky)\b",
    re.IGNORECASE,
)
_RECIPIENT = re.compile(
    r"\b(?:to|for) (?P<who>(?:(?:my|our|the|a|an|his|her) )?(?:\w+ ){0,2}?"
    r"(?:boss|manager|landlord|landlady|neighbou?rs?|professor|teacher|tutor|coach|doctor|dentist|customers?|"
    r"clients?|"
    r"colleagues?|coworkers?|co-worker|team|friends?|mom|mum|mother|dad|father|parents|grandpa|grandma|grandfather|"
    r"grandmother|granny|aunt|uncle|cousin|brother|sister|son|daughter|wife|husband|girlfriend|boyfriend|"
    r"partner|gym|bank|"
    r"school|hotel|shop|store|restaurant|company|airline|supplier|support|office|librarian|library|insurance|"
    r"accountant|lawyer|nurse|roommate|flatmate|hr|employer|host|guests?|niece|nephew|classmate|babysitter|plumber|"
    r"electrician|club|agency|council|provider|seller|buyer|in-laws|mother-in-law|father-in-law|kid|kids|students?|"
    r"mentor|recruiter|tenant|everyone|staff|workmate|mate|bestie|buddy|assistant|driver|builder|trainer|vet|"
    r"mechanic|mayor|principal|headmaster|secretary|volunteers?|musician|band|photographer|delivery (?:driver|"
    r"company)))\b",
    re.IGNORECASE,
)


class Occasion(Struct, frozen=True):
    pattern: str
    text: str


# Each entry: words of an occasion, and what one writes; `{reason}` is what the person said of it, or nothing.
_OCCASIONS = r"""
birthday|b-?day
    Happy birthday! {reason}I wish you a wonderful day full of joy, and all the best for the year ahead.
get[- ]well|feel better|speedy recovery|recover
    Get well soon! {reason}I am thinking of you and hope that you feel better very soon.
congrat\w*
    Congratulations! {reason}I am so happy for you and very proud of you.
thank(?:s|[- ]you)?|gratitude
    Thank you so much! {reason}I really appreciate your help and kindness.
sorry|apolog\w*
    I am very sorry. {reason}I hope that you can forgive me, and I will do better next time.
good luck|best of luck
    Good luck! {reason}I believe in you and keep my fingers crossed.
wedding|getting married|marriage|newlyweds?
    Congratulations on your wedding! {reason}I wish you a lifetime of love and happiness together.
anniversary
    Happy anniversary! {reason}I wish you many more happy years together.
farewell|goodbye|leaving|retire\w*|retiring|retirement
    We will miss you! {reason}Thank you for everything, and all the best for what comes next.
new baby|newborn|baby (?:boy|girl)|had a baby
    Congratulations on your baby! {reason}I wish your family much joy and health.
graduat\w*
    Congratulations on your graduation! {reason}You worked hard for it, and I am proud of you.
condolences?|sympathy|passed away|sorry for (?:your|her|his) loss
    I am so sorry for your loss. {reason}My thoughts are with you and your family.
merry christmas|christmas|xmas
    Merry Christmas! {reason}I wish you peaceful holidays and a happy new year.
new year'?s?
    Happy New Year! {reason}I wish you health, happiness and success.
valentine'?s?
    Happy Valentine's Day! {reason}You make every day brighter.
mother'?s day
    Happy Mother's Day! {reason}Thank you for all your love and care.
father'?s day
    Happy Father's Day! {reason}Thank you for all your love and support.
welcom\w*
    Welcome! {reason}We are happy that you are here.
"""
_LINES = _OCCASIONS.strip().splitlines()
OCCASIONS = tuple(Occasion(words, text.strip()) for words, text in zip(_LINES[::2], _LINES[1::2], strict=True))
_LINKS = (
    ("invite", r"\b(?:inviting \w+|to invite \w+|invitation|invite)(?: \w+){0,2}? (?:to|for|over for) (?P<body>.+)"),
    ("tell", r"\b(?:saying|to say|that says|which says|telling \w+|to tell \w+|to let \w+ know|"
             r"letting \w+ know|explaining|to explain|stating|informing \w+|to inform \w+)(?: that)? (?P<body>.+)"),
    ("whether", r"\b(?:asking|to ask)(?: (?:him|her|them|if|whether|my \w+|the \w+))*(?<=if|er) (?P<body>(?:i|"
                r"we|he|she|they|it|there|the)\b.+)"),
    ("please", r"\b(?:asking|to ask|requesting|telling|to tell)(?: (?:him|her|them|my \w+|"
               r"the \w+))? to (?P<body>.+)"),
    ("ask", r"\b(?:asking|to ask|requesting|to request)(?: (?:him|her|them|my \w+|the \w+))? (?:for )?(?P<body>.+)"),
    ("because", r"[,.;:-]\s*(?:because |since |as )?(?P<body>(?:i|i'm|im|i've|ive|we|we're|my|our|the|her|his|"
                r"their|she|he|they|it|there|its|an?|\w+ (?:is|are|has|was|were|will))\b.+)"),
    ("because", r"\bbecause (?P<body>.+)"),
    ("purpose", r"(?:^|(?<=\s))to (?P<body>(?:cancel|complain|invite|thank|apologi[sz]e|confirm|reschedule|postpone|"
                r"request|decline|accept|remind|report|return|order|book|change|move|congratulate|wish|quit|"
                r"resign)\b.+)"),
    ("reason", r"\bfor (?P<body>(?!my |our |the |an? |me\b|him\b|her\b|us\b)\w+ing\b.+|(?:the|all|his|her|"
               r"their|your) (?!\w+$).+)"),
    ("about", r"\b(?:about|regarding|concerning) (?P<body>.+)"),
)  # fmt: skip
_CLOSINGS = {
    "please": "Thank you very much for your help.",
    "ask": "I would be very grateful. Thank you for your time.",
    "whether": "Thank you very much in advance.",
    "about": "Please let me know what you think.",
    "invite": "I would be very happy if you could come.",
}
_SPELLED = (
    (r"\bi\b", "I"), (r"\bim\b", "I'm"), (r"\bive\b", "I've"), (r"\bid\b", "I'd"), (r"\bcant\b", "can't"),
    (r"\bdont\b", "don't"), (r"\bwont\b", "won't"), (r"\bdidnt\b", "didn't"), (r"\bdoesnt\b", "doesn't"),
    (r"\bisnt\b", "isn't"), (r"\bcouldnt\b", "couldn't"), (r"\bhavent\b", "haven't"), (r"\bpls\b", "please"),
    (r"\bill(?= (?:be|come|go|have|need|do|get|see|send|pay|call|make|bring|arrive)\b)", "I'll"),
)  # fmt: skip
_SECOND_PERSON = (
    (r"\b(?:she|he|they)(?:'s| is| are)\b", "you are"), (r"\b(?:she|he|they) (?:has|have)\b", "you have"),
    (r"\b(?:she|he|they) was\b", "you were"), (r"\b(?:she|he|they) does\b", "you do"), (r"\b(?:she|he|"
     r"they)\b", "you"),
    (r"\b(?:her|his|their)(?= \w)(?! (?:to|that|if|for|in|on|at|about|know)\b)", "your"), (r"\b(?:him|her|"
     r"them)\b", "you"),
    (r"\b(?:hers|theirs)\b", "yours"), (r"\b(?:herself|himself|themselves)\b", "yourself"),
)  # fmt: skip


def find_draft(request: str) -> str | None:
    """Return the message that a request describes; None if it describes none, or asks for another kind of text."""
    text = " ".join(request.split()) if "\n" not in request.strip() else request
    if len(text) > MAX_REQUEST:
        return None
    if is_chinese(text):
        from rightseat.models.llamacpp.embedded.drafts_chinese import find_chinese_draft

        return find_chinese_draft(text)
    match = _REQUEST.match(text)
    if match is None or _OTHER_WRITING.search(text) or _OTHER_KIND.search(text[: match.end("kind") + 12]):
        return None
    who = _find_recipient(match["rest"]) or _find_recipient(text)
    rest = _RECIPIENT.sub("", match["rest"], count=1) if who else match["rest"]
    rest = re.sub(r"[\s,]*\b(?:please|pls|plz|thanks|thank you)?[\s.!?]*$", "", rest)
    link, body = _find_body(rest)
    if not body and (before := match["before"].strip(" ,.;:-")) and re.search(r"\w+ \w+ \w+", before):
        body = _find_told(before)
        link = "because" if body else link
    is_letter = bool(re.match(r"e-?mail|mail|letter", match["kind"], re.IGNORECASE))
    occasion = _find_occasion(f"{match['style']} {match['kind']}") or _find_occasion(rest)
    if occasion is not None and not (is_letter and link in ("tell", "please", "ask", "whether")):
        return _write_wish(occasion, who, link, body)
    return _write_letter(who, link, body, is_letter=is_letter) if body else None


def _find_recipient(text: str) -> str:
    match = _RECIPIENT.search(text)
    if match is None:
        return ""
    words = re.sub(r"^(?:my|our|the|an?|his|her) ", "", match["who"], flags=re.IGNORECASE).split()
    skipped = {"dear", "best", "good", "little", "lovely", "old", "sweet", "big", "small"}
    return " ".join(word for word in words if word.lower() not in skipped) or words[-1]


def _find_occasion(text: str) -> Occasion | None:
    return next((one for one in OCCASIONS if re.search(rf"\b(?:{one.pattern})\b", text, re.IGNORECASE)), None)


def _find_body(rest: str) -> tuple[str, str]:
    """Return how the content is introduced, and the content."""
    for link, pattern in _LINKS:
        if match := re.search(pattern, rest, re.IGNORECASE):
            return link, match["body"].strip(" .,!?")
    return "", ""


def _find_told(before: str) -> str:
    """Return what a person tells before the request itself: `the heating is broken, please write …`."""
    told = re.split(r"[,.;!?]\s*|\s+-\s+", before)
    parts = [
        part.strip() for part in told if re.match(r"(?:i|my|we|our|the|she|he|they|it|there)\b", part.strip(), re.I)
    ]
    asks = re.compile(r"^(?:i|we) (?:need|want|would|have to|'d)?$", re.IGNORECASE)
    return ", ".join(part for part in parts if len(part.split()) > 2 and not asks.match(part))


def _spell(text: str, *, second_person: bool = True) -> str:
    for pattern, word in (*_SPELLED, *(_SECOND_PERSON if second_person else ())):
        text = re.sub(pattern, word, text, flags=re.IGNORECASE)
    return text


def _upper(text: str) -> str:
    return text[:1].upper() + text[1:]


def _write_wish(occasion: Occasion, who: str, link: str, body: str) -> str:
    reason = ""
    words = _spell(body)
    if link in ("because", "tell") and words:
        reason = f"{_upper(words)}. "
    elif link == "reason" and words:
        reason = f"Thank you for {words}. " if "Thank" in occasion.text[:6] else f"It is for {words}. "
        reason = "" if reason.startswith("It") else reason
    greeting = f"Dear {_upper(who)},\n\n" if who else ""
    return f"{greeting}{occasion.text.format(reason=reason)}"


def _write_letter(who: str, link: str, body: str, *, is_letter: bool) -> str:
    words = _spell(body)
    words = re.sub(r"^please ", "", words)
    words = re.sub(r"^I want to\b", "I would like to", words)
    match link:
        case "tell":
            sentence = f"I am writing to let you know that {words}."
        case "whether":
            sentence = f"I would like to ask whether {words}."
        case "please":
            sentence = f"Could you please {words}?"
        case "ask":
            sentence = f"I would like to ask for {words}."
        case "invite":
            sentence = f"I would like to invite you to {words}."
        case "purpose":
            sentence = f"I am writing to {words}."
        case "about" | "reason":
            sentence = f"I am writing about {words}."
        case _:
            is_own = re.match(r"(?:I|we)\b", words)
            sentence = f"{_upper(words)}." if is_own else f"I am writing to let you know that {words}."
    closing = _CLOSINGS.get(link) or _find_closing(words)
    if not is_letter:
        greeting = f"Hi {_upper(who)}, " if who else "Hi, "
        own = words if link in ("tell", "because") else sentence
        return f"{greeting}{_lower_first(own).rstrip('.')}{'' if own.endswith('?') else '.'} {closing}"
    subject = _upper(_CUT_END.sub("", " ".join(words.split()[:9])).rstrip(",.; "))
    name = _upper(who) if who else "[Name]"
    return f"Subject: {subject}\n\nDear {name},\n\n{sentence} {closing}\n\nKind regards,\n[Your name]"


_CUT_END = re.compile(r"(?:[\s,]+(?:at|the|an?|to|of|in|on|for|and|my|your|is|that|because|with|by|from|so|but))+$")


def _find_closing(words: str) -> str:
    if re.search(
        r"\b(?:broken?|stopped|leak\w*|damaged|noisy|loud|missing|wrong|not work\w*|n't work\w*|defect\w*|dirty)\b",
        words,
    ):
        return "Could you please take care of it soon? Thank you very much."
    if re.match(r"I(?:'d| would)? (?:want|need|like|wish)", words):
        return "Please let me know what I need to do. Thank you very much."
    return "Thank you for your understanding."


def _lower_first(text: str) -> str:
    return text if re.match(r"I\b|I'", text) else text[:1].lower() + text[1:]
