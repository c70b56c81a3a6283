"""Topics of questions about the assistant itself: the words that tell each of them, and its answer. No I/O."""

from __future__ import annotations

import functools
import re

from msgspec import Struct

from rightseat.models.llamacpp.embedded.clauses import Vocabulary, is_statement
from rightseat.types.language import Language

_MODEL_EN = (
    "I am the embedded model of rightseat: SmolLM2 with 135 million parameters, on this machine, with an adapter for "
    "calling tools. I am good at calling tools and answering from their results, and weak at knowledge and reasoning."
)
_MODEL_ZH = (
    "我是 rightseat 内置的小模型：SmolLM2，1.35 亿参数，在这台机器上运行，带有调用工具的适配器。"
    "我擅长调用工具并根据结果回答，不擅长常识和推理。"
)


class HelpTopic(Struct, frozen=True):
    """Questions of one kind, and their answer."""

    needs: tuple[str, ...]
    """Patterns that the message has, all of them."""
    vocabulary: Vocabulary
    """Words of what is asked; other words make it another question."""
    en: str
    zh: str
    takes_asides: bool = True
    """Whether statements around what is asked may have other words."""

    def matches(self, clauses: list[str]) -> bool:
        text = ", ".join(clauses)
        asked = [clause for clause in clauses if not is_statement(clause)] if self.takes_asides else []
        has_needs = all(_compile(pattern).search(text) for pattern in self.needs)
        return has_needs and all(self.vocabulary.covers(clause) for clause in asked or clauses)

    def get_answer(self, language: Language) -> str:
        return self.zh if language == "zh" else self.en


@functools.cache
def _compile(pattern: str) -> re.Pattern[str]:
    """Compile with the first question: start-up does not pay for the patterns."""
    return re.compile(pattern)


_COURTESY_WORDS = """
hi hello hey hiya yo howdy greetings good morning afternoon evening day to you all everyone there again dear
assistant bot robot ai computer friend friends partner mate buddy sir team folks and so oh well ok okay please my
the today very much a s
你好 您好 嗨 哈喽 哈啰 哈罗 早上好 上午好 中午好 下午好 晚上好 早安 早 大家 各位 朋友 助手 啊 呀 呢 吗 哦 嘛 吧 了
啦 好 的 你 您
"""
_COURTESY = Vocabulary(_COURTESY_WORDS, with_common=False)


def _small_talk(pattern: str, words: str, en: str, zh: str) -> HelpTopic:
    return HelpTopic((pattern,), Vocabulary(words + _COURTESY_WORDS, with_common=False), en, zh)


