"""Drafts of short messages in Chinese from the person's own words, by templates. No I/O."""

from __future__ import annotations

import re

# What is to be written, and the words that ask for it.
_KIND = (
    r"(?:短信|微信|邮件|电邮|消息|信息|留言|纸条|便条|字条|小条|条子|信|请假条|假条|通知|回复|祝福语?|贺词|贺卡|祝词|贺语|"
    r"文案|广告语|广告词|宣传语|标语|口号|话|句子|道歉信|感谢信|说说|朋友圈|私信|赠言|寄语|卡片)"
)
_ASKS = re.compile(
    rf"(?:写|编|拟|发|想|来|给|说|整|弄|出|起草)[^，。！？,:：]{{0,18}}?{_KIND}|{_KIND}[^，。]{{0,6}}(?:怎么写|写一|来一|帮)"
)
_OTHER = re.compile(
    r"诗|作文|故事|小说|代码|翻译|译|总结|概括|论文|文章|歌|英文|英语|怎么说|什么意思|这句话|改写|润色|解释|介绍|报告|[：:\n“”\"]"
)
# Each line: words of an occasion, and what one wishes; 您 for elders and teachers is set later.
_OCCASIONS = """
生日|寿辰|大寿: 生日快乐！祝你身体健康、天天开心，新的一岁万事顺意！
结婚纪念: 结婚纪念日快乐！愿你们恩爱如初，幸福长久！
结婚|新婚|婚礼|大婚|订婚: 新婚快乐！祝你们百年好合、永结同心，幸福一辈子！
高考|中考|考研|考试|期末|考级|答辩: 考试加油！放轻松，相信自己，祝你发挥出色、金榜题名！
面试: 面试加油！自信一点，你一定行，祝你顺利拿下！
比赛|演出|上台|手术前: 加油！相信自己，祝你一切顺利！
离职|辞职|跳槽|调走|送别|告别|欢送|离开: 感谢一路同行，虽有不舍，更盼你前程似锦，一切顺利，常联系！
退休: 光荣退休，辛苦了大半辈子，祝你退休生活健康快乐、多姿多彩！
生病|住院|康复|手术|感冒|骨折|受伤: 好好休息，别担心，祝你早日康复，一切都会好起来的！
毕业: 毕业快乐！愿你前程似锦，归来仍是少年！
升职|晋升|升迁|当上: 恭喜高升！实至名归，祝你工作顺利，再创佳绩！
搬家|乔迁|新居|新房: 恭喜乔迁新居！祝你新家新气象，平安喜乐，福气满满！
宝宝|生了|满月|怀孕|出生|百日: 恭喜喜得宝宝！祝小宝贝健康成长，全家幸福美满！
开业|开张|开店: 开业大吉！祝生意兴隆，财源广进！
考上|录取|上岸|拿到驾照|通过|拿了|获奖|得奖|夺冠|中奖: 恭喜恭喜！你的努力没有白费，为你高兴，祝你再接再厉！
拜年|春节|过年|新春|除夕: 春节快乐！祝你阖家幸福，身体健康，万事如意！
新年|元旦|跨年: 新年快乐！祝你身体健康，万事如意，心想事成！
中秋: 中秋快乐！愿你花好月圆，阖家团圆！
端午: 端午安康！祝你平安健康，事事顺心！
国庆: 国庆快乐！祝你假期愉快，阖家幸福！
元宵: 元宵节快乐！祝你团团圆圆，甜甜蜜蜜！
教师节: 教师节快乐！感谢您的辛勤教导，祝您身体健康，桃李满天下！
母亲节: 母亲节快乐！谢谢您一直以来的爱和付出，祝您健康快乐！
父亲节: 父亲节快乐！谢谢您一直以来的支持，祝您健康快乐！
妇女节|女神节|三八: 节日快乐！祝你永远年轻美丽，天天开心！
儿童节|六一: 儿童节快乐！愿你永远保持童心，快乐成长！
圣诞|平安夜: 圣诞快乐！祝你平安喜乐，万事顺意！
情人节|七夕: 节日快乐！有你在身边，每天都很幸福。
道歉|对不起|赔不是|认错: 对不起，这件事是我不好，让你难过了，我以后会注意，请你原谅。
感谢|谢谢|道谢|致谢: 真的非常感谢你的帮助，你的心意我会一直记在心里，祝你一切顺利！
加油|打气|鼓励: 加油！相信自己，你一定可以的！
出国|留学|远行|出差|旅行|旅游: 一路平安！祝你一切顺利，收获满满，早日归来！
晚安: 晚安，好梦，愿你明天醒来又是元气满满的一天！
早安: 早安！愿你今天心情愉快，一切顺利！
"""
OCCASIONS = tuple(
    (re.compile(line.partition(": ")[0]), line.partition(": ")[2]) for line in _OCCASIONS.strip().splitlines()
)
_ELDERS = re.compile(
    r"老师|教授|导师|领导|老板|经理|上司|长辈|爷爷|奶奶|外公|外婆|姥姥|姥爷|爸|妈|父|母|岳|公公|婆婆|叔|伯|阿姨|舅|姑|"
    r"客户|客人|医生|师傅|房东|主任|校长|师父|前辈"
)
_WHO = (
    r"(?:[\u4e00-\u9fff]{0,4}(?:老板|领导|经理|上司|房东|邻居|老师|教授|导师|同事|客户|客人|朋友|同学|室友|快递员?|快递小哥|"
    r"外卖员|外卖小哥|物业|医生|师傅|阿姨|叔叔|妈妈?|爸爸?|爷爷|奶奶|外公|外婆|姥姥|女朋友|男朋友|女友|男友|老婆|老公|孩子|儿子|"
    r"女儿|侄女|侄子|外甥女?|表[姐哥弟妹]|堂[姐哥弟妹]|姐姐?|哥哥?|弟弟?|妹妹?|闺蜜|兄弟|哥们|班主任|家长|主任|同桌|团队|大家|"
    r"hr|中介|司机|保姆|顾客|队友|搭档|店家|商家|卖家|客服|人事|前台|保安|门卫|保洁))"
)
_RECIPIENT = re.compile(
    rf"(?:给|跟|和|向|对|发给|写给|送给|告诉|通知|提醒|转告|感谢|祝福|鼓励|安慰|恭喜|祝贺|谢谢|祝|替我(?:给|跟)|帮我(?:给|跟))(?:我的|我们?|楼上的?|楼下的?|隔壁的?|一个|一位)?({_WHO})"
)
_SUBJECT = re.compile(rf"^(?:我的?|我们|有个|有位|楼上的?|楼下的?|隔壁的?)?({_WHO})")
_INSTRUCTION = re.compile(
    rf"(?:请|麻烦|能不能|可以|能|你)?(?:你)?(?:帮忙|帮我|替我|给我|帮)?(?:我)?(?:想|要|需要)?.{{0,12}}?(?:写|编|拟|发|想|来|整|弄|出|起草)"
    rf"[^，。！？,]{{0,14}}?{_KIND}(?:文案|语|吧|呗|呀|啊|就行|就好|即可)?"
)
_LEAVE = re.compile(r"请(?P<what>[^，。,]{0,8}?假)")
_TELL = re.compile(
    r"^(?:就?说是?|告诉(?:他|她|对方)?|内容是|大意是|意思是|跟(?:他|她)说|提醒(?:他|她)?|通知(?:他|她|大家)?)"
)
_REPORT = re.compile(
    rf"^(?:我)?(?:想|要)?(?:跟|向|和|对|给)(?:我的?|我们)?{_WHO}(?:反映|说|讲|提|反馈|解释|商量|道歉)(?:一下|说)?"
)
_FAMILY = re.compile(
    r"妈|爸|爷爷|奶奶|外公|外婆|姥姥|老婆|老公|女友|男友|女朋友|男朋友|儿子|女儿|孩子|姐|哥|弟|妹|闺蜜|兄弟|朋友|室友|同学|同桌"
)
_ENDINGS = (
    (re.compile(r"吵|响|噪|音乐|脚步"), "希望您能小声一点，谢谢您的理解！"),
    (re.compile(r"坏|漏|堵|停[水电]|故障|不亮|不热"), "麻烦尽快安排处理，谢谢！"),
    (re.compile(r"开会|参加|准时|通知"), "谢谢大家！"),
)
_SHOP = re.compile(
    r"(?:一家|一个|家|我的|我们的?|自己的)?(?:新开的?|新|小|老)?([\u4e00-\u9fff]{1,6}(?:店|馆|厅|屋|吧|房|铺|坊|超市|民宿|公司|品牌|茶|咖啡|园|社|中心))"
)
_SLOGAN = re.compile(r"广告语|广告词|宣传语|标语|口号")


