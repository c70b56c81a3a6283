"""Drafts of messages by templates: they keep the person's words, and other texts are left alone."""

from __future__ import annotations

import pytest

from rightseat.models.llamacpp.embedded.drafts import OCCASIONS, find_draft
from rightseat.models.llamacpp.embedded.drafts_chinese import OCCASIONS as OCCASIONS_ZH
from tests.kit.cases import each_case


@pytest.mark.demand("embedded.messages_drafted")
@each_case(
    ("request_text", "expected"),
    [
        ("write a short email to my boss saying im sick and cant come in", "that I'm sick and can't come in."),
        ("Draft an email to my landlord asking him to fix the window", "Could you please fix the window?"),
        ("help me write an email to the hotel asking if we can check in early", "ask whether we can check in early."),
        ("need a polite email to my professor asking for two more days for my essay", "ask for two more days"),
        ("pls draft an email to my gym, i want to cancel my membership", "I would like to cancel my membership."),
        ("write an email to my bank to cancel my card", "writing to cancel my card."),
        ("write an email to my team about the new opening hours", "I am writing about the new opening hours."),
        ("write a polite email to my landlord, the heating has stopped working", "Could you please take care of it"),
        ("write a polite email to a customer, the item she ordered is late", "the item you ordered is late."),
        ("write a message to my friend inviting her to the cinema", "I would like to invite you to the cinema."),
        ("need a quick text for my sister, i cant make it tonight", "Hi Sister, I can't make it tonight."),
        ("write me a short birthday message for my mom", "Dear Mom,\n\nHappy birthday!"),
        ("write a thank you note to my neighbour, she watered my plants", "You watered my plants."),
        ("can you write a little get well soon message for my grandpa", "Get well soon!"),
        ("Please write an apology to my friend for forgetting her birthday", "I am very sorry."),
        ("帮我给房东写一封邮件，说水龙头漏水了，请他找人来修", "房东，您好！水龙头漏水了，请您找人来修。"),
        ("帮我写条微信跟老板请半天假，明天上午要去看牙医", "我想请半天假，明天上午要去看牙医。"),
        ("帮忙写个短信给快递员，包裹放门卫那儿就行", "包裹放门卫那儿就行。"),
        ("帮我写个短信告诉妈妈今晚不回家吃饭", "妈妈，今晚不回家吃饭。"),
        ("楼上邻居晚上太吵了，帮我写张客气点的小纸条", "希望您能小声一点"),
        ("侄女明天高考，想一句给她加油的话", "高考加油！"),
        ("朋友下周结婚，写一句祝福语", "新婚快乐！"),
        ("想给老师发个新年祝福，一句话就行", "老师，新年快乐！祝您"),
        ("周末刚去爬了山，帮我想个朋友圈文案", "周末刚去爬了山，"),
        ("给一家新开的花店想一句广告语", "走进花店，"),
        ("写一条通知，明天下午三点开会，请大家准时参加", "大家好！明天下午三点开会"),
    ],
)
def test_a_draft_keeps_the_persons_words(request_text: str, expected: str) -> None:
    assert expected in (find_draft(request_text) or "")


@pytest.mark.demand("embedded.messages_drafted")
@each_case(
    "request_text",
    [
        "Write a haiku about the sea",
        "Come up with a three line poem about snow please",
        "write a commit message",
        "What does this error message mean?",
        "how do I write a letter to my bank?",
        "write an email",
        "Translate this message: the train is late",
        'Summarise this email: "the train is late"',
        "write a story about a letter to my boss, the king was sad",
        "把这句话说得客气一点：你怎么又迟到了",
        "帮我写一首关于春天的诗",
        "短信是什么时候发明的",
        "帮我翻译成中文：I am late.",
        "x" * 400,
    ],
)
def test_other_texts_are_left_to_the_weights(request_text: str) -> None:
    assert find_draft(request_text) is None


def test_each_occasion_can_be_written() -> None:
    assert len(OCCASIONS) > 15
    assert all(occasion.text.format(reason="") for occasion in OCCASIONS)
    assert all(wish for _, wish in OCCASIONS_ZH)


@pytest.mark.parametrize(
    "text", ["write a " * 40, "给" * 290 + "写", "write an email to my boss, " + "i " * 120, "请假" * 140]
)
def test_a_hostile_request_is_read_at_once(text: str) -> None:
    find_draft(text[:300])
