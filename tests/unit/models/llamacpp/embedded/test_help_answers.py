from __future__ import annotations

import re
from pathlib import Path

from rightseat.models.llamacpp.embedded.help_answers import find_help_answer
from rightseat.models.llamacpp.embedded.help_topics import SETUP_TOPICS
from tests.kit.cases import each_case

ROOT = Path(__file__).parents[5]


def find(question: str, *, own: bool = False) -> str | None:
    language = "zh" if re.search(r"[\u4e00-\u9fff]", question) else "en"
    return find_help_answer(question, language, (), {}, has_own_voice=own)  # type: ignore[arg-type]


@each_case(
    ("question", "expected"),
    [
        ("hi", "Hello"),
        ("Hello!!", "Hello"),
        ("thanks a lot!", "welcome"),
        ("ok thanks", "welcome"),
        ("bye", "Goodbye"),
        ("How are you?", "fine"),
        ("你好！", "你好"),
        ("谢谢你", "不客气"),
        ("再见", "再见"),
        ("who are you?", "SmolLM2"),
        ("are you chatgpt?", "No. I am"),
        ("are you an AI?", "Yes. I am"),
        ("are you a real ai or is this just pre-written answers", "I am the embedded model"),
        ("are you a real ai or is this just pre-written answers", "written in advance"),
        ("is this a real ai or a script?", "written in advance"),
        ("这些回答是提前写好的吗", "预先写好"),
        ("你是真人吗？", "不是。我是"),
        ("你是机器人吗", "是的。我是"),
        ("What is your name?", "SmolLM2"),
        ("who made you?", "SmolLM2"),
        ("你是chatgpt吗", "SmolLM2"),
        ("你会说中文吗", "中文"),
        ("hey, how's your day going?", "fine"),
        ("Are you ChatGPT?", "SmolLM2"),
        ("Which model are you?", "SmolLM2"),
        ("你是谁？", "SmolLM2"),
        ("How do I add my own tool?", "@tool"),
        ("如何添加自己的工具？", "@tool"),
        ("Can I use my OpenAI API key?", "OPENAI_API_KEY"),
        ("how can i use a better model", "rightseat models"),
        ("怎么换成别的模型？", "rightseat models"),
        ("How do I write a plugin?", "plugin.json"),
        ("How do I connect my React app?", "/copilotkit"),
        ("Is my data sent anywhere?", "not sent"),
        ("Where is the documentation?", "docs/"),
        ("is there a list of things I can ask you?", "No tools are set up"),
        ("am I talking to a real person or a bot", "SmolLM2"),
        ("Can I plug in OpenAI or a bigger Llama here?", "OPENAI_API_KEY"),
        ("How can you call my own Python function?", "@tool"),
        ("我写了一个函数，怎样才能让你调用？", "@tool"),
        ("早上好呀，今天心情怎么样", "我很好"),
        ("so who built you, google?", "No. I am SmolLM2"),
        ("who made you?", "Hugging Face"),
        ("did OpenAI train you?", "No. I am SmolLM2"),
        ("are you made by Hugging Face?", "Yes. I am SmolLM2"),
        ("which AI are you using?", "I am the embedded model"),
        ("do you run on llama?", "I am the embedded model"),
        ("你是百度开发的吗", "不是。我是 SmolLM2"),
        ("你是哪家公司做的", "Hugging Face"),
        ("你是人还是机器人", "我是 rightseat"),
        ("are you busy right now?", "I have time"),
        ("下午好，忙不忙呀", "我有空"),
        ("ugh I'm so bored", "What can you do?"),
        ("wish me luck, I have an exam tomorrow", "Good luck"),
        ("my bad, sorry about that", "No problem"),
        ("you're actually pretty clever", "Thank you"),
        ("you are useless", "very small model"),
        ("你怎么这么笨", "很小的模型"),
        ("I'm so tired today", "sorry to hear"),
        ("I'm doing great", "glad"),
        ("happy friday!", "the same to you"),
        ("let's chat", "Sure"),
        ("你会说日语吗", "我能听懂中文和英文"),
        ("I have a little weather api of my own, how would I let you call it?", "plugin.json"),
        ("how would I add an mcp server", "[mcp.notes]"),
        ("怎么接入MCP服务器", "[mcp.notes]"),
        ("how do i hook up my own database?", "[databases.shop]"),
        ("怎么连接我的数据库", "[databases.shop]"),
        ("how can I plug my react frontend into you", "/copilotkit"),
        ("will you remember me next week?", "this conversation"),
        ("你还记得我吗", "本次对话"),
        ("does it work without internet?", "no internet"),
        ("需要联网吗", "不需要联网"),
        ("is this free to use?", "are free"),
        ("用这个要钱吗", "免费"),
        ("who can see my messages?", "not sent"),
        ("我的聊天记录会保存吗", "不会再发送"),
        ("where are the settings kept", "rightseat.toml"),
        ("在哪里设置", "rightseat.toml"),
        ("有没有使用教程", "docs/"),
        ("what exactly is this?", "This is rightseat"),
        ("这个是干什么用的", "这是 rightseat"),
        ("do you have feelings?", "I am a program"),
        ("你几岁了", "我是一个程序"),
        ("were you made by openai", "No. I am SmolLM2"),
        ("is there a way to swap in a bigger model", "rightseat models"),
        ("where does the api key go", "OPENAI_API_KEY"),
        ("does anyone read my messages?", "not sent"),
        ("how does this thing work?", "No tools are set up"),
    ],
)
def test_questions_about_the_assistant(question: str, expected: str) -> None:
    answer = find(question)
    assert answer is not None
    assert expected in answer


@each_case(
    "question",
    [
        "What is a model organism?",
        "hi, what is the capital of France?",
        "Thank you note for my teacher, please write one",
        "Who is the president of France?",
        "What are you thinking about when you see a tree?\nTell me.",
        "How do plants make food?",
        "Goodbye Lenin: what is that film about?",
        "你好，日本的首都是哪里？",
        "模型飞机怎么做？",
        "How do I boil an egg?",
        "help me write a letter",
        "What are your opening hours?",
        "What things are there to do in Paris?",
        "How do you help a choking person?",
        "List the tools a carpenter uses",
        "what can I do in Rome this weekend?",
        "How do I write a function in Python?",
        "How can I use Python to read a file?",
        "What is a REST API?",
        "Where is data stored in a computer?",
        "Is it free to park there?",
        "Where can I find a guide to Paris?",
        "what are you waiting for?",
        "你是不是中国人",
        "可以用数学模型解释吗",
    ],
)
def test_other_questions(question: str) -> None:
    assert find(question) is None


def test_an_application_with_a_voice_of_its_own_is_not_introduced() -> None:
    assert find("who are you?", own=True) is None
    assert find("hi", own=True) is None


def test_a_reply_to_a_question_is_no_small_talk() -> None:
    assert find_help_answer("ok", "en", (), {}, has_own_voice=False, is_reply=True) is None


def test_pages_that_are_named_exist() -> None:
    text = "\n".join(answer for topic in SETUP_TOPICS for answer in (topic.en, topic.zh))
    pages = set(re.findall(r"docs/[a-z-]+\.md", text))
    assert pages
    assert all((ROOT / page).is_file() for page in pages)
