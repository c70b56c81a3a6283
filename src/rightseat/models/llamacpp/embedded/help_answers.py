"""Answers about the assistant itself: greetings, what it can do, and how to set it up, in English and Chinese.

They are templates: the weights know nothing of this server and would invent commands.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from rightseat.models.llamacpp.embedded.shortcuts import Shortcut
from rightseat.types.language import Language
from rightseat.types.model import ToolSpec

_MAX_TOOLS = 12
_NOISE = re.compile(r"[\s!！?？.。,，~～…:：)(]+")


class HelpTopic(Struct, frozen=True):
    """Questions of one kind, and their answer."""

    pattern: re.Pattern[str]
    answers: Mapping[Language, str]
    needs_own_voice: bool = False
    """Whether an application's system prompt replaces the answer."""


def _topic(pattern: str, en: str, zh: str, *, own: bool = False) -> HelpTopic:
    return HelpTopic(re.compile(pattern, re.IGNORECASE), {"en": en, "zh": zh}, own)


SMALL_TALK = (
    _topic(
        r"(?:hi|hello|hey|hiya|yo|greetings|good (?:morning|afternoon|evening|day)|hi there|hello there|hey there|"
        r"你好|您好|嗨|哈喽|早上好|下午好|晚上好|早安|大家好|在吗|你好啊|你好呀)",
        "Hello! How can I help you?",
        "你好！请问有什么可以帮您？",
    ),
    _topic(
        r"(?:ok(?:ay)? ?)?(?:great ?|cool ?|perfect ?)?(?:thanks?|thank you|thx|ty|cheers)(?: you)?(?: (?:so much|"
        r"very much|a lot|"
        r"again|for (?:your|the) help))*(?: that(?: i|')s all)?|(?:好的?|ok)?(?:非常|多)?(?:谢谢|感谢|多谢)(?:你|您|"
        r"了|啦|你的帮助)*",
        "You're welcome! Ask me anything else whenever you like.",
        "不客气！还有问题随时问我。",
    ),
    _topic(
        r"(?:good ?bye|bye|bye bye|see you(?: later| soon| tomorrow)?|good night|cya|再见|拜拜|晚安|回头见|明天见)",
        "Goodbye! Have a nice day.",
        "再见，祝您愉快！",
    ),
    _topic(
        r"(?:hi|hey|hello)?(?: there)? ?(?:how are you(?: doing)?(?: today)?|how(?:'s| is) (?:it|"
        r"your day)(?: going)?)|what(?:'s| is) up|你好吗|你怎么样|最近怎么样|"
        r"最近好吗",
        "I'm fine, thank you. How can I help you?",
        "我很好，谢谢！请问有什么可以帮您？",
    ),
    _topic(
        r"(?:ok(?:ay)?|cool|great|nice|perfect|good|got it|i see|alright|all right|wow|well done|awesome|"
        r"好的?|好吧|明白了?|知道了|不错|太好了|真棒|厉害)",
        "Good! What would you like to do next?",
        "好的！接下来想做什么？",
    ),
    _topic(
        r"(?:can|do) you (?:speak|understand|know) (?:chinese|english)|(?:你|您)?(?:会|能|可以)(?:说|讲|用)(?:中文|"
        r"英文|英语|汉语)吗?",
        "I understand English and Chinese requests; my own sentences are best in English.",
        "可以，我能听懂中文和英文的请求；我的英文比中文好。",
    ),
    _topic(
        r"(?:test|testing|ping|hello world|are you there|anybody there|is this working|does this work|测试|测试一下)",
        "Yes, I am here. Ask me a question.",
        "我在，请提问。",
    ),
)