def find_chinese_draft(request: str) -> str | None:
    """Return the message that a Chinese request describes; None if it describes none."""
    text = request.strip(" 。！？!?~～")
    if not _ASKS.search(text) or _OTHER.search(text):
        return None
    if _SLOGAN.search(text):
        shop = _SHOP.search(re.sub(r"(?:给|为|帮)(?:我们?)?", "", text))
        return f"走进{shop[1]}，遇见一整天的好心情。" if shop else None
    clauses = [clause.strip() for clause in re.split(r"[，。！？,!?；;]", text) if clause.strip()]
    recipient = _RECIPIENT.search(text)
    who = recipient[1] if recipient else ""
    content = _find_content(clauses)
    if re.search(r"朋友圈|说说|文案", text):
        return f"{'，'.join(content)}，用这一刻记录满满的好心情！" if content else None
    leave = max(_LEAVE.finditer(text.replace("请假条", "")), key=lambda match: len(match[0]), default=None)
    if leave:
        return _write_message(who, [f"我想请{leave['what']}", *content], "望您批准，谢谢！")
    wishes = re.search(r"祝|贺|送别|告别|加油|鼓励|道歉|感谢|谢谢|赠言|寄语|打气|安慰|一句|早安|晚安|恭喜", text)
    if wishes and (wish := _find_wish(text)):
        return _write_wish(who or _find_subject(clauses), wish, text)
    if not content:
        return None
    return _write_message(who or _find_subject(clauses), content, "麻烦您了，谢谢！")