# The first that fits answers: what stands above is more of an answer than what stands below.
SMALL_TALK = (
    _small_talk(
        r"\bhow(?:'s|'re|s| is| are| have| goes)? (?:you|it going|it hanging|your|things|life|everything)\b|"
        r"\bhow do you (?:do|feel)|\bwhat(?:'s| is|s) (?:up|new|happening|going on)|\bare you (?:doing |"
        r"feeling )?(?:ok|okay|alright|well|fine)\b|你好吗|怎么样|最近好吗|(?:过得|心情)(?:好|如何)",
        "how are hows doing is it going hanging your been things life everything lately what whats up new "
        "happening on do feel feeling with for treating goes have right now ok alright fine re 最近 今天 过得 过的 "
        "心情 怎么样 如何 好吗",
        "I'm fine, thank you. How can I help you?",
        "我很好，谢谢！请问有什么可以帮您？",
    ),
    _small_talk(
        r"\b(?:speak|understand|know) (?:chinese|english)|(?:说|讲|用|懂)(?:中文|英文|英语|汉语)",
        "can do speak understand know chinese english 会 能 可以 说 讲 用 懂 中文 英文 英语 汉语",
        "I understand English and Chinese requests; my own sentences are best in English.",
        "可以，我能听懂中文和英文的请求；我的英文比中文好。",
    ),
    _small_talk(
        r"\b(?:thanks?|thx|ty|cheers|appreciated?|grateful|thankful)\b|谢|辛苦",
        "great cool perfect nice thanks thank thx ty cheers so lot again that is all for your help i appreciate "
        "it appreciated many that's awesome got helping helped helpful letting me know answer answering info "
        "information assistance assisting response time kindly bunch million question really grateful thankful am "
        "m been have ve big are re best out giving this now need want like would can 非常 多谢 谢谢 感谢 十分 "
        "你的 您的 帮助 辛苦",
        "You're welcome! Ask me anything else whenever you like.",
        "不客气！还有问题随时问我。",
    ),
    _small_talk(
        r"\b(?:good ?bye|bye|(?:see|catch) (?:you|ya)|good night|cya|later|farewell|adios|sayonara|ciao|take care|"
        r"have a (?:good|nice|great)|i (?:have|need|got) to (?:go|run)|gotta (?:go|run))\b|\b(?:nice|good|"
        r"great)\b.*\b(?:talk|chat|speak)(?:ing)? (?:to|with) you\b|再见|拜拜|晚安|回头见|明天见",
        "goodbye bye see ya later soon tomorrow night cya for now have nice one catch around farewell adios "
        "sayonara ciao take care go going run got gotta need i it was great talking chatting speaking talk chat "
        "speak with until next time 再见 拜拜 晚安 回头见 明天见",
        "Goodbye! Have a nice day.",
        "再见，祝您愉快！",
    ),
    _small_talk(
        r"\b(?:testing|ping|hello world|working|home|(?:are you|anybody|anyone|somebody|someone) (?:there|here|"
        r"around))\b|^(?:just a )?test\b|does this work|测试|在吗|在不在|有人",
        "test testing just ping world is are anybody anyone somebody someone home here around this it working "
        "does work on online awake 测试 一下 在 不在 有人 有没有人 这里",
        "Yes, I am here. Ask me a question.",
        "我在，请提问。",
    ),
    _small_talk(
        r"\b(?:hi|hello|hey|heyo|hiya|yo|sup|howdy|greetings|aloha|hola|bonjour|ahoy|salutations|morning|(?:nice|"
        r"good) to see|good (?:morning|afternoon|evening|day)|meet you)\b|你好|您好|嗨|哈[喽啰罗]|[早午晚]上?好|"
        r"早安|大家好|^早|认识",
        "heyo sup aloha hola bonjour ahoy salutations see nice pleased glad great meet meeting is it hope are "
        "doing having i am 很 高兴 认识 见到 幸会 祝",
        "Hello! How can I help you?",
        "你好！请问有什么可以帮您？",
    ),
    _small_talk(
        r"^(?:ok(?:ay)?|cool|great|nice|perfect|good|got it|i see|alright|all right|wow|well done|awesome|好|明白|"
        r"知道了|不错|太好了|真棒|厉害)",
        "cool great nice perfect got it i see alright right wow done awesome 好吧 明白 知道 不错 太 真 棒 厉害",
        "Good! What would you like to do next?",
        "好的！接下来想做什么？",
    ),
)
_PLEASANTRY = (
    r"^(?:i )?hope (?:you|all|this)\b|^(?:i am|i'm|im|my name is|my name's|this is) [a-z]+$|^(?:我是|我叫).{1,4}$"
)

