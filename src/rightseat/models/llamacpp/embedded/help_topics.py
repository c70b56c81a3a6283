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
MAKER: dict[Language, str] = {
    "en": "I am SmolLM2, a language model with 135 million parameters, made by Hugging Face. rightseat serves me on "
    "this "
    "machine, with an adapter of its own for calling tools.",
    "zh": "我是 SmolLM2，由 Hugging Face 开发的语言模型，1.35 亿参数。rightseat 在这台机器上运行我，"
    "并为我加上了调用工具的适配器。",
}
"""Answer to those who ask who made the model."""
WRITTEN_ANSWERS: dict[Language, str] = {
    "en": "Some of my answers are written in advance, as this one is, or come from built-in tools; the others I write "
    "myself.",
    "zh": "我的一部分回答是预先写好的（比如这一条）或来自内置工具，其余由我自己生成。",
}
"""Answer to those who ask whether the answers were written before."""


class HelpTopic(Struct, frozen=True):
    """Questions of one kind, and their answer."""

    needs: tuple[str, ...]
    """Patterns that the message has, all of them."""
    vocabulary: Vocabulary | None
    """Words of what is asked; other words make it another question. None: the patterns are of whole clauses."""
    en: str
    zh: str
    takes_asides: bool = True
    """Whether statements around what is asked may have other words."""
    loose: tuple[str, ...] = ()
    """Patterns that tell the topic by themselves where a message has all of them, whatever its other words are."""

    def matches(self, clauses: list[str]) -> bool:
        text = ", ".join(clauses)
        asked = [clause for clause in clauses if not is_statement(clause)] if self.takes_asides else []
        has_needs = all(compile_pattern(pattern).search(text) for pattern in self.needs)
        vocabulary = self.vocabulary
        return has_needs and (vocabulary is None or all(vocabulary.covers(clause) for clause in asked or clauses))

    def matches_loosely(self, clauses: list[str]) -> bool:
        text = ", ".join(clauses)
        return bool(self.loose) and all(compile_pattern(pattern).search(text) for pattern in self.loose)

    def get_answer(self, language: Language) -> str:
        return self.zh if language == "zh" else self.en


@functools.cache
def compile_pattern(pattern: str) -> re.Pattern[str]:
    """Compile with the first question: start-up does not pay for the patterns."""
    return re.compile(pattern)