_MODEL_EN = (
    "I am the embedded model of rightseat: SmolLM2 with 135 million parameters, on this machine, with an adapter for "
    "calling tools. I am good at calling tools and answering from their results, and weak at knowledge and reasoning."
)
_MODEL_ZH = (
    "我是 rightseat 内置的小模型：SmolLM2，1.35 亿参数，在这台机器上运行，带有调用工具的适配器。"
    "我擅长调用工具并根据结果回答，不擅长常识和推理。"
)
SETUP_TOPICS = (
    _topic(
        r"\bwho (?:are|r) (?:you|u)\b|\bwho (?:made|built|created|trained|wrote) you\b|\bwhat are you\b|what(?:'s|"
        r" is) your name|(?:what|which) (?:ai |"
        r"language )?(?:model|llm) "
        r"(?:are you|is this|do you use|is it|am i)|are you (?:an? )?(?:ai|robot|bot|human|person|chatgpt|gpt|claude|"
        r"gemini|"
        r"real|llm)\b|introduce yourself|tell me about yourself|你是谁|你叫什么|介绍一下你自己|自我介绍|你是什么模型|"
        r"你是(?:不是)?(?:人|机器人|真人|ai|chatgpt|gpt|claude)|谁(?:创造|开发|做|训练)了?(?:的)?你|"
        r"(?:什么|哪个|哪种)模型(?:\?|？|$)|你是不是",
        _MODEL_EN,
        _MODEL_ZH,
        own=True,
    ),
    _topic(
        r"\b(?:how|where|can i|could i|i want to|i'd like to)\b.*\b(?:add|register|write|create|make|define|use|"
        r"give you|connect)\b"
        r".*\b(?:tools?|functions?|actions?)\b|(?:怎么|如何|怎样|能不能|可以).*(?:添加|加|注册|写|定义|接入|"
        r"使用).*(?:工具|函数)",
        "Write a Python function, decorate it with `@tool` and name it in `rightseat.toml`: "
        '`[assistants.default]` with `tools = ["my_tools:my_function"]`. The page docs/tools.md shows it step by step.',
        "写一个 Python 函数，加上 `@tool` 装饰器，然后在 `rightseat.toml` 里登记："
        '`[assistants.default]` 下写 `tools = ["my_tools:my_function"]`。步骤见 docs/tools.md。',
    ),
    _topic(
        r"\b(?:how|where|can i|could i|i want to|i'd like to|is it possible)\b.*\b(?:change|switch|use|swap|replace|"
        r"connect|add|set|run|"
        r"configure|choose|pick|get)\b.*\b(?:models?|llm|gpt|openai|claude|gemini|ollama|api key|llama)\b|"
        r"(?:better|bigger|larger|smarter|another|different|my own) (?:model|llm)|"
        r"(?:怎么|如何|怎样|能不能|可以|想).*(?:换|切换|用|使用|接入|配置|更换|改).*(?:模型|openai|gpt|密钥|大模型)|"
        r"换个?(?:更好的)?模型",
        "Three ways: `rightseat models list` shows better local models, `rightseat models pull NAME` fetches one and "
        "`rightseat models use NAME` makes it answer; `rightseat serve --model FILE.gguf` takes a file of your own; "
        "or set "
        "OPENAI_API_KEY, ANTHROPIC_API_KEY or GEMINI_API_KEY and start again. The page docs/models.md has all of them.",
        "有三种办法：用 `rightseat models list` 查看更好的本地模型，`rightseat models pull NAME` 下载，`rightseat "
        "models use NAME` 启用；"
        "用 `rightseat serve --model FILE.gguf` 指定自己的文件；或者设置 OPENAI_API_KEY、ANTHROPIC_API_KEY 或 "
        "GEMINI_API_KEY 后重新启动。"
        "详见 docs/models.md。",
    ),
    _topic(
        r"\b(?:how|where|can i|could i|i want to|i'd like to|what)\b.*\b(?:plugins?|openapi|my api|an api|rest api)\b|"
        r"(?:怎么|如何|怎样|能不能|可以|什么是).*(?:插件|接口|api)",
        "A plugin is a folder with a `plugin.json` and the API's OpenAPI file: start with `rightseat serve "
        "--plugins FOLDER`. "
        "The page docs/plugins.md shows how to write one.",
        "插件是一个文件夹，里面有 `plugin.json` 和接口的 OpenAPI 文件：用 `rightseat serve --plugins FOLDER` 启动。"
        "写法见 docs/plugins.md。",
    ),
    _topic(
        r"\b(?:how|where|can i|could i|i want to|i'd like to)\b.*\b(?:connect|use|embed|integrate|"
        r"call)\b.*\b(?:react|copilotkit|openbb|"
        r"front ?end|website|web ?app|client|browser|mcp|ag-?ui|curl|python)\b|"
        r"(?:怎么|如何|怎样|能不能|可以).*(?:连接|接入|集成|嵌入).*(?:react|前端|网站|网页|客户端|openbb|copilotkit)",
        "Point your client at this server: OpenAI clients at `/v1`, AG-UI at `/agui`, CopilotKit at `/copilotkit`, "
        "OpenBB Workspace at "
        "the server's address, MCP at `/mcp`. The README has a line for each.",
        "把客户端指向本服务器即可：OpenAI 客户端用 `/v1`，AG-UI 用 `/agui`，CopilotKit 用 `/copilotkit`，OpenBB "
        "Workspace 用服务器地址，"
        "MCP 用 `/mcp`。README 里每种都有示例。",
    ),
    _topic(
        r"\b(?:where|do you|does|is|are)\b.*\b(?:my )?(?:data|messages|conversations?|chats?)\b.*\b(?:sent|send|"
        r"stored?|saved?|go(?:es)?|"
        r"leave|private|shared?|kept)\b|\bis (?:this|it) (?:private|offline|local|free)\b|do you (?:work|run) offline|"
        r"(?:数据|对话|聊天记录).*(?:发送|上传|保存|存|泄露|安全)|(?:离线|本地|免费)(?:运行|的)?吗",
        "I run on this machine: what you write is not sent anywhere, needs no key and costs nothing. With another "
        "model configured, "
        "your messages go to that model's server.",
        "我在这台机器上运行：您写的内容不会发送到别处，不需要密钥，也不收费。如果配置了其他模型，"
        "消息会发送到那个模型的服务器。",
    ),
    _topic(
        r"\b(?:where|how)\b.*\b(?:docs?|documentation|manual|tutorial|guide)\b|(?:文档|教程|说明书)在哪|(?:哪里|"
        r"哪儿)(?:有|看|找).*(?:文档|教程)",
        "The documentation is in the project's docs/ folder; README.md has the first steps.",
        "文档在项目的 docs/ 文件夹里；README.md 有入门步骤。",
    ),
)
CAPABILITY = re.compile(
    r"\bwhat (?:else )?(?:can|could|do) (?:you|u|this|it)(?: all)? (?:do|help|offer|know)|\bwhat (?:are|is) (?:your|"
    r"you able|you capable)"
    r"|\bhow (?:can|could|do) (?:you|u) help|\bwhat(?: kinds? of)? (?:things|tasks|tools|features|"
    r"skills)\b.*\b(?:you|have|there)\b|"
    r"\bwhat can i (?:ask|do|say)\b|^(?:help|help me|menu)$|\b(?:your|list(?: all| the)?) (?:capabilities|abilities|"
    r"features|tools)\b|"
    r"(?:你|您)(?:都|还)?(?:能|会|可以)(?:做|干|帮|为)[^，,。]{0,8}(?:什么|啥|哪些|忙)|(?:你|您)(?:都|还)?(?:会|"
    r"能)(?:什么|啥)|"
    r"有(?:什么|哪些)(?:功能|工具|能力|本领)|我(?:能|可以)问(?:你)?(?:什么|哪些)|(?:怎么|如何)使用你|^(?:帮助|功能)$",
    re.IGNORECASE,
)
_CAPABILITY_SENTENCES: dict[str, dict[Language, str]] = {
    "head": {"en": "I can chat a little, and I can do this for you:", "zh": "我可以简单聊聊天，还可以为您做这些："},
    "none": {
        "en": "I can answer short questions in English. No tools are set up here yet: see docs/tools.md for how to "
        "add one.",
        "zh": "我可以回答简短的问题。这里还没有配置工具，添加方法见 docs/tools.md。",
    },
    "more": {"en": "… and {} more tools", "zh": "……还有 {} 个工具"},
}


