from __future__ import annotations

from rightseat.types.language import detect_language, find_language
from rightseat.types.messages import text_message
from tests.kit.cases import each_case


@each_case(
    ("text", "expected"),
    [
        ("What time is it?", "en"),
        ("现在几点了？", "zh"),
        ("What does 你好 mean?", "en"),
        ("帮我翻译成中文：I will be ten minutes late for the meeting.", "zh"),
        ("Python 怎么安装？", "zh"),
        ("Please send 李小明的合同文件 to Bob", "en"),
        ("What does 人工智能技术 mean?", "en"),
        ("Translate to English: 我今天很高兴认识你们大家", "en"),
        ("你好 means what in English?", "en"),
        ("请用一句话介绍 FastAPI 和 Django", "zh"),
        ("订", "zh"),
        ("1 + 1", "en"),
        ("125乘以8等于多少", "zh"),
        ("日本の首都はどこですか", "en"),
        ("서울", "en"),
        ("", "en"),
    ],
)
def test_detect_language(text: str, expected: str) -> None:
    assert detect_language(text) == expected


def test_find_language_skips_messages_without_letters() -> None:
    messages = [text_message("user", "订一张桌子"), text_message("assistant", "Allow?"), text_message("user", "2")]
    assert find_language(messages) == "zh"
    assert find_language(messages[1:]) == "en"
    assert find_language([]) == "en"
