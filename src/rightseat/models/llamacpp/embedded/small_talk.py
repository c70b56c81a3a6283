"""Small talk: greetings, thanks, moods, compliments and insults, and their answers in English and Chinese. No I/O."""

from __future__ import annotations

import re

from rightseat.models.llamacpp.embedded.clauses import Vocabulary, is_question, is_statement
from rightseat.models.llamacpp.embedded.help_topics import HelpTopic, compile_pattern

_COURTESY_WORDS = """
hi hello hey hiya yo howdy greetings good morning afternoon evening day to you all everyone there again dear
assistant bot robot ai computer friend friends partner mate buddy sir team folks and so oh well ok okay please my
the today very much a s man dude bro pal guys really just haha lol ah aw hmm um uh then too
你好 您好 嗨 嘿 哈喽 哈啰 哈罗 早上好 上午好 中午好 下午好 晚上好 早安 早 大家 各位 朋友 助手 啊 呀 呢 吗 哦 嘛 吧 了
啦 好 的 你 您 哈 诶 哎 唉 噢 喔 哇 嗯 那 小
"""
_COURTESY = Vocabulary(_COURTESY_WORDS, with_common=False)
# Friendly remarks beside a greeting: "lovely weather, isn't it", "hope your day went well".
_REMARK = Vocabulary(
    _COURTESY_WORDS
    + """
    hope hoping i i'm im m am we are re you're your it it's its that is was has have had having been be being doing
    going went goes enjoying keeping wishing wish this that's what lovely nice great beautiful wonderful sunny cold hot
    rainy fine safe happy weather outside here week weekend month year days monday tuesday wednesday thursday friday
    saturday sunday night time long no see finally back first meeting meet pleased glad everything things for with in of
    on an at far start life me coffee one another typo finds
    今天 今晚 昨天 周末 最近 天气 真 不错 很 也 要 加油 一天 愉快 开心 快乐 顺利 希望 祝 一切 都 又 见面 见到 回来 我
    来 是 个 好久不见 好久 不见 没 见 高兴 冷 热 好冷 好热 下雨 新 新的 第一次 心情 辛苦 美好 大 打扰 打扰一下
    """,
    with_common=False,
)
_TAG = r" ?\b(?:isn't it|innit|aren't we|don't you think|right|eh|huh)$"
_NAME = r"^(?:i am|i'm|im|my name is|my name's|this is) [a-z]+$|^(?:我是|我叫).{1,4}$"
# What a person says of oneself beside a greeting: "wish me luck, I have an exam tomorrow".
_ASIDE = (
    r"^(?:i|i'm|im|i've|my|we|we're|we've|it's|it is|it was|it's been|today|that was|just)\b(?!.*(?:\d|\b(?:look|"
    r"looking|wonder|wondering|trying|try|search|searching|stuck|problem|issue|error|question|how|what|why|which|who|"
    r"mean|means|recipe|name|word|called|not|never|still|wrong|\w+n't)\b))|^(?:我|今天|明天|刚)(?!.*(?:\d|问题|"
    r"不知道|"
    r"不|没|还是|出错|报错|怎|什么))"
)
_REMARK_START = r"^(?!what\b(?! an? )|that is what)"


def _small_talk(pattern: str, words: str, en: str, zh: str) -> HelpTopic:
    return HelpTopic((pattern,), Vocabulary(words + _COURTESY_WORDS, with_common=False), en, zh)