def find_help_answer(
    question: str,
    language: Language,
    tools: tuple[ToolSpec, ...],
    shortcuts: Mapping[str, Shortcut],
    *,
    has_own_voice: bool,
) -> str | None:
    """Return the answer to a greeting or to a question about the assistant; None for other questions.

    `has_own_voice`: an application's system prompt says who the assistant is."""
    text = question.strip()
    if len(text) > 200 or "\n" in text:
        return None
    bare = _NOISE.sub(" ", text).strip()
    for topic in SMALL_TALK:
        if topic.pattern.fullmatch(bare):
            return topic.answers[language]
    if len(text) <= 80 and CAPABILITY.search(bare):
        return describe_tools(tools, shortcuts, language)
    for topic in SETUP_TOPICS:
        if topic.pattern.search(text) and not has_own_voice:
            return topic.answers[language]
    return None


def describe_tools(tools: tuple[ToolSpec, ...], shortcuts: Mapping[str, Shortcut], language: Language) -> str:
    """Return what the assistant can do, from its tools."""
    sentences = {key: by_language[language] for key, by_language in _CAPABILITY_SENTENCES.items()}
    if not tools:
        return sentences["none"]
    lines = [f"- {_summarize_tool(tool, shortcuts, language)}" for tool in tools[:_MAX_TOOLS]]
    if len(tools) > _MAX_TOOLS:
        lines.append(sentences["more"].format(len(tools) - _MAX_TOOLS))
    return "\n".join([sentences["head"], *lines])


def _summarize_tool(tool: ToolSpec, shortcuts: Mapping[str, Shortcut], language: Language) -> str:
    """Return the first sentence of the tool's description, or its name."""
    shortcut = shortcuts.get(tool.name)
    if shortcut is not None and language in shortcut.summaries:
        return shortcut.summaries[language]
    first: Any = re.split(r"(?<=[.!?])\s|(?<=[。！？])|\n", tool.description.strip(), maxsplit=1)[0]
    return f"{first} ({tool.name})" if first else tool.name