WHO = HelpTopic(
    (
        r"\b(?:models?|llm|(?:an|which|what|or|this|the|of|real) ai|bot|robot|human|person|machine|computer|program|"
        r"chatgpt|gpt\S*|claude|gemini|copilot|deepseek|parameters|yourself|your (?:full |first |real )?name|"
        r"(?:talking|speaking|chatting) (?:to|with)|(?:call|name|address|named?|refer to) you|you (?:have a name|"
        r"called|go by|made|built)|what name|(?:be|being) called|your (?:creator|maker|inventor|developer|"
        r"programmer)|you real|real or|(?:who|what) are you)\b|\b(?:made|built|created|trained|developed|designed|"
        r"programmed|invented|engineered|coded|manufactured|constructed|crafted|makes|behind) (?:you|by|the ai|"
        r"this)\b|模型|真人|机器人|人工智能|(?<![a-z])ai(?![a-z])|chatgpt|gpt|[你您](?:到底|究竟)?是谁|叫(?:什么|"
        r"啥)|[你您]的名字|(?<!写)自我介绍|[你您]自己|[你您]是什么$|[你您]是.{0,3}公司的|谁.{0,3}(?:创造|开发|做|"
        r"训练).{0,2}你|你是.{1,6}(?:开发|训练|创造|做)|参数|是(?:不是)?(?:一个)?人吗",
        r"\b(?:you|your|yourself|this|here|behind|am i|the (?:ai|model|bot|other side|other end))\b|[你您]|这|背后|"
        r"我是?在|^自我介绍",
        r"^(?!.*\b(?:my name|(?:refer to|call|know|about) me|name am i|for me|say that|dog)\b)",
    ),
    Vocabulary("""
    model models llm ai language large big small size how running run runs behind powers power powering powered
    based base using use used uses under hood inside built build made make created trained developed company
    version parameters million billion talking speaking chatting chat real actual human person people being bot
    robot machine computer program chatgpt gpt gpt-3 gpt-4 gpt-4o gpt-5 claude gemini copilot deepseek siri alexa
    llama qwen something name called introduce yourself side end fake live alive agent talk assistant automated
    automatic artificial intelligence software life creator maker inventor developer programmer designed design
    programmed invented engineered coded wrote responsible first full refer address named go goes prefer consider
    think sound whom team organization either whether aren not t someone else specify prove tell way making makes
    call calling known given particular certain manufactured constructed crafted coder owner owns came brought
    state answer gpt4
    聊聊 讲讲 说说 背后 模型 语言 大 小 多大 参数 参数量 基于 版本 叫 名字 名 谁 真人 机器人 机器 人工智能 人 程序
    公司 开发 训练 创造 做 介绍 自我介绍 聊天 说话 对话 聊 跟 不是 还是 家 哪家 哪种 助手
    """),
    _MODEL_EN,
    _MODEL_ZH,
)
CAPABILITY = HelpTopic(
    (
        r"\b(?:what|which|anything|something|things|stuff|tasks)\b.*\b(?:can|could|do|does|are|able)\b.*\b(?:you|"
        r"this|it|assistant|bot|thing|server)\b.*\b(?:do|help|offer|able|capable|good)\b|\b(?:you|this|it|assistant|"
        r"bot)\b.*\b(?:can|could|able to)\b.*\b(?:do|help|offer)\b|\bhow (?:can|could|do|does|would|"
        r"will)\b.*\b(?:you|this|it|assistant|bot)\b.*\b(?:help|assist)\b|\b(?:what|which|kinds?|sorts?|"
        r"types?)\b.*\b(?:subjects?|subject areas|topics?|questions|queries|tasks|commands)\b.*\b(?:you|i|ask|"
        r"answer)\b|\b(?:what|things|stuff)\b.*\byou\b.*\b(?:answer|know|assist|capable|familiar)\b|\bhow (?:can|do|"
        r"should) i use (?:you|this)\b|\b(?:what|which|ideas?|examples?|suggestions?|suggest|questions|things|stuff|"
        r"list)\b.*\b(?:ask|try)\b|\b(?:ask|try)\b.*\b(?:suggestions?|ideas?|examples?)\b|\bwhat can (?:i|we) (?:do|"
        r"use|say)\b|\b(?:your|you|list|show|what|which)\b.*\b(?:capabilit(?:y|ies)|abilit(?:y|ies)|skills?|"
        r"features?|functions|tools)\b|^(?:please |i need )?help(?: me)?(?: please)?$|^menu$|(?:能|会|可以)(?:帮|"
        r"为)?.{0,4}(?:做|干|帮)(?:.{0,3}(?:什么|啥|哪些)|点|忙?$)|[你您].{0,3}[会能](?:些)?(?:什么|啥)|(?:什么|"
        r"哪些|啥).{0,2}(?:功能|工具|能力|本领|本事|用处|技能)|[你您]的?.{0,3}(?:功能|能力|本领|技能)|"
        r"[你您](?:都)?(?:懂|擅长)(?:些)?(?:什么|啥)|[你您](?:是|来)?(?:干嘛|干什么|做什么)(?:用)?的?$|"
        r"问[你您]?(?:些|点)?(?:什么|哪些|啥)|(?:怎么|如何)使用[你您]|^(?:帮助|功能)$|(?:第一次|刚来|刚用|新来|"
        r"不知道).*(?:例子|建议|示例)",
        r"^(?!.*\b(?:you (?:like|love|want|need|see|say|think|mind)|know me|good time)\b)(?!.*\bi (?:need|"
        r"want) (?!to know|some|an?|ideas|suggestions|examples))",
    ),
    Vocabulary("""
    do doing help helping offer ask asking try trying use using useful good capable able capability capabilities
    ability abilities skill skills feature features function functions things thing stuff task tasks tool tools
    question questions example examples idea ideas suggestion suggestions suggest list assistant bot chatbot server
    work works first time new type types subject subjects topic topics area areas query queries answer answers
    answering respond response know about knowledgeable knowledgable familiar versed assist accept allowed commands
    command bored asked certain best opened started start begin menu may programmed benefit complete anything
    something everything available me show demo
    拿 来 干嘛 懂 擅长 技能 做 干 帮我 帮忙 忙 事情 事 功能 工具 能力 本领 本事 用处 用 使用 不知道 问题 例子 示例
    建议 介绍 第一次 刚来 刚 新来 助手 机器人 帮助 试试 试 哪些
    """),
    "",
    "",
    takes_asides=False,
)
_SETUP = """
add register create write make define connect plug hook expose extend integrate install build bring set setup
configure put load change switch use using swap replace run running pick choose work support call code own custom
new another more server assistant bot rightseat step steps way explain do does instead did
添加 增加 新增 加 注册 写 定义 自定义 接入 接进 接到 接 使用 扩展 连接 集成 嵌入 配置 设置 设 安装 换成 换 切换
更换 改用 改成 改 填 放 弄 成 支持 来 进 里 哪里 哪儿 新的 新 助手 步骤 办法 方法 教 调用 当 做
"""
SETUP_TOPICS = (
    HelpTopic(
        (
            r"\btools?\b|\b(?:functions?|code|script)\b.*\b(?:you|assistant|here|rightseat|server)\b|\b(?:you|"
            r"assistant|rightseat|server)\b.*\b(?:functions?|code|script)\b|工具|(?:函数|脚本).*(?:[你您]|这里|"
            r"助手)|(?:[你您]|这里|助手).*(?:函数|脚本)",
            r"\b(?:add(?:ed|ing)?|call|register(?:ed)?|connect|plug|hook|expose|extend|integrate|install|define|"
            r"create|write|build|bring|custom|own|give|new)\b|添加|增加|加|注册|写|定义|接|调用|扩展|自己的",
            r"\b(?:how|can|could|possible|where|what|support|do i)\b|怎|如何|能|可以|支持",
        ),
        Vocabulary(
            _SETUP
            + """
        tool tools action actions function functions python script scripts code added registered adding calling let
        it into inventory database
        工具 函数 脚本 代码 程序 功能
        """
        ),
        "Write a Python function, decorate it with `@tool` and name it in `rightseat.toml`: "
        '`[assistants.default]` with `tools = ["my_tools:my_function"]`. The page docs/tools.md shows it step by step.',
        "写一个 Python 函数，加上 `@tool` 装饰器，然后在 `rightseat.toml` 里登记："
        '`[assistants.default]` 下写 `tools = ["my_tools:my_function"]`。步骤见 docs/tools.md。',
    ),
    HelpTopic(
        (
            r"\b(?:plugins?|openapi|(?:my|our|own|rest|an?) apis?)\b(?! key)|插件|接口|api(?! ?(?:密钥|keys?))",
            r"\b(?:add|write|create|make|use|install|connect|load|what is a(?= plugin))\b|添加|增加|加|写|安装|使用|"
            r"接入|什么是插件",
            r"\b(?:how|can|could|where|what|possible|do)\b|怎|如何|能|可以|什么",
        ),
        Vocabulary(_SETUP + "plugin plugins openapi rest api apis 插件 接口 api"),
        "A plugin is a folder with a `plugin.json` and the API's OpenAPI file: start with `rightseat serve "
        "--plugins FOLDER`. "
        "The page docs/plugins.md shows how to write one.",
        "插件是一个文件夹，里面有 `plugin.json` 和接口的 OpenAPI 文件：用 `rightseat serve --plugins FOLDER` 启动。"
        "写法见 docs/plugins.md。",
    ),
    HelpTopic(
        (
            r"\b(?:react|copilotkit|openbb|front ?end|web ?site|web ?app|web ?page|mcp|ag-?ui)\b|react|前端|网站|"
            r"网页|客户端|openbb|copilotkit",
            r"\b(?:connect|embed|integrate|call|use|add|put)\b|连接|接|集成|嵌入",
            r"\b(?:how|can|could|where|what|possible|do)\b|怎|如何|能|可以",
        ),
        Vocabulary(
            _SETUP
            + """
        react copilotkit openbb frontend front website site webapp web app page mcp agui ag-ui ag ui client
        workspace browser application embed integrate
        前端 网站 网页 客户端 应用 中 程序
        """
        ),
        "Point your client at this server: OpenAI clients at `/v1`, AG-UI at `/agui`, CopilotKit at `/copilotkit`, "
        "OpenBB Workspace at the server's address, MCP at `/mcp`. The README has a line for each.",
        "把客户端指向本服务器即可：OpenAI 客户端用 `/v1`，AG-UI 用 `/agui`，CopilotKit 用 `/copilotkit`，"
        "OpenBB Workspace 用服务器地址，MCP 用 `/mcp`。README 里每种都有示例。",
    ),
    HelpTopic(
        (
            r"\b(?:openai|anthropic|gpt\S*|chatgpt|llama\S*|ollama|claude|gemini|qwen\S*|mistral\S*|deepseek|"
            r"api keys?|keys?|gguf|models?|llms?)\b|模型|密钥|openai|gpt|ollama|deepseek|claude|gemini|qwen|千问|key",
            r"\b(?:switch|change|replace|swap|connect|hook|plug|load|configure|set ?up|bring|support|instead|"
            r"install|download|put|need|api key)\b|\b(?:can|could|may|do|should|would|to|possible)\b.*\b(?:use|run|"
            r"get|try|work)\b|换|接|用|改|配置|设|填|需要|支持",
            r"\b(?:how|can|could|may|where|which|what|do (?:i|we|you)|possible)\b|怎|如何|能|可以|吗|哪|支持",
            r"\b(?:i|we|this|it|here|my|support|to)\b|[\u4e00-\u9fff]",
        ),
        Vocabulary(
            _SETUP
            + """
        openai anthropic gpt gpt-3 gpt-4 gpt-4o gpt-5 chatgpt llama ollama claude gemini qwen mistral deepseek api
        key keys gguf file model models llm llms better bigger larger big large smarter stronger smart powerful
        different local hosted built-in built embedded download try whatever possible something have of good
        hugging face gpt4
        模型 大模型 语言 本地 密钥 通义千问 千问 更好 更大 更强 更 强 大 另一个 聪明 文件
        """
        ),
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
        (
            r"\b(?:my|our)\b.*\b(?:data|messages?|conversations?|chats?|questions?)\b|\b(?:is|are) (?:this|it|"
            r"you) (?:private|offline|local|free)\b|\byou (?:work|run) (?:offline|locally)\b|数据|对话|聊天记录|"
            r"离线|本地|免费|隐私|收费",
            r"\b(?:sent?|go|goes|stored?|saved?|private|shared?|kept|keep|safe|leaves?|offline|local|locally|"
            r"free)\b|发送|上传|保存|泄露|离线|本地|免费|收费|安全",
            r"\b(?:is|are|do|does|where|will)\b|吗|会不会|是否|哪",
        ),
        Vocabulary("""
        data message messages conversation conversations chat chats questions send sent go goes store stored save
        saved private share shared keep kept safe leave leaves machine computer anywhere somewhere offline local
        locally free use work run internet cloud server
        数据 对话 聊天记录 发送 上传 保存 泄露 离线 本地 免费 收费 隐私 安全 运行 使用 会不会 服务器 网上 云端
        """),
        "I run on this machine: what you write is not sent anywhere, needs no key and costs nothing. With another "
        "model "
        "configured, your messages go to that model's server.",
        "我在这台机器上运行：您写的内容不会发送到别处，不需要密钥，也不收费。如果配置了其他模型，"
        "消息会发送到那个模型的服务器。",
    ),
    HelpTopic(
        (
            r"\b(?:docs|documentation|manual|readme|tutorial)\b|文档|教程|说明",
            r"\b(?:where|is there|have|find|read)\b|哪|有没有|有",
        ),
        Vocabulary("docs documentation manual readme tutorial find read 文档 教程 说明书 说明 使用 看 找 哪里 哪儿"),
        "The documentation is in the project's docs/ folder; README.md has the first steps.",
        "文档在项目的 docs/ 文件夹里；README.md 有入门步骤。",
    ),
)


def is_pleasantry(clause: str) -> bool:
    """Tell whether a clause asks nothing: "hope you are doing well", "I'm Anna", "dear assistant"."""
    return _compile(_PLEASANTRY).search(clause) is not None or _COURTESY.covers(clause)