def _find_wish(text: str) -> str | None:
    return next((wish for pattern, wish in OCCASIONS if pattern.search(text)), None)


def _find_subject(clauses: list[str]) -> str:
    match = _SUBJECT.match(clauses[0])
    return match[1] if match else ""


def _write_wish(who: str, wish: str, text: str) -> str:
    if _ELDERS.search(who):
        wish = wish.replace("祝你", "祝您").replace("感谢你", "感谢您").replace("愿你", "愿您").replace("你的", "您的")
        title = re.search(
            r"老师|教授|导师|领导|老板|经理|主任|校长|师傅|妈妈|爸爸|爷爷|奶奶|外公|外婆|姥姥|阿姨|叔叔", who
        )
        return f"{title[0]}，{wish}" if title else wish
    return re.sub(r"^考试(?=加油)", _find_exam(text), wish)


def _find_exam(text: str) -> str:
    match = re.search(r"高考|中考|考研|期末考试|期末|考级|答辩", text)
    return match[0] if match else "考试"


def _find_content(clauses: list[str]) -> list[str]:
    """Return the clauses that say what is to be told, without the request itself."""
    content = []
    for clause in clauses:
        rest = _INSTRUCTION.sub("", clause, count=1) if _ASKS.search(clause) else clause
        rest = _RECIPIENT.sub("", rest, count=1) if _ASKS.search(clause) else rest
        rest = _LEAVE.sub("", _TELL.sub("", rest))
        rest = _REPORT.sub("", rest) if not _ASKS.search(clause) else rest
        rest = re.sub(r"(?<=[^不只想])(?:要|想)$", "", rest)
        rest = re.sub(r"^(?:帮我|麻烦|请你?|帮忙|我?想|跟|给|向|对)+$", "", rest).strip()
        if len(rest) > 2 and not re.fullmatch(
            r"(?:要|语气|写得|尽量)?(?:客气|简短|短|礼貌|正式|委婉|温馨|一句话).{0,6}", rest
        ):
            content.append(rest)
    return content


def _write_message(who: str, content: list[str], ending: str) -> str:
    title = re.sub(r"^(?:我的?|我们)", "", who)
    parts = [
        re.sub(r"(?:请|让|叫)?[他她](?=[^们]|$)", lambda match: "请您" if match[0][0] in "请让叫" else "您", part)
        for part in content
    ]
    if title:
        parts = [
            re.sub(rf"^(?:我的?|我们|楼上的?|楼下的?|隔壁的?)?{re.escape(title)}", "", part) or part for part in parts
        ]
    ending = next((text for pattern, text in _ENDINGS if any(map(pattern.search, parts))), ending)
    body = "，".join(parts)
    if _FAMILY.search(title) and not ending.startswith("望"):
        return f"{title}，{body}。".replace("您", "您" if _ELDERS.search(title) else "你")
    greeting = f"{title}，您好！" if title else "大家好！" if "大家" in body else "您好！"
    return f"{greeting}{body}。{ending}"