_PRAISE = (
    r"(?:clever|smart|great|awesome|amazing|cool|funny|cute|sweet|kind|nice|good|impressive|impressed|helpful|useful|"
    r"brilliant|best|genius|wonderful|fantastic|excellent|perfect|lovely|rock|legend|star|lifesaver|fast|polite)"
)
_BLAME = (
    r"(?:stupid|dumb|useless|idiot|idiotic|moron|rubbish|garbage|trash|terrible|awful|horrible|bad|worst|worthless|"
    r"sucks?|crap|crappy|shit|silly|annoying|slow|wrong|incorrect|nonsense|pathetic|hopeless|lame|broken|"
    r"disappointing|"
    r"hate you|unhelpful|ridiculous|no help|no use|not (?:very |so |that |really |too |at all )?(?:smart|good|clever|"
    r"helpful|useful|right|correct|bright|impressive|true))"
)
GREETING = _small_talk(
    r"\b(?:hi|hello|hey|heyo|hiya|yo|sup|gm|hullo|hallo|g'day|howdy|greetings|aloha|hola|bonjour|ahoy|"
    r"salutations|morning|(?:nice|good|great|lovely) to see|good (?:morning|afternoon|evening|day)|"
    r"meet(?:ing)? you|welcome back|i'm back|long time no see)\b|^(?:afternoon|evening)\b|你好|您好|嗨|"
    r"嘿|哈[喽啰罗]|[早午晚]上?好|早安|午安|中午好|大家好|^早|认识|幸会|^见到[你您]|好久不见|我回来了|又见面",
    "heyo sup gm hullo hallo g'day aloha hola bonjour ahoy salutations see nice pleased glad great lovely meet "
    "meeting is it it's its hope "
    "are doing having i i'm am welcome back long time no finally been 很 高兴 认识 见到 幸会 祝 好久不见 我 "
    "回来 又 见面 能 "
    "也 午安 开心",
    "Hello! How can I help you?",
    "你好！请问有什么可以帮您？",
)
# The first that fits answers: what stands above is more of an answer than what stands below.
SMALL_TALK = (
    _small_talk(
        r"\bhow(?:'s|'re|'ve|s| is| are| have| has| goes| was| were)? (?:you|ya|it going|it hanging|your|things|life|"
        r"everything|everybody|everyone|tricks)\b|\bhow do you (?:do|feel)|\bwhat(?:'s| is|s) (?:up|new|"
        r"happening|going on|good)|"
        r"\bwhat have you been up to|\bare you (?:doing |feeling )?(?:ok|okay|alright|well|fine)\b|^(?:you|"
        r"all) (?:ok|okay|alright|good|well)$|\b(?:did you sleep|have you been) (?:well|ok|okay|good)\b|"
        r"\b(?:did you have|have you had|had|are you having) a (?:good|nice|great)|你好吗|怎么样|[最近]近(?:好|可好|"
        r"如何|还)|(?:过得|心情|睡得)(?:还?好|如何)|[你您]还好吗|^(?:[你您])?吃(?:饭|过|早饭|午饭|晚饭)*了(?:吗|没|"
        r"么)|近来",
        "how are hows doing everybody everyone is it going hanging your been things life everything lately "
        "what whats what's up new "
        "happening on do feel feeling with for treating goes have right now ok alright fine re ya did sleep had having "
        "weekend week night was were has tricks here nice great how's self this holding up keeping ve 最近 近来 "
        "今天 今晚 过得 过的 心情 睡得 可好 "
        "怎么样 怎样 如何 好吗 还好 还 吃饭 吃 饭 早饭 午饭 晚饭 过 没 没有 么 都 周末",
        "I'm fine, thank you. How can I help you?",
        "我很好，谢谢！请问有什么可以帮您？",
    ),
    _small_talk(
        r"\b(?:you|ya) (?:very |too |so |really )?(?:busy|occupied|available)\b|\b(?:you|ya)(?:'ve)? (?:got|have) "
        r"(?:a|some|any) (?:minute|moment|sec|second)\b|^(?:got|have) a (?:minute|moment|sec|second)\b|忙不忙|忙吗|"
        r"^[你您]?(?:现在)?(?:在|很)忙|[你您]?(?:现在)?(?:有空|有时间)(?:吗|没|不)",
        "are do you ya re you're busy occupied available got have some any minute moment sec second for me right now "
        "at the is it can i 've 忙不忙 忙 在 很 现在 今天 最近 有空 有时间 没 没有 不 是不是 工作 都",
        "I have time! How can I help you?",
        "我有空！请问有什么可以帮您？",
    ),
    _small_talk(
        r"(?:\b(?:speak|understand|know)\b|\b(?:can|could|do|does|may)\b.*\b(?:talk|write|read|use|in|answer|"
        r"reply)\b).*\b(?:chinese|mandarin|english|german|french|spanish|japanese|korean|italian|portuguese|russian|"
        r"arabic|hindi)\b|\b(?:which|what|many|other|any) (?:other )?languages?\b|(?:说|讲|用|懂|会|"
        r"支持).{0,2}(?:中文|英文|英语|汉语|普通话|日语|法语|德语|韩语|西班牙语|语言)|什么语言|哪些语言|哪几种语言",
        "can do does speak understand know talk write read use in answer reply which what many other any languages "
        "language chinese mandarin english german french spanish japanese korean italian portuguese russian arabic "
        "hindi i we it are me also or how 会 能 可以 说 讲 用 懂 支持 中文 英文 英语 汉语 普通话 日语 法语 德语 韩语 "
        "西班牙语 语言 什么 哪些 哪几种 几种 种 多少 跟 和 我 我们 还 或者 或 回答 回复 聊天 聊 交流 请 吧 别的 "
        "其他 外语 能不能",
        "I understand English and Chinese requests; my own sentences are best in English.",
        "我能听懂中文和英文的请求；我的英文比中文好。",
    ),
    _small_talk(
        r"\b(?:thanks?|thx|ty|cheers|appreciated?|grateful|thankful|much obliged)\b|谢|辛苦",
        "great cool perfect nice thanks thank thx ty cheers so lot again that is all for your help i appreciate "
        "it appreciated many that's awesome got helping helped helpful letting me know answer answering info "
        "information assistance assisting response time kindly bunch million question really grateful thankful am "
        "m been have ve big are re best out giving this now need want like would can obliged 非常 多谢 谢谢 感谢 十分 "
        "你的 您的 帮助 帮忙 辛苦 真是 太 真 夸奖 提醒 告诉 我",
        "You're welcome! Ask me anything else whenever you like.",
        "不客气！还有问题随时问我。",
    ),
    _small_talk(
        r"\b(?:good ?bye|good ?night|bye|(?:see|catch|talk to|speak to|chat with|write) (?:you|ya)|good night|"
        r"nighty?|cya|later|farewell|adios|sayonara|ciao|take care|sleep well|sweet dreams|have (?:a (?:good|nice|"
        r"great|lovely)|fun)|i (?:have|need|got|must|should)(?: to)? (?:go|run|leave|sleep|be going)|gotta (?:go|run|"
        r"leave|sleep)|i'?m (?:off|leaving|going to bed)|that(?:'s| is| will be| was) all)\b|\b(?:nice|good|"
        r"great)\b.*\b(?:talk|chat|speak)(?:ing)? (?:to|with) you\b|再见|拜拜|晚安|(?:回头|明天|明儿|下次|改天|"
        r"待会儿?|一会儿?)(?:见|聊|再聊)|(?:我|先)(?:要)?(?:走|撤|下线|睡|忙)[了啦咯]|(?:做个?|^)好梦",
        "goodbye goodnight bye see ya later soon tomorrow night nighty cya for now have nice one catch around "
        "farewell adios "
        "sayonara ciao take care go going run got gotta need must should leave leaving off bed sleep dreams sweet "
        "fun i "
        "i'm im it was great lovely talking chatting speaking talk chat speak write with until next time be that "
        "that's "
        "is will all from me rest of your week weekend back work home alright right 再见 拜拜 晚安 回头 明天 明儿 "
        "下次 改天 "
        "待会儿 待会 一会儿 一会 见 再 聊 我 先 要 走 撤 下线 睡 睡觉 忙 咯 去 做个好梦 做好梦 好梦 今天 就 到 这 这里",
        "Goodbye! Have a nice day.",
        "再见，祝您愉快！",
    ),
    _small_talk(
        r"\b(?:testing|ping|hello world|working|home|(?:are you|you|anybody|anyone|somebody|someone) (?:there|here|"
        r"around|online|awake|up))\b|^(?:just a )?test\b|does this work|测试|在吗|在不在|在么|在线|有人|(?:听|"
        r"看)得?到吗|^喂",
        "test testing just ping world is are anybody anyone somebody someone home here around this it working "
        "does work on online awake up 测试 一下 在 不在 在线 么 有人 有没有人 这里 还 喂 能 听到 听得到 看到 看得到",
        "Yes, I am here. Ask me a question.",
        "我在，请提问。",
    ),
    _small_talk(
        rf"^(?!(?:is|was|isn't|wasn't)\b).*\b(?:you|you're|your|this|that|that's|it|it's|thing|bot|ai|model|"
        rf"answers?)\b.*"
        rf"\b{_BLAME}\b|"
        rf"^(?:no )?{_BLAME}(?: (?:bot|ai|robot|assistant|thing|answer|machine|program|one))?$|\bhate (?:you|this)\b|"
        r"\bwhat an? (?:idiot|stupid|dumb|useless)|\bshut up\b|\b(?:fuck|screw|damn) (?:you|this|off)\b|"
        r"笨|蠢|傻|没用|垃圾|废物|差劲|白痴|智障|太差|真差|好差|不聪明|闭嘴|讨厌你|烦人|^滚|(?:答|说|回答)(?:得|"
        r"的)?(?:不对|错了)",
        "you you're youre your re are is this that that's thats it it's its thing bot model answer answers was were no "
        "such an what i i'm hate think totally completely absolutely kinda kind of pretty quite such actually be being "
        "stupid dumb useless idiot idiotic moron rubbish garbage trash terrible awful horrible bad worst worthless "
        "suck "
        "sucks crap crappy shit silly annoying slow wrong incorrect nonsense pathetic hopeless lame broken "
        "disappointing unhelpful ridiculous help use not that at smart clever helpful useful right correct bright "
        "impressive true shut up fuck screw damn off one machine program fucking 怎么 这么 那么 真 太 好 是 个 一个 "
        "笨蛋 "
        "笨死 笨 蠢货 蠢 傻瓜 傻 没用 没什么用 垃圾 废物 差劲 白痴 智障 太差 真差 差 不聪明 不 闭嘴 讨厌 烦人 滚开 滚 "
        "答 说 回答 得 不对 错 这个 这 真是 有点 什么 东西 机器人 模型 人工智障 死 你的",
        "I'm sorry that I was not of more help. I am a very small model, and my answers can be wrong; ask me “What can "
        "you do?” to see what I am good at.",
        "抱歉没能帮上忙。我是一个很小的模型，回答可能有错；您可以问我“你能做什么？”，看看我擅长什么。",
    ),
    _small_talk(
        r"^(?!(?:are|is|was|do|does|can|could|will|what|which|who|how|am)\b|.*\b(?:not|me|if)\b|.*n't\b|"
        r".*[吗么谁哪不])"
        rf"(?:.*\b(?:you|you're|your|that|that's|this|it|it's)\b.*\b{_PRAISE}\b|.*\b(?:love|like|adore) (?:you|"
        rf"it|this|"
        r"that|your)\b|(?:good|nice|great|excellent|amazing) (?:job|work|one|bot|answer|stuff|going)|(?:well done|"
        r"impressive|i'm impressed|not bad|so cool|how nice)|.*(?:聪明|真棒|好棒|太棒|厉害|真好|优秀|可爱|喜欢[你您]|"
        r"爱[你您]|能干|有趣|好玩))",
        "you you're youre your re are is was were that that's thats this it it's its so pretty quite actually super "
        "such "
        "an the i i'm im am think thing the bot one ever kinda of how clever smart great awesome amazing cool funny "
        "cute "
        "sweet kind nice good impressive impressed helpful useful brilliant best genius wonderful fantastic excellent "
        "perfect lovely rock legend star lifesaver fast polite love like adore answer answers job work stuff going "
        "extremely incredibly bad not been have ve done be wow quick 真是 真 太 好 很 挺 非常 超级 超 最 聪明 棒 "
        "厉害 优秀 可爱 喜欢 爱 "
        "能干 有趣 好玩 我 这么 是 个 天才 做 回答 得 也",
        "Thank you, that is kind! What would you like to do next?",
        "谢谢夸奖！接下来想做什么？",
    ),
    _small_talk(
        r"\b(?:sorry|my bad|apolog\w+|pardon me|my mistake|my fault|oops|whoops)\b|不好意思|抱歉|对不起|打错|弄错|"
        r"搞错|我的错|我(?:说|写|看|问)错",
        "sorry bad apologies apologize apologise pardon me mistake fault oops whoops i i'm im am was it that's that "
        "about "
        "for this being rude late typo wrong did mean not meant didn't one earlier before to bother you again reply "
        "delay "
        "confusion inconvenience mix-up i'll be no worries never mind 不好意思 "
        "抱歉 对不起 打错 弄错 搞错 说错 写错 看错 问错 字 我 我的 错 刚才 刚刚 是 真 很 非常 打扰 打扰一下 一下 让 "
        "久等",
        "No problem! How can I help you?",
        "没关系！请问有什么可以帮您？",
    ),
    _small_talk(
        r"^(?!.*\b(?:not|meeting|book|film|movie)\b).*\b(?:bored|boring|boredom)\b|无聊|没事做|没意思",
        "i i'm im am feel feeling getting got bored boring boredom it it's is this here now ugh argh meh super "
        "little bit "
        "kinda of with nothing do life death stiff me at home today tonight 无聊 没事做 没意思 没什么 事 好 太 真 "
        "有点 我 "
        "很 今天 在家 感觉 觉得 一个人 死 都 现在",
        "Let's try something: ask me “What can you do?” and pick what you like.",
        "那就试点什么吧：问我“你能做什么？”，再挑一个试试。",
    ),
    _small_talk(
        r"\b(?:good luck|wish me (?:good |some )?luck|fingers crossed|(?:cross|keep) your fingers|"
        r"break a leg)\b|好运|"
        r"祝我|保佑我|给我加油|^加油",
        "good luck wish me some fingers crossed cross keep your break leg for i i'm have an on in with exam exams test "
        "interview presentation meeting job driving big tomorrow tonight next week day new project it that this "
        "好运 祝 "
        "祝我 保佑 加油 明天 今天 下周 考试 面试 比赛 有个 有 一切 顺利 我 给 一下 哦 哟 都 要",
        "Good luck! Tell me if there is something that I can help with.",
        "祝您好运！有需要帮忙的尽管说。",
    ),
    _small_talk(
        r"\b(?:happy (?:new year|holidays|weekend|easter|halloween|thanksgiving|(?:mon|tues|wednes|thurs|fri|satur|"
        r"sun)day)|merry christmas|happy christmas|season's greetings|same to you|you too|likewise)\b|(?:新年|节日|"
        r"周末|圣诞节?|中秋节?|春节|国庆节?|元旦|新春|假期|端午节?)(?:快乐|愉快)|恭喜发财|过年好|^(?:同乐|彼此彼此|"
        r"你也是)",
        "happy new year holidays weekend easter halloween thanksgiving monday tuesday wednesday thursday friday "
        "saturday "
        "sunday merry christmas season's season same too likewise in advance your family 新年 节日 周末 圣诞节 圣诞 "
        "中秋节 "
        "中秋 春节 国庆节 国庆 元旦 新春 假期 端午节 端午 快乐 愉快 恭喜发财 过年好 同乐 彼此彼此 也是 祝 提前 "
        "万事如意 身体健康",
        "Thank you, and the same to you!",
        "谢谢，也祝您愉快！",
    ),
    _small_talk(
        r"^(?!.*\b(?:why|not)\b)(?:(?:i'm|i am|im|i feel|i'm feeling|feeling|i've|i have been|i had|had|today was|"
        r"it was|it's been|what)\b.*\b(?:tired|sad|lonely|exhausted|stressed|sleepy|unhappy|upset|knackered|hungry|"
        r"(?:bad|rough|hard|long|tough|terrible|awful) (?:day|week|night)))\b|(?:好|太|真|很|有点)(?:累|困|饿|难过|"
        r"伤心|孤独|烦|难受)|心情(?:不好|很差|不太好)|累死|压力(?:好|很|太)?大",
        "i i'm im am feel feeling i've have been had was it it's what an tired sad lonely exhausted stressed sleepy "
        "unhappy "
        "upset knackered hungry bad rough hard long tough terrible awful day week night of today now at work little "
        "bit "
        "kinda out after lately from such super today 好 太 真 很 有点 累 困 饿 难过 伤心 孤独 烦 难受 心情 不好 "
        "很差 不太好 累死 "
        "死 压力 大 我 今天 最近 觉得 感觉 工作 上班 都 一整天 一天",
        "I'm sorry to hear that. I am only a small program, but I am here if there is something that I can do.",
        "听到这个我很抱歉。我只是个小程序，但有需要帮忙的尽管说。",
    ),
    _small_talk(
        r"^(?!.*\b(?:not|if)\b)(?:(?:i'm|i am|im|i feel|feeling|we're) (?:\w+ ){0,2}(?:fine|good|great|well|happy|ok|"
        r"okay|excited|alright)\b|(?:doing|all) (?:good|well|fine|great)\b)|^我(?:也)?(?:今天)?(?:很好|挺好|还好|"
        r"不错|很开心|好开心|很高兴)|^(?:还行|还不错|挺好)",
        "i i'm im am feel feeling we're we re fine good great well happy ok okay excited alright doing all super "
        "thanks "
        "thank for asking here also pretty quite about tomorrow 我 也 今天 很好 挺好 还好 还行 还不错 不错 很开心 "
        "好开心 很高兴 "
        "很 开心 高兴",
        "I'm glad to hear that! How can I help you?",
        "那太好了！请问有什么可以帮您？",
    ),
    _small_talk(
        r"^(?:(?:can|could|shall) (?:we|i|you)|let's|lets|let us|i (?:just )?(?:want|wanted) to|wanna|want to|"
        r"just want to|i'd like to|please)\b.*\b(?:chat|talk)\b|^(?:talk to me|chat with me|chat)|^(?:陪我|我们|来|"
        r"我?想|能|可以|随便){0,3}(?:跟我|和[你我]|跟你|找人)?(?:聊聊天?|聊天|说说话|聊会儿?|聊一?会)",
        "can could shall we i you let's lets let us want wanted wanna just i'd like d to chat talk with me bit little "
        "for while about anything something 陪我 我们 来 想 我 能 可以 随便 跟我 和你 和我 跟你 找人 聊聊天 聊聊 "
        "聊天 说说话 聊会儿 "
        "聊会 聊一会 儿 一下 能不能",
        "Sure, though I am better at using tools than at chatting. What would you like to do?",
        "好呀，不过我更擅长使用工具。您想做什么？",
    ),
    GREETING,
    _small_talk(
        r"^(?:ok(?:ay)?|cool|great|nice|perfect|good|got it|i see|alright|all right|wow|well done|awesome|(?:ha)+|"
        r"lol|lmao|hehe|好|明白|知道了|不错|太好了|真棒|厉害|哈哈|嘻嘻|呵呵)",
        "cool great nice perfect got it i see alright right wow done awesome haha hahaha lol lmao hehe 好吧 明白 "
        "知道 不错 太 "
        "真 棒 厉害 哈 嘻 呵",
        "Good! What would you like to do next?",
        "好的！接下来想做什么？",
    ),
)


