"""Answers about the assistant itself: greetings, what it can do, and how to set it up, in English and Chinese.

They are templates: the weights know nothing of this server and would invent commands. A question must fit a
pattern as a whole, because other questions share most of its words.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping

from msgspec import Struct

from rightseat.models.llamacpp.embedded.shortcuts import Shortcut
from rightseat.types.language import Language
from rightseat.types.model import ToolSpec
from rightseat.types.sentences import get_sentence

MAX_QUESTION = 120
_MAX_TOOLS = 12
_MAX_SUMMARY = 200
_NOISE = re.compile(r"[\s!！?？.。,，~～…:：;；)(]+")
_I_CAN = (
    r"(?:(?:how|where) (?:do|can|could|would|should) (?:i|we)|(?:can|could) (?:i|we|you)|i(?:'d| would) like to|"
    r"i want to|"
    r"is it possible to|how to)"
)
_ZH_HOW = r"(?:请问)?(?:我)?(?:应该|想|可以|能不能|能否|能)?(?:怎么样|怎么|如何|怎样)?(?:才能|可以|能)?"
_HERE = r"(?: (?:here|instead|to (?:you|this|it|rightseat)|with (?:you|this|it|rightseat)|for (?:this|you)))*"
_MODEL_EN = (
    "I am the embedded model of rightseat: SmolLM2 with 135 million parameters, on this machine, with an adapter for "
    "calling tools. I am good at calling tools and answering from their results, and weak at knowledge and reasoning."
)
_MODEL_ZH = (
    "我是 rightseat 内置的小模型：SmolLM2，1.35 亿参数，在这台机器上运行，带有调用工具的适配器。"
    "我擅长调用工具并根据结果回答，不擅长常识和推理。"
)


class HelpTopic(Struct, frozen=True):
    """Questions of one kind by a pattern, and their answer."""

    pattern: str
    en: str
    zh: str

    def matches(self, text: str) -> bool:
        return _compile(self.pattern).fullmatch(text) is not None

    def get_answer(self, language: Language) -> str:
        return self.zh if language == "zh" else self.en


@functools.cache
def _compile(pattern: str) -> re.Pattern[str]:
    """Compile with the first question: start-up does not pay for the patterns."""
    return re.compile(pattern, re.IGNORECASE)


SMALL_TALK = (
    HelpTopic(
        r"(?:hi|hello|hey|hiya|yo|greetings|good (?:morning|afternoon|evening|day)|(?:hi|hello|hey) there|"
        r"你好[啊呀]?|您好|嗨|哈喽|早上好|下午好|晚上好|早安|大家好|在吗)",
        "Hello! How can I help you?",
        "你好！请问有什么可以帮您？",
    ),
    HelpTopic(
        r"(?:ok(?:ay)? )?(?:(?:great|cool|perfect) )?(?:thanks?|thank you|thx|ty|cheers)"
        r"(?: (?:you|so much|very much|a lot|again|that's all|for (?:your|the) help))*|"
        r"(?:好的?)? ?(?:非常|多)?(?:谢谢|感谢|多谢)(?:你|您|了|啦|你的帮助)*",
        "You're welcome! Ask me anything else whenever you like.",
        "不客气！还有问题随时问我。",
    ),
    HelpTopic(
        r"(?:good ?bye|bye|bye bye|see you(?: later| soon| tomorrow)?|good night|cya|再见|拜拜|晚安|回头见|明天见)",
        "Goodbye! Have a nice day.",
        "再见，祝您愉快！",
    ),
    HelpTopic(
        r"(?:(?:hi|hey|hello)(?: there)? )?(?:how are you(?: doing)?(?: today)?|how(?:'s| is) (?:it|"
        r"your day)(?: going)?|"
        r"what(?:'s| is) up)|(?:(?:你好|早上好|下午好|晚上好|嗨)[啊呀]? ?)?(?:你好吗|你怎么样|最近怎么样|最近好吗|"
        r"(?:你)?今天(?:过得|心情)?(?:怎么样|好吗|如何))",
        "I'm fine, thank you. How can I help you?",
        "我很好，谢谢！请问有什么可以帮您？",
    ),
    HelpTopic(
        r"(?:can|do) you (?:speak|understand|know) (?:chinese|english)|"
        r"(?:你|您)?(?:会|能|可以)(?:说|讲|用)(?:中文|英文|英语|汉语)吗?",
        "I understand English and Chinese requests; my own sentences are best in English.",
        "可以，我能听懂中文和英文的请求；我的英文比中文好。",
    ),
    HelpTopic(
        r"(?:test|testing|ping|hello world|are you there|anybody there|is this working|does this work|测试|测试一下)",
        "Yes, I am here. Ask me a question.",
        "我在，请提问。",
    ),
)
ACKNOWLEDGEMENT = HelpTopic(
    r"(?:ok(?:ay)?|cool|great|nice|perfect|good|got it|i see|alright|all right|wow|well done|awesome|"
    r"好的?|好吧|明白了?|知道了|不错|太好了|真棒|厉害)",
    "Good! What would you like to do next?",
    "好的！接下来想做什么？",
)
WHO = HelpTopic(
    r"(?:(?:hi|hey|hello|so) )?(?:who are you|what are you|who (?:made|built|created|trained) you|what(?:'s|"
    r" is) your name|"
    r"(?:what|which) (?:ai |language |kind of )?(?:model|llm|ai) (?:are you|is this|do you use|is it|am i (?:talking|"
    r"speaking) "
    r"(?:to|with))|are you (?:an? )?(?:ai|robot|bot|human|person|chatgpt|gpt|claude|gemini|real|llm|real person)|"
    r"(?:please )?introduce yourself|tell me about yourself)|"
    r"(?:请问|你好)? ?(?:你|您)(?:到底)?是谁[啊呀]?|(?:你|您)叫什么(?:名字)?|(?:请)?(?:做个|介绍一下)?(?:你自己|"
    r"自我介绍)(?:一下)?|"
    r"你(?:是|用的是)(?:什么|哪个|哪种)(?:ai|大|语言)?模型|你是(?:不是)?(?:一个)?(?:人|机器人|真人|ai|人工智能|"
    r"chatgpt|gpt|claude)吗?|"
    r"谁(?:创造|开发|做|训练)了?你|你是谁(?:创造|开发|做|训练)的",
    _MODEL_EN,
    _MODEL_ZH,
)
CAPABILITY = HelpTopic(
    r"(?:(?:hi|hey|hello|so|ok) )*(?:what (?:else )?(?:can|could|do) (?:you|this(?: thing| bot| assistant| server)?|"
    r"it) "
    r"(?:actually |all )?(?:do|help(?: me)?(?: with)?|offer)(?: for (?:me|us))?(?: here)?|"
    r"what (?:are|is) your (?:capabilit(?:y|ies)|abilit(?:y|ies)|skills?|features?|tools?|functions?)|"
    r"what are you (?:able to do|capable of|good at)|how (?:can|could|do) you help(?: me| us)?|"
    r"what (?:kinds? of )?(?:things|tasks|tools|features|questions) (?:can|do) (?:you|i) (?:do|have|offer|"
    r"ask(?: you)?|use)|"
    r"what tools (?:are there|are available|do you have)|what can i (?:ask|do|say)(?: you| here| with (?:you|this))?|"
    r"help|help me|menu|(?:list|show)(?: me)?(?: all)?(?: the| your)? (?:capabilities|abilities|features|tools))|"
    r"(?:请问|你好)? ?(?:你|您)(?:都|还)?(?:能|会|可以)(?:帮我|为我|帮忙)?(?:做|干|帮)(?:我)?(?:些|点)?(?:什么|啥|"
    r"哪些事情?|忙)?(?:呢|啊|吗)?|"
    r"(?:你|您)(?:都|还)?(?:会|能)(?:些)?(?:什么|啥)(?:呢|啊)?|(?:你|您)?有(?:什么|哪些)(?:功能|工具|能力|本领)(?:呢|"
    r"啊)?|"
    r"我(?:能|可以)问(?:你)?(?:些)?(?:什么|哪些)(?:问题)?|(?:怎么|如何)使用你|帮助|功能",
    "",
    "",
)
SETUP_TOPICS = (
    HelpTopic(
        rf"{_I_CAN} (?:add|register|create|write|make|define|connect|give you|use) "
        rf"(?:(?:my|own|an?|new|custom|another|more|some) )*(?:tools?|actions?){_HERE}|"
        rf"{_ZH_HOW}(?:添加|增加|加|注册|写|定义|接入|使用)(?:一个|新的?|我的|自己的|我自己的|自定义的?)*工具(?:呢|吗)?",
        "Write a Python function, decorate it with `@tool` and name it in `rightseat.toml`: "
        '`[assistants.default]` with `tools = ["my_tools:my_function"]`. The page docs/tools.md shows it step by step.',
        "写一个 Python 函数，加上 `@tool` 装饰器，然后在 `rightseat.toml` 里登记："
        '`[assistants.default]` 下写 `tools = ["my_tools:my_function"]`。步骤见 docs/tools.md。',
    ),
    HelpTopic(
        rf"{_I_CAN} (?:change|switch|use|swap|replace|connect|run|configure|choose|pick|get|set|set up|bring)"
        r"(?: to| out)? "
        r"(?:(?:the|an?|my|own|another|different|better|bigger|larger|smarter|other|local|new) )*"
        r"(?:models?|llms?|openai|gpt\S*|claude\S*|gemini\S*|ollama|api key|llama\S*|chatgpt)(?: (?:models?|api|key|"
        r"api key))*"
        rf"{_HERE}|(?:请问)?(?:可以|能不能|能|我想|想)?(?:怎么|如何|怎样)?(?:才能)?(?:换|切换|更换|换成|换个|改用|用|使用|接入|配置|切换到)"
        r"(?:成|到|一个|个)?(?:我|我的|自己的|我自己的|别的|其他的?|另一个|更好的|更大的|本地的?|大)*(?:模型|openai|"
        r"gpt\S*|api ?密钥|密钥|大模型)"
        r"(?:呢|吗)?",
        "Three ways: `rightseat models list` shows better local models, `rightseat models pull NAME` fetches one and "
        "`rightseat models use NAME` makes it answer; `rightseat serve --model FILE.gguf` takes a file of your own; "
        "or set "
        "OPENAI_API_KEY, ANTHROPIC_API_KEY or GEMINI_API_KEY and start again. The page docs/models.md has all of them.",
        "有三种办法：用 `rightseat models list` 查看更好的本地模型，`rightseat models pull NAME` 下载，"
        "`rightseat models use NAME` 启用；用 `rightseat serve --model FILE.gguf` 指定自己的文件；或者设置 "
        "OPENAI_API_KEY、"
        "ANTHROPIC_API_KEY 或 GEMINI_API_KEY 后重新启动。详见 docs/models.md。",
    ),
    HelpTopic(
        rf"{_I_CAN} (?:add|write|create|make|use|install|connect|load) (?:(?:my|own|an?|new|the|rest|openapi|custom) )*"
        rf"(?:plugins?|apis?){_HERE}|what is a plugin|"
        rf"{_ZH_HOW}(?:添加|增加|加|写|安装|使用|接入)(?:一个|新的?|我的|自己的|我自己的)*(?:插件|接口|api)(?:呢|吗)?|什么是插件",
        "A plugin is a folder with a `plugin.json` and the API's OpenAPI file: start with `rightseat serve "
        "--plugins FOLDER`. "
        "The page docs/plugins.md shows how to write one.",
        "插件是一个文件夹，里面有 `plugin.json` 和接口的 OpenAPI 文件：用 `rightseat serve --plugins FOLDER` 启动。"
        "写法见 docs/plugins.md。",
    ),
    HelpTopic(
        rf"{_I_CAN} (?:connect|embed|integrate|call|use)(?: you| this| it)?(?: (?:from|to|with|in|into))? "
        r"(?:(?:my|an?|the|own|your) )*(?:react|copilotkit|openbb|front ?end|website|web ?app|web ?site|browser|mcp|"
        r"ag-?ui)"
        rf"(?: (?:app|client|workspace|page|application|server))?{_HERE}|"
        rf"{_ZH_HOW}(?:把你)?(?:连接|接入|集成|嵌入)(?:到)?(?:我的|我们的|自己的)?(?:react|前端|网站|网页|客户端|openbb|copilotkit)"
        r"(?:应用|里|中|程序)?(?:呢|吗)?",
        "Point your client at this server: OpenAI clients at `/v1`, AG-UI at `/agui`, CopilotKit at `/copilotkit`, "
        "OpenBB Workspace at the server's address, MCP at `/mcp`. The README has a line for each.",
        "把客户端指向本服务器即可：OpenAI 客户端用 `/v1`，AG-UI 用 `/agui`，CopilotKit 用 `/copilotkit`，"
        "OpenBB Workspace 用服务器地址，MCP 用 `/mcp`。README 里每种都有示例。",
    ),
    HelpTopic(
        r"(?:where|do you|does this|is|are) (?:does |do |you )?(?:send |store |save |keep |share )?"
        r"(?:my|our) (?:data|messages|conversations?|chats?|questions?)"
        r"(?: (?:being )?(?:sent|go|goes|stored|saved|private|shared|kept|safe|leave this machine)(?: (?:to|anywhere|"
        r"somewhere|"
        r"here)(?: .{1,20})?)?)?|is (?:this|it) (?:private|offline|local|free)(?: to use)?|do you (?:work|"
        r"run) (?:offline|locally)|"
        r"(?:我的|我们的)?(?:数据|对话|聊天记录)(?:会|会不会)?(?:被)?(?:发送|上传|保存|泄露)(?:到.{1,8})?(?:吗|呢)?|"
        r"(?:你|这个)?(?:是)?(?:可以)?(?:离线|本地|免费)(?:运行|使用|的)?吗",
        "I run on this machine: what you write is not sent anywhere, needs no key and costs nothing. With another "
        "model "
        "configured, your messages go to that model's server.",
        "我在这台机器上运行：您写的内容不会发送到别处，不需要密钥，也不收费。如果配置了其他模型，"
        "消息会发送到那个模型的服务器。",
    ),
    HelpTopic(
        r"where (?:is|are|can i (?:find|read)) (?:the |your )?(?:docs|documentation|manual|readme|tutorial)(?: here)?|"
        r"(?:文档|教程|说明书)在(?:哪里?|哪儿)|(?:哪里|哪儿)(?:有|看|找)(?:你的|使用)?(?:文档|教程|说明书?)",
        "The documentation is in the project's docs/ folder; README.md has the first steps.",
        "文档在项目的 docs/ 文件夹里；README.md 有入门步骤。",
    ),
)


def find_help_answer(
    question: str,
    language: Language,
    tools: tuple[ToolSpec, ...],
    shortcuts: Mapping[str, Shortcut],
    *,
    has_own_voice: bool,
    is_reply: bool = False,
) -> str | None:
    """Return the answer to a greeting or to a question about the assistant; None for other questions.

    `has_own_voice`: an application's system prompt says who the assistant is, so only its tools are told.
    `is_reply`: the assistant asked something before."""
    if len(question) > MAX_QUESTION or "\n" in question.strip():
        return None
    bare = _NOISE.sub(" ", question.replace("’", "'")).strip()
    if CAPABILITY.matches(bare) and (tools or not has_own_voice):
        return describe_tools(tools, shortcuts, language)
    if has_own_voice or is_reply:
        return None
    topics = (*SMALL_TALK, ACKNOWLEDGEMENT, WHO, *SETUP_TOPICS)
    topic = next((topic for topic in topics if topic.matches(bare)), None) or find_loose_topic(bare)
    if topic is CAPABILITY:
        return describe_tools(tools, shortcuts, language)
    if topic is WHO:
        return find_yes_or_no(bare, language) + WHO.get_answer(language)
    return None if topic is None else topic.get_answer(language)


_ASKS_YES_OR_NO = re.compile(r"\b(?:are you|am i|is this|is it)\b|你是(?!谁|什么|哪)|在[跟和]", re.IGNORECASE)
_OTHERS = re.compile(
    r"\b(?:human|person|people|chatgpt|gpt\S*|claude|gemini|copilot|deepseek|siri|alexa)\b|真人|人类|个人|是人吗|"
    r"chatgpt|gpt",
    re.IGNORECASE,
)
_MACHINES = re.compile(r"\b(?:ai|robot|bot|machine|llm|computer|program)\b|机器人?|人工智能|程序|模型", re.IGNORECASE)


def find_yes_or_no(question: str, language: Language) -> str:
    """Return `No. ` to a person who asks for a human or another assistant, `Yes. ` for a machine, else nothing."""
    asks_others, asks_machine = bool(_OTHERS.search(question)), bool(_MACHINES.search(question))
    if not _ASKS_YES_OR_NO.search(question) or asks_others == asks_machine:
        return ""
    if language == "zh":
        return "不是。" if asks_others else "是的。"
    return "No. " if asks_others else "Yes. "


# Words that each kind of looser question has, all of them, about this assistant or server.
_LOOSE_TOPICS: tuple[tuple[HelpTopic, tuple[str, ...]], ...] = (
    (
        WHO,
        (
            r"\b(?:real (?:person|human)|person|human|robot|bot|machine|ai|chatgpt)\b|真人|机器人|人工智能|\bai\b",
            r"\b(?:am i|are you|is this|talking|speaking|chatting)\b|你是|在跟|在和",
        ),
    ),
    (
        CAPABILITY,
        (
            r"\b(?:list|examples?|kind|kinds|sort|things|what|which)\b|哪些|什么|例子",
            r"\b(?:ask|do|help|try|use|able)\b.{0,12}\b(?:you|here|with this|me)\b|\byou\b.{0,8}\b(?:do|help|offer)\b|"
            r"(?:问|用|帮).{0,3}你|你.{0,4}(?:做|帮|会)",
            r"\b(?:can|could|able|should)\b|能|可以|会",
        ),
    ),
    (
        SETUP_TOPICS[1],
        (
            r"\b(?:openai|gpt\S*|chatgpt|llama\S*|ollama|claude|gemini|qwen\S*|mistral\S*|api key|gguf|"
            r"(?:other|another|different|bigger|better|larger|own|real|local) (?:model|llm))\b|"
            r"(?:大|语言|本地|别的|其他|另一个|更好的|更大的|自己的)模型|密钥",
            r"\b(?:plug|use|switch|change|connect|replace|swap|run|instead|configure|set up|bring|have)\b|换|接|用|"
            r"改|配置",
            r"\b(?:can i|could i|may i|how|here|instead|possible|you|this)\b|怎|如何|能|可以|吗",
        ),
    ),
    (
        SETUP_TOPICS[0],
        (
            r"\b(?:tools?|python functions?|my (?:own )?functions?|my (?:own )?code|my script)\b|工具|函数|脚本",
            r"\b(?:you|assistant|here|rightseat|server)\b|你|这里|助手",
            r"\b(?:add|call|use|plug|register|connect|hook|give|run|expose)\b|接|调用|添加|加|注册|用",
            r"\b(?:how|can|could|possible|where)\b|怎|如何|能|可以",
        ),
    ),
)
MAX_LOOSE = 90


def find_loose_topic(bare: str) -> HelpTopic | None:
    """Return the topic of a longer question about this assistant, by the words that it has."""
    if len(bare) > MAX_LOOSE:
        return None
    return next(
        (topic for topic, words in _LOOSE_TOPICS if all(_compile(pattern).search(bare) for pattern in words)), None
    )


def describe_tools(tools: tuple[ToolSpec, ...], shortcuts: Mapping[str, Shortcut], language: Language) -> str:
    """Return what the assistant can do, from its tools."""
    if not tools:
        return get_sentence("embedded_no_tools", language)
    lines = [f"- {_summarize_tool(tool, shortcuts, language)}" for tool in tools[:_MAX_TOOLS]]
    if len(tools) > _MAX_TOOLS:
        lines.append(get_sentence("embedded_more_tools", language, count=len(tools) - _MAX_TOOLS))
    return "\n".join([get_sentence("embedded_can_do", language), *lines])


def _summarize_tool(tool: ToolSpec, shortcuts: Mapping[str, Shortcut], language: Language) -> str:
    """Return the first sentence of the tool's description, or its name."""
    shortcut = shortcuts.get(tool.name)
    if shortcut is not None and language in shortcut.summaries:
        return shortcut.summaries[language]
    first = re.split(r"(?<=[.!?])\s|(?<=[。！？])|\n", tool.description.strip(), maxsplit=1)[0][:_MAX_SUMMARY]
    return f"{first} ({tool.name})" if first else tool.name