_ANSWERS_EN = r"(?:answers?|responses?|repl(?:y|ies)|sentences|texts?)"
_WRITTEN_EN = (
    r"(?:pre-?(?:written|made|set|defined|programmed|recorded)|canned|scripted|hard-?coded|written in advance)"
)
_SCRIPTED_EN = rf"{_WRITTEN_EN} {_ANSWERS_EN}|(?:these|your|the|all|those) {_ANSWERS_EN} (?:\w+ ){{0,2}}{_WRITTEN_EN}"
_SCRIPTED_ZH = (
    r"(?:回答|回复|答案|话)(?:都|是|不是|其实){0,3}(?:写好|固定|预设|预先|提前|事先)|"
    r"(?:写好|固定|预设|预先|提前|事先|现成)的?(?:写好的?)?(?:回答|回复|答案|话)"
)
SCRIPTED = rf"\b(?:{_SCRIPTED_EN})\b|{_SCRIPTED_ZH}|\b(?:or|just) (?:\w+ )?script(?:s|ed)?\b"
"""Pattern of questions whether the answers were written before."""
WHO = HelpTopic(
    (
        r"\b(?:models?|llm|(?:an|which|what|or|this|the|of|real) ai|bot|chatbot|bard|grok|llama|qwen|kimi|mistral|"
        r"smollm2?|siri|alexa|robot|human|person|machine|computer|program|chatgpt|gpt\S*|claude|gemini|copilot|"
        r"deepseek|parameters|yourself|your (?:full |first |real )?name|(?:talking|speaking|chatting) (?:to|with)|"
        r"(?:call|name|address|named?|refer to) you|you (?:have a name|called|go by|made|built)|what name|(?:be|"
        r"being) called|your (?:creator|maker|inventor|developer|programmer|company|makers|creators|developers|"
        r"owner)|you (?:from|belong to|work for|owned)|you real|real or|(?:who|what) are you|"
        rf"{_SCRIPTED_EN})\b|{_SCRIPTED_ZH}|\b(?:made|built|"
        r"created|trained|developed|designed|programmed|invented|engineered|coded|manufactured|constructed|crafted|"
        r"makes?|build|create|develop|train|owns?|behind|company is|company are) (?:you|by|the ai|this|it)\b|模型|"
        r"真人|机器人|人工智能|(?<![a-z])ai(?![a-z])|chatgpt|gpt|[你您](?:到底|究竟)?是谁|叫(?:什么|啥)|[你您]的名字|"
        r"(?<!写)自我介绍|[你您]自己|[你您]是什么$|[你您]是.{0,3}公司的|谁.{0,3}(?:创造|开发|做|训练).{0,2}你|"
        r"你是.{1,6}(?:开发|训练|创造|做)|参数|是(?:不是)?(?:一个)?人吗|文心一言|文心|通义千问|千问|豆包|元宝|智谱|"
        r"星火|deepseek|kimi|claude|gemini|llama|谁.{0,3}(?:开发|做出来|发明|写|造)|[你您](?:的)?(?:公司|开发者|作者|"
        r"主人|老板)|哪(?:家|个)(?:公司|团队|厂)|(?:谷歌|百度|阿里|腾讯|微软|字节|华为|openai|google).{0,4}(?:做|"
        r"开发|出|家|训练|的)",
        r"\b(?:you|your|yourself|this|these|here|behind|am i|under the hood|is running|the (?:ai|model|bot|other side|"
        r"other end))\b|[你您]|这|背后|我是?在|^自我介绍",
        r"^(?!.*\b(?:my name|(?:refer to|call|know|about) me|name am i|for me|say that|dog|heard of|(?:do|did) you "
        r"(?:know|like|love) (?!which|what|who|how))\b)",
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
    state answer gpt4 chatbot bard grok kimi mistral smollm smollm2 google openai microsoft meta facebook anthropic
    apple
    amazon nvidia baidu alibaba tencent bytedance huawei deepmind xai ibm hugging face rightseat rightseat's guys behind
    belong from owned did companies makers creators developers origin under hood engine brain technology powering
    exactly kinda by were build create develop train
    answers responses response replies reply canned scripted script scripts pre written prewritten premade preset
    predefined preprogrammed recorded hardcoded hard coded advance them bunch set sentences texts
    generated generate generating
    回答 回复 答案 话 写好 固定 预设 预先 提前 事先 现成 真正 真的 真 只是 自己 生成 想
    聊聊 讲讲 说说 背后 模型 语言 大 小 多大 参数 参数量 基于 版本 叫 名字 名 谁 真人 机器人 机器 人工智能 人 程序
    公司 开发 训练 创造 做 介绍 自我介绍 聊天 说话 对话 聊 跟 不是 还是 家 哪家 哪种 助手
    文心一言 文心 通义千问 千问 豆包 元宝 智谱 星火 deepseek kimi claude gemini llama gpt chatgpt openai google 谷歌
    百度 阿里巴巴
    阿里 腾讯 微软 字节跳动 字节 华为 苹果 发明 造 出来 出品 出 写 作者 开发者 主人 老板 团队 厂 底层 厂家 研发 发布
    属于 旗下
    """),
    _MODEL_EN,
    _MODEL_ZH,
    loose=(
        r"\b(?:are|r) you (?:really |actually |like |just |basically |the |an? |some |same |kind |sort |type |"
        r"of |thing |"
        r"as |based |on |running |powered |by |from |made )*(?:ai|bot|chatbot|robot|human|person|machine|"
        r"chatgpt|gpt\S*|"
        r"claude|gemini|copilot|deepseek|siri|alexa|llama|qwen|openai|google|microsoft|meta)\b|"
        r"\b(?:what|which|whose) (?:\w+ )?(?:ai|llm|language model) (?:are you|is (?:this|it)|am i|do you use|runs?|"
        r"powers)|[你您]是(?:不是)?.{0,6}(?:机器人|真人|人工智能|ai|模型|chatgpt|gpt|豆包|千问|deepseek)",
    ),
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
        r"features?|functions|tools)\b|\b(?:where|how)\b.*\b(?:i|we|to|one)\b.*\b(?:start|begin|started)\b|\b(?:sure|"
        r"know|idea|clue)\b.*\b(?:where|how|what)\b.*\b(?:start|begin|ask|do here|do with (?:this|you))\b|"
        r"\bwhat are you (?:good |here |useful |used |meant )?(?:at|for)\b|\bwhat is (?:this (?:good |useful |used |"
        r"meant )?for|(?:this|it) all about)\b|\bhow does this(?: thing| all| chat| app| bot| assistant)? work$|"
        r"^(?:please |i need )?help(?: me)?(?: please)?$|^menu$|(?:能|会|可以)(?:帮|为)?.{0,4}(?:做|干|"
        r"帮)(?:.{0,3}(?:什么|啥|哪些)|点|忙?$)|[你您].{0,3}[会能](?:些)?(?:什么|啥)|[你您]知道怎么做(?:哪些|什么|啥)|(?:什么|哪些|啥).{0,2}(?:功能|"
        r"工具|能力|本领|本事|用处|技能)|[你您]的?.{0,3}(?:功能|能力|本领|技能)|[你您](?:都)?(?:懂|"
        r"擅长)(?:些)?(?:什么|啥)|[你您](?:是|来)?(?:干嘛|干什么|做什么)(?:用)?的?$|问[你您]?(?:些|点)?(?:什么|哪些|"
        r"啥)|(?:怎么|如何)使用[你您]|^(?:帮助|功能)$|(?:从哪|怎么|如何|该怎样).{0,3}(?:开始|入手|上手|入门)|(?:能|"
        r"可以|该)怎么用[你您这]?|[你您](?:都|最)?(?:拿手|擅长)|(?:第一次|刚来|刚用|新来|不知道).*(?:例子|建议|示例)",
        r"^(?!.*\b(?:you (?:like|love|want|need|see|say|think|mind)|know me|good time|born|start (?:an?|the)|began|"
        r"did)\b)(?!.*\bi (?:need|want) (?!to know|some|an?|ideas|suggestions|examples))",
    ),
    Vocabulary("""
    do doing help helping offer ask asking try trying use using useful good capable able capability capabilities
    ability abilities skill skills feature features function functions things thing stuff task tasks tool tools
    question questions example examples idea ideas suggestion suggestions suggest list assistant bot chatbot server
    work works first time new type types subject subjects topic topics area areas query queries answer answers
    answering respond response know about knowledgeable knowledgable familiar versed assist accept allowed commands
    command bored asked certain best opened started start begin menu may programmed benefit complete anything
    something everything available me show demo sure unsure clue lost confused beginner newbie used meant here getting
    bit honestly no idea completely totally today place short brief briefly summary summarized summarised
    拿 来 干嘛 懂 擅长 技能 做 干 帮我 帮忙 忙 事情 事 功能 工具 能力 本领 本事 用处 用 使用 不知道 问题 例子 示例
    建议 介绍 第一次 刚来 刚 新来 助手 机器人 帮助 试试 试 哪些
    从哪里 从哪儿 从哪 开始 入手 上手 入门 新手 小白 拿手 最 先 第一步 东西 玩 玩意儿 玩意
    """),
    "",
    "",
    takes_asides=False,
    loose=(
        r"\bwhat(?:'s|s| is| are)? (?:exactly |actually )?(?:this|you|it(?= (?:all|good|used|meant|"
        r"useful)\b))\b(?: (?:thing|page|site|website|app|chat|tool|bot|assistant|server|demo|program|place|"
        r"window|box|all|whole|one)){0,2} (?:good |useful |used |meant |"
        r"here |made |built )?for(?=$|,)|\bwhat(?:'s|s| is)? (?:the )?(?:point|purpose|use|idea) of (?:this|it|"
        r"you)\b|"
        r"\bwhat (?:exactly |else )?(?:does|do|can|could|would) (?:this|it|you)\b(?: (?:thing|page|site|"
        r"website|app|chat|"
        r"tool|bot|assistant|server|demo|program))?(?: (?:actually|really|all|even))*(?: (?:do|help|offer))"
        r"(?: (?:me|us|here|for|with|out|exactly|now))*(?=$|,)|"
        r"\bwhat (?:can|could|should|do) i (?:do|use|try|ask)(?: \w+)?(?: (?:here|first|this|you|"
        r"it))+(?: for)?(?=$|,)|"
        r"\b(?:tour|overview|introduction|intro|rundown) (?:of|to) (?:what you|you|your|this(?=$|,| (?:page|"
        r"app|tool|thing|site)))|"
        r"\bwhat(?: have)? you(?:'ve| have)? got(?=$|,| for me)|\bhow (?:do|can|should|would) i (?:even |actually )?"
        r"use (?:this|you|it)(?: \w+)?(?=$|,)|\bwhat(?:'s|s| is) possible (?:here|with (?:this|you))|"
        r"\bhow can (?:this|you|it)(?: \w+)? help\b|"
        r"(?:这|你|您).{0,8}(?:干嘛|干什么|做什么|干啥|做啥|有什么用|有啥用)(?:用)?(?:的|呀|啊|呢)*(?=$|,)|"
        r"(?:介绍|说说|讲讲|列).{0,6}(?:有)?(?:哪些|什么|啥|你的|您的).{0,2}(?:功能|本领|用处|能力)|"
        r"(?:你|您|这).{0,6}[能会可].{0,4}(?:做|干|帮).{0,6}(?:什么|啥|哪些|点什么)|(?:有|会)(?:哪些|什么|啥)(?:功能|"
        r"本领|本事|技能)",
        r"^(?!.*\b(?:you (?:like|love|think|see|mean)|with (?!this|you|it|your|here\b)\w+)\b)",
    ),
)
_SETUP = """
add register create write make define connect plug hook expose extend integrate install build bring set setup
configure put load change switch use using swap replace run running pick choose work support call code own custom
new another more server assistant bot rightseat step steps way explain do does instead did link wire attach let
reach access query able works
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
            r"create|write|build|bring|custom|own|give|new|use it|as a tool|let you)\b|添加|增加|加|注册|写|定义|接|"
            r"调用|扩展|自己的",
            r"\b(?:how|can|could|possible|where|what|support|do i)\b|怎|如何|能|可以|支持",
        ),
        Vocabulary(
            _SETUP
            + """
        tool tools action actions function functions python script scripts code added registered adding calling let
        it into inventory database as wrote written turn
        工具 函数 脚本 代码 程序 功能
        """
        ),
        "Write a Python function, decorate it with `@tool` and name it in `rightseat.toml`: "
        '`[assistants.default]` with `tools = ["my_tools:my_function"]`. The page docs/tools.md shows it step by step.',
        "写一个 Python 函数，加上 `@tool` 装饰器，然后在 `rightseat.toml` 里登记："
        '`[assistants.default]` 下写 `tools = ["my_tools:my_function"]`。步骤见 docs/tools.md。',
        loose=(
            r"\b(?:tools?|functions?|scripts?|code|python)\b|工具|函数|脚本|代码|功能|python",
            r"\b(?:my|own|i (?:wrote|made|built|have|coded|created)|i've (?:got|written|made|built)|"
            r"we (?:wrote|built|"
            r"have)|custom|our|new)\b|自己|自定义|我(?:们)?(?:写|做|有|的|用|编)|新|自个",
            r"\b(?:you|this|here|assistant|bot|rightseat|it)\b|[你您这]|助手|rightseat|自己的(?:小)?工具",
            r"\b(?:add|put|place|go|goes|register|connect|plug|hook|expose|integrate|call|use|give|teach|let|"
            r"make|access|"
            r"wire|attach|run|bring|load)\b|加|放|注册|接|用|调|教|连|装|扩展|集成|改",
            r"\b(?:how|where|what|can|could|possible|way|which)\b|怎|如何|哪|能|可以|吗",
            r"^(?!.*(?:\b(?:fix|bug|error|debug|write (?:me|a)|review|garden|kitchen|wood)\b|帮我写|报错|错误|"
            r"是什么意思))",
        ),
    ),
    HelpTopic(
        (
            r"\b(?:plugins?|openapi|(?:my|our|own|rest|an?|this|company|internal) (?:\w+ )?(?:apis?|endpoints?|"
            r"web ?services?)|(?:have|got|built|wrote|made|run)\b[^,]{0,40}\b(?:apis?|endpoints?|"
            r"web ?services?))\b(?! keys?)|插件|接口|api(?! ?(?:密钥|keys?))",
            r"\b(?:add|write|create|make|use|install|connect|load|call|let you|hook|plug|link|integrate|wire|reach|"
            r"query|access|bring|what is a(?= plugin))\b|添加|增加|加|写|安装|使用|接|连|调用|对接|什么是插件",
            r"\b(?:how|can|could|where|what|possible|do)\b|怎|如何|能|可以|什么",
        ),
        Vocabulary(
            _SETUP + "plugin plugins openapi rest api apis endpoint endpoints service services webservice web company "
            "internal http backend 插件 接口 api 服务 公司 对接 连 内部 后端"
        ),
        "A plugin is a folder with a `plugin.json` and the API's OpenAPI file: start with `rightseat serve "
        "--plugins FOLDER`. "
        "The page docs/plugins.md shows how to write one.",
        "插件是一个文件夹，里面有 `plugin.json` 和接口的 OpenAPI 文件：用 `rightseat serve --plugins FOLDER` 启动。"
        "写法见 docs/plugins.md。",
        loose=(
            r"\b(?:plugins?|openapi|rest api|(?:my|our|own|company|company's|internal) (?:\w+ ){0,2}(?:apis?|"
            r"endpoints?|"
            r"web ?services?|backend))\b(?! keys?)|插件|(?:公司|我们|自己|内部|后端).{0,4}(?:接口|api|服务)(?!密钥)",
            r"\b(?:add|write|create|make|use|install|connect|load|call|let|hook|plug|link|integrate|wire|reach|give|"
            r"bring|develop|build)\b|添|加|写|装|用|接|连|调",
            r"\b(?:how|can|could|where|what|possible|way|do)\b|怎|如何|能|可以|哪|吗",
            r"\b(?:you|this|here|it|plugins|rightseat)\b|[\u4e00-\u9fff]",
            r"^(?!.*\b(?:wordpress|chrome|vscode|vs code|minecraft|obsidian|photoshop|firefox|excel|wifi|jenkins)\b)",
        ),
    ),
    HelpTopic(
        (
            r"(?<![a-z])mcp(?![a-z])",
            r"\b(?:connect|add|use|call|hook|plug|integrate|support|set ?up|configure|attach|install|link|put|wire|"
            r"register|work)\b|连|接|用|加|支持|配置",
            r"\b(?:how|can|could|where|what|possible|do|does|is)\b|怎|如何|能|可以|支持|吗",
        ),
        Vocabulary(_SETUP + "mcp server servers client clients tool tools with 服务器 服务 客户端 工具 连 mcp"),
        "Name the MCP server in `rightseat.toml`: `[mcp.notes]` with a `command` or a `url`, then `mcp = "
        '["notes"]` under '
        "`[assistants.default]`. MCP clients find this server at `/mcp`. The page docs/mcp.md has both.",
        "在 `rightseat.toml` 里登记 MCP 服务器：`[mcp.notes]` 下写 `command` 或 `url`，再在 `[assistants.default]` "
        "下写 "
        '`mcp = ["notes"]`。MCP 客户端可连接本服务器的 `/mcp`。两者都见 docs/mcp.md。',
    ),
    HelpTopic(
        (
            r"\b(?:databases?|postgres\w*|mysql|mariadb|sqlite|duckdb|sql server|db)\b|数据库|postgres|mysql|sqlite|"
            r"duckdb",
            r"\b(?:connect|add|use|hook|plug|integrate|link|query|access|reach|read|attach|wire|work with|support|"
            r"give|let you|point|talk to)\b|连|接|用|查|读|加|支持|配置",
            r"\b(?:how|can|could|where|what|possible|do|does|is)\b|怎|如何|能|可以|支持|吗",
            r"\b(?:my|our|own|you|this|here|rightseat|assistant|bot|it)\b|[我你您这]|自己",
        ),
        Vocabulary(
            _SETUP
            + """
        database databases postgres postgresql mysql mariadb sqlite duckdb sql db company data read talk point company's
        directly existing to up
        数据库 数据 公司 连 查询 查 读取 读 postgres postgresql mysql sqlite duckdb 直接 对接 里面
        """
        ),
        'Name the database in `rightseat.toml`: `[databases.shop]` with `url = "sqlite:///shop.db"` (PostgreSQL, '
        "MySQL and "
        "DuckDB too). Flows of plugins query it, and only read. The page docs/databases.md shows it.",
        '在 `rightseat.toml` 里登记数据库：`[databases.shop]` 下写 `url = "sqlite:///shop.db"`（也支持 '
        "PostgreSQL、MySQL 和 "
        "DuckDB）。插件的流程可以查询它，而且只读。写法见 docs/databases.md。",
    ),
    HelpTopic(
        (
            r"\b(?:react|vue|angular|copilotkit|openbb|front ?end|ui|web ?site|web ?app|web ?page|app|ag-?ui|"
            r"openai (?:client|sdk))\b|react|前端|网站|网页|客户端|openbb|copilotkit|vue",
            r"\b(?:connect|embed|integrate|call|use|add|put|plug|hook|link|wire|attach)\b|连接|接|集成|嵌入",
            r"\b(?:how|can|could|where|what|possible|do)\b|怎|如何|能|可以",
            r"\b(?:you|this|my|our|rightseat|server|assistant|copilotkit|openbb|ag-?ui|bot|it)\b|[\u4e00-\u9fff]",
        ),
        Vocabulary(
            _SETUP
            + """
        react vue angular copilotkit openbb frontend front website site webapp web app page agui ag-ui ag ui client sdk
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
            r"\b(?:switch|change|replace|swap|connect|hook|plug|load|configure|set ?up|bring|support|instead|install|"
            r"download|put|need|api key|go|set|enter|paste|add)\b|\b(?:can|could|may|do|should|would|to|"
            r"possible)\b.*\b(?:use|run|get|try|work)\b|换|接|用|改|配置|设|填|需要|支持",
            r"\b(?:how|can|could|may|where|which|what|do (?:i|we|you)|possible|is there a way|any way)\b|怎|如何|能|"
            r"可以|吗|哪|支持",
            r"\b(?:i|we|this|it|here|my|support|to|in|your|the api key)\b|[\u4e00-\u9fff]",
            r"^(?!.*\b(?:under the hood|behind)\b)",
        ),
        Vocabulary(
            _SETUP
            + """
        go goes belongs stronger anthropic's openai's enter paste there's
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
        loose=(
            r"\b(?:openai|anthropic|gpt\S*|chatgpt|llama\S*|ollama|claude|gemini|qwen\S*|mistral\S*|deepseek|vllm|"
            r"lm ?studio|azure|bedrock|openrouter|groq|hugging ?face|api keys?|gguf|llms?|language model|"
            r"(?:better|bigger|"
            r"larger|smarter|stronger|other|another|different|own|local|your|the|a) model)\b|模型|密钥|openai|"
            r"gpt|ollama|"
            r"deepseek|claude|gemini|qwen|千问|豆包|kimi|智谱|[\u4e00-\u9fff].*(?<![a-z])key(?![a-z])|"
            r"(?<![a-z])key(?![a-z]).*[\u4e00-\u9fff]",
            r"\b(?:use|uses|using|run|switch|change|replace|swap|connect|hook|plug|load|configure|set|point|"
            r"put|enter|paste|"
            r"add|make|get|have|install|move|upgrade|try|talk to|work|works|go)\b|换|接|用|改|配|设|填|连|装|"
            r"加|升级|放",
            r"\b(?:how|where|what (?:do|should|must|would|to)|can|could|possible|way|is there|do i)\b|怎|如何|"
            r"哪|能不能|"
            r"能|可以|可否|吗",
            r"\b(?:this|here|you|it|your|rightseat|my|i|model)\b|[你您这我]|里面|填|换|配置|接入|本地",
            r"^(?!.*(?:\b(?:write|train|fine-?tune|essay|fashion|role|car|plane|business|who (?:made|built)|"
            r"better than|versus|vs|maps?|model for \w+ing|remote|airplane|3d|data)\b|训练|区别|哪个好|是谁|是什么))",
        ),
    ),
    HelpTopic(
        (
            r"\b(?:remember|forget|recall|memory|learn from|history|know (?:who i am|me|my name))\b|记得|记住|忘记|"
            r"记忆|认识我|历史记录",
            r"\b(?:do|does|will|can|could|have|are|would)\b.*\byou\b|\b(?:is|are|where)\b.*\b(?:history|chats?|"
            r"conversations?)\b|[你您]",
            r"^(?!.*\b(?:to|the|that|when|how|if)\b(?! (?:me|chat|conversation|history|i am|next|day)))",
            r"\b(?:me|my|our|we|this|conversations?|chats?|history|memory|us|i am|i said)\b|我|对话|聊天|说过|"
            r"记忆力?|历史|之前",
        ),
        Vocabulary("""
        remember forget recall memory learn history who name conversation conversations chat chats next week tomorrow
        time
        day later said before earlier last talk talked told previous messages message after close closed long session
        sessions save saved keep stored ever come back later long-term between anything everything
        记得 记住 忘记 记忆力 记忆 认识 历史记录 历史 对话 聊天 聊过 聊 说过 之前 以前 上次 下次 明天 下周 内容 名字
        记 叫 谁 会不会 能不能 的话
        过 刚才 东西 学习 学
        """),
        "I see only the messages of this conversation, and I do not learn from them: a new conversation starts "
        "without them. "
        "The server stores the threads of CopilotKit clients on its machine: see docs/threads.md.",
        "我只能看到本次对话里的消息，也不会从中学习；新的对话会从头开始。"
        "CopilotKit 客户端的会话保存在服务器所在的机器上：见 docs/threads.md。",
        takes_asides=False,
    ),
    HelpTopic(
        (
            r"\b(?:offline|without (?:the |an |any )?(?:internet|network|wifi|wi-fi|connection)|(?:you|this|it|"
            r"rightseat|assistant|bot|model)\b.{0,10}\b(?:need|needs|require|requires|use)\b.{0,20}\b(?:internet|"
            r"online|network|wifi|connection)|do (?:i|we) need (?:the |an |to be |to go )*(?:internet|online|wifi)|"
            r"no (?:internet|wifi|connection)|locally|airplane mode|(?:is|are) (?:this|it|you) local)\b|离线|断网|"
            r"没有?网|不联网|不连网|(?:需要|要|用)(?:不用)?(?:联网|网络|上网)|本地(?:运行|跑|的)",
            r"\b(?:you|this|it|i|we|rightseat|assistant|server|bot|model)\b|[\u4e00-\u9fff]",
            r"\b(?:do|does|can|could|will|is|are|what|if|how)\b|吗|能|可以|会|是不是|是否|么|还|需",
        ),
        Vocabulary("""
        offline without internet network wifi wi-fi fi wi connection online need needs require requires use used work
        works
        working run runs running function locally local machine computer laptop goes down airplane mode connect
        connected
        access any happens still too plane disconnected model server bot assistant rightseat
        离线 断网 没网 没有网络 没有网 不联网 不连网 联网 网络 上网 需要 不用 用 使用 本地 运行 跑 工作 的话 时候 情况
        下 是不是 还 必须
        一定 模型 电脑 正常 网 么 不 断 机器 助手 服务
        """),
        "I run on the server's machine and need no internet, once the model has been downloaded (98 MB). Other "
        "models and APIs "
        "that you connect may need it.",
        "我在服务器所在的机器上运行，模型下载一次（98 MB）之后不需要联网。您另外接入的模型和接口可能需要。",
        takes_asides=False,
    ),
    HelpTopic(
        (
            r"\b(?:free|cost|costs|pay|paid|price|pricing|subscription|you charge|charged? for|fee|fees|licen[sc]e|"
            r"open[ -]source|money|credit card)\b|免费|收费|付费|要钱|花钱|多少钱|价格|开源|许可证|费用|付钱",
            r"\b(?:this|it|you|your|rightseat|i|using|use|assistant|bot|model)\b|[你您这]|^(?:是|要|需要|"
            r"用)?(?:不是)?(?:免费|收费|付费|要钱|花钱|开源)|使用|^多少钱",
            r"\b(?:is|are|do|does|how|what|will|can|must|need)\b|吗|么|多少|什么|是不是|是否|怎么|不要钱",
            r"^(?!.*\b(?:free (?:time|will|now|today|tonight|tomorrow|for)|free speech|wifi)\b)",
        ),
        Vocabulary("""
        free cost costs pay paid paying price pricing subscription charge charged fee fees license licence open source
        money
        credit card anything something use using used assistant bot model rightseat of charge subscribe completely
        totally
        cents dollars account sign sourced open-source under
        免费 收费 付费 要钱 花钱 钱 价格 开源 许可证 费用 付钱 使用 用 是不是 怎么 不 要不要 需不需要 需 助手 模型
        服务 完全 软件 项目 么
        """),
        "rightseat and this model are free: both are under the Apache-2.0 licence, without a key or an account. "
        "Another "
        "model that you connect may cost what its provider asks.",
        "rightseat 和这个模型都是免费的：采用 Apache-2.0 许可证，不需要密钥，也不需要账号。"
        "您另外接入的模型可能由其提供方收费。",
        takes_asides=False,
    ),
    HelpTopic(
        (
            r"\b(?:my|our|your users'?)\b.*\b(?:data|info|information|messages?|conversations?|chats?|questions?|"
            r"input|prompts?)\b|\bwhat i (?:type|write|say|ask|enter)\b|\b(?:this|these|the) (?:chats?|"
            r"conversations?)\b|\b(?:is|are) (?:this|you) (?:\w+ )?(?:safe|secure)\b|\b(?:is|are) (?:this|it|"
            r"you) (?:\w+ )?(?:private|confidential)\b|\bprivacy\b|数据|对话|聊天记录|隐私|消息|信息|内容|输入|"
            r"我(?:说|写|问|发)的",
            r"\b(?:sent?|sending|go|goes|stored?|saved?|private|shared?|kept|keep|safe|secure|leaves?|leaving|"
            r"collect|"
            r"collected|track|tracked|upload|uploaded|privacy|logged|recorded|train|confidential|"
            r"(?:who|anyone|anybody|someone|others|else)\b.*\b(?:reads?|see|sees|access))\b|"
            r"发送|发到|发给|传|保存|存|泄露|泄漏|安全|隐私|收集|记录|看到|训练|外泄",
            r"\b(?:is|are|do|does|where|will|who|can|what about|how)\b|吗|会不会|是否|哪|谁|么|怎么",
            r"^(?!.*(?:\b(?:data|information) (?:in|of|on|from)\b|\b(?:can|could|would) you\b|\bplease\b|"
            r"\bwhat is (?!my|your|sent|stored|saved|shared)|什么是|是什么))",
            r"\b(?:you|my|our|i|this|it|anywhere|somewhere|here|anyone|privacy)\b|[我你您这]|数据|隐私",
        ),
        Vocabulary("""
        data info information message messages conversation conversations chat chats questions send sent sending go
        goes store
        stored save saved private share shared keep kept safe secure leave leaves leaving machine computer anywhere
        somewhere
        use used train training work run internet cloud server being collect collected track tracked upload uploaded
        privacy
        logged recorded anyone someone anybody third party parties else read reads type write typed input prompt
        prompts text
        laptop outside elsewhere to confidential network company your enter typing personal staying stay stays policy
        world
        数据 对话 聊天记录 记录 发送 发到 发给 上传 传到 传 保存 存储 存在 存 泄露 泄漏 外泄 隐私 安全 运行 使用
        会不会 服务器 网上 云端 消息
        信息 内容 输入 写 发 别人 外面 外部 第三方 收集 看到 人 谁 训练 拿去 拿来 出去 么 聊天 我的 个人 云 模型 保密
        """),
        "I run on the server's own machine: what you write is not sent anywhere else. The threads of CopilotKit "
        "clients "
        "are stored there (docs/threads.md). With another model configured, your messages go to that model's server.",
        "我在服务器所在的机器上运行：您写的内容不会再发送到别处。CopilotKit 客户端的会话也保存在那里（见 "
        "docs/threads.md）。"
        "如果配置了其他模型，消息会发送到那个模型的服务器。",
        takes_asides=False,
    ),
    HelpTopic(
        (
            r"\b(?:settings?|config(?:uration)?(?: file)?|configure (?:you|this|it|rightseat))\b|设置|配置|选项",
            r"\b(?:where|how|which|what)\b|哪|怎么|如何|怎样",
            r"\b(?:where|your|you|this|rightseat|server|it|here)\b|哪|[你您这]|服务器|rightseat",
        ),
        Vocabulary("""
        settings setting config configuration configure file files preferences options kept keep stored store saved
        live located
        find change changed edit adjust open server rightseat is folder default set put
        设置 配置 选项 文件 修改 改 找 看 打开 调 保存 存 放 哪里 哪儿 里 rightseat 服务器 界面
        """),
        "The settings are in `rightseat.toml`, in the folder where `rightseat serve` starts, or in the file of "
        "`--config "
        "FILE`. The page docs/config.md explains them.",
        "设置写在 `rightseat.toml` 里：放在运行 `rightseat serve` 的文件夹，或用 `--config FILE` 指定。说明见 "
        "docs/config.md。",
        takes_asides=False,
    ),
    HelpTopic(
        (
            r"\b(?:docs|documentation|manual|readme|tutorials?|guide|help pages?|instructions)\b|文档|教程|说明|"
            r"手册|指南",
            r"\b(?:where|is there|are there|have|find|read|got|link|show me)\b|哪|有没有|有|找|看",
            r"^(?!.*\bguide to\b)",
        ),
        Vocabulary("""
        docs documentation manual readme tutorial tutorials guide help page pages instructions find read link project
        rightseat server user assistant kept located online getting started
        文档 教程 说明书 说明 手册 指南 使用 看 找 哪里 哪儿 里 项目 官方 用户 rightseat 详细
        """),
        "The documentation is in the project's docs/ folder; README.md has the first steps.",
        "文档在项目的 docs/ 文件夹里；README.md 有入门步骤。",
    ),
    HelpTopic(
        (
            r"^(?:(?:so|ok|and|but|um|wait|hmm|well) )*(?:what(?:'s|s| is)?(?: exactly)?(?: is)? (?:this|rightseat)|"
            r"what(?: exactly)? is this|explain (?:this|rightseat)|tell me (?:about|what) (?:this|"
            r"rightseat))(?: (?:thing|place|site|website|page|app|application|program|tool|chat|exactly|all|about|"
            r"project|is|for|then|here|called|software|server))*$|^(?:请问)?(?:这个?|rightseat)(?:到底|"
            r"究竟)?是(?:个)?(?:什么|啥|干什么|做什么|干嘛)(?:东西|网站|软件|玩意儿?|用|程序|项目|应用|的|呀|啊|"
            r"呢)*$|^什么是rightseat$",
        ),
        None,
        "This is rightseat, a Python backend for copilot front ends: OpenAI clients, OpenBB, CopilotKit, AG-UI and MCP "
        "clients use the models, tools and agents that you give it. I am its small built-in model; ask me “What can "
        "you do?”.",
        "这是 rightseat，一个面向各种 copilot 前端的 Python 后端：OpenAI 客户端、OpenBB、CopilotKit、AG-UI 和 MCP "
        "客户端都能使用您配置的模型、工具和代理。我是它内置的小模型，您可以问我“你能做什么？”。",
        takes_asides=False,
    ),
    HelpTopic(
        (
            r"^(?!.*\b(?:if|when you|someone|because|that|supposed|allowed)\b)(?:(?:so|and|but|hey|then) )*(?:(?:do|"
            r"can|did|have|will) you (?:ever |really |actually |even |also )*(?:sleep|eat|dream|feel (?:pain|"
            r"anything|things|emotions?|love)|get (?:tired|bored|lonely|hungry|angry)|have (?:any |real |a |"
            r"an )*(?:feelings?|emotions?|soul|body|family|girlfriend|boyfriend|gender|birthday|hobb(?:y|ies)|"
            r"friends?|kids|children|consciousness|pets?|opinions?|dreams?|personality|job)|(?:like|love|hate|"
            r"enjoy) (?!to\b)[^,]{2,30})|are you (?:ever |really |actually |a |an |in |so |getting )*(?:conscious|"
            r"sentient|self-aware|married|single|alive|lonely|happy|sad|love|male|female|boy|girl|man|woman|tired|"
            r"hungry|afraid|scared|old|young|rich|smart|clever|intelligent)(?: or (?:a )?\w+)?|how old are you|"
            r"what(?:'s|s| is) your (?:age|birthday|gender|iq|hobby|favou?rite [a-z ]{3,20})|when (?:were you born|"
            r"is your birthday)|where (?:are you from|do you live|were you born|are you|do you come from)|"
            r"what do you (?:look like|eat|like|do for fun))(?: (?:now|today|too|really|exactly|at night|anyway|"
            r"right now))*$|^[你您](?:今年)?(?:几岁|多大(?:年纪|岁数)?[了啦]?$|住在?哪|来自哪|从哪里?来|是哪里人|"
            r"是男|是女|结婚|有(?:没有)?(?:感情|情感|意识|家人|朋友|女朋友|男朋友|爱好|生日|对象|灵魂)|"
            r"会(?:不会)?(?:做梦|累|难过|伤心|生气|睡觉|孤独|害怕|死)|(?:最)?喜欢(?:什么|吃什么|哪)[^,]{0,8}$|"
            r"(?:的)?生日|累不累|累吗|幸福吗|开心吗)",
        ),
        None,
        "I am a program, a small language model on this machine: I have no age, feelings or tastes of my own. Ask me "
        "“What "
        "can you do?” to see what I can help with.",
        "我是一个程序，是运行在这台机器上的小模型，没有年龄、感情和喜好。您可以问我“你能做什么？”，看看我能帮您什么。",
        takes_asides=False,
    ),
)