def is_pleasantry(clause: str) -> bool:
    """Tell whether a clause asks nothing: "hope you are doing well", "lovely weather", "I'm Anna"."""
    if compile_pattern(_NAME).search(clause) is not None or _COURTESY.covers(clause):
        return True
    remark = compile_pattern(_TAG).sub("", clause)
    return (
        compile_pattern(_REMARK_START).search(remark) is not None
        and (not is_question(remark) or remark.startswith(("what a", "have a")))
        and _REMARK.covers(remark)
    )


def is_aside(clause: str) -> bool:
    """Tell whether a clause tells something of the person, and asks and wants nothing."""
    return is_statement(clause) and compile_pattern(_ASIDE).search(clause) is not None


# What a person who comes by says beside a greeting.
_COMES_BY = (
    r"\b(?:first time|just (?:checking|looking|trying|testing|saying|passing|dropping|popping|got here|arrived|"
    r"landed|"
    r"opened|installed)|new (?:here|to this)|finally (?:try|trying|here)|(?:nice|good|great|cool|"
    r"fun) to (?:finally )?(?:try|"
    r"meet|see|be|use|talk)|(?:wanted|came|here) to say|say(?:ing)? (?:hi|hello|hey)|expect(?:ed)? (?:someone|anyone|"
    r"anybody|somebody)|looking around|stopping by|dropping in|passing by|checking (?:this|you) out|"
    r"trying (?:this|you) "
    r"out|how nice|lovely to)\b|打(?:个|一?声)?招呼|问(?:个|声)好|初次见面|第一次(?:来|用|见|聊)|"
    r"请多(?:多)?(?:关照|指教)|"
    r"新来|来看看|随便看看|来逛逛|聊两句|聊几句|(?:很|好)?高兴(?:认识|见到|遇到)|来报到|刚(?:来|到|装)|路过"
)
_MAX_GREETING = 90


def opens_chat(clauses: list[str], rest: list[str]) -> bool:
    """Tell whether a short message greets, and the rest of it only says that somebody comes by."""
    text = ", ".join(clauses)
    comes_by = compile_pattern(_COMES_BY)
    greets = compile_pattern(GREETING.needs[0]).search(text) or re.search(r"招呼|问.?好|初次见面", text)
    if not greets or len(text) > _MAX_GREETING:
        return False
    return all(comes_by.search(clause) and not is_question(clause) for clause in rest)
